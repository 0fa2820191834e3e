"""Kappa and correlations against scikit-learn and scipy, with their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from beholder.stats.raters import (
    confusion,
    pearson,
    quadratic_kappa,
    smoothed_kappa_interval,
    spearman_figure,
    sums_figure,
    terms,
)

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40)


def columns(values: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in values], float), np.array([b for _, b in values], float)


@settings(max_examples=150, deadline=None)
@given(pairs)
def test_quadratic_kappa_is_scikit_learns(values: list[tuple[int, int]]) -> None:
    """Six steps; undefined only where both gave one and the same value throughout."""
    x, y = columns(values)
    found = quadratic_kappa(terms(x / 5, y / 5).sum(axis=0))
    if len({*x, *y}) == 1:
        assert np.isnan(found)
    else:
        expected = cohen_kappa_score(x, y, weights="quadratic", labels=range(6))
        assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40))
def test_of_two_values_it_is_cohens_kappa(values: list[tuple[int, int]]) -> None:
    """Weights make no difference where there is one step."""
    x, y = columns(values)
    assume(len({*x, *y}) == 2)
    expected = cohen_kappa_score(x, y)
    assert quadratic_kappa(terms(x, y).sum(axis=0)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(pairs)
def test_correlations_are_scipys(values: list[tuple[int, int]]) -> None:
    """Pearson's and Spearman's, with ties; undefined where a rater gave one value throughout."""
    x, y = columns(values)
    found = sums_figure(x / 5, y / 5, pearson, "constant")
    ranks = spearman_figure(x, y, "constant")
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert (found.value, found.reason, ranks.value) == (None, "constant", None)
        return
    assert found.value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert ranks.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


def test_intervals_hold_the_value_and_come_near_to_fishers() -> None:
    """200 tasks: the bootstrap's limits of a correlation lie near Fisher's."""
    rng = np.random.default_rng(0)
    x = rng.normal(0.5, 0.1, 200)
    y = 0.5 + 0.7 * (x - 0.5) + rng.normal(0, 0.08, 200)
    found = sums_figure(x, y, pearson, "constant")
    expected = stats.pearsonr(x, y).confidence_interval(0.95)
    assert found.ci95 == pytest.approx((expected.low, expected.high), abs=0.05)
    assert sums_figure(x, y, pearson, "constant") == found
    ranks = spearman_figure(x, y, "constant")
    assert ranks.ci95 is not None
    assert ranks.value is not None
    assert ranks.ci95[0] < ranks.value < ranks.ci95[1]


def test_too_few_tasks_have_a_value_and_no_interval() -> None:
    """Four tasks."""
    x, y = np.array([0.0, 0.2, 0.6, 1.0]), np.array([0.1, 0.2, 0.5, 0.8])
    found = sums_figure(x, y, pearson, "constant")
    assert (found.ci95, found.reason) == (None, "fewer than 5 tasks")
    assert spearman_figure(x, y, "constant").ci95 is None
    assert sums_figure(x[:0], y[:0], pearson, "constant").reason == "no task that both rated"


def test_a_constant_kappa_has_room_all_the_same() -> None:
    """27 of 30 pass, and the judge passes all: kappa is 0, and need not be."""
    low, high = smoothed_kappa_interval([[0, 3], [0, 27]])
    assert low < 0 < high < 1
    perfect = smoothed_kappa_interval([[10, 0], [0, 20]])
    assert perfect[1] == 1
    assert 0.5 < perfect[0] < 1


@given(pairs)
def test_a_confusion_table_is_scikit_learns(values: list[tuple[int, int]]) -> None:
    """Rows first, then columns."""
    x, y = columns(values)
    found = confusion(x.tolist(), y.tolist(), [float(v) for v in range(6)])
    assert found == confusion_matrix(x, y, labels=range(6)).tolist()
