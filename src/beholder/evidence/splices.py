"""Small edits in a large byte string, all at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TAG = re.compile(rb"<[^\s/>]++(?:[^>\"']|\"[^\"]*+\"|'[^']*+')*+>")


@dataclass(slots=True)
class Splices:
    """Edits that are noted in any order and made in one pass; none may lie inside another."""

    _edits: list[tuple[int, int, bytes]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._edits)

    def replace(self, start: int, end: int, with_: bytes) -> None:
        """Put `with_` in the place of the bytes from `start` to before `end`."""
        self._edits.append((start, end, with_))

    def insert(self, at: int, what: bytes) -> None:
        """Put `what` before the byte at `at`; of several, the one noted first comes first."""
        self._edits.append((at, at, what))

    def apply(self, data: bytes) -> bytes:
        """The edited bytes."""
        parts: list[bytes] = []
        done = 0
        # Insertions before a place come before a replacement of what stands there.
        for start, end, with_ in sorted(self._edits, key=lambda edit: edit[:2]):
            parts += (data[done:start], with_)
            done = end
        parts.append(data[done:])
        return b"".join(parts)


def tag_end(data: bytes, start: int) -> int:
    """The byte after the tag that begins at `start`."""
    found = _TAG.match(data, start)
    return found.end() if found else len(data)


def with_attribute(tag: bytes, name: bytes, value: bytes) -> bytes:
    """A start tag with an attribute set, whether or not it had it."""
    bare = without_attribute(tag, name)
    at = re.match(rb"<[^\s/>]+", bare)
    end = at.end() if at else len(bare)
    return bare[:end] + b" " + name + b'="' + value + b'"' + bare[end:]


def without_attribute(tag: bytes, name: bytes) -> bytes:
    """A start tag without an attribute, whether or not it had it."""
    return re.sub(rb"\s" + re.escape(name) + rb"\s*=\s*(?:\"[^\"]*\"|'[^']*')", b"", tag, count=1)
