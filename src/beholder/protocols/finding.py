"""What a check of a protocol file finds."""

from __future__ import annotations

from dataclasses import dataclass

from beholder.protocols.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong with a protocol file.

    Attributes:
        path: Where in the document; empty for the whole of it.
        message: What is wrong, and what to do.
        line: 1-based; None where no line can be named.
        slug: A code, where a program may want to know this one.
        follows: It may be nothing but a consequence of a line that could not be read.
    """

    path: Place
    message: str
    line: int | None = None
    slug: str | None = None
    follows: bool = False

    @property
    def words(self) -> str:
        """Place and message, without the line."""
        place = ".".join(map(str, self.path))
        return f"{place}: {self.message}" if place else self.message

    def __str__(self) -> str:
        return self.words if self.line is None else f"line {self.line}: {self.words}"
