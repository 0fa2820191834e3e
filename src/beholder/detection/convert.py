"""Other box files -> our JSONL, and back. The format is declared, converted once, and recorded.

    jsonl   our own (see read.py)
    coco    COCO JSON: {"images", "annotations", "categories"}, boxes x y w h; predictions also as the list of
            results [{"image_id", "category_id", "bbox", "score"}], whose categories stand in the gold file
    yolo    a folder of text files, one an image, `class cx cy w h [confidence]` in shares of the image; class
            names by line number in a file
    voc     a folder of Pascal VOC XML files, one an image
    raw     a folder of raw replies, one text file an image

Boxes are written as corners in pixels. Gold is read strictly. A malformed prediction makes its image invalid;
it is written so, never dropped.
"""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beholder.detection.boxes import INVALID, VALID, Gold, Predictions
from beholder.detection.formats import to_corners
from beholder.detection.read import identity
from beholder.detection.replies import Detection, finite_number, parse_response
from beholder.errors import SpecError

SOURCES = ("jsonl", "coco", "yolo", "voc", "raw")
TARGETS = ("jsonl", "coco", "yolo", "voc")

# What a line of text or an XML element does not give back as it was: control characters, every separator of
# lines, half a surrogate pair, a byte order mark.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_CLASS_NUMBER = re.compile("[0-9]{1,9}")
_PLAIN_NAME = re.compile(r"[^/\\]+")


Four = tuple[float, float, float, float]


@dataclass(frozen=True)
class Record:
    """One image: its id, its size where it is known, its boxes in pixels; None for a malformed answer."""

    image_id: str
    size: tuple[float, float] | None
    boxes: list[Detection] | None


def _bad(where: Path | str, what: str) -> SpecError:
    return SpecError(f"{where}: {what}", slug="bad_convert_input", concerns=str(where))


def read_text(path: Path) -> str:
    """A text file in UTF-8.

    Raises:
        SpecError: `unreadable`.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}", slug="unreadable", concerns=str(path)) from None
    except UnicodeError:
        raise SpecError(f"{path}: no UTF-8", slug="unreadable", concerns=str(path)) from None


# --- ours ---------------------------------------------------------------------------------------


def gold_records(gold: Gold) -> list[Record]:
    """Gold that was read."""
    boxes = _by_image(gold.boxes.image, gold.boxes.label, gold.boxes.corners, gold.boxes.classes, len(gold))
    sizes = gold.size.tolist()
    return [
        Record(name, (w, h), found) for name, (w, h), found in zip(gold.image_ids, sizes, boxes, strict=True)
    ]


def prediction_records(model: Predictions, gold: Gold) -> list[Record]:
    """The answers to gold images: valid and invalid ones; the missing have no record."""
    found = _by_image(
        model.boxes.image, model.boxes.label, model.boxes.corners, model.boxes.classes, len(gold)
    )
    answers = zip(gold.image_ids, gold.size.tolist(), model.status.tolist(), found, strict=True)
    return [
        Record(name, (w, h), boxes if status == VALID else None)
        for name, (w, h), status, boxes in answers
        if status in {VALID, INVALID}
    ]


def _by_image(image: Any, label: Any, corners: Any, classes: Sequence[str], n: int) -> list[list[Detection]]:
    found: list[list[Detection]] = [[] for _ in range(n)]
    for at, code, (x1, y1, x2, y2) in zip(image.tolist(), label.tolist(), corners.tolist(), strict=True):
        found[at].append(Detection(classes[code], (x1, y1, x2, y2)))
    return found


# --- COCO ---------------------------------------------------------------------------------------


def read_coco(text: str, where: str, *, by_file_name: bool = False, strict: bool = True) -> list[Record]:
    """Gold, or predictions in the same form.

    Args:
        by_file_name: The image's id is its `file_name`, not its `id`.
        strict: A malformed annotation refuses everything (gold); else it makes its image invalid.

    Raises:
        SpecError: `bad_convert_input`.
    """
    data = _json(text, where)
    if not isinstance(data, dict) or not all(
        isinstance(data.get(key), list) for key in ("images", "annotations", "categories")
    ):
        raise _bad(where, "expected an object with the lists images, annotations and categories")
    images = _coco_images(data["images"], where, by_file_name=by_file_name)
    return _with_boxes(images, data["annotations"], coco_categories(data, where), where, strict=strict)


def _coco_images(images: list[Any], where: str, *, by_file_name: bool) -> dict[str, Record]:
    """Records without boxes, by the text of the image's id."""
    found: dict[str, Record] = {}
    names: set[str] = set()
    for image in images:
        fields = image if isinstance(image, dict) else {}
        key = identity(fields.get("id"))
        name = identity(fields.get("file_name")) if by_file_name else key
        width, height = (finite_number(fields.get(side)) for side in ("width", "height"))
        if key is None or name is None or not width or not height or min(width, height) < 0:
            raise _bad(where, f"image {image!r:.80}: needs an id, and a width and a height above 0")
        if key in found or name in names:
            raise _bad(where, f"image {name if key not in found else key!r:.80} is there twice")
        names.add(name)
        found[key] = Record(name, (width, height), [])
    return found


