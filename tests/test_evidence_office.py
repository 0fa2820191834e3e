"""Office files with the real LibreOffice: seen as a person sees them, and nothing else read or reached."""

from __future__ import annotations

import asyncio
import datetime
import io
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Alignment, PatternFill

from beholder.errors import BeholderError, BrokenArtifact, MissingTool
from beholder.evidence.office import SUFFIXES, Converted, preload, render_office
from beholder.evidence.soffice import OfficeSuite
from beholder.evidence.soffice_find import find_soffice
from tests.fakes.office import changed, docx, job, odf, open_place, pptx, run, xlsx
from tests.fakes.processes import left_of, named
from tests.test_evidence_packages import relations

try:
    find_soffice()
except MissingTool as error:
    pytest.skip(str(error), allow_module_level=True)

SECRET = "canary-77ab: never to be read"


def workbook(book: Any) -> None:
    """Sheets C, A, B of which B is very hidden and A hidden; wide, merged, a chart, dates, formulas."""
    sheet = book.active
    sheet.title = "C"
    for row in range(12):
        sheet.append([f"c{column}r{row}" for column in range(60)])
    sheet.merge_cells("B2:D4")
    sheet["A14"] = "=SUM(A15:B15)"
    sheet["A15"], sheet["B15"] = 1, 2
    sheet["A16"] = datetime.date(2024, 2, 29)
    sheet["A16"].number_format = "yyyy-mm-dd"
    sheet.column_dimensions["A"].width = 14
    sheet["A17"].fill = PatternFill("solid", fgColor="FF0000")
    sheet.sheet_view.topLeftCell = "A500"
    chart = BarChart()
    chart.title = "The chart"
    chart.add_data(Reference(sheet, min_col=1, max_col=2, min_row=15, max_row=15))
    sheet.add_chart(chart, "C14")
    book.create_sheet("A")["A1"] = "HIDDEN"
    book["A"].sheet_state = "hidden"
    book.create_sheet("B")["A1"] = "VERY HIDDEN"
    book["B"].sheet_state = "veryHidden"
    book.create_sheet("D")
    long = book.create_sheet("Long")
    for row in range(3000):
        long.append([row, f"row {row}"])
    book.create_sheet("Total")["A1"] = "=SUM(Long!A1:A3000)"
    wrapped = book.create_sheet("Wrapped")
    wrapped["A1"] = "first line\nsecond line\nthird line"
    wrapped["A1"].alignment = Alignment(wrap_text=True)


def charts(book: Any) -> None:
    """Two charts on a sheet without cells, one on a sheet of its own, and a cell that needs height."""
    sheet = book.active
    for row in range(1, 5):
        sheet.append([row, row * row])
    sheet["D1"] = "lines\nof\ntext"
    sheet["D1"].alignment = Alignment(wrap_text=True)
    board = book.create_sheet("Board")
    for title, place in (("left chart", "D5"), ("right chart", "R5")):
        chart = BarChart()
        chart.title = title
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4))
        board.add_chart(chart, place)
    alone = BarChart()
    alone.title = "alone"
    alone.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4))
    book.create_chartsheet("Alone").add_chart(alone)


def scrolled(book: Any) -> None:
    book.active.append(["first cell", "second cell"])
    book.active.sheet_view.topLeftCell = "B40"
    book.create_sheet("Other")["A1"] = "other sheet"


def placeholder(book: Any) -> None:
    book.active.append([1, 2, "=SUM(A1:B1)"])
    book.active["A3"] = "A title that flows over all the columns of this little sheet"


def linked_picture(target: str) -> bytes:
    from docx import Document
    from PIL import Image

    picture, made = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (60, 60), "red").save(picture, "PNG")
    picture.seek(0)
    document = Document()
    document.add_paragraph("with a linked picture")
    document.add_picture(picture)
    document.save(made)

    def link(rels: bytes) -> bytes:
        return re.sub(
            rb'Target="media/image1.png"', f'Target="{target}" TargetMode="External"'.encode(), rels
        )

    return changed(
        made.getvalue(),
        {
            "word/_rels/document.xml.rels": link,
            "word/document.xml": lambda xml: xml.replace(b"r:embed=", b"r:link="),
        },
    )


