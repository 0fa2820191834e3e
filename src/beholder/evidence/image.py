"""Pictures: checked by content, converted only where a judge would not see them as a person does."""

from __future__ import annotations

import io
import warnings as python_warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.allot import fair_shares
from beholder.evidence.colour import normalise
from beholder.evidence.frames import sampled_words
from beholder.evidence.kinds import Job, Shown, cut_warnings, plan_facts
from beholder.evidence.layout import LEAST_EDGE_PX, Plan, border_words, bordered_size
from beholder.evidence.layout import plan as make_plan
from beholder.evidence.pictures import DAMAGED, crop, encode, is_flat, make_picture, shrink
from beholder.evidence.series import MAX_PIXELS, Series, View, read_series
from beholder.evidence.sniff import check_kind, sniff
from beholder.records import Picture, Warning_

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000")
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
_BY_SUFFIX = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".gif": "GIF",
    ".avif": "AVIF",
    ".bmp": "BMP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
_NOT_DECODED = ("image/heic", "image/heif", "image/jxl", "image/vnd.adobe.photoshop")
"""Pictures to a person, for which there is no decoder here."""

_LIBRARIES = {"image/avif": "avif", "image/jp2": "jpg_2000", "image/webp": "webp"}
"""Formats that Pillow may have been built without; AVIF is in its own wheels since 11.3."""

_BITS_PER_SAMPLE, _PHOTOMETRIC = 258, 262
"""Tags of TIFF 6.0."""

_DEEP_BITS = (10, 12, 14, 16, 24, 32, 64)
_LAYOUTS = {0: (1, "grey with white as 0"), 1: (1, "grey"), 2: (3, "colour")}
"""What measuring devices write, of which Pillow knows a part: channels by PhotometricInterpretation."""


def preload() -> None:
    """Load the decoders while files may still be opened."""
    from PIL import Image, ImageChops, ImageCms, ImageStat, features

    Image.init()
    normalise(Image.new("RGB", (1, 1)))
    del ImageChops, ImageCms, ImageStat, features


def render_image(job: Job) -> Shown:
    """The picture as it is, if the judge takes its type and would not shrink it; else what is made of it.

    Of an animation it is frames with their times, of a TIFF with several pages the first ones.

    Raises:
        BrokenArtifact: `empty`, `wrong_type`, `corrupt` or `too_large`.
        RendererFailed: What was made of it cannot be encoded, or there is no decoder for it here.
    """
    check_kind(job.name, job.data, "image", "a picture")
    media_type = sniff(job.data)
    if media_type in _NOT_DECODED or not _has_decoder(media_type):
        raise RendererFailed(
            f"nothing here decodes {media_type}; give the picture as PNG or JPEG",
            slug="missing_tool",
            concerns=job.name,
        )
    image, series = _decode(job)
    # A camera's JPEG with a preview behind it is a JPEG to everybody else.
    format_ = "JPEG" if image.format == "MPO" else (image.format or "")
    warnings = [*_format_warnings(job, format_), *_series_warnings(job, series)]
    uprights = [_upright(job, image, view) for view in series.views]
    layout = "single" if series.kind == "animation" else job.policy.layout
    wants = [make_plan(*one.size, layout, job.limits, MAX_PIXELS).count for one, _ in uprights]
    rooms = fair_shares(wants, job.budget)
    pictures: list[Picture] = []
    plans: list[Plan] = []
    for view, (upright, done), room in zip(series.views, uprights, rooms, strict=True):
        plan = make_plan(*upright.size, layout, job.limits, max(1, room))
        plans.append(plan)
        whole_file = series.kind == "still" and series.count == 1
        for picture in _pictures(job, upright, done, format_, plan, whole_file):
            pages = series.count if view.page is not None else None
            pictures.append(replace(picture, time_s=view.time_s, page=view.page, pages=pages))
        warnings += cut_warnings(plan, job.name)
    narrowest = min(min(upright.size) for upright, _ in uprights)
    if narrowest < LEAST_EDGE_PX:
        width, height = uprights[0][0].size
        warnings.append(Warning_(code="tiny_image", detail=f"{width}x{height} px", source=job.name))
    # Frames of one colour each are not blank if the colour changes.
    if len({upright.getpixel((0, 0)) for upright, _ in uprights}) == 1 and all(
        is_flat(upright) for upright, _ in uprights
    ):
        warnings.append(Warning_(code="blank_capture", detail="one flat colour", source=job.name))
    return Shown(
        pictures=tuple(pictures),
        facts=_facts(image, format_, series, plans),
        warnings=tuple(warnings),
    )


