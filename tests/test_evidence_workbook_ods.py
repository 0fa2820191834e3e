"""ODS made ready: rows and columns hidden, room for text, charts, hidden sheets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import BrokenArtifact
from beholder.evidence.workbook_ods import ready_ods
from tests.fakes.office import changed, job, odf, part

CELL = '<table:table-cell office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell>'
STYLES = (
    '<office:automatic-styles><style:style style:name="co" style:family="table-column">'
    '<style:table-column-properties style:column-width="1in"/></style:style>'
    '<style:style style:name="ro" style:family="table-row">'
    '<style:table-row-properties style:row-height="0.5cm"/></style:style>'
    '<style:style style:name="gone" style:family="table"><style:table-properties table:display="false"/>'
    "</style:style></office:automatic-styles>"
)


def book(*tables: str) -> bytes:
    return odf(
        "spreadsheet",
        f"{STYLES}<office:body><office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body>",
    )


def table(rows: str, name: str = "A", style: str = "") -> str:
    columns = '<table:table-column table:style-name="co" table:number-columns-repeated="16384"/>'
    return f'<table:table table:name="{name}" table:style-name="{style}">{columns}{rows}</table:table>'


def row(cells: str, repeated: int = 1) -> str:
    repeats = f'table:number-rows-repeated="{repeated}"'
    return f'<table:table-row table:style-name="ro" {repeats}>{cells}</table:table-row>'


def text(words: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{words}</text:p></table:table-cell>'


def empty(count: int) -> str:
    return f'<table:table-cell table:number-columns-repeated="{count}"/>'


def ready(data: bytes) -> Any:
    return ready_ods(job("a.ods", data))


def test_sheets() -> None:
    """Sheets come in order, hidden and empty ones told; nothing is changed without need."""
    data = book(table(row(CELL * 2)), table(row(empty(16384), 1048576), "B"), table(row(CELL), "C", "gone"))
    made = ready(data)
    assert made.data == data
    assert [(one.name, one.state, one.empty, one.used) for one in made.sheets] == [
        ("A", "visible", False, "A1:B1"), ("B", "visible", True, ""), ("C", "hidden", False, "A1:A1"),
    ]  # fmt: skip


def test_rows_are_split() -> None:
    """A tag that stands for rows on both sides of the edge is split there, with its content in both."""
    made = ready(book(table(row(CELL, 3000) + row(CELL))))
    assert made.sheets[0].used == "A1:A3001"
    shown = int(made.sheets[0].shown.rpartition("A")[2])
    xml = part(made.data, "content.xml")
    repeated = [int(n) for n in re.findall(r'number-rows-repeated="(\d+)"', xml)]
    assert repeated == [shown, 3000 - shown, 1]
    assert xml.count('table:visibility="collapse"') == 2
    assert xml.count("<text:p>1</text:p>") == 3
    assert 13_900 < shown * 72 / 2.54 / 2 <= 14_000


def test_columns_are_split() -> None:
    """Columns past the edge are hidden by splitting their tag."""
    made = ready(book(table(row(CELL * 300))))
    xml = part(made.data, "content.xml")
    assert made.sheets[0].shown == "A1:GL1"  # 194 inches of an inch each
    assert re.findall(r'<table:table-column[^>]*number-columns-repeated="(\d+)"', xml) == ["194", "16190"]


def test_flowing_text() -> None:
    """Text that flows gets a blank cell at its end, and the row still has as many cells as it may."""
    made = ready(book(table(row(text("a title that is longer than its column") + empty(16383)))))
    xml = part(made.data, "content.xml")
    assert made.edits == ("room for text that flows",)
    before, after = map(int, re.findall(r'table-cell table:number-columns-repeated="(\d+)"', xml))
    assert xml.count("<text:s/>") == 1
    assert 1 + before + 1 + after == 16384


def test_flowing_text_in_a_short_row() -> None:
    """A row that ends with its text gets the blank behind the column that the text ends in."""
    made = ready(book(table(row(text("a title that is longer than its column")))))
    xml = part(made.data, "content.xml")
    assert made.edits == ("room for text that flows",)
    between = re.findall(
        r'</table:table-cell><table:table-cell table:number-columns-repeated="(\d+)"/><', xml
    )
    # About 210 pt, which end in the third column of an inch.
    assert between == ["2"]
    assert xml.index("<text:s/>") < xml.index("</table:table-row>")


def test_charts_go_on() -> None:
    """A chart over rows that are hidden here draws them all the same."""
    chart = {"Object 1/content.xml": lambda _: b'<a chart:include-hidden-cells="false"/>'}
    made = ready(changed(book(table(row(CELL, 3000))), chart))
    assert 'include-hidden-cells="true"' in part(made.data, "Object 1/content.xml")


def test_other_prefixes() -> None:
    """A file with names that edits are not written with goes through LibreOffice first."""
    data = changed(
        book(table(row(CELL))),
        {"content.xml": lambda xml: xml.replace(b"table:", b"t:").replace(b":t=", b":t=")},
    )
    data = changed(data, {"content.xml": lambda xml: xml.replace(b"xmlns:table=", b"xmlns:t=")})
    assert ready(data).through_ods


@given(st.text(alphabet="-0123456789x", max_size=12), st.text(alphabet="-0123456789x", max_size=12))
def test_odd_repeats(rows: str, columns: str) -> None:
    """Repeats of any size are bounded, and what is made can be read again."""
    repeats = f'table:number-columns-repeated="{columns}"'
    cell = f'<table:table-cell office:value-type="float" {repeats}><text:p>1</text:p></table:table-cell>'
    odd = f'<table:table-row table:number-rows-repeated="{rows}">{cell}</table:table-row>'
    made = ready(book(table(odd * 3)))
    assert ready(made.data).sheets[0].shown == made.sheets[0].shown or made.sheets[0].shown


def test_broken() -> None:
    """Content that is no XML, or no sheet, is the workbook's fault."""
    for content in (b"<office:document-content", b""):
        data = changed(
            book(),
            {"content.xml": lambda xml, new=content: xml.replace(b"</office:body>", b"") if new else xml},
        )
        with pytest.raises(BrokenArtifact):
            ready(data)
