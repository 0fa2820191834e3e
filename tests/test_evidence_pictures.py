"""Pictures: what leaves is within every limit, and what was done for it is told."""

from __future__ import annotations

import hashlib
import random

import pytest
from PIL import Image

from beholder.evidence.pictures import (
    TooLarge,
    base64_bytes,
    fit_request,
    is_flat,
    make_picture,
)
from beholder.records import MediaLimits, Picture
from tests.fakes.evidence import encoded, pixels, png


def noise(size: tuple[int, int]) -> bytes:
    return encoded(Image.frombytes("RGB", size, random.Random(7).randbytes(size[0] * size[1] * 3)), "PNG")


def picture(data: bytes, size: tuple[int, int], media_type: str = "image/png") -> Picture:
    return make_picture(data, media_type, size, "a.png")


def test_base64_length() -> None:
    """Three bytes become four characters, begun triples too."""
    assert [base64_bytes(n) for n in (0, 1, 2, 3, 4, 3_750_000)] == [0, 4, 4, 4, 8, 5_000_000]


def test_what_fits_is_not_touched() -> None:
    """A picture within the limits leaves with the bytes it came with."""
    one = picture(png(), (40, 30))
    fitted, warnings = fit_request(
        [one], MediaLimits(image_bytes=10_000, edge_px=40, request_bytes=2_000_000)
    )
    assert (fitted, warnings) == ((one,), ())
    assert fitted[0].data is one.data


def test_edge_depends_on_the_number_of_pictures() -> None:
    """With more pictures than `many_images` the smaller edge holds, and each change is recorded."""
    limits = MediaLimits(edge_px=100, edge_px_many=50, many_images=2)
    few, _ = fit_request([picture(png((80, 40)), (80, 40))] * 2, limits)
    assert {one.width_px for one in few} == {80}
    many, warnings = fit_request([picture(png((80, 40)), (80, 40))] * 3, limits)
    assert [(one.width_px, one.height_px) for one in many] == [(50, 25)] * 3
    assert [warning.code for warning in warnings] == ["downscaled"] * 3
    for one in many:
        assert pixels(one).size == (50, 25)
        assert one.sha256 == hashlib.sha256(one.data).hexdigest()
        assert "factor 0.625" in one.transforms[-1]


def test_bytes_limit_counts_base64() -> None:
    """A picture whose base64 is over the limit is encoded smaller, and its type says what it then is."""
    data = noise((300, 300))
    most = base64_bytes(len(data)) - 1
    (one,), warnings = fit_request([picture(data, (300, 300))], MediaLimits(image_bytes=most))
    assert base64_bytes(one.size_bytes) <= most
    assert one.media_type == "image/webp"
    assert one.data[8:12] == b"WEBP"
    assert [warning.code for warning in warnings] == ["re_encoded"]


def test_request_bytes() -> None:
    """The largest pictures are encoded smaller until all fit one request."""
    data, small = noise((400, 400)), png()
    pictures = [picture(small, (40, 30)), picture(data, (400, 400))]
    room = base64_bytes(len(data)) + 1_000_000
    fitted, _ = fit_request(pictures, MediaLimits(request_bytes=room))
    assert fitted[0] == pictures[0]
    assert fitted[1].media_type == "image/webp"
    assert sum(base64_bytes(one.size_bytes) for one in fitted) <= room - 1_000_000


@pytest.mark.parametrize(
    "limits",
    [
        MediaLimits(image_bytes=5000),
        MediaLimits(request_bytes=1_005_000),
        MediaLimits(images=1),
        MediaLimits(media_types=("image/gif",)),
    ],
)
def test_what_cannot_fit_is_refused(limits: MediaLimits) -> None:
    """Evidence that no quality makes small enough is refused before any call."""
    with pytest.raises(TooLarge) as caught:
        fit_request([picture(noise((300, 300)), (300, 300))] * 2, limits)
    assert caught.value.slug == "evidence_too_large"


def test_flat() -> None:
    """One colour is flat, give or take a step; a word on white and a gradient are not."""
    white = Image.new("RGB", (1280, 800), "white")
    assert is_flat(white)
    white.putpixel((5, 5), (253, 255, 255))
    assert is_flat(white)
    white.paste((0, 0, 0), (100, 100, 140, 112))
    assert not is_flat(white)
    assert not is_flat(Image.linear_gradient("L"))
    assert is_flat(Image.new("L", (5, 5), 17))
