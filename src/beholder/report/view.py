"""Rows and summaries -> `ReportView`: plain, ranked, formatted data that templates only lay out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import beholder
from beholder.report import numbers, words
from beholder.report.differences import DifferencesView, differences_of
from beholder.report.figures import Scale, rank_key, scale_of
from beholder.report.items import ItemView, build_item
from beholder.report.load import Json, Run
from beholder.report.media import Verbatim, verbatim_of
from beholder.report.method import Fact, method_of
from beholder.report.notices import WarningView, judge_of, warnings_of
from beholder.report.people import PeopleView, people_of
from beholder.report.ranking import (
    CriterionView,
    GroupTable,
    ModelView,
    common_of,
    criteria_of,
    groups_of,
    model_of,
)
from beholder.report.repeats import state_of
from beholder.report.steadiness import SteadyView, steadiness_of


@dataclass(frozen=True, slots=True)
class Items(Sequence[ItemView]):
    """Every row of every run as an item, by task and then by model.

    An item is built when it is asked for and not kept: thousands of them, with their texts, need no memory.

    Attributes:
        entries: (task's position, model's position, row's position in its run), in order.
    """

    runs: tuple[Run, ...]
    scale: Scale
    entries: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, runs: Sequence[Run], scale: Scale) -> Items:
        """The items of ranked runs."""
        tasks = dict.fromkeys(row.get("task_id") for run in runs for row in run.rows)
        positions = {task: position for position, task in enumerate(tasks)}
        entries = sorted(
            (positions[row.get("task_id")], model, at)
            for model, run in enumerate(runs)
            for at, row in enumerate(run.rows)
        )
        return cls(tuple(runs), scale, tuple(entries))

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> ItemView: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ItemView]: ...
    def __getitem__(self, index: int | slice) -> ItemView | Sequence[ItemView]:
        if isinstance(index, slice):
            return Items(self.runs, self.scale, self.entries[index])
        task, model, _ = self.entries[index]
        return build_item(self.runs[model], self.row(index), self.scale, order=(task, model))

    def __iter__(self) -> Iterator[ItemView]:
        return (self[index] for index in range(len(self)))

    def row(self, index: int) -> Json:
        """The row behind an item."""
        _, model, at = self.entries[index]
        return self.runs[model].rows[at]

    def verbatim(self, index: int) -> Verbatim:
        """An item's prompt and replies, read from where they lie."""
        return verbatim_of(self.runs[self.entries[index][1]], self.row(index))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """A whole report.

    Attributes:
        lead: What was measured by whom, a sentence.
        scale: Of the scores.
        common_tasks: Number of tasks that every model has a score for; None where it does not matter.
        states: Number of items by state, in the order of `words.STATES`.
        steadiness: How steady the judge is over repeats, per model that has some.
        differences: The models in pairs; None for one.
        people: The judge against people's ratings; None without any.
        no_groups: Labels without a table, with the reason.
        runs: What it was built from, ranked.
    """

    title: str
    protocol: str
    lead: str
    scripted: bool
    warnings: tuple[WarningView, ...]
    models: tuple[ModelView, ...]
    scale: Scale
    common_tasks: int | None
    criteria: tuple[CriterionView, ...]
    groups: tuple[GroupTable, ...]
    no_groups: tuple[tuple[str, str], ...]
    states: tuple[tuple[str, int], ...]
    steadiness: tuple[SteadyView, ...]
    differences: DifferencesView | None
    people: PeopleView | None
    items: Items
    method: tuple[Fact, ...]
    version: str
    runs: tuple[Run, ...]

    @property
    def range(self) -> str:
        """The scale's ends, `0–100`, or empty."""
        return numbers.span(self.scale.ends)

    @property
    def pass_at(self) -> str:
        """The pass mark as text, or empty."""
        return "" if self.scale.pass_at is None else numbers.plain(self.scale.pass_at, 2)


def build_view(runs: Sequence[Run], joint: Json | None = None) -> ReportView:
    """The view of one or several models under one protocol.

    Args:
        runs: One per model, in any order.
        joint: The joint summary, for what it says about common tasks.

    Raises:
        ValueError: There is no run.
    """
    if not runs:
        raise ValueError("a report needs at least one run")
    joint = joint or {}
    ranked = tuple(sorted(runs, key=lambda run: rank_key(run.name, run.summary)))
    scale = scale_of([run.summary for run in ranked])
    common, common_tasks = common_of(joint, ranked)
    counts = Counter(state_of(row) for run in ranked for row in run.rows)
    first = ranked[0].summary
    groups, no_groups = groups_of(ranked, scale)
    differences = differences_of(ranked, scale)
    return ReportView(
        title=str(first.get("title") or first.get("protocol") or "Evaluation"),
        protocol=str(first.get("protocol") or ""),
        lead=_lead(ranked),
        scripted=_is_scripted(ranked, joint),
        warnings=(*warnings_of(ranked, joint), *(differences.warnings if differences else ())),
        models=tuple(model_of(run, scale, common.get(run.name)) for run in ranked),
        scale=scale,
        common_tasks=common_tasks,
        criteria=criteria_of(ranked, scale),
        groups=groups,
        no_groups=no_groups,
        states=tuple((state, counts[state]) for state in words.STATES if counts[state]),
        steadiness=steadiness_of(ranked, scale),
        differences=differences,
        people=people_of(ranked),
        items=Items.of(ranked, scale),
        method=method_of(ranked),
        version=beholder.__version__,
        runs=ranked,
    )


def _is_scripted(runs: Sequence[Run], joint: Json) -> bool:
    return bool(
        joint.get("scripted")
        or any(run.summary.get("scripted") for run in runs)
        or any((row.get("judge") or {}).get("scripted") for run in runs for row in run.rows)
    )


def _lead(runs: Sequence[Run]) -> str:
    tasks = len(dict.fromkeys(row.get("task_id") for run in runs for row in run.rows))
    models = numbers.plural(len(runs), "model")
    judges = list(dict.fromkeys(str(judge_of(run)["model"]) for run in runs if judge_of(run).get("model")))
    repeats = list(dict.fromkeys((run.summary.get("repeats") or {}).get("n") for run in runs))
    by = f", judged by {' and '.join(judges)}" if judges else ""
    times = f" in {repeats[0]} repeats" if len(repeats) == 1 and (repeats[0] or 0) > 1 else ""
    return f"{models}, {numbers.plural(tasks, 'task')}{by}{times}."
