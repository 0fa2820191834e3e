"""Where each key of a TOML file stands, so that a mistake can be told with its line.

`tomllib` gives values without places. This walks over a text that `tomllib` has taken already, so it only has
to follow its structure: headers, keys, and how far a value reaches.
"""

from __future__ import annotations

import re
from bisect import bisect_right

Place = tuple[str | int, ...]
"""Keys and list positions from the top of the document, such as `("criteria", 0, "max")`."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r'[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]+")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_SHORT = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def key_lines(text: str) -> dict[Place, int]:
    """The 1-based line of every key and list element of a valid TOML text."""
    return _Walk(text).lines


def line_of(path: Place, lines: dict[Place, int]) -> int | None:
    """The line of a path, else of the nearest thing around it that has one; None for the whole file."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


class _Walk:
    """One pass over a text; `lines` is complete once it is made."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Place, int] = {}
        self._text = text
        self._at = 0
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._tables: dict[Place, int] = {}
        self._document()

    def _document(self) -> None:
        base: Place = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                base = self._header()
            else:
                self._pair(base)
            self._skip(_BLANK)

    def _header(self) -> Place:
        """`[a.b]` or `[[a.b]]`: the path that the keys below it belong to."""
        start = self._at
        is_list = self._text.startswith("[[", start)
        self._at += 2 if is_list else 1
        names = self._names()
        self._at += 2 if is_list else 1
        path: Place = ()
        for name in names[:-1]:
            path = self._within((*path, name))
            self._note(path, start)
        path = (*path, names[-1])
        if is_list:
            self._tables[path] = self._tables.get(path, -1) + 1
            self._note(path, start)
            path = (*path, self._tables[path])
        else:
            path = self._within(path)
        self._note(path, start)
        return path

    def _within(self, path: Place) -> Place:
        """The last element of a list of tables, or the table itself."""
        return (*path, self._tables[path]) if path in self._tables else path

    def _pair(self, base: Place) -> None:
        start = self._at
        path = base
        for name in self._names():
            path = (*path, name)
            self._note(path, start)
        self._at += 1  # the equals sign
        self._value(path)

    def _names(self) -> list[str]:
        """A key, dotted or not; ends before what follows it."""
        names = []
        while True:
            self._skip(_SPACE)
            names.append(_unquoted(self._skip(_KEY)))
            self._skip(_SPACE)
            if self._text[self._at : self._at + 1] != ".":
                return names
            self._at += 1

    def _value(self, path: Place) -> None:
        self._skip(_SPACE)
        sign = self._text[self._at : self._at + 1]
        if sign in {'"', "'"}:
            self._skip(_STRING)
        elif sign == "[":
            self._items(path, "]")
        elif sign == "{":
            self._items(path, "}")
        else:
            self._skip(_PLAIN)

    def _items(self, path: Place, close: str) -> None:
        """What stands in brackets or braces."""
        self._at += 1
        number = 0
        while True:
            self._skip(_BLANK)
            sign = self._text[self._at : self._at + 1]
            if sign in {close, ""}:
                self._at += 1
                return
            if sign == ",":
                self._at += 1
            elif close == "}":
                self._pair(path)
            else:
                self._note((*path, number), self._at)
                self._value((*path, number))
                number += 1

    def _note(self, path: Place, at: int) -> None:
        self.lines.setdefault(path, bisect_right(self._ends, at - 1) + 1)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"no valid TOML at character {self._at}")
        self._at = found.end()
        return found[0]


def _unquoted(key: str) -> str:
    if key[0] == "'":
        return key[1:-1]
    if key[0] != '"':
        return key
    return _ESCAPE.sub(
        lambda e: chr(int(e[1][1:], 16)) if e[1][0] in "uU" and len(e[1]) > 1 else _SHORT.get(e[1], e[1]),
        key[1:-1],
    )
