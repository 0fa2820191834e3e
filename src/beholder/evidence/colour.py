"""A decoded picture as a person sees it: upright, in sRGB, eight bits a channel, on white."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from beholder.evidence.pictures import DAMAGED

if TYPE_CHECKING:
    from PIL import Image, ImageCms

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

_SEEN_STEP = 1.5
"""Mean difference over all colours, of 255, below which a profile changes nothing that anybody would see."""

_SPACES = {"RGB": "RGB", "GRAY": "L", "CMYK": "CMYK"}
"""Colour space of a profile -> the mode it may stand in."""

_MAX_PROFILE_BYTES = 16 * 2**20


def normalise(
    image: Image.Image,
    *,
    deep: bool = False,
    grey_bits: int | None = None,
    white_is_zero: bool = False,
) -> tuple[Image.Image, tuple[str, ...]]:
    """(an upright RGB or 8-bit grey image, what was done for it).

    Args:
        image: Decoded.
        deep: The file holds more than 8 bits a channel, of which the decoder has kept the upper 8.
        grey_bits, white_is_zero: As `series.View` has them.
    """
    from PIL import Image as Images
    from PIL import ImageChops

    done: list[str] = []
    profile = image.info.get("icc_profile")
    orientation = _orientation(image)
    if orientation in _TURNS:
        image = image.transpose(Images.Transpose[_TURNS[orientation]])
        done.append(f"turned upright (EXIF orientation {orientation})")
    if image.mode.startswith("I") or image.mode == "F":
        image, words = _to_eight_bits(image, grey_bits, white_is_zero=white_is_zero)
        done.append(words)
    elif deep:
        done.append("16 bits a channel reduced to 8")
    alpha = None
    if image.has_transparency_data:
        layer = image if image.mode == "RGBA" else image.convert("RGBA")
        image, alpha = layer.convert("RGB"), layer.getchannel("A")
        if alpha.getextrema()[0] == 255:  # type: ignore[comparison-overlap,unused-ignore]  # of one band; Pillow's types cannot tell
            alpha = None  # fully opaque: a judge sees the same, so the bytes may stay
    elif image.mode in {"P", "1"}:
        image = image.convert("RGB" if image.mode == "P" else "L")
    image, words = _to_srgb(image, profile)
    if words:
        done.append(words)
    if alpha is not None:
        # In place: white where nothing is, and as much of it as shines through.
        image.paste("white", (0, 0, *image.size), mask=ImageChops.invert(alpha))
        done.append("composited on white")
    return image, tuple(done)


def _orientation(image: Image.Image) -> int:
    """The EXIF orientation; 1 where there is none that can be read, as a browser takes it."""
    try:
        found = image.getexif().get(_ORIENTATION, 1)
    except DAMAGED:
        return 1
    return found if isinstance(found, int) else 1


def _to_eight_bits(image: Image.Image, bits: int | None, *, white_is_zero: bool) -> tuple[Image.Image, str]:
    low, high = _range(image, bits)
    said = f"{image.mode} rescaled to 8 bits from {low:g}..{high:g}"
    if white_is_zero:
        low, high = high, low
        said += ", 0 being white"
    # `point` clips above 255 on these modes only after the sum, which is what is wanted.
    scaled = image.convert("F").point(
        lambda value: value * (255.0 / (high - low)) - low * 255.0 / (high - low)
    )
    return scaled.convert("L"), said


def _range(image: Image.Image, bits: int | None) -> tuple[float, float]:
    """Least and largest value of an image of more than 8 bits: the format's range, or the values' own."""
    mode = image.mode
    if mode.startswith("I;16"):
        return 0.0, 2.0 ** (bits or 16) - 1
    low, high = image.getextrema()
    low, high = float(low), float(high)  # type: ignore[arg-type]  # one band, as above
    if mode == "I" and low >= 0 and high <= 65535:
        return 0.0, 65535.0
    return (low, high) if high > low else (low, low + 1.0)


def _to_srgb(image: Image.Image, profile: object) -> tuple[Image.Image, str]:
    """(the image in RGB or grey of sRGB, what was done for it or nothing)."""
    from PIL import ImageCms

    mode = image.mode
    if mode == "LAB":
        lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        return _apply(ImageCms.buildTransform(lab, srgb, "LAB", "RGB"), image), "LAB converted to sRGB"
    plain = image if mode in {"RGB", "L"} else None
    if isinstance(profile, bytes) and 0 < len(profile) <= _MAX_PROFILE_BYTES:
        try:
            found = _transform(mode, profile)
            if found is not None:
                transform, name = found
                words = f"{mode} converted to sRGB by its profile ({name})"
                return _apply(transform, image), words
        except (ImageCms.PyCMSError, *DAMAGED):
            pass  # a damaged profile is none: programs show the picture without it
    if plain is not None:
        return plain, ""
    return image.convert("RGB"), f"{mode} converted to RGB"


def _apply(transform: ImageCms.ImageCmsTransform, image: Image.Image) -> Image.Image:
    from PIL import ImageCms

    done = ImageCms.applyTransform(image, transform)
    if done is None:  # only in place, which was not asked for
        raise ValueError("no picture came out of the colour transform")
    # Plain sRGB; the profile that Pillow has made for it, with the time of day in it, would go into the file.
    done.info.pop("icc_profile", None)
    return done


def _transform(mode: str, profile: bytes) -> tuple[ImageCms.ImageCmsTransform, str] | None:
    """(to sRGB, the profile's name); None if it is for other colours, or makes no difference to be seen.

    Colours are matched relative to white with black point compensation, as browsers do.
    """
    from PIL import ImageChops, ImageCms, ImageStat

    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    if _SPACES.get(source.profile.xcolor_space.strip()) != mode:
        return None
    transform = ImageCms.buildTransform(
        source,
        ImageCms.createProfile("sRGB"),
        mode,
        "RGB",
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
    )
    if mode != "CMYK":
        colours = _all_colours(mode)
        difference = ImageChops.difference(_apply(transform, colours), colours.convert("RGB"))
        if max(ImageStat.Stat(difference).mean) <= _SEEN_STEP:
            return None
    name = (source.profile.profile_description or "without a name").strip()
    return transform, "".join(letter for letter in name if letter.isprintable())[:60]


def _all_colours(mode: str) -> Image.Image:
    """Each grey, or every colour in steps of 51."""
    from PIL import Image as Images

    if mode == "L":
        return Images.frombytes("L", (256, 1), bytes(range(256)))
    steps = range(0, 256, 51)
    data = bytes(value for red in steps for green in steps for blue in steps for value in (red, green, blue))
    return Images.frombytes("RGB", (len(data) // 3, 1), data)
