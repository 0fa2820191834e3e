"""What every table for a spreadsheet has in common: text that stays text, cells that a sheet can hold."""

from __future__ import annotations

import re
from typing import Any

# A cell that starts like this is run as a formula by spreadsheets; an apostrophe makes it text. The wide
# forms are what a Japanese or Chinese input method types for the same signs.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

SHEET_ROWS = 1_048_576
"""Rows that a sheet of a workbook can hold, the header included."""

CELL_CHARS = 32_767
"""Characters that a cell can hold, counted as UTF-16 units."""

EXACT_WHOLE = 2**53
"""Whole numbers up to this are floats without loss."""

# What XML 1.0 cannot hold; a workbook with one of these does not open.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def defused(value: Any) -> Any:
    """Text that a spreadsheet would run, with an apostrophe before it; anything else as it is."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return "'" + value
    return value


def csv_cell(value: Any) -> Any:
    """A value as a CSV file holds it: nothing for None, `true` and `false`, text defused."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return defused(value)


def sheet_cell(value: Any) -> Any:
    """A value as a workbook's cell holds it: defused, without signs that XML forbids, cut with a note.

    A whole number that a spreadsheet would round, for it counts in floats, is text.
    """
    if isinstance(value, int) and abs(value) > EXACT_WHOLE:
        return str(value)
    if not isinstance(value, str):
        return value
    text: str = _NO_XML.sub("\ufffd", defused(value))
    units = text.encode("utf-16-le")
    if len(units) <= 2 * CELL_CHARS:
        return text
    note = f" … [cut: {len(text)} characters]"
    kept = units[: 2 * (CELL_CHARS - len(note))].decode("utf-16-le", "ignore")
    return kept + note
