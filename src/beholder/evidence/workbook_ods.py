"""ODS made ready to be drawn, by edits in `content.xml`; everything else stays as it was.

    <table:table-column table:visibility="collapse" …/>   columns that are cut off; a repeated one is split
    <table:table-row table:visibility="collapse" …>       rows that are cut off, likewise
    <table:table-cell office:value-type="string">         a blank at which the page ends

Whatever has no XML of its own to edit (XLS, XLSB and older formats) becomes an ODS first: LibreOffice's own
format, so that nothing is lost on the way.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass, field

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages import open_package, read_part
from beholder.evidence.splices import Splices, tag_end, with_attribute
from beholder.evidence.workbook import FLOW_PT, Lengths, Sheet, Workbook, cell_name, region, text_width_pt
from beholder.evidence.xmlscan import Scanner, attribute, local

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_PART = "content.xml"
_HIDDEN = "rows and columns beyond the range shown hidden"
_BLANK = b'<table:table-cell office:value-type="string"><text:p><text:s/></text:p></table:table-cell>'
_POINTS = {"in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "pt": 1.0, "pc": 12.0, "px": 0.75}
_LENGTH = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(in|cm|mm|pt|pc|px)$")
_PREFIXES = (b"xmlns:table=", b"xmlns:text=", b"xmlns:office=")
"""The names that edits are written with; every program that writes ODS declares them so."""

_CELLS = ("table-cell", "covered-table-cell")
_UNSEEN = ("collapse", "filter")


@dataclass(slots=True)
class _Style:
    length: float | None = None
    hidden: bool = False
    seen: bool = False
    flows: bool = True
    size_pt: float = 10.0


@dataclass(slots=True)
class _Run:
    """A row or column tag: which ones it stands for, and where it lies in the part."""

    first: int
    count: int
    start: int
    end: int = 0


@dataclass(slots=True)
class _Table:
    name: str
    hidden: bool
    columns: Lengths = field(default_factory=lambda: Lengths(64.0))
    rows: Lengths = field(default_factory=lambda: Lengths(12.8))
    column_runs: list[_Run] = field(default_factory=list)
    row_runs: list[_Run] = field(default_factory=list)
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
    style: _Style
    filled: bool
    text: list[str] = field(default_factory=list)
    flows: bool = False


def ready_ods(job: Job) -> Workbook:
    """The workbook `job` with sheets of bounded size and with room for text that flows.

    Raises:
        BrokenArtifact: `corrupt, encrypted` or `too_large`.
    """
    with open_package(job.name, job.data) as package:
        data = read_part(package, _PART, job.name) or b""
        if not all(prefix in data[:65536] for prefix in _PREFIXES):
            return Workbook(data=job.data, suffix=job.suffix, through_ods=True)
        defaults = read_part(package, "styles.xml", job.name) or b""
        reader = _Reader()
        if defaults:
            Scanner(reader.start_style, reader.end_style).scan(defaults, job.name, "styles.xml")
        reader.scanner.scan(data, job.name, _PART)
        if not reader.tables:
            raise BrokenArtifact("it has no sheets", slug="corrupt", concerns=job.name)
        splices, edits = Splices(), set[str]()
        sheets = tuple(_sheet(table, data, splices, edits) for table in reader.tables)
        made = job.data
        if splices:
            charts = _HIDDEN in edits and not any(table.had_hidden for table in reader.tables)
            made = _written(package, splices.apply(data), job.name, charts=charts)
    return Workbook(data=made, suffix=".ods", sheets=sheets, edits=tuple(sorted(edits)))


def _written(package: zipfile.ZipFile, content: bytes, name: str, *, charts: bool) -> bytes:
    """The package with this content.

    Args:
        charts: They go on to draw rows that only we have hidden.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        done = set()
        # `mimetype` comes first and is not packed (ODF 1.3 part 2, 3.3).
        members = sorted(package.infolist(), key=lambda member: member.filename != "mimetype")
        for member in members:
            part = member.filename
            if part in done or member.is_dir():
                continue
            done.add(part)
            data = content if part == _PART else read_part(package, part, name) or b""
            if charts and part.endswith(f"/{_PART}"):
                data = data.replace(b'include-hidden-cells="false"', b'include-hidden-cells="true"')
            made.writestr(part, data, zipfile.ZIP_STORED if part == "mimetype" else None)
    return buffer.getvalue()


