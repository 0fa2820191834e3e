"""The default interval of a mean: for values whose scale has two known ends, whatever their shape.

Each task gets a random weight, as in the Bayesian bootstrap; a further weight of a = 4/5 tasks lies beyond
the sample, for what it may have missed: at twice the largest deviation from the mean, at most at the end of
the scale, and at that end where all scores are equal or fewer than five tell how far they reach. With
Dirichlet weights (1, …, 1, a) the limits are quantiles of

    upper:  sum_i W_i x_i + W_end * top        lower:  sum_i W_i x_i + W_end * bottom

Gaffke's interval has a = 1 at the end of the scale; for two-valued scores it is Clopper and Pearson's. The
numbers 4/5 and 2 are chosen by `benchmarks/intervals.py`: coverage stays above 93 % on every shape there, and
for two-valued scores of any share at 94.8 % or more. It never has width 0, and for many tasks comes near to
Student's.

Dirichlet weights are exponential variables divided by their sum, so P(mean <= c) is
P(sum_i E_i (x_i - c) <= 0): a sum of independent gamma variables, whose distribution Lugannani and Rice's
formula gives without drawing any random number. The result is the same in any order of the tasks, and moves
with the scale.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from beholder.stats.intervals import Interval

FloatArray = NDArray[np.float64]

MANY = 2000
"""Distinct values that are gone through one by one."""
ALONE = 50
ROUNDING = 1e-12
END_WEIGHT = 0.8
"""Tasks' worth of weight that lies beyond the sample."""
REACH = 2.0
"""How far beyond the mean it lies, in largest deviations from the mean."""
FEW = 5
"""Fewer units say little of how far values reach: two that happen to be near one another would otherwise have
a short interval."""


