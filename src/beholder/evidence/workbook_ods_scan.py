"""One pass over `content.xml` of an ODS: what its tables hold, how far they reach, where their tags begin."""

from __future__ import annotations

from dataclasses import dataclass, field

from beholder.evidence.workbook import (
    FLOW_PT,
    MOST_COLUMNS,
    MOST_ROWS,
    Lengths,
    cell_name,
    parse_cell,
    text_width_pt,
)
from beholder.evidence.workbook_ods_looks import Style, Styles
from beholder.evidence.xmlscan import Scanner, attribute, local

_CELLS = ("table-cell", "covered-table-cell")
_UNSEEN = ("collapse", "filter")


@dataclass(slots=True)
class Run:
    """A row or column tag: which ones it stands for, and where it lies in the part."""

    first: int
    count: int
    start: int
    end: int = 0


@dataclass(slots=True)
class ScannedTable:
    """What one pass finds of a table.

    Attributes:
        last_row, last_column: 0-based, of cells with content and shapes; -1 if there are none.
        ends: (row, columns up to its last one used), as `region` takes them.
        drawn: There are shapes.
        had_hidden: Rows are hidden that we have not hidden.
        reach_pt: How far to the right text flows.
        flow: The index in `row_runs` of the row whose text does; -1 if none.
        flow_cells: That row's cells, the empty ones included.
        cut_text: A cell whose text flows further than it is followed; empty if there is none.
    """

    name: str
    hidden: bool
    columns: Lengths = field(default_factory=lambda: Lengths(64.0))
    rows: Lengths = field(default_factory=lambda: Lengths(12.8))
    column_runs: list[Run] = field(default_factory=list)
    row_runs: list[Run] = field(default_factory=list)
    last_row: int = -1
    last_column: int = -1
    ends: list[tuple[int, int]] = field(default_factory=list)
    drawn: bool = False
    had_hidden: bool = False
    reach_pt: float = 0.0
    flow: int = -1
    flow_cells: int = 0
    cut_text: str = ""


@dataclass(slots=True)
class _Cell:
    column: int
    repeat: int
    style: Style
    filled: bool
    text: list[str] = field(default_factory=list)
    flows: bool = False