class _Reader:
    """Handlers of one pass over `content.xml`."""

    def __init__(self) -> None:
        self.tables: list[_Table] = []
        self.scanner = Scanner(self.start, self.end, self.text)
        self.styles: dict[tuple[str, str], _Style] = {}
        self.style: _Style | None = None
        self.path: list[str] = []
        self.table: _Table | None = None
        self.depth = 0
        self.row = self.column = 0
        self.row_run: _Run | None = None
        self.cell: _Cell | None = None
        self.tail: _Cell | None = None
        self.paragraph = 0
        self.used = 0

    # --- styles ---------------------------------------------------------------------------------

    def start_style(self, tag: str, attributes: dict[str, str]) -> None:
        name = local(tag)
        if name in ("style", "default-style"):
            family = attribute(attributes, "family")
            parent = self.styles.get((family, attribute(attributes, "parent-style-name")))
            base = parent or self.styles.get((family, "")) or _Style()
            self.style = _Style(base.length, False, base.seen, base.flows, base.size_pt)
            self.styles[family, "" if name == "default-style" else attribute(attributes, "name")] = self.style
        elif self.style is not None:
            self.property(name, attributes)

    def property(self, name: str, attributes: dict[str, str]) -> None:
        style = self.style
        if style is None:
            return
        if name == "table-column-properties":
            style.length = _points(attribute(attributes, "column-width"), style.length)
        elif name == "table-row-properties":
            style.length = _points(attribute(attributes, "row-height"), style.length)
        elif name == "table-properties":
            style.hidden = attributes.get("table:display") == "false"
        elif name == "table-cell-properties":
            ground = attribute(attributes, "background-color")
            lines = [value for key, value in attributes.items() if key.startswith("fo:border")]
            style.seen = (
                style.seen or ground not in ("", "transparent") or any(line != "none" for line in lines)
            )
            if (
                attribute(attributes, "wrap-option") == "wrap"
                or attribute(attributes, "shrink-to-fit") == "true"
            ):
                style.flows = False
        elif name == "paragraph-properties":
            if attribute(attributes, "text-align") in ("end", "justify"):
                style.flows = False
        elif name == "text-properties":
            style.size_pt = _points(attributes.get("fo:font-size", ""), style.size_pt) or style.size_pt

    def end_style(self, tag: str) -> None:
        if local(tag) in ("style", "default-style"):
            self.style = None

    def look(self, family: str, name: str) -> _Style:
        return self.styles.get((family, name)) or self.styles.get((family, "")) or _Style()

    # --- tables ---------------------------------------------------------------------------------

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local(tag)
        if self.table is None:
            if name == "table" and tag == "table:table":
                style = self.look("table", attribute(attributes, "style-name"))
                self.table = _Table(attributes.get("table:name", ""), style.hidden)
                self.tables.append(self.table)
                self.row = self.column = self.depth = 0
            else:
                self.start_style(tag, attributes)
            return
        if tag == "table:table":  # in a cell, or in a shape
            self.depth += 1
        if self.depth:
            return
        if name == "table-column":
            self.start_column(attributes)
        elif name == "table-row":
            self.start_row(attributes)
        elif name in _CELLS and self.row_run is not None and self.cell is None:
            self.start_cell(attributes)
        elif tag.startswith(("draw:", "dr3d:")):
            self.table.drawn = True
            if self.cell is not None:
                self.cell.filled = True
            self.end_of_shape(attributes)
        elif name == "p" and self.cell is not None:
            self.cell.filled = True
            self.paragraph += 1
        elif name == "annotation":
            self.depth += 1

    def end_of_shape(self, attributes: dict[str, str]) -> None:
        """A shape reaches to the cell it ends in, which is named with its sheet."""
        from beholder.evidence.workbook import parse_cell

        end = attributes.get("table:end-cell-address", "").rpartition(".")[2]
        place = parse_cell(end)
        if place and self.table is not None:
            self.table.last_row = max(self.table.last_row, min(place[0], MOST_ROWS - 1))
            self.table.last_column = max(self.table.last_column, min(place[1], MOST_COLUMNS - 1))
            self.table.ends.append((min(place[0], MOST_ROWS - 1), min(place[1], MOST_COLUMNS - 1) + 1))

    def start_column(self, attributes: dict[str, str]) -> None:
        table = self.table
        if table is None:
            return
        count = _repeat(attributes.get("table:number-columns-repeated"), MOST_COLUMNS - self.column)
        style = self.look("table-column", attribute(attributes, "style-name"))
        unseen = attributes.get("table:visibility") in _UNSEEN
        length = 0.0 if unseen else (table.columns.default if style.length is None else style.length)
        table.columns.set(self.column, self.column + count - 1, length)
        table.column_runs.append(_Run(self.column, count, self.scanner.at))
        self.column += count

    def start_row(self, attributes: dict[str, str]) -> None:
        table = self.table
        if table is None:
            return
        count = _repeat(attributes.get("table:number-rows-repeated"), MOST_ROWS - self.row)
        style = self.look("table-row", attribute(attributes, "style-name"))
        unseen = attributes.get("table:visibility") in _UNSEEN
        length = 0.0 if unseen else (table.rows.default if style.length is None else style.length)
        table.rows.set(self.row, self.row + count - 1, length)
        self.row_run = _Run(self.row, count, self.scanner.at)
        table.had_hidden = table.had_hidden or unseen
        table.row_runs.append(self.row_run)
        self.column, self.tail, self.used = 0, None, 0

    def start_cell(self, attributes: dict[str, str]) -> None:
        count = _repeat(attributes.get("table:number-columns-repeated"), MOST_COLUMNS - self.column)
        style = self.look("table-cell", attribute(attributes, "style-name"))
        kind = attributes.get("office:value-type", "")
        filled = bool(kind) or "table:formula" in attributes
        spanned = attributes.get("table:number-columns-spanned", "1") != "1"
        self.cell = _Cell(
            self.column, count, style, filled, flows=style.flows and kind == "string" and not spanned
        )
        self.paragraph = 0

    def text(self, piece: str) -> None:
        if self.cell is not None and self.paragraph and not self.depth:
            self.cell.text.append(piece)

    def end(self, tag: str) -> None:
        name = local(tag)
        if self.table is None:
            self.end_style(tag)
            return
        if self.depth:
            if tag == "table:table" or name == "annotation":
                self.depth -= 1
            return
        if name in _CELLS and self.cell is not None:
            self.end_cell()
        elif name == "p" and self.cell is not None:
            self.paragraph -= 1
            self.cell.text.append("\n")
        elif name == "table-row":
            self.end_row(tag)
        elif name == "table-column" and self.table.column_runs:
            self.table.column_runs[-1].end = self.scanner.at
        elif tag == "table:table":
            self.table = None
            self.column = 0

    def end_cell(self) -> None:
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

    def end_row(self, tag: str) -> None:
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


