"""XLSX made ready to be drawn, by edits in the XML of its sheets; everything else stays as it was.

    <sheetView>                         without the place it was scrolled to: LibreOffice draws from there on
    <sheetFormatPr zeroHeight="1">      rows that are not listed are hidden, where rows are cut off
    <cols> … <col hidden="1"/></cols>   columns that are cut off
    <row hidden="1">                    rows that are cut off
      <c r="A2"><f>…</f><v>0</v></c>    a placeholder is taken out, so that the formula is computed
      <c r="K2" t="inlineStr"> </c>     a blank at which the page ends

Hidden, not taken out: formulas, charts and colour scales go on to see all cells.

    workbook_xlsx_parts      the parts of the package, and how one leads to the next
    workbook_xlsx_looks      cell formats and shared texts
    workbook_xlsx_scan       one pass over a sheet
    workbook_xlsx_drawings   where pictures and charts end
    workbook_xlsx_edits      what is hidden, and room for text
    workbook_xlsx            sheet after sheet, and the workbook in the end
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages import open_package
from beholder.evidence.splices import Splices, tag_end, without_attribute
from beholder.evidence.workbook import MOST_ROWS, Sheet, Workbook, cell_name, region
from beholder.evidence.workbook_xlsx_drawings import anchors, charts, sized, with_hidden_rows
from beholder.evidence.workbook_xlsx_edits import hide, keep_columns, make_room
from beholder.evidence.workbook_xlsx_looks import Styles, read_styles, read_texts
from beholder.evidence.workbook_xlsx_parts import TRUE, Parts
from beholder.evidence.workbook_xlsx_scan import SheetPass
from beholder.evidence.xmlscan import Scanner, attribute, local

_COMPUTED = "placeholders of formulas taken out"

_State = Literal["visible", "hidden", "veryHidden"]
_STATES: dict[str, _State] = {"hidden": "hidden", "veryHidden": "veryHidden"}


@dataclass(slots=True)
class _Book:
    """One workbook while it is made ready.

    Attributes:
        compute: Values that were saved with it are computed again.
        changed: The edited parts.
        computed: The same with no other edits than a workbook needs that LibreOffice saves first.
        edits, computed_edits: What was done, for people.
        tall: Heights must be fitted to their content, which LibreOffice does only when it saves.
        sheets: Sheet parts that are ready, each with the functions in it that give another value each time.
    """

    parts: Parts
    styles: Styles
    texts: list[str]
    compute: bool
    changed: dict[str, bytes] = field(default_factory=dict)
    computed: dict[str, bytes] = field(default_factory=dict)
    edits: set[str] = field(default_factory=set)
    computed_edits: set[str] = field(default_factory=set)
    not_computed: set[str] = field(default_factory=set)
    volatile: set[str] = field(default_factory=set)
    tall: bool = False
    sheets: dict[str, tuple[Sheet, set[str]]] = field(default_factory=dict)


def ready_xlsx(job: Job) -> Workbook:
    """The workbook `job` with sheets of bounded size and with room for text that flows.

    Raises:
        BrokenArtifact: `corrupt, encrypted` or `too_large`.
    """
    with open_package(job.name, job.data) as package:
        return _ready(Parts(job, package))


def _ready(parts: Parts) -> Workbook:
    job = parts.job
    top = next((target for kind, target in parts.relations("").values() if kind == "officeDocument"), "")
    listed, compute = _listed(parts, top)
    relations = parts.relations(top)
    by_kind = dict(relations.values())
    styles = read_styles(parts, by_kind.get("styles", ""))
    texts = read_texts(parts, by_kind.get("sharedStrings", ""))
    book = _Book(parts, styles, texts, compute)
    sheets = []
    for name, state, relation in listed:
        kind, part = relations.get(relation, ("", ""))
        if kind == "worksheet":
            sheets.append(_sheet(book, name, state, part))
        else:  # a sheet that is a chart, or a dialogue
            _ready_chart(book, part)
            sheets.append(Sheet(name=name, state=_STATES.get(state, "visible")))
    if parts.wide:
        return Workbook(data=job.data, suffix=job.suffix, through_ods=True)
    changed, edits = book.changed, book.edits
    if book.tall:
        # LibreOffice fits heights to their content only when it saves: what is drawn must come from that.
        changed, edits = book.computed, book.computed_edits
    return Workbook(
        data=parts.written(changed) if changed else job.data,
        suffix=job.suffix,
        sheets=tuple(sheets),
        edits=tuple(sorted(edits)),
        through_ods=book.tall,
        not_computed=tuple(sorted(book.not_computed)),
        volatile=tuple(sorted(book.volatile)),
    )


def _listed(parts: Parts, top: str) -> tuple[list[tuple[str, str, str]], bool]:
    """((name, state, relation) of each sheet, whether all formulas are to be computed when it is opened)."""
    listed: list[tuple[str, str, str]] = []
    compute = False

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal compute
        name = local(tag)
        if name == "sheet":
            relation = attributes.get("r:id") or attribute(attributes, "id")
            listed.append((attribute(attributes, "name"), attribute(attributes, "state"), relation))
        elif name == "calcPr":
            compute = attribute(attributes, "fullCalcOnLoad") in TRUE

    if not parts.scan(top, Scanner(start)) or not listed:
        raise BrokenArtifact("it has no sheets", slug="corrupt", concerns=parts.job.name)
    return listed, compute


def _sheet(book: _Book, name: str, state: str, part: str) -> Sheet:
    """The sheet as it will be drawn."""
    if part not in book.sheets:
        # A workbook may list one part a thousand times.
        book.sheets[part] = _ready_sheet(book, part)
    sheet, volatile = book.sheets[part]
    if state not in _STATES:
        book.volatile |= volatile
    return replace(sheet, name=name, state=_STATES.get(state, "visible"))


def _ready_chart(book: _Book, part: str) -> None:
    """Note what has to be edited in the drawing of a sheet that is a chart."""
    for kind, drawing in book.parts.relations(part).values() if part else ():
        if kind == "drawing":
            data = book.parts.read(drawing)
            made = sized(data)
            if made != data:
                book.changed[drawing] = book.computed[drawing] = made
                for edits in (book.edits, book.computed_edits):
                    edits.add("a sheet that is a chart has a size")


def _ready_sheet(book: _Book, part: str) -> tuple[Sheet, set[str]]:
    """(the sheet of a part, still without its name; the functions in it that give another value each time).

    The edited part is noted.
    """
    parts = book.parts
    pass_ = SheetPass(book.styles, book.texts, compute=book.compute)
    data = parts.scan(part, pass_.scanner)
    found = pass_.found
    book.not_computed |= found.not_computed
    book.tall = book.tall or found.tall
    drawing = parts.relations(part).get(found.drawing, ("", ""))[1] if found.drawing else ""
    drawn = anchors(parts, drawing, found) if drawing else []
    content = _reach(drawn, (found.last_row + 1, found.last_column + 1))
    extent = _reach(found.ends, content)
    rows, columns = region(found.columns, found.rows, [*found.ends, *drawn])
    splices, computed = Splices(), Splices()
    for start, end in found.values:
        splices.replace(start, end, b"")
        computed.replace(start, end, b"")
        book.edits.add(_COMPUTED)
        book.computed_edits.add(_COMPUTED)
    if drawing and keep_columns(computed, data, found):
        book.computed_edits.add("a blank keeps pictures in their columns")
    if computed and not parts.wide:
        book.computed[part] = computed.apply(data)
    for at in found.scrolled_at:
        end = tag_end(data, at)
        splices.replace(at, end, without_attribute(data[at:end], b"topLeftCell"))
        book.edits.add("scrolled back to the first cell")
    if rows < extent[0] or columns < extent[1]:
        hide(
            splices,
            data,
            found,
            rows if rows < extent[0] else MOST_ROWS,
            columns if columns < extent[1] else None,
        )
        book.edits.add("rows and columns beyond the range shown hidden")
        if drawing and not found.had_hidden:
            # Rows that only we have hidden: charts go on to draw them.
            for chart in charts(parts, drawing):
                book.changed[chart] = with_hidden_rows(book.changed.get(chart) or parts.read(chart))
    width = found.columns.edge(columns)
    if found.flow and columns == extent[1] and found.reach_pt > found.columns.edge(content[1]):
        room = make_room(splices, found)
        if room:
            book.edits.add("room for text that flows")
        width = max(width, room)
    if splices and not parts.wide:
        book.changed[part] = splices.apply(data)
    cut = rows < content[0] or columns < content[1]
    sheet = Sheet(
        name="",
        empty=extent == (0, 0),
        used=f"A1:{cell_name(content[0] - 1, content[1] - 1)}" if min(content) > 0 else "",
        shown=f"A1:{cell_name(rows - 1, columns - 1)}" if cut else "",
        width_pt=width,
        cut_text=found.cut_text,
    )
    return sheet, found.volatile


def _reach(ends: list[tuple[int, int]], least: tuple[int, int]) -> tuple[int, int]:
    """(rows, columns) that all of `ends` reach to, and at least these."""
    rows, columns = least
    for row, count in ends:
        rows, columns = max(rows, row + 1), max(columns, count)
    return rows, columns
