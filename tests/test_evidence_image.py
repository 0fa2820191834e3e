"""Images: judged by content, unchanged where a judge sees what a person sees, converted where not."""

from __future__ import annotations

import io
import random
import struct
import zlib
from typing import Any

import pytest
from PIL import Image

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.image import render_image
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.pictures import encode
from beholder.records import EvidencePolicy, MediaLimits
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
    image = Image.new("RGB", (20, 10), "white")
    image.paste((255, 0, 0), (0, 0, 10, 10))
    exif = Image.Exif()
    exif[0x0112] = 6
    (picture,) = show("a.jpg", encoded(image, "JPEG", exif=exif)).pictures
    assert (picture.width_px, picture.height_px) == (10, 20)
    turned = pixels(picture)
    assert turned.getpixel((5, 2))[0] > 200 > turned.getpixel((5, 2))[1]
    assert turned.getpixel((5, 17))[1] > 200
    assert "EXIF orientation 6" in picture.transforms[0]


def test_sixteen_bit_grey_keeps_its_gradient() -> None:
    """Grey of 16 bits is rescaled instead of clipped to white."""
    image = Image.new("I;16", (256, 1))
    image.putdata([x * 257 for x in range(256)])
    (picture,) = show("a.png", encoded(image, "PNG")).pictures
    grey = [pixels(picture).getpixel((x, 0))[0] for x in range(256)]
    assert all(abs(value - x) <= 1 for x, value in enumerate(grey))
    assert "rescaled" in picture.transforms[0]


def test_transparency_is_seen_on_white() -> None:
    """Black on transparent stays visible: it is composited on white."""
    image = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
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


def test_animation() -> None:
    """Of an animation the first frame is shown as a still picture, and it is said so."""
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "lime", "blue")]
    data = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=100, lossless=True)
    shown = show("a.webp", data)
    assert "animation_first_frame" in warned(shown)
    assert pixels(shown.pictures[0]).getpixel((1, 1))[0] > 200
    assert shown.pictures[0].data != data


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
    """Without known limits a picture goes whole; one pixel is a picture, too."""
    data = encoded(photo((2000, 3000)), "JPEG")
    assert show("a.jpg", data, limits=MediaLimits()).pictures[0].data == data
    assert show("a.png", encoded(Image.new("RGB", (1, 1)), "PNG")).pictures[0].width_px == 1


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
        data = encoded(photo((64, 48)).crop((0, 0, 50, 20)), "PNG", exif=exif(orientation))
        wanted = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        assert pixels(show("a.png", data).pictures[0]).tobytes() == wanted.tobytes(), orientation


def test_what_cannot_be_encoded_is_our_fault() -> None:
    """A picture that the format has no room for fails as ours."""
    with pytest.raises(RendererFailed, match="image/webp"):
        encode(Image.new("RGB", (20_000, 1)), "image/webp")
