"""`beholder evidence`: what a judge would be shown of any files."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beholder.cli.common import (
    EXIT_UNSCORED,
    PATH,
    display_style,
    evidence_options,
    evidence_settings,
    json_flag,
    option,
    print_json,
    reader_may_leave,
    say,
)

if TYPE_CHECKING:
    from beholder.run.evidence import EvidenceResult, FileResult

_TOLD = 20
"""Files whose cause is told below the table; evidence.json has all."""


@click.command(
    "evidence",
    epilog=(
        "Example: beholder evidence report.pdf site/index.html slides/ --out-dir seen"
        " --judge anthropic/claude-sonnet-4-6"
    ),
)
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE…")
@option("--out-dir", required=True, type=PATH, help="Where pictures and texts go: a folder a file.")
@option("--protocol", help="Whose policy and suffixes hold; left out: every kind, with general settings.")
@option("--judge", help="provider/name, whose limits the pictures have to fit; nobody is asked.")
@evidence_options("file")
@option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes that decode; each has two pages open, too. [default: processors, from 2 to 4]",
)
@json_flag
def evidence_command(**flags: Any) -> None:
    """Pages, documents, pictures, videos and texts as a judge would see them. Asks nobody.

    A folder stands for the files in it. Each file is shown by itself: of a folder that is named, a page may
    load everything; of the folder around a page that is named alone, only what lies in further folders.

    \b
    Each file has a folder in the out-dir, with its pictures, its text and
    prepared_output_evidence.json; evidence.json lists them all.

    Exit codes: 0 every file was dealt with: what is broken, empty or of no kind that is looked at is told,
    and is no failure of the command · 2 a file or flag is wrong · 3 something could not be shown through no
    fault of its own (a missing program, an outside host nobody decided on).
    """  # noqa: D301 - click wants a real backspace to keep the lines apart
    from beholder.run.evidence import EvidenceSpec, prepare_files

    spec = EvidenceSpec(
        paths=flags["files"],
        out_dir=flags["out_dir"],
        protocol=flags["protocol"],
        judge=flags["judge"],
        workers=flags["workers"],
        **evidence_settings(flags),
    )
    with _progress() as (began, done):
        result = prepare_files(spec, began=began, done=done)
    if result.cache_problem:
        say(f"Not everything could be kept in --cache-dir {result.cache_problem}")
    if flags["as_json"]:
        print_json(result.as_json())
    else:
        _show(result)
    sys.exit(EXIT_UNSCORED if result.counts.get("unscored") else 0)


@contextlib.contextmanager
def _progress() -> Iterator[tuple[Callable[[int], object], Callable[[FileResult], object]]]:
    """(told of the number of files, told of each file): a bar on a terminal, a line a file elsewhere."""
    if display_style() == "rich":
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("")

            def begin(total: int) -> None:
                bar.update(task, total=total)

            def advance(one: FileResult) -> None:
                from rich.markup import escape

                from beholder.report.terminal import visible

                bar.update(task, advance=1, description=escape(visible(one.file)))

            yield begin, advance
        return
    counted = {"total": 0, "done": 0}

    def note(total: int) -> None:
        counted["total"] = total

    def line(one: FileResult) -> None:
        counted["done"] += 1
        say(f"{counted['done']}/{counted['total']} {one.file}: {_summary(one)}")

    yield note, line


def _summary(one: FileResult) -> str:
    """One file in a few words."""
    if one.status == "shown":
        words = [_count(len(one.evidence.pictures), "picture")]
        words += [_count(len(one.evidence.texts), "text")] if one.evidence.texts else []
        words += [_count(len(one.evidence.videos), "video")] if one.evidence.videos else []
        return ", ".join(words if one.evidence.pictures else words[1:]) or "nothing"
    told = one.as_json()
    return f"{told['status']}, {told['reason']}: {told['detail']}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _show(result: EvidenceResult) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from beholder.report.terminal import visible

    console = Console(width=None if sys.stdout.isatty() else 160)
    plain = not console.is_terminal
    table = Table(
        box=None if plain else box.SIMPLE_HEAD, header_style="" if plain else "bold", pad_edge=False
    )
    table.add_column("File", overflow="fold", min_width=16)
    table.add_column("Kind", no_wrap=True)
    table.add_column("Status", overflow="fold", min_width=10)
    table.add_column("Shown", overflow="fold", min_width=10)
    table.add_column("Warnings", overflow="fold", min_width=12)
    for one in result.files:
        told = one.as_json()
        status = told["status"] + (f" ({told['reason']})" if told["reason"] else "")
        shown = _summary(one) if one.status == "shown" else ""
        codes = Counter(warning.code for warning in one.evidence.warnings)
        warnings = ", ".join(f"{code} x{n}" if n > 1 else code for code, n in sorted(codes.items()))
        # `Text`, not `str`: a name such as `[red]` is no markup.
        table.add_row(*map(Text, (visible(one.file), told["kind"] or "", status, shown, warnings)))
    # Captured, because rich ends the process with a code of its own when the reader has gone.
    with console.capture() as drawn:
        console.print(table)
    with reader_may_leave():
        click.echo(drawn.get(), nl=False)
        for one in [one for one in result.files if one.status in {"absent", "unscored"}][:_TOLD]:
            click.echo(visible(f"{one.file}: {_summary(one)}"))
        counts = ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in sorted(result.counts.items()))
        click.echo(f"{_count(len(result.files), 'file')}: {counts}. Written to {_path(result.out_dir)}")


def _path(path: Path) -> str:
    from beholder.report.terminal import visible

    return visible(str(path))
