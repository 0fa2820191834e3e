"""The submission's folder as a made-up web site: what a page may load of its own."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from beholder.errors import BrokenArtifact
from beholder.evidence.files import Belongs, read_below

ORIGIN = "http://artifact.localhost"
"""A name that never leaves a machine (RFC 6761). On plain http scripts from http: hosts load as they would
from a file; below `localhost` the page is a secure context all the same. No request to it meets a socket."""

MAX_SERVED_BYTES = 256 * 1024 * 1024
"""Bytes one page may load from its folder in all."""

_TYPES = {
    ".htm": "text/html",
    ".html": "text/html",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".geojson": "application/geo+json",
    ".wasm": "application/wasm",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".ttf": "font/ttf",
    ".otf": "font/otf",
    ".avif": "image/avif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
    ".ico": "image/x-icon",
}
_BUILT_IN_TYPES = mimetypes.MimeTypes(filenames=())
"""Python's own table without the machine's, which would differ from one to the next."""


_DECLARED = re.compile(rb"<meta\b[^>]*\bcharset\b|<\?xml\b[^>]*\bencoding\b", re.IGNORECASE)
_DECLARED_WITHIN = 65_536
"""Bytes in which a page may declare its encoding, generously: the standard looks at 1,024."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets. A charset is named for undeclared UTF-8 only (`_with_charset`)."""

    status: int
    media_type: str = "text/plain"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class ServedFolder:
    """One page and the files around it.

    Attributes:
        root: The folder; None: the page stands alone.
        name: The page's path below it.
        page: The page's bytes, as pinned.
        page_type: Its media type.
        page_headers: What its answer says besides.
        belongs: Which of the files are the submission's own; None: all.
        served: Name -> sha256 of each further file that was loaded.
        sizes: Name -> bytes of the same.
        missing: Names asked for that are not there or may not be read.
    """

    root: Path | None
    name: str
    page: bytes
    belongs: Belongs | None = None
    page_type: str = "text/html"
    page_headers: tuple[tuple[str, str], ...] = ()
    served: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    _left: int = MAX_SERVED_BYTES

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{ORIGIN}/{quote(self.name, errors='surrogateescape')}"

    def answer(self, url: str) -> Answer:
        """The file a URL of our origin names. Reads the disk.

        Raises:
            RendererFailed: It is there and cannot be read, through no fault of its own.
        """
        raw = urlsplit(url).path.lstrip("/").split("/")
        parts = [unquote_to_bytes(part) for part in raw]
        name = b"/".join(parts).decode("utf-8", "surrogateescape")
        if name == self.name:
            return Answer(200, _with_charset(self.page_type, self.page), self.page, self.page_headers)
        # A dot-file is nothing a page is made of; a separator or NUL inside a part is no name at all.
        unfit = any(not part or part.startswith(b".") or b"/" in part or b"\0" in part for part in parts)
        if unfit or self.root is None:
            return self._nothing(name)
        try:
            data = read_below(self.root, name, limit=self._left, belongs=self.belongs)
        except BrokenArtifact:
            return self._nothing(name)
        self._left -= len(data)
        self.sizes[name] = len(data)
        self.served[name] = hashlib.sha256(data).hexdigest()
        return Answer(200, _with_charset(media_type(name), data), data)

    def _nothing(self, name: str) -> Answer:
        # Browsers ask for this one by themselves.
        if name != "favicon.ico":
            self.missing.add(name)
        return Answer(404, body=b"not found")


def media_type(name: str) -> str:
    """By suffix, the same on every machine."""
    suffix = Path(name).suffix.lower()
    return _TYPES.get(suffix) or _BUILT_IN_TYPES.guess_type("x" + suffix)[0] or "application/octet-stream"


def _with_charset(type_: str, data: bytes) -> str:
    """The media type; with its charset where it is text that is UTF-8 and does not say so.

    Browsers guess undeclared encodings, but from a server, unlike from a file, they never guess UTF-8.
    """
    if type_ not in ("text/html", "text/plain") or data.isascii():
        return type_
    if _DECLARED.search(data[:_DECLARED_WITHIN]):
        return type_
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return type_
    return f"{type_}; charset=utf-8"
