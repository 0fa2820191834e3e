"""Workbooks: which sheets there are, how much of each is drawn, and which page is which sheet.

LibreOffice draws each sheet on one page of the sheet's own size (`SinglePageSheets`), with charts, pictures,
merged cells and colours. Before that a workbook is made ready, for four things would be seen wrongly:

- A page may have 200 inches; a larger sheet is shrunk to that, beyond reading, and a cell in the far corner
  takes longer than anybody waits. Such a sheet is cut, and it is said where.
- Text that flows over the cells to its right is cut at the last used column. A blank further right makes
  the page wide enough.
- A formula that was saved with a placeholder instead of its value would show the placeholder.
- Hidden sheets are drawn like others by some versions. Their pages are taken out again.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from beholder.records import Warning_

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""Of a sheet, in every format that is read."""

MOST_EDGE_PT = 14_000.0
"""Width and height of a sheet as drawn: PDF's 200 inches, less a margin for heights that are estimates."""

MOST_AREA_PT = 45_000_000.0
"""Area of a sheet as drawn, in square points: 32 pictures of 1568 x 1568 px at 96 dpi."""

FLOW_PT = 1_440.0
"""Text is followed to the right for so long: a full screen. What flows on is cut, as a window would."""

MOST_NAMED = 10
"""Sheets or places that a warning lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One sheet of a workbook.

    Attributes:
        empty: Nothing is in it: no cell, no picture.
        used: The range that has content, such as `A1:H20000`; empty if none.
        shown: The range that is drawn where that is less than `used`; else empty.
        width_pt: Of what is drawn; 0 where it is not known.
        cut_text: A cell whose text flows further than it is followed; empty if there is none.
    """

    name: str
    state: Literal["visible", "hidden", "veryHidden"] = "visible"
    empty: bool = False
    used: str = ""
    shown: str = ""
    width_pt: float = 0.0
    cut_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbook:
    """A workbook made ready to be drawn.

    Attributes:
        data: The file, edited or as it was.
        suffix: Of its format.
        sheets: In the workbook's order; hidden ones, too.
        edits: What was done to the file, for people.
        through_ods: It must become an ODS first, and be made ready in that form.
        not_computed: Functions of formulas that have no value and that LibreOffice may not know.
        volatile: Functions of formulas on visible sheets that give another value each time.
    """

    data: bytes = field(repr=False)
    suffix: str
    sheets: tuple[Sheet, ...] = ()
    edits: tuple[str, ...] = ()
    through_ods: bool = False
    not_computed: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()


def column_name(index: int) -> str:
    """The letters of a 0-based column: 0 is A, 26 is AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def cell_name(row: int, column: int) -> str:
    """The name of a 0-based cell: (0, 0) is A1."""
    return f"{column_name(column)}{row + 1}"


def parse_cell(name: str) -> tuple[int, int] | None:
    """The 0-based (row, column) of a name such as `$C$7`; None if it is none."""
    bare = name.replace("$", "")
    letters = bare.rstrip("0123456789")
    digits = bare[len(letters) :]
    if not letters or not digits or len(letters) > 3 or len(digits) > 7 or not letters.isascii():
        return None
    column = 0
    for letter in letters.upper():
        if not "A" <= letter <= "Z":
            return None
        column = column * 26 + ord(letter) - ord("A") + 1
    row = int(digits)
    return (row - 1, column - 1) if row >= 1 else None


class Lengths:
    """Widths of columns or heights of rows in points, from 0 on, with a default for those not set."""

    def __init__(self, default: float) -> None:
        self.default = default
        self._firsts: list[int] = []
        self._runs: list[tuple[int, float]] = []
        """(last index, length) of each run that was set."""
        self._counts: list[int] = []
        self._sums: list[float] = []
        """How many were set before each run, and how long those are together."""
        self._count = 0
        self._sum = 0.0

    def set(self, first: int, last: int, length: float) -> None:
        """Set those from `first` to `last`, both included; they come in rising order, others are left out."""
        if last < first or (self._runs and first <= self._runs[-1][0]):
            return
        length = max(0.0, length)
        if self._runs and self._runs[-1] == (first - 1, length):
            self._runs[-1] = (last, length)  # a million rows of one height are one run
        else:
            self._firsts.append(first)
            self._runs.append((last, length))
            self._counts.append(self._count)
            self._sums.append(self._sum)
        self._count += last - first + 1
        self._sum += (last - first + 1) * length

    def edge(self, count: int) -> float:
        """Where the first `count` of them end."""
        at = bisect.bisect_left(self._firsts, count) - 1
        if at < 0:
            return max(0, count) * self.default
        last, length = self._runs[at]
        inside = min(last + 1, count) - self._firsts[at]
        unset = count - self._counts[at] - inside
        return self._sums[at] + inside * length + unset * self.default

    def length(self, index: int) -> float:
        """The length of one."""
        return self.edge(index + 1) - self.edge(index)

    def fitting(self, limit: float, most: int) -> int:
        """How many of the first `most` end at or before `limit`; at least 1."""
        if most <= 1:
            return 1
        low, high = 1, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.edge(middle) <= limit else (low, middle - 1)
        return low

    def index_at(self, position: float, most: int) -> int:
        """The 0-based one that `position` lies in, at most `most`."""
        return self.fitting(position, most) if position > self.edge(1) else 0


def add_end(ends: list[tuple[int, int]], row: int, count: int) -> None:
    """Add a row to the `ends` of `region`; of rows that use as many columns the first and the last stay."""
    if len(ends) > 1 and ends[-1][1] == ends[-2][1] == count:
        ends[-1] = (row, count)
    else:
        ends.append((row, count))


def region(columns: Lengths, rows: Lengths, ends: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """(rows, columns) of a sheet that are drawn, from its first cell on; at least (1, 1).

    As many rows as may be, then the columns that those rows use: one far cell does not widen the others.

    Args:
        ends: (row, columns up to its last one used) of the rows in use, both 0-based and a count.
    """
    shown_rows = rows.fitting(MOST_EDGE_PT, max((row + 1 for row, _ in ends), default=1))
    shown_columns = 1
    for _ in range(2):  # fewer rows may use fewer columns, which leaves room again
        used = max((count for row, count in ends if row < shown_rows), default=1)
        shown_columns = columns.fitting(MOST_EDGE_PT, used)
        width = max(1.0, columns.edge(shown_columns))
        shown_rows = rows.fitting(min(MOST_EDGE_PT, MOST_AREA_PT / width), shown_rows)
    return shown_rows, shown_columns


def text_width_pt(text: str, size_pt: float) -> float:
    """About how wide a line is, rather too wide: digits of Calibri take half an em, ideograms a whole one."""
    lines = text.split("\n")[:50]
    longest = max((sum(2 if ord(sign) >= 0x1100 else 1 for sign in line[:4000]) for line in lines), default=0)
    return longest * size_pt * 0.55 + 4


# --- pages --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The pages of a workbook's PDF that are shown.

    Attributes:
        sheets: The sheet's name of each page; None if it is not certain which is which.
    """

    pdf: bytes = field(repr=False)
    sheets: tuple[str, ...] | None
    warnings: tuple[Warning_, ...] = ()


