"""What content is of, whatever the file's name."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from beholder.errors import BrokenArtifact
from beholder.evidence.sniff import check_kind, describe, kind_of, sniff
from tests.fakes.evidence import encoded


def box(brand: bytes, *compatible: bytes) -> bytes:
    """The first box of an ISO base media file."""
    body = brand + bytes(4) + b"".join(compatible)
    return (len(body) + 8).to_bytes(4, "big") + b"ftyp" + body + bytes(50)


@pytest.mark.parametrize(
    ("data", "kind", "media_type"),
    [
        (b"", "empty", ""),
        (b"%PDF-1.7\n", "pdf", "application/pdf"),
        (b"\n" * 900 + b"%PDF-1.4", "pdf", ""),
        (b"\n" * 1100 + b"%PDF-1.4", "text", ""),
        (rb"{\rtf1 x}", "office", "application/rtf"),
        (b"PK\x03\x04rest", "office", "application/zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "office", "application/x-ole-storage"),
        (b"\x1f\x8b\x08", "archive", "application/gzip"),
        (b"7z\xbc\xaf\x27\x1c", "archive", "application/x-7z-compressed"),
        (box(b"isom", b"mp41"), "video", "video/mp4"),
        (box(b"qt  "), "video", "video/quicktime"),
        (b"\0\0\0\x08wide\0\0\0\0mdat", "video", "video/quicktime"),
        (box(b"M4A "), "audio", "audio/mp4"),
        (box(b"avif"), "image", "image/avif"),
        (box(b"mif1", b"avif", b"miaf"), "image", "image/avif"),
        (box(b"heic", b"mif1"), "image", "image/heic"),
        (box(b"mif1", b"heic"), "image", "image/heif"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", "video", "video/webm"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska", "video", "video/x-matroska"),
        (b"RIFF\0\0\0\0AVI LIST", "video", "video/x-msvideo"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio", "audio/wav"),
        (b"ID3\x03rest", "audio", "audio/mpeg"),
        (b"OggS" + bytes(24) + b"\x01vorbis", "audio", "audio/ogg"),
        (b"OggS" + bytes(24) + b"\x80theora", "video", "video/ogg"),
        (b"II+\0\x08\0\0\0rest", "image", "image/tiff"),
        (b"BM\x46\0\0\0\0\0\0\0rest", "image", "image/bmp"),
        (b"\x7fELF\x02", "unknown", "application/x-executable"),
        (b"\0\x01\x02", "unknown", ""),
        (b"<!DOCTYPE html><p>x", "web", ""),
        (b"\xef\xbb\xbf \n<!-- a --> <html>", "web", ""),
        (b"<?xml version='1.0'?>\n<svg xmlns='x'/>", "web", ""),
        ("<html>".encode("utf-16"), "web", ""),
        ("words".encode("utf-16"), "text", ""),
        (b"<note>not HTML</note>", "text", ""),
        (b"BMW and others", "text", ""),
        (b"#EXTM3U\nhttp://example.org/a.ts", "text", ""),
        ("größer".encode("latin-1"), "text", ""),
    ],
)
def test_kinds(data: bytes, kind: str, media_type: str) -> None:
    """Each kind is known by its first bytes."""
    assert (kind_of(data), sniff(data)) == (kind, media_type)


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000"])
def test_pictures_by_their_own_writers(format_: str) -> None:
    """What is written as a picture of a format is known as one."""
    data = encoded(Image.new("RGB", (9, 9), "red"), format_)
    assert kind_of(data) == "image"
    assert sniff(data).endswith({"JPEG2000": "jp2"}.get(format_, format_.lower()))


def test_big_tiff() -> None:
    """A TIFF with addresses of 64 bits is one, too."""
    out = io.BytesIO()
    Image.new("RGB", (9, 9)).save(out, "TIFF", big_tiff=True)
    assert sniff(out.getvalue()) == "image/tiff"


@pytest.mark.parametrize(
    ("data", "slug", "words"),
    [
        (b"", "empty", "0 bytes"),
        (b"<h1>x</h1>", "wrong_type", "not a PDF but HTML or SVG"),
        (b"PK\x03\x04", "wrong_type", "an office document or a zip file"),
    ],
)
def test_refusals(data: bytes, slug: str, words: str) -> None:
    """Another kind than the name's is refused with what it is."""
    with pytest.raises(BrokenArtifact, match=words) as caught:
        check_kind("a.pdf", data, "pdf", "a PDF")
    assert (caught.value.slug, caught.value.concerns) == (slug, "a.pdf")
    check_kind("a.pdf", b"%PDF-1.7", "pdf", "a PDF")


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    """Whatever the bytes are, they are of one kind, which has words."""
    assert describe(data)
    media_type = sniff(data)
    if media_type:
        assert kind_of(data) not in {"text", "web", "empty"}
    else:
        assert kind_of(data) in {"text", "web", "empty", "unknown", "pdf"}


def test_markup_is_found_in_linear_time() -> None:
    """A start made to be read again and again is read once."""
    for data in (b"<!--" * 5000, b"<?xml ?>" * 5000, b"<!-- -->" * 5000, b" " * 40_000, b"<?xml" * 9000):
        assert kind_of(data) == "text"
