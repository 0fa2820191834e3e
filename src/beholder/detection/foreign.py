"""What the readers and writers of other tools' box files share: one image's record, files, names.

Boxes are written as corners in pixels. Gold is read strictly. A malformed prediction makes its image invalid;
it is written so, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from beholder.detection.formats import to_corners
from beholder.detection.replies import Detection
from beholder.errors import SpecError

# What a line of text or an XML element does not give back as it was: control characters, every separator of
# lines, half a surrogate pair, a byte order mark.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_PLAIN_NAME = re.compile(r"[^/\\]+")

Corners = tuple[float, float, float, float]
"""x1, y1, x2, y2 in pixels."""


@dataclass(frozen=True)
class Record:
    """One image: its id, its size where it is known, its boxes in pixels; None for a malformed answer."""

    image_id: str
    size: tuple[float, float] | None
    boxes: list[Detection] | None


def bad_input(where: Path | str, what: str) -> SpecError:
    """The refusal of a file, or of what cannot be written as wanted."""
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


def files_of(folder: Path, *suffixes: str) -> list[Path]:
    """The folder's files with one of these suffixes, sorted; their names without it are images' ids.

    Raises:
        SpecError: `bad_convert_input`: no folder, no such file, or two of one name.
    """
    if not folder.is_dir():
        raise bad_input(folder, "is no folder")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in suffixes and file.is_file())
    if len({file.stem for file in files}) < len(files):
        raise bad_input(folder, "two files have the same name before the suffix")
    if not files:
        raise bad_input(folder, f"holds no {' or '.join(suffixes)} file")
    return files


def corners_px(numbers: Iterable[float], size: tuple[float, float], box_format: str) -> Corners:
    """Four numbers of some format as corners in pixels; not finite where they are too large."""
    box = np.array([list(numbers)], np.float64)
    x1, y1, x2, y2 = to_corners(box, np.array([size]), box_format)[0].tolist()
    return x1, y1, x2, y2


def classes_of(records: Iterable[Record]) -> list[str]:
    """Every class, sorted."""
    return sorted({box.label for record in records for box in record.boxes or []})


def plain_name(image_id: str) -> str:
    """An id that can be a file's name.

    Raises:
        SpecError: `bad_convert_input`.
    """
    if not _PLAIN_NAME.fullmatch(image_id) or image_id in {".", ".."} or _UNWRITABLE.search(image_id):
        raise bad_input(f"{image_id!r:.80}", "this image_id cannot be a file's name")
    return image_id


def check_class_names(classes: Sequence[str], target: str) -> None:
    """Refuse class names that a line of text or an XML element does not give back as they were.

    Raises:
        SpecError: `bad_convert_input`.
    """
    for name in classes:
        if _UNWRITABLE.search(name):
            raise bad_input(f"class {name!r:.80}", f"{target} cannot hold one of its characters")