def _with_boxes(
    images: Mapping[str, Record], items: Iterable[Any], names: Mapping[int, str], where: str, *, strict: bool
) -> list[Record]:
    """The images with the boxes of some annotations or results."""
    boxes: dict[str, list[Detection] | None] = {key: [] for key in images}
    for item in items:
        key = identity(item.get("image_id")) if isinstance(item, dict) else None
        if key is None or key not in boxes:
            raise _bad(where, f"{item!r:.80}: no image has this image_id")
        detection = _coco_box(item, names)
        if isinstance(detection, str):
            if strict:
                raise _bad(where, f"a box of image {key!r:.80}: {detection}")
            boxes[key] = None
        elif (found := boxes[key]) is not None:
            found.append(detection)
    return [Record(one.image_id, one.size, boxes[key]) for key, one in images.items()]


def read_coco_results(text: str, where: str, gold_text: str, *, by_file_name: bool = False) -> list[Record]:
    """A list of results against a COCO gold file, which tells the images and the categories.

    Results have no row for an image without a detection; such images are written as valid and empty. A
    malformed result makes its image invalid; one that names no image of gold refuses the file.

    Raises:
        SpecError: `bad_convert_input`.
    """
    gold = _json(gold_text, "gold")
    read_coco(gold_text, "gold", by_file_name=by_file_name)  # refuses what is wrong with it
    images = _coco_images(gold["images"], "gold", by_file_name=by_file_name)
    results = _json(text, where)
    if not isinstance(results, list):
        raise _bad(where, "expected a list of results")
    return _with_boxes(images, results, coco_categories(gold, "gold"), where, strict=False)


def coco_categories(data: Mapping[str, Any], where: str) -> dict[int, str]:
    """Category id -> name."""
    found: dict[int, str] = {}
    for item in data["categories"]:
        key = item.get("id") if isinstance(item, dict) else None
        if not isinstance(key, int) or isinstance(key, bool) or not isinstance(item.get("name"), str):
            raise _bad(where, f"category {item!r:.80}: needs an integer id and a name")
        if key in found:
            raise _bad(where, f"category id {key} is there twice")
        found[key] = item["name"]
    return found


def _coco_box(item: Mapping[str, Any], names: Mapping[int, str]) -> Detection | str:
    """The box, or what is wrong with it."""
    box, category = item.get("bbox"), item.get("category_id")
    numbers = [finite_number(value) for value in box] if isinstance(box, list) else []
    if len(numbers) != 4 or None in numbers:
        return f"bbox {box!r:.80}: expected four finite numbers"
    if not isinstance(category, int) or isinstance(category, bool) or category not in names:
        return f"category_id {category!r:.80} is not among the categories"
    corners = _corners(numbers, (1.0, 1.0), "xywh")
    if not np.isfinite(corners).all():
        return f"bbox {box!r:.80}: its corners are too large"
    return Detection(names[category], corners)


