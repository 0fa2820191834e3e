"""Task files (`.jsonl .json .csv .xlsx`) -> `Task`. Text is passed on unchanged.

An id is text. A whole number is its decimal text: 7, and the 7.0 that a spreadsheet stores, are "7", while
"007" stays "007". A fraction, a boolean, a date or nothing at all is no id.

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
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from beholder.errors import TaskError
from beholder.records import Task
from beholder.tasks.sheets import NoValue, read_sheet
from beholder.tasks.submissions import names_on_disk

ID_COLUMN = "task_id"
SHOWN_PROBLEMS = 20
EXACT_DIGITS = 15
"""Digits of a number that a spreadsheet keeps; a longer id was changed when it was typed."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A task file, read: the tasks that are good, and everything that is not."""

    tasks: tuple[Task, ...]
    problems: tuple[FileProblem, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row's cells by the file's own column names; None for a cell without content."""

    number: int
    line: int | None
    cells: Mapping[str, Any]


_Found = _Row | FileProblem


def load_tasks(
    path: str | Path,
    *,
    placeholders: Sequence[str] = (),
    group_by: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    optional: Sequence[str] = (),
) -> list[Task]:
    """The tasks of a file, in its order.

    A name with dots leads into a column that holds a table, unless a column has the whole name:
    `evaluation.rule_based` is that member of `evaluation`, or the column of a spreadsheet that is named so.

    Args:
        path: The file; its suffix tells the format.
        placeholders: Columns that the prompt needs; each row must have them (an empty text is a text, but
            an empty cell of a workbook is none).
        group_by: Columns that are labels although the prompt uses them.
        columns: Our name -> the file's name, where they differ (`{"task_id": "No."}`). A column of the
            file that has our name already is then left out.
        optional: Columns that a row may have, and that are fields then, no labels.

    Raises:
        TaskError: Everything that is wrong with the file, by row and column, with what to do.
    """
    found = read_tasks(path, placeholders=placeholders, group_by=group_by, columns=columns, optional=optional)
    if not found.problems:
        return list(found.tasks)
    slugs = {problem.slug for problem in found.problems}
    slug = slugs.pop() if len(slugs) == 1 else None
    if len(found.problems) == 1:
        raise TaskError(f"{path}: {found.problems[0]}", slug=slug, concerns=str(path))
    shown = "".join(f"\n  - {problem}" for problem in found.problems[:SHOWN_PROBLEMS])
    more = len(found.problems) - SHOWN_PROBLEMS
    rest = f"\n  … and {more} more (validate-run lists all)" if more > 0 else ""
    raise TaskError(f"{path}:{shown}{rest}", slug=slug, concerns=str(path))


def read_tasks(
    path: str | Path,
    *,
    placeholders: Sequence[str] = (),
    group_by: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    optional: Sequence[str] = (),
) -> TaskFile:
    """Tasks and problems of a file; see `load_tasks`. Nothing about the file's content raises."""
    found = _read_rows(Path(path))
    if isinstance(found, FileProblem):
        return TaskFile(tasks=(), problems=(found,))
    rows = [item for item in found if isinstance(item, _Row)]
    problems = [item for item in found if isinstance(item, FileProblem)]
    if not rows:
        return (
            TaskFile(tasks=(), problems=(FileProblem(message="no tasks in it", slug="no_tasks"),))
            if not problems
            else TaskFile(tasks=(), problems=tuple(problems))
        )
    mapping = {ours: unicodedata.normalize("NFC", theirs) for ours, theirs in (columns or {}).items()}
    return _tasks(rows, problems, placeholders, group_by, mapping, optional)


def read_task(
    cells: Mapping[str, Any],
    *,
    placeholders: Sequence[str] = (),
    group_by: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Task:
    """The task of one row, its cells by column, as the row of a file is read; see `load_tasks`.

    Raises:
        TaskError: What is wrong with it, by column.
    """
    about = f"task {cells.get(ID_COLUMN)!r}"
    absent = [name for name in dict.fromkeys((ID_COLUMN, *placeholders)) if cell_at(cells, name) is None]
    if absent:
        raise TaskError(f"{about}: no value for {', '.join(absent)}", slug="missing_column", concerns=about)
    found = _tasks([_Row(1, None, cells)], [], placeholders, group_by, {}, optional)
    if found.problems:
        told = "; ".join(str(replace(problem, row=None, line=None)) for problem in found.problems)
        raise TaskError(f"{about}: {told}", concerns=about)
    (task,) = found.tasks
    return task


def has_column(path: str | Path, name: str, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a task file has a column, be it under another name; no where it cannot be read at all."""
    found = _read_rows(Path(path))
    wanted = unicodedata.normalize("NFC", (columns or {}).get(name, name))
    rows = [] if isinstance(found, FileProblem) else [row for row in found if isinstance(row, _Row)]
    return any(cell_at(row.cells, wanted) is not None for row in rows)


def _read_rows(file: Path) -> list[_Found] | FileProblem:
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
    found = _read_rows(file)
    if isinstance(found, FileProblem):
        return [], [found]
    rows = [(item.number, item.cells) for item in found if isinstance(item, _Row)]
    return rows, [item for item in found if isinstance(item, FileProblem)]


def cell_at(cells: Mapping[str, Any], name: str) -> Any:
    """A row's value under a name, or under the dotted path that a name may be; None if there is none."""
    if name in cells:
        return cells[name]
    head, _, rest = name.partition(".")
    if not rest or head not in cells:
        return None
    value: Any = cells[head]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)  # a spreadsheet's cell may hold the table as text
        except (ValueError, RecursionError):
            return None
    return cell_at(value, rest) if isinstance(value, Mapping) else None


def _stray(cells: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What stands where a dotted name leads through and is no table, by its own name; None if nothing does.

    A column that may be left out must not seem to be, for what was meant to hold it cannot be read.
    """
    head, _, rest = name.partition(".")
    value = cells.get(head) if rest and name not in cells else None
    if value is None or isinstance(value, Mapping) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        try:
            if isinstance(json.loads(value), dict):
                return None
        except (ValueError, RecursionError):
            pass  # then it is a text
    return {head: value}


def _is_present(name: str, rows: Sequence[_Row]) -> bool:
    """Whether the file has a column of that name, or one that a dotted name leads into."""
    return any(name in row.cells for row in rows) or any(cell_at(row.cells, name) is not None for row in rows)


def _tasks(
    rows: Sequence[_Row],
    problems: list[FileProblem],
    placeholders: Sequence[str],
    group_by: Sequence[str],
    columns: Mapping[str, str],
    optional: Sequence[str],
) -> TaskFile:
    needed = [ID_COLUMN, *(name for name in placeholders if name != ID_COLUMN)]
    absent = _missing_columns(needed, rows, columns)
    if absent:
        return TaskFile(tasks=(), problems=(*problems, *absent))
    further = [name for name in optional if name not in needed]
    asked = dict.fromkeys((*columns, *needed, *further))
    # A table that a dotted name leads into is no label as a whole.
    there = {name for row in rows for name in row.cells}
    dotted = {columns.get(name, name) for name in asked} - there
    hidden = {*columns, *columns.values(), *(name.partition(".")[0] for name in dotted if "." in name)}
    first_row: dict[str, tuple[int, str]] = {}
    tasks = []
    for row in rows:
        cells = {name: value for name, value in row.cells.items() if name not in hidden}
        cells |= {name: cell_at(row.cells, columns.get(name, name)) for name in asked}
        cells |= {
            name: stray
            for name in further
            if cells[name] is None and (stray := _stray(row.cells, columns.get(name, name))) is not None
        }
        try:
            task_id = identity(cells.get(ID_COLUMN))
        except ValueError as error:
            problems.append(_problem(row, str(error), columns.get(ID_COLUMN, ID_COLUMN)))
            continue
        names = names_on_disk(task_id)
        taken = next((first_row[name] for name in names if name in first_row), None)
        if taken is not None:
            problems.append(_problem(row, _doubled(task_id, *taken)))
            continue
        first_row |= dict.fromkeys(names, (row.number, task_id))
        problems += [
            _problem(row, "no value, and the prompt needs one", columns.get(name, name))
            for name in needed[1:]
            if cells.get(name) is None
        ]
        problems += [
            _problem(row, value.why, columns.get(name, name))
            for name, value in cells.items()
            if isinstance(value, NoValue)
        ]
        labels = {
            name: text(value)
            for name, value in cells.items()
            if not (value is None or isinstance(value, NoValue))
            and name != ID_COLUMN
            and (name not in {*needed, *further} or name in group_by)
        }
        fields = {name: text(cells.get(name)) for name in needed[1:]}
        fields |= {name: text(cells[name]) for name in further if cells.get(name) is not None}
        broken = [
            name for name, value in {ID_COLUMN: task_id, **fields, **labels}.items() if _is_broken(value)
        ]
        problems += [
            _problem(row, "half of a character (a lone surrogate); write it whole", columns.get(name, name))
            for name in broken
        ]
        tasks.append(Task(id=task_id, fields=fields, labels=labels, row=row.number))
    return TaskFile(tasks=tuple(tasks), problems=tuple(problems))


def _doubled(task_id: str, row: int, earlier: str) -> str:
    """Two ids that are equal, or whose submissions would be looked for under one name."""
    if earlier == task_id:
        return f"task id {task_id!r} was used in row {row} already; ids must differ"
    if unicodedata.normalize("NFC", earlier) == unicodedata.normalize("NFC", task_id):
        why = "looks the same and is only spelled by other code points"
    else:
        why = "has the same name on disk, where what is no file name is percent-encoded"
    return f"task id {task_id!r}: {earlier!r} of row {row} {why}; rename one, or both get one submission"


def _is_broken(value: str) -> bool:
    """Whether a text, or a name in it, cannot be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def _problem(row: _Row, message: str, column: str | None = None) -> FileProblem:
    return FileProblem(message=message, row=row.number, line=row.line, column=column)


def _missing_columns(
    needed: Sequence[str], rows: Sequence[_Row], columns: Mapping[str, str]
) -> list[FileProblem]:
    has = ", ".join(repr(name) for name in sorted({name for row in rows for name in row.cells}))
    found = []
    absent = [name for name in needed if not _is_present(columns.get(name, name), rows)]
    if absent:
        asked = ", ".join(repr(columns.get(name, name)) for name in absent)
        example = ",".join(f"{name}=THEIR_NAME" for name in absent)
        message = f"no column {asked}; it has {has}. If they are named otherwise, say --columns {example}"
        found.append(FileProblem(message=message, slug="missing_column"))
    wrong = [f"{o}={t}" for o, t in columns.items() if o not in absent and not _is_present(t, rows)]
    if wrong:
        message = f"--columns {','.join(wrong)}: no such column; it has {has}"
        found.append(FileProblem(message=message, slug="missing_column"))
    return found


def identity(value: Any) -> str:
    """The id that a cell holds.

    Raises:
        ValueError: It holds none; the message says what it holds and what to do.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("no id; every task needs one")
    if isinstance(value, str):
        if "\x00" in value or len(value.encode("utf-8", "replace")) > 1000:
            raise ValueError("an id is at most 1,000 bytes long and holds no NUL")
        return value
    if isinstance(value, datetime | date | time | timedelta):
        shown = text(value)
        raise ValueError(  # noqa: TRY004 - a cell's content
            f"{shown} is a date or time, no id; format the column as text and type it again"
        )
    if isinstance(value, NoValue):
        raise ValueError(f"no id: {value.why}")  # noqa: TRY004 - a cell's content
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{text(value)} is no id; use text or a whole number")  # noqa: TRY004 - a cell's content
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{value} is no id; use text or a whole number")
        if abs(value) >= 10**EXACT_DIGITS:
            raise ValueError(
                f"{value:.0f} has more digits than a spreadsheet keeps; format the column as text and type "
                "it again"
            )
    return str(int(value))


def text(value: Any) -> str:
    """A cell as text: strings unchanged, whole numbers without a decimal point, structures as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**EXACT_DIGITS:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, NoValue):
        return value.why
    if isinstance(value, timedelta | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


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


def _jsonl_rows(file: Path) -> Iterator[_Found]:
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
            yield _Row(number, number, row)
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


def _json_rows(file: Path) -> Iterator[_Found]:
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
            yield _Row(number, None, row)
        else:
            yield FileProblem(message=_NO_OBJECT, row=number)


def _csv_rows(file: Path) -> Iterator[_Found]:
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


def _xlsx_rows(file: Path) -> Iterator[_Found]:
    try:
        lines = read_sheet(file)
    except ValueError as error:
        yield FileProblem(message=str(error))
        return
    yield from _table_rows((number, number, cells) for number, cells in enumerate(lines, start=1))


def _table_rows(lines: Iterable[tuple[int, int, Sequence[Any]]]) -> Iterator[_Found]:
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
        yield _Row(number, line, {name: cell for name, cell in zip(header, cells, strict=False) if name})
