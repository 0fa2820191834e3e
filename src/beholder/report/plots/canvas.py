"""An empty figure in the page's style, and what every plot needs on it."""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beholder.report.figures import Scale
from beholder.report.points import Point
from beholder.report.svg import INK, LINE, MODELS, MUTED, SURFACE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_PX = 352
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p")
MOST_DOTS = 400
"""More tasks than this are counted instead of drawn one by one."""

_NAME_CHARS = 30
_NOT_XML = dict.fromkeys([*range(32), 65534, 65535, *range(127, 160)], "�")
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "beholder",
    "text.parse_math": False,
    "figure.dpi": 72,
    "font.size": 11,
    "font.family": "DejaVu Sans",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 11,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "ytick.major.size": 0,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "patch.linewidth": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot in the page.

    Attributes:
        kind: `distribution, repeats, criteria, groups` or `pair`.
        title, note: Above and below it.
        svg: The `svg` element.
    """

    kind: str
    title: str
    note: str
    svg: str


Draw = Callable[[float], "Figure"]


@contextmanager
def drawing() -> Iterator[Draw]:
    """Gives a maker of empty figures of some height in pixels."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    def figure(height_px: float) -> Figure:
        made = Figure(figsize=(WIDTH_PX / 72, height_px / 72), dpi=72)
        made.patch.set_visible(False)
        return made

    with rc_context(_STYLE), warnings.catch_warnings():
        # Names may be in any script. The page's font draws them; matplotlib's only measures.
        warnings.filterwarnings("ignore", message=".*missing from font", category=UserWarning)
        yield figure


def bare(axes: Axes, low: float, high: float) -> None:
    """Axes over a scale, without ticks of their own on the left."""
    axes.patch.set_visible(False)
    axes.set_xlim(low, high)
    if axes.get_ylabel() == "" and axes.bbox.height < 100:
        axes.set_yticks([])


def scatter(axes: Axes, own: Sequence[Point], model: int, places: Sequence[tuple[float, float]]) -> None:
    """A dot per task, in a model's colour and shape, that leads to its item."""
    drawn = axes.scatter(
        [x for x, _ in places],
        [y for _, y in places],
        s=40,
        c=MODELS[model % len(MODELS)],
        marker=MARKERS[model % len(MARKERS)],
        edgecolors=SURFACE,
        linewidths=0.6,
        alpha=0.85,
        clip_on=False,
        zorder=3,
    )
    drawn.set_urls([f"#{point.item}" for point in own])


def bubbles(
    axes: Axes, places: Sequence[tuple[float, float]], across: tuple[float, float], up: tuple[float, float]
) -> None:
    """Places counted on a grid: the area of a dot is its number of tasks."""
    cells = 30
    counts: Counter[tuple[int, int]] = Counter()
    for x, y in places:
        column = min(cells - 1, int(cells * (x - across[0]) / (across[1] - across[0])))
        line = min(cells - 1, int(cells * (y - up[0]) / (up[1] - up[0])))
        counts[column, line] += 1
    most = max(counts.values())
    middle = [
        (across[0] + (x + 0.5) * (across[1] - across[0]) / cells, up[0] + (y + 0.5) * (up[1] - up[0]) / cells)
        for x, y in counts
    ]
    axes.scatter(
        [x for x, _ in middle],
        [y for _, y in middle],
        s=[6 + 90 * n / most for n in counts.values()],
        c=MODELS[0],
        linewidths=0,
        alpha=0.75,
    )


def pass_line(axes: Axes, scale: Scale) -> None:
    """The pass mark across a plot of scores."""
    if scale.pass_at is not None:
        axes.axvline(scale.pass_at, color=MUTED, linewidth=1, dashes=(4, 3), zorder=1)


def score_range(scale: Scale, points: Iterable[Mapping[str, Point]]) -> tuple[float, float]:
    """The scale's ends, else those of the scores."""
    if scale.ends and scale.ends[0] != scale.ends[1]:
        return float(scale.ends[0]), float(scale.ends[1])
    return data_range([p.score for own in points for p in own.values() if p.score is not None])


def data_range(values: Sequence[float]) -> tuple[float, float]:
    """The ends of some numbers, apart even if they are all alike."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def short(name: str, most: int = _NAME_CHARS) -> str:
    """A name as long as a plot has room for: `most` letters, of which a wide one takes two places."""
    text = clean(name)
    if width_of(text) <= most:
        return text
    kept, left = [], most - 1
    for letter in text:
        left -= width_of(letter)
        if left < 0:
            break
        kept.append(letter)
    return f"{''.join(kept)}…"


def width_of(text: str) -> int:
    """Places that a text takes: two for a letter of East Asian width, none for a mark above another."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def clean(text: str) -> str:
    """`text` without what XML cannot hold, on one line."""
    return text.encode("utf-8", "replace").decode().translate(_NOT_XML)
