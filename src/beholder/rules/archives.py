"""Office files are zip archives: what they unpack to is bounded before a library unpacks it."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from beholder.rules.files import FileFailed

MAX_UNPACKED = 512 * 2**20
MAX_MEMBERS = 20_000
MAX_TYPES_BYTES = 4 * 2**20

ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of Office 97 begin, and newer ones with a password."""

_TYPES = "[Content_Types].xml"
_MAIN_PARTS = (
    (rb"wordprocessingml\.(document|template)\.main\+xml|ms-word\.\w+\.macroEnabledTemplate\.main", "docx"),
    (rb"ms-word\.document\.macroEnabled\.main\+xml", "docx"),
    (rb"spreadsheetml\.(sheet|template)\.main\+xml|ms-excel\.(sheet|template)\.macroEnabled\.main", "xlsx"),
    (rb"presentationml\.(presentation|slideshow|template)\.main\+xml", "pptx"),
    (rb"ms-powerpoint\.(presentation|slideshow|template)\.macroEnabled\.main", "pptx"),
)
"""The content type of a package's main part, and what the package is."""


def office_kind(data: bytes) -> str:
    """`docx`, `xlsx` or `pptx`, by the package's own list of its parts; empty for any other archive.

    Raises:
        FileFailed: It is no whole archive, has a password, or is a bomb.
    """
    broken = (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        OSError,
        NotImplementedError,
        EOFError,
        RuntimeError,
    )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check_sizes(members)
            types = b""
            if any(member.filename == _TYPES for member in members):
                with archive.open(_TYPES) as part:
                    types = part.read(MAX_TYPES_BYTES)
    except broken as error:
        raise FileFailed(f"is no whole archive, as such a file must be: {error}") from None
    return next((kind for pattern, kind in _MAIN_PARTS if re.search(pattern, types)), "")


def _check_sizes(members: list[zipfile.ZipInfo]) -> None:
    """Sizes as declared: a reader gives no byte beyond them."""
    if len(members) > MAX_MEMBERS:
        raise FileFailed(f"holds {len(members)} members, more than {MAX_MEMBERS}")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED:
        raise FileFailed(f"unpacks to {unpacked} bytes, more than {MAX_UNPACKED}")
    if any(member.flag_bits & 1 for member in members):
        raise FileFailed("has a password")
