"""Outside hosts that a page's text names as resources: a look at the text, without a browser.

It finds what markup, style sheets and strings of scripts ask for, and leaves out links that a person would
have to click. A script can put an address together in ways that no such look finds, and can hold one that it
never asks for; what a page really asked for stands in the evidence once it was drawn.

Markup is read tag by tag as a browser does, with character references resolved; every other pattern is tried
within a window of bounded size. The time is linear in the text.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
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

_NEAR = 60
"""Characters before an address in which what asks for it must stand."""

# Backslashes: inside JSON a URL is written https:\/\/host. The name ends where a host's name can.
_URL = re.compile(
    r"(?:(?P<scheme>https?|wss?):)?(?:\\?/){2}(?P<host>[^\s/?#\"'`<>()\\|,;]{1,300})", re.IGNORECASE
)
_CSS = re.compile(r"(?:url\(\s{0,9}[\"']?\s{0,9}|@import\s{1,9}[\"'])$", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'`]\s{0,9}$")
# An address in a string that is markup itself: a link is one, whatever the script does with it.
_LINK_IN_STRING = re.compile(r"(?<![.\w])href\s{0,9}=\s{0,9}\\?[\"'`]\s{0,9}$", re.IGNORECASE)
_SCRIPT_OPEN = re.compile(r"<script\b([^<>]{0,2000})>", re.IGNORECASE)
_SCRIPT_CLOSE = re.compile(r"</script", re.IGNORECASE)
_DATA_TYPE = re.compile(r"\btype\s{0,9}=\s{0,9}[\"']?[\w/+.-]*json", re.IGNORECASE)

_TAG_OPEN = re.compile(r"<([A-Za-z][^\s/>]{0,100})")
_BETWEEN, _NAME, _EQUALS, _BARE = map(re.compile, (r"[\s/]+", r"=?[^\s/>=]*", r"\s*=\s*", r"[^\s>]+"))
_RAW = {
    element: re.compile(rf"</{element}", re.IGNORECASE)
    for element in ("script", "style", "textarea", "title", "xmp")
}
_REFRESH = re.compile(r"[\s\d.]{0,40}[;,\s]{0,9}(?:url\s{0,9}=\s{0,9})?[\"']?(.*)", re.IGNORECASE | re.DOTALL)
_IGNORED = re.compile(r"[\t\n\r]")
_MAX_DEPTH = 3
"""Pages in pages by srcdoc."""

_RESOURCE_ATTRIBUTES = {"src", "poster", "data", "background", "data-src", "code", "archive"}
# <base> asks for nothing itself, but all that is relative comes from there.
_LINK_TAGS = {"a", "area", "form"}
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


def _mentions(text: str, kind: Kind, depth: int = 0) -> Iterator[tuple[str, str]]:
    if kind != "js":
        text = _without(text, *(("<!--", "-->") if kind == "html" else ("/*", "*/")))
    scripts = _Spans(text) if kind == "html" else None
    for match in _URL.finditer(text):
        host = _host(match["host"])
        if host is None:
            continue
        near = text[max(0, match.start() - _NEAR) : match.start()]
        if _CSS.search(near):
            yield host, "url() of a style sheet"
            continue
        in_script = kind == "js" or (scripts is not None and scripts.hold(match.start()))
        if in_script and _QUOTED.search(near) and not _LINK_IN_STRING.search(near) and _asked(match, host):
            yield host, "a string of a script"
    if kind == "html":
        for element, attributes in _tags(text):
            for name, value in attributes.items():
                yield from _asked_by(element, name, value, attributes, depth)


def _asked_by(
    element: str, name: str, value: str, attributes: Mapping[str, str], depth: int
) -> Iterator[tuple[str, str]]:
    """What an attribute asks for, its character references resolved."""
    way = f"{name} of <{element}>"
    if name == "srcdoc" and depth < _MAX_DEPTH:
        yield from ((host, f"{inner} in srcdoc") for host, inner in _mentions(value, "html", depth + 1))
    elif name in {"srcset", "imagesrcset"}:
        for inner in _URL.finditer(value):
            if host := _host(inner["host"]):
                yield host, "srcset"
    elif name in {"onload", "onerror"}:  # what else runs needs a person
        yield from _mentions(value, "js")
    elif element == "meta" and name == "content":
        refresh = attributes.get("http-equiv", "").strip().lower() == "refresh"
        if refresh and (found := _REFRESH.match(value)) and (host := _address(found[1])):
            yield host, "refresh of <meta>"
    elif name in {"href", "xlink:href"}:
        rel = set(attributes.get("rel", "").lower().split())
        asks = element not in _LINK_TAGS and (element != "link" or rel & _RESOURCE_RELS)
        if asks and (host := _address(value)):
            yield host, way
    elif name in _RESOURCE_ATTRIBUTES:
        if host := _address(value):
            yield host, way
    elif "url(" in value.lower():
        yield from _mentions(value, "css")


def _address(value: str) -> str | None:
    """The outside host of an attribute that is an address, as a browser reads it."""
    match = _URL.match(_IGNORED.sub("", value.strip()).replace("\\", "/"))
    return _host(match["host"]) if match else None


def _tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each opening tag with its attributes, in one pass, by the rules of HTML's tokenizer.

    What stands in scripts, styles and texts without markup is no tag; neither is one that never ends.
    """
    at = 0
    unclosed = set()
    while tag := _TAG_OPEN.search(text, at):
        element, at = tag[1].lower(), tag.end()
        attributes: dict[str, str] = {}
        while True:
            at = _end(_BETWEEN, text, at)
            if at >= len(text):
                return
            if text[at] == ">":
                break
            start, at = at, _end(_NAME, text, at)
            name, value = text[start:at].lower(), ""
            if equals := _EQUALS.match(text, at):
                at = equals.end()
                quote = text[at : at + 1]
                if quote in {'"', "'"}:
                    start, at = at + 1, text.find(quote, at + 1)
                    if at < 0:
                        return
                    value, at = text[start:at], at + 1
                else:
                    start, at = at, _end(_BARE, text, at)
                    value = text[start:at]
            attributes.setdefault(name, _unescaped(value))
        yield element, attributes
        # In SVG, though not in HTML, <script/> is whole.
        if element in _RAW and element not in unclosed and text[at - 1] != "/":
            if closing := _RAW[element].search(text, at):
                at = closing.start()
            else:
                unclosed.add(element)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _unescaped(value: str) -> str:
    try:
        return html.unescape(value)
    except ValueError:  # a number of more digits than Python reads
        return value


def _asked(match: re.Match[str], host: str) -> bool:
    """Whether a string is an address to ask for: no namespace, and // only before what is a host's name."""
    if host in _NAMESPACES:
        return False
    return match["scheme"] is not None or bool(re.fullmatch(r"\.?[\w-]+(\.[\w-]+)*\.[a-z]{2,}", host))


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
