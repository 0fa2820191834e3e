"""Rows -> summary: figures within a stated scope, never without their coverage, interval and bounds."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from statistics import stdev
from typing import Any

from beholder.records import Protocol
from beholder.scoring import number, score_range
from beholder.stats import student_t_interval, wilson_interval

CI_METHOD = (
    "95 %: Student's t over tasks, cut at the ends of the scale; null for fewer than two tasks or without "
    "any spread. Shares: Wilson's score interval."
)
MAX_GROUPS = 40


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
    """The ends of a score and of its criteria, and the pass mark."""

    low: float
    high: float
    pass_at: float | None
    criteria: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, protocol: Protocol) -> Scale:
        """The scale of a protocol."""
        low, high = score_range(protocol.score, protocol.criteria)
        return cls(
            low=float(low),
            high=float(high),
            pass_at=None if protocol.score.pass_at is None else float(protocol.score.pass_at),
            criteria={c.key: (float(c.min), float(c.max)) for c in protocol.criteria},
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


def summarize(
    tasks: Sequence[TaskFigures], protocol: Protocol, *, model: str, judge: str, hashes: Mapping[str, str]
) -> dict[str, Any]:
    """The summary of one out-dir, JSON-ready.

    Args:
        tasks: One per planned task; their number is `planned`.
        hashes: `question_sha256` and `formula_sha256`.
    """
    scale = Scale.of(protocol)
    scripted = judge.startswith("scripted/")
    return {
        "schema": 1,
        "protocol": protocol.id,
        "title": protocol.title,
        **hashes,
        "evidence_sha256": sorted({task.evidence_sha256 for task in tasks}),
        "judge": {
            "model": judge,
            "served": sorted({name for task in tasks for name in task.served}),
            "scripted": scripted,
        },
        "scripted": scripted,
        "model": model,
        **figures(tasks, scale),
        "ci_method": CI_METHOD,
        "score_range": [number(end) for end in score_range(protocol.score, protocol.criteria)],
        "pass_at": scale.pass_at,
        "groups": _groups(tasks, scale),
        "repeats": _repeat_figures(tasks, protocol.repeats.n),
        "warnings": _warnings(tasks, scripted=scripted),
    }


def figures(tasks: Sequence[TaskFigures], scale: Scale) -> dict[str, Any]:
    """Counts, mean with interval and bounds, pass rate and criteria means of some tasks.

    `mean` is over tasks that have a number: scored ones, and absent ones where they are worth the minimum.
    `mean_bounds` are over all planned tasks, with absent ones at the minimum and each unscored one at the
    least, then at the most, that the formula can give.
    """
    values = [task.main for task in tasks if task.main is not None]
    scored = [task for task in tasks if task.outcome == "scored"]
    absent = Counter(task.reason for task in tasks if task.outcome == "absent")
    unscored = Counter(task.reason for task in tasks if task.outcome == "unscored")
    passes = [task.passed for task in tasks if task.passed is not None]
    planned = len(tasks)
    least, most = (
        [task.main or 0.0 for task in scored] + [scale.low] * absent.total() + [end] * unscored.total()
        for end in (scale.low, scale.high)
    )
    return {
        "planned": planned,
        "scored": len(scored),
        "absent": dict(sorted(absent.items())),
        "unscored": dict(sorted(unscored.items())),
        "coverage": (planned - unscored.total()) / planned if planned else None,
        "mean": _mean(values),
        "ci95": _pair(student_t_interval(values, scale.low, scale.high)),
        "mean_bounds": [_mean(least), _mean(most)] if planned else None,
        "pass_rate": sum(passes) / len(passes) if passes else None,
        "pass_ci95": _pair(wilson_interval(sum(passes), len(passes))),
        "criteria": {key: _criterion(scored, key, low, high) for key, (low, high) in scale.criteria.items()},
    }


def summarize_jointly(
    summaries: Mapping[str, Mapping[str, Any]],
    tasks: Mapping[str, Sequence[TaskFigures]],
    protocol: Protocol,
) -> dict[str, Any]:
    """Several models: each one's own summary, and figures on the tasks that all have a number for."""
    numbered = [{task.task_id for task in own if task.main is not None} for own in tasks.values()]
    common = set.intersection(*numbered) if numbered else set()
    scale = Scale.of(protocol)
    first = next(iter(summaries.values()))
    return {
        "schema": 1,
        **{
            key: first[key]
            for key in (
                "protocol",
                "title",
                "question_sha256",
                "formula_sha256",
                "judge",
                "score_range",
                "pass_at",
            )
        },
        "scripted": any(summary["scripted"] for summary in summaries.values()),
        "ci_method": CI_METHOD,
        "models": dict(summaries),
        "common": {
            "tasks": len(common),
            "models": {
                name: figures([task for task in own if task.task_id in common], scale)
                for name, own in tasks.items()
            },
        },
        "warnings": [
            {"code": warning["code"], "detail": f"{name}: {warning['detail']}"}
            for name, summary in summaries.items()
            for warning in summary["warnings"]
        ],
    }