def bounded_mean_interval(
    values: Sequence[float] | FloatArray,
    low: float,
    high: float,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Interval | None:
    """Two-sided interval of a mean whose values lie within `low` and `high`; never of width 0.

    Args:
        values: One per task.
        clusters: The cluster of each value: tasks of a common origin vary together. A cluster then has one
            weight, for all its tasks, and the weight beyond them is that of a cluster of mean size.

    Returns:
        None for fewer than two units (tasks, or clusters), or where the scale has no width.
    Source: Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable"; Rubin (1981), "The Bayesian bootstrap"; Lugannani and Rice (1980), "Saddle point
    approximation for the distribution of the sum of independent random variables", equation 10.
    """
    width = high - low
    if not len(values) or not width > 0:
        return None
    shares = np.clip((np.asarray(values, np.float64) - low) / width, 0.0, 1.0)
    sums, sizes, counts = _units(shares, clusters)
    if counts.sum() < 2:
        return None
    level = 0.5 + confidence / 2
    upper = _upper(sums, sizes, counts, level)
    lower = 1 - _upper(sizes - sums, sizes, counts, level)
    return low + width * lower, low + width * upper


def difference_interval(
    differences: Sequence[float],
    width: float,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Interval | None:
    """`bounded_mean_interval` of paired differences, which lie within ± the width of the scale."""
    return bounded_mean_interval(differences, -width, width, clusters=clusters, confidence=confidence)


def _units(
    shares: FloatArray, clusters: Sequence[Hashable] | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(sum, size, how many such units) of every distinct unit, sorted."""
    if clusters is None:
        found, numbers = np.unique(shares, return_counts=True)
        counts = numbers.astype(np.float64)
        if len(found) > MANY:
            found, counts = _condensed(found, counts)
        return found, np.ones(len(found)), counts
    members: dict[Hashable, list[float]] = {}
    for share, cluster in zip(shares.tolist(), clusters, strict=True):
        members.setdefault(cluster, []).append(share)
    # Sorted, for numpy's sums depend on the order in the last digit.
    units = np.array(sorted((math.fsum(own), len(own)) for own in members.values()), np.float64)
    return units[:, 0], units[:, 1], np.ones(len(units))


def _upper(sums: FloatArray, sizes: FloatArray, counts: FloatArray, level: float) -> float:
    """The `level` quantile of the weighted mean, on a scale that ends at 1."""
    from scipy.optimize import brentq

    means = sums / sizes
    if float(means.min()) >= 1:
        return 1.0
    total = float(sizes @ counts)
    mean = min(float(sums @ counts) / total, 1.0)
    deviation = max(float(means.max()) - mean, mean - float(means.min()))
    # Equal means differ from theirs by rounding.
    reaches = deviation > ROUNDING and counts.sum() >= FEW
    top = min(1.0, mean + REACH * deviation) if reaches else 1.0
    size = total / float(counts.sum())
    centres, slopes, shapes = (
        np.append(sums, size * top),
        np.append(sizes, size),
        np.append(counts, END_WEIGHT),
    )

    def missing(c: float) -> float:
        return level - _share_below_zero(centres - c * slopes, shapes)

    # The quantile lies above the plain mean, for the level is above 1/2 and the end pulls upwards.
    end = max(top, float(means.max()))
    return float(brentq(missing, mean, end, xtol=1e-13, rtol=1e-12)) if missing(mean) > 0 else mean


def _condensed(x: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rising values in stretches; of each two values, its mean plus and less its deviation, half as often.

    Mean and variance stay as they are. Values that stand out, for being many or at an end, are stretches of
    their own. The limits move by less than a millionth of their distance.
    """
    even = np.linspace(0, len(x), MANY // 2, endpoint=False).astype(np.int64)
    many = np.flatnonzero(counts > counts.sum() / MANY)
    ends = np.arange(ALONE)
    starts = np.unique(np.concatenate([even, many, many + 1, ends, len(x) - 1 - ends]))
    starts = starts[starts < len(x)]
    n = np.add.reduceat(counts, starts)
    mean = np.add.reduceat(x * counts, starts) / n
    off = x - np.repeat(mean, np.diff(np.append(starts, len(x))))
    deviation = np.sqrt(np.add.reduceat(off**2 * counts, starts) / n)
    values = np.concatenate([mean - deviation, mean + deviation])
    return np.clip(values, x[0], x[-1]), np.concatenate([n, n]) / 2


def _share_below_zero(y: FloatArray, shapes: FloatArray) -> float:
    """P(sum_j y_j G_j <= 0) for independent G_j, gamma of shape a_j and scale 1.

    With K(t) = -sum a_j log(1 - t y_j), t the root of K', w = sign(t) sqrt(-2 K(t)), v = t sqrt(K''(t)):
    Phi(w) + phi(w) (1/w - 1/v), and where t is 0 its limit, 1/2 + K'''(0) / (6 sqrt(2 pi) K''(0)^1.5).
    Off by less than 0.001 at a level of 0.975, for any two values or more.
    """
    top, bottom = float(y.max()), float(y.min())
    if top <= 0 or bottom >= 0:
        return 1.0 if top <= 0 else 0.0
    t = _saddle_point(y, shapes, 1 / bottom, 1 / top)
    z = y / (1 - t * y)
    second = float(shapes @ z**2)
    v = t * math.sqrt(second)
    if abs(v) < 1e-4:
        return 0.5 + float(shapes @ z**3) / (3 * math.sqrt(2 * math.pi) * math.pow(second, 1.5))
    w = math.copysign(math.sqrt(max(2 * float(shapes @ np.log1p(-t * y)), 0.0)), t)
    density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
    below: float = 0.5 * math.erfc(-w / math.sqrt(2)) + density * (1 / w - 1 / v)
    return below


def _saddle_point(y: FloatArray, shapes: FloatArray, low: float, high: float) -> float:
    """The root of K'(t) = sum a_j y_j / (1 - t y_j), which rises from -inf at `low` to inf at `high`.

    Newton's steps, and half the bracket where one would leave it.
    """
    t = 0.0
    for _ in range(200):
        z = y / (1 - t * y)
        first = float(shapes @ z)
        if first > 0:
            high = t
        else:
            low = t
        step = -first / float(shapes @ z**2)
        if abs(step) <= 1e-11 * abs(t):
            break
        t += step
        if not low < t < high:
            t = (low + high) / 2
    return t
