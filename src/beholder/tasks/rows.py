"""Tables of any kind (`.jsonl .json .csv .xlsx`) -> rows of cells, and what cannot be read of them.

A row is counted as a spreadsheet counts it, blank rows included; where a cell of a CSV file holds line ends,
messages tell the line as well.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beholder.tasks.cells import text
from beholder.tasks.sheets import NoValue, read_sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """Something wrong with a task file.

    Attributes:
        message: What is wrong, and what to do.
        row: 1-based row; None where the file has no rows yet.
        line: 1-based line of the file where the row begins.
        column: As the file names it.
        slug: `tasks`, `no_tasks` or `missing_column`.
    """

    message: str
    row: int | None = None
    line: int | None = None
    column: str | None = None
    slug: str = "tasks"

    def __str__(self) -> str:
        place = []
        if self.row is not None:
            line = f" (line {self.line})" if self.line not in {None, self.row} else ""
            place.append(f"row {self.row}{line}")
        elif self.line is not None:
            place.append(f"line {self.line}")
        if self.column is not None:
            place.append(f"column {self.column!r}")
        return f"{', '.join(place)}: {self.message}" if place else self.message


@dataclass(frozen=True, slots=True)
class Row:
    """A row's cells by the file's own column names; None for a cell without content."""

    number: int
    line: int | None
    cells: Mapping[str, Any]


Found = Row | FileProblem


def read_rows(file: Path) -> list[Found] | FileProblem:
    """Everything in the file, by row; or why it cannot be read."""
    readers = {".jsonl": _jsonl_rows, ".json": _json_rows, ".csv": _csv_rows, ".xlsx": _xlsx_rows}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        return FileProblem(message="tasks are read from .jsonl, .json, .csv and .xlsx files")
    try:
        return list(reader(file))
    except OSError as error:
        return FileProblem(message=error.strerror or "cannot be read")


def read_cells(file: Path) -> tuple[list[tuple[int, Mapping[str, Any]]], list[FileProblem]]:
    """Rows of a table of any kind as (number, cells by column), and what cannot be read of it."""
    found = read_rows(file)
    if isinstance(found, FileProblem):
        return [], [found]
    rows = [(item.number, item.cells) for item in found if isinstance(item, Row)]
    return rows, [item for item in found if isinstance(item, FileProblem)]


# --- formats --------------------------------------------------------------------------------------


def _decoded(file: Path) -> str | FileProblem:
    """The file's text; nothing is guessed, but a guess may help in the message."""
    data = file.read_bytes()
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # the byte order mark declares it
    try:
        content = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return FileProblem(message=f"not UTF-8{_encoding_hint(data)}; {_SAVE_AS}", line=line)
    if "\0" in content[:4000]:
        return FileProblem(message=f"holds NUL characters, as UTF-16 read as UTF-8 does; {_SAVE_AS}")
    return content


_SAVE_AS = 'save the file as UTF-8 (in Excel: "CSV UTF-8")'


def _encoding_hint(data: bytes) -> str:
    if b"\0" in data[:4000]:
        return ", it looks like UTF-16 without its byte order mark"
    try:
        korean = data.decode("cp949")
    except UnicodeDecodeError:
        return ""
    return ", it looks like CP949 (Korean Windows)" if re.search("[가-힣]{2}", korean) else ""


