"""Box formats: what the four numbers of a file mean, and how they become corners in pixels.

    xyxy                    x1 y1 x2 y2, pixels
    xywh, coco              x y w h, pixels
    cxcywh                  centre and size, pixels
    xyxy_norm               x1 y1 x2 y2 as shares of width and height
    xywh_norm               x y w h, likewise
    cxcywh_norm, yolo       centre and size, likewise
    xyxy_1000               x1 y1 x2 y2 in thousandths of width and height
    yxyx_1000, gemini       y1 x1 y2 x2, likewise

A format is declared once per model and applied once. Nothing here guesses.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from beholder.errors import SpecError

FloatArray = NDArray[np.float64]

ALIASES = {"coco": "xywh", "yolo": "cxcywh_norm", "gemini": "yxyx_1000"}


def _corners(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    return np.stack([a, b, c, d], axis=1)


def _xywh(v: FloatArray, scale: FloatArray) -> FloatArray:
    x, y, w, h = v.T
    return _corners(x, y, x + w, y + h) * scale


def _cxcywh(v: FloatArray, scale: FloatArray) -> FloatArray:
    x, y, w, h = v.T
    return _corners(x - w / 2, y - h / 2, x + w / 2, y + h / 2) * scale


# Values (N, 4) and scale (N, 4), which is width, height, width, height or 1, to corners (N, 4).
# The order of operations is part of the format: it decides the last bit of a coordinate.
_CONVERT: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "xyxy": lambda v, _: v,
    "xywh": _xywh,
    "cxcywh": _cxcywh,
    "xyxy_norm": lambda v, scale: v * scale,
    "xywh_norm": _xywh,
    "cxcywh_norm": _cxcywh,
    "xyxy_1000": lambda v, scale: v * scale / 1000.0,
    "yxyx_1000": lambda v, scale: v[:, [1, 0, 3, 2]] * scale / 1000.0,
}
_RELATIVE = frozenset(name for name in _CONVERT if name.endswith(("_norm", "_1000")))

BOX_FORMATS = tuple(_CONVERT)


def canonical_format(name: str) -> str:
    """The format's own name for a name or an alias.

    Raises:
        SpecError: `unknown_box_format`.
    """
    found = ALIASES.get(name, name)
    if found not in _CONVERT:
        known = ", ".join([*BOX_FORMATS, *ALIASES])
        raise SpecError(
            f"box format {name!r} is unknown; known are {known}", slug="unknown_box_format", concerns=name
        )
    return found


def to_corners(values: FloatArray, size: FloatArray, box_format: str) -> FloatArray:
    """Corners x1 y1 x2 y2 in pixels.

    Args:
        values: (N, 4) float64 in `box_format`.
        size: (N, 2) float64, width and height in pixels of the image that each box lies in.
        box_format: A name or alias of the table above.

    Returns:
        (N, 4) float64; infinite or NaN where the arithmetic leaves the range of float64. Corners are
        neither reordered nor clipped.

    Raises:
        SpecError: `unknown_box_format`.
    """
    name = canonical_format(box_format)
    scale = np.tile(size, 2) if name in _RELATIVE else np.ones(1)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(_CONVERT[name](values, scale))


def is_degenerate(corners: FloatArray) -> NDArray[np.bool_]:
    """(N,) bool: boxes without x2 > x1 and y2 > y1. They match nothing and are kept in every count."""
    return ~((corners[:, 2] > corners[:, 0]) & (corners[:, 3] > corners[:, 1]))


def is_outside(corners: FloatArray, size: FloatArray) -> NDArray[np.bool_]:
    """(N,) bool: boxes that reach over an edge of their image; IoU takes them as they are."""
    return (corners[:, 0] < 0) | (corners[:, 1] < 0) | (corners[:, 2:] > size).any(axis=1)
