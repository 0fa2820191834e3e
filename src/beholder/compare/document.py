"""All pairs of some runs, refused where they are no fair pair, corrected for being several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from beholder.compare.load import RunRows
from beholder.compare.pairs import Ends, pair_figures
from beholder.compare.unlike import Unlike, unlike
from beholder.errors import ConfigError
from beholder.stats import holm

CI_METHOD = (
    "95 %: interval of a bounded mean after Gaffke, over the differences of tasks that both have a number for"
)
TEST_METHOD = (
    "Differences: sign-flip permutation, two-sided. Passes: McNemar's exact test, two-sided. Corrected p "
    "(p_holm): Holm's, over all pairs; within a pair over its criteria, and over the values of a label. "
    "Detectable: the true difference that so many tasks would show with 80 % power at 5 %."
)
_OWN = (
    "planned",
    "scored",
    "absent",
    "unscored",
    "coverage",
    "mean",
    "n",
    "ci95",
    "mean_bounds",
    "pass_rate",
    "pass_ci95",
    "scripted",
    "judge",
    "cost_usd",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Runs side by side.

    Attributes:
        document: JSON-ready; its shape is told by `compare_runs`.
        runs: By name, in the order given.
    """

    document: Mapping[str, Any]
    runs: Mapping[str, RunRows]


def compare_runs(
    runs: Mapping[str, RunRows],
    *,
    cluster: str | None = None,
    allow_different: bool = False,
    details: bool = True,
) -> Comparison:
    """Every pair of runs on the tasks that both have a number for.

    Args:
        runs: Two or more, by name; `load_runs` reads them. In a pair, `a` comes before `b`, and every
            difference is b - a.
        cluster: A label: tasks with the same value vary together, and intervals and tests are over clusters.
            A task with an empty value is a cluster of its own.
        allow_different: Compare runs with another question, formula, judge or task text all the same; what
            differs stands in `differs`.
        details: False leaves `criteria`, `groups` and `items` of every pair empty: for a table of many pairs.

    Returns:
        A comparison whose `document` is

            schema            1
            protocol, title   of the first run
            score_range       [low, high]; pass_at: number or null
            cluster           the label, or null
            ci_method, test_method, direction   sentences for readers
            scripted          any run's replies are made up
            differs           [{code, detail, runs [a, b], tasks [id]}] what would have been refused
            warnings          [{code, detail, runs [a, b] or [a], tasks [id]}]
            models            {NAME: {model, planned, scored, absent {reason: n}, unscored {reason: n},
                              coverage, mean, n (tasks with a number), ci95, mean_bounds, pass_rate,
                              pass_ci95, scripted, judge, cost_usd}}: each run's own population, from its
                              summary
            pairs             [pair], see below

        pair:
            a, b              names
            tasks             {planned_by_both, common (both have a number), only_a, only_b (planned by one)}
            means             {own {a, b}, common {a, b}}: mean score of each over its own tasks with a
                              number, and over the common ones; null where there are none
            difference        DIFF, over the common tasks
            passes            PASSES, or null without a pass mark
            criteria          {key: DIFF}, over tasks that are scored in both
            groups            {label: {value: {difference DIFF, passes PASSES or null}}}
            items             [item], flips first, then what is missing, then by |difference|

        DIFF:   {tasks, units (tasks, or clusters), mean (b - a) or null, ci95 [low, high] or null,
                ci_reason (why there is none) or null, p_value, p_holm, test (sign_flip_exact,
                sign_flip_random, sign_flip_normal or none), better {a, b, equal: tasks},
                smallest_detectable {difference or null, alpha, power, reason or null}}
        PASSES: {tasks, both, only_a, only_b, neither: tasks, rate {a, b}, difference, ci95, ci_reason,
                p_value, p_holm, test (mcnemar_exact; with clusters a sign-flip)}
        item:   {task_id, kind (flip, missing, changed, equal), difference (b - a) or null, labels {},
                a, b: {outcome (null: not in this run), reason, detail, main_score, pass, scores {},
                folder}}. In `missing` at least one side has no number; its reason and detail say why.

    Raises:
        ConfigError: Fewer than two runs; no such label; or, slug `unlike`, runs that differ in what was
            asked, who judged or how it was scored, with all that differs.
    """
    if len(runs) < 2:
        raise ConfigError("a comparison needs two runs or more; name another out-dir")
    pairs = list(combinations(runs.values(), 2))
    found = [(a, b, one) for a, b in pairs for one in unlike(a, b)]
    refused = [(a, b, one) for a, b, one in found if one.refuses]
    if refused and not allow_different:
        lines = "\n".join(f"- {one.detail}" for _, _, one in refused)
        raise ConfigError(
            f"these runs cannot be compared as they are:\n{lines}\nSay --allow-different to compare them all "
            "the same; the differences may then come from that.",
            slug="unlike",
        )
    if cluster is not None:
        _check_cluster(runs, cluster)
    first = next(iter(runs.values()))
    documents = [pair_figures(a, b, _ends(a, b), cluster=cluster, details=details) for a, b in pairs]
    _correct(documents)
    document = {
        "schema": 1,
        "protocol": first.summary.get("protocol"),
        "title": first.summary.get("title"),
        "score_range": first.summary.get("score_range"),
        "pass_at": first.summary.get("pass_at"),
        "cluster": cluster,
        "ci_method": CI_METHOD if cluster is None else f"{CI_METHOD}, by clusters of equal {cluster}",
        "test_method": TEST_METHOD,
        "direction": "differences are b - a: positive where b is better",
        "scripted": any(run.summary.get("scripted") for run in runs.values()),
        "differs": [_told(*one) for one in refused],
        "warnings": [
            *(_told(*one) for one in found if not one[2].refuses),
            *(_nothing_common(pair) for pair in documents if not pair["tasks"]["common"]),
            *_other_clusters(runs, cluster),
        ],
        "models": {
            name: {
                "model": run.summary.get("model"),
                **{key: run.summary.get(key) for key in _OWN},
            }
            for name, run in runs.items()
        },
        "pairs": documents,
    }
    return Comparison(document=document, runs=dict(runs))


