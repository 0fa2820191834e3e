"""The files of the `enterprise-claw` example that are no plain text: slides, workbooks, letters, a policy.

The company, its people and all numbers are invented.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import re
import zipfile
from pathlib import Path

from docx import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Cm
from docx.shared import Pt as DocxPt
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.presentation import Presentation as Deck
from pptx.slide import Slide
from pptx.util import Inches, Pt
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

CLERK, BUREAU = "clerk-small-demo", "bureau-large-demo"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "enterprise-claw"

QUARTERS = ["Q1", "Q2", "Q3", "Q4"]
UNITS = {"City": [420, 510, 640, 480], "Cargo": [110, 150, 210, 190], "Kids": [260, 300, 390, 350]}
INK, TEAL, SAND, CORAL = (RGBColor.from_string(c) for c in ("1E2A38", "1F7A78", "E3B23C", "D9583B"))
MUTED = RGBColor.from_string("66727F")

BUDGET = [
    ("Stand and furniture", 6400, 6150),
    ("Travel and hotel", 3200, 3475),
    ("Demo bikes, transport", 2100, 1980),
    ("Print and signs", 1500, 1620),
    ("Catering", 900, 845),
    ("Insurance", 400, 400),
]

FIXED = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)


def same_bytes(package: bytes) -> bytes:
    """An office file whose parts have one fixed date, so that making it again changes nothing."""
    out = io.BytesIO()
    stamp = FIXED.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.infolist():
            data = old.read(item)
            if item.filename == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:(created|modified)[^>]*>)[^<]*", rb"\g<1>" + stamp, data)
            info = zipfile.ZipInfo(item.filename, FIXED.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            if item.filename.endswith(".xlsx"):  # the workbook inside a chart
                data = same_bytes(data)
            new.writestr(info, data, compresslevel=9)
    return out.getvalue()


# --- slides -------------------------------------------------------------------------------------


def text_box(
    slide: Slide,
    place: tuple[float, float, float, float],
    text: str,
    size: int,
    colour: RGBColor = INK,
    *,
    bold: bool = False,
) -> None:
    """A text at (left, top, width, height) inches; a line break begins a paragraph."""
    frame = slide.shapes.add_textbox(*(Inches(one) for one in place)).text_frame
    frame.word_wrap = True
    for number, line in enumerate(text.split("\n")):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = line
        run.font.size = Pt(size)
        run.font.bold = bold
        run.font.name = "Liberation Sans"
        run.font.color.rgb = colour
        paragraph.space_after = Pt(6)


def new_deck() -> Deck:
    """A deck of 16:9 slides."""
    deck = Presentation()
    deck.slide_width, deck.slide_height = Inches(13.333), Inches(7.5)
    deck.core_properties.author = ""
    deck.core_properties.title = "Unit sales 2025"
    return deck


def blank(deck: Deck) -> Slide:
    """A slide with nothing on it."""
    return deck.slides.add_slide(deck.slide_layouts[6])


def saved(document: object) -> bytes:
    """The file of anything with a `save`."""
    file = io.BytesIO()
    document.save(file)  # type: ignore[attr-defined]
    return same_bytes(file.getvalue())


def bar(slide: Slide, place: tuple[float, float, float, float], colour: RGBColor) -> None:
    """A plain coloured rectangle."""
    shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *(Inches(one) for one in place))
    shape.fill.solid()
    shape.fill.fore_color.rgb = colour
    shape.line.fill.background()


def deck_with_chart() -> bytes:
    """Three slides: a title, a chart with the finding as its heading, three next steps."""
    deck = new_deck()
    slide = blank(deck)
    bar(slide, (0, 0, 0.35, 7.5), TEAL)
    text_box(slide, (1.1, 2.3, 11, 1.2), "Unit sales 2025", 48, bold=True)
    text_box(slide, (1.1, 3.4, 11, 0.8), "Halden Bicycle Works · review of the year", 24, MUTED)
    bar(slide, (1.2, 4.35, 1.6, 0.08), SAND)

    slide = blank(deck)
    text_box(slide, (0.7, 0.4, 12, 0.8), "Every model peaked in the third quarter", 32, bold=True)
    text_box(slide, (0.7, 1.1, 12, 0.5), "Units sold by quarter and model, 2025", 18, MUTED)
    data = CategoryChartData()
    data.categories = QUARTERS
    for name, units in UNITS.items():
        data.add_series(name, units)
    place = [Inches(one) for one in (0.7, 1.7, 12, 5.3)]
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
    chart.font.size, chart.font.name = Pt(14), "Liberation Sans"
    chart.has_legend = True
    chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    chart.value_axis.major_gridlines.format.line.color.rgb = RGBColor.from_string("DDE2E7")
    chart.value_axis.format.line.fill.background()
    plot = chart.plots[0]
    plot.gap_width, plot.overlap = 70, -5
    plot.has_data_labels = True
    plot.data_labels.font.size, plot.data_labels.position = Pt(12), XL_LABEL_POSITION.OUTSIDE_END
    for series, colour in zip(plot.series, (TEAL, SAND, CORAL), strict=True):
        series.format.fill.solid()
        series.format.fill.fore_color.rgb = colour

    slide = blank(deck)
    text_box(slide, (0.7, 0.4, 12, 0.8), "Next steps", 32, bold=True)
    steps = [
        ("1", "Build City stock in June", "640 in Q3 sold out in two of five shops.", TEAL),
        ("2", "Offer Cargo test rides", "The smallest line, up 73 % from Q1 to Q4.", SAND),
        ("3", "Sell Kids sizes in sets", "Brothers and sisters: a second bike at 15 % off.", CORAL),
    ]
    for number, (mark, head, words, colour) in enumerate(steps):
        top = 1.7 + 1.75 * number
        circle = slide.shapes.add_shape(MSO_SHAPE.OVAL, Inches(0.8), Inches(top), Inches(0.9), Inches(0.9))
        circle.fill.solid()
        circle.fill.fore_color.rgb = colour
        circle.line.fill.background()
        circle.text_frame.text = mark
        circle.text_frame.vertical_anchor = MSO_ANCHOR.MIDDLE
        circle.text_frame.paragraphs[0].alignment = PP_ALIGN.CENTER
        circle.text_frame.paragraphs[0].runs[0].font.size = Pt(24)
        text_box(slide, (2.0, top - 0.1, 10.5, 0.6), head, 26, bold=True)
        text_box(slide, (2.0, top + 0.42, 10.5, 0.6), words, 18, MUTED)
    return saved(deck)


def deck_without_chart() -> bytes:
    """Two slides: a table of numbers without a heading, and text that runs off the slide."""
    deck = new_deck()
    slide = blank(deck)
    text_box(slide, (0.3, 0.1, 12, 0.6), "Sales", 20)
    shape = slide.shapes.add_table(4, 5, Inches(0.3), Inches(0.8), Inches(6), Inches(1.8))
    rows = [["", *QUARTERS], *([name, *map(str, units)] for name, units in UNITS.items())]
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            shape.table.cell(at, column).text = cell
    text_box(slide, (0.3, 3.2, 12.5, 3), "See the table above for the sales by quarter of our models.", 14)
    slide = blank(deck)
    wordy = (
        "Next steps\nIt is recommended that the company should in the coming year consider whether it may be "
        "possible to build up the stock of City bikes somewhat earlier than has been the case so far, since "
        "the third quarter was the strongest quarter and the stock was possibly not always sufficient in all "
        "of the shops.\nFurthermore it is recommended that test rides should be considered for Cargo bikes, "
        "because test rides are known to be a good way of letting people try a bike before they buy one.\n"
        "Moreover, Kids bikes could perhaps be sold in sets, which could perhaps be attractive to families "
        "that have several children of different ages who all need a bike at the same time of the year."
    )
    text_box(slide, (0.3, 0.2, 12.7, 7), wordy, 32)
    return saved(deck)


# --- workbooks ----------------------------------------------------------------------------------


def workbook_with_formulas() -> bytes:
    """Planned and spent by item, what is left and the totals by formula, a chart beside it."""
    book = Workbook()
    sheet = book.active
    sheet.title = "Budget"
    thin = Side(style="thin", color="B8C2CC")
    sheet.append(["Item", "Planned", "Spent", "Left"])
    for at, (item, planned, spent) in enumerate(BUDGET, start=2):
        sheet.append([item, planned, spent, f"=B{at}-C{at}"])
    last = len(BUDGET) + 1
    sheet.append(["Total", *(f"=SUM({column}2:{column}{last})" for column in "BCD")])
    for cell in sheet[1]:
        cell.font = Font(name="Calibri", bold=True, color="FFFFFF")
        cell.fill = PatternFill("solid", fgColor="1F7A78")
        cell.alignment = Alignment(horizontal="left" if cell.column == 1 else "right")
    for cell in sheet[last + 1]:
        cell.font = Font(name="Calibri", bold=True)
        cell.border = Border(top=Side(style="medium", color="1E2A38"))
    for row in sheet.iter_rows(min_row=2, max_row=last):
        for cell in row:
            cell.border = Border(bottom=thin)
    for row in sheet.iter_rows(min_row=2, max_row=last + 1, min_col=2, max_col=4):
        for cell in row:
            cell.number_format = "#,##0 [$€];[Red]-#,##0 [$€]"
    sheet.column_dimensions["A"].width = 26
    for column in "BCD":
        sheet.column_dimensions[column].width = 12
    chart = BarChart()
    chart.title, chart.type, chart.height, chart.width = "Planned and spent, in euros", "col", 8.5, 17
    chart.add_data(Reference(sheet, min_col=2, max_col=3, min_row=1, max_row=last), titles_from_data=True)
    chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=last))
    for series, colour in zip(chart.series, ("1F7A78", "E3B23C"), strict=True):
        series.graphicalProperties.solidFill = colour
    chart.legend.position = "b"
    chart.x_axis.delete = chart.y_axis.delete = False
    sheet.add_chart(chart, "A10")
    sheet.page_setup.orientation, sheet.page_setup.fitToWidth = "portrait", 1
    return saved(book)


def workbook_of_numbers() -> bytes:
    """The numbers alone, typed in, and a total that is wrong by a slip."""
    book = Workbook()
    sheet = book.active
    sheet.title = "Sheet1"
    sheet.append(["item", "planned", "spent"])
    for row in BUDGET:
        sheet.append(list(row))
    sheet.append(["total", sum(p for _, p, _ in BUDGET), sum(s for _, _, s in BUDGET) - 300])
    return saved(book)


# --- letters ------------------------------------------------------------------------------------


LETTER = """\
Dear Ms Solheim,

