"""Ratings and rows -> how far the judge agrees with people, and people with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from beholder.errors import ConfigError
from beholder.human.read import HumanRatings
from beholder.stats import decimal_mean, difference_interval, wilson_interval
from beholder.stats.raters import (
    LEAST,
    Figure,
    confusion,
    pearson,
    quadratic_kappa,
    smoothed_kappa_interval,
    spearman_figure,
    sums_figure,
)

Json = Mapping[str, Any]
Kind = Literal["binary", "ordinal", "numeric"]
FloatArray = NDArray[np.float64]

MAX_VALUES = 21
LISTED = 20
_NAMED = 3
METHOD = (
    "Over tasks that the judge scored and people rated. Agreement: share of equal values (means of repeats "
    "and of people rounded to whole numbers), Wilson's interval. Kappa: quadratic weights; of two values, "
    "Cohen's. Intervals of kappa and Pearson's correlation: BCa bootstrap over tasks, of Spearman's: "
    "percentile; 2,000 resamples, seed 0; of a kappa that no resample changes: Dirichlet shares with a "
    "quarter task in each cell. Bias: judge less people."
)
_SAME = "both gave one and the same value throughout"
_CONSTANT = "one of the two gave the same value throughout"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rated:
    """One column: the judge's and people's values of the tasks that have both, in order of task id."""

    kind: Kind
    ends: tuple[float, float]
    tasks: tuple[str, ...]
    judge: FloatArray
    people: FloatArray


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
    kind = _kind(values, [value for task in given for value in _judgements(rows[task], name)], ends)
    judged = {task: value for task in given if (value := _judged(rows[task], name)) is not None}
    rated, tied = _rated(kind, ends, judged, given)
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
        **_two(rated),
        "spearman": _told(spearman_figure(*_shares(rated), _CONSTANT)),
        "bias": _bias(differences, ends),
        "mean": {
            "judge": decimal_mean(rated.judge),
            "people": decimal_mean(rated.people),
        },
        "mean_abs_difference": decimal_mean([abs(value) for value in differences]),
        "confusion": _confusion(rated),
        "disagreements": _disagreements(rated, given, rows),
        "human_human": _people(kind, ends, judged, given, ratings.raters),
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


def _kind(values: Sequence[float], judged: Sequence[float], ends: tuple[float, float]) -> Kind:
    """What ratings are: two values, by people and in each of the judge's repeats; steps; or numbers."""
    if ends == (0.0, 1.0) and {*values, *judged} <= {0.0, 1.0}:
        return "binary"
    steps = ends[1] - ends[0] < MAX_VALUES and all(float(value).is_integer() for value in [*values, *ends])
    return "ordinal" if steps else "numeric"


def _rated(
    kind: Kind,
    ends: tuple[float, float],
    judged: Mapping[str, float],
    given: Mapping[str, Mapping[str, float]],
) -> tuple[_Rated, int]:
    """Judge against the mean of all people; of two values, what most say. Also how many tasks are split."""
    tasks, judge, people, tied = [], [], [], 0
    for task in sorted(judged):
        one, other = judged[task], decimal_mean(list(given[task].values())) or 0.0
        if kind == "binary":
            if 0.5 in {one, other}:
                tied += 1
                continue
            one, other = float(one > 0.5), float(other > 0.5)
        tasks.append(task)
        judge.append(one)
        people.append(other)
    return _Rated(
        kind=kind, ends=ends, tasks=tuple(tasks), judge=np.array(judge), people=np.array(people)
    ), tied


def _two(rated: _Rated) -> dict[str, Any]:
    """Agreement, kappa and correlation of two raters."""
    x, y = _shares(rated)
    figure = sums_figure(x, y, quadratic_kappa, _SAME)
    if rated.kind == "binary" and figure.value is not None and figure.ci95 is None and len(x) >= LEAST:
        table = confusion(y.tolist(), x.tolist(), (0.0, 1.0))
        figure = Figure(figure.value, smoothed_kappa_interval(table), None)
    kappa = _told(figure)
    return {
        "agreement": _agreement(rated),
        "kappa": {**kappa, "weights": "none" if rated.kind == "binary" else "quadratic"},
        "pearson": _told(sums_figure(x, y, pearson, _CONSTANT)),
    }


def _agreement(rated: _Rated) -> dict[str, Any]:
    if rated.kind == "numeric":
        return {"value": None, "ci95": None, "reason": "numbers are hardly ever equal; see kappa and bias"}
    n = len(rated.tasks)
    equal = int((np.rint(rated.judge) == np.rint(rated.people)).sum())
    interval = wilson_interval(equal, n)
    return {
        "value": equal / n if n else None,
        "ci95": None if interval is None else list(interval),
        "reason": None if n else "no task that both rated",
    }


def _bias(differences: Sequence[float], ends: tuple[float, float]) -> dict[str, Any]:
    interval = difference_interval(differences, ends[1] - ends[0])
    reason = None
    if interval is None:
        reason = "no task that both rated" if not differences else "one task only"
    return {
        "value": decimal_mean(differences),
        "ci95": None if interval is None else list(interval),
        "reason": reason,
    }


def _confusion(rated: _Rated) -> dict[str, Any] | None:
    if rated.kind == "numeric":
        return None
    values = [float(value) for value in range(int(rated.ends[0]), int(rated.ends[1]) + 1)]
    table = confusion(np.rint(rated.people).tolist(), np.rint(rated.judge).tolist(), values)
    return {"values": [int(value) for value in values], "table": table}


def _disagreements(
    rated: _Rated, given: Mapping[str, Mapping[str, float]], rows: Mapping[str, Json]
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


def _people(
    kind: Kind,
    ends: tuple[float, float],
    judged: Mapping[str, float],
    given: Mapping[str, Mapping[str, float]],
    raters: Sequence[str],
) -> dict[str, Any] | None:
    """People against each other, and the judge against each of them; None for one rater."""
    if len(raters) < 2:
        return None
    own = {
        rater: {task: ratings[rater] for task, ratings in given.items() if rater in ratings}
        for rater in raters
    }
    pairs = [{"a": a, "b": b, **_against(kind, ends, own[a], own[b])} for a, b in combinations(raters, 2)]
    judge = [{"rater": rater, **_against(kind, ends, judged, own[rater])} for rater in raters]
    return {"pairs": pairs, "judge": judge, "ceiling": _means(pairs), "judge_mean": _means(judge)}


def _against(
    kind: Kind, ends: tuple[float, float], first: Mapping[str, float], second: Mapping[str, float]
) -> dict[str, Any]:
    both = {task: value for task, value in first.items() if task in second}
    rated, _ = _rated(kind, ends, both, {task: {"": second[task]} for task in both})
    return {"n": len(rated.tasks), **_two(rated)}


def _means(pairs: Sequence[Json]) -> dict[str, float | None]:
    """Means over the pairs that have the figure."""
    return {
        key: decimal_mean([pair[key]["value"] for pair in pairs if pair[key]["value"] is not None])
        for key in ("agreement", "kappa", "pearson")
    }


def _shares(rated: _Rated) -> tuple[FloatArray, FloatArray]:
    """Both raters' values on a scale from 0 to 1, which no figure but the bias depends on."""
    low, high = rated.ends
    width = (high - low) or 1.0
    return (rated.judge - low) / width, (rated.people - low) / width


def _told(figure: Figure) -> dict[str, Any]:
    return {
        "value": figure.value,
        "ci95": None if figure.ci95 is None else list(figure.ci95),
        "reason": figure.reason,
    }
