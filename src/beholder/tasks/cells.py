"""What a cell of a task file says: an id, a text, or a part of a table that it holds.

An id is text. A whole number is its decimal text: 7, and the 7.0 that a spreadsheet stores, are "7", while
"007" stays "007". A fraction, a boolean, a date or nothing at all is no id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from beholder.tasks.sheets import NoValue

EXACT_DIGITS = 15
"""Digits of a number that a spreadsheet keeps; a longer id was changed when it was typed."""


def identity(value: Any) -> str:
    """The id that a cell holds.

    Raises:
        ValueError: It holds none; the message says what it holds and what to do.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("no id; every task needs one")
    if isinstance(value, str):
        if "\x00" in value or len(value.encode("utf-8", "replace")) > 1000:
            raise ValueError("an id is at most 1,000 bytes long and holds no NUL")
        return value
    if isinstance(value, datetime | date | time | timedelta):
        shown = text(value)
        raise ValueError(  # noqa: TRY004 - a cell's content
            f"{shown} is a date or time, no id; format the column as text and type it again"
        )
    if isinstance(value, NoValue):
        raise ValueError(f"no id: {value.why}")  # noqa: TRY004 - a cell's content
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{text(value)} is no id; use text or a whole number")  # noqa: TRY004 - a cell's content
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{value} is no id; use text or a whole number")
        if abs(value) >= 10**EXACT_DIGITS:
            raise ValueError(
                f"{value:.0f} has more digits than a spreadsheet keeps; format the column as text and type "
                "it again"
            )
    return str(int(value))


def text(value: Any) -> str:
    """A cell as text: strings unchanged, whole numbers without a decimal point, structures as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**EXACT_DIGITS:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, NoValue):
        return value.why
    if isinstance(value, timedelta | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def cell_at(cells: Mapping[str, Any], name: str) -> Any:
    """A row's value under a name, or under the dotted path that a name may be; None if there is none."""
    if name in cells:
        return cells[name]
    head, _, rest = name.partition(".")
    if not rest or head not in cells:
        return None
    value: Any = cells[head]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)  # a spreadsheet's cell may hold the table as text
        except (ValueError, RecursionError):
            return None
    return cell_at(value, rest) if isinstance(value, Mapping) else None


def stray_at(cells: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What stands where a dotted name leads through and is no table, by its own name; None if nothing does.

    A column that may be left out must not seem to be, for what was meant to hold it cannot be read.
    """
    head, _, rest = name.partition(".")
    value = cells.get(head) if rest and name not in cells else None
    if value is None or isinstance(value, Mapping) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        try:
            if isinstance(json.loads(value), dict):
                return None
        except (ValueError, RecursionError):
            pass  # then it is a text
    return {head: value}


def is_broken(value: str) -> bool:
    """Whether a text, or a name in it, cannot be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False
