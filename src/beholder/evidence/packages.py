"""What an office file really is, told from its content before LibreOffice sees it.

    zip   OOXML: [Content_Types].xml names the main part's type   ODF: `mimetype`
    OLE   a folder of streams: WordDocument, Workbook, PowerPoint Document, EncryptedPackage
    else  RTF, XML of 2003, flat ODF, and the bare formats of before 1995

Bombs, damage, passwords and other kinds of content are found here; so is what the file would load from
outside.

    packages_formats   the formats by their marks
    packages_ole       OLE files; of their slides, packages_ppt
    packages           zip packages, the bare formats, and the answer
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job
from beholder.evidence.packages_formats import BARE, FLAT, ODF, OOXML, Family
from beholder.evidence.packages_ole import check_ole, field_links, has_filepass, hidden_ole_slides
from beholder.evidence.sniff import describe, sniff
from beholder.evidence.xmlscan import Scanner, attribute, local
from beholder.records import Warning_

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

_ODF_LINK = re.compile(
    rb"<(?:draw:image|draw:object|draw:object-ole|draw:plugin|draw:fill-image|style:background-image"
    rb"|text:section-source|table:table-source|table:cell-range-source|text:alphabetical-index-auto-mark-file)"
    rb"\b[^>]{0,2000}?\bxlink:href=(?:\"([^\"]{1,2000})\"|'([^']{1,2000})')"
)
_ODF_OUTSIDE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\.\./")
_SLIDE = re.compile(r"ppt/slides/slide\d+\.xml")


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
        suffix, family, links = check_ole(job)
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
    if family == "slides" and (told := _hidden_slides(job, media_type)) is not None:
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
        for mark, suffix, family in ODF:
            if mark not in mimetype and not (not mimetype and mark.encode() in manifest):
                continue
            if b"encryption-data" in manifest or "encrypted-package" in names:
                raise BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=job.name)
            if "content.xml" not in names:
                raise BrokenArtifact("it has no content.xml", slug="corrupt", concerns=job.name)
            return suffix, family, tuple(dict.fromkeys(_odf_links(package, job.name)))
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
        for mark, suffix, family in OOXML:
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
    return hidden_ole_slides(job.data) if media_type == "application/x-ole-storage" else None


def _hidden_in_package(package: zipfile.ZipFile, name: str) -> tuple[int, int]:
    """As `_hidden_slides`, of OOXML and ODF."""
    hidden: list[bool] = []
    styles: set[str] = set()
    style = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal style
        kind = local(tag)
        if kind == "sld":
            hidden.append(attribute(attributes, "show") in ("0", "false"))
        elif kind == "style":
            style = attribute(attributes, "name")
        elif kind == "drawing-page-properties" and attribute(attributes, "visibility") == "hidden":
            styles.add(style)
        elif kind == "page":
            hidden.append(attribute(attributes, "style-name") in styles)

    for part in package.namelist():
        if part == "content.xml" or _SLIDE.fullmatch(part):
            Scanner(start).scan(read_part(package, part, name) or b"", name, part)
    return sum(hidden), len(hidden)


def _odf_links(package: zipfile.ZipFile, name: str) -> Iterator[str]:
    for part in ("content.xml", "styles.xml"):
        yield from _links_outside(read_part(package, part, name) or b"")


def _links_outside(data: bytes) -> Iterator[str]:
    """Targets outside the file that the XML of an ODF loads."""
    for match in _ODF_LINK.finditer(data):
        target = (match.group(1) or match.group(2)).decode("utf-8", "replace")
        if _ODF_OUTSIDE.match(target):
            yield target


# --- neither ------------------------------------------------------------------------------------


def _check_bare(job: Job) -> tuple[str, Family, tuple[str, ...]]:
    data = job.data
    for magic, suffix, family in BARE:
        if data.startswith(magic):
            encrypted = suffix == ".doc" and magic[1] == 0xA5 and len(data) > 11 and data[11] & 1
            if encrypted or (suffix == ".xls" and has_filepass(data)):
                raise BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=job.name)
            return suffix, family, tuple(field_links(data))
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<?xml", b"<office:document")):
        for mark, suffix, family in FLAT:
            if mark in start:
                return suffix, family, tuple(dict.fromkeys(_links_outside(data)))
    raise BrokenArtifact(
        f"the content is no office document but {describe(data)}", slug="wrong_type", concerns=job.name
    )