# --- edits --------------------------------------------------------------------------------------


def _sheet(table: _Table, data: bytes, splices: Splices, edits: set[str]) -> Sheet:
    """The sheet as it will be drawn; the edits for it are noted."""
    content = (table.last_row + 1, table.last_column + 1)
    extent = (
        max([content[0], *(row + 1 for row, _ in table.ends)]),
        max([content[1], *(count for _, count in table.ends)]),
    )
    rows, columns = region(table.columns, table.rows, table.ends)
    flows = columns == extent[1] and table.reach_pt > table.columns.edge(content[1])
    edge = _edge_column(table) if flows else None
    marked = table.flow if edge is not None else -1
    if rows < extent[0]:
        for at, run in enumerate(table.row_runs):
            if at == marked and run.first + run.count > rows:
                marked = -1
            _hide(splices, data, run, rows, b"table:number-rows-repeated", whole=True)
    if columns < extent[1]:
        for run in table.column_runs:
            _hide(splices, data, run, columns, b"table:number-columns-repeated", whole=False)
    if rows < extent[0] or columns < extent[1]:
        edits.add(_HIDDEN)
    width = table.columns.edge(columns)
    if (
        edge is not None
        and marked >= 0
        and _mark(splices, data, table.row_runs[marked], table.flow_cells, edge)
    ):
        edits.add("room for text that flows")
        width = max(width, table.columns.edge(edge + 1))
    cut = rows < content[0] or columns < content[1]
    return Sheet(
        name=table.name,
        state="hidden" if table.hidden else "visible",
        empty=extent == (0, 0) and not table.drawn,
        used=f"A1:{cell_name(content[0] - 1, content[1] - 1)}" if min(content) > 0 else "",
        shown=f"A1:{cell_name(rows - 1, columns - 1)}" if cut else "",
        width_pt=width,
        cut_text=table.cut_text,
    )


