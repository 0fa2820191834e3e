"""Raw replies: a folder of text files, one an image, each read as `replies.py` reads a model's answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from beholder.detection.foreign import Record, bad_input, corners_px, files_of, read_text
from beholder.detection.replies import Detection, parse_response


def read_raw(folder: Path, sizes: Mapping[str, tuple[float, float]], box_format: str) -> list[Record]:
    """One record per text file (`.txt`, `.json`, `.md`); the name without its suffix is the image's id.

    Raises:
        SpecError: `bad_convert_input`: an image's size is unknown; `unreadable`, `unknown_box_format`.
    """
    found = []
    for file in files_of(folder, ".txt", ".json", ".md"):
        size = sizes.get(file.stem)
        if size is None:
            raise bad_input(file, f"gold has no image {file.stem!r}")
        detections = parse_response(read_text(file))
        boxes: list[Detection] | None = None
        if detections is not None:
            boxes = [Detection(one.label, corners_px(one.bbox, size, box_format)) for one in detections]
            if not all(np.isfinite(one.bbox).all() for one in boxes):
                boxes = None
        found.append(Record(file.stem, size, boxes))
    return found
