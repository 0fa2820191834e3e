"""One pass over a sheet of an XLSX: what is in it, how far it reaches, and where its tags begin."""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field

from beholder.evidence.workbook import (
    FLOW_PT,
    MOST_COLUMNS,
    MOST_ROWS,
    Lengths,
    add_end,
    cell_name,
    parse_cell,
    text_width_pt,
)
from beholder.evidence.workbook_xlsx_looks import Look, Styles
from beholder.evidence.workbook_xlsx_parts import TRUE, number, whole
from beholder.evidence.xmlscan import Scanner, attribute, local

_DIGIT_PT = 5.25
"""A column's width is told in digits of the default font, 7 px each."""

_LINE = 1.22
"""Height of a line of text in its size."""

_NEW_FUNCTIONS = re.compile(
    r"_xlfn\.(?:_xlws\.)?(ARRAYTOTEXT|BYCOL|BYROW|CHOOSECOLS|CHOOSEROWS|DROP|EXPAND|FILTER|GROUPBY|HSTACK|IMAGE|LAMBDA"
    r"|LET|MAKEARRAY|MAP|PIVOTBY|RANDARRAY|REDUCE|SCAN|SEQUENCE|SORT|SORTBY|TAKE|TEXTAFTER|TEXTBEFORE|TEXTSPLIT|TOCOL"
    r"|TOROW|UNIQUE|VALUETOTEXT|VSTACK|WRAPCOLS|WRAPROWS|XLOOKUP|XMATCH)\b"
)
"""Functions of Excel 2021 and later that LibreOffice 7 does not know."""

_VOLATILE = re.compile(r"\b(NOW|RAND|RANDARRAY|RANDBETWEEN|TODAY)\s*\(")
"""Functions that are computed anew whenever a workbook is opened."""


@dataclass(slots=True)
class ScannedSheet:
    """What one pass over a sheet finds."""

    columns: Lengths
    rows: Lengths
    last_row: int = -1
    last_column: int = -1
    ends: list[tuple[int, int]] = field(default_factory=list)
    reach_pt: float = 0.0
    flow: tuple[int, int] | None = None
    anchor_row: tuple[int, int, int] | None = None
    cut_text: str = ""
    prefix: str = ""
    had_hidden: bool = False
    drawing: str = ""
    row_numbers: array[int] = field(default_factory=lambda: array("l"))
    row_places: array[int] = field(default_factory=lambda: array("q"))
    gaps: list[tuple[int, int, int]] = field(default_factory=list)
    values: list[tuple[int, int]] = field(default_factory=list)
    columns_at: tuple[int, int] | None = None
    column_tags: list[dict[str, str]] = field(default_factory=list)
    scrolled_at: list[int] = field(default_factory=list)
    format_at: int | None = None
    data_at: int | None = None
    data_end: int = 0
    zero_height: bool = False
    not_computed: set[str] = field(default_factory=set)
    volatile: set[str] = field(default_factory=set)
    tall: bool = False