def _edge_column(table: _Table) -> int | None:
    """The column that text reaches into, past all content."""
    # Behind the column that the text ends in: text does not flow under a blank.
    column = max(table.columns.index_at(table.reach_pt, MOST_COLUMNS - 1) + 1, table.last_column + 1)
    if column >= MOST_COLUMNS or table.columns.edge(column + 1) <= table.columns.edge(column):
        return None
    return column


def _hide(splices: Splices, data: bytes, run: _Run, shown: int, repeated: bytes, *, whole: bool) -> None:
    """Note that the rows or columns of a tag are hidden from the index `shown` on.

    Args:
        whole: The element has content, which a split repeats.
    """
    beyond = run.first + run.count - shown
    if beyond <= 0:
        return
    tag_stop = tag_end(data, run.start)
    tag = data[run.start : tag_stop]
    hidden = with_attribute(tag, b"table:visibility", b"collapse")
    if beyond >= run.count:
        splices.replace(run.start, tag_stop, hidden)
        return
    first = with_attribute(tag, repeated, b"%d" % (run.count - beyond))
    second = with_attribute(hidden, repeated, b"%d" % beyond)
    rest = data[tag_stop : run.end] if whole and not tag.endswith(b"/>") else b""
    if not whole and not tag.endswith(b"/>"):
        rest = b"</table:table-column>"
    splices.replace(run.start, tag_stop, first + rest + second)


_REPEATED = re.compile(rb'\btable:number-columns-repeated="(\d{1,6})"')


def _mark(splices: Splices, data: bytes, run: _Run, cells: int, column: int) -> bool:
    """Note a blank at `column` of a row: behind its cells, or in the tag for the empty ones up to its end.

    Args:
        cells: That the row has, the empty ones included.
    """
    row = data[run.start : run.end]
    close = max(0, row.rfind(b"</table:table-row"))
    name = b"table:number-columns-repeated"
    if column >= cells:
        gap = (
            with_attribute(b"<table:table-cell/>", name, b"%d" % (column - cells)) if column > cells else b""
        )
        splices.insert(run.start + close, gap + _BLANK)
        return True
    last = row.rfind(b"<table:", 0, close)
    tag = row[last : tag_end(row, last)] if last >= 0 else b""
    if not tag.startswith((b"<table:table-cell", b"<table:covered-table-cell")) or not tag.endswith(b"/>"):
        return False
    repeated = _REPEATED.search(tag)
    count = int(repeated.group(1)) if repeated else 1
    first = cells - count
    before, after = column - first, count - (column - first) - 1
    if before < 0 or after < 0:
        return False
    parts = [_BLANK]
    if before:
        parts.insert(0, with_attribute(tag, name, b"%d" % before))
    if after:
        parts.append(with_attribute(tag, name, b"%d" % after))
    start = run.start + last
    splices.replace(start, start + len(tag), b"".join(parts))
    return True


def _points(text: str, default: float | None) -> float | None:
    found = _LENGTH.match(text)
    if found is None:
        return default
    value = float(found.group(1)) * _POINTS[found.group(2)]
    return value if 0 <= value < 10_000 else default


def _repeat(text: str | None, most: int) -> int:
    count = int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 1
    return max(1, min(count, most))
