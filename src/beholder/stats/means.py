"""Means that do not depend on the order, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

MANY = 2000
"""Distinct values up to which each is taken as its decimals say."""


def decimal_mean(values: Sequence[float] | NDArray[np.float64]) -> float | None:
    """The mean of numbers as their decimals say, so that three times 0.7 is 0.7; None of nothing.

    Of more than `MANY` distinct values, the sum of the binary numbers, rounded once.
    """
    if not len(values):
        return None
    # Scores have few distinct values, and a decimal is made of each only once.
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    if len(distinct) > MANY:
        return math.fsum((distinct * counts).tolist()) / len(values)
    with localcontext(prec=60):
        total = sum(
            (
                Decimal(repr(value)) * count
                for value, count in zip(distinct.tolist(), counts.tolist(), strict=True)
            ),
            Decimal(0),
        )
        return float(total / len(values))
