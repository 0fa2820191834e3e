"""`validate-run`: what is wrong with tasks and submissions, before anything is paid for."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from beholder.cli.common import EXIT_USER, PATH, json_flag, option, pairs, print_json


@click.command(
    "validate-run",
    epilog="Example: beholder validate-run --tasks tasks.jsonl --run-dir runs/a --protocol gis-bench",
)
@option("--tasks", required=True, type=PATH, help="Task file: .jsonl, .json, .csv, .xlsx.")
@option("--run-dir", required=True, metavar="[NAME=]PATH", help="One model's submissions.")
@option("--protocol", help="Built-in id or protocol file: which columns and files are needed.")
@option("--prompt-file", type=PATH, help="Your own wording, which tells the columns it needs.")
@option("--columns", metavar="OURS=THEIRS,…", help="Names of your columns, where they differ.")
@json_flag
def validate_run_command(
    tasks: Path,
    run_dir: str,
    protocol: str | None,
    prompt_file: Path | None,
    columns: str | None,
    *,
    as_json: bool,
) -> None:
    """Every problem of tasks and submissions at once, by task. Calls nobody and draws nothing.

    Exit codes: 0 nothing is wrong, 2 something is. Outside hosts that pages name are listed with the flag
    that would allow them; they and other notes leave the exit code at 0.
    """
    from beholder.protocols import load_protocol
    from beholder.run import parse_run_dirs
    from beholder.validation import validate_run

    loaded = load_protocol(protocol, prompt_file=prompt_file) if protocol else None
    ((model, path),) = parse_run_dirs((run_dir,)).items()
    mapping = pairs((columns or "").split(","), "--columns")
    found = validate_run(tasks, path, protocol=loaded, columns=mapping, model=model)
    if as_json:
        print_json({"tasks_file": str(tasks), "run_dir": str(path), "model": model, **found.as_json()})
    else:
        _show(found)
    sys.exit(EXIT_USER if found.problems else 0)


def _show(found: Any) -> None:
    from beholder.report.terminal import visible

    def line(text: str) -> None:
        # Names of files may hold escape sequences that would drive the reader's terminal.
        click.echo(visible(text))

    for task_id, problems in groupby(found.problems, key=lambda problem: problem.task_id):
        line(f"task {task_id}" if task_id is not None else "files")
        for problem in problems:
            place = f"{problem.path}: " if problem.path else ""
            line(f"  {problem.kind:12} {place}{problem.detail}")
    for note in found.notes:
        line(f"note: task {note.task_id}, {note.path}: {note.detail}")
    if found.hosts:
        line("Pages name outside hosts. A run decides about them with --network block, allow or names:")
        for use in found.hosts:
            shown = ", ".join(use.tasks[:5]) + (f", … {len(use.tasks)} in all" if len(use.tasks) > 5 else "")
            line(f"  {use.host}: {use.way} ({shown})")
        line(f"To allow just these: {found.network_flag}")
    counts = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
    line(f"{found.tasks} tasks, {found.submissions} with a submission. {counts or 'Nothing is wrong.'}")
