"""The first sheet of a workbook, as lines of cells."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

MAX_CELLS = 20_000_000
"""Cells of the rectangle around all content; the reader holds each of them, at some 32 bytes."""

MAX_SHEET_BYTES = 2**31
"""A sheet's XML, unpacked."""

_REFERENCE = re.compile(rb' r="([A-Z]{1,3})([0-9]{1,7})"')
_CHUNK = 2**20


def read_sheet(file: Path) -> Iterator[list[Any]]:
    """Every line of the first sheet that is shown, from the first line of the sheet on.

    A cell is text, a float, a boolean, a date or time, or None: empty, an error such as #N/A, or a formula
    that was never computed.

    Raises:
        ValueError: It cannot be read; the message says why and what to do.
        OSError: There is no such file.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    _check_size(file)
    try:
        workbook = CalamineWorkbook.from_path(str(file))
        # A chart of its own or a hidden sheet is not what the user sees first.
        shown = [
            sheet.name
            for sheet in workbook.sheets_metadata
            if sheet.typ == SheetTypeEnum.WorkSheet and sheet.visible == SheetVisibleEnum.Visible
        ]
        sheet = workbook.get_sheet_by_name(shown[0]) if shown else workbook.get_sheet_by_index(0)
        lines = sheet.to_python(skip_empty_area=False)
    except CalamineError as error:
        raise ValueError(f"not a readable workbook: {error}") from None
    return ([None if cell == "" else cell for cell in line] for line in lines)


def _check_size(file: Path) -> None:
    """Refuse what would exhaust the memory, such as a forgotten cell in the last corner of the sheet."""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if re.fullmatch(r"xl/worksheets/[^/]+\.xml", info.filename):
                    if info.file_size > MAX_SHEET_BYTES:
                        raise ValueError(f"a sheet of {info.file_size} bytes is too large; save it as .csv")
                    with archive.open(info) as xml:
                        _check_extent(xml)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        # Also what an encrypted workbook is: no archive, but one with a password around it.
        raise ValueError(f"not a readable workbook, or one with a password: {error}") from None


def _check_extent(xml: IO[bytes]) -> None:
    width, height = 0, 0
    far = b""
    rest = b""
    while chunk := xml.read(_CHUNK):
        for letters, digits in _REFERENCE.findall(rest + chunk):
            row, column = int(digits), _column(letters)
            if row > height or column > width:
                width, height = max(width, column), max(height, row)
                far = letters + digits
        rest = chunk[-24:]
    if width * height > MAX_CELLS:
        raise ValueError(
            f"the sheet reaches to cell {far.decode()}, {width} columns by {height} rows; delete what is "
            "far outside the table, or save it as .csv"
        )


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
