"""Annotations of several people -> who rated which image, and what they saw.

    {"image_id": str|int, "annotator": str|int, "group": str?,
     "boxes": [{"class": str, "bbox": [x1, y1, x2, y2]}]}

One record a line. No row: that person did not rate the image. No boxes: rated, nothing is there. A `group`
names a round or a part of the images that is also reported alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from beholder.detection.boxes import Boxes
from beholder.detection.read import Lines, Source, identity, parse_object
from beholder.detection.replies import read_detections
from beholder.errors import SpecError


@dataclass(frozen=True)
class Annotations:
    """All rows, sorted by image, annotator and group, so that the order of the file does not matter.

    Attributes:
        image_ids, annotators, groups: Names, sorted; `groups` without the rows that have none.
        image, annotator, group: (A,) per row, positions among the names; group -1 for none.
        boxes: `image` of each box is its row's position among the rows, not among the images.
        sha256: Digest of the file's bytes.
    """

    image_ids: tuple[str, ...]
    annotators: tuple[str, ...]
    groups: tuple[str, ...]
    image: NDArray[np.int64]
    annotator: NDArray[np.int64]
    group: NDArray[np.int64]
    boxes: Boxes
    sha256: str = ""


def load_annotations(source: Source, *, name: str = "") -> Annotations:
    """Annotations, read strictly.

    Raises:
        SpecError: `annotations_empty, annotations_bad_json, annotations_bad_row, annotations_bad_boxes,
            annotations_duplicate, unreadable`.
    """
    name = name or (str(source) if isinstance(source, Path) else "annotations")
    lines = Lines(source)
    rows = []
    for block in lines:
        for at, line in enumerate(block):
            if not line.strip():
                continue
            where = f"{name}: line {lines.line + at}"
            value = parse_object(line)
            if value is None:
                raise _refused(where, "annotations_bad_json", "is not a JSON object")
            image_id, annotator = identity(value.get("image_id")), identity(value.get("annotator"))
            if image_id is None or annotator is None:
                raise _refused(
                    where, "annotations_bad_row", "needs image_id and annotator, texts or integers"
                )
            group = None if value.get("group") is None else identity(value["group"])
            if group is None and value.get("group") is not None:
                raise _refused(where, "annotations_bad_row", "has a group that is no text or integer")
            boxes = read_detections(value.get("boxes"))
            if boxes is None:
                raise _refused(
                    where, "annotations_bad_boxes", "has a box without a class and four finite numbers"
                )
            rows.append((image_id, annotator, group, boxes))
    if not rows:
        raise _refused(name, "annotations_empty", "has no annotation")
    rows.sort(key=lambda row: row[:2])
    for before, row in pairwise(rows):
        if before[:2] == row[:2]:
            raise _refused(name, "annotations_duplicate", f"has two rows of {row[1]!r} for image {row[0]!r}")
    images = sorted({row[0] for row in rows})
    people = sorted({row[1] for row in rows})
    groups = sorted({row[2] for row in rows if row[2] is not None})
    number = [{text: at for at, text in enumerate(names)} for names in (images, people, groups)]
    seen = [(at, box) for at, row in enumerate(rows) for box in row[3]]
    classes = sorted({box.label for _, box in seen})
    code = {label: at for at, label in enumerate(classes)}
    return Annotations(
        tuple(images),
        tuple(people),
        tuple(groups),
        np.array([number[0][row[0]] for row in rows], np.int64),
        np.array([number[1][row[1]] for row in rows], np.int64),
        np.array([-1 if row[2] is None else number[2][row[2]] for row in rows], np.int64),
        Boxes(
            np.array([at for at, _ in seen], np.int32),
            np.array([code[box.label] for _, box in seen], np.int32),
            np.array([box.bbox for _, box in seen], np.float64).reshape(-1, 4),
            tuple(classes),
        ),
        lines.sha256,
    )


def _refused(where: str, slug: str, what: str) -> SpecError:
    return SpecError(f"{where} {what}", slug=slug, concerns=where)
