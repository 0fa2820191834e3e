"""`rescore`: stored replies under another formula."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import click

from beholder.cli.common import EXIT_UNSCORED, PATH, DecimalType, json_flag, option, print_json, say


@click.command("rescore", epilog="Example: beholder rescore --out-dir out --to out-strict --pass-at 75")
@option("--out-dir", required=True, type=PATH, help="A finished run; it stays as it is.")
@click.option("--to", required=True, type=PATH, help="New folder for the result.")
@option("--protocol", help="With the new formula; left out: the run's own.")
@option("--prompt-file", type=PATH, help="With --protocol: the wording that was asked, if it was your own.")
@click.option("--pass-at", type=DecimalType(), help="Another pass mark.")
@json_flag
def rescore_command(
    out_dir: Path,
    to: Path,
    protocol: str | None,
    prompt_file: Path | None,
    pass_at: Decimal | None,
    *,
    as_json: bool,
) -> None:
    """Score a run's stored replies by another formula; no call, no rendering, no network.

    The formula is [score], weights, reduce, min_scored and [absent]. If the question differs (criteria,
    wording, reply form), it is refused. Exit codes: 0 done, 3 done with something unscored, 2 refused.
    """
    from rich.console import Console

    from beholder.report.terminal import results_table
    from beholder.run.rescore import rescore

    result = rescore(out_dir, to, protocol=protocol, prompt_file=prompt_file, pass_at=pass_at)
    say(f"{result.reused} stored replies read again; no call made.")
    _say_useless_mark(pass_at, next(iter(result.models.values())).get("score_range"))
    if as_json:
        print_json(result.summary)
    else:
        console = Console(width=None if sys.stdout.isatty() else 160)
        console.print(results_table(result.models, plain=not console.is_terminal))
        console.print(f"Report: {result.report}", highlight=False, soft_wrap=True)
    sys.exit(EXIT_UNSCORED if result.unscored else 0)


def _say_useless_mark(mark: Decimal | None, score_range: Sequence[float] | None) -> None:
    """A mark of another scale is allowed, and hardly meant."""
    if mark is None or score_range is None or score_range[0] < mark <= score_range[1]:
        return
    low, high = score_range
    result = "every task that is scored passes" if mark <= low else "no task can pass"
    say(f"note: --pass-at {mark}, and the score runs from {low:g} to {high:g}: {result}")
