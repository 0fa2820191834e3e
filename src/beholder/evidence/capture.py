"""Pictures of a page that stands still, piece by piece, as PNG bytes straight from the browser."""

from __future__ import annotations

import base64
import io
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beholder.evidence.cdp import Session

if TYPE_CHECKING:
    from PIL import Image

MAX_SLICE_PX = 16_384
"""Chromium's texture limit: what is captured beyond it in one piece comes out white or repeated."""

MAX_HEIGHT_PX = 50_000
"""A page is captured down to here; the rest is named in a `truncated` warning."""

MAX_WIDTH_PX = 16_384

MAX_AREA_PX = 80_000_000
"""A wide page is captured down to this many pixels: 240 MB once decoded, and below what Pillow warns of."""

THUMB_SCALE = 0.25
"""Of the small picture that tells a flat or changing page; text still leaves a mark at this size."""

THUMB_HEIGHT_PX = 8_000


@dataclass(frozen=True, slots=True)
class Box:
    """A piece of a page or picture, in its pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Shot:
    """A piece of a page as it was captured in natural size."""

    box: Box
    png: bytes


async def capture_box(session: Session, box: Box, *, scale: float = 1.0) -> bytes:
    """PNG of one box, at most `MAX_SLICE_PX` high.

    The lossless PNG is compressed for speed: compression is otherwise half of a screenshot's time.
    """
    answer = await session.call(
        "Page.captureScreenshot",
        format="png",
        optimizeForSpeed=True,
        fromSurface=True,
        captureBeyondViewport=True,
        clip={"x": box.x, "y": box.y, "width": box.width, "height": box.height, "scale": scale},
    )
    return base64.b64decode(answer["data"])


async def capture_slices(session: Session, box: Box) -> list[Shot]:
    """Captures that, one below the other, are the box: every row once."""
    shots = []
    for top in range(box.y, box.y + box.height, MAX_SLICE_PX):
        height = min(MAX_SLICE_PX, box.y + box.height - top)
        piece = Box(box.x, top, box.width, height)
        shots.append(Shot(piece, await capture_box(session, piece)))
    return shots


def surrounding(boxes: Iterable[Box]) -> Box:
    """The smallest box around boxes, of which there is at least one."""
    boxes = list(boxes)
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right = max(box.x + box.width for box in boxes)
    bottom = max(box.y + box.height for box in boxes)
    return Box(left, top, right - left, bottom - top)


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height by the PNG's header (PNG specification, 11.2.2)."""
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def join_slices(slices: list[bytes]) -> Image.Image:
    """One RGB image of slices of equal width, top to bottom."""
    from PIL import Image as Images

    opened = [Images.open(io.BytesIO(data), formats=["PNG"]) for data in slices]
    images: list[Image.Image] = [one if one.mode == "RGB" else one.convert("RGB") for one in opened]
    if len(images) == 1:
        images[0].load()
        return images[0]
    joined = Images.new("RGB", (images[0].width, sum(image.height for image in images)))
    top = 0
    for image in images:
        joined.paste(image, (0, top))
        top += image.height
    return joined