Your Cargo bike will arrive two weeks later than we promised: on 14 May 2026 instead of 30 April. I am
sorry. You planned with our date, and we did not keep it.

The reason is a delivery of hub motors that failed our test on arrival. We sent it back rather than build
a bike that we would not ride ourselves; the new motors are due on 4 May.

For the wait we take 10 % off the price. The amount on your invoice has been changed; you need do nothing.
If the new date does not suit you, you may cancel free of charge until the day of delivery.

If you need a bike in the meantime, we lend you a City bike. Please call me: 555 0142.
"""
PHRASES = """\
Unfortunately there is a delay with your order 4417. It will be delivered on 14 May. This is due to problems
with a supplier, which are beyond our control. We regret any inconvenience this may cause and kindly ask for
your understanding.
"""


def letter(*, complete: bool) -> bytes:
    """A letter about a late order; without `complete` it leaves out the discount and has no subject line."""
    document = Document()
    document.core_properties.author = ""
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.5)
    style = document.styles["Normal"]
    style.font.name, style.font.size = "Liberation Serif", DocxPt(11.5)

    def paragraph(text: str, after: float = 9, *, bold: bool = False) -> None:
        added = document.add_paragraph()
        added.add_run(text).bold = bold
        added.paragraph_format.space_after = DocxPt(after)

    if complete:
        head = document.add_paragraph()
        head.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        head.add_run("Halden Bicycle Works").bold = True
        head.add_run("\n12 Mill Lane · Halden\norders@halden-bikes.example")
        paragraph("Ms Ingrid Solheim\n4 Harbour Street\nHalden", 18)
        paragraph("2 March 2026", 14)
        paragraph("Your order 4417: new delivery date", 12, bold=True)
        for words in LETTER.strip().split("\n\n"):
            paragraph(words.replace("\n", " "))
        paragraph("Yours sincerely,", 34)
        paragraph("Tomas Berg\nCustomer service")
    else:
        paragraph("Dear customer,")
        paragraph(PHRASES.strip().replace("\n", " "))
        paragraph("Regards\nHalden Bicycle Works")
    return saved(document)


# --- a policy -----------------------------------------------------------------------------------

BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15.5, spaceAfter=7)
HEAD = ParagraphStyle(
    "head", fontName="Helvetica-Bold", fontSize=14, leading=18, spaceBefore=12, spaceAfter=6
)
TITLE = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=24, leading=29, spaceAfter=4)
SMALL = ParagraphStyle("small", parent=BODY, textColor=colors.HexColor("#66727F"), fontSize=10)
CELL = ParagraphStyle("cell", parent=BODY, fontSize=9.5, leading=13, spaceAfter=0)

POLICY = """\
1  Who this is for
Everyone who travels for Halden Bicycle Works, also for a single day. Guests whom we invite travel by
the same rules; the person who invites them files their claim.

