"""Task files (`.jsonl .json .csv .xlsx`) -> `Task`. Text is passed on unchanged."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beholder.errors import TaskError
from beholder.records import Task
from beholder.tasks.cells import cell_at, identity, is_broken
from beholder.tasks.columns import ID_COLUMN, Columns, columns_of
from beholder.tasks.rows import FileProblem, Row, read_rows
from beholder.tasks.sheets import NoValue
from beholder.tasks.submissions import names_on_disk, no_name_on_disk

SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A task file, read: the tasks that are good, and everything that is not."""

    tasks: tuple[Task, ...]
    problems: tuple[FileProblem, ...]


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
    found = read_rows(Path(path))
    if isinstance(found, FileProblem):
        return TaskFile(tasks=(), problems=(found,))
    rows = [item for item in found if isinstance(item, Row)]
    problems = [item for item in found if isinstance(item, FileProblem)]
    if not rows:
        none = FileProblem(message="no tasks in it", slug="no_tasks")
        return TaskFile(tasks=(), problems=tuple(problems or [none]))
    renamed = {ours: unicodedata.normalize("NFC", theirs) for ours, theirs in (columns or {}).items()}
    use = columns_of(rows, renamed=renamed, placeholders=placeholders, group_by=group_by, optional=optional)
    return _tasks(rows, problems, use, on_disk=True)


def read_task(
    cells: Mapping[str, Any],
    *,
    placeholders: Sequence[str] = (),
    group_by: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Task:
    """The task of one row, its cells by column, as the row of a file is read; see `load_tasks`.

    Its submission need not be named after it, so any text is an id.

    Raises:
        TaskError: What is wrong with it, by column.
    """
    about = f"task {cells.get(ID_COLUMN)!r}"
    absent = [name for name in dict.fromkeys((ID_COLUMN, *placeholders)) if cell_at(cells, name) is None]
    if absent:
        raise TaskError(f"{about}: no value for {', '.join(absent)}", slug="missing_column", concerns=about)
    rows = [Row(1, None, cells)]
    use = columns_of(rows, renamed={}, placeholders=placeholders, group_by=group_by, optional=optional)
    found = _tasks(rows, [], use, on_disk=False)
    if found.problems:
        told = "; ".join(str(replace(problem, row=None, line=None)) for problem in found.problems)
        raise TaskError(f"{about}: {told}", concerns=about)
    (task,) = found.tasks
    return task


def has_column(path: str | Path, name: str, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a task file has a column, be it under another name; no where it cannot be read at all."""
    found = read_rows(Path(path))
    wanted = unicodedata.normalize("NFC", (columns or {}).get(name, name))
    rows = [] if isinstance(found, FileProblem) else [row for row in found if isinstance(row, Row)]
    return any(cell_at(row.cells, wanted) is not None for row in rows)


def _is_present(name: str, rows: Sequence[Row]) -> bool:
    """Whether the file has a column of that name, or one that a dotted name leads into."""
    return any(name in row.cells for row in rows) or any(cell_at(row.cells, name) is not None for row in rows)


def _tasks(
    rows: Sequence[Row], problems: Sequence[FileProblem], columns: Columns, *, on_disk: bool
) -> TaskFile:
    """Tasks and problems of some rows.

    Args:
        problems: That were found before.
        on_disk: Whether the tasks' submissions are looked for by their ids.
    """
    absent = _missing_columns(rows, columns)
    if absent:
        return TaskFile(tasks=(), problems=(*problems, *absent))
    found = [*problems]
    first_row: dict[str, tuple[int, str]] = {}
    tasks = []
    for row in rows:
        cells = columns.cells_of(row)
        try:
            task_id = identity(cells.get(ID_COLUMN))
        except ValueError as error:
            found.append(_problem(row, str(error), columns.theirs(ID_COLUMN)))
            continue
        names = names_on_disk(task_id)
        taken = next((first_row[name] for name in names if name in first_row), None)
        if taken is not None:
            found.append(_problem(row, _doubled(task_id, *taken)))
            continue
        first_row |= dict.fromkeys(names, (row.number, task_id))
        if on_disk and (why := no_name_on_disk(task_id)):
            shown = task_id if len(task_id) <= 40 else f"{task_id[:40]}…"
            message = f"task id {shown!r} {why}: no submission could have it; give the task another id"
            found.append(_problem(row, message, columns.theirs(ID_COLUMN)))
        fields, labels = columns.fields_of(cells), columns.labels_of(cells)
        wrong = (*_empty_cells(cells, columns), *_broken_texts({ID_COLUMN: task_id, **fields, **labels}))
        found += [_problem(row, message, columns.theirs(name)) for name, message in wrong]
        tasks.append(Task(id=task_id, fields=fields, labels=labels, row=row.number))
    return TaskFile(tasks=tuple(tasks), problems=tuple(found))


def _empty_cells(cells: Mapping[str, Any], columns: Columns) -> Iterator[tuple[str, str]]:
    """(column, what is wrong) of cells without a value that the prompt needs, and of those that have none."""
    for name in columns.needed:
        if name != ID_COLUMN and cells.get(name) is None:
            yield name, "no value, and the prompt needs one"
    for name, value in cells.items():
        if isinstance(value, NoValue):
            yield name, value.why


def _broken_texts(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(column, what is wrong) of texts that no file can hold."""
    for name, value in texts.items():
        if is_broken(value):
            yield name, "half of a character (a lone surrogate); write it whole"


def _doubled(task_id: str, row: int, earlier: str) -> str:
    """Two ids that are equal, or whose submissions would be looked for under one name."""
    if earlier == task_id:
        return f"task id {task_id!r} was used in row {row} already; ids must differ"
    if unicodedata.normalize("NFC", earlier) == unicodedata.normalize("NFC", task_id):
        why = "looks the same and is only spelled by other code points"
    else:
        why = "has the same name on disk, where what is no file name is percent-encoded"
    return f"task id {task_id!r}: {earlier!r} of row {row} {why}; rename one, or both get one submission"


def _problem(row: Row, message: str, column: str | None = None) -> FileProblem:
    return FileProblem(message=message, row=row.number, line=row.line, column=column)


def _missing_columns(rows: Sequence[Row], columns: Columns) -> list[FileProblem]:
    has = ", ".join(repr(name) for name in sorted({name for row in rows for name in row.cells}))
    found = []
    absent = [name for name in columns.needed if not _is_present(columns.theirs(name), rows)]
    if absent:
        asked = ", ".join(repr(columns.theirs(name)) for name in absent)
        example = ",".join(f"{name}=THEIR_NAME" for name in absent)
        message = f"no column {asked}; it has {has}. If they are named otherwise, say --columns {example}"
        found.append(FileProblem(message=message, slug="missing_column"))
    wrong = [f"{o}={t}" for o, t in columns.renamed.items() if o not in absent and not _is_present(t, rows)]
    if wrong:
        message = f"--columns {','.join(wrong)}: no such column; it has {has}"
        found.append(FileProblem(message=message, slug="missing_column"))
    return found
