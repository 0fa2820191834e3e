"""A flat table in the formats that `export` writes."""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from beholder.errors import ConfigError, MissingTool, StoreError
from beholder.export.table import Kind, Table
from beholder.export.target import write_whole
from beholder.tables import SHEET_ROWS, csv_cell, sheet_cell

FORMATS = (".csv", ".xlsx", ".parquet", ".json", ".jsonl", ".xml")
"""The suffixes that `export` takes; `.xml` is JUnit's (`junit.py`), the others are tables."""

_BATCH = 5000
"""Lines of a Parquet row group."""


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
