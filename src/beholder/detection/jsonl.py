"""Our own JSONL as records, and back (read.py tells what a line holds)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from beholder.detection.boxes import INVALID, VALID, Boxes, Gold, Predictions
from beholder.detection.foreign import Record
from beholder.detection.replies import Detection


def gold_records(gold: Gold) -> list[Record]:
    """Gold that was read."""
    boxes = _by_image(gold.boxes, len(gold))
    sizes = gold.size.tolist()
    return [
        Record(name, (w, h), found) for name, (w, h), found in zip(gold.image_ids, sizes, boxes, strict=True)
    ]


def prediction_records(model: Predictions, gold: Gold) -> list[Record]:
    """The answers to gold images: valid and invalid ones; the missing have no record."""
    found = _by_image(model.boxes, len(gold))
    answers = zip(gold.image_ids, gold.size.tolist(), model.status.tolist(), found, strict=True)
    return [
        Record(name, (w, h), boxes if status == VALID else None)
        for name, (w, h), status, boxes in answers
        if status in {VALID, INVALID}
    ]


def _by_image(boxes: Boxes, images: int) -> list[list[Detection]]:
    """The boxes of each image, by its position."""
    found: list[list[Detection]] = [[] for _ in range(images)]
    rows = zip(boxes.image.tolist(), boxes.label.tolist(), boxes.corners.tolist(), strict=True)
    for at, code, (x1, y1, x2, y2) in rows:
        found[at].append(Detection(boxes.classes[code], (x1, y1, x2, y2)))
    return found


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
