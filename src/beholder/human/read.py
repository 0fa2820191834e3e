"""A file of people's ratings -> `HumanRatings`. A blank cell is no rating; nothing is guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError
from beholder.tasks.cells import identity, text
from beholder.tasks.rows import read_cells
from beholder.tasks.sheets import NoValue

Scales = Mapping[str, tuple[float, float]]

SHOWN_PROBLEMS = 20
# One comma, and not three digits behind it: those may be thousands.
_COMMA = re.compile(r"[-+]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})", re.ASCII)
_SUFFIXES = (".csv", ".xlsx", ".json", ".jsonl")
_YES = {"1", "1.0", "true", "yes", "y", "pass", "passed"}
_NO = {"0", "0.0", "false", "no", "n", "fail", "failed"}
_KEYS = ("task_id", "rater")
_ALIASES = {"main_score": "main", "score": "main", "passed": "pass"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanRatings:
    """What people said.

    Attributes:
        file: The file's name.
        columns: What was rated, in the file's order: criteria's keys, `main`, `pass`.
        raters: Their names, sorted; one empty name where the file has no column `rater`.
        values: By column, task id and rater; a pass is 1 or 0. Blank cells are not in it.
        blanks: Blank cells by column.
        ignored: Columns of the file that are neither.
    """

    file: str
    columns: tuple[str, ...]
    raters: tuple[str, ...]
    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    blanks: Mapping[str, int]
    ignored: tuple[str, ...]

    @property
    def tasks(self) -> set[str]:
        """Ids of tasks with any rating."""
        return {task for by_task in self.values.values() for task in by_task}


def read_ratings(path: Path, scales: Scales, *, has_pass: bool) -> HumanRatings:
    """Ratings of a `.csv` or `.xlsx` file.

    A line is one rater's view of one task: `task_id`, `rater` (may be left out where one person rated),
    and any of the criteria's keys, `main` (the score) and `pass`.

    Args:
        path: The file; `.json` and `.jsonl` are read too.
        scales: Ends of each criterion's scale and of `main`.
        has_pass: Whether the protocol has a pass mark.

    Raises:
        ConfigError: The file cannot be read, has nothing to compare, or ratings that are no numbers, outside
            the scale or doubled; by row and column.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: ratings are read from .csv and .xlsx files", concerns=str(path))
    rows, problems = read_cells(path)
    if problems:
        raise _refused(path, map(str, problems))
    if not rows:
        raise ConfigError(
            f"{path}: holds no ratings; it needs a header with task_id and what was rated, then lines",
            concerns=str(path),
        )
    rows = [(number, _plain_keys(cells)) for number, cells in rows]
    names = list(dict.fromkeys(name for _, cells in rows for name in cells if name))
    rated = {name: ours for name in names if (ours := _ours(name, scales, has_pass=has_pass)) is not None}
    if "task_id" not in names or not rated:
        wanted = [*scales, *(["pass"] if has_pass else [])]
        raise ConfigError(
            f"{path}: needs a column task_id and at least one of {', '.join(wanted)}; it has "
            f"{', '.join(names) or 'none'}. A line is one person's view of one task; who it is goes into a "
            "column rater",
            concerns=str(path),
        )
    return _collect(path, rows, names, rated, scales)


def _plain_keys(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row whose `Task_ID` and `RATER` are called as ours are, where no column is called so exactly."""
    known = {name: name.lower() for name in cells if name and name.lower() in _KEYS}
    return {
        known[name] if name in known and known[name] not in cells else name: cell
        for name, cell in cells.items()
    }


def _ours(name: str, scales: Scales, *, has_pass: bool) -> str | None:
    """Which of our columns a column of the file is."""
    if name in scales:
        return name
    ours = _ALIASES.get(name.lower(), name.lower())
    return ours if ours in scales or (ours == "pass" and has_pass) else None


def _collect(
    path: Path,
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    names: Sequence[str],
    rated: Mapping[str, str],
    scales: Scales,
) -> HumanRatings:
    values: dict[str, dict[str, dict[str, float]]] = {ours: {} for ours in rated.values()}
    blanks = dict.fromkeys(values, 0)
    seen: dict[tuple[str, str], int] = {}
    wrong = []
    for number, cells in rows:
        try:
            task = identity(cells.get("task_id"))
        except ValueError as error:
            wrong.append(f"row {number}, column task_id: {error}")
            continue
        rater = text(cells.get("rater")).strip()
        if "rater" in names and not rater:
            wrong.append(f"row {number}, column rater: blank; say who rated")
            continue
        first = seen.setdefault((task, rater), number)
        if first != number:
            who = f" by {rater}" if rater else "; name the people in a column rater"
            wrong.append(f"row {number}: task {task} is rated in row {first} already{who}")
            continue
        for name, ours in rated.items():
            cell = cells.get(name)
            if cell is None or (isinstance(cell, str) and not cell.strip()):
                blanks[ours] += 1
                continue
            try:
                values[ours].setdefault(task, {})[rater] = _rating(cell, ours, scales)
            except ValueError as error:
                wrong.append(f"row {number}, column {name}: {error}")
    if wrong:
        raise _refused(path, wrong)
    return HumanRatings(
        file=path.name,
        columns=tuple(values),
        raters=tuple(sorted({rater for _, rater in seen})),
        values=values,
        blanks=blanks,
        ignored=tuple(name for name in names if name not in rated and name not in {"task_id", "rater"}),
    )


def _rating(cell: Any, column: str, scales: Scales) -> float:
    """A cell as a number on the column's scale. Raises ValueError for what is none."""
    if isinstance(cell, NoValue):
        raise ValueError(cell.why)  # noqa: TRY004 - a cell's content
    said = text(cell).strip().lower()
    if column == "pass" or scales[column] == (0, 1):
        if said in _YES or said in _NO:
            return float(said in _YES)
        if column == "pass":
            raise ValueError(f"{text(cell)!r} is neither yes nor no; write 1 or 0")
    try:
        number = float(said)
    except ValueError:
        point = said.replace(",", ".")
        hint = f"; write {point}, with a point" if _COMMA.fullmatch(said) else ""
        raise ValueError(f"{text(cell)!r} is no number{hint}") from None
    low, high = scales[column]
    if not math.isfinite(number) or not low <= number <= high:
        raise ValueError(f"{text(cell)} is outside the scale {low:g} to {high:g}")
    return number


def _refused(path: Path, problems: Iterable[str]) -> ConfigError:
    found = list(problems)
    shown = "".join(f"\n  - {problem}" for problem in found[:SHOWN_PROBLEMS])
    more = len(found) - SHOWN_PROBLEMS
    return ConfigError(f"{path}:{shown}" + (f"\n  … and {more} more" if more > 0 else ""), concerns=str(path))
