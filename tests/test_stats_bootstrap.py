"""Bootstrap intervals over many figures at once."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from beholder.stats.bootstrap import Moments, intervals, moments, resampling_counts


def test_every_replicate_draws_n_units() -> None:
    """With replacement; same generator state, same draws; another seed, others."""
    counts = resampling_counts(np.random.default_rng(1), 300, 40)
    assert counts.shape == (300, 40)
    assert counts.sum(axis=0).tolist() == [300] * 40
    assert counts.max() > 1
    assert (counts == resampling_counts(np.random.default_rng(1), 300, 40)).all()
    assert (counts != resampling_counts(np.random.default_rng(2), 300, 40)).any()


def test_draws_in_pieces_are_the_draws_at_once() -> None:
    """So that memory can be bounded without changing a number."""
    generator = np.random.default_rng(5)
    pieces = [resampling_counts(generator, 50, n) for n in (3, 1, 6)]
    assert (np.concatenate(pieces, axis=1) == resampling_counts(np.random.default_rng(5), 50, 10)).all()


def by_hand(estimate: float, replicates: list[float], left_out: list[float]) -> list[float]:
    """BCa limits in plain Python, from the book."""
    normal = NormalDist()
    known = sorted(v for v in replicates if not math.isnan(v))
    ties = [abs(v - estimate) <= 1e-12 for v in known]  # means of tenths: rounding sets equal ones apart
    below = sum(v < estimate and not tie for v, tie in zip(known, ties, strict=True))
    share = (below + 0.5 * sum(ties)) / len(known)
    z0 = normal.inv_cdf(share)
    mean = sum(left_out) / len(left_out)
    top = sum((mean - v) ** 3 for v in left_out)
    a = top / (6 * sum((mean - v) ** 2 for v in left_out) ** 1.5)
    limits = []
    for z in (normal.inv_cdf(0.025), normal.inv_cdf(0.975)):
        level = normal.cdf(z0 + (z0 + z) / (1 - a * (z0 + z)))
        at = level * (len(known) - 1)
        low = math.floor(at)
        limits.append(known[low] + (known[min(low + 1, len(known) - 1)] - known[low]) * (at - low))
    return limits


@pytest.mark.parametrize("seed", range(6))
def test_bca_and_percentile_are_what_the_formulas_say(seed: int) -> None:
    """Skewed data, with undefined replicates among them, and ties with the estimate."""
    rng = np.random.default_rng(seed)
    data = rng.exponential(size=25).round(1)
    draws = rng.integers(0, 25, (400, 25))
    replicates = data[draws].mean(axis=1)
    replicates[:3] = np.nan
    replicates[3:9] = data.mean()
    left_out = (data.sum() - data) / 24
    found = intervals(data.mean()[None], replicates[None], moments((data.mean() - left_out)[None]))
    expected = by_hand(float(data.mean()), replicates.tolist(), left_out.tolist())
    assert found.bca[0] == pytest.approx(expected, abs=1e-9)
    assert found.percentile[0] == pytest.approx(np.nanquantile(replicates, [0.025, 0.975]), abs=1e-12)
    assert found.undefined.tolist() == [3]
    assert found.constant.tolist() == [False]


def test_replicates_that_do_not_vary_are_said_to_be_constant() -> None:
    """Their percentiles coincide; BCa is what they are too."""
    found = intervals(np.array([1.0]), np.ones((1, 50)), moments(np.zeros((1, 9))))
    assert found.constant.tolist() == [True]


def test_what_rounding_sets_apart_is_equal() -> None:
    """0.3 and 0.1 + 0.2 are one figure: constant, its limits the estimate itself, no acceleration."""
    estimates = np.array([0.3, 0.0])
    near = np.array([[0.1 + 0.2, 0.3, 0.1 + 0.2] * 9, [1e-17, -1e-17, 0.0] * 9])
    noise = np.array([[1e-17, -3e-17, 1e-17], [0.1, 0.1, 0.1 + 2e-17]])
    found = intervals(estimates, near, moments(noise))
    assert found.constant.tolist() == [True, True]
    assert found.percentile.tolist() == found.bca.tolist() == [[0.3, 0.3], [0.0, 0.0]]
    assert moments(noise).acceleration().tolist() == [0.0, 0.0]


def test_a_tie_by_rounding_counts_half_in_the_bias_correction() -> None:
    """The limits are those of replicates that are equal to the last bit."""
    rng = np.random.default_rng(3)
    changes = moments(rng.normal(size=(1, 20)))
    exact = np.concatenate([np.full(60, 0.3), rng.uniform(0.2, 0.45, 100)])[None]
    rounded = np.where(exact == 0.3, 0.1 + 0.2, exact)
    estimate = np.array([0.3])
    assert (
        intervals(estimate, rounded, changes).bca.tolist() == intervals(estimate, exact, changes).bca.tolist()
    )


def test_nothing_defined_gives_nothing() -> None:
    """NaN all through, and everything counted as undefined."""
    found = intervals(np.array([np.nan]), np.full((1, 50), np.nan), moments(np.full((1, 9), np.nan)))
    assert np.isnan(found.percentile).all()
    assert np.isnan(found.bca).all()
    assert (found.undefined[0], found.constant[0]) == (50, False)


def test_bca_is_undefined_where_all_replicates_lie_on_one_side() -> None:
    """The bias correction is infinite then; percentile stands."""
    found = intervals(np.array([5.0]), np.linspace(0, 4, 50)[None], moments(np.array([[1.0, -1.0, 0.5]])))
    assert np.isnan(found.bca).all()
    assert np.isfinite(found.percentile).all()


def test_changes_of_zero_give_no_acceleration() -> None:
    """Nothing is divided by nothing."""
    zero = Moments(*(np.array([v]) for v in (4.0, 0.0, 0.0, 0.0)))
    assert zero.acceleration().tolist() == [0]
