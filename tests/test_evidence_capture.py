"""Captures: pieces and the whole."""

from __future__ import annotations

from beholder.evidence.capture import Box, join_slices, png_size, surrounding
from tests.fakes.evidence import png


def test_surrounding() -> None:
    """The box around boxes reaches from the least to the greatest edge."""
    assert surrounding([Box(5, 10, 10, 10), Box(0, 20, 5, 15)]) == Box(0, 10, 15, 25)


def test_joined_slices() -> None:
    """Slices lie one below the other in the joined picture."""
    joined = join_slices([png((40, 30)), png((40, 12), "blue")])
    assert joined.size == (40, 42)
    assert [joined.getpixel((39, y)) for y in (29, 41)] == [(255, 0, 0), (0, 0, 255)]
    assert png_size(png((40, 12))) == (40, 12)
