"""Images: judged by content, unchanged where a judge sees what a person sees, converted where not."""

from __future__ import annotations

import base64
import functools
import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image, ImageChops, ImageCms, ImageStat, features

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.frames import MAX_FRAMES
from beholder.evidence.image import render_image
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.pictures import encode, fit_request
from beholder.evidence.sniff import sniff
from beholder.judges.limits import media_limits
from beholder.records import EvidencePolicy, JudgeSpec, MediaLimits
from tests.fakes.evidence import LIMITS, encoded, pixels, png


def show(
    name: str,
    data: bytes,
    *,
    layout: Any = "overview+tiles",
    limits: MediaLimits = LIMITS,
    budget: int = 32,
) -> Shown:
    policy = EvidencePolicy(layout=layout)
    suffix = "." + name.rpartition(".")[2].lower()
    return render_image(Job(name=name, suffix=suffix, data=data, policy=policy, limits=limits, budget=budget))


def slug(name: str, data: bytes) -> str:
    with pytest.raises(BrokenArtifact) as caught:
        show(name, data)
    return caught.value.slug


def warned(shown: Shown) -> list[str]:
    return [warning.code for warning in shown.warnings]


def photo(size: tuple[int, int]) -> Image.Image:
    return Image.radial_gradient("L").resize(size).convert("RGB")


@pytest.mark.parametrize(("name", "format_"), [("a.png", "PNG"), ("a.jpg", "JPEG"), ("A.WEBP", "WEBP")])
def test_unchanged_bytes(name: str, format_: str) -> None:
    """A picture that needs nothing is sent as the very bytes of the file."""
    data = encoded(photo((60, 40)), format_)
    shown = show(name, data)
    assert [(one.data, one.transforms) for one in shown.pictures] == [(data, ())]
    assert (
        shown.pictures[0].media_type
        == {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}[format_]
    )
    assert warned(shown) == []


def test_another_format_than_the_name() -> None:
    """A PNG named .jpg is judged with its true type, and the difference is noted."""
    shown = show("a.jpg", png())
    assert shown.pictures[0].media_type == "image/png"
    assert warned(shown) == ["other_format"]


@pytest.mark.parametrize("format_", ["BMP", "TIFF", "GIF", "AVIF"])
def test_formats_no_judge_takes(format_: str) -> None:
    """A picture of a type the judge does not take is converted, and that is recorded."""
    shown = show("a.png", encoded(photo((40, 40)), format_))
    (picture,) = shown.pictures
    assert picture.media_type == "image/png"
    assert any(format_ in words for words in picture.transforms)
    assert picture.data.startswith(b"\x89PNG")


def test_exif_orientation() -> None:
    """A picture that viewers turn is turned: the red half of orientation 6 is on top."""
    image = Image.new("RGB", (80, 40), "white")
    image.paste((255, 0, 0), (0, 0, 40, 40))
    exif = Image.Exif()
    exif[0x0112] = 6
    (picture,) = show("a.jpg", encoded(image, "JPEG", exif=exif)).pictures
    assert (picture.width_px, picture.height_px) == (40, 80)
    turned = pixels(picture)
    assert turned.getpixel((20, 8))[0] > 200 > turned.getpixel((20, 8))[1]
    assert turned.getpixel((20, 70))[1] > 200
    assert "EXIF orientation 6" in picture.transforms[0]


def test_sixteen_bit_grey_keeps_its_gradient() -> None:
    """Grey of 16 bits is rescaled instead of clipped to white."""
    image = Image.new("I;16", (256, 30))
    image.putdata([x * 257 for _ in range(30) for x in range(256)])
    (picture,) = show("a.png", encoded(image, "PNG")).pictures
    grey = [pixels(picture).getpixel((x, 0))[0] for x in range(256)]
    assert all(abs(value - x) <= 1 for x, value in enumerate(grey))
    assert "rescaled" in picture.transforms[0]


def test_transparency_is_seen_on_white() -> None:
    """Black on transparent stays visible: it is composited on white."""
    image = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (5, 5, 10, 10))
    (picture,) = show("a.png", encoded(image, "PNG")).pictures
    assert pixels(picture).getpixel((0, 0)) == (255, 255, 255)
    assert pixels(picture).getpixel((7, 7)) == (0, 0, 0)