def match_pages(sheets: Sequence[Sheet], pages: int) -> list[int] | None:
    """The sheet (its index) that each page shows; None if the number of pages fits no rule.

    Versions differ in whether hidden and empty sheets have a page. Each rule's sheets contain the next one's,
    so that one number of pages never means two things.
    """
    everything = list(range(len(sheets)))
    visible = [at for at in everything if sheets[at].state == "visible"]
    filled = [at for at in visible if not sheets[at].empty]
    for rule in (everything, visible, filled):
        if len(rule) == pages:
            return rule
    return None


_NOTHING_PT = 0.5
"""A page of an empty sheet has a hundredth of a millimetre."""

_BLANK_PT = (612.0, 792.0)


def settle_pages(name: str, pdf: bytes, sheets: Sequence[Sheet]) -> Pages:
    """The pages of visible sheets that have something in them, in the workbook's order, with their names.

    Where all are empty, the first one becomes a blank page.

    Args:
        name: The artifact's.
        pdf: As LibreOffice has drawn it.
        sheets: Of the workbook, hidden ones too; none: they are not known.
    """
    import pypdfium2 as pdfium

    document = pdfium.PdfDocument(pdf)
    try:
        rule = match_pages(sheets, len(document))
        if rule is None:
            detail = f"{len(document)} pages for {len(sheets)} sheets; which is which is not certain"
            warning = Warning_(code="sheets_not_matched", detail=detail, source=name)
            return Pages(pdf=pdf, sheets=None, warnings=(warning,))
        kept, warnings = [], []
        for page, at in enumerate(rule):
            if sheets[at].state != "visible":
                continue
            width, height = document.get_page_size(page)
            if min(width, height) < _NOTHING_PT:
                continue
            kept.append((page, sheets[at].name))
            expected = sheets[at].width_pt
            if expected > 2 * width and max(width, height) > 0.5 * MOST_EDGE_PT:
                detail = f"sheet {sheets[at].name!r}: drawn at about {width / expected:.2f} of its size"
                warnings.append(Warning_(code="downscaled", detail=detail, source=name))
        if not kept:
            first = next((at for at, sheet in enumerate(rule) if sheets[sheet].state == "visible"), 0)
            kept = [(first, sheets[rule[first]].name)]
        return Pages(
            pdf=_only(document, [page for page, _ in kept]),
            sheets=tuple(sheet for _, sheet in kept),
            warnings=tuple(warnings),
        )
    finally:
        document.close()


def _only(document: object, pages: list[int]) -> bytes:
    """A PDF of these pages; one without an area becomes a blank one."""
    import io

    import pypdfium2 as pdfium

    made = pdfium.PdfDocument.new()
    try:
        made.import_pages(document, pages)
        for at in range(len(made)):
            if min(made.get_page_size(at)) < 1:
                page = made[at]
                page.set_mediabox(0, 0, *_BLANK_PT)
                page.set_cropbox(0, 0, *_BLANK_PT)
                page.close()
        buffer = io.BytesIO()
        made.save(buffer)
        return buffer.getvalue()
    finally:
        made.close()


def sheet_warnings(sheets: Iterable[Sheet], name: str) -> list[Warning_]:
    """What is not seen of a workbook, in words."""
    hidden = [sheet.name for sheet in sheets if sheet.state != "visible"]
    warnings = []
    if hidden:
        detail = f"not shown, as they are hidden: {_listed(hidden)}"
        warnings.append(Warning_(code="hidden_sheets", detail=detail, source=name))
    for sheet in sheets:
        if sheet.state == "visible" and sheet.shown:
            detail = f"sheet {sheet.name!r}: {sheet.shown} of {sheet.used} is shown"
            warnings.append(Warning_(code="truncated", detail=detail, source=name))
    long = [
        f"{sheet.name!r} {sheet.cut_text}" for sheet in sheets if sheet.cut_text and sheet.state == "visible"
    ]
    if long:
        detail = f"texts that flow over other cells are cut after {math.floor(FLOW_PT)} pt: {_listed(long)}"
        warnings.append(Warning_(code="truncated", detail=detail, source=name))
    return warnings


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
