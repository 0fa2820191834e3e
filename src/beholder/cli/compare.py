"""`compare`: runs side by side, and the judge against people."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beholder.cli.common import PATH, json_flag, option, print_json, reader_may_leave
from beholder.errors import ConfigError

if TYPE_CHECKING:
    from beholder.compare import RunRows


@click.command("compare", epilog="Example: beholder compare out/model-a out/model-b")
@click.argument("out_dirs", nargs=-1, required=True, type=PATH)
@option("--cluster", metavar="COLUMN", help="Tasks with the same value of this column vary together.")
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare runs with another question, formula, judge or task text all the same.",
)
@option(
    "--human", type=PATH, metavar="FILE", help="People's ratings, .csv or .xlsx: the judge against people."
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="FILE",
    help="Write it to a .json file, or as a page to a .html file.",
)
@json_flag
def compare_command(
    out_dirs: tuple[Path, ...],
    cluster: str | None,
    human: Path | None,
    output: Path | None,
    *,
    allow_different: bool,
    as_json: bool,
) -> None:
    """Runs on the tasks that they have in common: differences, flips, tests.

    Of three or more, every pair. With --human one run is enough: ratings in columns task_id, rater (if there
    are several people) and any of the criteria, main and pass.
    """
    from beholder.compare import compare_runs, load_runs

    if output is not None:
        _check_output(output)
    runs = load_runs(out_dirs)
    document: dict[str, Any] = {}
    if human is None or len(runs) > 1:
        document.update(compare_runs(runs, cluster=cluster, allow_different=allow_different).document)
    elif cluster is not None:
        raise ConfigError("--cluster: needs two runs; a report of one run takes it too", concerns="--cluster")
    if human is not None:
        document["human"] = agreements_with(human, runs)
    if output is not None:
        _write(output, document, runs)
    if as_json:
        print_json(document)
    else:
        _print(document)


def agreements_with(human: Path, runs: Mapping[str, RunRows]) -> dict[str, Any]:
    """The judge against the ratings of a file, by run."""
    from beholder.human import check_rated, human_agreement, read_ratings, scales_of

    found = {
        name: human_agreement(
            read_ratings(human, scales_of(run.summary), has_pass=run.summary.get("pass_at") is not None),
            run.rows,
            run.summary,
        )
        for name, run in runs.items()
    }
    check_rated(found, next(iter(runs.values())).rows)
    return found


def _check_output(output: Path) -> None:
    if output.suffix.lower() not in (".json", ".html"):
        raise ConfigError(f"-o {output}: the format follows the suffix, .json or .html", concerns="-o")
    if not output.parent.is_dir():
        raise ConfigError(f"-o {output}: there is no folder {output.parent}; make it first", concerns="-o")
    if output.is_dir():
        raise ConfigError(f"-o {output}: is a folder; name a file", concerns="-o")


def _write(output: Path, document: Mapping[str, Any], runs: Mapping[str, RunRows]) -> None:
    from beholder.report.comparison import write_comparison
    from beholder.store.outdir import write_json

    if output.suffix.lower() == ".json":
        write_json(output, document)
    else:
        write_comparison(document, runs, output, human=document.get("human"))


def _print(document: Mapping[str, Any]) -> None:
    from rich.console import Console

    from beholder.compare.terminal import comparison_tables, human_notes, human_tables

    console = Console(width=None if sys.stdout.isatty() else 160)
    plain = not console.is_terminal
    # Captured, because rich ends the process with a code of its own when the reader has gone.
    with console.capture() as text:
        if "pairs" in document:
            for part in comparison_tables(document, plain=plain, width=console.width):
                console.print(part)
        if "human" in document:
            for part in human_tables(document["human"], plain=plain, width=console.width):
                console.print(part)
            for note in human_notes(document["human"]):
                console.print(note, markup=False, highlight=False)
    with reader_may_leave():
        click.echo(text.get(), nl=False)
