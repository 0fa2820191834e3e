"""Pascal VOC: a folder of XML files, one an image; corners in pixels."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from beholder.detection.foreign import Record, bad_input, files_of, read_text
from beholder.detection.replies import Detection, finite_number


def read_voc(folder: Path, *, strict: bool) -> list[Record]:
    """One record per XML file; the file's name without `.xml` is the id.

    Raises:
        SpecError: `bad_convert_input`, `unreadable`.
    """
    found = []
    for file in files_of(folder, ".xml"):
        text = read_text(file)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise bad_input(file, "declares a document type or entities, which no annotation needs")
        try:
            root = ET.fromstring(text)  # noqa: S314 - entities were refused above
        except (ET.ParseError, ValueError) as error:
            raise bad_input(file, f"no XML: {error}") from None
        size = _size(root)
        boxes: list[Detection] | None = []
        for item in root.iter("object"):
            box = _box(item)
            if box is None and strict:
                raise bad_input(file, "an object without a name and four finite coordinates")
            boxes = None if box is None or boxes is None else [*boxes, box]
        if strict and size is None:
            raise bad_input(file, "size: width and height must be numbers above 0")
        found.append(Record(file.stem, size, boxes))
    return found


def _size(root: ET.Element) -> tuple[float, float] | None:
    width, height = (_number(root.findtext(f"size/{side}")) for side in ("width", "height"))
    return (width, height) if width and height and width > 0 and height > 0 else None


def _box(item: ET.Element) -> Detection | None:
    label = item.findtext("name")
    numbers = [_number(item.findtext(f"bndbox/{side}")) for side in ("xmin", "ymin", "xmax", "ymax")]
    x1, y1, x2, y2 = numbers
    if label is None or x1 is None or y1 is None or x2 is None or y2 is None:
        return None
    return Detection(label, (x1, y1, x2, y2))


def _number(text: str | None) -> float | None:
    try:
        return finite_number(float(text)) if text is not None else None
    except ValueError:
        return None


def voc_text(record: Record) -> str:
    """One image's XML."""
    root = ET.Element("annotation")
    ET.SubElement(root, "filename").text = record.image_id
    size = ET.SubElement(root, "size")
    for side, pixels in zip(("width", "height"), record.size or (), strict=False):
        ET.SubElement(size, side).text = _short(pixels)
    for box in record.boxes or []:
        item = ET.SubElement(root, "object")
        ET.SubElement(item, "name").text = box.label
        bndbox = ET.SubElement(item, "bndbox")
        for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box.bbox, strict=True):
            ET.SubElement(bndbox, side).text = _short(value)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _short(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else str(value)
