"""`export`: results as a table."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from beholder.cli.common import PATH, json_flag, print_json, say


@click.command("export", epilog="Example: beholder export out -o results.xlsx")
@click.argument("out_dir", type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    metavar="FILE",
    help="A .csv, .xlsx, .parquet, .json or .jsonl file, or .xml for JUnit; - writes CSV to stdout (with "
    "--json a JSON list).",
)
@click.option("--tidy", is_flag=True, help="One line per task, repeat and criterion; else one per task.")
@json_flag
def export_command(out_dir: Path, output: Path, *, tidy: bool, as_json: bool) -> None:
    """Results as one flat table for a spreadsheet or a program, or as JUnit XML for CI."""
    from beholder.export import read_table, write_csv, write_export, write_json_list

    if output.suffix.lower() == ".xml":
        _write_junit(out_dir, output, tidy=tidy, as_json=as_json)
        return
    table = read_table(out_dir, tidy=tidy)
    if str(output) == "-":
        # No byte order mark: what reads a pipe is a program, which would take it for a letter.
        if as_json:
            write_json_list(table, sys.stdout.buffer)
        else:
            write_csv(table, sys.stdout.buffer, byte_order_mark=False)
        sys.stdout.buffer.flush()
        return
    write_export(table, output)
    columns = [column.name for column in table.columns]
    if as_json:
        print_json({"written": str(output), "lines": table.length, "columns": columns})
    else:
        say(f"{output}: {table.length} lines, {len(columns)} columns")


def _write_junit(out_dir: Path, output: Path, *, tidy: bool, as_json: bool) -> None:
    from beholder.errors import ConfigError
    from beholder.junit import write_junit

    if tidy:
        raise ConfigError("--tidy: JUnit XML has one case per task; leave it out", concerns="--tidy")
    cases = write_junit(out_dir, output)
    if as_json:
        print_json({"written": str(output), "cases": cases})
    else:
        say(f"{output}: {cases} test cases")
