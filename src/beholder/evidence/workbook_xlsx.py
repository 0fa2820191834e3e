"""XLSX made ready to be drawn, by edits in the XML of its sheets; everything else stays as it was.

    <sheetView>                         without the place it was scrolled to: LibreOffice draws from there on
    <sheetFormatPr zeroHeight="1">      rows that are not listed are hidden, where rows are cut off
    <cols> … <col hidden="1"/></cols>   columns that are cut off
    <row hidden="1">                    rows that are cut off
      <c r="A2"><f>…</f><v>0</v></c>    a placeholder is taken out, so that the formula is computed
      <c r="K2" t="inlineStr"> </c>     a blank at which the page ends

Hidden, not taken out: formulas, charts and colour scales go on to see all cells.
"""

from __future__ import annotations

import io
import math
import posixpath
import re
import zipfile
from array import array
from dataclasses import dataclass, field
from typing import Literal
from xml.sax.saxutils import quoteattr

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages import open_package, read_part
from beholder.evidence.splices import Splices, tag_end, with_attribute, without_attribute
from beholder.evidence.workbook import (
    FLOW_PT,
    Lengths,
    Sheet,
    Workbook,
    add_end,
    cell_name,
    parse_cell,
    region,
    text_width_pt,
)
from beholder.evidence.xmlscan import Scanner, attribute, local

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
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

_STATES: dict[str, Literal["hidden", "veryHidden"]] = {"hidden": "hidden", "veryHidden": "veryHidden"}
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_TRUE = ("1", "true", "on")


@dataclass(frozen=True, slots=True)
class _Look:
    """What matters of a cell format: whether it is seen on an empty cell, and how text flows."""

    seen: bool = False
    flows: bool = True
    wraps: bool = False
    size_pt: float = 11.0


@dataclass(slots=True)
class _Styles:
    looks: list[_Look] = field(default_factory=list)

    def look(self, index: int) -> _Look:
        return self.looks[index] if 0 <= index < len(self.looks) else _Look()


@dataclass(slots=True)
class _Scanned:
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
    zero_height: bool = False
    not_computed: set[str] = field(default_factory=set)
    volatile: set[str] = field(default_factory=set)
    tall: bool = False


def ready_xlsx(job: Job) -> Workbook:
    """The workbook `job` with sheets of bounded size and with room for text that flows.

    Raises:
        BrokenArtifact: `corrupt, encrypted` or `too_large`.
    """
    with open_package(job.name, job.data) as package:
        return _Book(job, package).ready()


