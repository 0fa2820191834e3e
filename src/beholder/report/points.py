"""Rows -> the numbers that plots are drawn from: per model and task a score, its spread, its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beholder.report.items import spread_of
from beholder.report.load import Json
from beholder.report.repeats import State, state_of

if TYPE_CHECKING:
    from beholder.report.view import Items

MOST_MODELS = 8
"""Models in one plot; more colours and shapes nobody tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One task of one model.

    Attributes:
        item: Its position among the report's items.
        score: The main score, an absent one's worth included; None without a number.
        spread: Largest less smallest score of the repeats.
        flips: Whether some repeats pass and others fail.
    """

    item: int
    score: float | None
    spread: float | None
    state: State
    flips: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A task that both models have a score for. Absent ones count as what they are worth."""

    first: Point
    second: Point

    @property
    def flips(self) -> bool:
        """Whether one passes and the other does not."""
        return (self.first.state == "passed") != (self.second.state == "passed")


def points_of(items: Items) -> list[dict[str, Point]]:
    """By model in the ranking's order: every task's point."""
    points: list[dict[str, Point]] = [{} for _ in items.runs]
    for index, (_, model, _) in enumerate(items.entries):
        row = items.row(index)
        points[model][str(row.get("task_id", ""))] = _point(index, row)
    return points


def pairs_of(first: Mapping[str, Point], second: Mapping[str, Point]) -> Iterator[Pair]:
    """The tasks that both have a number for, in the first one's order."""
    for task, point in first.items():
        other = second.get(task)
        if other is not None and point.score is not None and other.score is not None:
            yield Pair(first=point, second=other)


def _point(index: int, row: Json) -> Point:
    passes = {repeat.get("pass") for repeat in row.get("repeats") or []} - {None}
    score = row.get("main_score")
    return Point(
        item=index,
        score=None if score is None else float(score),
        spread=spread_of(row),
        state=state_of(row),
        flips=len(passes) > 1,
    )