class SheetPass:
    """Handlers of one pass over a sheet's XML."""

    def __init__(self, styles: Styles, texts: list[str], *, compute: bool) -> None:
        self.styles = styles
        self.texts = texts
        self.compute = compute
        self.found = ScannedSheet(Lengths(9.140625 * _DIGIT_PT), Lengths(15.0))
        self.scanner = Scanner(self._start, self._end, self._text)
        self.row = self.column = self.highest = -1
        self.row_column = -1
        self.used = 0
        self.fits = False
        self.row_height: float | None = None
        self.row_lines = 1.0
        self.tail: tuple[int, str, Look] | None = None
        self.look = Look()
        self.kind = ""
        self.formula: list[str] | None = None
        self.value_at: int | None = None
        self.value: list[str] = []
        self.reading = ""
        self.has_text = False
        self.in_data = False

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local(tag)
        if name == "c" and self.in_data:
            self._start_cell(attributes)
        elif name == "row" and self.in_data:
            self._start_row(attributes)
        elif name in ("f", "v", "is") and self.in_data:
            self.reading = name
            if name == "f":
                self.formula = []
            elif name == "v":
                self.value_at = self.scanner.at
            else:
                self.has_text = True
        elif name == "t" and self.in_data:
            self.reading = "v"
        elif name == "col":
            self._start_column(attributes)
        elif name == "cols":
            self.found.columns_at = (self.scanner.at, 0)
        elif name == "sheetView" and attribute(attributes, "topLeftCell") not in ("", "A1"):
            self.found.scrolled_at.append(self.scanner.at)
        elif name == "sheetFormatPr":
            self._start_format(attributes)
        elif name == "sheetData":
            self.in_data = True
            self.found.data_at = self.scanner.at
            self.found.prefix = tag.rpartition("sheetData")[0]
        elif name == "drawing":
            self.found.drawing = attributes.get("r:id") or attribute(attributes, "id")

    def _start_format(self, attributes: dict[str, str]) -> None:
        found = self.found
        found.format_at = self.scanner.at
        found.zero_height = attributes.get("zeroHeight") in TRUE
        found.rows.default = 0.0 if found.zero_height else number(attributes.get("defaultRowHeight"), 15.0)
        base = number(attributes.get("baseColWidth"), 8.0) + 0.7109375
        width = number(attributes.get("defaultColWidth"), math.ceil((base * 7 + 5) / 8) * 8 / 7)
        found.columns.default = width * _DIGIT_PT

    def _start_column(self, attributes: dict[str, str]) -> None:
        found = self.found
        found.column_tags.append(dict(attributes))
        first, last = whole(attributes.get("min")) - 1, min(whole(attributes.get("max")), MOST_COLUMNS) - 1
        hidden = attributes.get("hidden") in TRUE
        found.had_hidden = found.had_hidden or (hidden and first <= found.last_column + 50)
        width = number(attributes.get("width"), found.columns.default / _DIGIT_PT) * _DIGIT_PT
        if first >= 0:
            found.columns.set(first, last, 0.0 if hidden else width)

    def _start_row(self, attributes: dict[str, str]) -> None:
        found = self.found
        named = whole(attributes.get("r"))
        row = min(named - 1 if named > 0 else self.row + 1, MOST_ROWS - 1)
        # Rows that come in no order must not tell one gap many times: each of its rows may get a tag.
        if row > self.highest + 1:
            found.gaps.append((self.scanner.at, self.highest + 1, row))
        self.highest = max(self.highest, row)
        self.row, self.column, self.row_column = row, -1, -1
        self.tail, self.row_lines, self.used, self.fits = None, 1.0, 0, False
        found.row_numbers.append(self.row)
        found.row_places.append(self.scanner.at)
        height = attributes.get("ht")
        if attributes.get("hidden") in TRUE or attributes.get("zeroHeight") in TRUE:
            found.had_hidden = True
            self.row_height = 0.0
        elif height is not None:
            self.row_height = number(height, 15.0)
            if attributes.get("customHeight") in TRUE:
                self.row_lines = -math.inf
        else:
            self.row_height = 15.0 if found.zero_height else found.rows.default
            self.fits = True

    def _start_cell(self, attributes: dict[str, str]) -> None:
        place = parse_cell(attributes.get("r", ""))
        self.column = place[1] if place else self.column + 1
        self.column = min(self.column, MOST_COLUMNS - 1)
        self.row_column = max(self.row_column, self.column)
        self.look = self.styles.look(whole(attributes.get("s", "0")))
        self.kind = attributes.get("t", "n")
        self.formula, self.value_at, self.has_text = None, None, False
        self.value.clear()
        if self.look.seen:
            self.used = max(self.used, self.column + 1)

    def _text(self, piece: str) -> None:
        if self.reading == "v":
            self.value.append(piece)
        elif self.reading == "f" and self.formula is not None:
            self.formula.append(piece)

    def _end(self, tag: str) -> None:
        name = local(tag)
        if name == "c" and self.in_data:
            self._end_cell()
        elif name in ("f", "t", "is"):
            self.reading = ""
        elif name == "v":
            self.reading = ""
            if self.formula is not None and self.value_at is not None and self.compute:
                self._end_value(tag)
        elif name == "row" and self.in_data:
            self._end_row()
        elif name == "sheetData":
            self.in_data = False
            self.found.data_end = self.scanner.at
        elif name == "cols" and self.found.columns_at is not None:
            self.found.columns_at = (self.found.columns_at[0], self.scanner.at + len(f"</{tag}>"))

    def _end_value(self, tag: str) -> None:
        """A value that the program wants to be computed again: it may be a placeholder."""
        value = "".join(self.value)
        known = _NEW_FUNCTIONS.search("".join(self.formula or ())) is None
        if self.value_at is not None and value and (known or value == "0"):
            self.found.values.append((self.value_at, self.scanner.at + len(f"</{tag}>")))
            self.value.clear()

    def _end_cell(self) -> None:
        value = "".join(self.value)
        formula = "".join(self.formula or ())
        if formula:
            self.found.volatile |= set(_VOLATILE.findall(formula))
        if formula and not value:
            self.found.not_computed |= set(_NEW_FUNCTIONS.findall(formula))
        if not value and self.formula is None and not self.has_text:
            return
        found = self.found
        found.last_row = max(found.last_row, self.row)
        found.last_column = max(found.last_column, self.column)
        self.used = max(self.used, self.column + 1)
        shown = value
        if self.kind == "s":
            index = whole(value)
            shown = self.texts[index] if 0 <= index < len(self.texts) else ""
        elif self.kind not in ("inlineStr", "str"):
            shown = ""
        self.tail = (self.column, shown, self.look)
        if self.fits and self.look.size_pt * _LINE > (self.row_height or 0.0):
            found.tall = True
        if self.look.wraps and shown:
            room = max(10.0, found.columns.edge(self.column + 1) - found.columns.edge(self.column) - 4)
            lines = sum(
                math.ceil(text_width_pt(line, self.look.size_pt * 0.9) / room) or 1
                for line in shown.split("\n")[:200]
            )
            self.row_lines = max(self.row_lines, lines)

    def _end_row(self) -> None:
        found = self.found
        height = self.row_height or 0.0
        if height and self.row_lines > 1:
            found.tall = found.tall or self.fits
            height = max(height, min(self.row_lines * 14.0, 1_000.0))
        found.rows.set(self.row, self.row, height)
        if self.used:
            add_end(found.ends, self.row, self.used)
        if self.row_column >= 0 and found.anchor_row is None and height:
            found.anchor_row = (self.scanner.at, self.row, self.row_column)
        if self.tail is None or not height:
            return
        column, shown, look = self.tail
        if not shown or not look.flows:
            return
        left = found.columns.edge(column)
        width = text_width_pt(shown, look.size_pt)
        if width > FLOW_PT and not found.cut_text:
            found.cut_text = cell_name(self.row, column)
        reach = left + min(width, FLOW_PT)
        if reach > found.reach_pt:
            found.reach_pt, found.flow = reach, (self.row, column)
