"""Outside hosts that a page's text names as resources: a look at the text, without a browser.

It finds what markup, style sheets and strings of scripts ask for, and leaves out links that a person would
have to click. A script can put an address together in ways that no such look finds, and can hold one that it
never asks for; what a page really asked for stands in the evidence once it was drawn.

Every pattern is tried within a window of bounded size, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

from beholder.evidence.hosts import host_kind

Kind = Literal["html", "css", "js"]
KINDS: dict[str, Kind] = {
    ".html": "html",
    ".htm": "html",
    ".svg": "html",
    ".xhtml": "html",
    ".css": "css",
    ".js": "js",
    ".mjs": "js",
}

_WINDOW = 600
_NEAR = 60
"""Characters before an address in which its attribute, or what else asks for it, must stand."""

# Backslashes: inside JSON a URL is written https:\/\/host. The name ends where a host's name can.
_URL = re.compile(
    r"(?:(?P<scheme>https?|wss?):)?(?:\\?/){2}(?P<host>[^\s/?#\"'`<>()\\|,;]{1,300})", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"([\w:-]{1,40})\s{0,9}=\s{0,9}[\"']?\s{0,9}$")
_CSS = re.compile(r"(?:url\(\s{0,9}[\"']?\s{0,9}|@import\s{1,9}[\"'])$", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'`]\s{0,9}$")
# An address in a string that is markup itself: a link is one, whatever the script does with it.
_LINK_IN_STRING = re.compile(r"(?<![.\w])href\s{0,9}=\s{0,9}\\?[\"'`]\s{0,9}$", re.IGNORECASE)
_TAG = re.compile(r"<([A-Za-z][\w:-]{0,40})[^<>]*")
_REL = re.compile(
    r"\brel\s{0,9}=\s{0,9}(?:\"([^\"<>]{0,200})|'([^'<>]{0,200})|([^\s\"'<>]{1,80}))", re.IGNORECASE
)
_SRCSET = re.compile(r"\b(?:image)?srcset\s{0,9}=\s{0,9}(\"[^\"]{0,20000}\"|'[^']{0,20000}')", re.IGNORECASE)
_SCRIPT_OPEN = re.compile(r"<script\b([^<>]{0,2000})>", re.IGNORECASE)
_SCRIPT_CLOSE = re.compile(r"</script", re.IGNORECASE)
_DATA_TYPE = re.compile(r"\btype\s{0,9}=\s{0,9}[\"']?[\w/+.-]*json", re.IGNORECASE)

_RESOURCE_ATTRIBUTES = {"src", "poster", "data", "background", "xlink:href", "data-src", "code", "archive"}
_NO_RESOURCE_TAGS = {"a", "area", "base", "form"}
# What a browser without a window fetches of a page's links: no icons, no feeds, no manifest.
_RESOURCE_RELS = {"stylesheet", "preload", "modulepreload", "prefetch"}
# Names that documents are recognised by, which nobody asks for.
_NAMESPACES = ("www.w3.org", "purl.org", "ns.adobe.com", "xmlns.com", "schema.org", "json-schema.org")
# The varying part of a map's tile servers: {s}.tile.example.org, ${sub}.tile.example.org, %s.example.org
_VARYING = re.compile(r"^(?:\$?\{[^{}]{1,40}\}|%s|\*)\.")


def outside_hosts(text: str, kind: Kind) -> dict[str, str]:
    """Each outside host that is asked for, with the way of the first mention (`src of <script>`, …).

    A host with a varying first part, as map tiles have, is its fixed part with a leading dot, which is what
    `--network` takes for every name below it.
    """
    found: dict[str, str] = {}
    for host, way in _mentions(text, kind):
        found.setdefault(host, way)
    return dict(sorted(found.items()))


def _mentions(text: str, kind: Kind) -> Iterator[tuple[str, str]]:
    if kind != "js":
        text = _without(text, *(("<!--", "-->") if kind == "html" else ("/*", "*/")))
    scripts = _Spans(text) if kind == "html" else None
    for match in _URL.finditer(text):
        host = _host(match["host"])
        if host is None:
            continue
        before = text[max(0, match.start() - _WINDOW) : match.start()]
        near = before[-_NEAR:]
        if _CSS.search(near):
            yield host, "url() of a style sheet"
        elif kind == "js" or (scripts is not None and scripts.hold(match.start())):
            if _QUOTED.search(near) and not _LINK_IN_STRING.search(near) and _asked(match, host):
                yield host, "a string of a script"
        elif kind == "html":
            way = _markup(before, text[match.end() : match.end() + _WINDOW])
            if way:
                yield host, way
    if kind == "html":
        for match in _SRCSET.finditer(text):
            for inner in _URL.finditer(match[1]):
                if host := _host(inner["host"]):
                    yield host, "srcset"


def _asked(match: re.Match[str], host: str) -> bool:
    """Whether a string is an address to ask for: no namespace, and // only before what is a host's name."""
    if host in _NAMESPACES:
        return False
    return match["scheme"] is not None or bool(re.fullmatch(r"\.?[\w-]+(\.[\w-]+)*\.[a-z]{2,}", host))


def _markup(before: str, after: str) -> str | None:
    """How markup asks for an address that stands between these texts; None where it does not."""
    attribute = _ATTRIBUTE.search(before[-_NEAR:])
    tag = _TAG.fullmatch(before, max(0, before.rfind("<")))
    if not attribute or not tag:
        return None
    name, element = attribute[1].lower(), tag[1].lower()
    if name == "href":
        if element in _NO_RESOURCE_TAGS:
            return None
        if element == "link":
            whole = tag[0] + after.partition(">")[0]
            rel = _REL.search(whole)
            words = (rel[1] or rel[2] or rel[3] or "").lower().split() if rel else []
            if not _RESOURCE_RELS.intersection(words):
                return None
        return f"href of <{element}>"
    return f"{name} of <{element}>" if name in _RESOURCE_ATTRIBUTES else None


def _host(raw: str) -> str | None:
    """The outside host of what stands after `//`, as `--network` takes it; None where there is none."""
    name = raw.rpartition("@")[2].lower()
    shorter = _VARYING.sub("", name)
    varying, name = shorter != name, shorter
    name = name.partition(":")[0].strip(".")
    if not re.fullmatch(r"[\w.-]+", name) or host_kind(name) != "outside":
        return None
    return f".{name}" if varying else name


def _without(text: str, opening: str, closing: str) -> str:
    """The text with comments cut out; one that is never closed stays, as a browser would show."""
    parts, at = [], 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        parts.append(text[at:start])
        at = end + len(closing)
    return "".join((*parts, text[at:]))


class _Spans:
    """Where a page's scripts stand, blocks of data left out."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        at = 0
        while opening := _SCRIPT_OPEN.search(text, at):
            closing = _SCRIPT_CLOSE.search(text, opening.end())
            at = closing.start() if closing else len(text)
            if not _DATA_TYPE.search(opening[1]):
                self._starts.append(opening.end())
                self._ends.append(at)

    def hold(self, place: int) -> bool:
        """Whether a place is in a script."""
        index = bisect_right(self._starts, place) - 1
        return index >= 0 and place < self._ends[index]
