"""Permutation p-values and Holm's correction."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from beholder.stats.permutation import holm, permutation_p_value, random_swaps


def test_a_p_value_is_never_zero() -> None:
    """(1 + 0) / (1 + 99)."""
    assert permutation_p_value(9.0, np.zeros(99)) == 0.01


def test_ties_count_as_extreme_and_sides_do_not_matter() -> None:
    """|-2| reaches 2; a difference by rounding is a tie; NaN is left out."""
    permuted = np.array([-2.0, 2.0 - 1e-15, 1.0, np.nan])
    assert permutation_p_value(2.0, permuted) == pytest.approx(3 / 4)
    assert permutation_p_value(np.nan, permuted) is None
    assert permutation_p_value(1.0, np.array([np.nan])) is None


def test_random_swaps_come_near_to_all_swaps() -> None:
    """Paired differences of eight units: all 256 sign patterns against 20,000 random ones."""
    differences = np.array([3.0, 1.5, -0.5, 2.0, 0.7, 1.1, -0.2, 0.9])
    observed = differences.mean()
    signs = np.array(list(product([1, -1], repeat=8)))
    exact = np.mean(np.abs((signs * differences).mean(axis=1)) >= observed - 1e-12)
    swaps = random_swaps(np.random.default_rng(0), 8, 20_000)
    assert set(np.unique(swaps)) == {0, 1}
    found = permutation_p_value(observed, ((1 - 2 * swaps.T) * differences).mean(axis=1))
    assert found == pytest.approx(exact, abs=0.005)


def test_swaps_in_pieces_are_the_swaps_at_once() -> None:
    """Same seed, same bytes."""
    generator = np.random.default_rng(3)
    pieces = [random_swaps(generator, 13, n) for n in (2, 5)]
    assert (np.concatenate(pieces, axis=1) == random_swaps(np.random.default_rng(3), 13, 7)).all()


def test_holm_by_hand() -> None:
    """0.01 * 4, then at least that, 0.03 * 3, 0.04 * 2 below it, 0.9; None takes no part."""
    found = holm([0.04, 0.01, None, 0.9, 0.03])
    assert found[2] is None
    assert [found[k] for k in (1, 4, 0, 3)] == pytest.approx([0.04, 0.09, 0.09, 0.9])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