def _facts(image: Image.Image, format_: str, series: Series, plans: list[Plan]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "format": format_,
        "mode": image.mode,
        "size": [image.width, image.height],
        "frames": series.count,
    }
    if series.kind == "animation":
        return facts | {"frames_shown": len(plans), "times_s": [view.time_s for view in series.views]}
    if series.kind == "pages":
        return facts | {
            "pages": series.count,
            "pages_shown": [view.page for view in series.views],
            "parts_in_all": [plan.tiles_in_all for plan in plans],
            "parts_left_out": [plan.left_out for plan in plans],
        }
    return facts | plan_facts(plans[0])


def _decode(job: Job) -> tuple[Image.Image, Series]:
    """(the file as opened, what is to be shown of it)."""
    from PIL import Image, UnidentifiedImageError

    try:
        with python_warnings.catch_warnings():
            # Pillow warns at half of its limit and about oddities of metadata; neither is a fault here.
            python_warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(job.data), formats=_FORMATS)
            return image, read_series(job.name, image, job.policy.pages, job.budget)
    except Image.DecompressionBombError:
        raise BrokenArtifact(
            f"more than {MAX_PIXELS} pixels by its header", slug="too_large", concerns=job.name
        ) from None
    except UnidentifiedImageError:
        if layout := _unknown_layout(job.data):
            raise RendererFailed(
                f"nothing here decodes a TIFF of {layout}; give the picture as PNG, or with 8 or 16 bits",
                slug="missing_tool",
                concerns=job.name,
            ) from None
        raise BrokenArtifact(
            "the picture's header cannot be read", slug="corrupt", concerns=job.name
        ) from None
    except DAMAGED as error:
        raise BrokenArtifact(f"cannot be decoded: {error}", slug="corrupt", concerns=job.name) from None


def _has_decoder(media_type: str) -> bool:
    """Whether Pillow was built with the library that a format needs."""
    from PIL import features

    library = _LIBRARIES.get(media_type)
    return library is None or bool(features.check(library))


def _unknown_layout(data: bytes) -> str:
    """How the pixels of a TIFF lie whose header is sound but for a layout that Pillow does not know.

    Empty where the header is broken, or tells of something that no program makes.
    """
    from PIL import TiffImagePlugin

    if sniff(data) != "image/tiff":
        return ""
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            tags = TiffImagePlugin.ImageFileDirectory_v2(data[: 16 if 43 in data[2:4] else 8])  # BigTIFF
            file = io.BytesIO(data)
            file.seek(tags.next)
            tags.load(file)
        bits, (channels, colours) = tuple(tags[_BITS_PER_SAMPLE]), _LAYOUTS[tags[_PHOTOMETRIC]]
    except DAMAGED:
        return ""
    sound = len(set(bits)) == 1 and bits[0] in _DEEP_BITS and len(bits) == channels
    return f"{bits[0]} bits a sample in {colours}" if sound else ""


def _upright(job: Job, image: Image.Image, view: View) -> tuple[Image.Image, tuple[str, ...]]:
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            return normalise(
                view.image,
                deep=_is_deep(job.data, image),
                grey_bits=view.grey_bits,
                white_is_zero=view.white_is_zero,
            )
    except DAMAGED as error:
        raise BrokenArtifact(f"cannot be decoded: {error}", slug="corrupt", concerns=job.name) from None


