"""How a picture is laid out for one judge: whole, shrunk or cut, and never above a limit.

A judge has hard limits (an edge, bytes) above which it refuses, and a size above which it shrinks a picture
by itself. `tiles` are cut so that nothing is shrunk; `single` is shrunk here, so that the factor is recorded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from beholder.evidence.capture import Box
from beholder.records import Layout, MediaLimits

DEFAULT_EDGE_PX = 8000
"""Longest edge sent to a judge whose limits are not known: the smallest that a vendor states."""

LEAST_EDGE_PX = 28
"""Pictures narrower than this get a white border: a judge looks at patches of 28 px."""

MOST_ASPECT = 100
"""A picture is made at most so many times longer than wide, by a border: judges refuse above 200."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent of one picture.

    Attributes:
        overview: Scale in (0, 1] of a picture of the whole, or None: no overview.
        tiles: Pieces in natural size, row by row; empty where the overview is all.
        left_out: Tiles that the budget cut off at the end.
        tiles_in_all: Before the budget.
    """

    overview: float | None
    tiles: tuple[Box, ...] = ()
    left_out: int = 0
    tiles_in_all: int = 0

    @property
    def count(self) -> int:
        """Pictures sent."""
        return len(self.tiles) + (self.overview is not None)


def sharp_edge(limits: MediaLimits) -> int:
    """Longest edge, in px, of a picture that arrives as it was sent."""
    known = [edge for edge in (limits.shrink_edge_px, limits.edge_px) if edge is not None]
    return min(known, default=DEFAULT_EDGE_PX)


def fit_scale(width: int, height: int, limits: MediaLimits) -> float:
    """The largest factor in (0, 1] at which the judge takes a picture without shrinking it further."""
    scale = min(1.0, sharp_edge(limits) / max(width, height))
    if limits.shrink_pixels is not None:
        scale = min(scale, math.sqrt(limits.shrink_pixels / (width * height)))
    return scale


def scaled_size(width: int, height: int, scale: float) -> tuple[int, int]:
    """Whole pixels, rounded down so that no limit is passed, at least 1."""
    return max(1, int(width * scale + 1e-9)), max(1, int(height * scale + 1e-9))


def bordered_size(width: int, height: int) -> tuple[int, int]:
    """The size that a picture has at least, so that no judge refuses it for its shape."""
    least = max(LEAST_EDGE_PX, math.ceil(max(width, height) / MOST_ASPECT))
    return max(width, least), max(height, least)


def border_words(size: tuple[int, int], bordered: tuple[int, int]) -> str:
    """What to say of a border."""
    return f"set in a white border, {size[0]}x{size[1]} to {bordered[0]}x{bordered[1]}"


def tallest_tile(width: int, limits: MediaLimits) -> int:
    """Rows, at least 1, that a piece so many px wide may have to arrive unshrunk."""
    edge = sharp_edge(limits)
    return max(1, min(edge, (limits.shrink_pixels or edge * edge) // width))


def cut(width: int, height: int, limits: MediaLimits) -> tuple[Box, ...]:
    """Boxes that cover every pixel once, row by row, each small enough to arrive unshrunk.

    As few as possible, of nearly equal size.
    """
    columns = math.ceil(width / sharp_edge(limits))
    rows = math.ceil(height / tallest_tile(math.ceil(width / columns), limits))
    xs, ys = _edges(width, columns), _edges(height, rows)
    return tuple(
        Box(left, top, right - left, bottom - top)
        for top, bottom in pairwise(ys)
        for left, right in pairwise(xs)
    )


def _edges(length: int, parts: int) -> list[int]:
    return [length * at // parts for at in range(parts + 1)]


def plan(width: int, height: int, layout: Layout, limits: MediaLimits, budget: int) -> Plan:
    """How a picture of `width` x `height` px is sent in at most `budget` (>= 1) pictures."""
    scale = fit_scale(width, height, limits)
    if scale >= 1.0 or layout == "single":
        return Plan(overview=scale, tiles_in_all=0)
    tiles = cut(width, height, limits)
    overview = scale if layout == "overview+tiles" else None
    room = budget - (overview is not None)
    shown = tiles[:room]
    return Plan(overview=overview, tiles=shown, left_out=len(tiles) - len(shown), tiles_in_all=len(tiles))
