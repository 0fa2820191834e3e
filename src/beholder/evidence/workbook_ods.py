"""ODS made ready to be drawn, by edits in `content.xml`; everything else stays as it was.

    <table:table-column table:visibility="collapse" …/>   columns that are cut off; a repeated one is split
    <table:table-row table:visibility="collapse" …>       rows that are cut off, likewise
    <table:table-cell office:value-type="string">         a blank at which the page ends

    workbook_ods_looks   styles
    workbook_ods_scan    one pass over the tables
    workbook_ods_edits   what is hidden, and room for text
    workbook_ods         table after table, and the workbook in the end

Whatever has no XML of its own to edit (XLS, XLSB and older formats) becomes an ODS first: LibreOffice's own
format, so that nothing is lost on the way.
"""

from __future__ import annotations

import io
import zipfile

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages import open_package, read_part
from beholder.evidence.splices import Splices
from beholder.evidence.workbook import Sheet, Workbook, cell_name, region
from beholder.evidence.workbook_ods_edits import edge_column, hide, mark
from beholder.evidence.workbook_ods_looks import Styles
from beholder.evidence.workbook_ods_scan import ScannedTable, TablesPass
from beholder.evidence.xmlscan import Scanner

_PART = "content.xml"
_HIDDEN = "rows and columns beyond the range shown hidden"
_PREFIXES = (b"xmlns:table=", b"xmlns:text=", b"xmlns:office=")
"""The names that edits are written with; every program that writes ODS declares them so."""


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
        styles = Styles()
        if defaults:
            Scanner(styles.start, styles.end).scan(defaults, job.name, "styles.xml")
        pass_ = TablesPass(styles)
        pass_.scanner.scan(data, job.name, _PART)
        if not pass_.tables:
            raise BrokenArtifact("it has no sheets", slug="corrupt", concerns=job.name)
        splices, edits = Splices(), set[str]()
        sheets = tuple(_sheet(table, data, splices, edits) for table in pass_.tables)
        made = job.data
        if splices:
            charts = _HIDDEN in edits and not any(table.had_hidden for table in pass_.tables)
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


def _sheet(table: ScannedTable, data: bytes, splices: Splices, edits: set[str]) -> Sheet:
    """The sheet as it will be drawn; the edits for it are noted."""
    content = (table.last_row + 1, table.last_column + 1)
    extent = (
        max([content[0], *(row + 1 for row, _ in table.ends)]),
        max([content[1], *(count for _, count in table.ends)]),
    )
    rows, columns = region(table.columns, table.rows, table.ends)
    flows = columns == extent[1] and table.reach_pt > table.columns.edge(content[1])
    edge = edge_column(table) if flows else None
    marked = table.flow if edge is not None else -1
    if rows < extent[0]:
        for at, run in enumerate(table.row_runs):
            if at == marked and run.first + run.count > rows:
                marked = -1
            hide(splices, data, run, rows, b"table:number-rows-repeated", whole=True)
    if columns < extent[1]:
        for run in table.column_runs:
            hide(splices, data, run, columns, b"table:number-columns-repeated", whole=False)
    if rows < extent[0] or columns < extent[1]:
        edits.add(_HIDDEN)
    width = table.columns.edge(columns)
    if (
        edge is not None
        and marked >= 0
        and mark(splices, data, table.row_runs[marked], table.flow_cells, edge)
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
