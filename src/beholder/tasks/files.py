"""Task files (`.jsonl .json .csv .xlsx`) -> `Task`. Text is passed on unchanged.

An id is text. A whole number is its decimal text: 7, and the 7.0 that a spreadsheet stores, are "7", while
"007" stays "007". A fraction, a boolean or nothing at all is no id.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from beholder.errors import TaskError
from beholder.records import Task

ID_COLUMN = "task_id"

_Row = tuple[int, Mapping[str, Any]]


def load_tasks(
    path: str | Path,
    *,
    placeholders: Sequence[str] = (),
    group_by: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> list[Task]:
    """The tasks of a file, in its order.

    Args:
        path: The file; its suffix tells the format.
        placeholders: Columns that the prompt needs; each row must have them (an empty text is a text).
        group_by: Columns that are labels although the prompt uses them.
        columns: Our name -> the file's name, where they differ (`{"task_id": "No."}`).

    Raises:
        TaskError: Everything that is wrong with the file, by row and column, with what to do.
    """
    file = Path(path)
    readers = {".jsonl": _jsonl_rows, ".json": _json_rows, ".csv": _csv_rows, ".xlsx": _xlsx_rows}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise TaskError(
            f"{file}: tasks are read from .jsonl, .json, .csv and .xlsx files", concerns=str(file)
        )
    try:
        rows = list(reader(file))
    except OSError as error:
        raise TaskError(f"{file}: {error.strerror or 'cannot be read'}", concerns=str(file)) from None
    if not rows:
        raise TaskError(f"{file}: no tasks in it", slug="no_tasks", concerns=str(file))
    return _tasks(file, rows, placeholders, group_by, columns or {})


def _tasks(
    file: Path,
    rows: Sequence[_Row],
    placeholders: Sequence[str],
    group_by: Sequence[str],
    columns: Mapping[str, str],
) -> list[Task]:
    needed = [ID_COLUMN, *(name for name in placeholders if name != ID_COLUMN)]
    present = {name for _, row in rows for name in row}
    absent = [name for name in needed if columns.get(name, name) not in present]
    if absent:
        raise _missing_columns(file, absent, present, columns)
    theirs = {columns.get(name, name): name for name in (*needed, *group_by)}
    problems: list[str] = []
    first_row: dict[str, int] = {}
    tasks = []
    for number, raw in rows:
        row = {theirs.get(name, name): value for name, value in raw.items()}
        try:
            task_id = identity(row.get(ID_COLUMN))
        except ValueError as error:
            problems.append(f"row {number}, column {columns.get(ID_COLUMN, ID_COLUMN)!r}: {error}")
            continue
        if task_id in first_row:
            problems.append(
                f"row {number}: task id {task_id!r} was used in row {first_row[task_id]} already; "
                "ids must differ"
            )
            continue
        first_row[task_id] = number
        empty = [name for name in needed[1:] if row.get(name) is None]
        problems += [
            f"row {number}, column {columns.get(name, name)!r}: no value, and the prompt needs one"
            for name in empty
        ]
        labels = {
            name: text(value)
            for name, value in row.items()
            if value is not None and name != ID_COLUMN and (name not in needed or name in group_by)
        }
        fields = {name: text(row.get(name)) for name in needed[1:]}
        tasks.append(Task(id=task_id, fields=fields, labels=labels, row=number))
    if problems:
        shown = problems[:20]
        rest = f"\n  … and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise TaskError(f"{file}:" + "".join(f"\n  - {item}" for item in shown) + rest, concerns=str(file))
    return tasks


def _missing_columns(
    file: Path, absent: Sequence[str], present: Iterable[str], columns: Mapping[str, str]
) -> TaskError:
    asked = ", ".join(repr(columns.get(name, name)) for name in absent)
    has = ", ".join(repr(name) for name in sorted(present))
    example = ",".join(f"{name}=THEIR_NAME" for name in absent)
    return TaskError(
        f"{file}: no column {asked}; it has {has}. If they are named otherwise, say --columns {example}",
        slug="missing_column",
        concerns=str(file),
    )


def identity(value: Any) -> str:
    """The id that a cell holds.

    Raises:
        ValueError: It holds none; the message says what it holds.
    """
    if isinstance(value, bool):
        value = str(value).lower()
        raise ValueError(f"{value} is no id; use text or a whole number")  # noqa: TRY004 - a cell's content
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is no id; use text or a whole number")
    if isinstance(value, int | float):
        return str(int(value))
    if not isinstance(value, str) or not value.strip():
        raise ValueError("no id; every task needs one")
    if "\x00" in value or len(value.encode("utf-8", "replace")) > 1000:
        raise ValueError("an id is at most 1,000 bytes long and holds no NUL")
    return value


def text(value: Any) -> str:
    """A cell as text: strings unchanged, whole numbers without a decimal point, structures as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _decoded(file: Path) -> str:
    data = file.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")  # the byte order mark declares it, so nothing is guessed
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TaskError(
            f"{file}, line {line}: not UTF-8; save the file as UTF-8", concerns=str(file)
        ) from None


