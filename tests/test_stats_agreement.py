"""Krippendorff's alpha and Cohen's kappa."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beholder.stats.agreement import alpha_terms, cohen_kappa, krippendorff_alpha

# Krippendorff (2011), section C: four observers, twelve units, five values, 0 for no rating.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]


def counts_of(table: list[list[int]], n_values: int) -> np.ndarray:
    return np.array(
        [
            [sum(row[unit] == v for row in table) for v in range(1, n_values + 1)]
            for unit in range(len(table[0]))
        ]
    )


def alpha_of(counts: np.ndarray) -> float:
    sums = alpha_terms(counts).sum(axis=0)
    return float(krippendorff_alpha(sums[0], sums[1], sums[2:]))


def test_the_published_nominal_example_gives_0_743() -> None:
    """The twelfth unit has one rating and takes no part."""
    assert alpha_of(counts_of(OBSERVERS, 5)) == pytest.approx(0.743, abs=5e-4)


def slow_alpha(counts: np.ndarray) -> float:
    """From the definition: observed and expected disagreement over pairs of ratings."""
    units = [[v for v, n in enumerate(row) for _ in range(n)] for row in counts if row.sum() >= 2]
    everything = [v for unit in units for v in unit]
    n = len(everything)
    observed = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(a != b for a, b in permutations(everything, 2)) / (n - 1) if n > 1 else 0
    return 1 - observed / expected if expected else float("nan")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=8))
def test_alpha_equals_its_definition_over_pairs(rows: list[list[int]]) -> None:
    """Any number of raters per unit, three values."""
    counts = np.array(rows)
    expected = slow_alpha(counts)
    found = alpha_of(counts)
    assert (np.isnan(found) and np.isnan(expected)) or found == pytest.approx(expected, abs=1e-9)


def test_one_value_only_is_undefined() -> None:
    """Nobody could have disagreed."""
    assert np.isnan(alpha_of(np.array([[3, 0], [2, 0]])))
    assert np.isnan(alpha_of(np.array([[1, 0], [0, 1]])))


def test_agreeing_with_oneself_is_perfect() -> None:
    """A copy of a rater who uses both values."""
    assert alpha_of(np.array([[2, 0], [0, 2], [2, 0]])) == 1.0


def test_kappa_by_hand() -> None:
    """Fifty units, both yes 20, both no 15: p_o 0.7, p_e 0.5, kappa 0.4."""
    assert cohen_kappa(np.array(50.0), np.array(25.0), np.array(30.0), np.array(20.0)) == pytest.approx(0.4)


def test_kappa_is_undefined_where_chance_agrees_always() -> None:
    """Both always yes, or no unit at all; replicates keep their places."""
    n, a, b, both = (np.array(v, np.float64) for v in ([5, 0, 4], [5, 0, 2], [5, 0, 2], [5, 0, 2]))
    found = cohen_kappa(n, a, b, both)
    assert np.isnan(found[:2]).all()
    assert found[2] == 1.0