def test_opaque_alpha_changes_nothing() -> None:
    """An alpha channel without any transparency is no reason to touch the file."""
    data = png(mode="RGBA", colour=(255, 0, 0, 255))
    assert show("a.png", data).pictures[0].data == data


def test_cmyk() -> None:
    """CMYK is converted; pure magenta and yellow are red."""
    image = Image.new("CMYK", (20, 20), (0, 255, 255, 0))
    image.paste((0, 0, 0, 0), (0, 0, 10, 10))
    (picture,) = show("a.jpg", encoded(image, "JPEG")).pictures
    red, green, blue = pixels(picture).getpixel((15, 15))
    assert red > 200
    assert max(green, blue) < 60


def test_blank() -> None:
    """A picture of one colour is judged, with a note."""
    assert warned(show("a.png", encoded(Image.new("RGB", (30, 30), "white"), "PNG"))) == ["blank_capture"]


@pytest.mark.parametrize(
    "data", [b"<h1>no picture</h1>", b"%PDF-1.7 x", b"PK\x03\x04rest", b"just words", b"\0\0\0\x18ftypmp42xx"]
)
def test_wrong_type(data: bytes) -> None:
    """What is no picture at all is the wrong type, whatever its name."""
    assert slug("a.png", data) == "wrong_type"


