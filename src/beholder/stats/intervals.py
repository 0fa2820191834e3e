"""Confidence intervals of a mean and of a share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

Interval = tuple[float, float]


def student_t_interval(
    values: Sequence[float], low: float, high: float, *, confidence: float = 0.95
) -> Interval | None:
    """Two-sided interval of the mean, for values that lie within `low` and `high`; cut at these ends.

    mean ± t(1 - (1 - confidence) / 2; n - 1) * s / sqrt(n), with s the sample standard deviation.

    Returns:
        None where it is undefined: fewer than two values, or values that are all equal (nothing is known
        of the spread then, and a width of 0 would claim certainty).
    Source: Student (1908), "The probable error of a mean".
    """
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    if max(values) == min(values):
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * math.sqrt(variance / n)
    return max(low, mean - half), min(high, mean + half)


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> Interval | None:
    """Score interval of a share; never of width 0. None for n = 0.

    (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n), with p = successes / n.

    Source: Wilson (1927), "Probable inference, the law of succession, and statistical inference".
    """
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / n
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At the ends the formula gives 0 and 1 exactly, but for rounding.
    low = 0.0 if successes == 0 else (middle - half) / scale
    high = 1.0 if successes == n else (middle + half) / scale
    return low, high
