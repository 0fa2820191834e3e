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
from beholder.evidence.layout import scaled_size
from beholder.records import MediaLimits

Pixels = NDArray[np.uint8]
"""(height, width, 3), blue green red."""

JPEG_QUALITY = 92
"""For photographs: edges of text in a scan show no ringing that a person would notice."""

DRAWN_SHARE = 0.6
"""A picture is drawn rather than photographed if this share of neighbouring pixels are equal.

Pages of text have 0.8 and more, photographs and scans below 0.3.
"""

FLAT_SHARE = 0.9999
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
    if is_grey(pixels):
        pixels = np.ascontiguousarray(pixels[:, :, 0])
    return _imencode(".png", pixels, settings), "image/png", "encoded as PNG, lossless"


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


def is_grey(pixels: Pixels) -> bool:
    """Whether red, green and blue are equal everywhere."""
    sample = pixels[:: max(1, pixels.shape[0] // _ROWS)]
    if not _equal_channels(sample):
        return False
    return _equal_channels(pixels)


def _equal_channels(pixels: Pixels) -> bool:
    blue = pixels[:, :, 0]
    return np.array_equal(blue, pixels[:, :, 1]) and np.array_equal(blue, pixels[:, :, 2])


def is_flat_pixels(pixels: Pixels) -> bool:
    """Whether `FLAT_SHARE` of the pixels have one colour, each channel within `FLAT_STEP` of it."""
    step_y, step_x = (max(1, length // 128) for length in pixels.shape[:2])
    # A sample tells that most pictures are not flat, at a hundredth of the whole count's cost.
    return _of_one_colour(pixels[::step_y, ::step_x], FLAT_SHARE - 0.05) and _of_one_colour(
        pixels, FLAT_SHARE
    )


def _of_one_colour(pixels: Pixels, share: float) -> bool:
    least = share * pixels.shape[0] * pixels.shape[1]
    for channel in range(3):
        counts = np.bincount(pixels[:, :, channel].ravel(), minlength=256)
        peak = int(counts.argmax())
        if counts[max(0, peak - FLAT_STEP) : peak + FLAT_STEP + 1].sum() < least:
            return False
    return True


def shrink_pixels(pixels: Pixels, scale: float) -> tuple[Pixels, str]:
    """(the picture at `scale` in (0, 1], what to say of it)."""
    height, width = pixels.shape[:2]
    size = scaled_size(width, height, scale)
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    words = f"shrunk from {width}x{height} to {size[0]}x{size[1]} (area mean, factor {scale:.3f})"
    return np.asarray(small, dtype=np.uint8), words