def _corners(
    numbers: Iterable[Any], size: tuple[float, float], box_format: str
) -> tuple[float, float, float, float]:
    x1, y1, x2, y2 = to_corners(np.array([list(numbers)], np.float64), np.array([size]), box_format)[
        0
    ].tolist()
    return x1, y1, x2, y2


def coco_document(records: Sequence[Record], classes: Sequence[str]) -> dict[str, Any]:
    """COCO JSON of records that know their size; images and categories are numbered from 1."""
    number = {name: at for at, name in enumerate(classes, 1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for at, record in enumerate(records, 1):
        width, height = record.size or (None, None)
        images.append({"id": at, "file_name": record.image_id, "width": width, "height": height})
        for box in record.boxes or []:
            x1, y1, x2, y2 = box.bbox
            w, h = x2 - x1, y2 - y1
            if not math.isfinite(w * h):
                raise _bad(f"{record.image_id!r:.80}", "width, height and area of a box must be finite")
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": at,
                    "category_id": number[box.label],
                    "bbox": [x1, y1, w, h],
                    "area": w * h,
                    "iscrowd": 0,
                }
            )
    categories = [{"id": at, "name": name} for name, at in number.items()]
    return {"images": images, "annotations": annotations, "categories": categories}


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(where, f"no JSON: {error}") from None


# --- YOLO ---------------------------------------------------------------------------------------


def read_yolo(
    folder: Path, names: Sequence[str], sizes: Mapping[str, tuple[float, float]], *, strict: bool
) -> list[Record]:
    """One record per text file; the file's name without `.txt` is the id.

    Args:
        names: Class names by number.
        sizes: Width and height per image id.
        strict: A malformed line refuses everything (gold); else it makes its image invalid.

    Raises:
        SpecError: `bad_convert_input`, `unreadable`.
    """
    found = []
    for file in _files(folder, ".txt"):
        if file.stem not in sizes:
            raise _bad(file, f"the size of image {file.stem!r} is unknown; name gold or the images' folder")
        size = sizes[file.stem]
        boxes: list[Detection] | None = []
        for number, line in enumerate(read_text(file).splitlines(), 1):
            box = _yolo_box(line.split(), names, size) if line.strip() else None
            if line.strip() and box is None:
                if strict:
                    raise _bad(file, f"line {number}: expected `class cx cy w h`")
                boxes = None
                break
            if box is not None and boxes is not None:
                boxes.append(box)
        found.append(Record(file.stem, size, boxes))
    return found


def _yolo_box(words: Sequence[str], names: Sequence[str], size: tuple[float, float]) -> Detection | None:
    if len(words) not in {5, 6} or not _CLASS_NUMBER.fullmatch(words[0]) or int(words[0]) >= len(names):
        return None
    try:
        numbers = [float(word) for word in words[1:5]]
    except ValueError:
        return None
    corners = _corners(numbers, size, "cxcywh_norm")
    return Detection(names[int(words[0])], corners) if np.isfinite(corners).all() else None


def yolo_text(record: Record, classes: Sequence[str]) -> str:
    """One image's lines."""
    if record.size is None:
        raise _bad(record.image_id, "the image's size is unknown")
    width, height = record.size
    lines = []
    for box in record.boxes or []:
        x1, y1, x2, y2 = box.bbox
        numbers = ((x1 + x2) / 2 / width, (y1 + y2) / 2 / height, (x2 - x1) / width, (y2 - y1) / height)
        if not all(map(math.isfinite, numbers)):
            raise _bad(record.image_id, "a box in shares of the image is not finite")
        lines.append(" ".join([str(classes.index(box.label)), *map(repr, numbers)]) + "\n")
    return "".join(lines)


# --- Pascal VOC ---------------------------------------------------------------------------------


