"""Where a tall picture is cut: between lines rather than through them, if there is room for it.

`layout.cut` gives parts of nearly equal height, most of them a little below the limit. What is left may be
used to move a cut to rows where nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from beholder.evidence.capture import Box
from beholder.evidence.layout import Plan, tallest_tile
from beholder.records import MediaLimits

if TYPE_CHECKING:
    from PIL import Image

REACH_PX = 160
"""A cut is moved by no more than this."""

QUIET_ROWS = 3
"""Rows on either side of a cut that are to hold nothing."""

_SAME = 3
"""Difference in a channel, of 255, that still is the same colour."""

_CHANGES = 6
"""Changes of colour along a row that is still plain: a column beside the text, with its borders."""

Quiet = Callable[[int, int], Sequence[int]]
"""(first row, end) -> for each row from the first up to the end: 2: of one colour; 1: plain, the same few
stretches of colour as in the row above; 0: something is drawn in it."""


def move_cuts(edges: Sequence[int], tallest: int, quiet: Quiet) -> list[int]:
    """The same number of edges, each inner one at quiet rows near where it was, if there are any.

    Args:
        edges: Rising, the first and the last of which stay; neighbours are at most `tallest` apart.
        quiet: Asked for the rows around each edge.

    Returns:
        Rising edges, neighbours at most `tallest` apart.
    """
    moved = [edges[0]]
    for at in range(1, len(edges) - 1):
        wanted, last = edges[at], edges[-1]
        # What comes below must still fit into the parts that are left, and each part holds a row.
        lowest = max(moved[-1] + 1, wanted - REACH_PX, last - tallest * (len(edges) - 1 - at))
        highest = min(moved[-1] + tallest, wanted + REACH_PX, last - (len(edges) - 1 - at))
        nearest = min(max(wanted, lowest), highest)
        moved.append(_quiet_row(lowest, highest, nearest, quiet))
    return [*moved, edges[-1]] if len(edges) > 1 else moved


def _quiet_row(lowest: int, highest: int, nearest: int, quiet: Quiet) -> int:
    """The row within the bounds, closest to `nearest`, with quiet rows above and below; else `nearest`."""
    start = max(0, lowest - QUIET_ROWS)
    rows = quiet(start, highest + QUIET_ROWS)
    for level in (2, 1):
        found, best, run = nearest, highest - lowest + 1, 0
        for at, row in enumerate(rows):
            run = run + 1 if row >= level else 0
            cut = start + at + 1 - QUIET_ROWS
            if run >= 2 * QUIET_ROWS and lowest <= cut <= highest and abs(cut - nearest) < best:
                found, best = cut, abs(cut - nearest)
        if best <= highest - lowest:
            return found
    return nearest


def quiet_rows(page: Image.Image, start: int, end: int) -> list[int]:
    """How quiet each row of a picture is, as `Quiet` has it; rows outside of the picture are not."""
    import numpy as np

    top, bottom = max(0, start), min(page.height, end)
    if top >= bottom:
        return [0] * (end - start)
    first = max(0, top - 1)
    # By brightness: a third of the work, and what differs in nothing else is hardly a line of text.
    grey = np.asarray(page.crop((0, first, page.width, bottom)).convert("L"))
    above, rows = (grey[:-1], grey[1:]) if first < top else (np.concatenate([grey[:1], grey[:-1]]), grey)
    spread = rows.max(axis=1) - rows.min(axis=1) <= _SAME
    found = np.where(spread, 2, 0)
    if not spread.all():
        signed = rows.astype(np.int16)
        changes = (abs(np.diff(signed, axis=1)) > _SAME).sum(axis=1) <= _CHANGES
        same = abs(signed - above).max(axis=1) <= _SAME
        found[~spread & changes & same] = 1
    return [0] * (top - start) + [int(row) for row in found] + [0] * (end - bottom)


def between_lines(plan: Plan, page: Image.Image, limits: MediaLimits, *, top: int = 0) -> Plan:
    """The plan with its horizontal cuts moved to rows that hold nothing; every pixel still once.

    Args:
        page: The picture, RGB.
        top: The row of the plan that is the picture's first.
    """
    edges = sorted({box.y for box in plan.tiles} | {box.y + box.height for box in plan.tiles})
    if len(edges) < 3:
        return plan
    tallest = tallest_tile(max(box.width for box in plan.tiles), limits)
    moved = move_cuts(edges, tallest, lambda start, end: quiet_rows(page, start - top, end - top))
    to = dict(zip(edges, moved, strict=True))
    tiles = [Box(box.x, to[box.y], box.width, to[box.y + box.height] - to[box.y]) for box in plan.tiles]
    return replace(plan, tiles=tuple(tiles))
