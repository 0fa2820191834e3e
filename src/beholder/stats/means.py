"""Means that do not depend on the order, to the last bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, localcontext


def decimal_mean(values: Sequence[float]) -> float | None:
    """The mean of numbers as their decimals say, so that three times 0.7 is 0.7; None of nothing."""
    if not values:
        return None
    # Scores have few distinct values, and a decimal is made of each only once.
    counts = Counter(values)
    with localcontext(prec=60):
        total = sum((Decimal(repr(value)) * count for value, count in counts.items()), Decimal(0))
        return float(total / len(values))
