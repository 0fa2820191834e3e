"""Edits in the XML of an ODS: what is hidden, and the blank that makes room.

They are noted, and made in one pass.
"""

from __future__ import annotations

import re

from beholder.evidence.splices import Splices, tag_end, with_attribute
from beholder.evidence.workbook import MOST_COLUMNS
from beholder.evidence.workbook_ods_scan import Run, ScannedTable

_BLANK = b'<table:table-cell office:value-type="string"><text:p><text:s/></text:p></table:table-cell>'
_REPEATED = re.compile(rb'\btable:number-columns-repeated="(\d{1,6})"')


def edge_column(table: ScannedTable) -> int | None:
    """The column that text reaches into, past all content."""
    # Behind the column that the text ends in: text does not flow under a blank.
    column = max(table.columns.index_at(table.reach_pt, MOST_COLUMNS - 1) + 1, table.last_column + 1)
    if column >= MOST_COLUMNS or table.columns.edge(column + 1) <= table.columns.edge(column):
        return None
    return column


def hide(splices: Splices, data: bytes, run: Run, shown: int, repeated: bytes, *, whole: bool) -> None:
    """Note that the rows or columns of a tag are hidden from the index `shown` on.

    Args:
        whole: The element has content, which a split repeats.
    """
    beyond = run.first + run.count - shown
    if beyond <= 0:
        return
    tag_stop = tag_end(data, run.start)
    tag = data[run.start : tag_stop]
    hidden = with_attribute(tag, b"table:visibility", b"collapse")
    if beyond >= run.count:
        splices.replace(run.start, tag_stop, hidden)
        return
    first = with_attribute(tag, repeated, b"%d" % (run.count - beyond))
    second = with_attribute(hidden, repeated, b"%d" % beyond)
    rest = data[tag_stop : run.end] if whole and not tag.endswith(b"/>") else b""
    if not whole and not tag.endswith(b"/>"):
        rest = b"</table:table-column>"
    splices.replace(run.start, tag_stop, first + rest + second)


def mark(splices: Splices, data: bytes, run: Run, cells: int, column: int) -> bool:
    """Note a blank at `column` of a row: behind its cells, or in the tag for the empty ones up to its end.

    Args:
        cells: That the row has, the empty ones included.
    """
    row = data[run.start : run.end]
    close = max(0, row.rfind(b"</table:table-row"))
    name = b"table:number-columns-repeated"
    if column >= cells:
        gap = (
            with_attribute(b"<table:table-cell/>", name, b"%d" % (column - cells)) if column > cells else b""
        )
        splices.insert(run.start + close, gap + _BLANK)
        return True
    last = row.rfind(b"<table:", 0, close)
    tag = row[last : tag_end(row, last)] if last >= 0 else b""
    if not tag.startswith((b"<table:table-cell", b"<table:covered-table-cell")) or not tag.endswith(b"/>"):
        return False
    repeated = _REPEATED.search(tag)
    count = int(repeated.group(1)) if repeated else 1
    first = cells - count
    before, after = column - first, count - (column - first) - 1
    if before < 0 or after < 0:
        return False
    parts = [_BLANK]
    if before:
        parts.insert(0, with_attribute(tag, name, b"%d" % before))
    if after:
        parts.append(with_attribute(tag, name, b"%d" % after))
    start = run.start + last
    splices.replace(start, start + len(tag), b"".join(parts))
    return True
