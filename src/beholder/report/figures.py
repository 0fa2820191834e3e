"""A summary's numbers -> the same as text, and as places on a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from beholder.report import numbers, words
from beholder.report.load import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a protocol's numbers range over, from the summary.

    Attributes:
        ends: Lowest and highest main score; None if the summary does not say.
        pass_at: The pass mark, if there is one.
        criteria: Lowest and highest value by criterion, in the rubric's order.
    """

    ends: tuple[float, float] | None
    pass_at: float | None
    criteria: Mapping[str, tuple[float, float] | None]

    @property
    def digits(self) -> int:
        """Decimals of a main score."""
        return numbers.digits_for(self.ends)

    def main(self, value: float | None, passed: bool | None = None) -> str:
        """A task's or a repeat's main score."""
        return _score_text(value, self.ends, self.pass_at, passed)


@lru_cache(maxsize=2**15, typed=True)  # thousands of tasks have some hundred different scores
def _score_text(
    value: float | None, ends: tuple[float, float] | None, pass_at: float | None, passed: bool | None
) -> str:
    digits = numbers.digits_for(ends)
    return numbers.score(value, digits, ends=ends or (), pass_at=pass_at, passed=passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A code with its meaning and what is known in particular."""

    code: str
    words: str
    detail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A mean on its scale, all in per cent of the scale's width; None where the summary has none.

    Attributes:
        low, high: The interval.
        bound_low, bound_high: The mean if every unscored task were worst, or best.
        pass_mark: Where the pass mark stands.
    """

    mean: float | None
    low: float | None = None
    high: float | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    pass_mark: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one population of tasks, as text; `why_none` says why the mean has no interval.

    Attributes:
        mean_of: Of how many tasks the mean is, where that is not all that are judged: a formula may leave
            absent ones out.
        bounded: Whether the bounds tell more than the mean.
    """

    planned: str
    judged: str
    scored: str
    coverage: str
    mean: str
    interval: str
    why_none: str
    bounds: str
    bounded: bool
    mean_of: str
    pass_rate: str
    pass_interval: str
    absent: tuple[tuple[Note, int], ...]
    unscored: tuple[tuple[Note, int], ...]
    bar: Bar

    @property
    def n_absent(self) -> int:
        """How many tasks are absent."""
        return sum(n for _, n in self.absent)

    @property
    def n_unscored(self) -> int:
        """How many tasks are unscored."""
        return sum(n for _, n in self.unscored)


def rank_key(name: str, summary: Json) -> tuple[bool, float, str]:
    """Sorts models: the best mean first, one without a mean last, equal ones by name."""
    mean = summary.get("mean")
    return (mean is None, -(mean or 0), name)


def scale_of(summaries: Sequence[Json]) -> Scale:
    """The scale of the summaries' common protocol; criteria in the order they are first met."""
    ends = next((summary["score_range"] for summary in summaries if summary.get("score_range")), None)
    pass_at = next((summary["pass_at"] for summary in summaries if summary.get("pass_at") is not None), None)
    criteria: dict[str, tuple[float, float] | None] = {}
    for summary in summaries:
        for key, figures in (summary.get("criteria") or {}).items():
            low, high = figures.get("min"), figures.get("max")
            criteria.setdefault(key, None if low is None or high is None else (low, high))
    return Scale(ends=tuple(ends) if ends else None, pass_at=pass_at, criteria=criteria)


def figures_of(source: Json, scale: Scale) -> Figures:
    """A summary's figures, or those of a group or of the common tasks, as text."""
    mean, ci95, bounds = source.get("mean"), source.get("ci95"), source.get("mean_bounds")
    ends = scale.ends or ()
    absent, unscored = _by_reason(source.get("absent")), _by_reason(source.get("unscored"))
    scored, n = source.get("scored"), source.get("n")
    judged = None if scored is None else scored + sum(count for _, count in absent)
    bounded = bool(unscored) or (mean is not None and bounds is not None and set(bounds) != {mean})
    return Figures(
        planned=numbers.count(source.get("planned")),
        judged=numbers.count(judged),
        scored=numbers.count(scored),
        coverage=numbers.percent(source.get("coverage")),
        mean=numbers.fixed(mean, scale.digits, marks=ends),
        interval=numbers.interval(ci95, scale.digits, ends=ends),
        why_none="" if ci95 is not None else str(source.get("ci_reason") or ""),
        bounds=numbers.interval(bounds, scale.digits, ends=ends),
        bounded=bounded,
        mean_of="" if n is None or n == judged else numbers.count(n),
        pass_rate=numbers.percent(source.get("pass_rate")),
        pass_interval=numbers.percent_interval(source.get("pass_ci95")),
        absent=absent,
        unscored=unscored,
        bar=bar(scale.ends, mean, ci95, bounds if bounded else None, scale.pass_at),
    )


def bar(
    ends: tuple[float, float] | None,
    mean: float | None,
    interval: Sequence[float] | None = None,
    bounds: Sequence[float] | None = None,
    pass_at: float | None = None,
) -> Bar:
    """Where the numbers stand on the scale; empty without a scale."""
    if ends is None or ends[0] == ends[1]:
        return Bar(mean=None)

    def place(value: float | None) -> float | None:
        if value is None:
            return None
        share = (float(value) - ends[0]) / (ends[1] - ends[0])
        return round(100 * min(1.0, max(0.0, share)), 2)

    low, high = interval or (None, None)
    bound_low, bound_high = bounds or (None, None)
    return Bar(
        mean=place(mean),
        low=place(low),
        high=place(high),
        bound_low=place(bound_low),
        bound_high=place(bound_high),
        pass_mark=place(pass_at),
    )


def _by_reason(counts: Mapping[str, int] | None) -> tuple[tuple[Note, int], ...]:
    ordered = sorted((counts or {}).items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple((Note(code=code, words=words.reason(code)), n) for code, n in ordered if n)