def _jsonl_rows(file: Path) -> Iterator[_Row]:
    for number, line in enumerate(_decoded(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise TaskError(f"{file}, line {number}: not JSON: {error}", concerns=str(file)) from None
        yield number, _object(file, f"line {number}", row)


def _json_rows(file: Path) -> Iterator[_Row]:
    try:
        data = json.loads(_decoded(file))
    except ValueError as error:
        raise TaskError(f"{file}: not JSON: {error}", concerns=str(file)) from None
    if isinstance(data, dict) and isinstance(data.get("tasks"), list):
        data = data["tasks"]
    if not isinstance(data, list):
        raise TaskError(f"{file}: expected a list of tasks, or an object with a list 'tasks'")
    for number, row in enumerate(data, start=1):
        yield number, _object(file, f"task {number}", row)


def _object(file: Path, where: str, row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise TaskError(f"{file}, {where}: a task is an object, such as {{'task_id': …}}", concerns=str(file))
    return row


def _csv_rows(file: Path) -> Iterator[_Row]:
    content = _decoded(file)
    separator = max(",;\t", key=content.split("\n", 1)[0].count)
    # Prompts may be longer than the csv module's default of 128 KiB a field.
    csv.field_size_limit(2**27)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    try:
        yield from _table_rows(file, ((reader.line_num, cells) for cells in reader))
    except csv.Error as error:
        raise TaskError(f"{file}, line {reader.line_num}: {error}", concerns=str(file)) from None


def _xlsx_rows(file: Path) -> Iterator[_Row]:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        workbook = CalamineWorkbook.from_path(str(file))
        sheet = workbook.get_sheet_by_index(0)
        cells = sheet.to_python(skip_empty_area=False)
    except (CalamineError, ValueError) as error:
        raise TaskError(f"{file}: not a readable workbook: {error}", concerns=str(file)) from None
    yield from _table_rows(file, enumerate(cells, start=1))


def _table_rows(file: Path, lines: Iterable[tuple[int, Sequence[Any]]]) -> Iterator[_Row]:
    """Rows of a table whose first line that is not blank has the column names."""
    header: list[str] | None = None
    for number, cells in lines:
        if not any(text(cell).strip() for cell in cells):
            continue
        if header is None:
            header = [text(cell).strip() for cell in cells]
            twice = {name for name in header if name and header.count(name) > 1}
            if twice:
                raise TaskError(f"{file}, row {number}: two columns are named {min(twice)!r}")
            continue
        if len(cells) > len(header) and any(text(cell).strip() for cell in cells[len(header) :]):
            raise TaskError(f"{file}, row {number}: {len(cells)} cells under {len(header)} column names")
        # calamine gives '' for a cell without content, csv cannot tell the two apart: an empty text
        yield number, {name: cell for name, cell in zip(header, cells, strict=False) if name}
