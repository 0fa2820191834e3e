"""Figures of two raters over the tasks that both have: agreement, kappa, correlation, bias, confusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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

Kind = Literal["binary", "ordinal", "numeric"]
FloatArray = NDArray[np.float64]

MAX_VALUES = 21
"""Whole numbers on a longer scale are numbers, not steps."""

_SAME = "both gave one and the same value throughout"
_CONSTANT = "one of the two gave the same value throughout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Two raters' values of one column, of the tasks that have both.

    Attributes:
        ends: Of the column's scale.
        tasks: Ids, sorted.
        judge, people: (N,) float64, a value per task: the judge's and people's mean, or two people's.
    """

    kind: Kind
    ends: tuple[float, float]
    tasks: tuple[str, ...]
    judge: FloatArray
    people: FloatArray


def kind_of(values: Sequence[float], judged: Sequence[float], ends: tuple[float, float]) -> Kind:
    """What ratings are: two values, by people and in each of the judge's repeats; steps; or numbers."""
    if ends == (0.0, 1.0) and {*values, *judged} <= {0.0, 1.0}:
        return "binary"
    steps = ends[1] - ends[0] < MAX_VALUES and all(float(value).is_integer() for value in [*values, *ends])
    return "ordinal" if steps else "numeric"


def rated_by_both(
    kind: Kind,
    ends: tuple[float, float],
    judged: Mapping[str, float],
    given: Mapping[str, Mapping[str, float]],
) -> tuple[Rated, int]:
    """(judge against the mean of all people; of two values, what most say; how many tasks are split evenly).

    Args:
        judged: The judge's value by task.
        given: Ratings by task, then by rater; of every task in `judged`.
    """
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
    return Rated(
        kind=kind, ends=ends, tasks=tuple(tasks), judge=np.array(judge), people=np.array(people)
    ), tied


def two_raters(rated: Rated) -> dict[str, Any]:
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


def _agreement(rated: Rated) -> dict[str, Any]:
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


def bias(differences: Sequence[float], ends: tuple[float, float]) -> dict[str, Any]:
    """The mean difference, judge less people."""
    interval = difference_interval(differences, ends[1] - ends[0])
    reason = None
    if interval is None:
        reason = "no task that both rated" if not differences else "one task only"
    return {
        "value": decimal_mean(differences),
        "ci95": None if interval is None else list(interval),
        "reason": reason,
    }


def confusion_of(rated: Rated) -> dict[str, Any] | None:
    """How often each pair of values occurs, rows people; None for numbers."""
    if rated.kind == "numeric":
        return None
    values = [float(value) for value in range(int(rated.ends[0]), int(rated.ends[1]) + 1)]
    table = confusion(np.rint(rated.people).tolist(), np.rint(rated.judge).tolist(), values)
    return {"values": [int(value) for value in values], "table": table}


def spearman(rated: Rated) -> dict[str, Any]:
    """Correlation of ranks, as a figure of the document."""
    return _told(spearman_figure(*_shares(rated), _CONSTANT))


def _shares(rated: Rated) -> tuple[FloatArray, FloatArray]:
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
