"""Pixels to bytes: encoding, shrinking, and the last check that nothing above a limit is sent."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from beholder.errors import RendererFailed, RenderError
from beholder.evidence.capture import Box
from beholder.evidence.layout import scaled_size
from beholder.records import MediaLimits, Picture, Warning_

if TYPE_CHECKING:
    from PIL import Image

REQUEST_RESERVE_BYTES = 1_000_000
"""Of a request's size kept for the prompt and the wire's own words."""

_LOSSY_QUALITY = (95, 88, 78)
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}

DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What Pillow's decoders raise for damaged files, found by damaging files of every format."""

FLAT_SHARE = 0.99999
"""A picture is blank if this share of its pixels has one colour: a short word on an empty page has more."""

_SAMPLE_PX = 128
_FLAT_STEP = 2
"""Difference in a channel, of 255, that still is the same colour."""


class TooLarge(RenderError):
    """The evidence cannot be made to fit the judge's limits."""

    default_slug = "evidence_too_large"


def base64_bytes(size: int) -> int:
    """Length of `size` bytes as base64 (RFC 4648)."""
    return (size + 2) // 3 * 4


def make_picture(
    data: bytes,
    media_type: str,
    size: tuple[int, int],
    source: str,
    *,
    part: int | None = None,
    parts: int | None = None,
    transforms: tuple[str, ...] = (),
) -> Picture:
    """A picture of these very bytes."""
    return Picture(
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=media_type,
        width_px=size[0],
        height_px=size[1],
        size_bytes=len(data),
        source=source,
        part=part,
        parts=parts,
        transforms=transforms,
        data=data,
    )


def encode(image: Image.Image, media_type: str, *, quality: int = _LOSSY_QUALITY[0]) -> bytes:
    """An RGB or grey image as PNG (lossless, compressed for speed), JPEG or WebP.

    Raises:
        RendererFailed: The format does not take it.
    """
    out = io.BytesIO()
    try:
        if media_type == "image/png":
            image.save(out, "PNG", compress_level=1)
        elif media_type == "image/jpeg":
            image.save(out, "JPEG", quality=quality, subsampling=0)
        else:
            image.save(out, "WEBP", quality=quality, method=2)
    except DAMAGED as error:
        raise RendererFailed(f"cannot be encoded as {media_type}: {error}") from error
    return out.getvalue()


def shrink(image: Image.Image, scale: float) -> tuple[Image.Image, str]:
    """(the image at `scale`, what to say of it)."""
    from PIL import Image as Images

    size = scaled_size(image.width, image.height, scale)
    words = f"shrunk from {image.width}x{image.height} to {size[0]}x{size[1]} (Lanczos, factor {scale:.3f})"
    return image.resize(size, Images.Resampling.LANCZOS, reducing_gap=3.0), words


def crop(image: Image.Image, box: Box) -> Image.Image:
    """One piece."""
    return image.crop((box.x, box.y, box.x + box.width, box.y + box.height))


def is_flat(image: Image.Image) -> bool:
    """Whether `FLAT_SHARE` of the pixels have one colour, each channel within `_FLAT_STEP` of it."""
    if image.mode not in {"L", "RGB"}:
        image = image.convert("RGB")
    if image.width * image.height > 4 * _SAMPLE_PX**2:
        # Most pictures are plainly not flat: a sample tells, at a hundredth of the whole count's cost.
        from PIL import Image as Images

        sample = image.resize((_SAMPLE_PX, _SAMPLE_PX), Images.Resampling.NEAREST)
        if not _is_of_one_colour(sample, FLAT_SHARE - 0.05):
            return False
    return _is_of_one_colour(image, FLAT_SHARE)


def _is_of_one_colour(image: Image.Image, share: float) -> bool:
    histogram = image.histogram()
    least = share * image.width * image.height
    for start in range(0, len(histogram), 256):
        channel = histogram[start : start + 256]
        peak = channel.index(max(channel))
        if sum(channel[max(0, peak - _FLAT_STEP) : peak + _FLAT_STEP + 1]) < least:
            return False
    return True


def _decode(picture: Picture) -> Image.Image:
    from PIL import Image

    return Image.open(io.BytesIO(picture.data), formats=[*_FORMATS.values(), "GIF"]).convert("RGB")


