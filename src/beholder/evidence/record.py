"""What the outside answered to pages, kept in a folder, and pages drawn from that folder alone.

    DIR/record.json                         {"format": "beholder-record", "schema": 1}
    DIR/answers/<k>/<key>.json              one answer: {method, url, body_sha256, part, status, headers,
                                            content, content_bytes, error}
    DIR/contents/<c>/<sha256>               its content, decoded, once however often it was sent

`key` is the SHA-256 of method, URL, part and the digest of what was sent along; `<k>` and `<c>` are the first
two digits. Nothing that a page or a host says becomes a part of a path. The first answer to a request is kept
and every later page of the same record gets it: a record is of one mind. A failure gives way to an answer.
Files appear whole or not at all, so that two processes may write to one record.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from beholder.errors import ConfigError, RendererFailed

SCHEMA = 1
MAX_CONTENT_BYTES = 64 * 1024 * 1024
"""A longer answer is not kept; the page does not get it either, so that a replay shows the same."""

MAX_ANSWERS = 2_000
"""Answers kept for one page; what it asks for beyond them fails."""

_MARK = {"format": "beholder-record", "schema": SCHEMA}
_MAX_HEADER = 8_192
_MAX_URL = 65_536

_HEADERS = frozenset(
    (
        "accept-ranges",
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "content-disposition",
        "content-range",
        "content-language",
        "content-security-policy",
        "content-type",
        "cross-origin-embedder-policy",
        "cross-origin-opener-policy",
        "cross-origin-resource-policy",
        "last-modified",
        "location",
        "refresh",
        "timing-allow-origin",
        "x-content-type-options",
        "x-frame-options",
    )
)
"""Headers that change what a page shows. Cookies are not kept, nor what describes the transfer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A page's request.

    Attributes:
        body: What was sent along, or None: nothing.
        part: The header `Range`, where only a part was asked for, as players do.
    """

    method: str
    url: str
    body: bytes | None = None
    part: str = ""

    @property
    def body_sha256(self) -> str:
        """Digest of what was sent along; empty if nothing was."""
        return "" if self.body is None else hashlib.sha256(self.body).hexdigest()

    @property
    def key(self) -> str:
        """Where its answer lies."""
        lines = (self.method, self.body_sha256, self.part, self.url)
        said = "\n".join(lines).encode("utf-8", "surrogatepass")
        return hashlib.sha256(said).hexdigest()


@dataclass(frozen=True, slots=True)
class Outside:
    """What the outside answered.

    Attributes:
        status: 100 to 599, or 0: there was no answer, and `error` says why.
        headers: Those that matter, names in lower case.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    error: str = ""

    @property
    def redirects(self) -> bool:
        """Whether the browser goes on from here."""
        return self.status in {301, 302, 303, 307, 308} and any(
            name == "location" for name, _ in self.headers
        )

    def digest(self) -> str:
        """SHA-256 of all of it."""
        said = json.dumps([self.status, self.headers, self.error]).encode()
        return hashlib.sha256(said + hashlib.sha256(self.body).digest()).hexdigest()


