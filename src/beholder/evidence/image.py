"""Pictures: checked by content, converted only where a judge would not see them as a person does."""

from __future__ import annotations

import io
import warnings as python_warnings
from typing import TYPE_CHECKING

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job, Shown, cut_warnings, plan_facts
from beholder.evidence.layout import plan as make_plan
from beholder.evidence.pictures import DAMAGED, crop, encode, is_flat, make_picture, shrink
from beholder.evidence.sniff import sniff
from beholder.records import Picture, Warning_

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 178_956_970
"""Pillow's own limit for a bomb (twice `MAX_IMAGE_PIXELS`): refused by header, before decoding."""

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
_BY_SUFFIX = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}

_ORIENTATION = 0x0112
"""The EXIF tag; 1 is upright."""

_TURNS = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
"""Orientation -> what makes it upright (EXIF 2.32, table 6)."""


def preload() -> None:
    """Load the decoders while files may still be opened."""
    from PIL import Image

    Image.init()


def render_image(job: Job) -> Shown:
    """The picture as it is, if the judge takes its type and would not shrink it; else what is made of it.

    CPU-bound; runs in a thread.

    Raises:
        BrokenArtifact: `wrong_type`, `corrupt` or `too_large`.
        RendererFailed: What was made of it cannot be encoded.
    """
    media_type = sniff(job.data)
    if not media_type.startswith("image/"):
        what = media_type or "text or something unknown"
        raise BrokenArtifact(f"the content is no picture but {what}", slug="wrong_type", concerns=job.name)
    image = _open(job)
    # A camera's JPEG with a preview behind it is a JPEG to everybody else.
    format_ = "JPEG" if image.format == "MPO" else (image.format or "")
    frames = _frames(job)
    warnings = _format_warnings(job, image, frames)
    try:
        upright, done = _normalise(image)
    except DAMAGED as error:
        raise BrokenArtifact(f"cannot be decoded: {error}", slug="corrupt", concerns=job.name) from None
    facts = {
        "format": format_,
        "mode": image.mode,
        "size": [image.width, image.height],
        "frames": frames,
    }
    plan = make_plan(upright.width, upright.height, job.policy.layout, job.limits, job.budget)
    own_type = _MEDIA_TYPES.get(format_, "")
    kept_type = own_type if own_type in job.limits.media_types else "image/png"
    # A photograph as PNG is several times its size for nothing.
    new_type = "image/jpeg" if format_ == "JPEG" and kept_type == "image/jpeg" else "image/png"
    pictures: list[Picture] = []
    if plan.overview is not None:
        part, parts = (0, plan.tiles_in_all) if plan.tiles else (None, None)
        if plan.overview >= 1.0 and not done and own_type == kept_type and frames == 1:
            pictures.append(make_picture(job.data, own_type, upright.size, job.name))
        else:
            whole, words = upright, done
            if plan.overview < 1.0:
                whole, said = shrink(upright, plan.overview)
                words = (*done, said)
            elif not done:
                words = (f"{format_} decoded and encoded as {new_type.removeprefix('image/').upper()}",)
            data = encode(whole, new_type)
            pictures.append(
                make_picture(data, new_type, whole.size, job.name, part=part, parts=parts, transforms=words)
            )
    for number, box in enumerate(plan.tiles, start=1):
        words = (*done, f"cut out at {box.x},{box.y}, {box.width}x{box.height}")
        piece = crop(upright, box)
        pictures.append(
            make_picture(
                encode(piece, new_type),
                new_type,
                piece.size,
                job.name,
                part=number,
                parts=plan.tiles_in_all,
                transforms=words,
            )
        )
    if is_flat(upright):
        warnings.append(Warning_(code="blank_capture", detail="one flat colour", source=job.name))
    return Shown(
        pictures=tuple(pictures),
        facts=facts | plan_facts(plan),
        warnings=(*warnings, *cut_warnings(plan, job.name)),
    )