def _lossy_type(limits: MediaLimits) -> str:
    for media_type in ("image/webp", "image/jpeg"):
        if media_type in limits.media_types:
            return media_type
    raise TooLarge("the judge takes neither WebP nor JPEG")


def _re_encode(picture: Picture, limits: MediaLimits, most_bytes: int) -> Picture:
    """The picture in at most `most_bytes` of base64, of lower quality.

    Raises:
        TooLarge: Not even at the lowest quality.
    """
    image, media_type = _decode(picture), _lossy_type(limits)
    for quality in _LOSSY_QUALITY:
        data = encode(image, media_type, quality=quality)
        if base64_bytes(len(data)) <= most_bytes:
            words = (
                f"encoded as {_FORMATS[media_type]}, quality {quality}, to fit {most_bytes} bytes as base64"
            )
            return _replaced(picture, data, media_type, image.size, words)
    raise TooLarge(f"{picture.source}: a picture does not fit {most_bytes} bytes as base64")


def _replaced(picture: Picture, data: bytes, media_type: str, size: tuple[int, int], words: str) -> Picture:
    return replace(
        picture,
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=media_type,
        width_px=size[0],
        height_px=size[1],
        size_bytes=len(data),
        transforms=(*picture.transforms, words),
        data=data,
    )


def fit_request(
    pictures: Iterable[Picture], limits: MediaLimits
) -> tuple[tuple[Picture, ...], tuple[Warning_, ...]]:
    """The pictures within every limit of one request, and a warning for each that lost by it.

    Raises:
        TooLarge: They cannot be made to fit.
        RendererFailed: One cannot be encoded.
    """
    fitted = list(pictures)
    warnings: list[Warning_] = []
    many = limits.many_images is not None and len(fitted) > limits.many_images
    edges = [edge for edge in (limits.edge_px, limits.edge_px_many if many else None) if edge is not None]
    edge = min(edges, default=None)
    for at, picture in enumerate(fitted):
        longest = max(picture.width_px, picture.height_px)
        if edge is not None and longest > edge:
            image, words = shrink(_decode(picture), edge / longest)
            media_type = picture.media_type if picture.media_type in _FORMATS else "image/png"
            fitted[at] = _replaced(picture, encode(image, media_type), media_type, image.size, words)
            warnings.append(Warning_(code="downscaled", detail=words, source=picture.source))
        if limits.image_bytes is not None and base64_bytes(fitted[at].size_bytes) > limits.image_bytes:
            fitted[at] = _re_encode(fitted[at], limits, limits.image_bytes)
            warnings.append(_lossy(fitted[at]))
    if limits.request_bytes is not None:
        room = limits.request_bytes - REQUEST_RESERVE_BYTES
        # The largest first: one photograph in PNG is often all that is too much.
        for at in sorted(range(len(fitted)), key=lambda at: -fitted[at].size_bytes):
            total = sum(base64_bytes(picture.size_bytes) for picture in fitted)
            if total <= room:
                break
            if fitted[at].media_type == "image/png":
                fitted[at] = _re_encode(fitted[at], limits, room)
                warnings.append(_lossy(fitted[at]))
    _check(fitted, limits, edge)
    return tuple(fitted), tuple(warnings)


def _lossy(picture: Picture) -> Warning_:
    return Warning_(code="re_encoded", detail=picture.transforms[-1], source=picture.source)


def _check(pictures: list[Picture], limits: MediaLimits, edge: int | None) -> None:
    """Raise `TooLarge` for the first limit that is passed."""
    if limits.images is not None and len(pictures) > limits.images:
        raise TooLarge(f"{len(pictures)} pictures, and the judge takes {limits.images}")
    total = 0
    for picture in pictures:
        size = base64_bytes(picture.size_bytes)
        total += size
        if limits.image_bytes is not None and size > limits.image_bytes:
            raise TooLarge(
                f"{picture.source}: {size} bytes as base64, and the judge takes {limits.image_bytes}"
            )
        longest = max(picture.width_px, picture.height_px)
        if edge is not None and longest > edge:
            raise TooLarge(f"{picture.source}: {longest} px, and the judge takes {edge}")
        if picture.media_type not in limits.media_types:
            raise TooLarge(f"{picture.source}: the judge does not take {picture.media_type}")
    if limits.request_bytes is not None and total > limits.request_bytes - REQUEST_RESERVE_BYTES:
        raise TooLarge(f"{total} bytes of pictures, and a request holds {limits.request_bytes}")
