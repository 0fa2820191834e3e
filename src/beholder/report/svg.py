"""A matplotlib figure -> SVG that lies in the page: its colours are the page's, its text is text.

matplotlib writes each shape's look into a `style` attribute, which the page's policy forbids and a dark page
cannot change. Here the colours become classes of the page's stylesheet, everything else plain attributes;
names of parts get the plot's own prefix; text takes the page's font. A link becomes a group that names its
item, for the page's script; a plot is one picture to a screen reader, with its description in words.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, LINE, SURFACE, ACCENT = "#000001", "#000002", "#000003", "#000004", "#000005"
PASSED, FAILED, FLIP = "#000011", "#000012", "#000013"
MODELS = tuple(f"#0000{20 + number}" for number in range(8))
"""Stand-ins for the page's colours; no figure uses any other."""

_CLASSES = {
    INK: "ink",
    MUTED: "muted",
    LINE: "line",
    SURFACE: "surface",
    ACCENT: "accent",
    PASSED: "passed",
    FAILED: "failed",
    FLIP: "flip",
    **{colour: f"m{number}" for number, colour in enumerate(MODELS)},
}
_SVG, _XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_KEPT = (
    *("stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin"),
    *("opacity", "fill-opacity", "stroke-opacity", "text-anchor", "font-size", "font-weight"),
)
_FAMILY = re.compile(r"^(?:(bold|\d+) )?([\d.]+)px ")


def inline(figure: Figure, *, prefix: str, title: str) -> str:
    """The figure as one `svg` element.

    Args:
        prefix: Of the names of its parts, different for every plot of a page.
        title: What the plot shows, in words, for who does not see it.
    """
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ET.fromstring(file.getvalue())  # noqa: S314 - matplotlib has written it just now
    for child in list(root):
        if child.tag == f"{_SVG}metadata":
            root.remove(child)
    for parent in root.iter():
        for child in list(parent):
            if child.tag == f"{_SVG}style" or (child.tag == f"{_SVG}defs" and not _without_style(child)):
                parent.remove(child)
    for element in root.iter():
        _translate(element, prefix)
    width, height = root.get("viewBox", "0 0 0 0").split()[2:]
    root.attrib = {
        "class": "plot",
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": title,
    }
    return ET.tostring(root, encoding="unicode")


def _without_style(defs: ET.Element) -> int:
    for child in list(defs):
        if child.tag == f"{_SVG}style":
            defs.remove(child)
    return len(defs)


def _translate(element: ET.Element, prefix: str) -> None:
    element.tag = element.tag.removeprefix(_SVG)
    element.tail = (element.tail or "").strip() or None
    if element.tag != "text":
        element.text = (element.text or "").strip() or None
    name = element.attrib.pop("id", None)
    # matplotlib names every group; only what is referred to needs its name.
    if name and element.tag in ("path", "clipPath"):
        element.set("id", f"{prefix}-{name}")
    href = element.attrib.pop(f"{_XLINK}href", None)
    if href is not None and element.tag == "a":
        element.tag = "g"
        element.attrib = {"class": "point", "data-item": href.removeprefix("#")}
        return
    if href is not None:
        element.set("href", href.replace("#", f"#{prefix}-"))
    if clip := element.get("clip-path"):
        element.set("clip-path", clip.replace("url(#", f"url(#{prefix}-"))
    _restyle(element)


def _restyle(element: ET.Element) -> None:
    """`style="fill: #000001; stroke-width: 0.8"` -> `class="f-ink" stroke-width="0.8"`."""
    pairs = (part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part)
    style = {name.strip(): value.strip() for name, value in pairs}
    for name in ("fill", "stroke"):
        if name in element.attrib:
            style.setdefault(name, element.attrib.pop(name))
    if font := _FAMILY.match(style.get("font", "")):
        style["font-size"] = font[2]
        if font[1]:
            style["font-weight"] = font[1]
    classes = [
        f"{name[0]}-{_CLASSES[style[name]]}" for name in ("fill", "stroke") if style.get(name) in _CLASSES
    ]
    for name in ("fill", "stroke"):
        if style.get(name) == "none":
            element.set(name, "none")
    if classes:
        element.set("class", " ".join(classes))
    for name in _KEPT:
        if name in style:
            element.set(name, style[name].removesuffix("px"))
