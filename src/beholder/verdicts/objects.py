"""One JSON-like object, read tolerantly and once: every member kept in order, every leniency written down.

The reader accepts what has one reading only (trailing or missing comma, comments, Python and JSON5 spellings,
typographic quotes, full-width punctuation) and stops at the first thing that has not. It never closes a
bracket, never drops a member and never converts a value: a scalar stays text until its criterion is known.

The reader is a loop over an explicit stack, so nesting costs memory, not call depth; it looks at each
character a constant number of times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from beholder.verdicts.keys import QUOTES

State = Literal["complete", "cut", "broken"]
"""`cut`: the text ended first. `broken`: something stands there that has no one reading."""


@dataclass(slots=True)
class Scalar:
    """A value that holds no other: its text, unescaped if it was `quoted`; `start` and `end` in the reply."""

    text: str
    quoted: bool
    start: int
    end: int


@dataclass(slots=True)
class Array:
    """A list of values."""

    start: int
    end: int = -1
    state: State = "complete"
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """A key with its value.

    Attributes:
        ended: Whether a comma or a closing bracket follows, so that the value cannot have been cut.
    """

    key: str
    value: Node
    ended: bool = False


@dataclass(slots=True)
class Object:
    """Members in the order of the reply, duplicates included.

    Attributes:
        pending: The key that was being read when the text ended; None if none was begun.
        quote_damage: It broke right after a string: most likely a quotation mark inside was not escaped.
        repairs: Codes of the leniencies used, nested objects included; kept at the outermost object only.
        depth: How many brackets were open where it broke or was cut; at the outermost object only.
    """

    start: int
    end: int = -1
    state: State = "complete"
    members: list[Member] = field(default_factory=list)
    pending: str | None = None
    quote_damage: bool = False
    repairs: list[str] = field(default_factory=list)
    depth: int = 0


Node = Scalar | Array | Object

MEMBER_COST = 20
"""A member is read, looked up and interpreted; an item of a list is only read."""

_SPACE = re.compile(r"[\s\ufeff\u200b\u2060]*+")
_COMMENT = re.compile(r"//[^\n\r]*+|#[^\n\r]*+|/\*(?:[^*]|\*(?!/))*+\*/")
_COMMENT_IN_BARE = re.compile(r"\s//|//\s|/\*|\s#")
_ELLIPSIS = re.compile(r"\.\.\.|…")
_BARE_KEY = re.compile(r"[^\W\d][\w\-]*+")
_BARE_VALUE = re.compile(r"[^,，{}｛｝\[\]\"\n\r]*+")
_KEY_AHEAD = re.compile(rf"[{QUOTES}][^{QUOTES}\\\n]{{1,200}}+[{QUOTES}]\s*+[:：]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ODD_ESCAPE = re.compile(r"(?:[^\\]++|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))*+\\")
_PLAIN_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONTROL = re.compile(r"[\x00-\x1f]")

_CLOSERS = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "’": "’", "„": "“”", "＂": "＂"}
_CONTENT = {
    opener: re.compile(rf"[^{closers}\\]*+(?:\\.[^{closers}\\]*+)*+", re.DOTALL)
    for opener, closers in _CLOSERS.items()
}
_QUOTE_REPAIR = {'"': None, "'": "single_quotes", "＂": "full_width"}


def read_object(text: str, start: int, limit: int) -> tuple[Object, int, int]:
    """The object whose opening brace is at `start`, as far as it can be read.

    Args:
        text: The reply.
        start: Index of the brace.
        limit: What reading may cost before it is given up (`broken`): `MEMBER_COST` a member, 1 an item.

    Returns:
        The object, the index where reading stopped, and what it cost.
    """
    reader = _Reader(text, start, limit)
    root = reader.read()
    return root, reader.pos, reader.cost


def unescape(raw: str) -> str:
    r"""The characters that a string stands for; an unknown escape such as `\_` is its character.

    Escaped surrogate pairs are joined, lone ones become U+FFFD, so that the result can be written as UTF-8.
    """
    if "\\" in raw:
        raw = _ESCAPE.sub(_unescape_one, raw)
    return writable(raw)


def writable(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _unescape_one(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _PLAIN_ESCAPES.get(match[2], match[2])


class _Reader:
    """Where the reading of one object stands."""

    def __init__(self, text: str, start: int, limit: int) -> None:
        self.text = text
        self.pos = start + 1
        self.cost = 0
        self.limit = limit
        self.root = Object(start)
        self.stack: list[Object | Array] = [self.root]
        self.after_comma = False
        if text[start] == "｛":
            self._repair("full_width")

    def read(self) -> Object:
        """Read until the outermost bracket closes, or as far as it goes."""
        while self.stack:
            holder = self.stack[-1]
            self.cost += MEMBER_COST if isinstance(holder, Object) else 1
            if self.cost > self.limit:
                return self._stop("broken")
            self._skip_blanks()
            if self.pos >= len(self.text):
                return self._stop("cut")
            fault = self._member(holder) if isinstance(holder, Object) else self._item(holder)
            if fault:
                return self._stop(fault)
        return self.root

    def _stop(self, fault: State) -> Object:
        """Mark everything that is still open."""
        self.root.depth = len(self.stack)
        for node in self.stack:
            node.state = fault
            node.end = self.pos
        return self.root

    def _repair(self, code: str) -> None:
        if code not in self.root.repairs:
            self.root.repairs.append(code)

    def _skip_blanks(self) -> None:
        """Go past blanks and comments. An open `/*` runs to the end of the text."""
        while True:
            self.pos = _SPACE.match(self.text, self.pos).end()  # type: ignore[union-attr]  # it matches nothing too
            comment = _COMMENT.match(self.text, self.pos)
            if comment:
                self.pos = comment.end()
            elif self.text.startswith("/*", self.pos):
                self.pos = len(self.text)
            else:
                return
            self._repair("comment")

    def _member(self, holder: Object) -> State | None:
        """One step inside an object: its end, a stray comma, or a key with the beginning of its value."""
        char = self.text[self.pos]
        if char in "}｝":
            return self._close(holder, full_width=char == "｝")
        if char in ",，":
            self.pos += 1
            self._repair("extra_comma")
            return None
        if ellipsis := _ELLIPSIS.match(self.text, self.pos):
            self.pos = ellipsis.end()
            self._repair("ellipsis")
            self.after_comma = False
            self._take_comma()
            return None
        fault = self._key(holder)
        if fault:
            return fault
        self._skip_blanks()
        if self.pos >= len(self.text):
            return "cut"
        if self.text[self.pos] not in ":：":
            return "broken"
        if self.text[self.pos] == "：":
            self._repair("full_width")
        self.pos += 1
        self._skip_blanks()
        if self.pos >= len(self.text):
            return "cut"
        key, holder.pending = holder.pending or "", None
        value, fault = self._value()
        member = Member(key, value)
        holder.members.append(member)
        return fault if fault or not isinstance(value, Scalar) else self._after(member, value)

    def _key(self, holder: Object) -> State | None:
        """Read a key into `holder.pending`."""
        if self.text[self.pos] in _CONTENT:
            key, closed = self._string()
            holder.pending = key.text
            return None if closed else "cut"
        bare = _BARE_KEY.match(self.text, self.pos)
        if not bare:
            return "broken"
        holder.pending = bare[0]
        self.pos = bare.end()
        self._repair("unquoted_key")
        return None

    def _item(self, holder: Array) -> State | None:
        """One step inside a list: its end, a stray comma, or the beginning of a value."""
        char = self.text[self.pos]
        if char == "]":
            return self._close(holder)
        if char in ",，":
            self.pos += 1
            self._repair("extra_comma")
            return None
        if char in "}｝":
            return "broken"
        value, fault = self._value()
        holder.items.append(value)
        return fault if fault or not isinstance(value, Scalar) else self._after(None, value)

    def _value(self) -> tuple[Node, State | None]:
        """The value at the current place; an object or a list is only opened."""
        self.after_comma = False
        char = self.text[self.pos]
        if char in "{｛":
            opened: Object | Array = Object(self.pos)
        elif char == "[":
            opened = Array(self.pos)
        elif char in _CONTENT:
            string, closed = self._string()
            return string, None if closed else "cut"
        else:
            return self._bare(), None
        self.stack.append(opened)
        self.pos += 1
        return opened, None

    def _string(self) -> tuple[Scalar, bool]:
        """The string at the current place, and whether its closing mark is there."""
        opener = self.text[self.pos]
        content = _CONTENT[opener].match(self.text, self.pos + 1)
        assert content is not None  # noqa: S101 - the pattern matches the empty string too
        start, end = content.span()
        closed = end < len(self.text) and self.text[end] != "\\"
        code = _QUOTE_REPAIR.get(opener, "smart_quotes")
        if code:
            self._repair(code)
        if _CONTROL.search(self.text, start, end):
            self._repair("control_character")
        if "\\" in content[0] and _ODD_ESCAPE.match(content[0]):
            self._repair("odd_escape")
        self.pos = end + 1 if closed else len(self.text)
        return Scalar(unescape(content[0]), quoted=True, start=start, end=end), closed

    def _bare(self) -> Scalar:
        """Whatever stands there without quotation marks, up to a separator, the line's end or a comment."""
        chunk = _BARE_VALUE.match(self.text, self.pos)
        assert chunk is not None  # noqa: S101 - the pattern matches the empty string too
        comment = _COMMENT_IN_BARE.search(chunk[0])
        raw = chunk[0][: comment.start()] if comment else chunk[0]
        start = self.pos
        self.pos += len(raw)
        return Scalar(raw.strip(), quoted=False, start=start, end=self.pos)

    def _after(self, member: Member | None, value: Scalar | None) -> State | None:
        """What may follow a value: a comma, a closing bracket, or a key on which the comma is missing."""
        value_end = self.pos
        self._skip_blanks()
        if self.pos >= len(self.text):
            return "cut"
        if self._take_comma() or self.text[self.pos] in "}｝]":
            pass
        elif self._comma_is_missing(value, value_end):
            self._repair("missing_comma")
        else:
            holder = self.stack[-1]
            if isinstance(holder, Object):
                holder.quote_damage = value is not None and value.quoted
            return "broken"
        if member:
            member.ended = True
        return None

    def _comma_is_missing(self, value: Scalar | None, value_end: int) -> bool:
        """Whether a key follows. After a string only on a new line, for `"says "a": 1"` looks alike."""
        if not isinstance(self.stack[-1], Object) or not _KEY_AHEAD.match(self.text, self.pos):
            return False
        if not self.text[value_end - 1 : self.pos].endswith(tuple(" \t\r\n")):
            return False  # `0.4"a": 1` has lost more than a comma
        return value is None or not value.quoted or "\n" in self.text[value_end : self.pos]

    def _take_comma(self) -> bool:
        """Go past a comma, if one is there."""
        self._skip_blanks()
        if not self.text.startswith((",", "，"), self.pos):
            return False
        if self.text[self.pos] == "，":
            self._repair("full_width")
        self.pos += 1
        self.after_comma = True
        return True

    def _close(self, holder: Object | Array, *, full_width: bool = False) -> State | None:
        """Close the innermost bracket; for the one around it, that was a value."""
        if full_width:
            self._repair("full_width")
        if self.after_comma:
            self._repair("trailing_comma")
        self.after_comma = False
        self.pos += 1
        holder.end = self.pos
        self.stack.pop()
        if not self.stack:
            return None
        parent = self.stack[-1]
        return self._after(parent.members[-1] if isinstance(parent, Object) else None, None)