def test_corrupt() -> None:
    """A picture cut short or damaged is corrupt."""
    for format_ in ("PNG", "JPEG", "WEBP"):
        data = encoded(photo((200, 200)), format_)
        assert slug("a.png", data[: len(data) // 2]) == "corrupt"
    assert slug("a.png", b"\x89PNG\r\n\x1a\n") == "corrupt"
    assert slug("a.jpg", b"\xff\xd8\xff\xe0" + b"\0" * 50) == "corrupt"


def test_bomb() -> None:
    """A picture of 900 million pixels in a few bytes is refused by its header."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 3751))
    assert slug("a.png", data) == "too_large"


def test_single_is_shrunk_here() -> None:
    """With `single` a large picture is shrunk to what the judge would see, and the factor is recorded."""
    shown = show("a.png", encoded(photo((1440, 8570)), "PNG"), layout="single")
    (picture,) = shown.pictures
    assert (picture.width_px, picture.height_px) == (263, 1568)
    assert "factor 0.183" in picture.transforms[-1]
    assert warned(shown) == ["downscaled"]


def test_a_photograph_stays_a_photograph() -> None:
    """A shrunk JPEG is a JPEG, not a PNG of several times the size."""
    (picture,) = show("a.jpg", encoded(photo((3000, 2000)), "JPEG"), layout="single").pictures
    assert picture.media_type == "image/jpeg"


def test_tiles_are_the_picture() -> None:
    """The parts put together again are the picture, pixel by pixel."""
    image = photo((700, 3100))
    shown = show("a.png", encoded(image, "PNG"), layout="overview+tiles")
    overview, *parts = shown.pictures
    assert overview.part == 0
    assert [part.part for part in parts] == list(range(1, len(parts) + 1))
    assert {part.parts for part in parts} == {len(parts)}
    joined, top = Image.new("RGB", image.size), 0
    for part in parts:
        joined.paste(pixels(part), (0, top))
        top += part.height_px
    assert joined.tobytes() == image.tobytes()


def test_budget_of_pictures() -> None:
    """Parts over the budget are left out, which is said."""
    shown = show("a.png", encoded(photo((1000, 9000)), "PNG"), budget=3)
    assert len(shown.pictures) == 3
    assert "truncated" in warned(shown)


def test_unknown_judge_and_tiny_pictures() -> None:
    """Without known limits a picture goes whole; one pixel is a picture, too, on white and with a note."""
    data = encoded(photo((2000, 3000)), "JPEG")
    assert show("a.jpg", data, limits=MediaLimits()).pictures[0].data == data
    shown = show("a.png", encoded(Image.new("RGB", (1, 1)), "PNG"))
    assert pixels(shown.pictures[0]).size == (28, 28)
    assert warned(shown) == ["tiny_image", "blank_capture"]
    assert sorted(pixels(shown.pictures[0]).getcolors() or []) == [(1, (0, 0, 0)), (783, (255, 255, 255))]


def exif(orientation: int) -> Image.Exif:
    found = Image.Exif()
    found[0x0112] = orientation
    found[0x010E] = "a description"
    return found


def every_format() -> dict[str, bytes]:
    """A small picture in each format, with metadata and further frames where there may be some."""
    image = photo((64, 48))
    more = {"save_all": True, "append_images": [image.rotate(9), image.rotate(20)]}
    return {
        "a.png": encoded(image, "PNG", exif=exif(6), icc_profile=b"no profile at all", **more),
        "p.png": encoded(image.convert("P"), "PNG", transparency=3),
        "i.png": encoded(image.convert("L").convert("I;16"), "PNG"),
        "a.jpg": encoded(image, "JPEG", exif=exif(6)),
        "cmyk.jpg": encoded(image.convert("CMYK"), "JPEG"),
        "a.webp": encoded(image, "WEBP", exif=exif(3), **more),
        "gif.png": encoded(image, "GIF", **more),
        "tiff.png": encoded(image, "TIFF", exif=exif(8)),
        "bmp.png": encoded(image, "BMP"),
        "mpo.jpg": encoded(image, "MPO", **more),
        "avif.png": encoded(image, "AVIF"),
    }


def test_damaged_files_of_every_format() -> None:
    """Whatever is broken in a file of whatever format, it is shown or it is the file's fault."""
    rng = random.Random(20)
    formats = every_format()
    assert all(show(name, data).pictures for name, data in formats.items())
    refused = dict.fromkeys(formats, 0)
    for _ in range(250):
        for name, data in formats.items():
            damaged = bytearray(data)
            for _ in range(rng.choice((1, 2, 8))):
                near = min(len(damaged), rng.choice((80, 400, len(damaged))))
                damaged[rng.randrange(8, near)] = rng.choice((0, 255, rng.randrange(256)))
            if rng.random() < 0.2:
                del damaged[rng.randrange(20, len(damaged)) :]
            try:
                assert show(name, bytes(damaged)).pictures
            except BrokenArtifact:
                refused[name] += 1
    assert min(refused.values()) > 10


def test_damaged_metadata_does_not_hide_the_picture() -> None:
    """A picture whose EXIF data or later frames are broken is shown as far as a person would see it."""
    image = photo((64, 48))
    data = encoded(image, "JPEG", exif=exif(6))
    shown = show("a.jpg", data.replace(b"Exif\0\0MM", b"Exif\0\0XX").replace(b"Exif\0\0II", b"Exif\0\0XX"))
    assert pixels(shown.pictures[0]).size == (64, 48)
    more = {"save_all": True, "append_images": [image.rotate(9), image.rotate(20)]}
    gif = encoded(image, "GIF", **more)
    second = gif.index(b"\x21\xf9", gif.index(b"\x2c"))
    cut = gif[: second + 12]
    whole, broken = show("a.png", encoded(image, "GIF")), show("a.png", cut)
    assert pixels(broken.pictures[0]).tobytes() == pixels(whole.pictures[0]).tobytes()


def test_turned_upright_by_each_orientation() -> None:
    """Each of the eight orientations comes out as Pillow's own rule has it."""
    from PIL import ImageOps

    for orientation in range(1, 9):
        data = encoded(photo((64, 48)).crop((0, 0, 50, 30)), "PNG", exif=exif(orientation))
        wanted = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        assert pixels(show("a.png", data).pictures[0]).tobytes() == wanted.tobytes(), orientation


def test_what_cannot_be_encoded_is_our_fault() -> None:
    """A picture that the format has no room for fails as ours."""
    with pytest.raises(RendererFailed, match="image/webp"):
        encode(Image.new("RGB", (20_000, 1)), "image/webp")


def stages(count: int, size: tuple[int, int] = (48, 32)) -> list[Image.Image]:
    """Frames that differ: each is grey with a bar as far along as the frame is in the animation."""
    frames = []
    for at in range(count):
        frame = Image.new("RGB", size, (40, 40, 40))
        frame.paste((255, 255, 0), (0, 0, 1 + at * (size[0] - 1) // max(1, count - 1), size[1] // 2))
        frames.append(frame)
    return frames


def animated(format_: str, frames: list[Image.Image], duration: int = 50, **options: Any) -> bytes:
    return encoded(frames[0], format_, save_all=True, append_images=frames[1:], duration=duration, **options)


@pytest.mark.parametrize(
    ("format_", "options"),
    [("GIF", {}), ("PNG", {}), ("WEBP", {"lossless": True}), ("AVIF", {"quality": 100, "speed": 10})],
)
def test_an_animation_becomes_frames_with_their_times(format_: str, options: dict[str, Any]) -> None:
    """Of an animation the first frame, the last and those evenly between are shown, each with its time."""
    frames = stages(41)
    shown = show("a.png", animated(format_, frames, **options), budget=5)
    assert [picture.time_s for picture in shown.pictures] == [0.0, 0.5, 1.0, 1.5, 2.0]
    for picture, at in zip(shown.pictures, (0, 10, 20, 30, 40), strict=True):
        difference = ImageChops.difference(pixels(picture), frames[at]).convert("L")
        assert ImageStat.Stat(difference).mean[0] < 4, at
        assert picture.media_type == "image/png"
    (warning,) = [one for one in shown.warnings if one.code == "frames_sampled"]
    assert warning.detail == "5 of 41 frames are shown, at 0.00, 0.50, 1.00, 1.50, 2.00 s"
    assert shown.facts["frames"] == 41


def test_an_animation_in_few_pictures() -> None:
    """With one picture the first frame stands for all, which is said; with room enough each is shown."""
    data = animated("GIF", stages(3))
    one, all_ = show("a.gif", data, budget=1), show("a.gif", data)
    assert len(one.pictures) == 1
    assert [(w.code, w.detail) for w in one.warnings] == [
        ("animation_first_frame", "the first of 3 frames is shown")
    ]
    assert len(all_.pictures) == 3
    assert warned(all_) == []
    long = show("a.gif", animated("GIF", stages(47)))
    assert len(long.pictures) == MAX_FRAMES
    assert warned(long) == ["frames_sampled"]


def test_an_animation_of_flat_colours_is_not_blank() -> None:
    """Frames of one colour each are blank only if it is the same colour throughout."""
    colours = [Image.new("RGB", (40, 40), colour) for colour in ("red", "lime", "blue")]
    assert warned(show("a.gif", animated("GIF", colours))) == []


def test_the_picture_for_programs_without_animation_is_no_frame() -> None:
    """An APNG's default picture, which no browser shows, is not taken for its first frame."""
    frames = stages(3)
    data = animated("PNG", [Image.new("RGB", (48, 32), "red"), *frames], default_image=True)
    shown = show("a.png", data)
    assert shown.facts["frames"] == 3
    assert pixels(shown.pictures[0]).tobytes() == frames[0].tobytes()


def repeated_gif(canvas: tuple[int, int], frames: int) -> bytes:
    """A GIF that holds one small frame again and again on a canvas."""
    still = encoded(Image.new("P", (2, 2)), "GIF")
    start = still.index(b"\x2c")
    header, block = still[:start], still[start:-1]
    control = b"\x21\xf9\x04\x00\x0a\x00\x00\x00"
    header = header[:6] + struct.pack("<HH", *canvas) + header[10:]
    return header + (control + block) * frames + b";"


def test_twenty_thousand_frames() -> None:
    """An animation of 20,000 frames is sampled like any other."""
    shown = show("a.gif", repeated_gif((40, 40), 20_000), budget=4)
    assert [picture.time_s for picture in shown.pictures] == [0.0, 666.6, 1333.3, 1999.9]


def test_an_animated_bomb() -> None:
    """Frames that have too many pixels together are refused before they are decoded."""
    assert slug("a.gif", repeated_gif((9000, 9000), 40)) == "too_large"


def test_frames_cut_off() -> None:
    """Of an animation that breaks off what can be decoded is shown, and that some is missing."""
    rng = random.Random(3)
    noise = [Image.frombytes("RGB", (64, 64), rng.randbytes(64 * 64 * 3)) for _ in range(6)]
    data = animated("PNG", noise)
    shown = show("a.png", data[: len(data) * 2 // 3])
    assert 1 <= len(shown.pictures) < 6
    assert pixels(shown.pictures[0]).tobytes() == noise[0].tobytes()
    assert "damaged_frames" in warned(shown)


def test_pages_of_a_tiff() -> None:
    """A TIFF of several pages shows the first ones by number, up to the protocol's pages."""
    pages = [photo((100 + at, 80)) for at in range(9)]
    shown = show("a.tiff", encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    assert [(picture.page, picture.pages) for picture in shown.pictures] == [(at, 9) for at in range(1, 7)]
    assert [picture.width_px for picture in shown.pictures] == [100, 101, 102, 103, 104, 105]
    assert [(w.code, w.detail) for w in shown.warnings] == [("truncated", "6 of 9 pages are shown")]


def test_a_small_copy_beside_a_tiff_is_no_page() -> None:
    """A reduced copy that a program has put into a TIFF is not shown as a page."""
    image = photo((100, 80))
    copy = photo((30, 30))
    copy.encoderinfo = {"tiffinfo": {254: 1}}
    shown = show("a.tif", encoded(image, "TIFF", save_all=True, append_images=[copy]))
    assert [(picture.width_px, picture.page) for picture in shown.pictures] == [(100, None)]


@pytest.mark.parametrize("suffix", [".png", ".tiff"])
def test_sixteen_bits_of_colour(suffix: str) -> None:
    """Colour of 16 bits a channel keeps its gradient in 8, and that is recorded."""
    ramp = np.zeros((40, 256, 3), np.uint16)
    ramp[:, :, 2] = np.arange(256, dtype=np.uint16) * 257
    shown = show(f"a{suffix}", cv2.imencode(suffix, ramp)[1].tobytes())
    (picture,) = shown.pictures
    seen = pixels(picture)
    assert all(abs(seen.getpixel((x, 5))[0] - x) <= 1 for x in range(256))
    assert "16 bits a channel reduced to 8" in picture.transforms
    assert picture.data[24] == 8


def grey_tiff(bits: int, *, photometric: int = 1, order: str = "<", kind: int = 1) -> bytes:
    """A ramp from 0 to the greatest value, 64 px wide and 40 high, packed as TIFF 6.0 has it."""
    values = [x * (2**bits - 1) // 63 for x in range(64)]
    if kind == 3:
        row = struct.pack(f"{order}64f", *(x / 63 for x in range(64)))
    elif bits == 16:
        row = struct.pack(f"{order}64H", *values)
    else:
        packed = 0
        for value in values:
            packed = packed << bits | value
        row = packed.to_bytes(64 * bits // 8, "big")
    tags = {
        256: 64, 257: 40, 258: bits, 259: 1, 262: photometric, 273: 8 + 2 + 10 * 12 + 4, 277: 1, 278: 40,
        279: 40 * len(row), 339: kind,
    }  # fmt: skip
    head = {"<": b"II", ">": b"MM"}[order] + struct.pack(f"{order}HI", 42, 8)
    entries = b"".join(struct.pack(f"{order}HHII", tag, 4, 1, value) for tag, value in tags.items())
    return head + struct.pack(f"{order}H", len(tags)) + entries + bytes(4) + row * 40


@pytest.mark.parametrize(
    ("bits", "photometric", "order", "kind"),
    [(12, 1, "<", 1), (16, 1, "<", 1), (16, 1, ">", 1), (16, 0, "<", 1), (32, 1, "<", 3), (32, 0, "<", 3)],
)
def test_deep_grey_of_a_tiff_goes_from_black_to_white(
    bits: int, photometric: int, order: str, kind: int
) -> None:
    """White is the greatest value of so many bits, or 0 where the file says so."""
    (picture,) = show("a.tif", grey_tiff(bits, photometric=photometric, order=order, kind=kind)).pictures
    seen = pixels(picture)
    ramp = [seen.getpixel((x, 5))[0] for x in range(64)]
    expected = [255 * x / 63 for x in range(64)]
    assert all(
        abs(value - wanted) <= 1
        for value, wanted in zip(ramp, expected if photometric else expected[::-1], strict=True)
    )
    assert ("0 being white" in picture.transforms[0]) == (photometric == 0)


def test_each_page_of_a_tiff_has_bits_of_its_own() -> None:
    """A first page in colour says nothing about the grey of the next."""
    colour, grey = Image.new("RGB", (64, 40), "red"), Image.new("I;16", (64, 40), 65535)
    grey.encoderinfo = {"tiffinfo": {262: 0}}
    shown = show("a.tif", encoded(colour, "TIFF", save_all=True, append_images=[grey]))
    assert [pixels(picture).getpixel((5, 5)) for picture in shown.pictures] == [(255, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize(
    ("bits", "photometric", "order"), [(10, 1, "<"), (14, 1, "<"), (12, 0, "<"), (12, 1, ">"), (16, 0, ">")]
)
def test_deep_grey_that_nothing_here_decodes_is_our_lack(bits: int, photometric: int, order: str) -> None:
    """A sound TIFF of an unusual depth is no broken one; a TIFF of no depth that there is, is."""
    with pytest.raises(RendererFailed, match=f"TIFF of {bits} bits.*as PNG") as caught:
        show("a.tif", grey_tiff(bits, photometric=photometric, order=order))
    assert caught.value.slug == "missing_tool"
    assert slug("a.tif", grey_tiff(bits, photometric=9, order=order)) == "corrupt"


def swapped_profile() -> bytes:
    """A colour profile in which red and green have changed places."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return profile.replace(b"rXYZ", b"tttt", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"tttt", b"gXYZ", 1)


def test_an_embedded_profile_is_followed() -> None:
    """A profile that changes what is seen is applied; one of sRGB, or a broken one, changes nothing."""
    image = photo((60, 40))
    image.paste((255, 0, 0), (0, 0, 30, 40))
    (turned,) = show("a.png", encoded(image, "PNG", icc_profile=swapped_profile())).pictures
    red, green, _ = pixels(turned).getpixel((5, 5))
    assert green > 240
    assert red < 15
    assert any("by its profile" in words for words in turned.transforms)
    # A profile made for it would hold the time of day, and the same picture be other bytes each second.
    assert b"iCCP" not in turned.data
    own = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for profile in (own, swapped_profile()[:200], b"no profile at all"):
        data = encoded(image, "PNG", icc_profile=profile)
        assert show("a.png", data).pictures[0].data == data


def test_a_converted_picture_holds_no_time_of_day() -> None:
    """A picture in Lab is the same bytes whenever it is converted."""
    (shown,) = show("a.tif", encoded(photo((40, 40)).convert("LAB"), "TIFF")).pictures
    assert shown.media_type == "image/png"
    assert b"iCCP" not in shown.data


def test_every_way_to_be_transparent() -> None:
    """Transparency by channel, by one colour or by palette is seen on white."""
    grey = Image.new("LA", (40, 40), (0, 0))
    grey.paste((0, 255), (5, 5, 20, 20))
    plain = Image.new("RGB", (40, 40), (1, 2, 3))
    plain.paste((0, 0, 0), (5, 5, 20, 20))
    palette = Image.new("P", (40, 40), 1)
    palette.putpalette([0, 0, 0, 1, 2, 3])
    palette.paste(0, (5, 5, 20, 20))
    for data in (
        encoded(grey, "PNG"),
        encoded(plain, "PNG", transparency=(1, 2, 3)),
        encoded(palette, "PNG", transparency=1),
        encoded(palette, "PNG", transparency=b"\xff\x00"),
        encoded(palette, "GIF", transparency=1),
    ):
        (picture,) = show("a.png", data).pictures
        assert pixels(picture).getpixel((0, 0)) == (255, 255, 255)
        assert pixels(picture).getpixel((10, 10)) == (0, 0, 0)
        assert "composited on white" in picture.transforms


@pytest.mark.parametrize("format_", ["WEBP", "TIFF", "PNG", "AVIF"])
def test_orientation_is_no_matter_of_jpeg_alone(format_: str) -> None:
    """Whatever the format, a picture marked as turned is turned: the red half of orientation 6 is on top."""
    image = Image.new("RGB", (80, 40), "white")
    image.paste((255, 0, 0), (0, 0, 40, 40))
    (picture,) = show("a.png", encoded(image, format_, exif=exif(6))).pictures
    seen = pixels(picture)
    assert seen.size == (40, 80)
    assert seen.getpixel((20, 8))[1] < 60
    assert seen.getpixel((20, 72))[1] > 200


@pytest.mark.parametrize("size", [(1, 30_000), (30_000, 1), (3, 3), (2000, 5)])
@pytest.mark.parametrize("layout", ["single", "tiles", "overview+tiles"])
def test_shapes_that_judges_refuse(size: tuple[int, int], layout: str) -> None:
    """A strip or a dot gets a border: never narrower than 28 px, at most 100 times longer than wide."""
    for limits in (LIMITS, MediaLimits()):
        shown = show("a.png", encoded(Image.new("RGB", size, "red"), "PNG"), layout=layout, limits=limits)
        assert shown.pictures
        for picture in shown.pictures:
            edges = sorted((picture.width_px, picture.height_px))
            assert edges[0] >= 28
            assert edges[1] <= 100 * edges[0]
            assert any("white border" in words for words in picture.transforms)
        assert "tiny_image" in warned(shown)


def test_a_picture_without_a_decoder_here_is_not_its_fault() -> None:
    """A HEIC picture, which a person could open, is not held against the submission."""
    with pytest.raises(RendererFailed, match="image/heic") as caught:
        show("a.jpg", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    assert caught.value.slug == "missing_tool"


def test_a_pillow_without_a_formats_library_is_our_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    """AVIF is missing from older wheels and some systems' builds, which says nothing against the file."""
    data = encoded(Image.new("RGB", (40, 30)), "AVIF")
    assert show("a.avif", data).pictures
    monkeypatch.setitem(features.modules, "avif", ("PIL._not_built", None))
    with pytest.raises(
        RendererFailed, match="nothing here decodes image/avif; give the picture as PNG"
    ) as caught:
        show("a.avif", data)
    assert caught.value.slug == "missing_tool"


def test_empty() -> None:
    """A file of 0 bytes is empty."""
    assert slug("a.png", b"") == "empty"


def test_media_type_is_of_the_bytes() -> None:
    """Whatever comes in, what is sent is of the type that it says."""
    for name, data in every_format().items():
        for picture in show(name, data).pictures:
            assert sniff(picture.data) == picture.media_type


@functools.cache
def awkward() -> tuple[bytes, ...]:
    """A tall, a wide, a heavy and a tiny picture."""
    noise = Image.frombytes("RGB", (1150, 1150), random.Random(4).randbytes(1150 * 1150 * 3))
    images = (photo((1440, 8570)), photo((9000, 100)), noise, Image.new("RGB", (1, 1), "red"))
    return tuple(encoded(image, "PNG") for image in images)


@pytest.mark.parametrize(
    ("judge", "layout"),
    [
        ("anthropic/claude-sonnet-4-6", "overview+tiles"),
        ("anthropic/claude-opus-4-8", "single"),
        ("openai/gpt-4o", "tiles"),
        ("openai/gpt-5.2", "single"),
        ("google/gemini-3-pro", "overview+tiles"),
    ],
)
def test_nothing_above_a_vendors_limits(judge: str, layout: str) -> None:
    """Pictures of any size and shape go to each vendor within every limit, with what was done to them."""
    provider, _, model = judge.partition("/")
    limits = media_limits(JudgeSpec(provider=provider, name=model))
    for data in awkward():
        shown = show("a.png", data, limits=limits, layout=layout)
        fitted, _ = fit_request(shown.pictures, limits)
        for picture in fitted:
            assert picture.data == data or picture.transforms
            longest = max(picture.width_px, picture.height_px)
            assert longest <= min(limits.edge_px or 10**6, limits.shrink_edge_px or 10**6)
            assert picture.width_px * picture.height_px <= (limits.shrink_pixels or 10**9)
            assert len(base64.b64encode(picture.data)) <= (limits.image_bytes or 10**9)


def test_the_handed_pictures(shared: Path) -> None:
    """Each picture of the corpus comes out as it is described there."""
    folder = shared / "corpus" / "handout"

    def seen(name: str) -> Shown:
        return show(name, (folder / name).read_bytes(), layout="single")

    assert (
        "turned upright (EXIF orientation 3)" in seen("pi_hopper_orientation_3.webp").pictures[0].transforms
    )
    assert "CMYK converted to RGB" in seen("pi_pil_sample_cmyk.jpg").pictures[0].transforms
    assert "composited on white" in seen("pi_rgb_trns.png").pictures[0].transforms
    assert any("by its profile" in words for words in seen("pi_icc_profile_big.jpg").pictures[0].transforms)
    assert seen("mk_test_llm.jpg").pictures[0].media_type == "image/jpeg"
    # Three pictures in the file, but the first is only for programs that know no animation.
    assert [picture.time_s for picture in seen("pi_mode_16bit.png").pictures] == [0.0, 0.1]
    assert slug("a.gif", (folder / "pi_decompression_bomb.gif").read_bytes()) == "too_large"
    assert slug("a.png", (folder / "pi_truncated_image.png").read_bytes()) == "corrupt"
