"""A protocol's own result table, as its file declares it under `[table]`: CSV and XLSX.

A column's source is one of

    task_id, model, outcome, reason, pass     the row's field
    main                                      the score
    rationale                                 of the scored repeat nearest the mean, the first on a tie
    file_type                                 `html_screenshot`, or the suffix without dot; `jpeg` is `jpg`
    column:NAME                               a column of the task file
    criterion:KEY, derived:NAME               mean over the scored repeats
    repeats:NAME                              each repeat's value of a criterion or name, joined by ", ",
                                              with nothing in the place of a repeat that is unscored
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from beholder.records import ResultTable
from beholder.rows import rationale_of
from beholder.store import read_rows
from beholder.tables import defused, sheet_cell


def write_table(table: ResultTable, out_dir: Path) -> list[Path]:
    """Write `<name>.csv` (UTF-8 with byte order mark) and `<name>.xlsx` from an out-dir's rows."""
    from openpyxl import Workbook

    header = [column.name for column in table.columns]
    paths = [out_dir / f"{table.name}.csv", out_dir / f"{table.name}.xlsx"]
    workbook = Workbook(write_only=True)
    sheet = workbook.create_sheet(table.name[:31])
    sheet.append(header)
    with paths[0].open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for cells in _cells(table, out_dir):
            writer.writerow(["" if cell is None else defused(cell) for cell in cells])
            sheet.append([sheet_cell(cell) for cell in cells])
    workbook.save(paths[1])
    return paths


def _cells(table: ResultTable, out_dir: Path) -> Iterator[list[Any]]:
    for row in read_rows(out_dir):
        yield [cell_value(column.source, row) for column in table.columns]


def cell_value(source: str, row: Mapping[str, Any]) -> Any:
    """The value of a column for a row; None where there is none.

    Raises:
        ValueError: No such source.
    """
    kind, _, name = source.partition(":")
    match kind:
        case "task_id":
            task_id = row["task_id"]
            return (
                int(task_id)
                if task_id.isascii() and task_id.isdigit() and task_id == str(int(task_id))
                else task_id
            )
        case "model" | "outcome" | "reason" | "pass":
            return row[kind]
        case "main":
            return row["main_score"]
        case "rationale":
            return rationale_of(row)
        case "file_type":
            return file_type(row)
        case "column":
            return row["labels"].get(name)
        case "criterion":
            return row["scores"].get(name)
        case "derived":
            return row["derived"].get(name)
        case "repeats":
            return ", ".join(_repeat_value(repeat, name) for repeat in row["repeats"])
    raise ValueError(f"no table source {source!r}")


def file_type(row: Mapping[str, Any]) -> str | None:
    """The kind of file that was judged: `html_screenshot`, `png`, `jpg`, …; None if none was."""
    shown = [item for item in row["evidence"]["artifacts"] if item["status"] != "not_shown"]
    if not shown:
        return None
    suffix = Path(shown[0]["name"]).suffix.lower().lstrip(".")
    return {"html": "html_screenshot", "htm": "html_screenshot", "jpeg": "jpg"}.get(suffix, suffix)


def _repeat_value(repeat: Mapping[str, Any], name: str) -> str:
    value = repeat["derived"].get(name, repeat["scores"].get(name))
    return "" if value is None else str(value)
