"""Workbooks: lengths, ranges, the region that is drawn, and which page is which sheet."""

from __future__ import annotations

import io

import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.workbook import (
    MOST_AREA_PT,
    MOST_EDGE_PT,
    Lengths,
    Sheet,
    cell_name,
    column_name,
    match_pages,
    parse_cell,
    region,
    settle_pages,
    sheet_warnings,
)

runs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 9), st.sampled_from([0.0, 7.5, 15.0, 200.0])), max_size=8
)


@given(runs, st.integers(0, 90), st.floats(0, 3000))
def test_lengths(drawn: list[tuple[int, int, float]], count: int, limit: float) -> None:
    """Edges, and how many fit, are what adding up one by one gives."""
    lengths, plain, last = Lengths(10.0), [10.0] * 100, -1
    for first, more, length in sorted(drawn):
        lengths.set(first, first + more, length)
        if first > last:
            plain[first : first + more + 1] = [length] * (more + 1)
            last = first + more
    assert lengths.edge(count) == pytest.approx(sum(plain[:count]))
    fitting = max([1, *(n for n in range(1, count + 1) if sum(plain[:n]) <= limit)])
    assert lengths.fitting(limit, count) == fitting
    assert lengths.length(count) == pytest.approx(plain[count])


@given(st.integers(0, 1_048_575), st.integers(0, 16_383))
def test_names(row: int, column: int) -> None:
    """A cell's name names that cell."""
    assert parse_cell(cell_name(row, column)) == (row, column)


def test_known_names() -> None:
    """The corners that everybody knows."""
    assert [column_name(index) for index in (0, 25, 26, 701, 702, 16_383)] == [
        "A",
        "Z",
        "AA",
        "ZZ",
        "AAA",
        "XFD",
    ]
    assert parse_cell("$XFD$1048576") == (1_048_575, 16_383)
    assert [parse_cell(name) for name in ("", "A", "7", "A0", "ABCD1", "Ä1")] == [None] * 6


@given(st.lists(st.tuples(st.integers(0, 30_000), st.integers(1, 16_384)), max_size=6))
def test_region(ends: list[tuple[int, int]]) -> None:
    """What is drawn never passes the limits, nor what is used; a small sheet is drawn whole."""
    columns, rows = Lengths(48.0), Lengths(15.0)
    shown_rows, shown_columns = region(columns, rows, ends)
    width, height = columns.edge(shown_columns), rows.edge(shown_rows)
    assert max(width, height) <= MOST_EDGE_PT
    assert width * height <= MOST_AREA_PT
    used_rows, used_columns = (
        max((row + 1 for row, _ in ends), default=1),
        max((n for _, n in ends), default=1),
    )
    assert shown_rows <= used_rows
    assert shown_columns <= used_columns
    if columns.edge(used_columns) <= 2000 and rows.edge(used_rows) <= MOST_EDGE_PT:
        assert (shown_rows, shown_columns) == (used_rows, used_columns)


def test_far_cell() -> None:
    """One cell in the far corner does not take the room of the rows that have something in them."""
    ends = [*((row, 3) for row in range(20_000)), (1_048_575, 16_384)]
    assert region(Lengths(48.0), Lengths(15.0), ends) == (933, 3)


def sheet(name: str, state: str = "visible", *, empty: bool = False) -> Sheet:
    return Sheet(name=name, state=state, empty=empty)  # type: ignore[arg-type]


def test_match() -> None:
    """The number of pages tells whether hidden and empty sheets have one, or that nothing is certain."""
    sheets = [sheet("C"), sheet("A", "hidden"), sheet("B", empty=True), sheet("D")]
    assert match_pages(sheets, 4) == [0, 1, 2, 3]
    assert match_pages(sheets, 3) == [0, 2, 3]
    assert match_pages(sheets, 2) == [0, 3]
    assert match_pages(sheets, 1) is None
    assert match_pages(sheets, 5) is None


def pdf(*sizes: tuple[float, float]) -> bytes:
    document = pdfium.PdfDocument.new()
    for size in sizes:
        document.new_page(*size)
    buffer = io.BytesIO()
    document.save(buffer)
    document.close()
    return buffer.getvalue()


def sizes(data: bytes) -> list[tuple[int, int]]:
    document = pdfium.PdfDocument(data)
    found = [tuple(map(round, document.get_page_size(at))) for at in range(len(document))]
    document.close()
    return found  # type: ignore[return-value]


def test_settle() -> None:
    """Hidden and empty sheets' pages are taken out; the others keep their order and get their names."""
    drawn = pdf((100, 50), (90, 40), (48, 0.03), (80, 30))
    pages = settle_pages("a.xlsx", drawn, [sheet("C"), sheet("A", "hidden"), sheet("B"), sheet("D")])
    assert pages.sheets == ("C", "D")
    assert sizes(pages.pdf) == [(100, 50), (80, 30)]
    assert pages.warnings == ()


def test_settle_uncertain() -> None:
    """Where pages and sheets do not fit, no name is guessed and it is said."""
    pages = settle_pages("a.xlsx", pdf((9, 9), (9, 9)), [sheet("A")])
    assert pages.sheets is None
    assert [one.code for one in pages.warnings] == ["sheets_not_matched"]


def test_settle_all_empty() -> None:
    """A workbook with nothing in it is a blank page, not no page."""
    pages = settle_pages("a.xlsx", pdf((0.03, 0.03), (0.03, 0.03)), [sheet("A", "hidden"), sheet("B")])
    assert pages.sheets == ("B",)
    assert sizes(pages.pdf) == [(612, 792)]


def test_settle_shrunk() -> None:
    """A sheet that was shrunk to PDF's largest page all the same is told."""
    made = Sheet(name="A", width_pt=480.0)
    pages = settle_pages("a.xlsx", pdf((160, 10_000)), [made])
    assert [(one.code, "0.33" in one.detail) for one in pages.warnings] == [("downscaled", True)]


def test_words() -> None:
    """What is not seen is named: hidden sheets, ranges, texts."""
    sheets = [
        Sheet(name="A", used="A1:C20000", shown="A1:C933"),
        Sheet(name="B", state="veryHidden", used="A1:C20000", shown="A1:C933"),
        Sheet(name="C", cut_text="A7"),
    ]
    assert [(one.code, one.detail) for one in sheet_warnings(sheets, "a.xlsx")] == [
        ("hidden_sheets", "not shown, as they are hidden: B"),
        ("truncated", "sheet 'A': A1:C933 of A1:C20000 is shown"),
        ("truncated", "texts that flow over other cells are cut after 1440 pt: 'C' A7"),
    ]
