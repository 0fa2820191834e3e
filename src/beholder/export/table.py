"""A flat table: columns of known kinds, and lines that are read when they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "number", "whole", "truth"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, and what its values are."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that is read when it is written, so that a hundred thousand rows need no memory.

    Attributes:
        length: Lines, the header not counted.
        lines: Gives the lines, each with a value per column, anew at every call.
    """

    columns: tuple[Column, ...]
    length: int
    lines: Callable[[], Iterator[list[Any]]]

    def records(self) -> Iterator[dict[str, Any]]:
        """The lines as objects."""
        names = [column.name for column in self.columns]
        return (dict(zip(names, line, strict=True)) for line in self.lines())
