"""Summaries -> the ranking of models, their criteria, and their groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from beholder.report import numbers, words
from beholder.report.figures import Bar, Figures, Scale, bar, figures_of
from beholder.report.load import Json, Run
from beholder.report.repeats import state_of

MOST_GROUPS = 20
"""A label with more values than this gets no table of its own: it is a text rather than a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One state's part of a stacked bar, in per cent of its width."""

    state: str
    n: int
    start: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """One model's line in the ranking.

    Attributes:
        common: Its figures on the tasks that every model has a score for; None if that is the same.
        states: How many items are in each state, those without any left out.
    """

    name: str
    figures: Figures
    common: Figures | None
    cost: str
    states: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionMean:
    """A model's mean on one criterion.

    Attributes:
        of: How many tasks it is of, where that is not all that are scored: tasks may have criteria of their
            own.
    """

    model: str
    mean: str
    interval: str
    of: str
    bar: Bar


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionView:
    """One criterion over the models."""

    key: str
    scale: str
    means: tuple[CriterionMean, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A label's value, for one model."""

    value: str
    model: str
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """One label's table."""

    label: str
    rows: tuple[GroupRow, ...]


def model_of(run: Run, scale: Scale, common: Json | None) -> ModelView:
    """A model's line, with its figures on the common tasks where they are others."""
    return ModelView(
        name=run.name,
        figures=figures_of(run.summary, scale),
        common=figures_of(common, scale) if common else None,
        cost=numbers.money(cost_of(run)),
        states=_segments(run.rows),
    )


def cost_of(run: Run) -> float | None:
    """US dollars; None where a price is unknown."""
    cost: float | None = run.summary.get("cost_usd")
    return run.run.get("cost_usd") if cost is None else cost


def _segments(rows: Sequence[Json]) -> tuple[Segment, ...]:
    counts = Counter(state_of(row) for row in rows)
    segments, start = [], 0.0
    for state in words.STATES:
        if n := counts[state]:
            width = 100 * n / len(rows)
            segments.append(Segment(state=state, n=n, start=round(start, 2), width=round(width, 2)))
            start += width
    return tuple(segments)


def common_of(joint: Json, runs: Sequence[Run]) -> tuple[Mapping[str, Json], int | None]:
    """Figures on the common tasks by model, where some model's own tasks are others than these."""
    common = joint.get("common") or {}
    tasks = common.get("tasks")
    if (
        tasks is None
        or not common.get("models")
        or len(runs) < 2
        or all(_own_tasks(run.summary) == tasks for run in runs)
    ):
        return {}, None
    return common.get("models") or {}, tasks


def _own_tasks(summary: Json) -> int:
    absent: Mapping[str, int] = summary.get("absent") or {}
    return int(summary.get("scored") or 0) + sum(absent.values())


def criteria_of(runs: Sequence[Run], scale: Scale) -> tuple[CriterionView, ...]:
    """Every criterion over the models."""
    return tuple(
        CriterionView(
            key=key,
            scale=numbers.span(ends),
            means=tuple(
                _criterion_mean(run, (run.summary.get("criteria") or {}).get(key) or {}, ends) for run in runs
            ),
        )
        for key, ends in scale.criteria.items()
    )


def _criterion_mean(run: Run, figures: Json, ends: tuple[float, float] | None) -> CriterionMean:
    digits = numbers.digits_for(ends)
    mean, ci95 = figures.get("mean"), figures.get("ci95")
    return CriterionMean(
        model=run.name,
        of=_part(figures.get("n"), run.summary.get("scored")),
        mean=numbers.fixed(mean, digits, marks=ends or ()),
        interval=numbers.interval(ci95, digits, ends=ends or ()),
        bar=bar(ends, mean, ci95),
    )


def _part(n: int | None, scored: int | None) -> str:
    """`3 of 6 tasks`; empty where it is all of them."""
    return "" if n is None or scored is None or n == scored else f"{n:,} of {numbers.plural(scored, 'task')}"


def groups_of(
    runs: Sequence[Run], scale: Scale
) -> tuple[tuple[GroupTable, ...], tuple[tuple[str, str], ...]]:
    """A table per label whose values group tasks; and the labels whose values do not, with the reason."""
    tables, without = [], []
    for label in dict.fromkeys(label for run in runs for label in run.summary.get("groups") or {}):
        by_model = {run.name: (run.summary.get("groups") or {}).get(label) or {} for run in runs}
        values = sorted({value for groups in by_model.values() for value in groups}, key=words.natural_order)
        sizes = [figures.get("planned") or 0 for groups in by_model.values() for figures in groups.values()]
        if max(sizes, default=0) < 2:
            without.append((label, "every value stands for one task"))
        elif len(values) > MOST_GROUPS:
            without.append((label, f"{numbers.count(len(values))} different values"))
        else:
            rows = tuple(
                GroupRow(
                    value=words.shortened(value) or numbers.DASH,
                    model=name,
                    figures=figures_of(groups[value], scale),
                )
                for value in values
                for name, groups in by_model.items()
                if value in groups
            )
            tables.append(GroupTable(label=label, rows=rows))
    return tuple(tables), tuple(without)
