"""What an office file really is, told from its content before LibreOffice sees it.

    zip   OOXML: [Content_Types].xml names the main part's type   ODF: `mimetype`
    OLE   a folder of streams: WordDocument, Workbook, PowerPoint Document, EncryptedPackage
    else  RTF, XML of 2003, flat ODF, and the bare formats of before 1995

Bombs, damage, passwords and other kinds of content are found here; so is what the file would load from
outside.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import olefile

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages_ppt import hidden_slides
from beholder.evidence.sniff import describe, sniff
from beholder.evidence.xmlscan import Scanner, attribute, local
from beholder.records import Warning_

Family = Literal["document", "slides", "workbook"]

MOST_MEMBERS = 20_000
MOST_UNPACKED_BYTES = 2**30
MOST_XML_BYTES = 256 * 2**20
"""Of one part. The largest honest ones, sheets of a million rows, have a third."""

MOST_RATIO = 300
RATIO_FROM_BYTES = 16 * 2**20
"""XML of this size that shrinks so far says one thing over and over; sheets of zeros shrink a hundredfold."""

MOST_NAMED = 5
"""Targets that a warning lists."""

_ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
)
"""What `zipfile` raises on hostile archives; RuntimeError: a member with a password."""

_OLE_FAULTS = (OSError, ValueError, IndexError, KeyError, struct.error, RecursionError, OverflowError)
"""What `olefile` raises on hostile files (its own errors are OSErrors)."""

_OOXML: tuple[tuple[str, str, Family], ...] = (
    ("ms-word.document.macroEnabled", ".docm", "document"),
    ("ms-word.template.macroEnabledTemplate", ".docm", "document"),
    ("wordprocessingml", ".docx", "document"),
    ("ms-excel.sheet.binary", ".xlsb", "workbook"),
    ("ms-excel.sheet.macroEnabled", ".xlsm", "workbook"),
    ("ms-excel.template.macroEnabled", ".xlsm", "workbook"),
    ("spreadsheetml", ".xlsx", "workbook"),
    ("ms-powerpoint", ".pptm", "slides"),
    ("presentationml", ".pptx", "slides"),
)
"""What the main part's content type contains, most specific first."""

_ODF: tuple[tuple[str, str, Family], ...] = (
    ("opendocument.text", ".odt", "document"),
    ("opendocument.spreadsheet", ".ods", "workbook"),
    ("opendocument.presentation", ".odp", "slides"),
    ("opendocument.graphics", ".odg", "slides"),
    ("sun.xml.writer", ".sxw", "document"),
    ("sun.xml.calc", ".sxc", "workbook"),
    ("sun.xml.impress", ".sxi", "slides"),
)

_FLAT: tuple[tuple[bytes, str, Family], ...] = (
    (b"schemas.microsoft.com/office/word/2003", ".xml", "document"),
    (b"urn:schemas-microsoft-com:office:spreadsheet", ".xml", "workbook"),
    (b"opendocument.text", ".fodt", "document"),
    (b"opendocument.spreadsheet", ".fods", "workbook"),
    (b"opendocument.presentation", ".fodp", "slides"),
)
"""What the first bytes of a document in one XML file contain."""

_BARE: tuple[tuple[bytes, str, Family], ...] = (
    (b"{\\rtf", ".rtf", "document"),
    (b"\xdb\xa5", ".doc", "document"),
    (b"\x9b\xa5", ".doc", "document"),
    (b"\x31\xbe\x00\x00", ".doc", "document"),
    (b"\x32\xbe\x00\x00", ".doc", "document"),
    (b"\x09\x00\x04\x00", ".xls", "workbook"),
    (b"\x09\x00\x06\x00", ".xls", "workbook"),
    (b"\x09\x02\x06\x00", ".xls", "workbook"),
    (b"\x09\x04\x06\x00", ".xls", "workbook"),
    (b"\x0b\xad\xde\xad", ".ppt", "slides"),
    (b"\xed\xde\xad\x0b", ".ppt", "slides"),
)
"""First bytes of what has no container: RTF, Word 1 and 2, Word for DOS, Excel 2 to 4, PowerPoint 2 and 3."""

_ODF_LINK = re.compile(
    rb"<(?:draw:image|draw:object|draw:object-ole|draw:plugin|draw:fill-image|style:background-image"
    rb"|text:section-source|table:table-source|table:cell-range-source|text:alphabetical-index-auto-mark-file)"
    rb"\b[^>]{0,2000}?\bxlink:href=(?:\"([^\"]{1,2000})\"|'([^']{1,2000})')"
)
_ODF_OUTSIDE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\.\./")
_SLIDE = re.compile(r"ppt/slides/slide\d+\.xml")
_FIELD_LINK = re.compile(rb'INCLUDE(?:PICTURE|TEXT)\s{1,9}(?:\\[*a-z ]{1,9})?\\?"([^"\\\0]{1,1000})')


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficeFile:
    """What an office file is.

    Attributes:
        suffix: Of its true format, by which LibreOffice shall read it.
        links: Targets outside the file that it would load: pictures, templates, sections, other workbooks.
    """

    suffix: str
    family: Family
    links: tuple[str, ...] = ()
    warnings: tuple[Warning_, ...] = ()


