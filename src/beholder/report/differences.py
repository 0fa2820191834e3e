"""Runs in pairs -> the table of differences: how far apart, how sure, where only one of them passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from beholder.compare import RunRows, compare_runs
from beholder.report import numbers
from beholder.report.figures import Bar, Scale, bar
from beholder.report.load import Json, Run
from beholder.report.notices import WarningView

_NEEDED = {
    *("task_id", "outcome", "reason", "main_score", "main_score_error", "pass", "scores", "labels", "judge"),
    *("question_sha256", "formula_sha256", "evidence_sha256"),
}

_NOT_ALIKE = "The models were not measured alike."
_OTHERWISE = "The models differ in how they ran."
_NOTHING = "There is nothing to compare."

MOST_COMPARED = 6
"""Models that are compared pair by pair, in the ranking's order: fifteen pairs are as many as one reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
    """A paired difference, the second less the first.

    Attributes:
        tasks: That both have a number for.
        interval, why_none: The 95 % interval, or why there is none.
        bar: The difference and its interval on a scale with zero in the middle.
        better, worse, equal: Tasks where the second's score is higher, lower, equal.
        detectable: The smallest difference that so many tasks could show, or why that is not known.
    """

    tasks: int
    difference: str
    interval: str
    why_none: str
    bar: Bar
    p_value: str
    better: int
    worse: int
    equal: int
    detectable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassesView:
    """Passes of the tasks that both have a verdict on: counts, rates, and how many flipped each way."""

    tasks: int
    both: int
    only_first: int
    only_second: int
    neither: int
    rates: tuple[str, str]
    difference: str
    interval: str
    p_value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """Two models on their common tasks; `first` and `second` are their positions in the ranking."""

    first: int
    second: int
    names: tuple[str, str]
    difference: DiffView
    passes: PassesView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencesView:
    """Every pair, with what a reader must know of how they came about.

    Attributes:
        compared: A sentence on whose pairs these are, where it is not all models; else empty.
    """

    pairs: tuple[PairView, ...]
    compared: str
    method: str
    warnings: tuple[WarningView, ...]


def differences_of(runs: Sequence[Run], scale: Scale) -> DifferencesView | None:
    """The differences of ranked runs; None for one run, or where nothing can be compared."""
    compared = runs[:MOST_COMPARED]
    if len(compared) < 2 or scale.ends is None or not all(_comparable(run) for run in compared):
        return None
    rows = {
        run.name: RunRows(name=run.name, rows=run.rows, summary=run.summary, manifest=run.manifest)
        for run in compared
    }
    # Where the judge or the tasks' texts differ, the numbers are shown, and so is what differs.
    document = compare_runs(rows, cluster=_cluster(compared), allow_different=True, details=False).document
    places = {run.name: place for place, run in enumerate(compared)}
    widest = widest_of([pair["difference"] for pair in document["pairs"]])
    left_out = len(runs) > len(compared)
    return DifferencesView(
        compared=f"Of the best {len(compared)} of {len(runs)} models." if left_out else "",
        pairs=tuple(_pair(pair, places, scale, widest) for pair in document["pairs"]),
        method=method_of(document),
        warnings=unlike_views(document["differs"], document["warnings"]),
    )


def _cluster(runs: Sequence[Run]) -> str | None:
    """The label that the runs' own intervals are clustered by, where it is the same one."""
    columns = {(run.summary.get("cluster") or {}).get("column") for run in runs}
    return columns.pop() if len(columns) == 1 else None


def _comparable(run: Run) -> bool:
    """Whether the rows have what a comparison reads; those of an old version may not."""
    return bool(run.rows) and all(row.keys() >= _NEEDED for row in run.rows)


def _pair(pair: Json, places: dict[str, int], scale: Scale, widest: float) -> PairView:
    return PairView(
        first=places[pair["a"]],
        second=places[pair["b"]],
        names=(pair["a"], pair["b"]),
        difference=diff_view(pair["difference"], scale.ends, widest),
        passes=passes_view(pair["passes"]),
    )


def diff_view(figures: Json, ends: tuple[float, float] | None, widest: float | None = None) -> DiffView:
    """A difference of a comparison's document.

    Args:
        ends: Of the scale that the difference is on.
        widest: Half the width of the bar; the difference's own if left out.
    """
    digits = numbers.digits_for(ends)
    mean, interval, better = figures["mean"], figures["ci95"], figures["better"]
    half = widest or widest_of([figures])
    return DiffView(
        tasks=figures["tasks"],
        difference=signed(mean, digits),
        interval=numbers.interval(interval, digits, ends=(0,)).replace("-", "−"),
        why_none="" if interval is not None else str(figures["ci_reason"] or ""),
        bar=bar((-half, half), mean, interval, pass_at=0),
        p_value=numbers.p_value(figures["p_holm"]),
        better=better["b"],
        worse=better["a"],
        equal=better["equal"],
        detectable=numbers.detectable(figures["smallest_detectable"]["difference"], ends),
    )


def passes_view(passes: Json | None) -> PassesView | None:
    """Passes of a comparison's document; None without a pass mark."""
    if passes is None:
        return None
    rates = tuple(numbers.percent(passes["rate"][side]) for side in ("a", "b"))
    difference, interval = passes["difference"], passes["ci95"]
    return PassesView(
        tasks=passes["tasks"],
        both=passes["both"],
        only_first=passes["only_a"],
        only_second=passes["only_b"],
        neither=passes["neither"],
        rates=(rates[0], rates[1]),
        difference=f"{signed(100 * difference, 1)} points",
        interval=_points(interval),
        p_value=numbers.p_value(passes["p_holm"]),
    )


def _points(interval: Sequence[float] | None) -> str:
    """An interval of a difference of shares, in percentage points."""
    if interval is None:
        return numbers.DASH
    return numbers.interval([numbers.exact(end) * 100 for end in interval], 1, ends=(0,)).replace("-", "−")


def signed(value: float | None, digits: int) -> str:
    """A difference with its sign, the minus as wide as the plus."""
    return numbers.signed(value, digits).replace("-", "−")


def widest_of(differences: Sequence[Json]) -> float:
    """Half the width of a scale, zero in the middle, that holds these with their intervals."""
    ends = [abs(end) for one in differences for end in one["ci95"] or ()]
    means = [abs(one["mean"] or 0) for one in differences]
    return 1.1 * max([*ends, *means], default=0) or 1.0


def method_of(document: Json) -> str:
    """How intervals, tests and corrections came about, for readers."""
    return f"{document['ci_method']}. {document['test_method']}"


def unlike_views(differs: Sequence[Json], warnings: Sequence[Json]) -> tuple[WarningView, ...]:
    """What makes these runs no fair pair, once for each kind; what would have been refused stands first."""
    kinds: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for text, found in ((_NOT_ALIKE, differs), (_OTHERWISE, warnings)):
        for one in found:
            said = _NOTHING if one["code"] == "no_common_tasks" else text
            kinds.setdefault((one["code"], said), []).append(("", str(one["detail"])))
    return tuple(
        WarningView(code=code, words=said, details=_one(told)) for (code, said), told in kinds.items()
    )


def _one(told: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The first pair's words stand for all: six pairs of four models would say it six times."""
    more = len(told) - 1
    return (told[0], ("", f"and {numbers.plural(more, 'pair')} more")) if more else (told[0],)
