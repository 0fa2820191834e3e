"""Intervals against scipy, and where they are undefined."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beholder.stats import student_t_interval, wilson_interval


@given(st.lists(st.floats(0, 100), min_size=2, max_size=30).filter(lambda v: max(v) - min(v) > 1e-3))
def test_the_t_interval_is_scipys(values: list[float]) -> None:
    """Mean ± t s / sqrt(n), cut at the ends of the scale."""
    mean, half = math.fsum(values) / len(values), stats.sem(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=mean, scale=half)
    found = student_t_interval(values, 0, 100)
    assert found == pytest.approx((max(0, low), min(100, high)), rel=1e-6, abs=1e-6)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_wilson_interval_is_scipys(case: tuple[int, int]) -> None:
    """And never of width 0."""
    successes, n = case
    expected = stats.binomtest(successes, n).proportion_ci(method="wilson")
    found = wilson_interval(successes, n)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found is not None
    assert found[1] > found[0]


def test_none_of_five_still_has_room_upwards() -> None:
    """0 of 5: from 0 to 0.4345 (Wilson)."""
    assert wilson_interval(0, 5) == pytest.approx((0.0, 0.4345), abs=1e-4)


def test_what_is_undefined_is_none() -> None:
    """One value, equal values and nothing at all have no interval."""
    assert student_t_interval([], 0, 1) is None
    assert student_t_interval([0.5], 0, 1) is None
    assert student_t_interval([0.5, 0.5, 0.5], 0, 1) is None
    assert wilson_interval(0, 0) is None
