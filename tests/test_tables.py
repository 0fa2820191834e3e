"""Cells of tables that spreadsheets open."""

from __future__ import annotations

import io

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.tables import CELL_CHARS, csv_cell, defused, sheet_cell


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_text_that_would_be_run_gets_an_apostrophe(start: str) -> None:
    """Every sign that begins a formula, wide forms included, in both kinds of file."""
    assert defused(f"{start}1+1") == csv_cell(f"{start}1+1") == sheet_cell(f"{start}1+1") == f"'{start}1+1"


def test_numbers_and_plain_text_stay_what_they_are() -> None:
    """A negative number is no formula; text is not touched."""
    values = [-5, -0.5, 0, "a=b", "", " x", "한국어"]
    assert [defused(value) for value in values] == values
    assert [csv_cell(value) for value in (None, True, False, 0)] == ["", "true", "false", 0]


@given(st.text(max_size=50))
def test_a_workbook_takes_every_text_and_gives_it_back(text: str) -> None:
    """No text breaks the file, none is a formula in it; signs that XML forbids are visible as such."""
    workbook = openpyxl.Workbook()
    assert workbook.active is not None
    workbook.active["A1"] = sheet_cell(text)
    cell = workbook.active["A1"]
    assert cell.data_type != "f"
    workbook.save(io.BytesIO())


def test_a_text_too_long_for_a_cell_is_cut_and_says_so() -> None:
    """At most 32,767 UTF-16 units, never half of a sign, with the whole length at the end."""
    assert sheet_cell("x" * CELL_CHARS) == "x" * CELL_CHARS
    for sign in ("x", "😀"):
        cut = sheet_cell(sign * 40_000)
        assert len(cut.encode("utf-16-le")) // 2 <= CELL_CHARS
        assert cut.endswith(f"{sign} … [cut: 40000 characters]")


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**70])
def test_a_whole_number_that_a_sheet_would_round_is_text(number: int) -> None:
    """Up to 2^53 it is a number."""
    assert sheet_cell(number) == str(number)
    assert sheet_cell(2**53) == 2**53
    assert sheet_cell(True) is True