2  Before you travel
Ask your team lead by e-mail, with the purpose, the dates and an estimate. Up to 300 euros a team lead
decides alone; above that the finance desk decides, within two working days. A journey that was not
agreed upon beforehand is paid only in an emergency.

3  How to travel
Train before plane: below five hours by train nobody flies. Second class is the rule, first class only
where it is cheaper on that day. A rented car needs the reason in the request. Your own bicycle is paid
with 0.25 euros a kilometre.

4  Where to stay
Hotels up to the limits of the table, breakfast included. If a fair has filled the town, the finance
desk may raise the limit in writing. Whoever stays with friends may bring a gift for up to 30 euros and
claim it.
"""
"""Sections with a blank line between them, the first line of each being its heading."""

LIMITS = [
    ["", "Hotel a night", "Meals a day", "Meals, day of travel"],
    ["Norway, Sweden, Denmark", "150 €", "48 €", "32 €"],
    ["Other Europe", "130 €", "40 €", "27 €"],
    ["Elsewhere", "170 €", "52 €", "35 €"],
    ["Fair weeks, in writing only", "220 €", "as above", "as above"],
]

POLICY_REST = """\
6  Receipts
A photograph is enough if every line can be read. Claims come in within 30 days after the journey, one
claim for one journey. A lost receipt is replaced by a signed note once in a year; a second one is not
paid.

