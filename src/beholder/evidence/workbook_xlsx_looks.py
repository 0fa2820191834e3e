"""What an XLSX says once for all of its sheets: cell formats and shared texts."""

from __future__ import annotations

from dataclasses import dataclass, field

from beholder.evidence.workbook_xlsx_parts import TRUE, Parts, number, whole
from beholder.evidence.xmlscan import Scanner, attribute, local


@dataclass(frozen=True, slots=True)
class Look:
    """What matters of a cell format: whether it is seen on an empty cell, and how text flows."""

    seen: bool = False
    flows: bool = True
    wraps: bool = False
    size_pt: float = 11.0


@dataclass(slots=True)
class Styles:
    """The cell formats of a workbook."""

    looks: list[Look] = field(default_factory=list)

    def look(self, index: int) -> Look:
        """The format of this number; a plain one where there is none."""
        return self.looks[index] if 0 <= index < len(self.looks) else Look()


def read_styles(parts: Parts, part: str) -> Styles:
    """What the cell formats look like."""
    styles = Styles()
    fonts: list[float] = []
    fills: list[bool] = []
    borders: list[bool] = []
    path: list[str] = []
    formats: list[dict[str, str]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        name = local(tag)
        within = path[-1] if path else ""
        path.append(name)
        if name == "font" and within == "fonts":
            fonts.append(11.0)
        elif name == "sz" and within == "font" and fonts:
            fonts[-1] = number(attribute(attributes, "val"), 11.0)
        elif name == "fill" and within == "fills":
            fills.append(False)
        elif name in ("patternFill", "gradientFill") and within == "fill" and fills:
            pattern = attribute(attributes, "patternType")
            fills[-1] = name == "gradientFill" or (pattern not in ("", "none") and len(fills) > 2)
        elif name == "border" and within == "borders":
            borders.append(False)
        elif within == "border" and borders and attribute(attributes, "style") not in ("", "none"):
            borders[-1] = True
        elif name == "xf" and within == "cellXfs":
            formats.append(dict(attributes))
        elif name == "alignment" and within == "xf" and len(path) > 2 and path[-3] == "cellXfs":
            formats[-1] |= {f"align-{key}": value for key, value in attributes.items()}

    def end(_: str) -> None:
        path.pop()

    parts.scan(part, Scanner(start, end))
    for one in formats:
        font, fill, border = (whole(one.get(key)) for key in ("fontId", "fillId", "borderId"))
        wraps = one.get("align-wrapText") in TRUE
        flows = not wraps and one.get("align-horizontal", "general") in ("general", "left", "center")
        flows = (
            flows and one.get("align-shrinkToFit") not in TRUE and one.get("align-textRotation", "0") == "0"
        )
        seen = (0 <= fill < len(fills) and fills[fill]) or (0 <= border < len(borders) and borders[border])
        size = fonts[font] if 0 <= font < len(fonts) else 11.0
        styles.looks.append(Look(seen, flows, wraps, size))
    return styles


def read_texts(parts: Parts, part: str) -> list[str]:
    """The shared texts, each as far as it may matter for a width."""
    found: list[str] = []
    pieces: list[str] = []
    inside = [False, 0]

    def start(tag: str, _: dict[str, str]) -> None:
        name = local(tag)
        if name == "si":
            pieces.clear()
        elif name == "rPh":  # how to read it aloud; not seen
            inside[1] += 1
        inside[0] = name == "t" and not inside[1]

    def end(tag: str) -> None:
        name = local(tag)
        inside[0] = False
        if name == "rPh":
            inside[1] -= 1
        elif name == "si":
            found.append("".join(pieces)[:4000])

    def text(piece: str) -> None:
        if inside[0]:
            pieces.append(piece)

    parts.scan(part, Scanner(start, end, text))
    return found
