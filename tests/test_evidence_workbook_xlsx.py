"""XLSX made ready: what is hidden, widened and computed, and what stays byte for byte."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.chart import LineChart, Reference
from openpyxl.styles import Alignment, Font

from beholder.errors import BrokenArtifact
from beholder.evidence import workbook_xlsx_parts
from beholder.evidence.packages import read_part
from beholder.evidence.workbook_xlsx import ready_xlsx
from tests.fakes.office import changed, job, part, xlsx

SHEET = "xl/worksheets/sheet1.xml"


def ready(data: bytes) -> Any:
    return ready_xlsx(job("a.xlsx", data))


def test_unchanged() -> None:
    """A workbook that is seen whole as it is keeps its very bytes."""
    data = xlsx(lambda book: book.active.append(["a", 1, 2.5]))
    made = ready(data)
    assert made.data == data
    assert [(one.name, one.used, one.shown, one.empty) for one in made.sheets] == [
        ("Sheet", "A1:C1", "", False)
    ]
    assert (made.edits, made.through_ods) == ((), False)


def test_states() -> None:
    """Sheets come in the workbook's order, with how well they are hidden."""

    def fill(book: Any) -> None:
        book.active.title = "C"
        book.create_sheet("A").sheet_state = "veryHidden"
        book.create_sheet("B").sheet_state = "hidden"

    states = [(one.name, one.state, one.empty) for one in ready(xlsx(fill)).sheets]
    assert states == [("C", "visible", True), ("A", "veryHidden", True), ("B", "hidden", True)]


def rows(book: Any) -> None:
    for row in range(3000):
        book.active.append([row, row * 2, "x"])
    book.active["XFD1048576"] = "far"


def test_hidden_beyond() -> None:
    """Rows beyond the range are hidden, not taken out: openpyxl still reads them all."""
    made = ready(xlsx(rows))
    assert made.sheets[0].shown == "A1:C933"
    assert made.sheets[0].used == "A1:XFD1048576"
    text = part(made.data, SHEET)
    hidden = [int(n) for n in re.findall(r'<row hidden="1" r="(\d+)"', text)]
    assert hidden == [*range(934, 3001), 1048576]
    assert 'zeroHeight="1"' in text
    assert re.search(r'<cols><col min="4" max="16384" [^>]*hidden="1"', text)
    book = openpyxl.load_workbook(io.BytesIO(made.data))
    assert book.active["B3000"].value == 5998


def test_gaps_stay_visible() -> None:
    """Rows that the file does not list stay visible inside the range."""

    def fill(book: Any) -> None:
        for row in (1, 4, 2000):
            book.active.cell(row, 1, row)

    text = part(ready(xlsx(fill)).data, SHEET)
    assert re.findall(r'<row r="(\d+)"', text)[:4] == ["1", "2", "3", "4"]
    assert '<row r="933"/>' in text
    assert '<row r="934"/>' not in text


def test_columns_are_split() -> None:
    """A column setting that crosses the range's edge ends there, and the rest is hidden."""

    def fill(book: Any) -> None:
        book.active.append([1] * 500)
        book.active.column_dimensions["A"].width = 20

    data = changed(xlsx(fill), {SHEET: lambda xml: re.sub(rb'(<col [^>]*?max=)"1"', rb'\1"500"', xml)})
    made = ready(data)
    text = part(made.data, SHEET)
    last = re.findall(r'<col [^>]*max="(\d+)"', text)
    assert made.sheets[0].shown == "A1:EC1"  # 133 columns of 20 digits of 7 px in 14000 pt
    assert last == ["133", "16384"]


def test_placeholders() -> None:
    """A value that its program wants computed again is taken out; one that is trusted stays."""
    data = xlsx(lambda book: book.active.append([1, 2, "=SUM(A1:B1)"]))

    def placed(xml: bytes) -> bytes:
        return re.sub(rb"(</f>)<v\s*/?>(?:</v>)?", rb"\1<v>0</v>", xml)

    zero = changed(data, {SHEET: placed})
    assert "<v>0</v>" in part(zero, SHEET)
    made = ready(zero)
    assert "<v>0</v>" not in part(made.data, SHEET)
    assert "<f>SUM(A1:B1)</f>" in part(made.data, SHEET)
    trusted = changed(zero, {"xl/workbook.xml": lambda xml: xml.replace(b'fullCalcOnLoad="1"', b"")})
    assert ready(trusted).data == trusted