def preload() -> None:
    """Load what checking needs while files may still be opened."""
    zipfile.ZipFile(io.BytesIO(), "w").close()
    "".encode("cp437")


def check_office(job: Job) -> OfficeFile:
    """What the file is and what it would load; its content is judged, not its suffix.

    Raises:
        BrokenArtifact: `empty, wrong_type, encrypted, too_large` or `corrupt`.
    """
    if not job.data:
        raise BrokenArtifact("the file has 0 bytes", slug="empty", concerns=job.name)
    media_type = sniff(job.data)
    if media_type == "application/zip":
        suffix, family, links = _check_zip(job)
    elif media_type == "application/x-ole-storage":
        suffix, family, links = _check_ole(job)
    else:
        suffix, family, links = _check_bare(job)
    warnings = []
    if suffix != job.suffix:
        detail = f"{suffix} by content, {job.suffix} by name"
        warnings.append(Warning_(code="other_format", detail=detail, source=job.name))
    if links:
        named = ", ".join(links[:MOST_NAMED])
        more = f" and {len(links) - MOST_NAMED} more" if len(links) > MOST_NAMED else ""
        detail = f"linked, not loaded: {named}{more}"
        warnings.append(Warning_(code="blocked_resource", detail=detail, source=job.name))
    if family == "slides" and (told := _hidden_slides(job, media_type)):
        hidden, count = told
        if hidden and hidden == count:
            # LibreOffice makes nothing of it, as if it were damaged.
            raise BrokenArtifact(f"all of its slides ({count}) are hidden", slug="empty", concerns=job.name)
        if hidden:
            detail = f"{hidden} of {count} slides are hidden, and are neither shown nor counted as pages"
            warnings.append(Warning_(code="hidden_slides", detail=detail, source=job.name))
    return OfficeFile(suffix=suffix, family=family, links=links, warnings=tuple(warnings))


# --- zip ----------------------------------------------------------------------------------------


def open_package(name: str, data: bytes) -> zipfile.ZipFile:
    """The archive, if it is whole and of bounded size.

    Raises:
        BrokenArtifact: `corrupt`, `encrypted` or `too_large`.
    """
    try:
        package = zipfile.ZipFile(io.BytesIO(data))
    except _ZIP_FAULTS as error:
        raise BrokenArtifact(f"a broken zip file: {error}", slug="corrupt", concerns=name) from None
    members = package.infolist()
    if len(members) > MOST_MEMBERS:
        raise BrokenArtifact(
            f"{len(members)} parts, more than {MOST_MEMBERS}", slug="too_large", concerns=name
        )
    total = sum(member.file_size for member in members)
    if total > MOST_UNPACKED_BYTES:
        raise BrokenArtifact(
            f"{total} bytes unpacked, more than {MOST_UNPACKED_BYTES}", slug="too_large", concerns=name
        )
    for member in members:
        size, packed = member.file_size, max(1, member.compress_size)
        if not _is_xml(member.filename):
            continue
        if size > MOST_XML_BYTES or (size > RATIO_FROM_BYTES and size > MOST_RATIO * packed):
            detail = f"{member.filename}: {size} bytes out of {packed}"
            raise BrokenArtifact(detail, slug="too_large", concerns=name)
        if member.flag_bits & 1:
            raise BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=name)
    return package


def read_part(package: zipfile.ZipFile, part: str, name: str) -> bytes | None:
    """A part's bytes; None if there is none of that name.

    Raises:
        BrokenArtifact: `corrupt`: it cannot be unpacked.
    """
    try:
        return package.read(part)
    except KeyError:
        return None
    except _ZIP_FAULTS as error:
        raise BrokenArtifact(f"{part}: {error}", slug="corrupt", concerns=name) from None


def _is_xml(part: str) -> bool:
    return part.lower().endswith((".xml", ".rels", ".vml"))


def _check_zip(job: Job) -> tuple[str, Family, tuple[str, ...]]:
    with open_package(job.name, job.data) as package:
        names = set(package.namelist())
        if "[Content_Types].xml" in names:
            suffix, family = _ooxml_format(package, job.name)
            return suffix, family, tuple(_ooxml_links(package, job.name))
        mimetype = (read_part(package, "mimetype", job.name) or b"")[:200].decode("ascii", "replace")
        manifest = read_part(package, "META-INF/manifest.xml", job.name) or b""
        for mark, suffix, family in _ODF:
            if mark not in mimetype and not (not mimetype and mark.encode() in manifest):
                continue
            if b"encryption-data" in manifest or "encrypted-package" in names:
                raise BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=job.name)
            if "content.xml" not in names:
                raise BrokenArtifact("it has no content.xml", slug="corrupt", concerns=job.name)
            return suffix, family, tuple(_odf_links(package, job.name))
    what = f" ({mimetype.strip()})" if mimetype.isprintable() and mimetype.strip() else ""
    raise BrokenArtifact(
        f"the content is no office document but a zip archive{what}", slug="wrong_type", concerns=job.name
    )


