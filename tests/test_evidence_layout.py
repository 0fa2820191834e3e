"""Layout: every pixel once, nothing shrunk unseen, nothing over the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.layout import cut, fit_scale, plan, scaled_size
from beholder.records import MediaLimits
from tests.fakes.evidence import LIMITS

sizes = st.integers(min_value=1, max_value=20_000)
edges = st.none() | st.integers(min_value=500, max_value=9000)
pixels = st.none() | st.integers(min_value=250_000, max_value=6_000_000)


@given(sizes, sizes, edges, pixels)
def test_parts_cover_every_pixel_once(width: int, height: int, edge: int | None, most: int | None) -> None:
    """The parts lie row by row without gap or overlap, and none would be shrunk by the judge."""
    limits = MediaLimits(shrink_edge_px=edge, shrink_pixels=most)
    boxes = cut(width, height, limits)
    assert sum(box.width * box.height for box in boxes) == width * height
    assert [(box.y, box.x) for box in boxes] == sorted((box.y, box.x) for box in boxes)
    rows: dict[int, int] = {}
    for box in boxes:
        assert box.x == rows.get(box.y, 0)
        rows[box.y] = box.x + box.width
        if most is None or most >= box.width:
            assert fit_scale(box.width, box.height, limits) == 1.0
    assert set(rows.values()) == {width}


@given(sizes, sizes, edges, pixels)
def test_a_shrunk_picture_fits(width: int, height: int, edge: int | None, most: int | None) -> None:
    """At the factor of `fit_scale` the judge takes the picture as it is, unless a side is one pixel."""
    limits = MediaLimits(shrink_edge_px=edge, shrink_pixels=most)
    size = scaled_size(width, height, fit_scale(width, height, limits))
    assert fit_scale(*size, limits) == 1.0 or min(size) == 1


def test_a_picture_that_fits_is_sent_whole() -> None:
    """Nothing is cut or shrunk that the judge takes as it is, whatever the layout."""
    for layout in ("single", "tiles", "overview+tiles"):
        assert plan(1280, 900, layout, LIMITS, 10).overview == 1.0
        assert plan(1280, 900, layout, LIMITS, 10).tiles == ()


def test_layouts_of_a_tall_page() -> None:
    """A page of 1280 x 8570: one shrunk picture, ten parts, or both; 960 rows of 1280 px are 1568 tokens."""
    single = plan(1280, 8570, "single", LIMITS, 32)
    assert single.overview == pytest.approx(1568 / 8570)
    assert single.count == 1
    tiles = plan(1280, 8570, "tiles", LIMITS, 32)
    assert (tiles.overview, len(tiles.tiles)) == (None, 9)
    both = plan(1280, 8570, "overview+tiles", LIMITS, 32)
    assert both.count == 10


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_the_budget_is_kept_and_the_cut_is_known(budget: int) -> None:
    """What the budget cuts off is counted."""
    for layout in ("tiles", "overview+tiles"):
        cut_off = plan(1280, 8570, layout, LIMITS, budget)
        assert cut_off.count <= budget
        assert cut_off.left_out == 9 - len(cut_off.tiles)
        assert cut_off.tiles_in_all == 9


def test_wide_pictures_are_cut_both_ways() -> None:
    """A picture wider than the judge's edge is cut into columns, too."""
    boxes = cut(9000, 100, LIMITS)
    assert [(box.x, box.width) for box in boxes] == [(1500 * n, 1500) for n in range(6)]
