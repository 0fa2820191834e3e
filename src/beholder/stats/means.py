"""Means that do not depend on the order, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext


def decimal_mean(values: Sequence[float]) -> float | None:
    """The mean of numbers as their decimals say, so that three times 0.7 is 0.7; None of nothing."""
    if not values:
        return None
    with localcontext(prec=60):
        return float(sum((Decimal(repr(value)) for value in values), Decimal(0)) / len(values))
