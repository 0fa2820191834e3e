"""Paired comparisons: sign-flip permutation, McNemar's exact test, what difference n could show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from beholder.stats.permutation import permutation_p_value

FloatArray = NDArray[np.float64]

EXACT_UNITS = 16
"""Units whose sign patterns, 65,536 at most, are all gone through."""
RANDOM_UNITS = 300
"""Units whose signs are drawn; above, the sum of so many is normal, more closely than draws would tell."""
REPLICATES = 9999
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Test:
    """A p-value and how it came about; None where there is nothing to test."""

    p_value: float | None
    method: str


def sign_flip_test(differences: Sequence[float], *, seed: int = 0) -> Test:
    """Two-sided: were differences as likely to be negative as positive, how often is the mean this far off?

    The share of sign patterns whose sum is, in absolute value, at least the observed one. All patterns up to
    `EXACT_UNITS` differences that are not 0 (those of 0 change no sum); 9,999 random ones up to
    `RANDOM_UNITS`, counted as Phipson and Smyth (2010) have it; the normal limit, with variance sum d²,
    above. The same for any order of the differences, and for the two runs in the other order.

    Args:
        differences: One per unit: per task, or summed per cluster.

    Source: Fisher (1935), "The Design of Experiments", section 21.
    """
    if not differences:
        return Test(None, "none")
    known = np.asarray(differences, np.float64)
    known = known[known != 0]
    n = len(known)
    if n == 0:
        return Test(1.0, "sign_flip_exact")
    scale = float(np.abs(known).max())
    observed = abs(math.fsum((known / scale).tolist()))
    units = np.sort(np.abs(known)) / scale  # their signs are what is drawn
    if n <= EXACT_UNITS:
        sums = np.zeros(1)
        for unit in units:
            sums = np.concatenate([sums - unit, sums + unit])
        return Test(float(np.mean(np.abs(sums) >= observed - _TIE)), "sign_flip_exact")
    if n <= RANDOM_UNITS:
        drawn = np.unpackbits(_signs(n, seed), axis=1, count=n).astype(np.float64)
        sums = 2 * (drawn @ units) - units.sum()
        return Test(permutation_p_value(observed, sums), "sign_flip_random")
    z = observed / math.sqrt(math.fsum((units**2).tolist()))
    return Test(math.erfc(z / math.sqrt(2)), "sign_flip_normal")


@lru_cache(maxsize=64)
def _signs(n: int, seed: int) -> NDArray[np.uint8]:
    """(replicates, n / 8) random bits, eight to the byte: many tests are of as many units."""
    size = (n + 7) // 8
    bits = np.random.default_rng(seed).bytes(REPLICATES * size)
    return np.frombuffer(bits, np.uint8).reshape(REPLICATES, size)


def mcnemar_exact(only_first: int, only_second: int) -> float | None:
    """Two-sided exact p-value of passes that two runs do not share; 1 where they share all.

    2 P(X <= min(b, c)), X binomial of b + c and 1/2, at most 1.

    Source: McNemar (1947), "Note on the sampling error of the difference between correlated proportions",
    with the binomial distribution in place of its limit.
    """
    n = only_first + only_second
    if abs(only_first - only_second) <= 1:
        return 1.0  # exactly, which the distribution's rounding may miss
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5)))


def smallest_difference(
    differences: Sequence[float], *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The true mean difference that a two-sided test over n units like these would find with this power.

    (z(1 - alpha/2) + z(power)) s / sqrt(n), with s the sample standard deviation of the differences.

    Returns:
        None for fewer than two units or without any spread: how much they vary is unknown then.
    Source: Cohen (1988), "Statistical Power Analysis for the Behavioral Sciences", section 2.4, normal form.
    """
    n = len(differences)
    if n < 2 or max(differences) == min(differences):
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((value - mean) ** 2 for value in differences) / (n - 1)
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * math.sqrt(variance / n)
