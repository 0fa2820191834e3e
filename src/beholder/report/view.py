"""Rows and summaries -> `ReportView`: plain, ranked, formatted data that templates only lay out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import beholder
from beholder.report import numbers, words
from beholder.report.items import ItemView, Note, Scale, build_item, state_of
from beholder.report.load import Json, Run

MOST_GROUPS = 20
"""A label with more values than this gets no table of its own: it is a text rather than a label."""


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
    """The figures of one population of tasks, as text."""

    planned: str
    judged: str
    scored: str
    coverage: str
    mean: str
    interval: str
    bounds: str
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
    """A model's mean on one criterion."""

    model: str
    mean: str
    interval: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningView:
    """Something to know before believing the figures; `details` are (model or empty, text)."""

    code: str
    words: str
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A line of the method: one value, or one per model where they differ (`who` names the model)."""

    label: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """A whole report.

    Attributes:
        lead: What was measured by whom, a sentence.
        scale: `0–100`, or empty.
        pass_at: The pass mark as text, or empty.
        common_tasks: Number of tasks that every model has a score for; None where it does not matter.
        states: Number of items by state, in the order of `words.STATES`.
        no_groups: Labels without a table, with the reason.
    """

    title: str
    protocol: str
    lead: str
    scripted: bool
    warnings: tuple[WarningView, ...]
    models: tuple[ModelView, ...]
    scale: str
    pass_at: str
    common_tasks: int | None
    criteria: tuple[CriterionView, ...]
    groups: tuple[GroupTable, ...]
    no_groups: tuple[tuple[str, str], ...]
    states: tuple[tuple[str, int], ...]
    items: tuple[ItemView, ...]
    method: tuple[Fact, ...]
    version: str


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
    ranked = sorted(runs, key=lambda run: rank_key(run.name, run.summary))
    scale = scale_of(ranked)
    common, common_tasks = _common(joint, ranked)
    items = _items(ranked, scale)
    counts = Counter(item.state for item in items)
    first = ranked[0].summary
    groups, no_groups = _groups(ranked, scale)
    return ReportView(
        title=str(first.get("title") or first.get("protocol") or "Evaluation"),
        protocol=str(first.get("protocol") or ""),
        lead=_lead(ranked),
        scripted=_is_scripted(ranked, joint),
        warnings=_warnings(ranked, joint),
        models=tuple(_model(run, scale, common.get(run.name)) for run in ranked),
        scale=numbers.span(scale.ends),
        pass_at="" if scale.pass_at is None else numbers.plain(scale.pass_at, 2),
        common_tasks=common_tasks,
        criteria=_criteria(ranked, scale),
        groups=groups,
        no_groups=no_groups,
        states=tuple((state, counts[state]) for state in words.STATES if counts[state]),
        items=items,
        method=_method(ranked),
        version=beholder.__version__,
    )


def rank_key(name: str, summary: Json) -> tuple[bool, float, str]:
    """Sorts models: the best mean first, one without a mean last, equal ones by name."""
    mean = summary.get("mean")
    return (mean is None, -(mean or 0), name)


def scale_of(runs: Sequence[Run]) -> Scale:
    """The scale of the runs' common protocol; criteria in the order of the first summary that has them."""
    summaries = [run.summary for run in runs]
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
    scored = source.get("scored")
    return Figures(
        planned=numbers.count(source.get("planned")),
        judged=numbers.DASH if scored is None else numbers.count(scored + sum(n for _, n in absent)),
        scored=numbers.count(scored),
        coverage=numbers.percent(source.get("coverage")),
        mean=numbers.fixed(mean, scale.digits, marks=ends),
        interval=numbers.interval(ci95, scale.digits, ends=ends),
        bounds=numbers.interval(bounds, scale.digits, ends=ends),
        pass_rate=numbers.percent(source.get("pass_rate")),
        pass_interval=numbers.percent_interval(source.get("pass_ci95")),
        absent=absent,
        unscored=unscored,
        bar=bar(scale.ends, mean, ci95, bounds if unscored else None, scale.pass_at),
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


def _model(run: Run, scale: Scale, common: Json | None) -> ModelView:
    return ModelView(
        name=run.name,
        figures=figures_of(run.summary, scale),
        common=figures_of(common, scale) if common else None,
        cost=numbers.money(_cost(run)),
        states=_segments(run.rows),
    )


def _cost(run: Run) -> float | None:
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


def _repeats(summary: Json) -> str:
    """How often each task was judged, and how far the repeats are apart."""
    repeats = summary.get("repeats") or {}
    n, spread, flips = repeats.get("n"), repeats.get("spread"), repeats.get("pass_flips")
    if not n:
        return ""
    parts = [str(n)]
    if isinstance(spread, int | float):
        parts.append(f"spread {numbers.fixed(spread, 1)}")
    if isinstance(flips, int):
        parts.append(numbers.plural(flips, "task flips", "tasks flip") + " between pass and fail")
    return ", ".join(parts)


def _common(joint: Json, runs: Sequence[Run]) -> tuple[Mapping[str, Json], int | None]:
    """Figures on the common tasks by model, where some model's own tasks are others than these."""
    common = joint.get("common") or {}
    tasks = common.get("tasks")
    if tasks is None or len(runs) < 2 or all(_own_tasks(run.summary) == tasks for run in runs):
        return {}, None
    return common.get("models") or {}, tasks


def _own_tasks(summary: Json) -> int:
    absent: Mapping[str, int] = summary.get("absent") or {}
    return int(summary.get("scored") or 0) + sum(absent.values())


def _criteria(runs: Sequence[Run], scale: Scale) -> tuple[CriterionView, ...]:
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
        mean=numbers.fixed(mean, digits, marks=ends or ()),
        interval=numbers.interval(ci95, digits, ends=ends or ()),
        bar=bar(ends, mean, ci95),
    )


