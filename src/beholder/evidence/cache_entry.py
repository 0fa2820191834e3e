"""A rendered result as the cache stores it: the SHA-256 of what follows it, and MessagePack of `Entry`."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from beholder.evidence.kinds import Shown

_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One result as it is stored.

    Attributes:
        name: The artifact's, when it was rendered.
        shown, broken: The result, its media without their bytes; or (slug, message).
        served: Files of the page's folder that it got: (name as bytes, sha256).
        missing: Names that it asked for in vain.
        renderer: What drew it, for the manifest.
    """

    name: bytes
    shown: Shown | None = None
    broken: tuple[str, str] | None = None
    served: tuple[tuple[bytes, str], ...] = ()
    missing: tuple[bytes, ...] = ()
    renderer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        """sha256 of the files beside the page: the name under which its result is stored."""
        return hashlib.sha256(msgspec.msgpack.encode([self.served, self.missing])).hexdigest()


def pack(entry: Entry) -> bytes:
    """The bytes that `unpack` reads.

    Raises:
        UnicodeEncodeError: Some text holds half a surrogate pair, which no JSON could hold either.
    """
    payload = msgspec.msgpack.encode(entry)
    return hashlib.sha256(payload).digest() + payload


def unpack(data: bytes) -> Entry | None:
    """The entry; None if the bytes are not what was packed."""
    payload = data[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() == data[:_DIGEST_BYTES]:
        with contextlib.suppress(msgspec.MsgspecError):
            return msgspec.msgpack.decode(payload, type=Entry)
    return None


def same_files(entry: Entry, digest_of: Callable[[str], str | None] | None) -> bool:
    """Whether the page would get of its own folder what it got then."""
    if not entry.served and not entry.missing:
        return True
    if digest_of is None:
        return False
    return all(digest_of(os.fsdecode(name)) == digest for name, digest in entry.served) and all(
        digest_of(os.fsdecode(name)) is None for name in entry.missing
    )


def without_data(shown: Shown) -> Shown:
    """A result whose media have no bytes."""
    return replace(
        shown,
        pictures=tuple(replace(one, data=b"") for one in shown.pictures),
        videos=tuple(replace(one, data=b"") for one in shown.videos),
    )


def renamed(shown: Shown, old: str, new: str) -> Shown:
    """The result of the same content under another name."""
    if old == new:
        return shown

    def name(source: str) -> str:
        return new if source == old else source

    return replace(
        shown,
        pictures=tuple(replace(one, source=name(one.source)) for one in shown.pictures),
        videos=tuple(replace(one, source=name(one.source)) for one in shown.videos),
        texts=tuple((name(source), text) for source, text in shown.texts),
        warnings=tuple(replace(one, source=name(one.source)) for one in shown.warnings),
    )
