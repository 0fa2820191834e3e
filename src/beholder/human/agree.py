"""Ratings and rows -> how far the judge agrees with people, and people with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from beholder.errors import ConfigError
from beholder.human.figures import Rated, bias, confusion_of, kind_of, rated_by_both, spearman, two_raters
from beholder.human.people import people_figures
from beholder.human.read import HumanRatings
from beholder.stats import decimal_mean

Json = Mapping[str, Any]

LISTED = 20
"""Unknown ids and disagreements that are told one by one."""

_NAMED = 3
"""Ids that a refusal names."""

METHOD = (
    "Over tasks that the judge scored and people rated. Agreement: share of equal values (means of repeats "
    "and of people rounded to whole numbers), Wilson's interval. Kappa: quadratic weights; of two values, "
    "Cohen's. Intervals of kappa and Pearson's correlation: BCa bootstrap over tasks, of Spearman's: "
    "percentile; 2,000 resamples, seed 0; of a kappa that no resample changes: Dirichlet shares with a "
    "quarter task in each cell. Bias: judge less people."
)


def human_agreement(ratings: HumanRatings, rows: Sequence[Json], summary: Json) -> dict[str, Any]:
    """How far the judge agrees with people, JSON-ready.

    Args:
        ratings: Read with the scales of `scales_of(summary)`.
        rows: Of one run.
        summary: Of the same run.

    Returns:
        schema            1
        file              name of the ratings' file
        model, judge      whose submissions; who judged them
        of                {scored, mean, formula_sha256}: the run's, by which a later reader sees whether its
                          scores are still these
        raters            people's names; [""] where the file names nobody
        tasks             {rated: tasks of the run with any rating, unknown: ids in the file that the run
                          does not have, at most 20, unknown_count}
        ignored_columns   of the file
        method            a sentence for readers
        columns           {NAME: COLUMN}, NAME a criterion's key, `main` or `pass`, in the file's order

        COLUMN: kind              binary, ordinal or numeric
                scale             [low, high]
                n                 tasks compared
                blanks            blank cells, which are no ratings
                not_judged        {absent, unscored: rated tasks that have no judged value}
                tied              tasks left out, for judge's repeats or raters are split evenly (binary)
                agreement         FIGURE; of a numeric column null, for numbers are hardly ever equal
                kappa             FIGURE, with `weights`: none (binary) or quadratic
                pearson, spearman, bias    FIGURE
                mean              {judge, people}
                mean_abs_difference    number or null
                confusion         {values, table: rows people, columns judge} or null (numeric)
                disagreements     {count, tasks: [{task_id, judge, human, difference, raters {name: value},
                                  folder}]}, largest first, at most 20
                human_human       null for one rater; else {pairs [{a, b, n, agreement, kappa, pearson}],
                                  judge [{rater, n, agreement, kappa, pearson}],
                                  ceiling {agreement, kappa, pearson}, judge_mean {the same}}: means over
                                  pairs of people, the most that a judge can be expected to reach, and over
                                  pairs of the judge and one person
        FIGURE: {value, ci95 [low, high], reason}; null where undefined, and then the reason says why
    """
    by_task = {row["task_id"]: row for row in rows}
    ratings = _trimmed(ratings, by_task)
    unknown = sorted(task for task in ratings.tasks if task not in by_task)
    scales = scales_of(summary)
    return {
        "schema": 1,
        "file": ratings.file,
        "model": summary.get("model"),
        "judge": (summary.get("judge") or {}).get("model"),
        "of": {key: summary.get(key) for key in ("scored", "mean", "formula_sha256")},
        "raters": list(ratings.raters),
        "tasks": {
            "rated": len(ratings.tasks) - len(unknown),
            "unknown": unknown[:LISTED],
            "unknown_count": len(unknown),
        },
        "ignored_columns": list(ratings.ignored),
        "method": METHOD,
        "columns": {
            name: _column(name, ratings, by_task, scales.get(name, (0.0, 1.0))) for name in ratings.columns
        },
    }


def check_rated(agreements: Mapping[str, Json], rows: Sequence[Json]) -> None:
    """Refuse ratings that are of none of the runs' tasks.

    Args:
        agreements: Of `human_agreement`, by run.
        rows: Of any of the runs, to say what its tasks are called.

    Raises:
        ConfigError: No rated task is in any run.
    """
    first = next(iter(agreements.values()))
    unknown = first["tasks"]["unknown"]
    if unknown and not any(one["tasks"]["rated"] for one in agreements.values()):
        said, ours = (
            ", ".join(words[:_NAMED]) + (", …" if len(words) > _NAMED else "")
            for words in (unknown, [str(row["task_id"]) for row in rows])
        )
        raise ConfigError(
            f"{first['file']}: none of the rated tasks is in the run: {said}. Its tasks are called {ours}",
            concerns=first["file"],
        )


def _trimmed(ratings: HumanRatings, known: Mapping[str, Json]) -> HumanRatings:
    """Ratings whose ids are a task's but for spaces around them, under the task's id."""
    strange = [task for task in sorted(ratings.tasks) if task not in known and task.strip() in known]
    renamed = {task: task.strip() for task in strange}
    # Where both spellings were rated, which one is meant is not ours to say.
    targets = Counter([*renamed.values(), *(ratings.tasks - renamed.keys())])
    renamed = {task: target for task, target in renamed.items() if targets[target] == 1}
    return replace(
        ratings,
        values={
            name: {renamed.get(task, task): raters for task, raters in given.items()}
            for name, given in ratings.values.items()
        },
    )


def scales_of(summary: Json) -> dict[str, tuple[float, float]]:
    """Ends of the scale of each criterion and of `main`, from a run's summary."""
    scales = {key: (float(one["min"]), float(one["max"])) for key, one in summary["criteria"].items()}
    low, high = summary["score_range"]
    return {**scales, "main": (float(low), float(high))}


