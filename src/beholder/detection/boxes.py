"""The nouns of the room: gold boxes, one model's boxes, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from beholder.detection.formats import FloatArray, is_degenerate, is_outside

IntArray = NDArray[np.int32]

MISSING, INVALID, VALID = 0, 1, 2


@dataclass(frozen=True)
class Boxes:
    """Boxes of many images, one row a box, in no order that matters.

    Attributes:
        image: (B,) int32, position of the box's image in `Gold.image_ids`.
        label: (B,) int32, position of the box's class in `classes`.
        corners: (B, 4) float64, x1 y1 x2 y2 in pixels, as the file says: not clipped, not reordered.
        classes: Class names, in the order of first appearance.
    """

    image: IntArray
    label: IntArray
    corners: FloatArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.image)

    @cached_property
    def degenerate(self) -> NDArray[np.bool_]:
        """(B,) bool: no area."""
        return is_degenerate(self.corners)


@dataclass(frozen=True)
class Gold:
    """What is really there.

    Attributes:
        image_ids: (N) ids as text, in file order.
        size: (N, 2) float64, width and height in pixels.
        boxes: The boxes.
        sha256: Digest of the file's bytes, or "".
    """

    image_ids: tuple[str, ...]
    size: FloatArray
    boxes: Boxes
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.image_ids)

    @cached_property
    def position(self) -> dict[str, int]:
        """Image id -> position."""
        return {name: at for at, name in enumerate(self.image_ids)}

    @cached_property
    def n_boxes(self) -> NDArray[np.int64]:
        """(N,) number of gold boxes per image."""
        return np.bincount(self.boxes.image, minlength=len(self))


@dataclass(frozen=True)
class Predictions:
    """What one model answered.

    Attributes:
        name: The model.
        box_format: The declared format, by its canonical name; `boxes` are corners already.
        status: (N,) uint8 per gold image: MISSING no row, INVALID a malformed answer, VALID.
        boxes: The boxes of valid answers on gold images.
        bad_lines: Lines that are no JSON object with an id.
        unknown_images: Rows for images that gold does not have.
        sha256: Digest of the file's bytes, or "".
    """

    name: str
    box_format: str
    status: NDArray[np.uint8]
    boxes: Boxes
    bad_lines: int = 0
    unknown_images: int = 0
    sha256: str = ""
    provenance: dict[str, object] = field(default_factory=dict)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(N,) bool: the images with a valid answer."""
        valid: NDArray[np.bool_] = self.status == VALID
        return valid

    def n_outside(self, gold: Gold) -> int:
        """Boxes that reach over an edge of their image."""
        return int(is_outside(self.boxes.corners, gold.size[self.boxes.image]).sum())


def boxes_from_arrays(image: Sequence[int], classes: Sequence[str], corners: FloatArray) -> Boxes:
    """Boxes from plain arrays: image positions (B,), class names (B,), corners (B, 4) in pixels.

    Raises:
        ValueError: Lengths differ, or a corner is not finite.
    """
    where = np.asarray(image, np.int32)
    rows = np.asarray(corners, np.float64).reshape(-1, 4)
    if not len(where) == len(classes) == len(rows):
        raise ValueError(
            f"{len(where)} images, {len(classes)} classes and {len(rows)} boxes do not go together"
        )
    if not np.isfinite(rows).all():
        raise ValueError("corners must be finite")
    codes: dict[str, int] = {}
    label = np.fromiter((codes.setdefault(name, len(codes)) for name in classes), np.int32, len(classes))
    return Boxes(where, label, rows, tuple(codes))


def predictions_from_boxes(name: str, boxes: Boxes, gold: Gold) -> Predictions:
    """A model that answered every gold image; the images without a box with nothing."""
    return Predictions(name, "xyxy", np.full(len(gold), VALID, np.uint8), boxes)
