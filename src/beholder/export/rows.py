"""Rows of an out-dir as a flat table: a line for each task, or for each task, repeat and criterion."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beholder.export.table import Column, Kind, Table
from beholder.rows import rationale_of
from beholder.store import joint_models, read_json, read_rows

Row = Mapping[str, Any]
_Cell = tuple[str, Kind, Callable[[Row], Any]]
"""A column's name and kind, and what it holds of a row."""

_COMMON: tuple[_Cell, ...] = (
    ("task_id", "text", lambda row: row["task_id"]),
    ("model", "text", lambda row: row["model"]),
    ("protocol", "text", lambda row: row["protocol"]),
    ("judge", "text", lambda row: row["judge"]["model"]),
    ("scripted", "truth", lambda row: row["judge"]["scripted"]),
)
_HASHES: tuple[_Cell, ...] = (
    ("question_sha256", "text", lambda row: row["question_sha256"]),
    ("evidence_sha256", "text", lambda row: row["evidence_sha256"]),
    ("formula_sha256", "text", lambda row: row["formula_sha256"]),
)


@dataclass(slots=True)
class _Names:
    """Criteria, names of the formula and labels that occur, in the order found."""

    criteria: dict[str, None]
    derived: dict[str, None]
    labels: dict[str, None]
    rows: int = 0
    repeats: int = 0


def read_table(out_dir: Path, *, tidy: bool = False) -> Table:
    """The table of an out-dir, be it one model's or the joint one of several.

    Raises:
        StoreError: There are no results, or they are damaged.
    """
    folders = model_folders(out_dir)
    names = _names(folders)
    if tidy:
        columns = (*_tidy_columns(), *(Column(f"labels.{name}", "text") for name in names.labels))
        lines = names.repeats * len(names.criteria)
        return Table(columns=columns, length=lines, lines=lambda: _tidy_lines(folders, names))
    cells = _row_cells(names)
    return Table(
        columns=tuple(Column(name, kind) for name, kind, _ in cells),
        length=names.rows,
        lines=lambda: ([value(row) for _, _, value in cells] for row in _all_rows(folders)),
    )


def model_folders(out_dir: Path) -> list[Path]:
    """The out-dirs that hold rows: this one, or those of its models.

    Raises:
        StoreError: `damaged`: the joint summary names what is no model's folder.
    """
    return [out_dir / name for name in joint_models(out_dir)] or [out_dir]


def _names(folders: Sequence[Path]) -> _Names:
    found = _Names({}, {}, {})
    for folder in folders:
        # The manifest knows the criteria's order, and those that no reply was scored on.
        protocol = (read_json(folder / "manifest.json") or {}).get("protocol") or {}
        found.criteria.update(dict.fromkeys(item["key"] for item in protocol.get("criteria", ())))
    for row in _all_rows(folders):
        found.rows += 1
        found.repeats += _repeats_asked(row)
        found.labels.update(dict.fromkeys(row["labels"]))
        for part in (row, *row["repeats"]):
            found.criteria.update(dict.fromkeys(part["scores"]))
            found.derived.update(dict.fromkeys(part["derived"]))
    return found


def _all_rows(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
    return itertools.chain.from_iterable(map(read_rows, folders))


def _repeats_asked(row: Row) -> int:
    return max(int(row["n_requested"]), len(row["repeats"]))


def _row_cells(names: _Names) -> list[_Cell]:
    cells: list[_Cell] = [
        *_COMMON,
        ("route", "text", lambda row: row["route"]),
        ("outcome", "text", lambda row: row["outcome"]),
        ("reason", "text", lambda row: row["reason"]),
        ("main_score", "number", lambda row: row["main_score"]),
        ("main_score_error", "text", lambda row: row["main_score_error"]),
        ("pass", "truth", lambda row: row["pass"]),
        ("n_scored", "whole", lambda row: row["n_scored"]),
        ("n_requested", "whole", lambda row: row["n_requested"]),
    ]
    cells += [(f"scores.{key}", "number", _member("scores", key)) for key in names.criteria]
    cells += [(f"derived.{key}", "number", _member("derived", key)) for key in names.derived]
    cells += [
        ("rationale", "text", lambda row: rationale_of(row) or None),
        ("flags", "text", lambda row: "; ".join(row["flags"]) or None),
        (
            "warnings",
            "text",
            lambda row: "; ".join(sorted({item["code"] for item in row["evidence"]["warnings"]})) or None,
        ),
    ]
    cells += [(f"labels.{key}", "text", _member("labels", key)) for key in names.labels]
    cells += _HASHES
    return cells


def _member(field: str, key: str) -> Callable[[Row], Any]:
    return lambda row: _number(row[field].get(key))


def _number(value: Any) -> Any:
    """A judged value as a number: true is worth 1. Text stays text."""
    return int(value) if isinstance(value, bool) else value


def _tidy_columns() -> tuple[Column, ...]:
    kinds: tuple[tuple[str, Kind], ...] = (
        ("repeat", "whole"),
        ("criterion", "text"),
        ("value", "number"),
        ("outcome", "text"),
        ("reason", "text"),
        ("repeat_score", "number"),
        ("repeat_pass", "truth"),
        ("task_outcome", "text"),
        ("task_reason", "text"),
    )
    return (
        *(Column(name, kind) for name, kind, _ in _COMMON),
        *(Column(name, kind) for name, kind in kinds),
    )


def _tidy_lines(folders: Sequence[Path], names: _Names) -> Iterator[list[Any]]:
    for row in _all_rows(folders):
        common = [value(row) for _, _, value in _COMMON]
        labels = [row["labels"].get(name) for name in names.labels]
        made = {repeat["repeat"]: repeat for repeat in row["repeats"]}
        # A task without repeats (absent, or not come to) stands in the table like any other.
        nothing = {"outcome": row["outcome"], "reason": row["reason"], "scores": {}, "derived": {}}
        for number in range(1, _repeats_asked(row) + 1):
            repeat = made.get(number, nothing)
            for key in names.criteria:
                yield [
                    *common,
                    number,
                    key,
                    _number(repeat["scores"].get(key)),
                    repeat["outcome"],
                    repeat["reason"],
                    repeat["derived"].get("main"),
                    repeat.get("pass"),
                    row["outcome"],
                    row["reason"],
                    *labels,
                ]