@dataclass(frozen=True, slots=True)
class Record:
    """A folder of answers; made by `open_record`.

    Attributes:
        replaying: Nothing but what is here is answered; nothing is kept.
    """

    folder: Path
    replaying: bool

    @property
    def mode(self) -> Literal["record", "replay"]:
        """The flag's name."""
        return "replay" if self.replaying else "record"

    def find(self, asked: Asked) -> Outside | None:
        """The answer kept for a request, or None. A failure counts on a replay only.

        Raises:
            RendererFailed: The record cannot be read or is damaged.
        """
        found = self._read(asked)
        return None if found is not None and found.error and not self.replaying else found

    def keep(self, asked: Asked, answer: Outside) -> Outside:
        """Keep an answer; the one that is kept, which is an earlier one if there was one.

        Raises:
            RendererFailed: The folder cannot be written.
        """
        if len(asked.url) > _MAX_URL:
            return answer
        content = hashlib.sha256(answer.body).hexdigest()
        entry = {
            "method": asked.method,
            "url": asked.url.encode("utf-8", "backslashreplace").decode(),
            "body_sha256": asked.body_sha256,
            "part": asked.part,
            "status": answer.status,
            "headers": [list(header) for header in answer.headers],
            "content": content,
            "content_bytes": len(answer.body),
            "error": answer.error,
        }
        try:
            _write(self._content(content), answer.body)
            text = json.dumps(entry, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")
            if _write(self._answer(asked), text):
                return answer
            earlier = self._read(asked)
            if earlier is None or (earlier.error and not answer.error):
                _write(self._answer(asked), text, over=True)
                return answer
        except OSError as error:
            raise RendererFailed(f"{self.folder}: the record cannot be written: {error}") from error
        return earlier

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every answer's entry, in the order of method and URL.

        Raises:
            RendererFailed: The record is damaged.
        """
        found = [_entry(path) for path in sorted((self.folder / "answers").glob("*/*.json"))]
        yield from sorted(found, key=lambda one: (str(one["url"]), str(one["method"])))

    def digest(self) -> str:
        """SHA-256 over every answer's entry: equal records draw equal pages.

        Raises:
            RendererFailed: The record is damaged.
        """
        said = [json.dumps(entry, sort_keys=True).encode() for entry in self.entries()]
        return hashlib.sha256(b"\n".join(said)).hexdigest()

    def _answer(self, asked: Asked) -> Path:
        return self.folder / "answers" / asked.key[:2] / f"{asked.key}.json"

    def _content(self, digest: str) -> Path:
        return self.folder / "contents" / digest[:2] / digest

    def _read(self, asked: Asked) -> Outside | None:
        path = self._answer(asked)
        try:
            entry = _entry(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RendererFailed(f"{path}: cannot be read: {error}") from error
        try:
            digest, status = entry["content"], entry["status"]
            headers = tuple((str(name), str(value)) for name, value in entry["headers"])
            if not (isinstance(status, int) and 0 <= status < 600 and len(bytes.fromhex(digest)) == 32):
                raise ValueError("no answer's entry")
            body = self._content(digest).read_bytes()
            if hashlib.sha256(body).hexdigest() != digest:
                raise ValueError("the content is not the one that was kept")
            return Outside(status, headers, body, str(entry["error"]))
        except (OSError, LookupError, TypeError, ValueError) as error:
            raise RendererFailed(f"{path}: the record is damaged: {error}") from error


def open_record(folder: Path, *, replay: bool) -> Record:
    """A record to draw pages from (`replay`) or to add to, which is made where there is none.

    Raises:
        ConfigError: The folder is no record, of a newer version, or cannot be made.
    """
    mark = folder / "record.json"
    try:
        if not mark.exists():
            if replay:
                raise ConfigError(f"{folder}: there is no record to replay; make one with --record")
            if folder.exists() and any(folder.iterdir()):
                raise ConfigError(f"{folder}: is not empty and no record; name another folder")
            _write(mark, json.dumps(_MARK).encode())
        found = json.loads(mark.read_bytes())
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be used as a record: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{mark}: is damaged: {error}") from error
    if not isinstance(found, dict) or found.get("format") != _MARK["format"]:
        raise ConfigError(f"{folder}: is no record")
    if found.get("schema") != SCHEMA:
        raise ConfigError(
            f"{folder}: a record of schema {found.get('schema')!r}; this version reads {SCHEMA}"
        )
    return Record(folder, replay)


def kept_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those that matter, in the order sent."""
    named = ((name.lower(), value) for name, value in headers)
    return tuple((name, value) for name, value in named if name in _HEADERS and len(value) <= _MAX_HEADER)


def _entry(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise RendererFailed(f"{path}: the record is damaged: {error}") from error
    if not isinstance(found, dict):
        raise RendererFailed(f"{path}: the record is damaged: no entry")
    return found


def _write(path: Path, data: bytes, *, over: bool = False) -> bool:
    """Write a file whole; whether it is ours that lies there now.

    Args:
        over: In place of the one that may be there.
    """
    if not over and path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        made.chmod(0o644)
        if over:
            made.replace(path)
            return True
        try:
            os.link(made, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links: the last of two at once wins, whole all the same
            made.replace(path)
        return True
    finally:
        with contextlib.suppress(FileNotFoundError):
            made.unlink()