def _told(a: RunRows, b: RunRows, one: Unlike) -> dict[str, Any]:
    return {"code": one.code, "detail": one.detail, "runs": [a.name, b.name], "tasks": list(one.tasks)}


def _nothing_common(pair: Mapping[str, Any]) -> dict[str, Any]:
    runs = [pair["a"], pair["b"]]
    detail = f"{runs[0]} and {runs[1]} have no task that both have a number for; nothing is compared"
    return {"code": "no_common_tasks", "detail": detail, "runs": runs, "tasks": []}


def _other_clusters(runs: Mapping[str, RunRows], cluster: str | None) -> Iterator[dict[str, Any]]:
    """Runs whose own intervals are over other units than the differences'."""
    own = {name: (run.summary.get("cluster") or {}).get("column") for name, run in runs.items()}
    for name, column in own.items():
        if column is not None and column != cluster:
            units = "tasks" if cluster is None else f"clusters of {cluster}"
            detail = (
                f"the intervals of {name} are over clusters of {column}, those of the differences over "
                f"{units}; --cluster {column} takes the same"
            )
            yield {"code": "other_clusters", "detail": detail, "runs": [name], "tasks": []}


def _ends(a: RunRows, b: RunRows) -> Ends:
    """The scales of two runs; where they differ, wide enough for both."""
    ranges = [run.summary.get("score_range") or [0, 0] for run in (a, b)]
    scores = [row["main_score"] for run in (a, b) for row in run.rows if row["main_score"] is not None]
    low = min([float(pair[0]) for pair in ranges] + scores)
    high = max([float(pair[1]) for pair in ranges] + scores)
    criteria: dict[str, tuple[float, float]] = {}
    for run in (a, b):
        for key, figures in (run.summary.get("criteria") or {}).items():
            one, other = float(figures["min"]), float(figures["max"])
            known = criteria.get(key, (one, other))
            criteria[key] = min(known[0], one), max(known[1], other)
    return Ends(score=(low, high), criteria=criteria)


def _check_cluster(runs: Mapping[str, RunRows], cluster: str) -> None:
    labels = {label for run in runs.values() for row in run.rows for label in row["labels"]}
    if cluster not in labels:
        raise ConfigError(
            f"--cluster {cluster}: the tasks have no such column; there are "
            f"{', '.join(sorted(labels)) or 'none'}",
            concerns="--cluster",
        )


def _correct(pairs: list[dict[str, Any]]) -> None:
    """Holm's correction, in place: each family of tests that a reader looks at together."""
    _holm(pair["difference"] for pair in pairs)
    _holm(pair["passes"] for pair in pairs)
    for pair in pairs:
        _holm(pair["criteria"].values())
        for values in pair["groups"].values():
            _holm(group["difference"] for group in values.values())
            _holm(group["passes"] for group in values.values())


def _holm(family: Iterable[dict[str, Any] | None]) -> None:
    members = [one for one in family if one is not None]
    for one, p_value in zip(members, holm([one["p_value"] for one in members]), strict=True):
        one["p_holm"] = p_value
