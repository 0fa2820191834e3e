"""Which slides a binary presentation (.ppt, PowerPoint 97 and later) leaves out.

    Current User -> the last UserEditAtom -> PersistDirectoryAtom: object number -> place in the stream
                    each UserEditAtom names the one before; what a later one says of a number holds
    Document     -> the list of slides (object numbers, in order)
    each Slide   -> SlideShowSlideInfoAtom: the flag fHidden

Source: [MS-PPT] 2.1.2 (how a file is read), 2.3 (the atoms), 2.4.14.3 and 2.6.6 (lists of slides, the flag).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_DOCUMENT, _SLIDE, _SLIDE_LIST, _SLIDE_PERSIST = 1000, 1006, 4080, 1011
_SLIDE_INFO, _USER_EDIT, _PERSIST_DIRECTORY = 1017, 4085, 6002
_HIDDEN = 0x0004

MOST_STEPS = 500_000
"""Records that are looked at, however they point at each other; honest files have some thousand."""


@dataclass(frozen=True, slots=True)
class _Record:
    """A record; `instance` tells lists of slides (0) from those of masters and notes."""

    kind: int
    instance: int
    start: int
    end: int


class _Lost(Exception):
    """The stream does not say what it should say at some place."""


def hidden_slides(stream: bytes, current_user: bytes) -> tuple[int, int] | None:
    """(how many slides are left out, how many there are); None where the file does not tell.

    Args:
        stream: `PowerPoint Document`.
        current_user: `Current User`.
    """
    try:
        return _Walk(stream).hidden_slides(current_user)
    except (_Lost, struct.error):
        return None


class _Walk:
    """A way through one stream, of bounded length."""

    def __init__(self, stream: bytes) -> None:
        self._stream = stream
        self._steps = 0

    def hidden_slides(self, current_user: bytes) -> tuple[int, int]:
        (edit_at,) = struct.unpack_from("<I", current_user, 16)
        places, document_id = self._places(edit_at)
        document = self._at(places, document_id, _DOCUMENT)
        lists = (one for one in self._inside(document) if (one.kind, one.instance) == (_SLIDE_LIST, 0))
        hidden = []
        for one in lists:
            for entry in self._inside(one):
                if entry.kind == _SLIDE_PERSIST:
                    slide = self._at(places, self._number(entry.start), _SLIDE)
                    hidden.append(self._is_hidden(slide))
        return sum(hidden), len(hidden)

    def _places(self, edit_at: int) -> tuple[dict[int, int], int]:
        """(where each object begins, the document's number), the last edit's word first."""
        places: dict[int, int] = {}
        document_id = None
        while edit_at:
            edit = self._record(edit_at, _USER_EDIT)
            before, directory_at, document = struct.unpack_from("<III", self._stream, edit.start + 8)
            document_id = document if document_id is None else document_id
            directory = self._record(directory_at, _PERSIST_DIRECTORY)
            at = directory.start
            while at + 4 <= directory.end:
                first, count = self._number(at) & 0xFFFFF, self._number(at) >> 20
                for nth in range(count):
                    self._step()
                    places.setdefault(first + nth, self._number(at + 4 + 4 * nth))
                at += 4 + 4 * count
            edit_at = before
        if document_id is None:
            raise _Lost
        return places, document_id

    def _is_hidden(self, slide: _Record) -> bool:
        for one in self._inside(slide):
            if one.kind == _SLIDE_INFO:
                (flags,) = struct.unpack_from("<H", self._stream, one.start + 10)
                return bool(flags & _HIDDEN)
        return False

    def _at(self, places: dict[int, int], number: int, kind: int) -> _Record:
        if number not in places:
            raise _Lost
        return self._record(places[number], kind)

    def _record(self, at: int, kind: int | None = None) -> _Record:
        self._step()
        head, found, size = struct.unpack_from("<HHI", self._stream, at)
        end = at + 8 + size
        if end > len(self._stream) or (kind is not None and found != kind):
            raise _Lost
        return _Record(found, head >> 4, at + 8, end)

    def _inside(self, outer: _Record) -> Iterator[_Record]:
        at = outer.start
        while at + 8 <= outer.end:
            record = self._record(at)
            yield record
            at = record.end

    def _number(self, at: int) -> int:
        return int(struct.unpack_from("<I", self._stream, at)[0])

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _Lost
