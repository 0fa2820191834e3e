"""A row's figures, and figures of some tasks: counts, mean, interval, bounds, passes, criteria."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beholder.records import Protocol
from beholder.scoring import score_range
from beholder.stats import bounded_mean_interval, decimal_mean, wilson_interval

CI_METHOD = (
    "95 %: Gaffke's interval of a bounded mean over tasks, with a weight of 0.8 tasks at the end of the "
    "scale; null for fewer than two tasks. Shares: Wilson's score interval."
)
CI_METHOD_CLUSTERED = (
    "95 %: Gaffke's interval of a bounded mean over clusters of tasks with the same {cluster}, with a weight "
    "of 0.8 clusters at the end of the scale; null for fewer than two clusters."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """What a summary needs of a row; some hundred bytes, so that a hundred thousand rows fit in memory."""

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
    numbered = [task for task in tasks if task.main is not None]
    values = [task.main for task in numbered if task.main is not None]
    scored = [task for task in tasks if task.outcome == "scored"]
    absent = Counter(task.reason for task in tasks if task.outcome == "absent")
    unscored = Counter(task.reason for task in tasks if task.outcome == "unscored")
    planned = len(tasks)
    least, most = (
        [task.main or 0.0 for task in scored] + [scale.low] * absent.total() + [end] * unscored.total()
        for end in (scale.low, scale.high)
    )
    bounds = [decimal_mean(least), decimal_mean(most)] if planned else None
    interval = _interval(values, numbered, (scale.low, scale.high), cluster)
    return {
        "planned": planned,
        "scored": len(scored),
        "absent": dict(sorted(absent.items())),
        "unscored": dict(sorted(unscored.items())),
        "coverage": (planned - unscored.total()) / planned if planned else None,
        "mean": decimal_mean(values),
        "n": len(values),
        "ci95": interval,
        "ci_reason": _no_interval(interval, numbered, cluster),
        "mean_bounds": bounds,
        **_passes(tasks, cluster),
        "accuracy": _accuracy(numbered, values, scale, bounds, cluster),
        "criteria": {key: _criterion(scored, key, ends, cluster) for key, ends in scale.criteria.items()},
    }


def reaches_share(correct: int, n: int, threshold: Decimal) -> dict[str, Any]:
    """Whether a share of n reaches a threshold, and how many would: exactly, in whole tasks.

    Returns:
        `{pass, needed, warning}`: `needed` tasks of n reach it; `warning` is
        `threshold_only_reachable_by_all` where that is all n, though the threshold is below 1.
    """
    needed = -((-threshold * n) // 1)
    only_all = n > 0 and needed == n and threshold < 1
    return {
        "pass": n > 0 and correct >= needed,
        "needed": int(needed),
        "warning": "threshold_only_reachable_by_all" if only_all else None,
    }


def cluster_of(task: TaskFigures, column: str) -> str:
    """The task's cluster; a task whose cell is empty is a cluster of its own."""
    value = task.labels.get(column, "")
    return f"={value}" if value else f"#{task.task_id}"


def _passes(tasks: Sequence[TaskFigures], cluster: str | None) -> dict[str, Any]:
    judged = [task for task in tasks if task.passed is not None]
    passes = sum(bool(task.passed) for task in judged)
    return {
        "pass_rate": passes / len(judged) if judged else None,
        "pass_ci95": _share_interval(judged, [float(bool(task.passed)) for task in judged], cluster),
    }


def _accuracy(
    numbered: Sequence[TaskFigures],
    values: Sequence[float],
    scale: Scale,
    bounds: Sequence[float | None] | None,
    cluster: str | None,
) -> dict[str, Any] | None:
    if (scale.low, scale.high) != (0, 1) or not values or not set(values) <= {0, 1}:
        return None
    correct = int(sum(values))
    return {
        "correct": correct,
        "n": len(values),
        "share": correct / len(values),
        "ci95": _share_interval(numbered, values, cluster),
        "bounds": bounds,
    }


def _criterion(
    scored: Sequence[TaskFigures], key: str, ends: tuple[float, float], cluster: str | None
) -> dict[str, Any]:
    known = [task for task in scored if key in task.scores]
    values = [task.scores[key] for task in known]
    interval = _interval(values, known, ends, cluster)
    return {
        "mean": decimal_mean(values),
        "n": len(values),
        "ci95": interval,
        "ci_reason": _no_interval(interval, known, cluster),
        "min": ends[0],
        "max": ends[1],
    }


def _interval(
    values: Sequence[float], tasks: Sequence[TaskFigures], ends: tuple[float, float], cluster: str | None
) -> list[float] | None:
    clusters = None if cluster is None else [cluster_of(task, cluster) for task in tasks]
    found = bounded_mean_interval(values, *ends, clusters=clusters)
    return None if found is None else list(found)


def _share_interval(
    tasks: Sequence[TaskFigures], values: Sequence[float], cluster: str | None
) -> list[float] | None:
    """Wilson's interval, which takes tasks for independent; else the mean's, over clusters."""
    if cluster is not None:
        return _interval(values, tasks, (0.0, 1.0), cluster)
    found = wilson_interval(int(sum(values)), len(values))
    return None if found is None else list(found)


def _no_interval(
    interval: list[float] | None, tasks: Sequence[TaskFigures], cluster: str | None
) -> str | None:
    """Why a mean has no interval; None where it has one."""
    if interval is not None:
        return None
    if not tasks:
        return "no task with a number"
    if len(tasks) == 1:
        return "one task only"
    return "a scale without width" if cluster is None else "one cluster only, or a scale without width"