class _Book:
    """One workbook while it is made ready."""

    def __init__(self, job: Job, package: zipfile.ZipFile) -> None:
        self.job = job
        self.package = package
        self.parts: dict[str, bytes] = {}
        self.edits: set[str] = set()
        self.compute = False
        self.not_computed: set[str] = set()
        self.volatile: set[str] = set()
        self.wide = False
        self.tall = False
        self.computed: dict[str, bytes] = {}

    def read(self, part: str) -> bytes:
        data = read_part(self.package, part, self.job.name) or b""
        self.wide = self.wide or data.startswith(_WIDE)
        return data

    def scan(self, part: str, scanner: Scanner) -> bytes:
        data = self.read(part)
        if data:
            scanner.scan(data, self.job.name, part)
        return data

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Id -> (the type's last word, the target part) of what a part refers to inside the package."""
        folder, base = posixpath.split(part)
        found: dict[str, tuple[str, str]] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if local(tag) == "Relationship" and attribute(attributes, "TargetMode").lower() != "external":
                target = attribute(attributes, "Target")
                path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
                kind = attribute(attributes, "Type").rpartition("/")[2]
                found[attribute(attributes, "Id")] = (kind, posixpath.normpath(path))

        self.scan(posixpath.join(folder, "_rels", f"{base}.rels"), Scanner(start))
        return found

    def ready(self) -> Workbook:
        top = next((target for kind, target in self.relations("").values() if kind == "officeDocument"), "")
        listed: list[tuple[str, str, str]] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            name = local(tag)
            if name == "sheet":
                relation = attributes.get("r:id") or attribute(attributes, "id")
                listed.append((attribute(attributes, "name"), attribute(attributes, "state"), relation))
            elif name == "calcPr":
                self.compute = attribute(attributes, "fullCalcOnLoad") in _TRUE

        if not self.scan(top, Scanner(start)) or not listed:
            raise BrokenArtifact("it has no sheets", slug="corrupt", concerns=self.job.name)
        relations = self.relations(top)
        by_kind = dict(relations.values())
        styles = self.styles(by_kind.get("styles", ""))
        texts = self.texts(by_kind.get("sharedStrings", ""))
        sheets = []
        for name, state, relation in listed:
            kind, part = relations.get(relation, ("", ""))
            if kind == "worksheet":
                sheets.append(self.sheet(name, state, part, styles, texts))
            else:  # a sheet that is a chart, or a dialogue
                sheets.append(Sheet(name=name, state=_STATES.get(state, "visible")))
        if self.wide:
            return Workbook(data=self.job.data, suffix=self.job.suffix, through_ods=True)
        if self.tall:
            # LibreOffice fits heights to their content only when it saves: what is drawn must come from that.
            return Workbook(
                data=self.written(self.computed) if self.computed else self.job.data,
                suffix=self.job.suffix,
                sheets=tuple(sheets),
                edits=("placeholders of formulas taken out",) if self.computed else (),
                through_ods=True,
                not_computed=tuple(sorted(self.not_computed)),
                volatile=tuple(sorted(self.volatile)),
            )
        return Workbook(
            data=self.written(self.parts) if self.parts else self.job.data,
            suffix=self.job.suffix,
            sheets=tuple(sheets),
            edits=tuple(sorted(self.edits)),
            not_computed=tuple(sorted(self.not_computed)),
            volatile=tuple(sorted(self.volatile)),
        )

    def written(self, parts: dict[str, bytes]) -> bytes:
        """The package with the changed parts; others are copied as they are, unpacked and packed again."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
            done = set()
            for member in self.package.infolist():
                part = member.filename
                if part in done or member.is_dir():
                    continue
                done.add(part)
                data = parts.get(part)
                if data is None:
                    data = read_part(self.package, part, self.job.name) or b""
                stored = zipfile.ZIP_STORED if len(data) > 4096 and not part.endswith(".xml") else None
                made.writestr(part, data, compress_type=stored)
        return buffer.getvalue()

    # --- parts ----------------------------------------------------------------------------------

    def texts(self, part: str) -> list[str]:
        """The shared texts, each as far as it may matter for a width."""
        found: list[str] = []
        pieces: list[str] = []
        inside = [False, 0]

        def start(tag: str, _: dict[str, str]) -> None:
            name = local(tag)
            if name == "si":
                pieces.clear()
            elif name == "rPh":  # how to read it aloud; not seen
                inside[1] += 1
            inside[0] = name == "t" and not inside[1]

        def end(tag: str) -> None:
            name = local(tag)
            inside[0] = False
            if name == "rPh":
                inside[1] -= 1
            elif name == "si":
                found.append("".join(pieces)[:4000])

        def text(piece: str) -> None:
            if inside[0]:
                pieces.append(piece)

        self.scan(part, Scanner(start, end, text))
        return found

    def styles(self, part: str) -> _Styles:
        """What the cell formats look like."""
        styles = _Styles()
        fonts: list[float] = []
        fills: list[bool] = []
        borders: list[bool] = []
        path: list[str] = []
        formats: list[dict[str, str]] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            name = local(tag)
            within = path[-1] if path else ""
            path.append(name)
            if name == "font" and within == "fonts":
                fonts.append(11.0)
            elif name == "sz" and within == "font" and fonts:
                fonts[-1] = _number(attribute(attributes, "val"), 11.0)
            elif name == "fill" and within == "fills":
                fills.append(False)
            elif name in ("patternFill", "gradientFill") and within == "fill" and fills:
                pattern = attribute(attributes, "patternType")
                fills[-1] = name == "gradientFill" or (pattern not in ("", "none") and len(fills) > 2)
            elif name == "border" and within == "borders":
                borders.append(False)
            elif within == "border" and borders and attribute(attributes, "style") not in ("", "none"):
                borders[-1] = True
            elif name == "xf" and within == "cellXfs":
                formats.append(dict(attributes))
            elif name == "alignment" and within == "xf" and len(path) > 2 and path[-3] == "cellXfs":
                formats[-1] |= {f"align-{key}": value for key, value in attributes.items()}

        def end(_: str) -> None:
            path.pop()

        self.scan(part, Scanner(start, end))
        for one in formats:
            font, fill, border = (_whole(one.get(key)) for key in ("fontId", "fillId", "borderId"))
            wraps = one.get("align-wrapText") in _TRUE
            flows = not wraps and one.get("align-horizontal", "general") in ("general", "left", "center")
            flows = (
                flows
                and one.get("align-shrinkToFit") not in _TRUE
                and one.get("align-textRotation", "0") == "0"
            )
            seen = (0 <= fill < len(fills) and fills[fill]) or (
                0 <= border < len(borders) and borders[border]
            )
            size = fonts[font] if 0 <= font < len(fonts) else 11.0
            styles.looks.append(_Look(seen, flows, wraps, size))
        return styles

    def anchors(self, part: str, found: _Scanned) -> list[tuple[int, int]]:
        """(row, columns) of the cells that the pictures and charts of a drawing end in."""
        ends: list[tuple[int, int]] = []
        place = {"row": 0, "col": 0}
        reading = [""]
        path: list[str] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            name = local(tag)
            reading[0] = name
            path.append(name)
            if name == "ext" and len(path) == 3 and path[1] == "oneCellAnchor":
                right = found.columns.edge(place["col"]) + _emu(attributes.get("cx"))
                bottom = found.rows.edge(place["row"]) + _emu(attributes.get("cy"))
                row = found.rows.index_at(bottom, MOST_ROWS - 1)
                ends.append((row, found.columns.index_at(right, MOST_COLUMNS - 1) + 1))

        def end(tag: str) -> None:
            path.pop()
            reading[0] = ""
            if local(tag) in ("from", "to"):
                ends.append((min(place["row"], MOST_ROWS - 1), min(place["col"], MOST_COLUMNS - 1) + 1))

        def text(piece: str) -> None:
            if reading[0] in place and piece.strip().isdigit() and len(piece) < 9:
                place[reading[0]] = int(piece)

        self.scan(part, Scanner(start, end, text))
        return ends

    # --- one sheet ------------------------------------------------------------------------------

    def sheet(self, name: str, state: str, part: str, styles: _Styles, texts: list[str]) -> Sheet:
        """The sheet as it will be drawn; its edited part is noted."""
        pass_ = _SheetPass(styles, texts, compute=self.compute)
        data = self.scan(part, pass_.scanner)
        found = pass_.finished()
        self.not_computed |= found.not_computed
        if state not in _STATES:
            self.volatile |= found.volatile
        drawn: list[tuple[int, int]] = []
        if found.drawing:
            drawing = self.relations(part).get(found.drawing, ("", ""))[1]
            drawn = self.anchors(drawing, found) if drawing else []
        content = _reach(drawn, (found.last_row + 1, found.last_column + 1))
        extent = _reach(found.ends, content)
        rows, columns = region(found.columns, found.rows, [*found.ends, *drawn])
        splices = Splices()
        for start, end in found.values:
            splices.replace(start, end, b"")
            self.edits.add("placeholders of formulas taken out")
        if splices and not self.wide:
            self.computed[part] = splices.apply(data)
        for at in found.scrolled_at:
            end = tag_end(data, at)
            splices.replace(at, end, without_attribute(data[at:end], b"topLeftCell"))
            self.edits.add("scrolled back to the first cell")
        self.tall = self.tall or found.tall
        if rows < extent[0] or columns < extent[1]:
            _hide(
                splices,
                data,
                found,
                rows if rows < extent[0] else MOST_ROWS,
                columns if columns < extent[1] else None,
            )
            self.edits.add("rows and columns beyond the range shown hidden")
            if found.drawing and not found.had_hidden:
                self.charts_see_hidden(part, found.drawing)
        width = found.columns.edge(columns)
        if found.flow and columns == extent[1] and found.reach_pt > found.columns.edge(content[1]):
            width = max(width, self.mark(splices, found))
        if splices and not self.wide:
            self.parts[part] = splices.apply(data)
        cut = rows < content[0] or columns < content[1]
        return Sheet(
            name=name,
            state=_STATES.get(state, "visible"),
            empty=extent == (0, 0),
            used=f"A1:{cell_name(content[0] - 1, content[1] - 1)}" if min(content) > 0 else "",
            shown=f"A1:{cell_name(rows - 1, columns - 1)}" if cut else "",
            width_pt=width,
            cut_text=found.cut_text,
        )

    def mark(self, splices: Splices, found: _Scanned) -> float:
        """Note a blank as far right as text flows; how wide the sheet then is, in pt."""
        if found.anchor_row is None:
            return 0.0
        at, row, last = found.anchor_row
        # Behind the column that the text ends in: text does not flow under a blank.
        column = max(
            found.columns.index_at(found.reach_pt, MOST_COLUMNS - 1) + 1, last + 1, found.last_column + 1
        )
        if column >= MOST_COLUMNS or found.columns.edge(column + 1) <= found.columns.edge(column):
            return 0.0  # a hidden column would not widen the page
        x = found.prefix
        splices.insert(
            at,
            f'<{x}c r="{cell_name(row, column)}" t="inlineStr">'
            f'<{x}is><{x}t xml:space="preserve"> </{x}t></{x}is></{x}c>'.encode(),
        )
        self.edits.add("room for text that flows")
        return found.columns.edge(column + 1)

    def charts_see_hidden(self, part: str, drawing: str) -> None:
        """Let the charts of a sheet go on to draw rows that only we have hidden."""
        _, target = self.relations(part).get(drawing, ("", ""))
        for kind, chart in self.relations(target).values() if target else ():
            if kind == "chart":
                data = self.parts.get(chart) or self.read(chart)
                self.parts[chart] = re.sub(rb'(<(?:\w+:)?plotVisOnly\s+val=")(?:1|true)"', rb'\g<1>0"', data)


class _SheetPass:
    """Handlers of one pass over a sheet's XML."""

    def __init__(self, styles: _Styles, texts: list[str], *, compute: bool) -> None:
        self.styles = styles
        self.texts = texts
        self.compute = compute
        self.found = _Scanned(Lengths(9.140625 * _DIGIT_PT), Lengths(15.0))
        self.scanner = Scanner(self.start, self.end, self.text)
        self.row = self.column = -1
        self.row_column = -1
        self.used = 0
        self.fits = False
        self.row_height: float | None = None
        self.row_lines = 1.0
        self.tail: tuple[int, str, _Look] | None = None
        self.look = _Look()
        self.kind = ""
        self.formula: str | None = None
        self.value_at: int | None = None
        self.value: list[str] = []
        self.reading = ""
        self.has_text = False
        self.in_data = False

    def finished(self) -> _Scanned:
        return self.found

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local(tag)
        if name == "c" and self.in_data:
            self.start_cell(attributes)
        elif name == "row" and self.in_data:
            self.start_row(attributes)
        elif name in ("f", "v", "is") and self.in_data:
            self.reading = name
            if name == "f":
                self.formula = ""
            elif name == "v":
                self.value_at = self.scanner.at
            else:
                self.has_text = True
        elif name == "t" and self.in_data:
            self.reading = "v"
        elif name == "col":
            self.start_column(attributes)
        elif name == "cols":
            self.found.columns_at = (self.scanner.at, 0)
        elif name == "sheetView" and attribute(attributes, "topLeftCell") not in ("", "A1"):
            self.found.scrolled_at.append(self.scanner.at)
        elif name == "sheetFormatPr":
            self.start_format(attributes)
        elif name == "sheetData":
            self.in_data = True
            self.found.data_at = self.scanner.at
            self.found.prefix = tag.rpartition("sheetData")[0]
        elif name == "drawing":
            self.found.drawing = attributes.get("r:id") or attribute(attributes, "id")

    def start_format(self, attributes: dict[str, str]) -> None:
        found = self.found
        found.format_at = self.scanner.at
        found.zero_height = attributes.get("zeroHeight") in _TRUE
        found.rows.default = 0.0 if found.zero_height else _number(attributes.get("defaultRowHeight"), 15.0)
        base = _number(attributes.get("baseColWidth"), 8.0) + 0.7109375
        width = _number(attributes.get("defaultColWidth"), math.ceil((base * 7 + 5) / 8) * 8 / 7)
        found.columns.default = width * _DIGIT_PT

    def start_column(self, attributes: dict[str, str]) -> None:
        found = self.found
        found.column_tags.append(dict(attributes))
        first, last = _whole(attributes.get("min")) - 1, min(_whole(attributes.get("max")), MOST_COLUMNS) - 1
        hidden = attributes.get("hidden") in _TRUE
        found.had_hidden = found.had_hidden or (hidden and first <= found.last_column + 50)
        width = _number(attributes.get("width"), found.columns.default / _DIGIT_PT) * _DIGIT_PT
        if first >= 0:
            found.columns.set(first, last, 0.0 if hidden else width)

    def start_row(self, attributes: dict[str, str]) -> None:
        found = self.found
        number = _whole(attributes.get("r"))
        row = number - 1 if number > 0 else self.row + 1
        if row > self.row + 1:
            found.gaps.append((self.scanner.at, self.row + 1, row))
        self.row, self.column, self.row_column = min(row, MOST_ROWS - 1), -1, -1
        self.tail, self.row_lines, self.used, self.fits = None, 1.0, 0, False
        found.row_numbers.append(self.row)
        found.row_places.append(self.scanner.at)
        height = attributes.get("ht")
        if attributes.get("hidden") in _TRUE or attributes.get("zeroHeight") in _TRUE:
            found.had_hidden = True
            self.row_height = 0.0
        elif height is not None:
            self.row_height = _number(height, 15.0)
            if attributes.get("customHeight") in _TRUE:
                self.row_lines = -math.inf
        else:
            self.row_height = 15.0 if found.zero_height else found.rows.default
            self.fits = True

    def start_cell(self, attributes: dict[str, str]) -> None:
        place = parse_cell(attributes.get("r", ""))
        self.column = place[1] if place else self.column + 1
        self.column = min(self.column, MOST_COLUMNS - 1)
        self.row_column = max(self.row_column, self.column)
        self.look = self.styles.look(_whole(attributes.get("s", "0")))
        self.kind = attributes.get("t", "n")
        self.formula, self.value_at, self.has_text = None, None, False
        self.value.clear()
        if self.look.seen:
            self.used = max(self.used, self.column + 1)

    def text(self, piece: str) -> None:
        if self.reading == "v":
            self.value.append(piece)
        elif self.reading == "f" and self.formula is not None:
            self.formula += piece

    def end(self, tag: str) -> None:
        name = local(tag)
        if name == "c" and self.in_data:
            self.end_cell()
        elif name in ("f", "t", "is"):
            self.reading = ""
        elif name == "v":
            self.reading = ""
            if self.formula is not None and self.value_at is not None and self.compute:
                self.end_value(tag)
        elif name == "row" and self.in_data:
            self.end_row()
        elif name == "sheetData":
            self.in_data = False
        elif name == "cols" and self.found.columns_at is not None:
            self.found.columns_at = (self.found.columns_at[0], self.scanner.at + len(f"</{tag}>"))

    def end_value(self, tag: str) -> None:
        """A value that the program wants to be computed again: it may be a placeholder."""
        value = "".join(self.value)
        known = _NEW_FUNCTIONS.search(self.formula or "") is None
        if self.value_at is not None and value and (known or value == "0"):
            self.found.values.append((self.value_at, self.scanner.at + len(f"</{tag}>")))
            self.value.clear()

    def end_cell(self) -> None:
        value = "".join(self.value)
        if self.formula:
            self.found.volatile |= set(_VOLATILE.findall(self.formula))
        if self.formula and not value:
            self.found.not_computed |= set(_NEW_FUNCTIONS.findall(self.formula))
        if not value and self.formula is None and not self.has_text:
            return
        found = self.found
        found.last_row = max(found.last_row, self.row)
        found.last_column = max(found.last_column, self.column)
        self.used = max(self.used, self.column + 1)
        shown = value
        if self.kind == "s":
            index = _whole(value)
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

    def end_row(self) -> None:
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


def _reach(ends: list[tuple[int, int]], least: tuple[int, int]) -> tuple[int, int]:
    """(rows, columns) that all of `ends` reach to, and at least these."""
    rows, columns = least
    for row, count in ends:
        rows, columns = max(rows, row + 1), max(columns, count)
    return rows, columns


def _hide(splices: Splices, data: bytes, found: _Scanned, rows: int, columns: int | None) -> None:
    """Note the edits that hide what is not drawn: rows from `rows` on, columns from `columns` on."""
    prefix = found.prefix.encode()
    if rows < MOST_ROWS:
        for row, at in zip(found.row_numbers, found.row_places, strict=True):
            if row >= rows:
                end = tag_end(data, at)
                splices.replace(at, end, with_attribute(data[at:end], b"hidden", b"1"))
        if not found.zero_height:
            # Rows without a tag are hidden from now on, so that those to be seen need one.
            for at, first, after in found.gaps:
                tags = b"".join(
                    b'<%srow r="%d"/>' % (prefix, row + 1) for row in range(first, min(after, rows))
                )
                if tags:
                    splices.insert(at, tags)
            if found.format_at is not None:
                end = tag_end(data, found.format_at)
                changed = with_attribute(data[found.format_at : end], b"zeroHeight", b"1")
                splices.replace(found.format_at, end, changed)
            else:
                before = found.columns_at[0] if found.columns_at else found.data_at or 0
                made = b'<%ssheetFormatPr defaultRowHeight="15" zeroHeight="1"/>' % prefix
                splices.insert(before, made)
    if columns is None:
        return
    hidden = [
        f'<{found.prefix}col min="{columns + 1}" max="{MOST_COLUMNS}" width="9" hidden="1" customWidth="1"/>'
    ]
    for one in found.column_tags:
        if 1 <= _whole(one.get("min")) <= columns:
            kept = one | {"max": str(min(_whole(one.get("max")), columns))}
            words = " ".join(f"{key}={quoteattr(value)}" for key, value in kept.items())
            hidden.insert(-1, f"<{found.prefix}col {words}/>")
    made = f"<{found.prefix}cols>{''.join(hidden)}</{found.prefix}cols>".encode()
    if found.columns_at:
        splices.replace(*found.columns_at, made)
    else:
        splices.insert(found.data_at or 0, made)


def _number(text: str | None, default: float) -> float:
    try:
        value = float(text) if text else default
    except ValueError:
        return default
    return value if math.isfinite(value) and 0 <= value < 10_000 else default


def _emu(text: str | None) -> float:
    """English metric units in points."""
    return max(0, _whole(text)) / 12_700


def _whole(text: str | None) -> int:
    """A whole number as written; -1 where it is none."""
    return int(text) if text and len(text) < 12 and text.isascii() and text.isdigit() else -1
