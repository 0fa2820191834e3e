"""Rows of an out-dir -> one flat table: CSV, XLSX, Parquet, JSON, JSON lines.

Per row there is a line for each task, with a column for each field of the row, nested ones with a dot, as in
`scores.exists`, `derived.total_raw`, `labels.level`. Tidy there is a line for each task, repeat and
criterion, all of them: a repeat that was asked for and has no score has its lines, with nothing as value.

A value that is not there is an empty cell or null, never 0. A joint out-dir is the lines of all its models.

    table     what a table is
    rows      rows of an out-dir -> a table
    formats   a table -> CSV, XLSX, Parquet, JSON, JSON lines
    target    where it is written
"""

from __future__ import annotations

from beholder.export.formats import write_csv, write_export, write_json_list
from beholder.export.rows import model_folders, read_table
from beholder.export.table import Column, Table
from beholder.export.target import write_whole

__all__ = [
    "Column",
    "Table",
    "model_folders",
    "read_table",
    "write_csv",
    "write_export",
    "write_json_list",
    "write_whole",
]
