"""Plots whose dots are tasks: scores, spread over the repeats, one model against another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from beholder.report import numbers
from beholder.report.figures import Scale
from beholder.report.load import Run
from beholder.report.plots.canvas import (
    MOST_DOTS,
    WIDTH_PX,
    Draw,
    Plot,
    bare,
    bubbles,
    clean,
    pass_line,
    scatter,
    score_range,
    short,
)
from beholder.report.points import Pair, Point, pairs_of
from beholder.report.svg import FAILED, FLIP, INK, MODELS, MUTED, PASSED, SURFACE, inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PILES = 44
"""Bins of the dots' plot: as wide as a dot."""

MOST_PILED = 14
"""Dots in one pile; more would be a tower, and bars are drawn."""


def distribution(
    draw: Draw,
    runs: Sequence[Run],
    points: Sequence[Mapping[str, Point]],
    scale: Scale,
) -> Plot:
    """Every task's score, a row per model: dots piled up where every one can be seen, else bars."""
    low, high = score_range(scale, points)
    known = [[point for point in own.values() if point.score is not None] for own in points]
    piles = [_piles(own, low, high) for own in known]
    tallest = max((len(pile) for own in piles for pile in own.values()), default=1)
    dots = tallest <= MOST_PILED
    body_px = 7.6 * max(tallest, 4) if dots else 50
    row_px, foot_px = body_px + 26, 24
    figure = draw(row_px * len(runs) + foot_px)
    height = figure.bbox.height
    for number, run in enumerate(runs):
        axes = figure.add_axes((0.03, 1 - row_px * (number + 1) / height, 0.94, body_px / height))
        bare(axes, low, high)
        if dots:
            _dots(axes, piles[number], max(tallest, 4))
        else:
            _bars(axes, known[number], low, high)
        pass_line(axes, scale)
        mean = run.summary.get("mean")
        if mean is not None:
            axes.plot([mean], [0], marker="^", color=INK, markersize=7, clip_on=False, zorder=5)
        above: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom"}
        axes.text(0, 1 + 3 / body_px, short(run.name), fontweight="bold", **above)
        said = (
            "no mean" if mean is None else f"mean {numbers.fixed(mean, scale.digits, marks=scale.ends or ())}"
        )
        axes.text(1, 1 + 3 / body_px, said, color=MUTED, ha="right", **above)
        axes.tick_params(labelbottom=number == len(runs) - 1)
    mark = ", the dashed line is the pass mark" if scale.pass_at is not None else ""
    absent = any(point.state == "absent" for own in known for point in own)
    left = (" Hollow: absent, at what that is worth." if dots else " Grey: absent.") if absent else ""
    shown = "Each dot is a task" if dots else "How many tasks have which score"
    return Plot(
        kind="distribution",
        title="Scores of the tasks",
        note=f"{shown}; the triangle is the mean{mark}.{left}",
        svg=inline(figure, prefix="distribution", title=_said_distribution(runs, points)),
    )


def _piles(known: Sequence[Point], low: float, high: float) -> dict[float, list[Point]]:
    """Tasks by the middle of the bin that their score falls into, in the score's order."""
    piles: dict[float, list[Point]] = {}
    for point in sorted(known, key=lambda one: (one.score or 0, one.item)):
        place = _bin(point, low, high, PILES)
        piles.setdefault(low + (place + 0.5) * (high - low) / PILES, []).append(point)
    return piles


def _bin(point: Point, low: float, high: float, bins: int) -> int:
    """Which bin a score falls into; one beyond the scale's ends counts to the last."""
    return min(bins - 1, max(0, int(bins * ((point.score or 0) - low) / (high - low))))


def _dots(axes: Axes, piles: Mapping[float, Sequence[Point]], rows: int) -> None:
    placed: dict[str, list[tuple[float, float, int]]] = {}
    for centre, pile in piles.items():
        for place, point in enumerate(pile):
            placed.setdefault(point.state, []).append((centre, place + 0.55, point.item))
    for state, dots in placed.items():
        hollow = state == "absent"
        drawn = axes.scatter(
            [x for x, _, _ in dots],
            [y for _, y, _ in dots],
            s=38,
            c="none" if hollow else _state_colour(state),
            edgecolors=MUTED if hollow else SURFACE,
            linewidths=1.2 if hollow else 0.6,
            clip_on=False,
            zorder=3,
        )
        drawn.set_urls([f"#{item}" for _, _, item in dots])
    axes.set_ylim(0, rows)


def _bars(axes: Axes, known: Sequence[Point], low: float, high: float) -> None:
    bins = 25
    width = (high - low) / bins
    counts: dict[str, Counter[int]] = {}
    for point in known:
        place = _bin(point, low, high, bins)
        counts.setdefault(point.state, Counter())[place] += 1
    base: Counter[int] = Counter()
    for state in ("absent", "failed", "passed", "scored"):
        own = counts.get(state, Counter())
        places = sorted(own)
        axes.bar(
            [low + (place + 0.5) * width for place in places],
            [own[place] for place in places],
            width=width * 0.86,
            bottom=[base[place] for place in places],
            color=MUTED if state == "absent" else _state_colour(state),
            alpha=0.45 if state == "absent" else 0.85,
        )
        base += own
    axes.set_ylim(0, max(base.values(), default=1) * 1.05)


def _state_colour(state: str) -> str:
    return {"passed": PASSED, "failed": FAILED}.get(state, MODELS[0])