def _open(job: Job) -> Image.Image:
    """The decoded first frame."""
    from PIL import Image, UnidentifiedImageError

    try:
        with python_warnings.catch_warnings():
            # Pillow warns at half of its limit and about oddities of metadata; neither is a fault here.
            python_warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(job.data), formats=_FORMATS)
            if image.width * image.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            image.load()
    except Image.DecompressionBombError:
        raise BrokenArtifact(
            f"more than {MAX_PIXELS} pixels by its header", slug="too_large", concerns=job.name
        ) from None
    except UnidentifiedImageError:
        raise BrokenArtifact(
            "the picture's header cannot be read", slug="corrupt", concerns=job.name
        ) from None
    except DAMAGED as error:
        raise BrokenArtifact(f"cannot be decoded: {error}", slug="corrupt", concerns=job.name) from None
    return image


def _frames(job: Job) -> int | None:
    """How many frames there are; None if what follows the first one is damaged.

    Counting moves the image from frame to frame, so that it is opened anew for it.
    """
    from PIL import Image

    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(job.data), formats=_FORMATS)
            return 1 if image.format == "MPO" else int(getattr(image, "n_frames", 1))
    except DAMAGED:
        return None


def _format_warnings(job: Job, image: Image.Image, frames: int | None) -> list[Warning_]:
    warnings = []
    expected = _BY_SUFFIX.get(job.suffix)
    if expected is not None and image.format not in (expected, "MPO"):
        detail = f"{image.format} by content, {job.suffix} by name"
        warnings.append(Warning_(code="other_format", detail=detail, source=job.name))
    if frames is None or frames > 1:
        many = "several frames, some of them damaged," if frames is None else f"{frames} frames"
        detail = f"the first of {many} is shown"
        warnings.append(Warning_(code="animation_first_frame", detail=detail, source=job.name))
    return warnings


def _normalise(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """(an upright RGB or 8-bit grey image, what was done for it)."""
    from PIL import Image as Images

    done: list[str] = []
    upright = image
    orientation = _orientation(image)
    if orientation in _TURNS:
        upright = image.transpose(Images.Transpose[_TURNS[orientation]])
        done.append(f"turned upright (EXIF orientation {orientation})")
    mode = upright.mode
    if mode.startswith("I") or mode == "F":
        low, high = _range(mode, upright)
        # `point` clips above 255 on these modes only after the sum, which is what is wanted.
        scaled = upright.convert("F").point(
            lambda value: value * (255.0 / (high - low)) - low * 255.0 / (high - low)
        )
        done.append(f"{mode} rescaled to 8 bits from {low:g}..{high:g}")
        return scaled.convert("L"), tuple(done)
    if "A" in upright.getbands() or "transparency" in upright.info:
        layer = upright.convert("RGBA")
        if layer.getchannel("A").getextrema()[0] == 255:  # type: ignore[comparison-overlap,unused-ignore]
            # Fully opaque: a judge sees the same, so the bytes may stay.
            return layer.convert("RGB"), tuple(done)
        white = Images.new("RGBA", layer.size, "white")
        white.alpha_composite(layer)
        done.append("composited on white")
        return white.convert("RGB"), tuple(done)
    if mode == "CMYK":
        done.append("CMYK converted to RGB")
    elif mode in ("YCbCr", "LAB", "HSV", "RGBX"):
        done.append(f"{mode} converted to RGB")
    if mode not in ("RGB", "L"):
        upright = upright.convert("RGB")
    return upright, tuple(done)


def _orientation(image: Image.Image) -> int:
    """The EXIF orientation; 1 where there is none that can be read, as a browser takes it."""
    try:
        found = image.getexif().get(_ORIENTATION, 1)
    except DAMAGED:
        return 1
    return found if isinstance(found, int) else 1


def _range(mode: str, image: Image.Image) -> tuple[float, float]:
    """Black and white of an image of more than 8 bits: the format's range, or the values' own."""
    if mode.startswith("I;16"):
        return 0.0, 65535.0
    low, high = image.getextrema()
    low, high = float(low), float(high)  # type: ignore[arg-type]
    if mode == "I" and low >= 0 and high <= 65535:
        return 0.0, 65535.0
    return (low, high) if high > low else (low, low + 1.0)
