"""`validate-run`: what is wrong with tasks and submissions, before anything is paid for."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from beholder.cli.common import EXIT_USER, PATH, json_flag, option, pairs, print_json
from beholder.errors import ConfigError


@click.command(
    "validate-run",
    epilog="Example: beholder validate-run --tasks tasks.jsonl --run-dir runs/a --protocol gis-bench",
)
@option("--tasks", required=True, type=PATH, help="Task file: .jsonl, .json, .csv, .xlsx.")
@option(
    "--run-dir",
    "run_dirs",
    required=True,
    multiple=True,
    metavar="[NAME=]PATH",
    help="One model's submissions; several times for several models.",
)
@option(
    "--protocol",
    help="Built-in id or protocol file: which columns and files are needed; left out: enterprise-claw, where "
    "the tasks have a semantic_rubric.",
)
@option("--prompt-file", type=PATH, help="Your own wording, which tells the columns it needs.")
@option("--columns", metavar="OURS=THEIRS,…", help="Names of your columns, where they differ.")
@json_flag
def validate_run_command(
    tasks: Path,
    run_dirs: tuple[str, ...],
    protocol: str | None,
    prompt_file: Path | None,
    columns: str | None,
    *,
    as_json: bool,
) -> None:
    """Every problem of tasks and submissions at once, by task. Calls nobody; starts no browser.

    Pictures, videos and documents are decoded; criteria and rules that tasks bring of their own are checked.

    Exit codes: 0 nothing is wrong, 2 something is. Outside hosts that pages name are listed with the flag
    that would allow them; they and other notes leave the exit code at 0.
    """
    from beholder.protocols import load_protocol
    from beholder.run.plan import told_protocol
    from beholder.run.spec import parse_run_dirs
    from beholder.validation import validate_run

    mapping = pairs((columns or "").split(","), "--columns")
    ref = protocol or told_protocol(tasks, mapping)
    if prompt_file is not None and ref is None:
        raise ConfigError("--prompt-file: name the protocol too, with --protocol", concerns="--prompt-file")
    loaded = load_protocol(ref, prompt_file=prompt_file) if ref else None
    models = {
        model: (path, validate_run(tasks, path, protocol=loaded, columns=mapping, model=model))
        for model, path in parse_run_dirs(run_dirs).items()
    }
    ok = not any(found.problems for _, found in models.values())
    if as_json:
        told = [
            {"tasks_file": str(tasks), "run_dir": str(path), "model": model, **found.as_json()}
            for model, (path, found) in models.items()
        ]
        print_json(told[0] if len(told) == 1 else {"ok": ok, "models": {one["model"]: one for one in told}})
    else:
        for model, (_, found) in models.items():
            if len(models) > 1:
                _line(f"== {model} ==")
            _show(found)
    sys.exit(0 if ok else EXIT_USER)


def _line(text: str) -> None:
    from beholder.report.terminal import visible

    # Names of files may hold escape sequences that would drive the reader's terminal.
    click.echo(visible(text))


def _show(found: Any) -> None:
    for task_id, problems in groupby(found.problems, key=lambda problem: problem.task_id):
        _line(f"task {task_id}" if task_id is not None else "files")
        for problem in problems:
            place = f"{problem.path}: " if problem.path else ""
            _line(f"  {problem.kind:12} {place}{problem.detail}")
    for note in found.notes:
        _line(f"note: task {note.task_id}, {note.path}: {note.detail}")
    if found.hosts:
        _line("Pages name outside hosts. A run decides about them with --network block, allow or names:")
        for use in found.hosts:
            shown = ", ".join(use.tasks[:5]) + (f", … {len(use.tasks)} in all" if len(use.tasks) > 5 else "")
            _line(f"  {use.host}: {use.way} ({shown})")
        _line(f"To allow just these: {found.network_flag}")
    counts = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
    _line(f"{found.tasks} tasks, {found.submissions} with a submission. {counts or 'Nothing is wrong.'}")
