"""A summary against a published one, number by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from beholder.detection.jsonfile import read_json_object
from beholder.errors import SpecError

TOLERANCE = 1e-9

_ABSENT = object()


def load_expected(path: Path) -> dict[str, Any]:
    """A published summary of `score`: micro figures of every model that it names.

    Raises:
        SpecError: `bad_expect`: also where these are absent, for what says nothing is equal to everything;
            `unreadable`.
    """
    expected = read_json_object(path, "bad_expect")
    models = expected.get("models")
    if not isinstance(models, dict) or not models:
        raise _bad(path, "names no model under `models`")
    for name, model in models.items():
        if not any(_has_number(block.get("micro")) for block in _blocks(model)):
            raise _bad(path, f"holds no micro figures of {name!r}")
    return expected


def load_expected_agreement(path: Path) -> dict[str, Any]:
    """Published figures of `agreement`: at least the overall alpha.

    Raises:
        SpecError: `bad_expect`, `unreadable`.
    """
    expected = read_json_object(path, "bad_expect")
    if not isinstance(expected.get("overall"), dict) or "alpha" not in expected["overall"]:
        raise _bad(path, "holds no overall.alpha")
    return expected


def _blocks(model: Any) -> list[dict[str, Any]]:
    """Every task's block in every scope."""
    scopes = _values(model.get("scopes")) if isinstance(model, dict) else []
    blocks = [
        block
        for scope in scopes
        if isinstance(scope, dict)
        for block in (scope.get("classification"), *_values(scope.get("localisation")))
    ]
    return [block for block in blocks if isinstance(block, dict)]


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _has_number(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value.values()
    )


def _bad(path: Path, what: str) -> SpecError:
    return SpecError(f"{path} {what}: there is nothing to compare", slug="bad_expect", concerns=str(path))


def count_leaves(expected: Any) -> int:
    """How many numbers, texts and nulls there are to compare."""
    if isinstance(expected, dict | list):
        return sum(map(count_leaves, _values(expected) if isinstance(expected, dict) else expected))
    return 1


def check_summary(expected: Any, found: Any) -> dict[str, Any]:
    """The outcome as the output tells it: `equal`, how many values were `compared`, the `differences`."""
    differences = compare(expected, found)
    return {"equal": not differences, "compared": count_leaves(expected), "differences": differences}


def compare(
    expected: Any, found: Any, *, tolerance: float = TOLERANCE, where: str = ""
) -> list[dict[str, Any]]:
    """Every leaf of `expected` that `found` has not, with both values; [] if all are equal.

    Counts, texts and null must be the same, other numbers within `tolerance`. What only `found` has is no
    difference: a published summary may say less. An empty object or list is equal to an empty one only.
    """
    if isinstance(expected, dict) and expected:
        inner = found if isinstance(found, dict) else {}
        return [
            line
            for key, value in expected.items()
            for line in compare(
                value, inner.get(key, _ABSENT), tolerance=tolerance, where=f"{where}.{key}" if where else key
            )
        ]
    if isinstance(expected, list) and isinstance(found, list) and 0 < len(expected) == len(found):
        return [
            line
            for at, (a, b) in enumerate(zip(expected, found, strict=True))
            for line in compare(a, b, tolerance=tolerance, where=f"{where}[{at}]")
        ]
    if _equal(expected, found, tolerance):
        return []
    if found is _ABSENT:
        return [{"where": where, "expected": expected, "missing": True}]
    shown = f"{len(found)} entries" if isinstance(found, dict | list) else found
    return [{"where": where, "expected": expected, "found": shown}]


def _equal(expected: Any, found: Any, tolerance: float) -> bool:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, found)]
    if not all(numbers):
        return type(expected) is type(found) and bool(expected == found)
    if isinstance(expected, int) and isinstance(found, int):
        return expected == found
    return bool(abs(expected - found) <= tolerance)
