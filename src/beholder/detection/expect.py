"""A summary against a published one, number by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from beholder.detection.jsonfile import read_json_object

TOLERANCE = 1e-9

_ABSENT = object()


def load_expected(path: Path) -> dict[str, Any]:
    """A published summary: a JSON object.

    Raises:
        SpecError: `bad_expect`, `unreadable`.
    """
    return read_json_object(path, "bad_expect")


def compare(
    expected: Any, found: Any, *, tolerance: float = TOLERANCE, where: str = ""
) -> list[dict[str, Any]]:
    """Every leaf of `expected` that `found` has not, with both values; [] if all are equal.

    Counts, texts and null must be the same, other numbers within `tolerance`. What only `found` has is no
    difference: a published summary may say less.
    """
    if isinstance(expected, dict):
        inner = found if isinstance(found, dict) else {}
        return [
            line
            for key, value in expected.items()
            for line in compare(
                value, inner.get(key, _ABSENT), tolerance=tolerance, where=f"{where}.{key}" if where else key
            )
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line
            for at, (a, b) in enumerate(zip(expected, found, strict=True))
            for line in compare(a, b, tolerance=tolerance, where=f"{where}[{at}]")
        ]
    if _equal(expected, found, tolerance):
        return []
    if found is _ABSENT:
        return [{"where": where, "expected": expected, "missing": True}]
    return [{"where": where, "expected": expected, "found": found}]


def _equal(expected: Any, found: Any, tolerance: float) -> bool:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, found)]
    if not all(numbers):
        return type(expected) is type(found) and bool(expected == found)
    if isinstance(expected, int) and isinstance(found, int):
        return expected == found
    return bool(abs(expected - found) <= tolerance)