def _jsonl_rows(file: Path) -> Iterator[Found]:
    content = _decoded(file)
    if isinstance(content, FileProblem):
        yield content
        return
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_once, parse_constant=_no_number)
        except json.JSONDecodeError as error:
            yield FileProblem(message=f"not JSON: {error}", line=number)
            continue
        except (ValueError, RecursionError) as error:  # a key twice, a number of too many digits, or too deep
            yield FileProblem(message=f"not usable: {error}", line=number)
            continue
        if isinstance(row, dict):
            yield Row(number, number, row)
        else:
            yield FileProblem(message=_NO_OBJECT, line=number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object each of whose keys stands once: which of two values was meant would be a guess."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise ValueError(f"key {twice!r} stands twice in one object; keep one")
    return found


def _no_number(word: str) -> Any:
    """NaN and Infinity, which some programs write for a cell without a value."""
    raise ValueError(f"{word} is no JSON; write null where there is no value, or a text in quotation marks")


_NO_OBJECT = "a task is an object, such as {'task_id': …}"


def _json_rows(file: Path) -> Iterator[Found]:
    content = _decoded(file)
    if isinstance(content, FileProblem):
        yield content
        return
    try:
        data = json.loads(content, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        yield FileProblem(message=f"not JSON: {error.msg} (column {error.colno})", line=error.lineno)
        return
    except (ValueError, RecursionError) as error:  # a key twice, a number of too many digits, or too deep
        yield FileProblem(message=f"not usable: {error}")
        return
    if isinstance(data, dict) and isinstance(data.get("tasks"), list):
        data = data["tasks"]
    if not isinstance(data, list):
        yield FileProblem(message="expected a list of tasks, or an object with a list 'tasks'")
        return
    for number, row in enumerate(data, start=1):
        if isinstance(row, dict):
            yield Row(number, None, row)
        else:
            yield FileProblem(message=_NO_OBJECT, row=number)


def _csv_rows(file: Path) -> Iterator[Found]:
    content = _decoded(file)
    if isinstance(content, FileProblem):
        yield content
        return
    first = next((line for line in re.split(r"[\r\n]+", content, maxsplit=50) if line.strip()), "")
    declared = re.fullmatch(r"sep=(.)", first.strip(), re.IGNORECASE)  # a line that Excel understands
    separator = declared[1] if declared else max(",;\t", key=first.count)
    # Prompts may be longer than the csv module's default of 128 KiB a field.
    csv.field_size_limit(2**27)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    begins = 1
    number = 0

    def lines() -> Iterator[tuple[int, int, Sequence[str]]]:
        nonlocal begins, number
        for number, cells in enumerate(reader, start=1):
            if not (declared and number == 1):
                yield number, begins, cells
            begins = reader.line_num + 1

    try:
        yield from _table_rows(lines())
    except csv.Error as error:
        message = f"{error}: a quotation mark is not closed, or one inside a cell is not doubled"
        yield FileProblem(message=message, row=number + 1, line=begins)


def _xlsx_rows(file: Path) -> Iterator[Found]:
    try:
        lines = read_sheet(file)
    except ValueError as error:
        yield FileProblem(message=str(error))
        return
    yield from _table_rows((number, number, cells) for number, cells in enumerate(lines, start=1))


def _table_rows(lines: Iterable[tuple[int, int, Sequence[Any]]]) -> Iterator[Found]:
    """Rows of a table whose first line that is not blank has the column names."""
    header: list[str] | None = None
    for number, line, cells in lines:
        if not any(text(cell).strip() for cell in cells):
            continue
        if header is None:
            if broken := next((cell for cell in cells if isinstance(cell, NoValue)), None):
                yield FileProblem(message=f"a column's name: {broken.why}", row=number, line=line)
                return
            header = [unicodedata.normalize("NFC", text(cell).strip()) for cell in cells]
            twice = {name for name in header if name and header.count(name) > 1}
            if twice:
                message = f"two columns are named {min(twice)!r}; rename one"
                yield FileProblem(message=message, row=number, line=line)
                return
            continue
        if len(cells) > len(header) and any(text(cell).strip() for cell in cells[len(header) :]):
            message = (
                f"{len(cells)} cells under {len(header)} column names; a cell that holds the separator needs "
                "quotation marks"
            )
            yield FileProblem(message=message, row=number, line=line)
            continue
        yield Row(number, line, {name: cell for name, cell in zip(header, cells, strict=False) if name})