def section(target: str) -> bytes:
    return odf(
        "text",
        '<office:body><office:text><text:section text:name="s"><text:section-source '
        f'xlink:href="{target}" text:filter-name="Text"/><text:p>as saved</text:p></text:section>'
        "</office:text></office:body>",
    )


class Made:
    """What became of each file, and who was asked for what meanwhile."""

    def __init__(self) -> None:
        self.results: dict[str, Converted | BeholderError] = {}
        self.connections = 0
        self.renderer: dict[str, Any] = {}
        self.left: set[Path] = set()
        self.running: list[str] = []

    def shown(self, name: str) -> Converted:
        result = self.results[name]
        assert isinstance(result, Converted), result
        return result

    def slug(self, name: str) -> str:
        result = self.results[name]
        assert isinstance(result, BrokenArtifact), result
        return result.slug

    def text(self, name: str, page: int = 0) -> str:
        document = pdfium.PdfDocument(self.shown(name).pdf)
        text = document[page].get_textpage().get_text_range()
        document.close()
        return str(text)

    def sizes(self, name: str) -> list[tuple[int, int]]:
        document = pdfium.PdfDocument(self.shown(name).pdf)
        found = [document.get_page_size(at) for at in range(len(document))]
        document.close()
        return [(round(width), round(height)) for width, height in found]


def convert_all(files: dict[str, bytes]) -> Made:
    made = Made()

    async def one(suite: OfficeSuite, name: str, data: bytes) -> None:
        try:
            made.results[name] = await render_office(suite, job(name, data), run)
        except BeholderError as error:
            made.results[name] = error

    async def every() -> None:
        async with OfficeSuite() as suite:
            await asyncio.gather(*(one(suite, name, data) for name, data in files.items()))
            made.renderer = dict(suite.renderer)

    preload()
    with open_place() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(place / "tmp"))
        asyncio.run(every())
        made.left = set((place / "tmp").iterdir())
        made.running = left_of(named(str(place)))
    return made


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """(port, first bytes of each connection) of a server that counts."""
    asked: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            asked.append(b"connected")
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1], asked
    server.shutdown(socket.SHUT_RDWR)  # which wakes the one who waits for a connection
    server.close()


@pytest.fixture(scope="module")
def made(listener: tuple[int, list[bytes]]) -> Iterator[Made]:
    with open_place() as place:  # so that it is not the file system that keeps the canary from being read
        yield make(*listener, place / "canary.txt")