def _ooxml_format(package: zipfile.ZipFile, name: str) -> tuple[str, Family]:
    types: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind = attribute(attributes, "ContentType")
        # Word's own is "…document.main+xml"; a binary workbook's main part is no XML.
        if local(tag) in ("Override", "Default") and (".main" in kind or "sheet.binary" in kind):
            types.append(kind)

    part = "[Content_Types].xml"
    Scanner(start).scan(read_part(package, part, name) or b"", name, part)
    for kind in types:
        for mark, suffix, family in _OOXML:
            if mark in kind:
                return suffix, family
    raise BrokenArtifact(
        "the content is no office document but another kind of package", slug="wrong_type", concerns=name
    )


def _ooxml_links(package: zipfile.ZipFile, name: str) -> Iterator[str]:
    """Targets that relationships name outside the package; links to click on load nothing."""
    found: dict[str, None] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        external = attribute(attributes, "TargetMode").lower() == "external"
        kind = attribute(attributes, "Type").rpartition("/")[2]
        if local(tag) == "Relationship" and external and kind != "hyperlink":
            found[attribute(attributes, "Target")] = None

    for part in package.namelist():
        if part.lower().endswith(".rels"):
            Scanner(start).scan(read_part(package, part, name) or b"", name, part)
    yield from found


def _hidden_slides(job: Job, media_type: str) -> tuple[int, int] | None:
    """(how many slides a presentation leaves out, how many it has); None where it does not tell."""
    if media_type == "application/zip":
        with open_package(job.name, job.data) as package:
            return _hidden_in_package(package, job.name)
    if media_type != "application/x-ole-storage":
        return None
    try:
        with olefile.OleFileIO(io.BytesIO(job.data)) as ole:
            if not (ole.exists("PowerPoint Document") and ole.exists("Current User")):
                return None
            stream, user = (ole.openstream(name).read() for name in ("PowerPoint Document", "Current User"))
    except _OLE_FAULTS:
        return None
    return hidden_slides(stream, user)


def _hidden_in_package(package: zipfile.ZipFile, name: str) -> tuple[int, int]:
    """As `_hidden_slides`, of OOXML and ODF."""
    hidden: list[bool] = []
    styles: set[str] = set()

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind = local(tag)
        if kind == "sld":
            hidden.append(attribute(attributes, "show") in ("0", "false"))
        elif kind == "style":
            style[0] = attribute(attributes, "name")
        elif kind == "drawing-page-properties" and attribute(attributes, "visibility") == "hidden":
            styles.add(style[0])
        elif kind == "page":
            hidden.append(attribute(attributes, "style-name") in styles)

    style = [""]
    for part in package.namelist():
        if part == "content.xml" or _SLIDE.fullmatch(part):
            Scanner(start).scan(read_part(package, part, name) or b"", name, part)
    return sum(hidden), len(hidden)


def _odf_links(package: zipfile.ZipFile, name: str) -> Iterator[str]:
    found: dict[str, None] = {}
    for part in ("content.xml", "styles.xml"):
        for match in _ODF_LINK.finditer(read_part(package, part, name) or b""):
            target = (match.group(1) or match.group(2)).decode("utf-8", "replace")
            if _ODF_OUTSIDE.match(target):
                found[target] = None
    yield from found


# --- OLE ----------------------------------------------------------------------------------------


def _check_ole(job: Job) -> tuple[str, Family, tuple[str, ...]]:
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
        return ".doc", "document", tuple(_field_links(data))
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


# --- neither ------------------------------------------------------------------------------------


def _check_bare(job: Job) -> tuple[str, Family, tuple[str, ...]]:
    data = job.data
    for magic, suffix, family in _BARE:
        if data.startswith(magic):
            encrypted = suffix == ".doc" and magic[1] == 0xA5 and len(data) > 11 and data[11] & 1
            if encrypted or (suffix == ".xls" and has_filepass(data)):
                raise BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=job.name)
            return suffix, family, tuple(_field_links(data))
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<?xml", b"<office:document")):
        for mark, suffix, family in _FLAT:
            if mark in start:
                return suffix, family, tuple(_flat_links(data))
    raise BrokenArtifact(
        f"the content is no office document but {describe(data)}", slug="wrong_type", concerns=job.name
    )


def _field_links(data: bytes) -> Iterator[str]:
    """Targets of the fields that include pictures or texts, in single bytes or in UTF-16."""
    found = {
        match.group(1).decode("latin-1"): None
        for text in (data, data.replace(b"\0", b""))
        for match in _FIELD_LINK.finditer(text)
    }
    yield from found


def _flat_links(data: bytes) -> Iterator[str]:
    for match in _ODF_LINK.finditer(data):
        target = (match.group(1) or match.group(2)).decode("utf-8", "replace")
        if _ODF_OUTSIDE.match(target):
            yield target
