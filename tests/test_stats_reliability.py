"""Intraclass correlation and repeats needed, against statsmodels and published numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.anova import anova_lm

from beholder.stats.reliability import reliability, repeats_for_half_width, repeats_for_reliability

# Shrout and Fleiss (1979), table 2: six targets, four judges.
TARGETS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def test_the_published_example() -> None:
    """ICC(1, 1) = 0.17 and ICC(1, 4) = 0.44, as in their table 4; limits by McGraw and Wong's formula."""
    found = reliability([TARGETS])
    assert found.icc1 == pytest.approx(0.166, abs=1e-3)
    assert found.icck == pytest.approx(0.443, abs=1e-3)
    assert found.icc1_interval == pytest.approx((-0.13, 0.72), abs=0.01)
    assert found.icck_interval == pytest.approx((-0.88, 0.91), abs=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_mean_squares_are_those_of_a_one_way_anova(seed: int) -> None:
    """Unequal numbers of repeats: statsmodels' table gives B and W, and with k0 the correlation."""
    rng = np.random.default_rng(seed)
    tables = [rng.normal(size=(n, k)) + 2 * rng.normal(size=(n, 1)) for n, k in ((6, 2), (9, 3), (4, 5))]
    rows = []
    for table in tables:
        for row in table:
            name = f"task{len(rows)}"
            rows.append([(name, value) for value in row])
    frame = pd.DataFrame([pair for row in rows for pair in row], columns=["task", "score"])
    anova = anova_lm(smf.ols("score ~ C(task)", frame).fit())
    between, within = anova["mean_sq"].iloc[0], anova["mean_sq"].iloc[1]
    sizes = np.array([len(row) for row in rows])
    k0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(sizes) - 1)
    found = reliability(tables)
    assert found.repeats == pytest.approx(k0)
    assert found.within_sd == pytest.approx(math.sqrt(within))
    assert found.icc1 == pytest.approx((between - within) / (between + (k0 - 1) * within))
    assert found.icck == pytest.approx((between - within) / between)


def test_the_interval_covers() -> None:
    """Normal scores with a true ICC of 0.5: about 95 of 100 intervals hold it."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(600):
        table = rng.normal(size=(15, 1)) + rng.normal(size=(15, 3))
        low, high = reliability([table]).icc1_interval or (0, 0)
        held += low <= 0.5 <= high
    assert held / 600 == pytest.approx(0.95, abs=0.025)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=8),
    st.floats(0.1, 30),
    st.floats(-50, 50),
)
def test_it_depends_on_neither_scale_nor_order(rows: list[list[int]], factor: float, shift: float) -> None:
    """Shifted, stretched, turned round: the same correlation, and no NaN."""
    table = np.array(rows, float)
    found = reliability([table])
    moved = reliability([(table * factor + shift)[::-1]])
    assert (found.icc1 is None) == (moved.icc1 is None)
    if found.icc1 is not None:
        assert moved.icc1 == pytest.approx(found.icc1, abs=1e-6)
        assert found.icc1 <= 1


def test_what_is_undefined_is_none_with_a_reason() -> None:
    """No repeats, one task, all equal; no repeat that differs has a correlation of 1 and no interval."""
    assert reliability([]).reason == "no task with two scored repeats"
    assert reliability([np.array([[1.0, 2.0]])]).reason == "one task only"
    assert reliability([np.array([[0.7] * 3] * 4)]).icc1 is None
    sure = reliability([np.array([[0.1] * 3, [0.7] * 3])])
    assert (sure.icc1, sure.icc1_interval) == (1, None)
    assert sure.reason is not None
    level = reliability([np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])])
    assert (level.icck, level.icc1) == (None, pytest.approx(-1))


def test_equal_means_have_an_interval_with_a_width() -> None:
    """By F both limits would be -1/(k - 1), as if three tasks told all; in any order, they tell little."""
    tasks = [[60, 60, 60], [20, 60, 100], [58, 60, 62]]
    found = reliability([np.array(tasks, float)])
    assert found.icc1 == pytest.approx(-0.5)
    assert found.icc1_interval is not None
    low, high = found.icc1_interval
    assert low == pytest.approx(-0.5)
    assert high > 0.9
    turned = reliability([np.array([task[::-1] for task in tasks[::-1]], float)])
    assert turned.icc1_interval == found.icc1_interval
    many = reliability([np.array([[0.0, 10.0], [1.0, 9.0]] * 50)])
    assert many.icc1_interval is not None
    assert many.icc1_interval[1] < 0.3


def test_repeats_needed_are_the_least_that_do() -> None:
    """1.96 s / sqrt(m) is within the half width at m and not at m - 1."""
    m = repeats_for_half_width(8.0, 3.0)
    z = stats.norm.ppf(0.975)
    assert z * 8 / math.sqrt(m) <= 3 < z * 8 / math.sqrt(m - 1)
    assert repeats_for_half_width(0.0, 1.0) == 1


@given(st.floats(0.05, 0.95), st.floats(0.5, 0.99))
def test_spearman_and_brown_turned_round(icc1: float, wanted: float) -> None:
    """m repeats reach the wanted reliability, m - 1 do not."""
    m = repeats_for_reliability(icc1, wanted)
    assert m is not None

    def reached(k: int) -> float:
        return k * icc1 / (1 + (k - 1) * icc1)

    assert reached(m) >= wanted - 1e-6
    assert m == 1 or reached(m - 1) < wanted + 1e-6
    assert repeats_for_reliability(-0.1, 0.8) is None