def _said_distribution(runs: Sequence[Run], points: Sequence[Mapping[str, Point]]) -> str:
    parts = []
    for run, own in zip(runs, points, strict=True):
        scores = sorted(point.score for point in own.values() if point.score is not None)
        if scores:
            middle = scores[len(scores) // 2]
            parts.append(
                f"{run.name}: {numbers.plural(len(scores), 'task')} from {numbers.plain(scores[0], 2)} to "
                f"{numbers.plain(scores[-1], 2)}, middle {numbers.plain(middle, 2)}"
            )
    return clean("Distribution of scores. " + "; ".join(parts))


def repeats(draw: Draw, points: Sequence[Mapping[str, Point]], scale: Scale) -> list[Plot]:
    """How far the repeats of a task lie apart, by its score; none without repeats."""
    known = [
        (model, point)
        for model, own in enumerate(points)
        for point in own.values()
        if point.spread is not None and point.score is not None
    ]
    if not known:
        return []
    low, high = score_range(scale, points)
    widest = max(point.spread or 0 for _, point in known)
    flips = sum(point.flips for _, point in known)
    figure = draw(250)
    axes = figure.add_axes((0.11, 0.19, 0.86, 0.77))
    bare(axes, low, high)
    axes.grid(axis="y")
    axes.set_ylim(-0.04 * (widest or 1), 1.1 * widest if widest else 1)
    axes.set_xlabel("score")
    axes.set_ylabel("largest less smallest repeat")
    pass_line(axes, scale)
    single = len(known) <= MOST_DOTS
    if single:
        for model in sorted({model for model, _ in known}):
            own = [point for at, point in known if at == model]
            scatter(axes, own, model, [(point.score or 0, point.spread or 0) for point in own])
        rings = [point for _, point in known if point.flips]
        axes.scatter(
            [point.score or 0 for point in rings],
            [point.spread or 0 for point in rings],
            s=110,
            c="none",
            edgecolors=FLIP,
            linewidths=1.4,
            clip_on=False,
        )
    else:
        bubbles(
            axes, [(point.score or 0, point.spread or 0) for _, point in known], (low, high), (0, widest or 1)
        )
    ringed = " (ringed)" if single and flips else ""
    flipping = (
        f" In {numbers.plural(flips, 'task')}{ringed} some repeats pass and others fail." if flips else ""
    )
    title = f"Spread over the repeats: largest {numbers.plain(widest, 2)}.{flipping}"
    return [
        Plot(
            kind="repeats",
            title="Do the repeats agree?",
            note=f"Each dot is a task; on the floor they agree.{flipping}"
            if single
            else f"Larger dots are more tasks; on the floor their repeats agree.{flipping}",
            svg=inline(figure, prefix="repeats", title=title),
        )
    ]


def pairs(
    draw: Draw, names: Sequence[str], points: Sequence[Mapping[str, Point]], scale: Scale
) -> list[Plot]:
    """The best model against each other one, up to four."""
    plots = []
    for other in range(1, min(len(names), 5)):
        common = list(pairs_of(points[0], points[other]))
        if common:
            plots.append(_pair(draw, names, points, other, common, scale))
    return plots


def _pair(
    draw: Draw,
    names: Sequence[str],
    points: Sequence[Mapping[str, Point]],
    other: int,
    pairs: Sequence[Pair],
    scale: Scale,
) -> Plot:
    low, high = score_range(scale, points)
    figure = draw(WIDTH_PX * 0.92)
    axes = figure.add_axes((0.14, 0.15, 0.83, 0.83))
    bare(axes, low, high)
    pad = 0.03 * (high - low)
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(low - pad, high + pad)
    axes.grid()
    axes.plot([low, high], [low, high], color=MUTED, linewidth=1, alpha=0.7)
    if scale.pass_at is not None:
        for line in (axes.axvline, axes.axhline):
            line(scale.pass_at, color=MUTED, linewidth=1, dashes=(4, 3))
    axes.set_xlabel(short(names[0]))
    axes.set_ylabel(short(names[other]))
    places = [(pair.first.score or 0, pair.second.score or 0) for pair in pairs]
    flips = [pair for pair in pairs if scale.pass_at is not None and pair.flips]
    if len(pairs) <= MOST_DOTS:
        for chosen, colour in ((False, MODELS[0]), (True, FLIP)):
            own = [pair for pair in pairs if (scale.pass_at is not None and pair.flips) is chosen]
            drawn = axes.scatter(
                [pair.first.score or 0 for pair in own],
                [pair.second.score or 0 for pair in own],
                s=46,
                c=colour,
                marker="D" if chosen else "o",
                edgecolors=SURFACE,
                linewidths=0.7,
                alpha=0.85,
                clip_on=False,
                zorder=3,
            )
            drawn.set_urls([f"#{pair.first.item}:{other}" for pair in own])
    else:
        bubbles(axes, places, (low, high), (low, high))
    above = sum(first > second for first, second in places)
    below = sum(first < second for first, second in places)
    of = numbers.plural(len(places), "common task")
    said = f"{names[0]} is better in {above:,} and worse in {below:,} of {of}"
    flipping = f"; in {len(flips):,} only one of them passes" if flips else ""
    shape = " (diamonds)" if flips and len(pairs) <= MOST_DOTS else ""
    return Plot(
        kind="pair",
        title=f"{names[0]} against {names[other]}",
        note=f"{said}{flipping}{shape}.",
        svg=inline(figure, prefix=f"pair-{other}", title=clean(f"{said}{flipping}.")),
    )
