"""Captures: groups of parts that fit one piece."""

from __future__ import annotations

from beholder.evidence.capture import MAX_SLICE_PX, Box, join_slices, png_size, slices_of, surrounding
from tests.fakes.evidence import png


def test_groups_keep_order_and_fit() -> None:
    """Parts stay in order, each once, and no group is higher than the browser's limit."""
    parts = [Box(0, 950 * n, 1280, 950) for n in range(50)]
    groups = slices_of(parts)
    assert [part for group in groups for part in group] == parts
    assert len(groups) == 3
    assert all(surrounding(group).height <= MAX_SLICE_PX for group in groups)


def test_surrounding() -> None:
    """The box around boxes reaches from the least to the greatest edge."""
    assert surrounding([Box(5, 10, 10, 10), Box(0, 20, 5, 15)]) == Box(0, 10, 15, 25)


def test_joined_slices() -> None:
    """Slices lie one below the other in the joined picture."""
    assert png_size(join_slices([png((40, 30)), png((40, 12))])) == (40, 42)