def _groups(runs: Sequence[Run], scale: Scale) -> tuple[tuple[GroupTable, ...], tuple[tuple[str, str], ...]]:
    """A table per label whose values group tasks; and the labels whose values do not, with the reason."""
    tables, without = [], []
    for label in dict.fromkeys(label for run in runs for label in run.summary.get("groups") or {}):
        by_model = {run.name: (run.summary.get("groups") or {}).get(label) or {} for run in runs}
        values = sorted({value for groups in by_model.values() for value in groups})
        sizes = [figures.get("planned") or 0 for groups in by_model.values() for figures in groups.values()]
        if max(sizes, default=0) < 2:
            without.append((label, "every value stands for one task"))
        elif len(values) > MOST_GROUPS:
            without.append((label, f"{numbers.count(len(values))} different values"))
        else:
            rows = tuple(
                GroupRow(value=value or numbers.DASH, model=name, figures=figures_of(groups[value], scale))
                for value in values
                for name, groups in by_model.items()
                if value in groups
            )
            tables.append(GroupTable(label=label, rows=rows))
    return tuple(tables), tuple(without)


def _items(runs: Sequence[Run], scale: Scale) -> tuple[ItemView, ...]:
    """Every row of every run, by task and then by model."""
    tasks = dict.fromkeys(row.get("task_id") for run in runs for row in run.rows)
    positions = {task: position for position, task in enumerate(tasks)}
    pairs = sorted(
        (
            (positions[row.get("task_id")], model, run, row)
            for model, run in enumerate(runs)
            for row in run.rows
        ),
        key=lambda pair: pair[:2],
    )
    return tuple(
        build_item(run, row, scale, id_=f"item-{number}", order=(task, model))
        for number, (task, model, run, row) in enumerate(pairs, 1)
    )


def _is_scripted(runs: Sequence[Run], joint: Json) -> bool:
    rows = (row for run in runs for row in run.rows)
    return bool(
        joint.get("scripted")
        or any(run.summary.get("scripted") for run in runs)
        or any((row.get("judge") or {}).get("scripted") for row in rows)
    )


def _lead(runs: Sequence[Run]) -> str:
    tasks = len(dict.fromkeys(row.get("task_id") for run in runs for row in run.rows))
    models = numbers.plural(len(runs), "model")
    judges = list(dict.fromkeys(str(_judge(run)["model"]) for run in runs if _judge(run).get("model")))
    repeats = list(dict.fromkeys((run.summary.get("repeats") or {}).get("n") for run in runs))
    by = f", judged by {' and '.join(judges)}" if judges else ""
    times = f" in {repeats[0]} repeats" if len(repeats) == 1 and (repeats[0] or 0) > 1 else ""
    return f"{models}, {numbers.plural(tasks, 'task')}{by}{times}."


def _judge(run: Run) -> Json:
    return run.summary.get("judge") or {}


