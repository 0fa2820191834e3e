"""Cuts between lines: where they go, and that every row still comes once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from beholder.evidence.cuts import QUIET_ROWS, REACH_PX, between_lines, move_cuts, quiet_rows
from beholder.evidence.layout import fit_scale, plan
from tests.fakes.evidence import LIMITS


@given(st.data())
def test_moved_cuts_keep_the_limits(data: st.DataObject) -> None:
    """Whatever rows are quiet, the ends stay, every part holds rows, and none is taller than allowed."""
    tallest = data.draw(st.integers(1, 300))
    parts = data.draw(st.lists(st.integers(1, tallest), min_size=1, max_size=12))
    edges = [sum(parts[:n]) for n in range(len(parts) + 1)]
    rows = data.draw(st.lists(st.integers(0, 2), min_size=edges[-1], max_size=edges[-1]))

    def quiet(start: int, end: int) -> list[int]:
        return [rows[row] if 0 <= row < len(rows) else 0 for row in range(start, end)]

    moved = move_cuts(edges, tallest, quiet)
    assert (moved[0], moved[-1], len(moved)) == (edges[0], edges[-1], len(edges))
    assert all(0 < below - above <= tallest for above, below in pairwise(moved))


def lines(width: int, height: int, column: int = 0) -> Image.Image:
    """A page of text-like lines, 20 px high, 10 px apart, with a grey column on the left."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for y in range(0, height, 30):
        for x in range(column + 20, width - 20, 7):
            draw.line((x, y, x + 3, y + 19), "black", 2)
    if column:
        draw.rectangle((0, 0, column, height), "gray")
    return image


def test_lines_are_not_cut_through() -> None:
    """Every cut of a page of text lies between two of its lines, also beside a column of another colour."""
    for column in (0, 200):
        page = lines(1280, 5000, column)
        moved = between_lines(plan(1280, 5000, "tiles", LIMITS, 32), page, LIMITS)
        assert len(moved.tiles) == 6
        assert sum(tile.height for tile in moved.tiles) == 5000
        for above, below in pairwise(moved.tiles):
            assert above.y + above.height == below.y
            assert 20 + QUIET_ROWS <= below.y % 30 <= 30 - QUIET_ROWS
        assert all(fit_scale(tile.width, tile.height, LIMITS) == 1.0 for tile in moved.tiles)


def test_a_cut_without_a_gap_in_reach_stays() -> None:
    """Where everything is full of something the cuts stay as they were."""
    page = Image.effect_noise((1280, 3000), 100).convert("RGB")
    before = plan(1280, 3000, "overview+tiles", LIMITS, 32)
    assert between_lines(before, page, LIMITS) == before
    whole = plan(1280, 600, "tiles", LIMITS, 32)
    assert between_lines(whole, page, LIMITS) == whole
    assert REACH_PX < 960


def test_a_part_of_the_page_only() -> None:
    """Where the budget cuts parts off, the last one shown ends where it did."""
    page = lines(1280, 3000)
    before = plan(1280, 9000, "tiles", LIMITS, 3)
    moved = between_lines(before, page, LIMITS)
    assert moved.tiles[-1].y + moved.tiles[-1].height == before.tiles[-1].y + before.tiles[-1].height
    assert moved.left_out == before.left_out == 7


def test_rows() -> None:
    """A row of one colour, a plain one and a full one; rows outside of the picture are full."""
    image = Image.new("RGB", (100, 30), "white")
    image.paste("gray", (0, 10, 40, 20))
    for x in range(0, 100, 2):
        image.paste("black", (x, 0, x + 1, 10))
    assert quiet_rows(image, -2, 32) == [0, 0] + [0] * 10 + [0] + [1] * 9 + [2] * 10 + [0, 0]
