"""Bootstrap intervals from replicates: percentile and BCa, over many figures at once.

A figure that is a function of sums over independent units (images, say) has replicates that are functions of
matrix products: weights (R, n), times what each unit adds (n, K). Nothing is resampled in a loop.

Letters: n units, R replicates, F figures. Undefined replicates are NaN; they are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TIE = 1e-12
"""What rounding alone may set apart: relative to a figure, and at least to 1, as shares are of order 1."""


def tie(figures: FloatArray) -> FloatArray:
    """(…) the distance from each figure within which another one is equal to it."""
    return TIE * np.maximum(1.0, np.abs(figures))


def resampling_counts(generator: np.random.Generator, n: int, replicates: int) -> NDArray[np.float32]:
    """(n, R) float32: how often each of n units is drawn, n draws with replacement per replicate."""
    counts = np.empty((replicates, n), np.min_scalar_type(n))
    for row in counts:
        row[:] = np.bincount(generator.integers(0, n, n), minlength=n)
    return counts.T.astype(np.float32, order="C")


@dataclass(frozen=True)
class Moments:
    """Sums over what leaving one unit out changes: e_i = estimate - estimate without unit i.

    Attributes:
        n: (F,) units without which the figure is defined.
        first, second, third: (F,) sums of e, e², e³ over these units.
    """

    n: FloatArray
    first: FloatArray
    second: FloatArray
    third: FloatArray

    def acceleration(self) -> FloatArray:
        """(F,) sum d³ / (6 (sum d²)^1.5), with d_i = e_i - mean(e); 0 where only rounding differs.

        Source: Efron and Tibshirani (1993), "An Introduction to the Bootstrap", equation 14.15.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.first / self.n
            second = self.second - self.n * mean**2
            third = self.third - 3 * mean * self.second + 2 * self.n * mean**3
            found = third / (6 * np.maximum(second, 0) ** 1.5)
            rounding = (second <= TIE * self.second) | (second <= self.n * TIE**2)
        return np.where(np.isfinite(found) & ~rounding, found, 0.0)


def moments(changes: FloatArray) -> Moments:
    """Moments of (F, n) changes, NaN where the figure without that unit is undefined."""
    known = ~np.isnan(changes)
    e = np.where(known, changes, 0.0)
    return Moments(
        known.sum(axis=1).astype(np.float64), e.sum(axis=1), (e * e).sum(axis=1), (e * e * e).sum(axis=1)
    )


@dataclass(frozen=True)
class Intervals:
    """Two-sided intervals of F figures.

    Attributes:
        percentile, bca: (F, 2) low and high; NaN where undefined; the same number twice where only rounding
            sets them apart.
        undefined: (F,) replicates that were left out.
        constant: (F,) bool, all defined replicates are equal but for rounding: their interval has width 0.
    """

    percentile: FloatArray
    bca: FloatArray
    undefined: NDArray[np.int64]
    constant: NDArray[np.bool_]


def intervals(
    estimates: FloatArray, replicates: FloatArray, jackknife: Moments, *, confidence: float = 0.95
) -> Intervals:
    """Percentile and BCa intervals.

    Percentile: quantiles of the defined replicates, by linear interpolation. BCa: the same at levels
    Phi(z0 + (z0 + z) / (1 - a (z0 + z))), with z0 the normal quantile of the share of replicates below the
    estimate (ties count half) and a the acceleration; undefined where all replicates lie on one side.
    A replicate that only rounding sets apart from the estimate (see `TIE`) is the estimate.

    Args:
        estimates: (F,)
        replicates: (F, R), NaN where undefined.
        jackknife: Of the same figures.

    Source: Efron (1987), "Better bootstrap confidence intervals".
    """
    from scipy.special import ndtr, ndtri

    near = tie(estimates)
    at_estimate = np.abs(replicates - estimates[:, None]) <= near[:, None]
    replicates = np.where(at_estimate, estimates[:, None], replicates)
    ranked = np.sort(replicates, axis=1)  # NaN last
    n_defined = np.count_nonzero(~np.isnan(ranked), axis=1)
    tail = (1 - confidence) / 2
    shape = (len(estimates), 2)
    levels = np.broadcast_to([tail, 1 - tail], shape)
    percentile = _collapsed(_quantiles(ranked, n_defined, levels), estimates)

    below = np.count_nonzero(replicates < estimates[:, None], axis=1)
    equal = np.count_nonzero(at_estimate, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        z0 = ndtri((below + equal / 2) / n_defined)[:, None]
        z = z0 + ndtri(np.array([tail, 1 - tail]))
        adjusted = ndtr(z0 + z / (1 - jackknife.acceleration()[:, None] * z))
    bca = _quantiles(ranked, n_defined, np.where(np.isfinite(z0), adjusted, np.nan))
    bca = _collapsed(bca, estimates)
    last = np.maximum(n_defined - 1, 0)
    spread = ranked[np.arange(len(ranked)), last] - ranked[:, 0]
    constant = (n_defined > 0) & (spread <= tie(ranked[:, 0]))
    return Intervals(percentile, bca, replicates.shape[1] - n_defined, constant)


def _collapsed(limits: FloatArray, estimates: FloatArray) -> FloatArray:
    """(F, 2) limits; limits that only rounding sets apart from the estimate or from each other are one."""
    centre = estimates[:, None]
    snapped = np.where(np.abs(limits - centre) <= tie(centre), centre, limits)
    low, high = snapped.T
    # Where one of the two is the estimate, both are; else both are the lower one.
    shared = np.where(high == estimates, high, low)
    narrow = high - low <= tie(low)
    return np.where(narrow[:, None], shared[:, None], snapped)


def _quantiles(ranked: FloatArray, n: NDArray[Any], levels: FloatArray) -> FloatArray:
    """(F, L) quantiles of the first n values of each row, which rise, by linear interpolation."""
    at = np.where(np.isnan(levels), 0.0, levels) * np.maximum(n - 1, 0)[:, None]
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(n - 1, 0)[:, None])
    rows = np.arange(len(ranked))[:, None]
    a, b = ranked[rows, low], ranked[rows, high]
    found: FloatArray = a + (b - a) * (at - low)
    return np.where(np.isnan(levels) | (n == 0)[:, None], np.nan, found)
