"""The several pictures in one image file: frames of an animation, or pages of a TIFF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beholder.errors import BrokenArtifact
from beholder.evidence.frames import MAX_FRAMES, spread
from beholder.evidence.pictures import DAMAGED

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 178_956_970
"""Pillow's own limit for a bomb (twice `MAX_IMAGE_PIXELS`): refused by header, before decoding."""

MAX_ANIMATION_PIXELS = 2_000_000_000
"""Pixels of all frames together: a minute of 25 frames a second at 1280x720 has 1.4 thousand million.

Frames build on one another, so that the last one costs the decoding of all.
"""

_LISTED_PAGES = 256
"""Pages of a TIFF whose headers are looked at."""

_SUBFILE_TYPE, _REDUCED = 254, 1
"""TIFF 6.0, NewSubfileType: bit 0 marks a smaller copy of another page."""

_BITS, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0
"""TIFF 6.0, BitsPerSample and PhotometricInterpretation."""

_SHORTEST_MS, _SHORT_SHOWN_MS = 10, 100
"""Browsers show a frame that asks for 10 ms or less for 100 ms."""

_CLOCKED = ("WEBP", "AVIF")
"""Formats whose frames carry their time and are reached without showing the earlier ones."""


@dataclass(frozen=True, slots=True)
class View:
    """One of the pictures, decoded.

    Attributes:
        time_s: When it appears, of an animation.
        page: 1-based, of a file with pages.
        grey_bits: Bits of a grey value, where they are fewer than the decoder's type has room for.
        white_is_zero: Its grey values mean the opposite, and the decoder has left them so.
    """

    image: Image.Image
    time_s: float | None = None
    page: int | None = None
    grey_bits: int | None = None
    white_is_zero: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """What an image file holds.

    Attributes:
        kind: `still`, `animation` or `pages`.
        views: Those to be shown, at least one.
        count: How many there are; None if what follows the first is damaged.
        damaged: Some that should be shown cannot be decoded.
    """

    kind: str
    views: tuple[View, ...]
    count: int | None
    damaged: bool = False


def read_series(name: str, image: Image.Image, pages: int, budget: int) -> Series:
    """Decode what is to be shown of an opened file whose header is sound.

    Args:
        pages: Pages at most, of a file with pages.
        budget: Pictures at most.

    Raises:
        BrokenArtifact: `too_large`.
        One of `DAMAGED`: The first picture cannot be decoded.
    """
    _check_size(name, image)
    try:
        # A camera's JPEG with a preview behind it is one picture to everybody else.
        count = 1 if image.format == "MPO" else int(getattr(image, "n_frames", 1))
    except DAMAGED:
        image.seek(0)
        return Series("still", (View(_copy(image)),), None, damaged=True)
    if image.format == "TIFF" and count > 1:
        return _read_pages(name, image, count, min(pages, budget))
    # An APNG may begin with a picture for programs that know no animation.
    start = 1 if count > 1 and image.info.get("default_image") else 0
    if count - start <= 1:
        # No copy: the largest pictures fit into a decoder's memory only once.
        image.seek(start)
        image.load()
        return Series("still", (View(image, **_grey(image)),), 1)
    if count * image.width * image.height > MAX_ANIMATION_PIXELS:
        detail = f"{count} frames of {image.width}x{image.height}: more than {MAX_ANIMATION_PIXELS} pixels"
        raise BrokenArtifact(detail, slug="too_large", concerns=name)
    return _read_frames(image, start, count, min(budget, MAX_FRAMES))


def _check_size(name: str, image: Image.Image) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise BrokenArtifact(f"more than {MAX_PIXELS} pixels by its header", slug="too_large", concerns=name)


def _copy(image: Image.Image) -> Image.Image:
    """The present frame, decoded, with the metadata of its own."""
    image.load()
    exif = image.getexif() if image.format == "TIFF" else None
    copy = image.copy()
    if exif is not None:
        copy.getexif().update({tag: exif[tag] for tag in (0x0112,) if tag in exif})
    return copy


def _read_frames(image: Image.Image, start: int, count: int, most: int) -> Series:
    """The first frame, the last and those evenly between; with one picture the first."""
    chosen = (0,) if most == 1 else spread(count - start, most)
    wanted = {start + at for at in chosen}
    views: list[View] = []
    clock_ms = 0.0
    clocked = image.format in _CLOCKED
    damaged = False
    for at in sorted(wanted) if clocked else range(start, max(wanted) + 1):
        try:
            image.seek(at)
            if at in wanted:
                frame = _copy(image)
                second = float(image.info.get("timestamp", 0)) if clocked else clock_ms
                views.append(View(frame, time_s=round(second / 1000, 3)))
            asked = float(image.info.get("duration") or 0)
        except DAMAGED:
            if not views:
                raise
            damaged = True
            break
        clock_ms += asked if asked > _SHORTEST_MS else _SHORT_SHOWN_MS
    return Series("animation", tuple(views), count - start, damaged)


def _read_pages(name: str, image: Image.Image, count: int, most: int) -> Series:
    """The first pages, without the smaller copies that some programs put beside them."""
    numbers = []
    for at in range(min(count, _LISTED_PAGES)):
        image.seek(at)
        if at == 0 or not _is_reduced(image):
            numbers.append(at)
    in_all = len(numbers) + count - min(count, _LISTED_PAGES)
    views: list[View] = []
    damaged = False
    for page, at in enumerate(numbers[:most], start=1):
        try:
            image.seek(at)
            _check_size(name, image)
            views.append(View(_copy(image), page=page if in_all > 1 else None, **_grey(image)))
        except DAMAGED:
            if page == 1:
                raise
            damaged = True
    return Series("pages" if in_all > 1 else "still", tuple(views), in_all, damaged)


def _grey(image: Image.Image) -> dict[str, Any]:
    """What the present page says of its grey values, where they have more than 8 bits."""
    tags = getattr(image, "tag_v2", {})
    if image.mode[:1] not in {"I", "F"} or not tags:
        return {}
    bits = tags.get(_BITS, (16,))
    few = bits[0] if isinstance(bits, tuple) and len(bits) == 1 and 8 < bits[0] < 16 else None
    return {"grey_bits": few, "white_is_zero": tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO}


def _is_reduced(image: Image.Image) -> bool:
    tags = getattr(image, "tag_v2", {})
    try:
        return bool(int(tags.get(_SUBFILE_TYPE, 0)) & _REDUCED)
    except DAMAGED:
        return False
