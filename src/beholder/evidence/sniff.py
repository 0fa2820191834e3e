"""What a file's bytes say it is, whatever its name."""

from __future__ import annotations

import re
from typing import Literal

from beholder.errors import BrokenArtifact

Kind = Literal["image", "pdf", "office", "video", "audio", "web", "text", "archive", "unknown", "empty"]
"""What the content is of. `office` takes every zip and OLE file: telling them apart means opening them."""

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"II+\0\x08\0\0\0", "image/tiff"),
    (b"MM\0+\0\x08\0\0", "image/tiff"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"\xff\x4f\xff\x51", "image/jp2"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl"),
    (b"8BPS\0", "image/vnd.adobe.photoshop"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
    (b"%!PS", "application/postscript"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
)

_RIFF = {b"WEBP": "image/webp", b"AVI ": "video/x-msvideo", b"WAVE": "audio/wav"}

_BRANDS: dict[bytes, str] = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"heim": "image/heic",
    b"heis": "image/heic",
    b"hevc": "image/heic",
    b"hevx": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"jp2 ": "image/jp2",
}
"""Major brand of an ISO base media file (ISO/IEC 14496-12, 4.3) -> what it holds; any other is a video."""

_GENERIC_BRANDS = (b"mif1", b"msf1", b"miaf")
"""They say "a picture"; which codec is told by the compatible brands (ISO/IEC 23008-12)."""

_ATOMS = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
"""What a QuickTime file of before 2001, without `ftyp`, begins with."""

_OFFICE = ("application/zip", "application/x-ole-storage", "application/rtf")
_ARCHIVES = (
    "application/gzip",
    "application/x-7z-compressed",
    "application/vnd.rar",
    "application/x-bzip2",
    "application/x-xz",
    "application/zstd",
)

PDF_HEADER_WITHIN = 1024
"""Readers take a PDF's header anywhere in so many bytes (ISO 32000-1, annex H, note 13)."""

_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_TEXT_START = 4096
_MARKUP = re.compile(
    rb"(?:<\?xml[^>]*\?>|<!--.*?-->|\s)*+<(?:!doctype\s+(?:html|svg)|(?:html|head|body|svg|title|meta|script|style"
    rb"|h[1-6]|div|p|table|link|iframe)\b)",
    re.IGNORECASE | re.DOTALL,
)


def sniff(data: bytes) -> str:
    """A media type by magic number, or an empty string where nothing is recognised (text, for one)."""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "")
    if data[:2] == b"BM" and data[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if data[4:8] == b"ftyp":
        return _by_brand(data)
    if data[4:8] in _ATOMS and data[:1] == b"\0":
        return "video/quicktime"
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in data[:64] else "video/x-matroska"
    if data.startswith(b"OggS"):
        return "video/ogg" if b"theora" in data[:256] else "audio/ogg"
    return ""


def _by_brand(data: bytes) -> str:
    major = data[8:12]
    if major in _GENERIC_BRANDS:
        size = min(int.from_bytes(data[:4], "big"), 256)
        compatible = {data[at : at + 4] for at in range(16, size, 4)}
        if compatible & {b"avif", b"avis"}:
            return "image/avif"
        return "image/heif"
    return _BRANDS.get(major, "video/mp4")


def kind_of(data: bytes) -> Kind:
    """The kind of content, for telling a file that is another thing than its name says.

    `web` is text that begins like HTML or SVG; `unknown` is binary without a known magic number.
    """
    if not data:
        return "empty"
    media_type = sniff(data)
    if media_type == "application/pdf" or (not media_type and b"%PDF-" in data[:PDF_HEADER_WITHIN]):
        return "pdf"
    if media_type in _OFFICE:
        return "office"
    if media_type in _ARCHIVES:
        return "archive"
    for kind in ("image", "video", "audio"):
        if media_type.startswith(f"{kind}/"):
            return kind
    if media_type:
        return "unknown"
    return _kind_of_text(data[:_TEXT_START])


def _kind_of_text(start: bytes) -> Kind:
    """Text has no NUL, or says by its first two bytes that it is UTF-16, where every other may be one."""
    wide = start.startswith(_BOMS[1:])
    if b"\0" in start and not wide:
        return "unknown"
    narrow = start.replace(b"\0", b"") if wide else start
    for mark in _BOMS:
        narrow = narrow.removeprefix(mark)
    return "web" if _MARKUP.match(narrow) else "text"


_CALLED: dict[Kind, str] = {
    "image": "a picture",
    "pdf": "a PDF",
    "office": "an office document or a zip file",
    "video": "a video",
    "audio": "sound",
    "web": "HTML or SVG",
    "text": "text",
    "archive": "an archive",
    "unknown": "something unknown",
    "empty": "nothing",
}


def describe(data: bytes) -> str:
    """What the content is, in words, with its media type where one was recognised."""
    media_type = sniff(data)
    words = _CALLED[kind_of(data)]
    return f"{words} ({media_type})" if media_type else words


def check_kind(name: str, data: bytes, wanted: Kind, called: str) -> None:
    """Refuse content of another kind than the file's name says.

    Args:
        called: What it should be, such as `a PDF`.

    Raises:
        BrokenArtifact: `empty` or `wrong_type`.
    """
    found = kind_of(data)
    if found == "empty":
        raise BrokenArtifact("the file has 0 bytes", slug="empty", concerns=name)
    if found != wanted:
        raise BrokenArtifact(
            f"the content is not {called} but {describe(data)}", slug="wrong_type", concerns=name
        )
