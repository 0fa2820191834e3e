"""Edits in the XML of a sheet of an XLSX: what is hidden, and the blank that makes room.

    <sheetFormatPr zeroHeight="1">      rows that are not listed are hidden, where rows are cut off
    <cols> … <col hidden="1"/></cols>   columns that are cut off
    <row hidden="1">                    rows that are cut off
      <c r="K2" t="inlineStr"> </c>     a blank at which the page ends
    <row><c r="B9" t="inlineStr"> </c>  a blank that keeps pictures in their columns

They are noted, and made in one pass.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from beholder.evidence.splices import Splices, tag_end, with_attribute
from beholder.evidence.workbook import MOST_COLUMNS, MOST_ROWS, cell_name
from beholder.evidence.workbook_xlsx_parts import whole
from beholder.evidence.workbook_xlsx_scan import ScannedSheet


def hide(splices: Splices, data: bytes, found: ScannedSheet, rows: int, columns: int | None) -> None:
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
        if 1 <= whole(one.get("min")) <= columns:
            kept = one | {"max": str(min(whole(one.get("max")), columns))}
            words = " ".join(f"{key}={quoteattr(value)}" for key, value in kept.items())
            hidden.insert(-1, f"<{found.prefix}col {words}/>")
    made = f"<{found.prefix}cols>{''.join(hidden)}</{found.prefix}cols>".encode()
    if found.columns_at:
        splices.replace(*found.columns_at, made)
    else:
        splices.insert(found.data_at or 0, made)


def make_room(splices: Splices, found: ScannedSheet) -> float:
    """Note a blank as far right as text flows; how wide the sheet then is, in pt, or 0: it is not noted."""
    if found.anchor_row is None:
        return 0.0
    at, row, last = found.anchor_row
    # Behind the column that the text ends in: text does not flow under a blank.
    column = max(
        found.columns.index_at(found.reach_pt, MOST_COLUMNS - 1) + 1, last + 1, found.last_column + 1
    )
    if column >= MOST_COLUMNS or found.columns.edge(column + 1) <= found.columns.edge(column):
        return 0.0  # a hidden column would not widen the page
    splices.insert(at, _blank(found, row, column))
    return found.columns.edge(column + 1)


def keep_columns(splices: Splices, data: bytes, found: ScannedSheet) -> bool:
    """Note a blank in column B, in a row below all others; whether it is noted.

    Of a sheet without anything beyond column A LibreOffice saves pictures and charts one after the other from
    column B on, whatever column they stand in.
    """
    row = found.row_numbers[-1] + 1 if found.row_numbers else 0
    if found.last_column > 0 or row >= MOST_ROWS or found.data_at is None:
        return False
    x = found.prefix
    made = f'<{x}row r="{row + 1}">'.encode() + _blank(found, row, 1) + f"</{x}row>".encode()
    if data[found.data_end :].startswith(b"</"):
        splices.insert(found.data_end, made)
    else:
        end = tag_end(data, found.data_at)
        splices.replace(found.data_at, end, f"<{x}sheetData>".encode() + made + f"</{x}sheetData>".encode())
    return True


def _blank(found: ScannedSheet, row: int, column: int) -> bytes:
    """A cell that holds a blank."""
    x = found.prefix
    text = f'<{x}is><{x}t xml:space="preserve"> </{x}t></{x}is>'
    return f'<{x}c r="{cell_name(row, column)}" t="inlineStr">{text}</{x}c>'.encode()