def test_volatile_functions() -> None:
    """Functions that give another value each time are named, unless their sheet is hidden; others are not."""

    def fill(book: Any) -> None:
        book.active.append(["=RAND()", "=TODAY()+1", "=SUM(A1:A1)", "=BRAND(1)", '="NOW"'])
        hidden = book.create_sheet("hidden")
        hidden["A1"] = "=NOW()"
        hidden.sheet_state = "hidden"

    assert ready(xlsx(fill)).volatile == ("RAND", "TODAY")
    assert ready(xlsx(lambda book: book.active.append(["=1+1"]))).volatile == ()


def test_scrolled_back() -> None:
    """A sheet that was saved scrolled down is drawn from its first cell on; one at its top is left alone."""

    def fill(book: Any) -> None:
        book.active.append([1, 2])
        book.active.sheet_view.topLeftCell = "A500"
        book.active.sheet_view.zoomScale = 80
        book.create_sheet("top").sheet_view.topLeftCell = "A1"

    data = xlsx(fill)
    made = ready(data)
    assert 'topLeftCell="A500"' in part(data, SHEET)
    assert "topLeftCell" not in part(made.data, SHEET)
    assert 'zoomScale="80"' in part(made.data, SHEET)
    assert part(made.data, "xl/worksheets/sheet2.xml") == part(data, "xl/worksheets/sheet2.xml")
    assert made.edits == ("scrolled back to the first cell",)


def test_new_functions() -> None:
    """A formula that LibreOffice may not know keeps a real value; without one it is named."""
    data = xlsx(lambda book: book.active.append([1, "=_xlfn.XLOOKUP(1,A1,A1)"]))
    assert ready(data).not_computed == ("XLOOKUP",)
    valued = changed(data, {SHEET: lambda xml: re.sub(rb"(</f>)<v\s*/?>(?:</v>)?", rb"\1<v>7</v>", xml)})
    assert ready(valued).not_computed == ()
    assert "<v>7</v>" in part(ready(valued).data, SHEET)


def test_flowing_text() -> None:
    """Text that flows over empty cells gets room; text that is stopped or wrapped does not."""
    title = "Quarterly revenue by region and product in thousands"

    def flows(book: Any) -> None:
        book.active["A1"] = title

    made = ready(xlsx(flows))
    assert made.edits == ("room for text that flows",)
    assert made.sheets[0].width_pt > 200
    assert 'xml:space="preserve"> </t>' in part(made.data, SHEET)
    # The estimate ends in column F; a blank there would cut the text at the edge before it.
    assert 'r="G1" t="inlineStr"' in part(made.data, SHEET)

    def stopped(book: Any) -> None:
        book.active["A1"], book.active["B1"] = title, 1

    assert ready(xlsx(stopped)).edits == ()

    def right(book: Any) -> None:
        book.active["A1"] = title
        book.active["A1"].alignment = Alignment(horizontal="right")

    assert ready(xlsx(right)).edits == ()


def test_endless_text() -> None:
    """Text is followed for a screen's width, and where it is cut is told."""
    made = ready(xlsx(lambda book: book.active.__setitem__("A1", "中" * 32_000)))
    assert made.sheets[0].cut_text == "A1"
    assert 1_400 < made.sheets[0].width_pt < 1_600


@pytest.mark.parametrize("style", ["wrap", "large"])
def test_heights(style: str) -> None:
    """A row that must grow with its text goes by way of ODS, which knows heights; a fixed one does not."""

    def fill(book: Any, *, fixed: bool = False) -> None:
        cell = book.active["A1"]
        cell.value = "some words that need several lines here"
        if style == "wrap":
            cell.alignment = Alignment(wrap_text=True)
        else:
            cell.font = Font(size=24)
        if fixed:
            book.active.row_dimensions[1].height = 60

    assert ready(xlsx(fill)).through_ods
    assert not ready(xlsx(lambda book: fill(book, fixed=True))).through_ods


def test_charts_go_on() -> None:
    """A chart over rows that are hidden here is told to draw them all the same."""

    def fill(book: Any) -> None:
        rows(book)
        chart = LineChart()
        chart.add_data(Reference(book.active, min_col=1, max_col=2, min_row=1, max_row=3000))
        book.active.add_chart(chart, "E2")

    data = xlsx(fill)
    assert 'plotVisOnly val="1"' in part(data, "xl/charts/chart1.xml")
    made = ready(data)
    assert 'plotVisOnly val="0"' in part(made.data, "xl/charts/chart1.xml")
    assert made.sheets[0].shown.startswith("A1:")


@pytest.mark.parametrize(
    "broken", [b"<worksheet><sheetData>", b"<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet>&b;</worksheet>"]
)
def test_broken_sheet(broken: bytes) -> None:
    """A sheet that is no XML, or declares entities, is the workbook's fault."""
    data = changed(xlsx(rows), {SHEET: lambda _: broken})
    with pytest.raises(BrokenArtifact) as caught:
        ready(data)
    assert caught.value.slug == "corrupt"


