"""Pictures and charts of an XLSX: where on their sheet they end, and which rows charts draw."""

from __future__ import annotations

import re
from collections.abc import Iterator

from beholder.evidence.workbook import MOST_COLUMNS, MOST_ROWS
from beholder.evidence.workbook_xlsx_parts import Parts, whole
from beholder.evidence.workbook_xlsx_scan import ScannedSheet
from beholder.evidence.xmlscan import Scanner, local

_NO_SIZE = re.compile(
    rb'(<(?:\w+:)?absoluteAnchor>\s*<(?:\w+:)?pos\b[^>]*>\s*<(?:\w+:)?ext\s+)cx="0"\s+cy="0"'
)
_VISIBLE_ONLY = re.compile(rb'(<(?:\w+:)?plotVisOnly\s+val=")(?:1|true)"')


def anchors(parts: Parts, part: str, found: ScannedSheet) -> list[tuple[int, int]]:
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

    parts.scan(part, Scanner(start, end, text))
    return ends


def charts(parts: Parts, drawing: str) -> Iterator[str]:
    """The parts that are the charts of a drawing, each once."""
    yield from dict.fromkeys(target for kind, target in parts.relations(drawing).values() if kind == "chart")


def with_hidden_rows(chart: bytes) -> bytes:
    """A chart that draws hidden rows, too."""
    return _VISIBLE_ONLY.sub(rb'\g<1>0"', chart)


def sized(drawing: bytes) -> bytes:
    """The drawing of a sheet that is a chart; a chart without a size gets the one that Excel gives it.

    Excel fits the chart to the window and needs no size, so that some programs write 0.
    """
    return _NO_SIZE.sub(rb'\g<1>cx="9302752" cy="6074688"', drawing)


def _emu(text: str | None) -> float:
    """English metric units in points."""
    return max(0, whole(text)) / 12_700
