"""A row's figures, and figures of some tasks: counts, mean, interval, bounds, passes, criteria."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beholder.records import Protocol
from beholder.scoring import score_range
from beholder.stats import bounded_mean_interval, decimal_mean, wilson_interval

FloatArray = NDArray[np.float64]

OUTCOMES = ("scored", "absent", "unscored")
CI_METHOD = (
    "95 %: interval of a bounded mean over tasks after Gaffke: random weights, and one of 0.8 tasks beyond "
    "the sample, within the scale; null for fewer than two tasks. Shares: Wilson's score interval."
)
CI_METHOD_CLUSTERED = (
    "95 %: interval of a bounded mean after Gaffke over clusters of tasks with the same {cluster}: random "
    "weights, and one of 0.8 clusters beyond the sample, within the scale; null for fewer than two clusters."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """What a summary needs of a row; some hundred bytes, so that a hundred thousand rows fit in memory.

    Attributes:
        own_ends: The scales of the task's own criteria; None where the protocol's hold for every task.
        judge: The model that was asked, as the user writes it.
    """

    task_id: str
    outcome: str
    reason: str | None
    main: float | None
    passed: bool | None
    scores: Mapping[str, float]
    labels: Mapping[str, str]
    repeat_mains: tuple[float, ...]
    repeat_passes: tuple[bool, ...]
    served: tuple[str, ...]
    evidence_sha256: str
    warnings: frozenset[str]
    flags: frozenset[str]
    n_replies: int = 0
    artifacts_sha256: str = ""
    judge: str = ""
    own_ends: Mapping[str, tuple[float, float]] | None = None

    def comparable(self, key: str, low: float, high: float) -> bool:
        """Whether the task was judged by a criterion on this scale: a task's own may only share its name."""
        return key in self.scores and (self.own_ends is None or self.own_ends.get(key) == (low, high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The ends of a score and of its criteria, and the pass mark.

    Attributes:
        criteria: (low, high) by key.
        binary: Criteria that are answered by 0 or 1, or by true or false.
    """

    low: float
    high: float
    pass_at: float | None
    criteria: Mapping[str, tuple[float, float]]
    binary: tuple[str, ...] = ()

    @classmethod
    def of(cls, protocol: Protocol) -> Scale:
        """The scale of a protocol."""
        low, high = score_range(protocol.score, protocol.criteria)
        return cls(
            low=float(low),
            high=float(high),
            pass_at=None if protocol.score.pass_at is None else float(protocol.score.pass_at),
            criteria={c.key: (float(c.min), float(c.max)) for c in protocol.criteria},
            binary=tuple(
                c.key
                for c in protocol.criteria
                if c.min == 0 and c.max == 1 and (c.type != "float" or set(c.allowed or ()) == {0, 1})
            ),
        )

    @classmethod
    def stored(cls, summary: Mapping[str, Any]) -> Scale:
        """The scale that a summary was made by, as far as the summary tells."""
        low, high = summary["score_range"]
        return cls(
            low=float(low),
            high=float(high),
            pass_at=summary["pass_at"],
            criteria={key: (one["min"], one["max"]) for key, one in summary["criteria"].items()},
        )


def figures_of(row: Mapping[str, Any]) -> TaskFigures:
    """A row, reduced to its figures."""
    scored = [repeat for repeat in row["repeats"] if repeat["outcome"] == "scored"]
    return TaskFigures(
        task_id=row["task_id"],
        outcome=row["outcome"],
        reason=row["reason"],
        main=row["main_score"],
        passed=row["pass"],
        scores=row["scores"],
        labels=row["labels"],
        repeat_mains=tuple(repeat["derived"]["main"] for repeat in scored),
        repeat_passes=tuple(repeat["pass"] for repeat in scored if repeat["pass"] is not None),
        served=tuple(row["judge"]["served"]),
        evidence_sha256=row["evidence_sha256"],
        warnings=frozenset(warning["code"] for warning in row["evidence"]["warnings"]),
        flags=frozenset(row["flags"]),
        n_replies=sum(repeat["reply_sha256"] is not None for repeat in row["repeats"]),
        artifacts_sha256=_digest_of(row["evidence"]["artifacts"]),
        judge=row["judge"]["model"],
        own_ends={one["key"]: (one["min"], one["max"]) for one in row["criteria"]}
        if row.get("criteria")
        else None,
    )


def _digest_of(artifacts: Iterable[Mapping[str, Any]]) -> str:
    """One digest of a submission's files by name and content."""
    lines = sorted(f"{item['name']} {item['sha256']}" for item in artifacts)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def figures(tasks: Sequence[TaskFigures], scale: Scale, *, cluster: str | None = None) -> dict[str, Any]:
    """Counts, mean with interval and bounds, pass rate and criteria means of some tasks.

    `mean` is over tasks that have a number, `n` of them: scored ones, and absent ones where they are worth
    the minimum. `mean_bounds` are over all planned tasks, with absent ones at the minimum and each unscored
    one at the least, then at the most, that the formula can give. `accuracy` is there where every number is
    0 or 1 on a scale from 0 to 1: the mean as a share, with Wilson's interval.

    Args:
        cluster: A label; intervals are then over clusters of tasks with the same value.
    """
    return column_figures(Columns.of(tasks, scale, cluster), scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Tasks as columns, so that figures of many groups need not go through the tasks again.

    Attributes:
        outcome: (n,) index into `OUTCOMES`.
        reason: (n,) index into `reasons`.
        main: (n,) NaN for none.
        passed: (n,) 1, 0, or -1 for none.
        scores: (n,) by criterion; NaN unless the task is scored and has it.
        cluster: (n,) number of the task's cluster; None if tasks are units by themselves.
    """

    outcome: NDArray[np.int8]
    reason: NDArray[np.int32]
    reasons: tuple[str, ...]
    main: FloatArray
    passed: NDArray[np.int8]
    scores: Mapping[str, FloatArray]
    cluster: NDArray[np.int64] | None

    @classmethod
    def of(cls, tasks: Sequence[TaskFigures], scale: Scale, cluster: str | None = None) -> Columns:
        """Columns of tasks, in their order."""
        reasons: dict[str, int] = {}
        scores = {key: np.full(len(tasks), np.nan) for key in scale.criteria}
        for at, task in enumerate(tasks):
            if task.outcome == "scored":
                for key, ends in scale.criteria.items():
                    if task.comparable(key, *ends):
                        scores[key][at] = task.scores[key]
        numbers: dict[str, int] = {}
        return cls(
            outcome=np.array([OUTCOMES.index(task.outcome) for task in tasks], np.int8),
            reason=np.array(
                [reasons.setdefault(task.reason or "", len(reasons)) for task in tasks], np.int32
            ),
            reasons=tuple(reasons),
            main=np.array([np.nan if task.main is None else task.main for task in tasks], np.float64),
            passed=np.array([-1 if task.passed is None else task.passed for task in tasks], np.int8),
            scores=scores,
            cluster=None
            if cluster is None
            else np.array(
                [numbers.setdefault(cluster_of(task, cluster), len(numbers)) for task in tasks], np.int64
            ),
        )

    def take(self, at: NDArray[np.int64]) -> Columns:
        """Some of the tasks, by their positions."""
        return replace(
            self,
            outcome=self.outcome[at],
            reason=self.reason[at],
            main=self.main[at],
            passed=self.passed[at],
            scores={key: column[at] for key, column in self.scores.items()},
            cluster=None if self.cluster is None else self.cluster[at],
        )

    def reasons_of(self, outcome: str) -> dict[str, int]:
        """How many tasks ended so, by reason."""
        counts = np.bincount(
            self.reason[self.outcome == OUTCOMES.index(outcome)], minlength=len(self.reasons)
        )
        return dict(sorted((self.reasons[at], int(count)) for at, count in enumerate(counts) if count))


def column_figures(columns: Columns, scale: Scale) -> dict[str, Any]:
    """As `figures`, of columns."""
    planned = len(columns.main)
    absent, unscored = columns.reasons_of("absent"), columns.reasons_of("unscored")
    scored = columns.outcome == OUTCOMES.index("scored")
    numbered = ~np.isnan(columns.main)
    known = columns.main[scored & numbered]
    n_unscored = sum(unscored.values())
    bounds = [
        decimal_mean(
            np.concatenate([known, np.full(sum(absent.values()), scale.low), np.full(n_unscored, end)])
        )
        for end in (scale.low, scale.high)
    ]
    mean = _mean(columns.main, columns.cluster, (scale.low, scale.high))
    return {
        "planned": planned,
        "scored": int(scored.sum()),
        "absent": absent,
        "unscored": unscored,
        "coverage": (planned - n_unscored) / planned if planned else None,
        **mean,
        "mean_bounds": bounds if planned else None,
        **_passes(columns),
        "accuracy": _accuracy(columns, scale, bounds),
        "criteria": {
            key: {**_mean(columns.scores[key], columns.cluster, ends), "min": ends[0], "max": ends[1]}
            for key, ends in scale.criteria.items()
        },
    }


def reaches_share(correct: int, n: int, threshold: Decimal) -> dict[str, Any]:
    """Whether a share of n reaches a threshold, and how many would: exactly, in whole tasks.

    Returns:
        `{pass, needed, warning}`: `needed` tasks of n reach it; `warning` is
        `threshold_only_reachable_by_all` where that is all n, though the threshold is below 1.
    """
    needed = math.ceil(threshold * n)
    only_all = n > 0 and needed == n and threshold < 1
    return {
        "pass": n > 0 and correct >= needed,
        "needed": needed,
        "warning": "threshold_only_reachable_by_all" if only_all else None,
    }


def cluster_of(task: TaskFigures, column: str) -> str:
    """The task's cluster; a task whose cell is empty is a cluster of its own."""
    value = task.labels.get(column, "")
    return f"={value}" if value else f"#{task.task_id}"


def _mean(column: FloatArray, cluster: NDArray[np.int64] | None, ends: tuple[float, float]) -> dict[str, Any]:
    """Mean, n, interval, and why there is none, over the tasks that are not NaN."""
    known = ~np.isnan(column)
    values = column[known]
    clusters = None if cluster is None else cluster[known].tolist()
    interval = bounded_mean_interval(values, *ends, clusters=clusters)
    reason = None
    if interval is None:
        units = len(values) if clusters is None else len(set(clusters))
        unit = "task" if clusters is None else "cluster"
        reason = "a scale without width" if units > 1 else f"{('no', 'one')[units]} {unit} with a number"
    return {
        "mean": decimal_mean(values),
        "n": len(values),
        "ci95": _pair(interval),
        "ci_reason": reason,
    }


def _passes(columns: Columns) -> dict[str, Any]:
    judged = columns.passed >= 0
    passed = columns.passed[judged].astype(np.float64)
    cluster = None if columns.cluster is None else columns.cluster[judged]
    return {
        "pass_rate": float(passed.sum()) / len(passed) if len(passed) else None,
        "pass_ci95": _share_interval(passed, cluster),
    }


def _accuracy(columns: Columns, scale: Scale, bounds: Sequence[float | None]) -> dict[str, Any] | None:
    known = ~np.isnan(columns.main)
    values = columns.main[known]
    if (scale.low, scale.high) != (0, 1) or not len(values) or not np.isin(values, (0, 1)).all():
        return None
    correct = int(values.sum())
    return {
        "correct": correct,
        "n": len(values),
        "share": correct / len(values),
        "ci95": _share_interval(values, None if columns.cluster is None else columns.cluster[known]),
        "bounds": list(bounds),
    }


def _share_interval(values: FloatArray, cluster: NDArray[np.int64] | None) -> list[float] | None:
    """Wilson's interval, which takes tasks for independent; else the mean's, over clusters."""
    if cluster is not None:
        return _pair(bounded_mean_interval(values, 0.0, 1.0, clusters=cluster.tolist()))
    return _pair(wilson_interval(int(values.sum()), len(values)))


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
