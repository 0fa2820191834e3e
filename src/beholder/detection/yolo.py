"""YOLO: a folder of text files, one an image, `class cx cy w h [confidence]` in shares of the image.

Class names stand in a file of their own, by line number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from beholder.detection.foreign import Record, bad_input, corners_px, files_of, read_text
from beholder.detection.replies import Detection

_CLASS_NUMBER = re.compile("[0-9]{1,9}")


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
    for file in files_of(folder, ".txt"):
        if file.stem not in sizes:
            raise bad_input(
                file, f"the size of image {file.stem!r} is unknown; name gold or the images' folder"
            )
        size = sizes[file.stem]
        boxes: list[Detection] | None = []
        for number, line in enumerate(read_text(file).splitlines(), 1):
            box = _box(line.split(), names, size) if line.strip() else None
            if line.strip() and box is None:
                if strict:
                    raise bad_input(file, f"line {number}: expected `class cx cy w h`")
                boxes = None
                break
            if box is not None and boxes is not None:
                boxes.append(box)
        found.append(Record(file.stem, size, boxes))
    return found


def _box(words: Sequence[str], names: Sequence[str], size: tuple[float, float]) -> Detection | None:
    if len(words) not in {5, 6} or not _CLASS_NUMBER.fullmatch(words[0]) or int(words[0]) >= len(names):
        return None
    try:
        numbers = [float(word) for word in words[1:5]]
    except ValueError:
        return None
    corners = corners_px(numbers, size, "cxcywh_norm")
    return Detection(names[int(words[0])], corners) if np.isfinite(corners).all() else None


def yolo_text(record: Record, classes: Sequence[str]) -> str:
    """One image's lines.

    Raises:
        SpecError: `bad_convert_input`: its size is unknown, or a share of it is not finite.
    """
    if record.size is None:
        raise bad_input(record.image_id, "the image's size is unknown")
    width, height = record.size
    lines = []
    for box in record.boxes or []:
        x1, y1, x2, y2 = box.bbox
        numbers = ((x1 + x2) / 2 / width, (y1 + y2) / 2 / height, (x2 - x1) / width, (y2 - y1) / height)
        if not all(map(math.isfinite, numbers)):
            raise bad_input(record.image_id, "a box in shares of the image is not finite")
        lines.append(" ".join([str(classes.index(box.label)), *map(repr, numbers)]) + "\n")
    return "".join(lines)
