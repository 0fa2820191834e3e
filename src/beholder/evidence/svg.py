"""SVG drawings: shown by the browser as documents of their own, at the size of their content.

No script runs in them, and they hold no frame (a content policy says so); whatever else they ask for goes
through the same gate as a page's requests. A drawing that is no well-formed XML is broken: a browser shows an
error in its place.
"""

from __future__ import annotations

import re
import zlib

from beholder.errors import BrokenArtifact
from beholder.evidence.browser import Browser
from beholder.evidence.egress import Egress
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.page import Page, PageFailed
from beholder.evidence.page_settle import settle_again
from beholder.evidence.record import Record
from beholder.evidence.serve import ServedFolder
from beholder.evidence.sniff import sniff
from beholder.evidence.webshot import Extent, draw
from beholder.records import NetworkPolicy, Warning_

MOST_PX = 4096
"""Longest edge of a drawing as it is drawn: one that says it is larger is drawn smaller, not cut."""

LEAST_PX = 200
"""Longest edge at least: judges are said to see little in less. Lines stay lines at any size."""

MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""What a compressed drawing may unpack to."""

_POLICY = "script-src 'none'; frame-src 'none'; object-src 'none'; worker-src 'none'"

_LOOK_BYTES = 65_536
_PROLOGUE = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*", re.DOTALL)
_ROOT = re.compile(rb"<(?:[\w.-]+:)?svg[\s>/]")
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def _start(data: bytes) -> bytes:
    """The beginning without byte order mark and, where it is UTF-16, without the NULs between."""
    start = data[:_LOOK_BYTES]
    for mark in (b"\xff\xfe", b"\xfe\xff"):
        if start.startswith(mark):
            return start[2:].replace(b"\0", b"")
    return start.removeprefix(b"\xef\xbb\xbf")


def is_svg(data: bytes) -> bool:
    """Whether this is an SVG document, plain or compressed, and no page that begins with a drawing.

    Markup after the drawing makes it a page. HTML's own parser takes `<svg>`, too, so that a document without
    XML declaration, document type and namespace is one for a page.
    """
    data = _unpacked(data)
    start = _start(data)
    prologue = _PROLOGUE.match(start)
    rest = start[prologue.end() if prologue else 0 :]
    if not _ROOT.match(rest) or _HTML.match(start.lstrip()):
        return False
    said = start[: len(start) - len(rest)] + rest.partition(b">")[0]
    declared = b"<?xml" in said or b"<!DOCTYPE svg" in said or b"http://www.w3.org/2000/svg" in said
    return declared and _start(data[-256:]).replace(b"\0", b"").rstrip().endswith(b"svg>")


def check_svg(job: Job) -> None:
    """Refuse what is neither a drawing nor a page.

    Raises:
        BrokenArtifact: `wrong_type`, or `too_large` once unpacked.
    """
    data = unpack(job)
    found = sniff(data)
    start = _start(data).lstrip()
    if found or not start.startswith(b"<"):
        what = f"but {found}" if found else "but text without markup"
        raise BrokenArtifact(f"the content is no drawing {what}", slug="wrong_type", concerns=job.name)


def unpack(job: Job) -> bytes:
    """The drawing's bytes, unpacked if they are compressed (`.svgz`).

    Raises:
        BrokenArtifact: `too_large` or `corrupt`.
    """
    if not job.data.startswith(b"\x1f\x8b"):
        return job.data
    data = _unpacked(job.data)
    if len(data) > MAX_UNPACKED_BYTES:
        raise BrokenArtifact(
            f"unpacks to more than {MAX_UNPACKED_BYTES} bytes", slug="too_large", concerns=job.name
        )
    if not data:
        raise BrokenArtifact("cannot be unpacked", slug="corrupt", concerns=job.name)
    return data


def _unpacked(data: bytes) -> bytes:
    """Gzip's content, at most a byte more than is allowed; what is not compressed, as it is."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return zlib.decompressobj(wbits=31).decompress(data, MAX_UNPACKED_BYTES + 1)
    except zlib.error:
        return b""


async def render_svg(
    browser: Browser,
    job: Job,
    folder: ServedFolder,
    network: NetworkPolicy,
    egress: Egress | None,
    *,
    record: Record | None = None,
) -> Shown:
    """A drawing's picture, one attempt; a page under a drawing's suffix is drawn as what it is.

    Raises:
        BrokenArtifact: `corrupt`: no well-formed XML; `wrong_type`: XML, but no SVG.
        PageFailed: It hangs, kills its renderer or cannot be captured.
        ConnectionLost: The browser is gone or does not answer.
    """
    data = unpack(job)
    if _HTML.match(_start(data).lstrip()):
        folder.page = data
        told = _other_format(job, "HTML")
        return await draw(browser, job, folder, network, egress, record=record, warnings=told)
    folder.page, folder.page_type = data, "image/svg+xml"
    folder.page_headers = (("content-security-policy", _POLICY),)
    told = ()
    if data is not job.data:
        told = _other_format(job, "SVG compressed with gzip")
    elif job.suffix != ".svg":
        told = _other_format(job, "SVG")
    return await draw(browser, job, folder, network, egress, record=record, measure=_measure, warnings=told)


def _other_format(job: Job, what: str) -> tuple[Warning_, ...]:
    detail = f"the content is {what}, and is judged as that"
    return (Warning_(code="other_format", detail=detail, source=job.name),)


async def _measure(page: Page) -> Extent:
    """Bring the drawing to the size it is captured at."""
    width, height = page.policy.viewport
    found = await page.ask("svg.js", WIDTH=width, HEIGHT=height, MOST=MOST_PX, LEAST=LEAST_PX)
    name = page.folder.name
    if not isinstance(found, dict):
        raise PageFailed("the drawing does not tell its size", concerns=name)
    if "error" in found:
        if not found["error"]:
            root = str(found["root"])[:80]
            raise BrokenArtifact(f"XML, but no SVG: its root is {root!r}", slug="wrong_type", concerns=name)
        raise BrokenArtifact(_said(str(found["error"])), slug="corrupt", concerns=name)
    await settle_again(page)
    scale = float(found["scale"])
    natural = [round(float(found["width"]), 3), round(float(found["height"]), 3)]
    words = f"drawn at factor {scale:.4g} of {natural[0]:g}x{natural[1]:g} px"
    return Extent(
        width=int(found["drawn"][0]),
        height=int(found["drawn"][1]),
        facts={"svg": {"size": natural, "sized_by": found["by"], "scale": round(scale, 6)}},
        transforms=() if scale == 1.0 else (words,),
    )


def _said(error: str) -> str:
    """The browser's word on what is wrong, without the frame around it."""
    inner = error.partition("errors:")[2] or error
    return f"no well-formed XML: {inner.partition('Below is')[0].strip()[:300]}"
