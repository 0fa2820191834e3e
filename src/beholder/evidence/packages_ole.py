"""OLE files: folders of streams, the form of Word, Excel and PowerPoint from 1995 to 2003."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator

import olefile

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages_formats import Family
from beholder.evidence.packages_ppt import hidden_slides

_OLE_FAULTS = (OSError, ValueError, IndexError, KeyError, struct.error, RecursionError, OverflowError)
"""What `olefile` raises on hostile files (its own errors are OSErrors)."""


_FIELD_LINK = re.compile(rb'INCLUDE(?:PICTURE|TEXT)\s{1,9}(?:\\[*a-z ]{1,9})?\\?"([^"\\\0]{1,1000})')


def check_ole(job: Job) -> tuple[str, Family, tuple[str, ...]]:
    """(suffix, family, links) of an OLE file.

    Raises:
        BrokenArtifact: `encrypted, wrong_type` or `corrupt`.
    """
    try:
        with olefile.OleFileIO(io.BytesIO(job.data)) as ole:
            return _ole_format(ole, job)
    except _OLE_FAULTS as error:
        raise BrokenArtifact(f"a broken OLE file: {error}", slug="corrupt", concerns=job.name) from None


def _ole_format(ole: olefile.OleFileIO, job: Job) -> tuple[str, Family, tuple[str, ...]]:
    encrypted = BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=job.name)
    if ole.exists("EncryptedPackage") or ole.exists("EncryptedSummary"):
        raise encrypted
    if ole.exists("WordDocument"):
        data = ole.openstream("WordDocument").read()
        # FIB: flags at byte 10, fEncrypted is bit 8 ([MS-DOC] 2.5.2).
        if len(data) < 12 or struct.unpack_from("<H", data, 10)[0] & 0x0100:
            raise encrypted
        return ".doc", "document", tuple(field_links(data))
    for stream in ("Workbook", "Book"):
        if ole.exists(stream):
            if has_filepass(ole.openstream(stream).read()):
                raise encrypted
            return ".xls", "workbook", ()
    if any(ole.exists(stream) for stream in ("PowerPoint Document", "PP40", "PP97_DUALSTORAGE")):
        user = ole.openstream("Current User").read() if ole.exists("Current User") else b""
        # CurrentUserAtom: headerToken at byte 12; this one says encrypted ([MS-PPT] 2.3.2).
        if ole.exists("PowerPoint Document") and user[12:16] == b"\xdf\xc4\xd1\xf3":
            raise encrypted
        return ".ppt", "slides", ()
    raise BrokenArtifact(
        "the content is no office document but another OLE file", slug="wrong_type", concerns=job.name
    )


def has_filepass(stream: bytes) -> bool:
    """Whether a workbook stream's first part has the record FILEPASS ([MS-XLS] 2.4.117)."""
    at = 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        if kind == 0x2F:
            return True
        if kind == 0x0A:  # EOF of the globals
            return False
        at += 4 + size
    return False


def field_links(data: bytes) -> Iterator[str]:
    """Targets of the fields that include pictures or texts, in single bytes or in UTF-16."""
    found = {
        match.group(1).decode("latin-1"): None
        for text in (data, data.replace(b"\0", b""))
        for match in _FIELD_LINK.finditer(text)
    }
    yield from found


def hidden_ole_slides(data: bytes) -> tuple[int, int] | None:
    """(how many slides a binary presentation leaves out, how many it has); None where it does not tell."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            if not (ole.exists("PowerPoint Document") and ole.exists("Current User")):
                return None
            stream, user = (ole.openstream(name).read() for name in ("PowerPoint Document", "Current User"))
    except _OLE_FAULTS:
        return None
    return hidden_slides(stream, user)
