"""Two raters on one scale: kappa with quadratic weights, correlations, bias; with intervals over tasks.

Kappa and Pearson's correlation are functions of six sums over tasks, so bootstrap replicates are one matrix
product. Functions of sums take further axes (replicates), and their results have them; undefined is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beholder.stats.bootstrap import intervals, moments, resampling_counts
from beholder.stats.intervals import Interval

FloatArray = NDArray[np.float64]

REPLICATES = 2000
LEAST = 5
"""Tasks below which a bootstrap says nothing."""
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Figure:
    """A statistic of two raters; `reason` says why value or interval is undefined."""

    value: float | None
    ci95: Interval | None
    reason: str | None


def terms(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, 6): what each task adds to n, sum x, sum y, sum x², sum y², sum x y."""
    return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])


def quadratic_kappa(sums: FloatArray) -> FloatArray:
    """Kappa with quadratic weights, 1 - n sum (x - y)² / (n sum x² + n sum y² - 2 sum x sum y).

    For two values it is Cohen's kappa; it takes fractions too, and is Lin's concordance correlation then.

    Args:
        sums: (6, …) of `terms`, of values of order 1.

    Returns:
        (…), at most 1; NaN where both raters gave one and the same value throughout.
    Source: Cohen (1968), "Weighted kappa"; Lin (1989), "A concordance correlation coefficient", equation 2.
    """
    n, x, y, xx, yy, xy = sums
    chance = n * xx + n * yy - 2 * x * y
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = 1 - n * (xx + yy - 2 * xy) / chance
    return _snapped(np.where(chance > _NOTHING * n * n, kappa, np.nan))


def pearson(sums: FloatArray) -> FloatArray:
    """Correlation, (n sum xy - sum x sum y) / sqrt((n sum x² - (sum x)²) (n sum y² - (sum y)²)).

    Args:
        sums: (6, …) of `terms`, of values of order 1.

    Returns:
        (…) in [-1, 1]; NaN where a rater gave one value throughout.
    Source: Pearson (1895), "Note on regression and inheritance in the case of two parents".
    """
    n, x, y, xx, yy, xy = sums
    vx, vy = n * xx - x * x, n * yy - y * y
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (n * xy - x * y) / np.sqrt(vx * vy)
    varied = (vx > _NOTHING * n * n) & (vy > _NOTHING * n * n)
    return _snapped(np.where(varied, np.clip(r, -1, 1), np.nan))


def _snapped(figures: FloatArray) -> FloatArray:
    """Figures of which only rounding keeps some from -1, 0 or 1, at these."""
    whole = np.rint(figures)
    return np.where(np.abs(figures - whole) <= _NOTHING, whole + 0.0, figures)


def sums_figure(
    x: FloatArray,
    y: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    undefined: str,
    *,
    seed: int = 0,
) -> Figure:
    """A statistic of sums over tasks, with its bootstrap interval: BCa, else percentile.

    Args:
        x, y: (n,) of order 1, in an order that does not depend on the files'.
        undefined: What to say where the statistic is undefined.
    """
    # About a common centre, which neither figure depends on: sums of squares then lose no digits.
    centre = float(np.concatenate([x, y]).mean()) if len(x) else 0.0
    added = terms(x - centre, y - centre)
    value = float(statistic(added.sum(axis=0))) if len(x) else float("nan")
    if np.isnan(value):
        return Figure(None, None, undefined if len(x) else "no task that both rated")
    if len(x) < LEAST:
        return Figure(value, None, f"fewer than {LEAST} tasks")
    counts = resampling_counts(np.random.default_rng(seed), len(x), REPLICATES)
    replicates = statistic(added.T @ counts.astype(np.float64))
    left_out = statistic((added.sum(axis=0) - added).T)
    return _with_interval(value, replicates, value - left_out)


def spearman_figure(x: FloatArray, y: FloatArray, undefined: str, *, seed: int = 0) -> Figure:
    """Pearson's correlation of ranks, ties sharing their mean rank; percentile interval over tasks.

    Source: Spearman (1904), "The proof and measurement of association between two things".
    """
    if not len(x):
        return Figure(None, None, "no task that both rated")
    value = _rank_correlation(x[None], y[None])[0]
    if np.isnan(value):
        return Figure(None, None, undefined)
    if len(x) < LEAST:
        return Figure(float(value), None, f"fewer than {LEAST} tasks")
    generator = np.random.default_rng(seed)
    rows = max(1, 2_000_000 // len(x))
    parts = []
    for start in range(0, REPLICATES, rows):
        drawn = generator.integers(0, len(x), (min(rows, REPLICATES - start), len(x)))
        parts.append(_rank_correlation(x[drawn], y[drawn]))
    return _with_interval(float(value), np.concatenate(parts), None)


def _rank_correlation(x: FloatArray, y: FloatArray) -> FloatArray:
    """(R,) of (R, n) values."""
    from scipy.stats import rankdata

    # Centred on 1 as `pearson` wants; ranks run from 1 to n.
    a, b = (rankdata(values, axis=1) / values.shape[1] for values in (x, y))
    return pearson(np.array([np.full(len(a), a.shape[1]), *_sums(a, b)]))


def _sums(a: FloatArray, b: FloatArray) -> list[FloatArray]:
    return [column.sum(axis=1) for column in (a, b, a * a, b * b, a * b)]


def _with_interval(value: float, replicates: FloatArray, changes: FloatArray | None) -> Figure:
    jackknife = moments(np.zeros((1, 2)) if changes is None else changes[None])
    found = intervals(np.array([value]), replicates[None], jackknife)
    if found.undefined[0] > REPLICATES // 2:
        return Figure(value, None, "most resamples leave it undefined")
    limits = found.percentile[0] if changes is None or np.isnan(found.bca).any() else found.bca[0]
    if bool(found.constant[0]) or not limits[1] > limits[0]:
        return Figure(value, None, "no resample differs, so nothing tells how precise it is")
    return Figure(value, (float(limits[0]), float(limits[1])), None)


def smoothed_kappa_interval(table: Sequence[Sequence[int]], *, seed: int = 0) -> Interval:
    """95 % of Cohen's kappa of two values, where a rater gave one only and no resample differs.

    Quantiles of kappa over shares drawn from a Dirichlet distribution with parameters n_ij + 1/4, widened to
    the estimate.

    Args:
        table: 2 x 2 counts.

    Source: Perks (1947), "Some observations on inverse probability": weights that add up to one task.
    """
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.asarray(table, np.float64).ravel() + 0.25, REPLICATES).T
    p00, p01, p10, p11 = shares
    one, other = p10 + p11, p01 + p11
    kappas = quadratic_kappa(np.array([p00 + p01 + p10 + p11, one, other, one, other, p11]))
    (n00, n01), (n10, n11) = table
    sums = np.array([n00 + n01 + n10 + n11, n10 + n11, n01 + n11, n10 + n11, n01 + n11, n11], np.float64)
    estimate = float(quadratic_kappa(sums))
    low, high = np.nanquantile(kappas, [0.025, 0.975])
    return min(float(low), estimate), max(float(high), estimate)


def confusion(human: Sequence[float], judge: Sequence[float], values: Sequence[float]) -> list[list[int]]:
    """Counts by human's value (rows) and judge's value (columns), both in the order of `values`."""
    place = {value: at for at, value in enumerate(values)}
    table = [[0] * len(values) for _ in values]
    for one, other in zip(human, judge, strict=True):
        table[place[one]][place[other]] += 1
    return table