def read_voc(folder: Path, *, strict: bool) -> list[Record]:
    """One record per XML file; the file's name without `.xml` is the id.

    Raises:
        SpecError: `bad_convert_input`, `unreadable`.
    """
    found = []
    for file in _files(folder, ".xml"):
        text = read_text(file)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise _bad(file, "declares a document type or entities, which no annotation needs")
        try:
            root = ET.fromstring(text)  # noqa: S314 - entities were refused above
        except (ET.ParseError, ValueError) as error:
            raise _bad(file, f"no XML: {error}") from None
        size = _voc_size(root)
        boxes: list[Detection] | None = []
        for item in root.iter("object"):
            box = _voc_box(item)
            if box is None and strict:
                raise _bad(file, "an object without a name and four finite coordinates")
            boxes = None if box is None or boxes is None else [*boxes, box]
        if strict and size is None:
            raise _bad(file, "size: width and height must be numbers above 0")
        found.append(Record(file.stem, size, boxes))
    return found


def _voc_size(root: ET.Element) -> tuple[float, float] | None:
    width, height = (_number(root.findtext(f"size/{side}")) for side in ("width", "height"))
    return (width, height) if width and height and width > 0 and height > 0 else None


def _voc_box(item: ET.Element) -> Detection | None:
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


# --- raw replies --------------------------------------------------------------------------------


def read_raw(folder: Path, sizes: Mapping[str, tuple[float, float]], box_format: str) -> list[Record]:
    """One record per text file (`.txt`, `.json`, `.md`); the name without its suffix is the image's id.

    Raises:
        SpecError: `bad_convert_input`: an image's size is unknown; `unreadable`, `unknown_box_format`.
    """
    found = []
    for file in _files(folder, ".txt", ".json", ".md"):
        size = sizes.get(file.stem)
        if size is None:
            raise _bad(file, f"gold has no image {file.stem!r}")
        detections = parse_response(read_text(file))
        boxes: list[Detection] | None = None
        if detections is not None:
            boxes = [Detection(one.label, _corners(one.bbox, size, box_format)) for one in detections]
            if not all(np.isfinite(one.bbox).all() for one in boxes):
                boxes = None
        found.append(Record(file.stem, size, boxes))
    return found


def _files(folder: Path, *suffixes: str) -> list[Path]:
    if not folder.is_dir():
        raise _bad(folder, "is no folder")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in suffixes and file.is_file())
    if len({file.stem for file in files}) < len(files):
        raise _bad(folder, "two files have the same name before the suffix")
    if not files:
        raise _bad(folder, f"holds no {' or '.join(suffixes)} file")
    return files


# --- out ----------------------------------------------------------------------------------------


def classes_of(records: Iterable[Record]) -> list[str]:
    """Every class, sorted."""
    return sorted({box.label for record in records for box in record.boxes or []})


def jsonl_text(records: Iterable[Record], kind: str) -> str:
    """Our JSONL."""
    lines = []
    for record in records:
        boxes = [{"class": box.label, "bbox": list(box.bbox)} for box in record.boxes or []]
        row: dict[str, Any] = {"image_id": record.image_id}
        if kind == "gold":
            width, height = record.size or (None, None)
            row |= {"width": width, "height": height, "boxes": boxes}
        elif record.boxes is None:
            row |= {"valid": False, "detections": []}
        else:
            row |= {"valid": True, "detections": boxes}
        lines.append(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n")
    return "".join(lines)


def plain_name(image_id: str) -> str:
    """An id that can be a file's name.

    Raises:
        SpecError: `bad_convert_input`.
    """
    if not _PLAIN_NAME.fullmatch(image_id) or image_id in {".", ".."} or _UNWRITABLE.search(image_id):
        raise _bad(f"{image_id!r:.80}", "this image_id cannot be a file's name")
    return image_id


def plain_classes(classes: Sequence[str], target: str) -> None:
    """Class names that a line of text or an XML element gives back as they were.

    Raises:
        SpecError: `bad_convert_input`.
    """
    for name in classes:
        if _UNWRITABLE.search(name):
            raise _bad(f"class {name!r:.80}", f"{target} cannot hold one of its characters")
