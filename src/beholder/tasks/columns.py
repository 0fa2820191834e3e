"""What each column of a task file is for: the id, a field of the prompt, a label, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beholder.tasks.cells import cell_at, stray_at, text
from beholder.tasks.rows import Row
from beholder.tasks.sheets import NoValue

ID_COLUMN = "task_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of one file, by our names.

    Attributes:
        renamed: Our name -> the file's, where they differ.
        needed: The id, then what every row must have for the prompt.
        optional: Fields of the rows that have them.
        group_by: Labels, although they are fields.
        hidden: Names in the file that are no labels: columns that are known by our name, and tables that a
            dotted name leads into.
    """

    renamed: Mapping[str, str]
    needed: tuple[str, ...]
    optional: tuple[str, ...]
    group_by: Sequence[str]
    hidden: frozenset[str]

    def theirs(self, name: str) -> str:
        """The file's name of a column."""
        return self.renamed.get(name, name)

    def cells_of(self, row: Row) -> dict[str, Any]:
        """A row's cells that matter, by our names; None for what was asked for and is not there."""
        cells = {name: value for name, value in row.cells.items() if name not in self.hidden}
        for name in dict.fromkeys((*self.renamed, *self.needed, *self.optional)):
            cells[name] = cell_at(row.cells, self.theirs(name))
        for name in self.optional:
            if cells[name] is None and (stray := stray_at(row.cells, self.theirs(name))) is not None:
                cells[name] = stray
        return cells

    def fields_of(self, cells: Mapping[str, Any]) -> dict[str, str]:
        """The texts that the prompt uses."""
        fields = {name: text(cells.get(name)) for name in self.needed if name != ID_COLUMN}
        return fields | {name: text(cells[name]) for name in self.optional if cells.get(name) is not None}

    def labels_of(self, cells: Mapping[str, Any]) -> dict[str, str]:
        """The texts to group by: every other column, and those of `group_by`."""
        return {
            name: text(value)
            for name, value in cells.items()
            if not (value is None or isinstance(value, NoValue))
            and name != ID_COLUMN
            and (name not in {*self.needed, *self.optional} or name in self.group_by)
        }


def columns_of(
    rows: Sequence[Row],
    *,
    renamed: Mapping[str, str],
    placeholders: Sequence[str],
    group_by: Sequence[str],
    optional: Sequence[str],
) -> Columns:
    """What the columns of these rows are for."""
    needed = (ID_COLUMN, *(name for name in placeholders if name != ID_COLUMN))
    further = tuple(name for name in optional if name not in needed)
    there = {name for row in rows for name in row.cells}
    dotted = {renamed.get(name, name) for name in (*renamed, *needed, *further)} - there
    tables = (name.partition(".")[0] for name in dotted if "." in name)
    return Columns(
        renamed=renamed,
        needed=needed,
        optional=further,
        group_by=group_by,
        hidden=frozenset({*renamed, *renamed.values(), *tables}),
    )