def _is_deep(data: bytes, image: Image.Image) -> bool:
    """Whether the file holds more than 8 bits a channel."""
    if image.format == "PNG":
        return data[12:16] == b"IHDR" and data[24] == 16
    bits = getattr(image, "tag_v2", {}).get(_BITS_PER_SAMPLE, 8)
    return max(bits if isinstance(bits, tuple) else (bits,), default=8) > 8


def _format_warnings(job: Job, format_: str) -> list[Warning_]:
    expected = _BY_SUFFIX.get(job.suffix)
    if expected is None or format_ == expected:
        return []
    detail = f"{format_} by content, {job.suffix} by name"
    return [Warning_(code="other_format", detail=detail, source=job.name)]


def _series_warnings(job: Job, series: Series) -> list[Warning_]:
    warnings = []
    shown, count = len(series.views), series.count
    if series.kind == "pages" and count is not None and shown < count:
        detail = f"{shown} of {count} pages are shown"
        warnings.append(Warning_(code="truncated", detail=detail, source=job.name))
    elif count is None or (series.kind == "animation" and shown == 1):
        many = "several frames, some of them damaged," if count is None else f"{count} frames"
        detail = f"the first of {many} is shown"
        warnings.append(Warning_(code="animation_first_frame", detail=detail, source=job.name))
    elif series.kind == "animation" and shown < count:
        times = [view.time_s or 0.0 for view in series.views]
        detail = sampled_words(times, f"{count} frames")
        warnings.append(Warning_(code="frames_sampled", detail=detail, source=job.name))
    if series.damaged and count is not None:
        what = "pages" if series.kind == "pages" else "frames"
        detail = f"some of its {what} cannot be decoded"
        warnings.append(Warning_(code=f"damaged_{what}", detail=detail, source=job.name))
    return warnings


def _pictures(
    job: Job, upright: Image.Image, done: tuple[str, ...], format_: str, plan: Plan, whole_file: bool
) -> list[Picture]:
    """What is sent of one picture: the file itself where nothing has to be done to it."""
    own_type = _MEDIA_TYPES.get(format_, "")
    kept_type = own_type if own_type in job.limits.media_types else "image/png"
    # A photograph as PNG is several times its size for nothing.
    new_type = "image/jpeg" if format_ == "JPEG" and kept_type == "image/jpeg" else "image/png"
    pictures: list[Picture] = []

    def add(image: Image.Image, words: tuple[str, ...], part: int | None, parts: int | None) -> None:
        image, border = _with_border(image)
        data = encode(image, new_type)
        pictures.append(
            make_picture(
                data, new_type, image.size, job.name, part=part, parts=parts, transforms=words + border
            )
        )

    if plan.overview is not None:
        untouched = plan.overview >= 1.0 and not done and own_type == kept_type and whole_file
        if untouched and bordered_size(*upright.size) == upright.size:
            return [make_picture(job.data, own_type, upright.size, job.name)]
        part, parts = (0, plan.tiles_in_all) if plan.tiles else (None, None)
        words = done
        whole = upright
        if plan.overview < 1.0:
            whole, said = shrink(upright, plan.overview)
            words = (*done, said)
        elif not done:
            words = (f"{format_} decoded and encoded as {new_type.removeprefix('image/').upper()}",)
        add(whole, words, part, parts)
    for number, box in enumerate(plan.tiles, start=1):
        words = (*done, f"cut out at {box.x},{box.y}, {box.width}x{box.height}")
        add(crop(upright, box), words, number, plan.tiles_in_all)
    return pictures


def _with_border(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """(the picture in the middle of a white one that is wide enough, what to say of it)."""
    from PIL import Image as Images

    size = bordered_size(*image.size)
    if size == image.size:
        return image, ()
    sheet = Images.new(image.mode, size, "white")
    sheet.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
    return sheet, (border_words(image.size, size),)