7  When something goes wrong
Call the travel desk at 555 0199 at any hour. If a train or plane is cancelled, book the next sensible
way at once and ask afterwards. Illness abroad: the card of the insurance lies in the travel folder, and
its number stands on the back of your staff card.

8  From when on
This policy holds from 1 April 2026 and takes the place of the travel notes of 2023. Questions:
finance@halden-bikes.example.
"""


def sections(text: str) -> list[tuple[str, str]]:
    """(heading, text) of each section."""
    parts = [part.partition("\n") for part in text.strip().split("\n\n")]
    return [(head, body.replace("\n", " ")) for head, _, body in parts]


def policy() -> bytes:
    """Three pages: four sections, a table of limits, three sections and a summary; page numbers below."""
    file = io.BytesIO()
    pages = SimpleDocTemplate(
        file, pagesize=A4, leftMargin=24 * mm, rightMargin=24 * mm, topMargin=24 * mm, bottomMargin=22 * mm,
        title="Travel policy", author="Halden Bicycle Works", invariant=1,
    )  # fmt: skip
    flow: list[object] = [
        Paragraph("Travel policy", TITLE),
        Paragraph("Halden Bicycle Works · valid from 1 April 2026", SMALL),
        Spacer(1, 6 * mm),
    ]
    for head, body in sections(POLICY):
        flow += [Paragraph(head, HEAD), Paragraph(body, BODY)]
    flow += [PageBreak(), Paragraph("5  Limits", HEAD)]
    flow.append(Paragraph("What is above a limit is paid by the traveller, unless agreed in writing.", BODY))
    cells = [[Paragraph(cell, CELL) for cell in row] for row in LIMITS]
    table = Table(cells, colWidths=[62 * mm, 32 * mm, 30 * mm, 38 * mm])
    table.setStyle(
        TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#DCEBEA")),
                ("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.HexColor("#B8C2CC")),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("TOPPADDING", (0, 0), (-1, -1), 5),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
            ]
        )
    )
    flow += [table, Spacer(1, 4 * mm)]
    for head, body in sections(POLICY_REST):
        flow += [Paragraph(head, HEAD), Paragraph(body, BODY)]
    flow += [PageBreak(), Paragraph("In short", HEAD)]
    short = [
        "Ask before you book: up to 300 euros your team lead, above that the finance desk.",
        "Below five hours: train.",
        "Hotel and meals within the limits of section 5.",
        "Claim within 30 days, with receipts that can be read.",
        "In trouble: 555 0199.",
    ]
    flow += [Paragraph(f"{number}.  {line}", BODY) for number, line in enumerate(short, start=1)]

    def foot(canvas: Canvas, _: object) -> None:
        canvas.setFont("Helvetica", 9)
        canvas.setFillColor(colors.HexColor("#66727F"))
        canvas.drawString(24 * mm, 12 * mm, "Travel policy, 1 April 2026")
        canvas.drawRightString(A4[0] - 24 * mm, 12 * mm, f"Page {canvas.getPageNumber()} of 3")

    pages.build(flow, onFirstPage=foot, onLaterPages=foot)
    return file.getvalue()


def files() -> dict[str, bytes]:
    """Every made file by its path below `runs/`, with each submission's copy of its task."""
    whole = policy()
    made = {
        f"{BUREAU}/sales-deck/artifacts/unit-sales-2025.pptx": deck_with_chart(),
        f"{CLERK}/sales-deck/artifacts/presentation.pptx": deck_without_chart(),
        f"{BUREAU}/fair-budget/artifacts/fair-budget.xlsx": workbook_with_formulas(),
        f"{CLERK}/fair-budget/artifacts/budget.xlsx": workbook_of_numbers(),
        f"{BUREAU}/delay-letter/artifacts/letter-4417.docx": letter(complete=True),
        f"{CLERK}/delay-letter/artifacts/letter.docx": letter(complete=False),
        f"{BUREAU}/travel-policy/artifacts/travel-policy.pdf": whole,
        # Cut short, as by a full disk: no page can be found in what is left.
        f"{CLERK}/travel-policy/artifacts/policy.pdf": whole[: len(whole) // 3],
    }
    for line in (EXAMPLE / "tasks.jsonl").read_text("utf-8").splitlines():
        task = json.loads(line)
        text = json.dumps(task, ensure_ascii=False, indent=2) + "\n"
        for model in (CLERK, BUREAU):
            if (EXAMPLE / "runs" / model / task["task_id"]).is_dir():
                made[f"{model}/{task['task_id']}/task.json"] = text.encode()
    return made
