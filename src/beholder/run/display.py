"""Progress on the screen: a bar on a terminal, a plain line now and then anywhere else, or nothing."""

from __future__ import annotations

import asyncio
import sys
from typing import Literal, TextIO

from beholder.run.progress import Progress, duration

Style = Literal["rich", "plain", "none"]
LINE_EVERY_S = 15.0


async def show_progress(progress: Progress, style: Style, stream: TextIO | None = None) -> None:
    """Show progress until cancelled. A reader that went away does not end the run."""
    stream = sys.stderr if stream is None else stream
    if style == "rich":
        await _show_bar(progress)
    elif style == "plain":
        await _show_lines(progress, stream)


async def _show_bar(progress: Progress) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task("", total=progress.planned)
        while True:
            left = progress.seconds_left
            words = [
                f"{progress.outcomes['unscored']} unscored",
                f"{progress.rate:.1f}/s",
                progress.waiting,
                "" if left is None else f"{duration(left)} left",
                progress.cost,
            ]
            description = " · ".join(word for word in words if word)
            bar.update(shown, completed=progress.done, description=description)
            await asyncio.sleep(0.2)


async def _show_lines(progress: Progress, stream: TextIO) -> None:
    while True:
        await asyncio.sleep(LINE_EVERY_S)
        try:
            print(progress.line(), file=stream, flush=True)
        except BrokenPipeError:
            return
