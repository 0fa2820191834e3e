"""Styles of an ODS: of tables whether they are seen, of columns and rows how long, of cells how they look."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from beholder.evidence.xmlscan import attribute, local

_POINTS = {"in": 72.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "pt": 1.0, "pc": 12.0, "px": 0.75}
_LENGTH = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(in|cm|mm|pt|pc|px)$")


@dataclass(slots=True)
class Style:
    """What matters of a style.

    Attributes:
        length: Width of a column or height of a row in points; None where it is not told.
        hidden: Of a table.
        seen: An empty cell is seen by it: a ground, a border.
        flows: Text goes on over the cells to its right.
    """

    length: float | None = None
    hidden: bool = False
    seen: bool = False
    flows: bool = True
    size_pt: float = 10.0


class Styles:
    """Handlers of the elements that are styles, in `styles.xml` and then in `content.xml`."""

    def __init__(self) -> None:
        self._styles: dict[tuple[str, str], Style] = {}
        self._open: Style | None = None

    def look(self, family: str, name: str) -> Style:
        """The style of this name, else the family's default, else a plain one."""
        return self._styles.get((family, name)) or self._styles.get((family, "")) or Style()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        name = local(tag)
        if name in ("style", "default-style"):
            family = attribute(attributes, "family")
            base = self.look(family, attribute(attributes, "parent-style-name"))
            self._open = replace(base, hidden=False)
            self._styles[family, "" if name == "default-style" else attribute(attributes, "name")] = (
                self._open
            )
        elif self._open is not None:
            _set(self._open, name, attributes)

    def end(self, tag: str) -> None:
        """An element ends."""
        if local(tag) in ("style", "default-style"):
            self._open = None


def _set(style: Style, name: str, attributes: dict[str, str]) -> None:
    """What an element of properties says of a style."""
    if name == "table-column-properties":
        style.length = _points(attribute(attributes, "column-width"), style.length)
    elif name == "table-row-properties":
        style.length = _points(attribute(attributes, "row-height"), style.length)
    elif name == "table-properties":
        style.hidden = attributes.get("table:display") == "false"
    elif name == "table-cell-properties":
        ground = attribute(attributes, "background-color")
        lines = [value for key, value in attributes.items() if key.startswith("fo:border")]
        style.seen = style.seen or ground not in ("", "transparent") or any(line != "none" for line in lines)
        wraps = attribute(attributes, "wrap-option") == "wrap"
        if wraps or attribute(attributes, "shrink-to-fit") == "true":
            style.flows = False
    elif name == "paragraph-properties":
        if attribute(attributes, "text-align") in ("end", "justify"):
            style.flows = False
    elif name == "text-properties":
        style.size_pt = _points(attributes.get("fo:font-size", ""), style.size_pt) or style.size_pt


def _points(text: str, default: float | None) -> float | None:
    """A length as written in points, from 0 to 10,000; the default where it is none of these."""
    found = _LENGTH.match(text)
    if found is None:
        return default
    value = float(found.group(1)) * _POINTS[found.group(2)]
    return value if 0 <= value < 10_000 else default
