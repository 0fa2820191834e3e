"""Summaries -> how steady the judge is over repeats: spread, flips, reliability, tasks near the pass mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from beholder.report import numbers
from beholder.report.figures import Scale
from beholder.report.load import Json, Run

SHOWN = 8
_SHARES = (-1, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearView:
    """A task that another judgement could carry over the pass mark."""

    task_id: str
    score: str
    repeats: str
    flips: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyView:
    """One model's repeats; figures as (value, interval or why there is none).

    Attributes:
        tasks: With two or more scored repeats.
        spread: Mean over tasks of the repeats' standard deviation.
        flips: Share of tasks whose repeats disagree on passing; None without a pass mark.
        icc1, icck: Reliability of one judgement, and of the mean of `k`, which is said where it is not the
            number asked for.
        needed: Repeats for a wanted precision of one task's score, a sentence.
        near: Nearest first; `n_near` counts them all; None without a pass mark.
    """

    place: int
    name: str
    tasks: str
    spread: str
    flips: tuple[str, str] | None
    icc1: tuple[str, str]
    icck: tuple[str, str]
    k: str
    needed: str
    near: tuple[NearView, ...]
    n_near: int | None


def steadiness_of(runs: Sequence[Run], scale: Scale) -> tuple[SteadyView, ...]:
    """A view per model with tasks that were judged more than once."""
    return tuple(
        _steady(place, run, run.summary["repeats"], scale)
        for place, run in enumerate(runs)
        if (run.summary.get("repeats") or {}).get("tasks")
    )


def _steady(place: int, run: Run, found: Json, scale: Scale) -> SteadyView:
    near = found.get("near_threshold")
    share = found.get("pass_flip_share")
    flips = None
    if share is not None:
        counted = f"{found.get('pass_flips')} of {numbers.count(found.get('pass_tasks'))}"
        flips = (counted, numbers.percent_interval(found.get("pass_flip_ci95")))
    return SteadyView(
        place=place,
        name=run.name,
        tasks=numbers.count(found.get("tasks")),
        spread=numbers.fixed(found.get("spread"), scale.digits, marks=(0,)),
        flips=flips,
        icc1=_icc(found, "icc1"),
        icck=_icc(found, "icck"),
        k="" if found.get("icc_repeats") == found.get("n") else numbers.plain(found.get("icc_repeats"), 2),
        needed=_needed(found.get("needed") or {}),
        near=tuple(_near(task, scale) for task in (near or {}).get("tasks", ())[:SHOWN]),
        n_near=None if near is None else int(near.get("count") or 0),
    )


def _icc(found: Json, key: str) -> tuple[str, str]:
    value, ci95 = found.get(key), found.get(f"{key}_ci95")
    if value is None:
        return "undefined", str(found.get("icc_reason") or "")
    interval = numbers.interval(ci95, 2, ends=_SHARES) if ci95 else str(found.get("icc_reason") or "")
    return numbers.fixed(value, 2, marks=_SHARES).replace("-", "−"), interval.replace("-", "−")


def _needed(needed: Json) -> str:
    """`4 repeats for ±10, 13 for ±5`: the scale's own units. Of those that one suffices for, the finest."""
    wanted = [one for one in needed.get("half_width") or () if one.get("repeats")]
    ones = [one["half_width"] for one in wanted if one["repeats"] == 1]
    return ", ".join(
        f"{numbers.count(one['repeats'])} for ±{numbers.exact(one['half_width']).normalize():f}"
        for one in reversed(wanted)
        if one["repeats"] > 1 or one["half_width"] == min(ones)
    )


def _near(task: Json, scale: Scale) -> NearView:
    return NearView(
        task_id=str(task.get("task_id") or ""),
        score=scale.main(task.get("main_score"), task.get("pass")),
        repeats=" · ".join(numbers.plain(one, scale.digits) for one in task.get("repeats") or ()),
        flips=bool(task.get("pass_flips")),
    )