class TablesPass:
    """Handlers of one pass over `content.xml`.

    Args:
        styles: Of `styles.xml`; those of `content.xml`, which stand before its tables, are added.
    """

    def __init__(self, styles: Styles) -> None:
        self.styles = styles
        self.tables: list[ScannedTable] = []
        self.scanner = Scanner(self._start, self._end, self._text)
        self.table: ScannedTable | None = None
        self.depth = 0
        self.row = self.column = 0
        self.row_run: Run | None = None
        self.cell: _Cell | None = None
        self.tail: _Cell | None = None
        self.paragraph = 0
        self.used = 0

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local(tag)
        if self.table is None:
            if name == "table" and tag == "table:table":
                style = self.styles.look("table", attribute(attributes, "style-name"))
                self.table = ScannedTable(attributes.get("table:name", ""), style.hidden)
                self.tables.append(self.table)
                self.row = self.column = self.depth = 0
            else:
                self.styles.start(tag, attributes)
            return
        if tag == "table:table":  # in a cell, or in a shape
            self.depth += 1
        if self.depth:
            return
        if name == "table-column":
            self._start_column(attributes)
        elif name == "table-row":
            self._start_row(attributes)
        elif name in _CELLS and self.row_run is not None and self.cell is None:
            self._start_cell(attributes)
        elif tag.startswith(("draw:", "dr3d:")):
            self.table.drawn = True
            if self.cell is not None:
                self.cell.filled = True
            self._end_of_shape(attributes)
        elif name == "p" and self.cell is not None:
            self.cell.filled = True
            self.paragraph += 1
        elif name == "annotation":
            self.depth += 1

    def _end_of_shape(self, attributes: dict[str, str]) -> None:
        """A shape reaches to the cell it ends in, which is named with its sheet."""
        end = attributes.get("table:end-cell-address", "").rpartition(".")[2]
        place = parse_cell(end)
        if place and self.table is not None:
            self.table.last_row = max(self.table.last_row, min(place[0], MOST_ROWS - 1))
            self.table.last_column = max(self.table.last_column, min(place[1], MOST_COLUMNS - 1))
            self.table.ends.append((min(place[0], MOST_ROWS - 1), min(place[1], MOST_COLUMNS - 1) + 1))

    def _start_column(self, attributes: dict[str, str]) -> None:
        table = self.table
        if table is None:
            return
        count = _repeat(attributes.get("table:number-columns-repeated"), MOST_COLUMNS - self.column)
        style = self.styles.look("table-column", attribute(attributes, "style-name"))
        unseen = attributes.get("table:visibility") in _UNSEEN
        length = 0.0 if unseen else (table.columns.default if style.length is None else style.length)
        table.columns.set(self.column, self.column + count - 1, length)
        table.column_runs.append(Run(self.column, count, self.scanner.at))
        self.column += count

    def _start_row(self, attributes: dict[str, str]) -> None:
        table = self.table
        if table is None:
            return
        count = _repeat(attributes.get("table:number-rows-repeated"), MOST_ROWS - self.row)
        style = self.styles.look("table-row", attribute(attributes, "style-name"))
        unseen = attributes.get("table:visibility") in _UNSEEN
        length = 0.0 if unseen else (table.rows.default if style.length is None else style.length)
        table.rows.set(self.row, self.row + count - 1, length)
        self.row_run = Run(self.row, count, self.scanner.at)
        table.had_hidden = table.had_hidden or unseen
        table.row_runs.append(self.row_run)
        self.column, self.tail, self.used = 0, None, 0

    def _start_cell(self, attributes: dict[str, str]) -> None:
        count = _repeat(attributes.get("table:number-columns-repeated"), MOST_COLUMNS - self.column)
        style = self.styles.look("table-cell", attribute(attributes, "style-name"))
        kind = attributes.get("office:value-type", "")
        filled = bool(kind) or "table:formula" in attributes
        spanned = attributes.get("table:number-columns-spanned", "1") != "1"
        self.cell = _Cell(
            self.column, count, style, filled, flows=style.flows and kind == "string" and not spanned
        )
        self.paragraph = 0

    def _text(self, piece: str) -> None:
        if self.cell is not None and self.paragraph and not self.depth:
            self.cell.text.append(piece)

    def _end(self, tag: str) -> None:
        name = local(tag)
        if self.table is None:
            self.styles.end(tag)
            return
        if self.depth:
            if tag == "table:table" or name == "annotation":
                self.depth -= 1
            return
        if name in _CELLS and self.cell is not None:
            self._end_cell()
        elif name == "p" and self.cell is not None:
            self.paragraph -= 1
            self.cell.text.append("\n")
        elif name == "table-row":
            self._end_row(tag)
        elif name == "table-column" and self.table.column_runs:
            self.table.column_runs[-1].end = self.scanner.at
        elif tag == "table:table":
            self.table = None
            self.column = 0

    def _end_cell(self) -> None:
        cell, table, run = self.cell, self.table, self.row_run
        self.cell = None
        if cell is None or table is None or run is None:
            return
        last_row, last_column = run.first + run.count - 1, cell.column + cell.repeat - 1
        if cell.filled:
            table.last_row, table.last_column = (
                max(table.last_row, last_row),
                max(table.last_column, last_column),
            )
            self.tail = cell
            self.used = max(self.used, last_column + 1)
        elif cell.style.seen and cell.repeat < 1024 and run.count < 65536:
            self.used = max(self.used, last_column + 1)
        self.column = cell.column + cell.repeat

    def _end_row(self, tag: str) -> None:
        table, run, tail = self.table, self.row_run, self.tail
        self.row_run = None
        if table is None or run is None:
            return
        run.end = self.scanner.at + len(f"</{tag}>")
        self.row = run.first + run.count
        if self.used:
            table.ends += ((run.first, self.used), (self.row - 1, self.used))
        if tail is None or not tail.flows or table.rows.length(run.first) <= 0:
            return
        column = tail.column + tail.repeat - 1
        width = text_width_pt("".join(tail.text).strip("\n"), tail.style.size_pt)
        if width > FLOW_PT and not table.cut_text:
            table.cut_text = cell_name(run.first, column)
        reach = table.columns.edge(column) + min(width, FLOW_PT)
        if reach > table.reach_pt:
            table.reach_pt, table.flow = reach, len(table.row_runs) - 1
            table.flow_cells = self.column


def _repeat(text: str | None, most: int) -> int:
    """How often an element stands for itself, from 1 to `most`."""
    count = int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 1
    return max(1, min(count, most))
