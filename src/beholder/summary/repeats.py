"""How much repeats of one judgement differ, task by task and over all."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beholder.stats import wilson_interval
from beholder.stats.reliability import (
    Reliability,
    reliability,
    repeats_for_half_width,
    repeats_for_reliability,
)
from beholder.summary.figures import Scale, TaskFigures

FloatArray = NDArray[np.float64]

LISTED = 50
"""Tasks that a list of the summary names at the most; `count` tells how many there are."""
HALF_WIDTHS = (0.01, 0.02, 0.05, 0.1)
"""Wanted precisions of one task's score, as shares of the scale."""
RELIABILITIES = (0.8, 0.9, 0.95)
UNKNOWN_MARGIN = 0.02
"""What counts as near the pass mark where nothing is known of the spread, as a share of the scale."""

ICC_METHOD = (
    "one-way random effects over tasks, ICC(1) and ICC(k); 95 % by F, or by drawing tasks and repeats where "
    "all tasks have the same mean"
)


def repeat_figures(tasks: Sequence[TaskFigures], n: int, scale: Scale) -> dict[str, Any]:
    """The summary's `repeats`: over tasks with two or more scored repeats, null where there are none.

    Returns:
        `n` asked for; `tasks`; `spread` and `range`, means over tasks of the sample deviation and of largest
        less smallest; `within_sd`, pooled; `pass_flips` (tasks whose repeats disagree on passing),
        `pass_flip_share` with `pass_flip_ci95` (Wilson) of `pass_tasks`; `icc1`, `icck` with intervals,
        `icc_repeats` (k), `icc_reason`, `icc_method`; `widest`: the tasks that differ most; `near_threshold`:
        tasks that another judgement could carry over the pass mark; `needed`: repeats for a precision.
    """
    several = [task for task in tasks if len(task.repeat_mains) > 1]
    tables = _tables(several)
    found = reliability([table for _, table in tables])
    spreads = _spreads(tables)
    judged = [task for task in several if task.repeat_passes]
    flips = sum(len(set(task.repeat_passes)) > 1 for task in judged)
    ranges = [max(task.repeat_mains) - min(task.repeat_mains) for task in several]
    return {
        "n": n,
        "tasks": len(several),
        "spread": math.fsum(spreads.values()) / len(several) if several else None,
        "range": math.fsum(ranges) / len(several) if several else None,
        "within_sd": found.within_sd,
        "pass_flips": flips if judged else None,
        "pass_tasks": len(judged),
        "pass_flip_share": flips / len(judged) if judged else None,
        "pass_flip_ci95": _pair(wilson_interval(flips, len(judged))),
        "icc1": found.icc1,
        "icc1_ci95": _pair(found.icc1_interval),
        "icck": found.icck,
        "icck_ci95": _pair(found.icck_interval),
        "icc_repeats": found.repeats,
        "icc_reason": found.reason,
        "icc_method": ICC_METHOD,
        "widest": _widest(several, spreads),
        "near_threshold": _near(tasks, scale, found),
        "needed": _needed(found, scale),
    }


def _tables(tasks: Sequence[TaskFigures]) -> list[tuple[list[TaskFigures], FloatArray]]:
    """Tasks by their number of scored repeats, with their scores as (tasks, repeats)."""
    by_count: dict[int, list[TaskFigures]] = {}
    for task in tasks:
        by_count.setdefault(len(task.repeat_mains), []).append(task)
    return [
        (own, np.array([task.repeat_mains for task in own], np.float64))
        for _, own in sorted(by_count.items())
    ]


def _spreads(tables: Sequence[tuple[list[TaskFigures], FloatArray]]) -> dict[str, float]:
    """Sample deviation of each task's repeats, by task id; 0 exactly where all are equal."""
    found: dict[str, float] = {}
    for tasks, table in tables:
        deviations = np.where(np.ptp(table, axis=1) == 0, 0.0, table.std(axis=1, ddof=1))
        found.update(zip((task.task_id for task in tasks), deviations.tolist(), strict=True))
    return found


def _widest(tasks: Sequence[TaskFigures], spreads: Mapping[str, float]) -> dict[str, Any]:
    """Tasks whose repeats differ, most first."""
    varied = [task for task in tasks if spreads[task.task_id] > 0]
    widest = heapq.nsmallest(LISTED, varied, key=lambda task: (-spreads[task.task_id], task.task_id))
    return {
        "count": len(varied),
        "tasks": [
            {
                "task_id": task.task_id,
                "main_score": task.main,
                "spread": spreads[task.task_id],
                "range": max(task.repeat_mains) - min(task.repeat_mains),
                "repeats": list(task.repeat_mains),
                "pass_flips": len(set(task.repeat_passes)) > 1,
            }
            for task in widest
        ],
    }


def _near(tasks: Sequence[TaskFigures], scale: Scale, found: Reliability) -> dict[str, Any] | None:
    """Scored tasks within z s_w / sqrt(k) of the pass mark, nearest first; None without a pass mark."""
    if scale.pass_at is None:
        return None
    if not found.within_sd and _two_valued(tasks, scale):
        return {
            "count": 0,
            "method": "none: every score is at an end of the scale, and repeats do not tell a spread",
            "tasks": [],
        }
    z = NormalDist().inv_cdf(0.975)
    known = bool(found.within_sd)
    fallback = UNKNOWN_MARGIN * (scale.high - scale.low)
    near = []
    for task in tasks:
        if task.outcome != "scored" or task.main is None or not task.repeat_mains:
            continue
        margin = z * (found.within_sd or 0.0) / math.sqrt(len(task.repeat_mains)) if known else fallback
        distance = abs(task.main - scale.pass_at)
        if distance <= margin:
            near.append((distance, task.task_id, task))
    nearest = heapq.nsmallest(LISTED, near, key=itemgetter(0, 1))
    return {
        "count": len(near),
        "method": "within 1.96 within_sd / sqrt(scored repeats) of the pass mark"
        if known
        else "within 2 % of the scale of the pass mark; repeats do not tell a spread",
        "tasks": [
            {
                "task_id": task.task_id,
                "main_score": task.main,
                "pass": task.passed,
                "distance": distance,
                "repeats": list(task.repeat_mains),
                "pass_flips": len(set(task.repeat_passes)) > 1,
            }
            for distance, _, task in nearest
        ],
    }


def _two_valued(tasks: Sequence[TaskFigures], scale: Scale) -> bool:
    """Whether every score is the scale's one end or the other: right or wrong, and nothing between."""
    return all(value in (scale.low, scale.high) for task in tasks for value in task.repeat_mains)


def _needed(found: Reliability, scale: Scale) -> dict[str, Any]:
    """Repeats for a wanted precision of one task's score, and for a wanted ICC of its mean."""
    width = scale.high - scale.low
    spread, icc1 = found.within_sd, found.icc1
    return {
        "half_width": [
            {"half_width": share * width, "repeats": repeats_for_half_width(spread, share * width)}
            for share in HALF_WIDTHS
            if spread is not None and width > 0
        ],
        "reliability": [
            {"icc": wanted, "repeats": repeats_for_reliability(icc1, wanted)}
            for wanted in RELIABILITIES
            if icc1 is not None
        ],
    }


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