def _criterion(scored: Sequence[TaskFigures], key: str, low: float, high: float) -> dict[str, Any]:
    values = [task.scores[key] for task in scored if key in task.scores]
    return {
        "mean": _mean(values),
        "ci95": _pair(student_t_interval(values, low, high)),
        "min": low,
        "max": high,
    }


def _groups(tasks: Sequence[TaskFigures], scale: Scale) -> dict[str, Any]:
    """Figures by the values of each label that divides the tasks at all."""
    groups: dict[str, Any] = {}
    for label in sorted({name for task in tasks for name in task.labels}):
        members: dict[str, list[TaskFigures]] = {}
        for task in tasks:
            members.setdefault(task.labels.get(label, ""), []).append(task)
        if len(members) <= MAX_GROUPS and (len(members) < len(tasks) or len(tasks) == 1):
            groups[label] = {value: figures(members[value], scale) for value in sorted(members)}
    return groups


def _repeat_figures(tasks: Iterable[TaskFigures], n: int) -> dict[str, Any]:
    """How much repeats differ: mean sample deviation and mean range over tasks with two or more scored."""
    several = [task for task in tasks if len(task.repeat_mains) > 1]
    if not several:
        return {"n": n, "tasks": 0, "spread": None, "range": None, "pass_flips": None}
    ranges = [max(task.repeat_mains) - min(task.repeat_mains) for task in several]
    judged = [task for task in several if task.repeat_passes]
    return {
        "n": n,
        "tasks": len(several),
        "spread": math.fsum(stdev(task.repeat_mains) for task in several) / len(several),
        "range": math.fsum(ranges) / len(several),
        "pass_flips": sum(len(set(task.repeat_passes)) > 1 for task in judged) if judged else None,
    }


def _warnings(tasks: Sequence[TaskFigures], *, scripted: bool) -> list[dict[str, str]]:
    found: list[tuple[str, str]] = []
    if scripted:
        found.append(("scripted", "the replies are made up; no model judged anything"))
    unscored = sum(task.outcome == "unscored" for task in tasks)
    if unscored:
        found.append(("unscored", f"{unscored} of {_tasks(len(tasks))} without a score; see the bounds"))
    partial = sum("partial_coverage" in task.flags for task in tasks)
    if partial:
        found.append(("partial_coverage", f"{_tasks(partial)} with fewer scored repeats than were asked for"))
    served = {name for task in tasks for name in task.served}
    if len(served) > 1:
        found.append(("served_models_differ", "more than one model answered: " + ", ".join(sorted(served))))
    if len({task.evidence_sha256 for task in tasks}) > 1:
        found.append(("evidence_policies_differ", "tasks were judged under different evidence policies"))
    unsafe = sum("sandbox_off" in task.warnings for task in tasks)
    if unsafe:
        found.append(("sandbox_off", f"{_tasks(unsafe)} drawn by a browser without its sandbox"))
    return [{"code": code, "detail": detail} for code, detail in found]


def _mean(values: Sequence[float]) -> float | None:
    """The mean of numbers as their decimals say, so that three times 0.7 is 0.7; None of nothing."""
    if not values:
        return None
    with localcontext(prec=60):
        return float(sum((Decimal(repr(value)) for value in values), Decimal(0)) / len(values))


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
