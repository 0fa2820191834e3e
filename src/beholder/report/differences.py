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

MOST_COMPARED = 6
"""Models that are compared pair by pair, in the ranking's order: fifteen pairs are as many as one reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairView:
    """Two models on their common tasks; every number is the second's less the first's.

    Attributes:
        first, second: Positions in the ranking.
        missing: Tasks that one of them, or both, have no number for; with `only`, those planned by one alone.
        interval, why_none: The 95 % interval, or why there is none.
        bar: The difference and its interval on a scale with zero in the middle.
        better, worse, equal: Tasks where the second's score is higher, lower, equal.
        gained, lost: Tasks that only the second passes, and only the first; None without a pass mark.
        detectable: The smallest difference that so many tasks could show.
    """

    first: int
    second: int
    names: tuple[str, str]
    common: int
    difference: str
    interval: str
    why_none: str
    bar: Bar
    p_value: str
    better: int
    worse: int
    equal: int
    gained: int | None
    lost: int | None
    pass_p: str
    detectable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencesView:
    """Every pair, with what a reader must know of how they came about."""

    pairs: tuple[PairView, ...]
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
    document = compare_runs(rows, allow_different=True, details=False).document
    places = {run.name: place for place, run in enumerate(compared)}
    widest = _widest(document["pairs"])
    return DifferencesView(
        pairs=tuple(_pair(pair, places, scale, widest) for pair in document["pairs"]),
        method=f"{document['ci_method']}. {document['test_method']}",
        warnings=_unlike([*document["differs"], *document["warnings"]], bool(document["differs"])),
    )


def _comparable(run: Run) -> bool:
    """Whether the rows have what a comparison reads; those of an old version may not."""
    return bool(run.rows) and all(row.keys() >= _NEEDED for row in run.rows)


def _pair(pair: Json, places: dict[str, int], scale: Scale, widest: float) -> PairView:
    difference, passes = pair["difference"], pair["passes"]
    mean, interval = difference["mean"], difference["ci95"]
    better = difference["better"]
    return PairView(
        first=places[pair["a"]],
        second=places[pair["b"]],
        names=(pair["a"], pair["b"]),
        common=pair["tasks"]["common"],
        difference=signed(mean, scale.digits),
        interval=numbers.interval(interval, scale.digits, ends=(0,)).replace("-", "−"),
        why_none=difference["ci_reason"] or "",
        bar=bar((-widest, widest), mean, interval, pass_at=0),
        p_value=numbers.p_value(difference["p_holm"]),
        better=better["b"],
        worse=better["a"],
        equal=better["equal"],
        gained=passes["only_b"] if passes else None,
        lost=passes["only_a"] if passes else None,
        pass_p=numbers.p_value(passes["p_holm"]) if passes else numbers.DASH,
        detectable=numbers.fixed(difference["smallest_detectable"]["difference"], scale.digits),
    )


def signed(value: float | None, digits: int) -> str:
    """A difference with its sign, the minus as wide as the plus."""
    return numbers.signed(value, digits).replace("-", "−")


def _widest(pairs: Sequence[Json]) -> float:
    ends = [abs(end) for pair in pairs for end in pair["difference"]["ci95"] or ()]
    means = [abs(pair["difference"]["mean"] or 0) for pair in pairs]
    return 1.1 * max([*ends, *means], default=0) or 1.0


def _unlike(found: Sequence[Json], refused: bool) -> tuple[WarningView, ...]:
    """What makes these runs no fair pair, once for each kind."""
    details: dict[str, list[tuple[str, str]]] = {}
    for one in found:
        details.setdefault(one["code"], []).append(("", str(one["detail"])))
    # What would have been refused makes the differences doubtful; the rest is to be known.
    text = "The models were not measured alike." if refused else "The models differ in how they ran."
    return tuple(WarningView(code=code, words=text, details=_one(told)) for code, told in details.items())


def _one(told: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The first pair's words stand for all: six pairs of four models would say it six times."""
    more = len(told) - 1
    return (told[0], ("", f"and {numbers.plural(more, 'pair')} more")) if more else (told[0],)
