"""The report's plots: what a table of means hides.

    distribution   every task's score, per model
    repeats        how far the repeats of a task lie apart, by its score
    criteria       each criterion's mean on its own scale, per model
    forest         a label's groups, mean and interval
    pair           one model against another, task by task

Drawn by matplotlib, which is imported when there is something to draw. A plot is as wide as a phone, so that
its text never shrinks; a wide window shows several side by side. Up to some hundred tasks each is a dot that
leads to its item; more are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from beholder.report.plots.canvas import MARKERS, Plot, drawing
from beholder.report.plots.rows import criteria, groups
from beholder.report.plots.tasks import distribution, pairs, repeats
from beholder.report.points import MOST_MODELS, points_of

if TYPE_CHECKING:
    from beholder.report.view import ReportView

__all__ = ["MARKERS", "Plot", "build_plots"]


def build_plots(view: ReportView) -> tuple[Plot, ...]:
    """Every plot that the rows have enough numbers for."""
    points = points_of(view.items)[:MOST_MODELS]
    names = [model.name for model in view.models[:MOST_MODELS]]
    scale, runs = view.scale, view.runs[:MOST_MODELS]
    if not any(point.score is not None for own in points for point in own.values()):
        return ()
    with drawing() as draw:
        plots = [distribution(draw, runs, points, scale)]
        plots += repeats(draw, points, scale)
        plots += criteria(draw, runs, scale)
        plots += [groups(draw, runs, table.label, scale, at) for at, table in enumerate(view.groups)]
        plots += pairs(draw, names, points, scale)
    return tuple(plots)