def test_rows_in_no_order() -> None:
    """A gap that rows in no order span again and again is filled once, not each time."""
    row = '<row r="{0}" ht="1"><c r="A{0}"><v>1</v></c></row>'
    pairs = row.format(1) + row.format(1_048_576)
    xml = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f'<sheetFormatPr defaultRowHeight="1"/><sheetData>{pairs * 20}</sheetData></worksheet>'
    )
    made = ready(changed(xlsx(lambda book: None), {SHEET: lambda _: xml.encode()}))
    shown = int(made.sheets[0].shown.removeprefix("A1:A"))
    assert shown > 10_000
    assert part(made.data, SHEET).count("<row ") == 40 + shown - 1


def test_one_part_as_many_sheets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that a workbook lists as many sheets is read once; each has its own name and state."""

    def fill(book: Any) -> None:
        book.active["A1"] = "=NOW()"

    again = b'<sheet xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" name="%d" '
    more = b"".join(again % at + b'state="hidden" sheetId="%d" r:id="rId1"/>' % (at + 2) for at in range(50))
    parts = {"xl/workbook.xml": lambda data: data.replace(b"</sheets>", more + b"</sheets>")}
    read: list[str] = []

    def counted(package: zipfile.ZipFile, name: str, artifact: str) -> bytes | None:
        read.append(name)
        return read_part(package, name, artifact)

    monkeypatch.setattr(workbook_xlsx_parts, "read_part", counted)
    made = ready(changed(xlsx(fill), parts))
    assert read.count(SHEET) == 1
    assert [one.name for one in made.sheets] == ["Sheet", *map(str, range(50))]
    assert [one.state for one in made.sheets] == ["visible", *["hidden"] * 50]
    assert {one.used for one in made.sheets} == {"A1:A1"}
    assert made.volatile == ("NOW",)


odd = st.sampled_from(["", "A1", "B2", "A0", "ZZZZ9", "XFD1048576", "A99999999", "1", "Ä"])
number = st.sampled_from(["", "-1", "0", "1", "7", "1048576", "9" * 30, "x", "1e5", "nan"])


@given(st.lists(st.tuples(number, odd, number, number), max_size=6), number, number)
def test_odd_attributes(cells: list[tuple[str, str, str, str]], low: str, high: str) -> None:
    """No attribute, however odd, does more than a refusal; and what is made can be read again."""
    body = "".join(
        f'<row r="{row}" ht="{ht}"><c r="{name}" s="{style}"><v>1</v></c></row>'
        for row, name, style, ht in cells
    )
    xml = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f'<cols><col min="{low}" max="{high}" width="{high}"/></cols>'
        f"<sheetData>{body}</sheetData></worksheet>"
    )
    made = ready(changed(xlsx(lambda book: None), {SHEET: lambda _: xml.encode()}))
    assert ready(made.data).sheets[0].name == "Sheet"


@pytest.mark.parametrize("rows", [0, 3])
def test_pictures_keep_their_columns(rows: int) -> None:
    """Where LibreOffice saves first, a sheet of charts without cells beyond column A gets a blank."""

    def fill(book: Any) -> None:
        book.active["C1"] = "lines\nof\ntext"
        book.active["C1"].alignment = Alignment(wrap_text=True)
        board = book.create_sheet("Board")
        for _ in range(rows):
            board.append(["a text that flows to the right"])
        chart = LineChart()
        chart.add_data(Reference(book.active, min_col=1, min_row=1))
        board.add_chart(chart, "D5")

    made = ready(xlsx(fill))
    assert made.through_ods
    assert made.edits == ("a blank keeps pictures in their columns",)
    board = openpyxl.load_workbook(io.BytesIO(made.data))["Board"]
    assert [board.cell(at, 1).value is not None for at in range(1, 4)] == [at <= rows for at in range(1, 4)]
    assert board.cell(rows + 1, 2).value == " "


def test_a_sheet_that_is_a_chart_has_a_size() -> None:
    """A chart that fills a sheet and has no size of its own gets one; one that has it stays as it is."""

    def fill(book: Any) -> None:
        chart = LineChart()
        chart.add_data(Reference(book.active, min_col=1, min_row=1))
        book.create_chartsheet("Alone").add_chart(chart)

    data = xlsx(fill)
    drawing = "xl/drawings/drawing1.xml"
    made = ready(data)
    assert 'cx="0"' in part(data, drawing)
    assert '<ext cx="9302752" cy="6074688"/>' in part(made.data, drawing)
    assert made.edits == ("a sheet that is a chart has a size",)
    assert ready(made.data).data == made.data
