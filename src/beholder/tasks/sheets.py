"""The first sheet of a workbook, as lines of cells."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

MAX_CELLS = 20_000_000
"""Cells of the rectangle around all content; the reader holds each of them, at some 32 bytes."""

MAX_SHEET_BYTES = 2**31
"""A sheet's XML, unpacked."""

_REFERENCE = re.compile(rb' r="([A-Z]{1,3})([0-9]{1,7})"')
_PLACE = re.compile(r"([A-Z]{1,3})[0-9]{1,7}$")
_SUSPICIOUS = re.compile(rb"""<(?:\w{1,9}:)?f[\s/>]|\st=["']e["']""")
_CHUNK = 2**20
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)


@dataclass(frozen=True, slots=True)
class NoValue:
    """A cell that shows something in a spreadsheet program and has no value that could be read.

    Attributes:
        why: What is the matter, and what to do.
    """

    why: str


_UNCOMPUTED = NoValue(
    "a formula that was never computed; open the workbook in a spreadsheet program and save it, or paste the "
    "values in place of formulas"
)


def read_sheet(file: Path) -> Iterator[list[Any]]:
    """Every line of the first sheet that is shown, from the first line of the sheet on.

    A cell is text, a float, a boolean, a date or time, None if it is empty, or `NoValue`: an error such as
    #N/A, or a formula that was never computed.

    Raises:
        ValueError: It cannot be read; the message says why and what to do.
        OSError: There is no such file.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    suspicious = _check_size(file)
    try:
        workbook = CalamineWorkbook.from_path(str(file))
        # A chart of its own or a hidden sheet is not what the user sees first.
        shown = [
            sheet.name
            for sheet in workbook.sheets_metadata
            if sheet.typ == SheetTypeEnum.WorkSheet and sheet.visible == SheetVisibleEnum.Visible
        ]
        name = next(iter((*shown, *workbook.sheet_names)), None)
        if name is None:
            raise ValueError("not a readable workbook: it has no sheet")
        lines = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except CalamineError as error:
        raise ValueError(f"not a readable workbook: {error}") from None
    # The reader gives nothing for an empty cell, an error and a formula without a result alike.
    without = _cells_without_value(file, name) if suspicious else {}
    return (
        [without.get((row, column)) if cell == "" else cell for column, cell in enumerate(line, start=1)]
        for row, line in enumerate(lines, start=1)
    )


def _check_size(file: Path) -> bool:
    """Refuse what would exhaust the memory, such as a forgotten cell in the last corner of the sheet.

    Returns:
        Whether any sheet has a formula or an error.
    """
    suspicious = False
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if re.fullmatch(r"xl/worksheets/[^/]+\.xml", info.filename):
                    if info.file_size > MAX_SHEET_BYTES:
                        raise ValueError(f"a sheet of {info.file_size} bytes is too large; save it as .csv")
                    with archive.open(info) as xml:
                        suspicious |= _check_extent(xml)
    except _BROKEN_ARCHIVE as error:
        # Also what an encrypted workbook is: no archive, but one with a password around it.
        raise ValueError(f"not a readable workbook, or one with a password: {error}") from None
    return suspicious


def _check_extent(xml: IO[bytes]) -> bool:
    width, height = 0, 0
    far = b""
    rest = b""
    suspicious = False
    while chunk := xml.read(_CHUNK):
        for letters, digits in _REFERENCE.findall(rest + chunk):
            row, column = int(digits), _column(letters)
            if row > height or column > width:
                width, height = max(width, column), max(height, row)
                far = letters + digits
        suspicious = suspicious or bool(_SUSPICIOUS.search(rest + chunk))
        rest = chunk[-24:]
    if width * height > MAX_CELLS:
        raise ValueError(
            f"the sheet reaches to cell {far.decode()}, {width} columns by {height} rows; delete what is "
            "far outside the table, or save it as .csv"
        )
    return suspicious


def _cells_without_value(file: Path, name: str) -> dict[tuple[int, int], NoValue]:
    """(row, column), counted from 1, of each error and each formula without a result."""
    found = {}
    try:
        with zipfile.ZipFile(file) as archive, archive.open(_sheet_path(archive, name)) as xml:
            row, column = 0, 0
            for event, element in ElementTree.iterparse(xml, ("start", "end")):  # noqa: S314 - expat bounds entities
                tag = element.tag.rpartition("}")[2]
                # A place may be left out, and is the next one then.
                if event == "start" and tag == "row":
                    row, column = int(element.get("r", row + 1)), 0
                elif event == "start" and tag == "c":
                    place = _PLACE.match(element.get("r", ""))
                    column = _column(place[1].encode()) if place else column + 1
                elif event == "end" and tag == "c":
                    if value := _no_value(element):
                        found[row, column] = value
                elif event == "end" and tag == "row":
                    element.clear()
    except (ElementTree.ParseError, KeyError, ValueError, *_BROKEN_ARCHIVE) as error:
        raise ValueError(f"not a readable workbook: {error}") from None
    return found


def _no_value(cell: ElementTree.Element) -> NoValue | None:
    value = (cell.findtext("{*}v") or "").strip()
    if cell.get("t") == "e":
        return NoValue(f"the error {value}; correct it, or clear the cell if the task has no such value")
    # A formula whose result is an empty text says so by its type.
    uncomputed = cell.find("{*}f") is not None and not value and cell.get("t") not in {"str", "inlineStr"}
    return _UNCOMPUTED if uncomputed else None


def _sheet_path(archive: zipfile.ZipFile, name: str) -> str:
    """Where a sheet lies in the archive. Raises KeyError if the workbook does not tell."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314 - as above
    sheet = next((one for one in book.iterfind("{*}sheets/{*}sheet") if one.get("name") == name), None)
    attributes = {} if sheet is None else sheet.attrib
    key = next((value for attribute, value in attributes.items() if attribute.endswith("}id")), None)
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314 - as above
    for relation in relations:
        if key is not None and relation.get("Id") == key:
            return posixpath.normpath(posixpath.join("/xl", relation.get("Target", ""))).lstrip("/")
    raise KeyError(f"no place for the sheet {name!r}")


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
