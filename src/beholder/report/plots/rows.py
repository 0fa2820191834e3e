"""Plots with a named row for each criterion or group: means and their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from beholder.report import numbers, words
from beholder.report.figures import Scale
from beholder.report.load import Json, Run
from beholder.report.plots.canvas import (
    MARKERS,
    WIDTH_PX,
    Draw,
    Plot,
    clean,
    data_range,
    pass_line,
    short,
    width_of,
)
from beholder.report.svg import INK, MODELS, SURFACE, inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CHAR_PX = 6.6
_LABEL_CHARS = 22
"""Nearly half of the width goes to names at the most."""


def criteria(draw: Draw, runs: Sequence[Run], scale: Scale) -> list[Plot]:
    """Each criterion's mean as a share of its own scale, a line per model."""
    keys = [key for key, ends in scale.criteria.items() if ends is not None and ends[0] != ends[1]]
    if not keys:
        return []

    def share(key: str, value: float) -> float:
        low, high = scale.criteria[key] or (0, 1)
        return 100 * (value - low) / (high - low)

    lines = []
    for run in runs:
        own = run.summary.get("criteria") or {}
        line = []
        for key in keys:
            mean, ci95 = (own.get(key) or {}).get("mean"), (own.get(key) or {}).get("ci95")
            line.append(
                None
                if mean is None
                else (share(key, mean), *((share(key, end) for end in ci95) if ci95 else ()))
            )
        lines.append(line)
    if not any(one for line in lines for one in line):
        return []
    figure, axes = _rows_figure(draw, keys, len(runs), (0, 100))
    axes.set_xlabel("% of each criterion's scale")
    _intervals(axes, lines, connected=True)
    said = "; ".join(
        f"{run.name}: "
        + ", ".join(f"{key} {numbers.plain(one[0], 1)}%" for key, one in zip(keys, line, strict=True) if one)
        for run, line in zip(runs, lines, strict=True)
    )
    return [
        Plot(
            kind="criteria",
            title="Profile",
            note="Means over scored tasks with 95% intervals, each criterion stretched over its own scale.",
            svg=inline(figure, prefix="criteria", title=clean(f"Mean of each criterion. {said}")),
        )
    ]


def groups(draw: Draw, runs: Sequence[Run], label: str, scale: Scale, at: int) -> Plot:
    """A forest of one label's groups; `at` tells its names from other labels'."""
    members = [(run.summary.get("groups") or {}).get(label) or {} for run in runs]
    values = sorted({value for own in members for value in own}, key=words.natural_order)
    ends = scale.ends or data_range(
        [one["mean"] for own in members for one in own.values() if one.get("mean") is not None]
    )
    lines = [[_mean_and_ends(own.get(value) or {}) for value in values] for own in members]
    figure, axes = _rows_figure(draw, [value or numbers.DASH for value in values], len(runs), ends)
    axes.set_xlabel("score")
    pass_line(axes, scale)
    _intervals(axes, lines)
    said = "; ".join(
        f"{run.name}: "
        + ", ".join(
            f"{value} {numbers.plain(one[0], scale.digits)}"
            for value, one in zip(values, line, strict=True)
            if one
        )
        for run, line in zip(runs, lines, strict=True)
    )
    return Plot(
        kind="groups",
        title=label,
        note="",
        svg=inline(figure, prefix=f"group-{at}", title=clean(f"Mean score by {label}. {said}")),
    )


def _mean_and_ends(figures: Json) -> tuple[float, ...] | None:
    mean = figures.get("mean")
    return None if mean is None else (mean, *(figures.get("ci95") or ()))


def _rows_figure(
    draw: Draw, names: Sequence[str], lines: int, ends: tuple[float, float]
) -> tuple[Figure, Axes]:
    """A figure with a named row for each value, high enough for a line per model in it."""
    row_px = 20 + 11 * lines
    head_px, foot_px = 6, 44
    figure = draw(row_px * len(names) + head_px + foot_px)
    height = figure.bbox.height
    names = [short(name, _LABEL_CHARS) for name in names]
    longest = max(map(width_of, names))
    left = (16 + _CHAR_PX * longest) / WIDTH_PX
    axes = figure.add_axes((left, foot_px / height, 0.97 - left, row_px * len(names) / height))
    axes.set_xlim(*ends)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    return figure, axes


def _intervals(
    axes: Axes, lines: Sequence[Sequence[tuple[float, ...] | None]], *, connected: bool = False
) -> None:
    """A mark and its interval per row and model, models below one another in a row."""
    step = 0.55 / max(1, len(lines))
    for model, line in enumerate(lines):
        known = [(y + (model - (len(lines) - 1) / 2) * step, one) for y, one in enumerate(line) if one]
        colour = MODELS[model % len(MODELS)]
        if connected:
            axes.plot(
                [one[0] for _, one in known], [y for y, _ in known], color=colour, linewidth=1, alpha=0.35
            )
        for y, one in known:
            if len(one) == 3:
                axes.plot(one[1:], [y, y], color=colour, linewidth=2.2, alpha=0.55, solid_capstyle="round")
        axes.plot(
            [one[0] for _, one in known],
            [y for y, _ in known],
            linestyle="none",
            marker=MARKERS[model % len(MARKERS)],
            color=colour,
            markersize=7,
            markeredgecolor=SURFACE,
            markeredgewidth=0.8,
            clip_on=False,
        )
