"""Summaries -> the table at the end of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich import box
from rich.table import Table
from rich.text import Text

from beholder.report import numbers, words
from beholder.report.figures import Figures, Note, Scale, figures_of, rank_key
from beholder.report.load import Json

# A folder's name may hold escape sequences that would drive the reader's terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def results_table(summaries: Mapping[str, Json], *, plain: bool = False) -> Table:
    """One line per model, best mean first.

    Args:
        summaries: By the model's name.
        plain: For a pipe or a log: no colour, no lines.
    """
    passing = any(summary.get("pass_at") is not None for summary in summaries.values())
    table = Table(
        box=None if plain else box.SIMPLE_HEAD,
        header_style="" if plain else "bold",
        pad_edge=False,
        collapse_padding=True,
        title=words.SCRIPTED if any(summary.get("scripted") for summary in summaries.values()) else None,
        title_style="" if plain else "bold yellow",
        title_justify="left",
    )
    # In 80 columns the names and reasons give way; a number is never broken.
    table.add_column("Model", overflow="fold", min_width=12)
    table.add_column("Mean [95% interval]", justify="right", no_wrap=True)
    table.add_column("Coverage", justify="right", no_wrap=True)
    if passing:
        table.add_column("Passed", justify="right", no_wrap=True)
    table.add_column("Absent", overflow="fold", min_width=8)
    table.add_column("Unscored", overflow="fold", min_width=9)
    table.add_column("Cost", justify="right", no_wrap=True)
    for name, summary in sorted(summaries.items(), key=lambda pair: rank_key(*pair)):
        figures = figures_of(summary, _scale(summary))
        cells = [visible(name, 120), _mean(figures), figures.coverage]
        cells += [figures.pass_rate] * passing
        left_out = " (left out)" if figures.mean_of else ""
        cells += [_reasons(figures.absent) + left_out, _reasons(figures.unscored)]
        cells.append(numbers.money(summary.get("cost_usd")))
        # `Text`, not `str`: a name such as `[red]` is no markup.
        table.add_row(*map(Text, cells))
    return table


def visible(text: str, most: int | None = None) -> str:
    """`text`, cut where longer than `most`, with control characters and direction overrides written out."""
    return _CONTROL.sub(
        lambda match: f"\\x{ord(match[0]):02x}", words.shortened(text, most) if most else text
    )


def _scale(summary: Json) -> Scale:
    ends = summary.get("score_range")
    return Scale(ends=tuple(ends) if ends else None, pass_at=summary.get("pass_at"), criteria={})


def _mean(figures: Figures) -> str:
    interval = "" if figures.interval == numbers.DASH else f" {figures.interval}"
    return f"{figures.mean}{interval}"


def _reasons(pairs: tuple[tuple[Note, int], ...]) -> str:
    return ", ".join(f"{n} {note.code}" for note, n in pairs) or "0"
