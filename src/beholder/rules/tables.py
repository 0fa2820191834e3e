"""Tables: CSV files and the sheets of workbooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beholder.rules.files import FileFailed, counted, listed
from beholder.rules.readers import NoReader, cell_text, csv_rows, decode, kind_of, sheets_of

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")


def lacks_table(suffix: str, data: bytes, args: Mapping[str, Any]) -> str:
    """What a file's tables lack of what a rule asks for; empty if nothing.

    A table's first row that is not empty holds its columns' names; the rows below it that are not empty
    count. If sheets are asked for, each of them must have it all, else one is enough.

    Raises:
        FileFailed: It is broken.
        NoReader: It is no table.
    """
    tables = _tables(suffix, data)
    wanted = args.get("sheets")
    if wanted is None:
        lacks = {name: _lacks(rows, args) for name, rows in tables.items()}
        if not lacks:
            raise FileFailed("has no sheet")
        if "" in lacks.values():
            return ""
        return listed([f"{_sheet(name)}{lack}" for name, lack in lacks.items()])
    missing = [name for name in wanted if name not in tables]
    if missing:
        there = listed([name for name in tables if name]) or "none"
        return f"has no sheet {listed(missing)}; its sheets: {there}"
    lacks = {name: _lacks(tables[name], args) for name in wanted}
    return listed([f"{_sheet(name)}{lack}" for name, lack in lacks.items() if lack])


def _tables(suffix: str, data: bytes) -> dict[str, Sequence[Sequence[Any]]]:
    """Rows by the sheet's name; a CSV file's has none."""
    kind = kind_of(data)
    if kind in {"xlsx", "office97"} or (kind == "archive" and suffix == ".ods"):
        return dict(sheets_of(data))
    if kind == "text" and suffix in TEXT_SUFFIXES:
        return {"": csv_rows(decode(data))}
    raise NoReader(f"no table is read from a {suffix or 'file without a suffix'}")


def _lacks(rows: Sequence[Sequence[Any]], args: Mapping[str, Any]) -> str:
    filled = [row for row in rows if any(_name(cell) for cell in row)]
    names = {_name(cell) for cell in filled[0]} if filled else set()
    lacks = []
    missing = [name for name in args.get("columns", ()) if _name(name) not in names]
    if missing:
        lacks.append(f"no column {listed(missing)}")
    least = args.get("min_rows", 0)
    if max(0, len(filled) - 1) < least:
        lacks.append(f"{counted(max(0, len(filled) - 1), 'row')}, fewer than {least}")
    return "; ".join(lacks)


def _name(cell: Any) -> str:
    """A cell as it is compared: without white space around, a run of it within being one space."""
    return " ".join(cell_text(cell).split())


def _sheet(name: str) -> str:
    return f"sheet {name}: " if name else ""