def make(port: int, asked: list[bytes], canary: Path) -> Made:
    canary.write_text(SECRET)
    url = f"http://127.0.0.1:{port}"
    whole = docx()
    field = rf"{{\rtf1 before {{\field{{\*\fldinst INCLUDETEXT \"{canary}\" }}{{\fldrslt y}}}} after}}"
    template = changed(
        whole,
        {
            "word/_rels/settings.xml.rels": lambda _: relations("attachedTemplate", f"{url}/t.dotm"),
            "word/settings.xml": lambda xml: re.sub(
                rb"(<w:settings[^>]*>)",
                rb'\1<w:attachedTemplate xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
                rb' r:id="x1"/>',
                xml,
                count=1,
            ),
        },
    )

    def web(book: Any) -> None:
        book.active["A1"] = f'=WEBSERVICE("{url}/ws")'
        book.active["A2"] = f"='file://{canary}'#$Sheet1.A1"

    value = re.compile(rb"(</f>)<v\s*/?>(?:</v>)?")
    zero = changed(
        xlsx(placeholder), {"xl/worksheets/sheet1.xml": lambda xml: value.sub(rb"\1<v>0</v>", xml)}
    )
    result = convert_all(
        {
            "text.docx": whole,
            "slides.PPTX": pptx(),
            "sheets.xlsx": xlsx(workbook),
            "zero.xlsx": zero,
            "scrolled.xlsx": xlsx(scrolled),
            "charts.xlsx": xlsx(charts),
            "picture.docx": linked_picture(f"{url}/p.png"),
            "local.docx": linked_picture(f"file://{canary}"),
            "template.docx": template,
            "field.doc": field.encode(),
            "section.odt": section(f"file://{canary}"),
            "renamed.docx": section(f"{url}/section"),
            "web.xlsx": xlsx(web),
            "page.doc": f"<html><body><img src='{url}/html'></body></html>".encode(),
            "damaged.docx": changed(whole, {"word/document.xml": lambda xml: xml[: len(xml) // 2]}),
            "cut.docx": whole[:9000],
            "blank.xlsx": xlsx(lambda book: None),
        }
    )
    result.connections = len(asked)
    return result


def test_documents(made: Made) -> None:
    """Documents and slides become a PDF with their text, without a word of warning."""
    assert "body text" in made.text("text.docx")
    assert "slide text" in made.text("slides.PPTX")
    assert made.shown("text.docx").warnings == ()
    assert made.shown("text.docx").sheets is None
    assert made.shown("text.docx").facts["format"] == ".docx"
    assert not made.shown("text.docx").facts["retried"]


def test_renderer_told(made: Made) -> None:
    """Version, profile and fence are recorded."""
    assert made.renderer["office"].startswith("LibreOffice ")
    assert "no macros" in made.renderer["office_profile"]
    assert made.renderer["office_fence"]["network"] in ("off", "on")
    assert made.shown("text.docx").facts["office"] == made.renderer["office"]


def test_sheets(made: Made) -> None:
    """Visible sheets come in the workbook's order with their names; hidden and empty ones are named."""
    shown = made.shown("sheets.xlsx")
    assert shown.sheets == ("C", "Long", "Total", "Wrapped")
    assert shown.facts["hidden_sheets"] == ["A", "B"]
    assert shown.facts["empty_sheets"] == ["D"]
    assert ("hidden_sheets", "not shown, as they are hidden: A, B") in [
        (one.code, one.detail) for one in shown.warnings
    ]
    assert not any("HIDDEN" in made.text("sheets.xlsx", page) for page in range(4))


def test_wide_sheet(made: Made) -> None:
    """Sixty columns are on one page, from the first cell on whatever was scrolled to, with date and chart."""
    text = made.text("sheets.xlsx")
    assert "c0r0" in text
    assert "c59r11" in text
    assert "2024-02-29" in text
    assert "The chart" in text
    width, _ = made.sizes("sheets.xlsx")[0]
    assert 60 * 45 < width < 60 * 60


def test_charts_keep_their_places(made: Made) -> None:
    """Charts on a sheet without cells stand where they stood; a sheet that is a chart is drawn large."""
    assert made.shown("charts.xlsx").sheets == ("Sheet", "Board", "Alone")
    text = made.text("charts.xlsx", 1)
    assert "left chart" in text
    assert "right chart" in text
    _, board, alone = made.sizes("charts.xlsx")
    assert board[0] > 17 * 45 + 400, "columns A to Q are left of the right chart"
    assert alone[0] > 600
    assert alone[1] > 400
    assert "alone" in made.text("charts.xlsx", 2)


def test_scrolled(made: Made) -> None:
    """Of a workbook that was saved scrolled down, every sheet is drawn from its first cell on."""
    assert "first cell" in made.text("scrolled.xlsx")
    assert "other sheet" in made.text("scrolled.xlsx", 1)


def test_formulas(made: Made) -> None:
    """Formulas without a value are computed, over rows not drawn, too; a placeholder is not shown."""
    assert re.search(r"^3\s*$", made.text("sheets.xlsx"), re.MULTILINE)
    assert "4498500" in made.text("sheets.xlsx", 2)
    assert made.text("zero.xlsx").split()[:3] == ["1", "2", "3"]


def test_long_sheet(made: Made) -> None:
    """A long sheet is cut at a row and in natural size, and the range is told."""
    _, height = made.sizes("sheets.xlsx")[1]
    assert 13_000 < height < 14_100
    text = made.text("sheets.xlsx", 1)
    assert "row 0" in text
    assert "row 2999" not in text
    details = [one.detail for one in made.shown("sheets.xlsx").warnings if one.code == "truncated"]
    assert len(details) == 1
    assert re.fullmatch(r"sheet 'Long': A1:B\d+ of A1:B3000 is shown", details[0])
    last = int(re.findall(r"B(\d+) of", details[0])[0])
    assert f"row {last - 1}\r" in text + "\r"
    assert f"row {last}\r" not in text


def test_wrapped_row(made: Made) -> None:
    """A row that was saved without a height is as high as its lines."""
    assert made.sizes("sheets.xlsx")[3][1] > 35
    assert made.sizes("zero.xlsx")[0][0] > 250, "text that flows has room"


def test_blank(made: Made) -> None:
    """A workbook with nothing in it is a blank page."""
    assert made.sizes("blank.xlsx") == [(612, 792)]
    assert made.shown("blank.xlsx").sheets == ("Sheet",)


def test_nothing_reached(made: Made) -> None:
    """No linked picture, template, section, page or formula reaches a listener on this machine."""
    assert made.connections == 0
    for name in ("picture.docx", "template.docx", "renamed.docx"):
        codes = [one.code for one in made.shown(name).warnings]
        assert "blocked_resource" in codes
    assert "with a linked picture" in made.text("picture.docx")
    assert "body text" in made.text("template.docx")
    assert made.shown("renamed.docx").warnings[0].code == "other_format"


def test_nothing_read(made: Made) -> None:
    """No file that a document names is drawn or read."""
    for name in ("local.docx", "field.doc", "section.odt", "web.xlsx"):
        assert "canary-77ab" not in made.text(name)
    assert "before" in made.text("field.doc")


def test_refused(made: Made) -> None:
    """Damage and other kinds of content are the submission's, each by its name."""
    assert made.slug("page.doc") == "wrong_type"
    assert made.slug("cut.docx") == "corrupt"
    assert made.slug("damaged.docx") == "corrupt"


def test_nothing_left(made: Made) -> None:
    """No folder and no process of it is left."""
    assert made.left == set()
    assert made.running == []


HANDED = {
    "po_truncated62886.docx": "corrupt",
    "po_PasswordProtected.doc": "encrypted",
    "po_Password_Protected-hello.ppt": "encrypted",
    "po_password.xls": "encrypted",
    "zero.xlsx": "empty",
    "zipbomb.docx": "too_large",
    "truncated.docx": "corrupt",
    "text_named.docx": "wrong_type",
    "html_named.doc": "wrong_type",
}
PAGES = {"po_picture.xlsx": 1, "po_SimpleMacro.xlsm": 1, "hidden_sheets.xlsx": 1, "200_sheets.xlsx": 200}
"""Pages that differ from what was seen with LibreOffice alone: it draws hidden sheets, and empty ones as
pages of no size; neither is anything that a person sees."""


@pytest.mark.long
def test_handed(shared: Path, tmp_path: Path) -> None:
    """Every handed office file has the outcome that is told of it.

    Pages are those of the handed table. It counts hidden sheets and empty sheets of workbooks, which are
    taken out here (`PAGES`); the workbook of countless merged cells has no text and is one blank page.
    """
    script = shared / "corpus" / "make_hostile.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, capture_output=True)
    expected: dict[str, str] = {}
    for line in (shared / "corpus" / "handout" / "MANIFEST.tsv").read_text().splitlines()[1:]:
        name, *_, words, _ = line.split("\t")
        expected[name] = words
    files = {
        path.name: path.read_bytes()
        for folder in (shared / "corpus" / "handout", tmp_path)
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in SUFFIXES and path.is_file()
    }
    made = convert_all(files)
    for name in files:
        if name in HANDED:
            assert made.slug(name) == HANDED[name], name
            continue
        pages = len(made.sizes(name))
        told = re.match(r"renders (\d+) ", expected.get(name, ""))
        wanted = PAGES.get(name) or (int(told.group(1)) if told else None)
        assert wanted in (None, pages), (name, pages, wanted)
    assert "root:" not in made.text("rtf_link.doc") + made.text("odt_named_section_link.docx")
    assert made.text("uncached_formula.xlsx").split() == ["1", "2", "3"]
    assert "A1:C933 of A1:XFD1048576" in str(made.shown("far_corner.xlsx").warnings)
    assert made.left == set()