def _warnings(runs: Sequence[Run], joint: Json) -> tuple[WarningView, ...]:
    """The summaries' warnings and those that rows and manifests imply, one view per code."""
    own_words = {
        (warning.get("code"), f"{run.name}: {warning.get('detail')}")
        for run in runs
        for warning in run.summary.get("warnings") or []
    }
    told = [
        ("", warning)
        for warning in joint.get("warnings") or []
        if (warning.get("code"), warning.get("detail")) not in own_words
    ]
    for run in runs:
        who = run.name if len(runs) > 1 else ""
        own = list(run.summary.get("warnings") or [])
        codes = {warning.get("code") for warning in own}
        own += [warning for warning in _implied_warnings(run) if warning["code"] not in codes]
        told += [(who, warning) for warning in own]
    details: dict[str, list[tuple[str, str]]] = {}
    for who, warning in told:
        detail = (who, str(warning.get("detail") or ""))
        details.setdefault(str(warning.get("code") or ""), []).append(detail)
    return tuple(
        WarningView(
            code=code,
            words=_sentence(words.warning(code)),
            details=tuple(detail for detail in dict.fromkeys(known) if any(detail)),
        )
        for code, known in details.items()
        if code != "scripted"  # has a banner of its own
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _implied_warnings(run: Run) -> list[Json]:
    """What rows and manifest tell that a reader of the mean should know."""
    warnings: list[Json] = []
    scored = [row for row in run.rows if row.get("outcome") == "scored"]
    partial = sum(1 for row in scored if (row.get("n_scored") or 0) < (row.get("n_requested") or 0))
    if partial:
        detail = f"{partial} of {numbers.plural(len(scored), 'scored task')}"
        warnings.append({"code": "partial_coverage", "detail": detail})
    served = _judge(run).get("served") or []
    if len(served) > 1:
        warnings.append({"code": "served_models_differ", "detail": ", ".join(served)})
    if (run.manifest.get("renderer") or {}).get("sandbox") in (False, "off"):
        warnings.append({"code": "sandbox_off"})
    codes = [
        {warning.get("code") for warning in (row.get("evidence") or {}).get("warnings") or []}
        for row in scored
    ]
    degraded = Counter(code for per_row in codes for code in per_row if code)
    if degraded:
        detail = "; ".join(
            f"{words.warning(code)} ({numbers.plural(n, 'task')})" for code, n in sorted(degraded.items())
        )
        warnings.append({"code": "evidence_warnings", "detail": detail})
    return warnings


def _method(runs: Sequence[Run]) -> tuple[Fact, ...]:
    per_run = {run.name: _facts(run) for run in runs}
    facts = []
    for label in dict.fromkeys(label for own in per_run.values() for label in own):
        values = {name: own[label] for name, own in per_run.items() if own.get(label)}
        if not values:
            continue
        shared = len(values) == len(runs) and len(set(values.values())) == 1
        pairs = (("", next(iter(values.values()))),) if shared else tuple(values.items())
        facts.append(Fact(label=label, values=pairs if len(runs) > 1 else (("", pairs[0][1]),)))
    return tuple(facts)


def _facts(run: Run) -> dict[str, str]:
    """The method's lines for one run; an empty value is left out."""
    summary, manifest, record = run.summary, run.manifest, run.run
    renderer = dict(manifest.get("renderer") or {})
    sandbox = renderer.pop("sandbox", None)
    calls, tokens = record.get("calls") or {}, record.get("tokens") or {}
    policies = [str(digest) for digest in summary.get("evidence_sha256") or []]
    facts = {
        "Protocol": str(summary.get("protocol") or ""),
        "Question sha256": str(summary.get("question_sha256") or ""),
        "Evidence policy sha256": ", ".join(policies),
        "Formula sha256": str(summary.get("formula_sha256") or ""),
        "Judge": str(_judge(run).get("model") or ""),
        "Served as": ", ".join(_judge(run).get("served") or []),
        "Judge settings": _flat(
            {
                key: value
                for key, value in (manifest.get("judge") or {}).items()
                if key not in ("model", "served", "scripted")
            }
        ),
        "Repeats": _repeats(summary),
        "Interval": str(summary.get("ci_method") or ""),
        "Renderer": _flat(renderer),
        "Browser sandbox": {True: "on", False: "off", None: ""}.get(sandbox, str(sandbox)),
        "beholder": str(manifest.get("beholder") or ""),
        "Started": str(record.get("started") or ""),
        "Ended": str(record.get("ended") or ""),
        "Duration": numbers.duration(record["seconds"]) if record.get("seconds") is not None else "",
        "Calls": ", ".join(
            f"{numbers.count(n)} {name.replace('_', ' ')}" for name, n in calls.items() if isinstance(n, int)
        ),
        "Tokens": ", ".join(
            f"{numbers.count(n)} {name.replace('_', ' ')}" for name, n in tokens.items() if isinstance(n, int)
        ),
        "Cost": numbers.money(_cost(run)) if _cost(run) is not None else "",
    }
    return {label: text for label, text in facts.items() if text}


def _flat(mapping: Mapping[str, Any]) -> str:
    """`chromium 132.0, fonts 69`: a small mapping in one line, nested ones in brackets, unknown left out."""
    return ", ".join(_flat_pair(key, value) for key, value in mapping.items() if not _is_void(value))


def _flat_pair(key: str, value: object) -> str:
    if isinstance(value, Mapping):
        return f"{key} ({_flat(value)})"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"{key} {' '.join(map(str, value))}"
    return f"{key} {value}"


def _is_void(value: object) -> bool:
    return value is None or value in ("", [], {})
