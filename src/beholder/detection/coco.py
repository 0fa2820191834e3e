"""COCO JSON: {"images", "annotations", "categories"}, boxes x y w h.

Predictions are written so, too, or as the list of results [{"image_id", "category_id", "bbox", "score"}],
whose images and categories stand in the gold file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from beholder.detection.foreign import Record, bad_input, corners_px
from beholder.detection.read import identity
from beholder.detection.replies import Detection, finite_number


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
        raise bad_input(where, "expected an object with the lists images, annotations and categories")
    images = _images(data["images"], where, by_file_name=by_file_name)
    return _with_boxes(images, data["annotations"], _categories(data, where), where, strict=strict)


def _images(images: list[Any], where: str, *, by_file_name: bool) -> dict[str, Record]:
    """Records without boxes, by the text of the image's id."""
    found: dict[str, Record] = {}
    names: set[str] = set()
    for image in images:
        fields = image if isinstance(image, dict) else {}
        key = identity(fields.get("id"))
        name = identity(fields.get("file_name")) if by_file_name else key
        width, height = (finite_number(fields.get(side)) for side in ("width", "height"))
        if key is None or name is None or not width or not height or min(width, height) < 0:
            raise bad_input(where, f"image {image!r:.80}: needs an id, and a width and a height above 0")
        if key in found or name in names:
            raise bad_input(where, f"image {name if key not in found else key!r:.80} is there twice")
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
            raise bad_input(where, f"{item!r:.80}: no image has this image_id")
        detection = _box(item, names)
        if isinstance(detection, str):
            if strict:
                raise bad_input(where, f"a box of image {key!r:.80}: {detection}")
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
    images = _images(gold["images"], "gold", by_file_name=by_file_name)
    results = _json(text, where)
    if not isinstance(results, list):
        raise bad_input(where, "expected a list of results")
    return _with_boxes(images, results, _categories(gold, "gold"), where, strict=False)


def _categories(data: Mapping[str, Any], where: str) -> dict[int, str]:
    """Category id -> name."""
    found: dict[int, str] = {}
    for item in data["categories"]:
        key = item.get("id") if isinstance(item, dict) else None
        if not isinstance(key, int) or isinstance(key, bool) or not isinstance(item.get("name"), str):
            raise bad_input(where, f"category {item!r:.80}: needs an integer id and a name")
        if key in found:
            raise bad_input(where, f"category id {key} is there twice")
        found[key] = item["name"]
    return found


def _box(item: Mapping[str, Any], names: Mapping[int, str]) -> Detection | str:
    """The box, or what is wrong with it."""
    box, category = item.get("bbox"), item.get("category_id")
    numbers = [finite_number(value) for value in box] if isinstance(box, list) else []
    finite = [number for number in numbers if number is not None]
    if not len(numbers) == len(finite) == 4:
        return f"bbox {box!r:.80}: expected four finite numbers"
    if not isinstance(category, int) or isinstance(category, bool) or category not in names:
        return f"category_id {category!r:.80} is not among the categories"
    corners = corners_px(finite, (1.0, 1.0), "xywh")
    if not np.isfinite(corners).all():
        return f"bbox {box!r:.80}: its corners are too large"
    return Detection(names[category], corners)


def coco_document(records: Sequence[Record], classes: Sequence[str]) -> dict[str, Any]:
    """COCO JSON of records that know their size; images and categories are numbered from 1.

    Raises:
        SpecError: `bad_convert_input`: the area of a box is not finite.
    """
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
                raise bad_input(f"{record.image_id!r:.80}", "width, height and area of a box must be finite")
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
        raise bad_input(where, f"no JSON: {error}") from None
