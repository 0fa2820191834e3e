"""Rows of an out-dir -> one flat table: CSV, XLSX, Parquet, JSON, JSON lines.

Per row there is a line for each task, with a column for each field of the row, nested ones with a dot, as in
`scores.exists`, `derived.total_raw`, `labels.level`. Tidy there is a line for each task, repeat and
criterion, all of them: a repeat that was asked for and has no score has its lines, with nothing as value.

A value that is not there is an empty cell or null, never 0. A joint out-dir is the lines of all its models.
"""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from beholder.errors import ConfigError, MissingTool, StoreError
from beholder.rows import rationale_of
from beholder.store import joint_models, read_json, read_rows
from beholder.tables import SHEET_ROWS, csv_cell, sheet_cell

Kind = Literal["text", "number", "whole", "truth"]
Row = Mapping[str, Any]

FORMATS = (".csv", ".xlsx", ".parquet", ".json", ".jsonl", ".xml")
"""The suffixes that `export` takes; `.xml` is JUnit's (`junit.py`), the others are tables."""

_OWN_FILES = {
    "judge_results.jsonl",
    "judge_summary.json",
    "manifest.json",
    "prepared_output_evidence.json",
    "run.json",
}
_OUT_DIR_SIGNS = ("judge_results.jsonl", "judge_summary.json", "ledger.sqlite")
_BATCH = 5000
_COMMON: tuple[tuple[str, Kind, Callable[[Row], Any]], ...] = (
    ("task_id", "text", lambda row: row["task_id"]),
    ("model", "text", lambda row: row["model"]),
    ("protocol", "text", lambda row: row["protocol"]),
    ("judge", "text", lambda row: row["judge"]["model"]),
    ("scripted", "truth", lambda row: row["judge"]["scripted"]),
)
_HASHES: tuple[tuple[str, Kind, Callable[[Row], Any]], ...] = (
    ("question_sha256", "text", lambda row: row["question_sha256"]),
    ("evidence_sha256", "text", lambda row: row["evidence_sha256"]),
    ("formula_sha256", "text", lambda row: row["formula_sha256"]),
)


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


def write_export(table: Table, target: Path) -> None:
    """Write a table in the format of the file's suffix, whole or not at all.

    CSV is UTF-8 with a byte order mark. In CSV and XLSX, text that a spreadsheet would run as a formula has
    an apostrophe before it; the other formats hold it as it is.

    Raises:
        ConfigError: No such format, too many lines for a sheet, or a target that cannot be written: a folder,
            in none, or something that an out-dir holds.
        MissingTool: Parquet without pyarrow.
        StoreError: The file cannot be written, or a number in the rows is none that a run writes (`damaged`).
    """
    writers: Mapping[str, Callable[[Table, IO[bytes]], None]] = {
        ".csv": _write_csv_file,
        ".xlsx": _write_xlsx,
        ".parquet": _write_parquet,
        ".json": write_json_list,
        ".jsonl": _write_jsonl,
    }
    write = writers.get(target.suffix.lower())
    if write is None:
        raise ConfigError(
            f"-o {target}: the format follows the suffix, one of {', '.join(FORMATS)}", concerns="-o"
        )
    write_whole(target, lambda file: write(table, file))


def write_whole(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a file that appears whole or not at all.

    Raises:
        ConfigError: A target that cannot be written: a folder, in none, or something that an out-dir holds.
        StoreError: The file cannot be written.
    """
    if target.is_dir():
        raise ConfigError(f"-o {target}: is a folder; name a file in it", concerns="-o")
    _check_target(target)
    partial = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            write(file)
        partial.replace(target)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}", slug="disk", concerns=str(target)) from None
    finally:
        partial.unlink(missing_ok=True)


def _check_target(target: Path) -> None:
    """Nothing that an out-dir holds is overwritten: its tables have names that only their protocol knows."""
    if target.name.lower() in _OWN_FILES:
        raise ConfigError(f"-o {target}: that is the name of an out-dir's own file", concerns="-o")
    if not target.parent.is_dir():
        raise ConfigError(f"-o {target}: there is no folder {target.parent}; make it first", concerns="-o")
    folder = target.parent.resolve()
    inside = any((above / name).exists() for above in (folder, *folder.parents) for name in _OUT_DIR_SIGNS)
    if inside and os.path.lexists(target):
        raise ConfigError(
            f"-o {target}: it lies in an out-dir and is there already; choose another name, or a folder "
            "outside",
            concerns="-o",
        )


def write_csv(table: Table, file: IO[bytes], *, byte_order_mark: bool) -> None:
    """A table as CSV in UTF-8."""
    text = io.TextIOWrapper(
        file, "utf-8-sig" if byte_order_mark else "utf-8", errors="replace", newline="", write_through=True
    )
    try:
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow([csv_cell(column.name) for column in table.columns])
        for line in table.lines():
            writer.writerow([csv_cell(value) for value in line])
        text.flush()
    finally:
        text.detach()  # the caller closes the file


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


def _row_cells(names: _Names) -> list[tuple[str, Kind, Callable[[Row], Any]]]:
    cells: list[tuple[str, Kind, Callable[[Row], Any]]] = [
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


def _write_csv_file(table: Table, file: IO[bytes]) -> None:
    write_csv(table, file, byte_order_mark=True)


def _write_xlsx(table: Table, file: IO[bytes]) -> None:
    if table.length >= SHEET_ROWS:
        raise ConfigError(
            f"{table.length} lines; a sheet holds {SHEET_ROWS - 1}. Write .csv or .parquet",
            concerns="-o",
        )
    from openpyxl import Workbook

    workbook = Workbook(write_only=True)
    sheet = workbook.create_sheet("results")
    sheet.freeze_panes = "B2"
    sheet.append([sheet_cell(column.name) for column in table.columns])
    for line in table.lines():
        sheet.append([sheet_cell(value) for value in line])
    workbook.save(file)


def _write_parquet(table: Table, file: IO[bytes]) -> None:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingTool("Parquet needs pyarrow: pip install pyarrow", concerns="pyarrow") from None
    types = {
        "text": arrow.string(),
        "number": arrow.float64(),
        "whole": arrow.int64(),
        "truth": arrow.bool_(),
    }
    schema = arrow.schema([(column.name, types[column.kind]) for column in table.columns])
    lines = table.lines()
    with parquet.ParquetWriter(file, schema) as writer:
        while batch := list(itertools.islice(lines, _BATCH)):
            try:
                arrays = [
                    arrow.array(
                        [_exact_kind(line[at], column.kind) for line in batch], type=types[column.kind]
                    )
                    for at, column in enumerate(table.columns)
                ]
            except (arrow.ArrowException, OverflowError) as error:
                raise StoreError(
                    f"a value that no run writes: {error}; .jsonl holds every value as it is", slug="damaged"
                ) from None
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _exact_kind(value: Any, kind: Kind) -> Any:
    """A whole number in a column of numbers as a float: Parquet's writer takes only some by itself."""
    return float(value) if kind == "number" and isinstance(value, int) else value


def write_json_list(table: Table, file: IO[bytes]) -> None:
    """A table as a JSON list of objects, one a line."""
    file.write(b"[")
    for number, record in enumerate(table.records()):
        file.write((b",\n" if number else b"\n") + _json(record))
    file.write(b"\n]\n")


def _write_jsonl(table: Table, file: IO[bytes]) -> None:
    for record in table.records():
        file.write(_json(record) + b"\n")


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
