"""A comparison's document -> `ComparisonView` -> one HTML page without scripts, server or network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import beholder
from beholder.compare import RunRows
from beholder.report import numbers, words
from beholder.report.differences import (
    DiffView,
    PassesView,
    diff_view,
    method_of,
    passes_view,
    signed,
    unlike_views,
    widest_of,
)
from beholder.report.figures import Scale, scale_of
from beholder.report.html import render_page
from beholder.report.load import Json, Run, media_paths, url
from beholder.report.media import pictures_of
from beholder.report.notices import WarningView
from beholder.report.people import PeopleView, people_of
from beholder.report.ranking import ModelView, model_of
from beholder.report.thumbs import stored_thumbs
from beholder.report.write import HTML_NAME

MOST_ITEMS = 1000
"""Tasks that a pair lists, differences first: as many as a page without scripts stays quick with."""

KINDS: Mapping[str, str] = {
    "flip": "Flip",
    "missing": "Missing",
    "changed": "Changed",
    "equal": "Equal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    """One run's half of a task.

    Attributes:
        state: A key of `words.STATES`, or empty where the run has no such task.
        why: Why there is no judged score.
        thumb, picture: What was judged, small and as it is; None without a picture.
        verdict: The item in the run's own report; None without one.
    """

    state: str
    score: str
    why: str
    thumb: str | None
    picture: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task of a pair; `criteria` are those that differ, as `legible 2 → 5`."""

    task_id: str
    kind: str
    difference: str
    sides: tuple[SideView, SideView]
    criteria: tuple[str, ...]
    labels: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPage:
    """Everything of two runs.

    Attributes:
        counts: Number of tasks by kind, in the order of `KINDS`.
        own, common: Mean score of each over its own tasks with a number, and over the common ones.
        population: What is common and what is not, a sentence.
        criteria: By key; groups: by label and value.
        more: Tasks that are not listed.
    """

    names: tuple[str, str]
    counts: tuple[tuple[str, int], ...]
    own: tuple[str, str]
    common: tuple[str, str]
    population: str
    difference: DiffView
    passes: PassesView | None
    criteria: tuple[tuple[str, DiffView], ...]
    groups: tuple[tuple[str, tuple[tuple[str, DiffView, PassesView | None], ...]], ...]
    items: tuple[TaskView, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """A whole comparison, formatted."""

    title: str
    protocol: str
    lead: str
    scripted: bool
    warnings: tuple[WarningView, ...]
    models: tuple[ModelView, ...]
    range: str
    pass_at: str
    pairs: tuple[PairPage, ...]
    people: PeopleView | None
    method: str
    version: str

    @property
    def kinds(self) -> Mapping[str, str]:
        """What a task's kind is called."""
        return KINDS


def write_comparison(
    document: Json, runs: Mapping[str, RunRows], output: Path, *, human: Mapping[str, Json] | None = None
) -> None:
    """The comparison as an HTML page; pictures are linked where they lie.

    Args:
        document: Of a `Comparison`; empty where only `human` is told.
        runs: Of the same comparison.
        human: Documents of `human_agreement`, by run.
    """
    from beholder.store.outdir import write_bytes

    page = render_page("compare.html", view=build_comparison(document, runs, output.parent, human=human))
    write_bytes(output, page.encode("utf-8", errors="backslashreplace"))


def build_comparison(
    document: Json,
    runs: Mapping[str, RunRows],
    page_dir: Path,
    *,
    human: Mapping[str, Json] | None = None,
) -> ComparisonView:
    """The view of a page that will lie in `page_dir`."""
    shown = [_run(run, page_dir, (human or {}).get(name) or {}) for name, run in runs.items()]
    by_name = {run.name: run for run in shown}
    scale = scale_of([run.summary for run in shown])
    first = shown[0].summary
    pairs = document.get("pairs") or []
    lead = numbers.plural(len(shown), "run")
    if pairs:
        lead += f", {numbers.plural(len(pairs), 'pair')}. Differences are second less first"
    return ComparisonView(
        title=str(first.get("title") or first.get("protocol") or "Evaluation"),
        protocol=str(first.get("protocol") or ""),
        lead=f"{lead}.",
        scripted=any(run.summary.get("scripted") for run in shown),
        warnings=unlike_views(document.get("differs") or (), document.get("warnings") or ()),
        models=tuple(model_of(run, scale, None) for run in shown),
        range=numbers.span(scale.ends),
        pass_at="" if scale.pass_at is None else numbers.plain(scale.pass_at, 2),
        pairs=tuple(_pair(pair, by_name, runs, scale) for pair in pairs),
        people=people_of(shown),
        method=f"{method_of(document)} Of each run's own mean: {_own_methods(shown)}." if pairs else "",
        version=beholder.__version__,
    )


def _own_methods(runs: Sequence[Run]) -> str:
    told = dict.fromkeys(str(run.summary.get("ci_method") or "not told").rstrip(".") for run in runs)
    return "; ".join(told)


def _run(run: RunRows, page_dir: Path, human: Json) -> Run:
    """A run as the report's views read one, seen from where the page lies."""
    if run.path is None:
        return Run(name=run.name, rows=run.rows, summary=run.summary, manifest=run.manifest, human=human)
    there = {path for row in run.rows for path in media_paths(row) if (run.path / path).is_file()}
    sizes = {path: 0 if path in there else None for row in run.rows for path in media_paths(row)}
    return Run(
        name=run.name,
        rows=run.rows,
        summary=run.summary,
        manifest=run.manifest,
        base=Path(os.path.relpath(run.path.resolve(), page_dir.resolve())).as_posix(),
        sizes=sizes,
        thumbs=stored_thumbs(run.path, run.rows),
        human=human,
    )


def _pair(pair: Json, runs: Mapping[str, Run], stored: Mapping[str, RunRows], scale: Scale) -> PairPage:
    a, b = pair["a"], pair["b"]
    widest = widest_of([pair["difference"]])
    kinds = [item["kind"] for item in pair["items"]]
    rows = tuple({row["task_id"]: row for row in runs[name].rows} for name in (a, b))
    reports = tuple(_report(stored[name], runs[name]) for name in (a, b))
    views = (runs[a], runs[b])
    return PairPage(
        names=(a, b),
        counts=tuple((kind, kinds.count(kind)) for kind in KINDS if kind in kinds),
        own=_means(pair["means"]["own"], scale),
        common=_means(pair["means"]["common"], scale),
        population=_population(pair),
        difference=diff_view(pair["difference"], scale.ends, widest),
        passes=passes_view(pair["passes"]),
        criteria=tuple(
            (key, diff_view(one, scale.criteria.get(key))) for key, one in pair["criteria"].items()
        ),
        groups=tuple(
            (
                label,
                tuple(
                    (value, diff_view(one["difference"], scale.ends), passes_view(one["passes"]))
                    for value, one in values.items()
                ),
            )
            for label, values in pair["groups"].items()
        ),
        items=tuple(_item(item, views, rows, reports, scale) for item in pair["items"][:MOST_ITEMS]),
        more=max(0, len(pair["items"]) - MOST_ITEMS),
    )


def _means(means: Json, scale: Scale) -> tuple[str, str]:
    ends = scale.ends or ()
    first, second = (numbers.fixed(means[side], scale.digits, marks=ends) for side in ("a", "b"))
    return first, second


def _population(pair: Json) -> str:
    tasks = pair["tasks"]
    planned = tasks["planned_by_both"] + tasks["only_a"] + tasks["only_b"]
    text = f"{numbers.count(tasks['common'])} of {numbers.plural(planned, 'task')} have a number in both."
    parts = [
        f"{numbers.plural(tasks[key], 'task')} only in {pair[name]}"
        for key, name in (("only_a", "a"), ("only_b", "b"))
        if tasks[key]
    ]
    return f"{text} {'; '.join(parts)}." if parts else text


def _report(run: RunRows, shown: Run) -> str | None:
    """Address of a run's own report."""
    there = run.path is not None and (run.path / HTML_NAME).is_file()
    return url(shown.base, HTML_NAME) if there else None


def _item(
    item: Json,
    runs: Sequence[Run],
    rows: Sequence[Mapping[str, Json]],
    reports: Sequence[str | None],
    scale: Scale,
) -> TaskView:
    task = item["task_id"]
    first, second = (
        _side(item[name], task, runs[at], rows[at].get(task), reports[at], scale)
        for at, name in enumerate(("a", "b"))
    )
    return TaskView(
        task_id=task,
        kind=item["kind"],
        difference=signed(item["difference"], scale.digits),
        sides=(first, second),
        criteria=_criteria(item),
        labels=" · ".join(words.shortened(str(value)) for value in item["labels"].values() if value),
    )


def _side(side: Json, task: str, run: Run, row: Json | None, report: str | None, scale: Scale) -> SideView:
    state = side["outcome"] or ""
    if state == "scored" and side["pass"] is not None:
        state = "passed" if side["pass"] else "failed"
    picture = next((one for one in pictures_of(run, row) if one.url), None) if row else None
    why = "not in this run" if not state else words.reason(side["reason"])
    return SideView(
        state=state,
        score=scale.main(side["main_score"], side["pass"]) if side["outcome"] else numbers.DASH,
        why=why,
        thumb=picture.thumb if picture else None,
        picture=picture.url if picture else None,
        verdict=f"{report}#task={quote(task, safe='')}" if report and row else None,
    )


def _criteria(item: Json) -> tuple[str, ...]:
    """The criteria that both have and that differ."""
    first, second = item["a"]["scores"], item["b"]["scores"]
    return tuple(
        f"{key} {numbers.plain(first[key], 2)} → {numbers.plain(second[key], 2)}"
        for key in first
        if key in second and first[key] != second[key]
    )
