"""Permutation p-values and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_TIE = 1e-12  # figures are of order 1


def random_swaps(generator: np.random.Generator, n: int, replicates: int) -> NDArray[np.float32]:
    """(n, R) float32 of 0 and 1: which of n pairs are swapped in each replicate."""
    size = (n + 7) // 8
    bits = [np.frombuffer(generator.bytes(size), np.uint8) for _ in range(replicates)]
    swaps = np.unpackbits(np.array(bits).reshape(replicates, size), axis=1, count=n)
    return swaps.T.astype(np.float32, order="C")


def permutation_p_value(observed: float, permuted: FloatArray) -> float | None:
    """Two-sided: (1 + permutations at least as extreme) / (1 + permutations).

    Args:
        observed: The difference.
        permuted: (R,) differences after random relabelling; NaN where undefined, which are left out.

    Returns:
        In (0, 1], never 0; None if nothing is defined. Differences that rounding sets apart are ties.
    Source: Phipson and Smyth (2010), "Permutation p-values should never be zero", equation 2.
    """
    known = permuted[~np.isnan(permuted)]
    if np.isnan(observed) or not len(known):
        return None
    reached = abs(observed) - _TIE * max(1.0, abs(observed))
    return (1 + int(np.count_nonzero(np.abs(known) >= reached))) / (1 + len(known))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for being several; None stays None and does not count.

    The k-th smallest of m becomes the largest of (m - j + 1) p_j over j <= k, at most 1.

    Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for rank, (p, at) in enumerate(known):
        reached = max(reached, min(1.0, (len(known) - rank) * p))
        adjusted[at] = reached
    return adjusted
