"""What a file's first bytes say it is, whatever its name."""

from __future__ import annotations

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-executable"),
    (b"{\\rtf", "application/rtf"),
)

_AVIF_BRANDS = (b"avif", b"avis")


def sniff(data: bytes) -> str:
    """A media type by magic number, or an empty string where nothing is recognised (text, for one)."""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:2] == b"BM" and data[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if data[4:8] == b"ftyp":
        return "image/avif" if data[8:12] in _AVIF_BRANDS else "video/mp4"
    return ""
