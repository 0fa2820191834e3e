"""Agreement between raters, from sums over units: Krippendorff's alpha and Cohen's kappa.

Both are functions of a few sums over units, so bootstrap replicates are matrix products. Every argument may
have further axes (replicates); the result has them too. Undefined is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def alpha_terms(counts: NDArray[np.int64]) -> FloatArray:
    """What each unit adds to nominal alpha: m, its disagreement d, and n_v per value.

    m = raters of the unit (0 if fewer than two: such a unit cannot be paired), and
    d = (m² - sum_v n_v²) / (m - 1).

    Args:
        counts: (units, V) raters that gave each of V values; who did not rate gave none.

    Returns:
        (units, 2 + V) float64: m, d, n_1 … n_V.
    """
    m = counts.sum(axis=1)
    paired = m >= 2
    kept = np.where(paired[:, None], counts, 0)
    d = np.where(paired, (m**2 - (counts**2).sum(axis=1)) / np.maximum(m - 1, 1), 0.0)
    return np.column_stack([kept.sum(axis=1), d, kept]).astype(np.float64)


def krippendorff_alpha(n: FloatArray, disagreement: FloatArray, values: FloatArray) -> FloatArray:
    """Alpha = 1 - (n - 1) sum d / (n² - sum_v N_v²), nominal.

    Args:
        n: (…) sum of m over the units.
        disagreement: (…) sum of d.
        values: (V, …) sums of n_v.

    Returns:
        (…), at most 1; NaN if only one value was ever given, or no unit has two raters.
    Source: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C, nominal data.
    """
    expected = np.asarray(n, np.float64) ** 2 - (np.asarray(values, np.float64) ** 2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = 1 - (n - 1) * np.asarray(disagreement, np.float64) / expected
    return np.where(expected > 0, alpha, np.nan)


def cohen_kappa(n: FloatArray, a: FloatArray, b: FloatArray, both: FloatArray) -> FloatArray:
    """Kappa = (p_o - p_e) / (1 - p_e) of two raters who say yes or no.

    Args:
        n: (…) units rated by both.
        a, b: (…) of which the first, the second rater said yes.
        both: (…) of which both said yes.

    Returns:
        (…), at most 1; NaN without units, and where chance alone would agree always.
    Source: Cohen (1960), "A coefficient of agreement for nominal scales".
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        # Multiplied by n², so that the chance term is exact and its test for 1 is one of integers.
        chance = a * b + (n - a) * (n - b)
        observed = (n - a - b + 2 * both) * n
        return np.where(n * n > chance, (observed - chance) / (n * n - chance), np.nan)