def _column(
    name: str, ratings: HumanRatings, rows: Mapping[str, Json], ends: tuple[float, float]
) -> dict[str, Any]:
    given = {task: raters for task, raters in ratings.values[name].items() if task in rows}
    values = [value for raters in given.values() for value in raters.values()]
    kind = kind_of(values, [value for task in given for value in _judgements(rows[task], name)], ends)
    judged = {task: value for task in given if (value := _judged(rows[task], name)) is not None}
    rated, tied = rated_by_both(kind, ends, judged, given)
    outcomes = [rows[task]["outcome"] for task in given if task not in judged]
    # As their decimals say, so that what cancels out leaves nothing.
    differences = [
        float(Decimal(repr(one)) - Decimal(repr(other)))
        for one, other in zip(rated.judge.tolist(), rated.people.tolist(), strict=True)
    ]
    return {
        "kind": kind,
        "scale": list(ends),
        "n": len(rated.tasks),
        "blanks": ratings.blanks[name],
        "not_judged": {outcome: outcomes.count(outcome) for outcome in ("absent", "unscored")},
        "tied": tied,
        **two_raters(rated),
        "spearman": spearman(rated),
        "bias": bias(differences, ends),
        "mean": {
            "judge": decimal_mean(rated.judge),
            "people": decimal_mean(rated.people),
        },
        "mean_abs_difference": decimal_mean([abs(value) for value in differences]),
        "confusion": confusion_of(rated),
        "disagreements": _disagreements(rated, given, rows),
        "human_human": people_figures(kind, ends, judged, given, ratings.raters),
    }


def _judged(row: Json, name: str) -> float | None:
    """The judge's value of a scored task; None if it has none."""
    if row["outcome"] != "scored":
        return None
    value = (
        row["pass"] if name == "pass" else row["main_score"] if name == "main" else row["scores"].get(name)
    )
    return None if value is None else float(value)


def _judgements(row: Json, name: str) -> Iterator[float]:
    """What the judge said in each scored repeat."""
    for repeat in row["repeats"]:
        value = (
            repeat["pass"]
            if name == "pass"
            else (repeat["derived"] or {}).get("main")
            if name == "main"
            else (repeat["scores"] or {}).get(name)
        )
        if value is not None:
            yield float(value)


def _disagreements(
    rated: Rated, given: Mapping[str, Mapping[str, float]], rows: Mapping[str, Json]
) -> dict[str, Any]:
    found = [
        (abs(judge - people), task, judge, people)
        for task, judge, people in zip(rated.tasks, rated.judge.tolist(), rated.people.tolist(), strict=True)
        if judge != people
    ]
    found.sort(key=lambda one: (-one[0], one[1]))
    return {
        "count": len(found),
        "tasks": [
            {
                "task_id": task,
                "judge": judge,
                "human": people,
                "difference": judge - people,
                "raters": dict(sorted(given[task].items())),
                "folder": rows[task].get("folder"),
            }
            for _, task, judge, people in found[:LISTED]
        ],
    }
