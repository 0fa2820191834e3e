"""JSON that people write by hand, read strictly: settings, class files, published summaries, inventories.

Numbers are finite (no NaN or Infinity, nothing that float64 cannot hold) and nesting is bounded, so that what
was read can be written again.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from beholder.errors import SpecError

MAX_DEPTH = 100


def strict_loads(text: str) -> Any:
    """A JSON value.

    Raises:
        ValueError: No JSON; a number that is not finite in float64; nested deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_bounded)
    except RecursionError:
        raise _too_deep() from None
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return value
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"nested deeper than {MAX_DEPTH}")


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _bounded(text: str) -> int:
    _finite(text)
    return int(text)


def read_json_object(file: Path, slug: str) -> dict[str, Any]:
    """A JSON object in a file in UTF-8.

    Raises:
        SpecError: With this slug, or `unreadable`.
    """
    try:
        value = strict_loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}", slug="unreadable", concerns=str(file)) from None
    except ValueError as error:
        raise SpecError(f"{file}: no JSON: {error}", slug=slug, concerns=str(file)) from None
    if not isinstance(value, dict):
        raise SpecError(f"{file}: expected a JSON object", slug=slug, concerns=str(file))
    return value
