"""Drawn pages and frames of a video, as arrays, to the bytes that are sent.

Measured on pages at 1212 x 1568 px, CPU seconds a page: Pillow's PNG 0.034, OpenCV's PNG without row filters
0.015, JPEG 0.007. Without filters a page of text is no larger, for its lines are runs of one colour.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from beholder.errors import RendererFailed
from beholder.evidence.pictures import FLAT_SHARE
from beholder.records import MediaLimits

Pixels = NDArray[np.uint8]
"""(height, width, 3), blue green red."""

JPEG_QUALITY = 92
"""For photographs: edges of text in a scan show no ringing that a person would notice."""

DRAWN_SHARE = 0.6
"""A picture is drawn rather than photographed if this share of neighbouring pixels are equal.

Pages of text have 0.8 and more, photographs and scans below 0.3.
"""

FLAT_STEP = 2
"""As in `pictures`: one colour is all that differs by at most this in each channel, of 255."""

_ROWS = 64
"""Rows that are looked at to tell drawings from photographs."""


def encode_pixels(pixels: Pixels, limits: MediaLimits) -> tuple[bytes, str, str]:
    """(bytes, media type, words): PNG for what is drawn, JPEG for photographs, where the judge takes both.

    Raises:
        RendererFailed: It cannot be encoded.
    """
    takes_png, takes_jpeg = (f"image/{name}" in limits.media_types for name in ("png", "jpeg"))
    if takes_jpeg and not (takes_png and is_drawn(pixels)):
        settings = [
            *(cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY),
            *(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
        ]
        return _imencode(".jpg", pixels, settings), "image/jpeg", f"encoded as JPEG, quality {JPEG_QUALITY}"
    settings = [
        *(cv2.IMWRITE_PNG_COMPRESSION, 1),
        *(cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_NONE),
    ]
    grey = grey_of(pixels)
    data = _imencode(".png", pixels if grey is None else grey, settings)
    return data, "image/png", "encoded as PNG, lossless"


def _imencode(suffix: str, pixels: Any, settings: list[int]) -> bytes:
    try:
        done, data = cv2.imencode(suffix, pixels, settings)
    except cv2.error as error:
        raise RendererFailed(f"cannot be encoded as {suffix}: {error}") from error
    if not done:
        raise RendererFailed(f"cannot be encoded as {suffix}")
    return data.tobytes()


def is_drawn(pixels: Pixels) -> bool:
    """Whether the picture has areas of one colour, as text, charts and drawings have."""
    rows = pixels[:: max(1, pixels.shape[0] // _ROWS)]
    if rows.shape[1] < 2:
        return True
    return bool((rows[:, 1:] == rows[:, :-1]).all(axis=2).mean() >= DRAWN_SHARE)


def grey_of(pixels: Pixels) -> Pixels | None:
    """(height, width): the one channel of a picture in which red, green and blue are equal; else None."""
    sample = pixels[:: max(1, pixels.shape[0] // _ROWS)]
    # Most coloured pictures are told by a few rows.
    if not np.array_equal(sample[:, :, 0], sample[:, :, 2]):
        return None
    blue, green, red = cv2.split(pixels)
    if cv2.norm(blue, green, cv2.NORM_INF) or cv2.norm(blue, red, cv2.NORM_INF):
        return None
    return np.asarray(blue, dtype=np.uint8)


def is_flat_pixels(pixels: Pixels) -> bool:
    """Whether `FLAT_SHARE` of the pixels have one colour, each channel within `FLAT_STEP` of it."""
    step_y, step_x = (max(1, length // 128) for length in pixels.shape[:2])
    sample = np.ascontiguousarray(pixels[::step_y, ::step_x])
    colour = np.median(sample.reshape(-1, 3), axis=0)
    # A sample tells that most pictures are not flat, at a hundredth of the whole count's cost.
    return _share_near(sample, colour) >= FLAT_SHARE - 0.05 and _share_near(pixels, colour) >= FLAT_SHARE


def _share_near(pixels: Pixels, colour: NDArray[np.float64]) -> float:
    near = cv2.inRange(pixels, colour - FLAT_STEP, colour + FLAT_STEP)
    return cv2.countNonZero(near) / near.size
