"""People against each other, and the judge against each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from beholder.human.figures import Kind, rated_by_both, two_raters
from beholder.stats import decimal_mean


def people_figures(
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
    rated, _ = rated_by_both(kind, ends, both, {task: {"": second[task]} for task in both})
    return {"n": len(rated.tasks), **two_raters(rated)}


def _means(pairs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Means over the pairs that have the figure."""
    return {
        key: decimal_mean([pair[key]["value"] for pair in pairs if pair[key]["value"] is not None])
        for key in ("agreement", "kappa", "pearson")
    }
