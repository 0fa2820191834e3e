"""`ReportView` -> `REPORT_EVALUATION.md`, in GitHub's dialect, which GitLab and Gitea read as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from beholder.report import numbers, words
from beholder.report.figures import Figures, Note
from beholder.report.items import ItemView
from beholder.report.load import Json
from beholder.report.repeats import RepeatView
from beholder.report.view import ReportView

RATIONALE_CHARS = 600
"""Longest rationale shown here; `report.html` has every word."""

MOST_TASKS, MOST_WORDS = 400, 80
"""Rows of the tasks' table, and items with the judge's words: a forge shows half a megabyte of text."""

_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "@": "&#64;",  # a forge would call that user
    **{char: f"\\{char}" for char in "\\`*_[]|~#$!"},
}
_TABLE = str.maketrans(_ESCAPES)

# Escapes do not stop a forge from linking a bare address: its parts must not look like one.
_ADDRESS = re.compile(r"(?i)\b(https?|ftp)://|\bwww\.")


def render_markdown(view: ReportView) -> str:
    """The report's text; every name and word that is not ours is escaped."""
    sections = [
        _head(view),
        _ranking(view),
        _steadiness(view),
        _differences(view),
        _criteria(view),
        _reasons(view),
        _groups(view),
        _people(view),
        _tasks(view),
        _words(view),
        _method(view),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def escape(text: object) -> str:
    """`text` as one line that a Markdown reader shows as it is, wherever in a line or table it stands."""
    line = " ".join(str(text).split())
    guarded = _ADDRESS.sub(lambda match: match[0].replace(":", "\0").replace(".", "\1"), line)
    return guarded.translate(_TABLE).replace("\0", "&#58;").replace("\1", "&#46;")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[int] = ()) -> list[str]:
    """A table of cells that are Markdown already; the columns `numeric` stand right."""
    right = set(numeric)
    rule = ["---:" if column in right else "---" for column in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def _head(view: ReportView) -> list[str]:
    lines = [f"# {escape(view.title)}: evaluation report", ""]
    lines += [f"> **{words.SCRIPTED}**", ""] if view.scripted else []
    for warning in view.warnings:
        details = "; ".join(escape(f"{who}: {text}" if who else text) for who, text in warning.details)
        lines += [f"> **{escape(warning.words)}** {details}".rstrip(), ""]
    scale = f" Scores range over {view.range}" if view.range else ""
    mark = f"; a task passes at {view.pass_at}." if scale and view.pass_at else "." if scale else ""
    return [*lines, f"{escape(view.lead)}{scale}{mark}", "", "Pictures, replies and prompts: `report.html`."]


def _ranking(view: ReportView) -> list[str]:
    passing = view.pass_at != ""
    common = view.common_tasks is not None
    head = ["Model", "Mean", "95% interval", "Coverage"]
    head += ["Passed"] * passing + ["Absent", "Unscored", "Bounds"]
    head += [f"On {view.common_tasks} common tasks"] * common + ["Cost"]
    rows = []
    for model in view.models:
        f = model.figures
        interval = f"none: {escape(f.why_none)}" if f.why_none else f.interval
        of = f"; mean of {f.mean_of}" if f.mean_of else ""
        row = [escape(model.name), f"**{f.mean}**", interval, f"{f.coverage} ({f.judged} of {f.planned}{of})"]
        row += [_with(f.pass_rate, f.pass_interval)] * passing
        row += [str(f.n_absent), str(f.n_unscored), f.bounds]
        if common:
            row.append(_with(model.common.mean, model.common.interval) if model.common else numbers.DASH)
        rows.append([*row, model.cost])
    return ["## Results", "", *table(head, rows, numeric=range(1, len(head)))]


def _with(value: str, interval: str) -> str:
    return value if interval == numbers.DASH else f"{value} {interval}"


def _steadiness(view: ReportView) -> list[str]:
    if not view.steadiness:
        return []
    head = [
        "Model",
        "Tasks",
        "Spread",
        "Verdict flips",
        "ICC of one",
        "ICC of the mean",
        "Near the pass mark",
    ]
    rows = [
        [
            escape(one.name),
            one.tasks,
            one.spread,
            _with(*one.flips) if one.flips else numbers.DASH,
            *(f"{value} {escape(interval)}".rstrip() for value, interval in (one.icc1, one.icck)),
            numbers.count(one.n_near),
        ]
        for one in view.steadiness
    ]
    return ["## Repeats", "", *table(head, rows, numeric=range(1, len(head)))]


def _differences(view: ReportView) -> list[str]:
    if view.differences is None:
        return []
    passing = view.pass_at != ""
    head = [
        "First",
        "Second",
        "Common",
        "Second less first",
        "95% interval",
        "p, corrected",
        "Better",
        "Worse",
        "Equal",
        "Detectable",
    ]
    head += ["Passes gained", "Passes lost"] * passing
    rows = []
    for pair in view.differences.pairs:
        one, passes = pair.difference, pair.passes
        interval = one.interval if one.interval != numbers.DASH else escape(one.why_none)
        row = [*map(escape, pair.names), numbers.count(one.tasks), f"**{one.difference}**", interval]
        row += [escape(one.p_value), str(one.better), str(one.worse), str(one.equal), one.detectable]
        gained = [passes.only_second, passes.only_first] if passes else [numbers.DASH] * 2
        rows.append([*row, *map(str, gained if passing else ())])
    lines = ["## Differences", "", *table(head, rows, numeric=range(2, len(head)))]
    return [*lines, "", escape(f"{view.differences.compared} {view.differences.method}")]


def _people(view: ReportView) -> list[str]:
    if view.people is None:
        return []
    several = view.people.several_people
    rows = [
        [
            escape(column.model),
            escape(column.name),
            escape(column.counts),
            figure.name,
            _with(figure.value, figure.interval or numbers.DASH),
            *([figure.one or numbers.DASH, figure.ceiling or numbers.DASH] if several else []),
        ]
        for column in view.people.columns
        for figure in column.figures
    ]
    head = ["Model", "Column", "Tasks", "Figure", "Judge and people"]
    head += ["Judge and one person", "Two people"] * several
    lines = ["## The judge against people", "", *table(head, rows, numeric=range(4, len(head)))]
    return [*lines, "", escape(" ".join([view.people.method, *view.people.notes]))]


def _criteria(view: ReportView) -> list[str]:
    if not view.criteria:
        return []
    head = ["Criterion", "Scale", *(escape(model.name) for model in view.models)]
    rows = (
        [
            escape(criterion.key),
            criterion.scale or numbers.DASH,
            *(
                _with(mean.mean, mean.interval) + (f" ({mean.of})" if mean.of else "")
                for mean in criterion.means
            ),
        ]
        for criterion in view.criteria
    )
    return [
        "## Criteria",
        "",
        "Means over scored tasks, with 95% intervals.",
        "",
        *table(head, rows, numeric=range(1, len(head))),
    ]


def _reasons(view: ReportView) -> list[str]:
    rows = [
        [escape(model.name), words.STATES[state], f"`{note.code}`", escape(note.words), str(n)]
        for model in view.models
        for state, pairs in (("absent", model.figures.absent), ("unscored", model.figures.unscored))
        for note, n in pairs
    ]
    if not rows:
        return ["## Absent and unscored", "", "None: every planned task is scored."]
    return [
        "## Absent and unscored",
        "",
        "Absent is the submission's fault; unscored is ours or the judge's, and has no number anywhere.",
        "",
        *table(["Model", "Outcome", "Reason", "Meaning", "Tasks"], rows, numeric=[4]),
    ]


def _groups(view: ReportView) -> list[str]:
    if not view.groups:
        return []
    lines = ["## Groups"]
    for group in view.groups:
        head = [escape(group.label), "Model", "Mean", "95% interval", "Passed", "Judged"]
        rows = ([escape(row.value), escape(row.model), *_group_figures(row.figures)] for row in group.rows)
        lines += ["", *table(head, rows, numeric=range(2, len(head)))]
    return lines


def _group_figures(figures: Figures) -> list[str]:
    judged = f"{figures.judged} of {figures.planned}"
    return [figures.mean, figures.interval, figures.pass_rate, judged]


def _tasks(view: ReportView) -> list[str]:
    head = ["Task", "Model", "Outcome", "Score", "Repeats", "Notes"]
    rows = (
        [
            escape(item.task_id),
            escape(item.model),
            words.STATES.get(item.state, item.state),
            item.score,
            " · ".join(item.repeat_scores),
            _notes(item),
        ]
        for item in view.items[:MOST_TASKS]
    )
    lines = ["## Tasks", "", *table(head, rows, numeric=[3])]
    if len(view.items) > MOST_TASKS:
        left = f"The first {MOST_TASKS} of {numbers.count(len(view.items))}; all are in `report.html`."
        lines += ["", left]
    return lines


def _notes(item: ItemView) -> str:
    parts = [escape(item.rests_on)] if item.state == "absent" and item.rests_on else []
    parts += [_reason(item.reason)] if item.reason else []
    parts += [escape(note.words) for note in item.warnings]
    parts += [escape(note.words) for note in item.flags]
    parts += [f"[picture]({item.thumbnail.url})"] if item.thumbnail else []
    return "; ".join(parts)


def _reason(note: Note) -> str:
    meaning = f": {escape(note.words)}" if note.words != note.code else ""
    return f"{escape(note.code)}{meaning}{' (' + escape(note.detail) + ')' if note.detail else ''}"


def _words(view: ReportView) -> list[str]:
    judged = [index for index in range(len(view.items)) if view.items.row(index).get("repeats")]
    if not judged:
        return []
    lines = ["## What the judge said"]
    if len(judged) > MOST_WORDS:
        judged = sorted(judged, key=lambda index: _lowest_first(view.items.row(index)))[:MOST_WORDS]
        lines += ["", f"Of the {MOST_WORDS} lowest scores; every word is in `report.html`."]
    for item in (view.items[index] for index in judged):
        title = f"{escape(item.task_id)}, {escape(item.model)}: {words.STATES.get(item.state, item.state)}"
        lines += ["", "<details>", f"<summary>{_in_html(title)}</summary>", ""]
        lines += [line for repeat in item.repeats for line in (_repeat(repeat), "")]
        lines += ["</details>"]
    return lines


def _lowest_first(row: Json) -> tuple[bool, float]:
    score = row.get("main_score")
    return (score is None, score or 0)


def _in_html(text: str) -> str:
    """Escaped Markdown for inside an HTML element, where backslashes would be shown."""
    return re.sub(r"\\(.)", lambda match: f"&#{ord(match[1])};", text)


def _repeat(repeat: RepeatView) -> str:
    if repeat.reason:
        return f"**Repeat {repeat.number}**, unscored: {_reason(repeat.reason)}"
    rationale = repeat.rationale
    if len(rationale) > RATIONALE_CHARS:
        rationale = rationale[:RATIONALE_CHARS].rstrip() + " …"
    said = escape(rationale) if rationale else "(no words)"
    return f"**Repeat {repeat.number}**, {repeat.score}: {said}"


def _method(view: ReportView) -> list[str]:
    rows = (
        [
            escape(fact.label),
            "<br>".join(
                f"{escape(who)}: {escape(value)}" if who else escape(value) for who, value in fact.values
            ),
        ]
        for fact in view.method
    )
    return [
        "## Method",
        "",
        words.FIGURES,
        "",
        *table(["", ""], rows),
        "",
        f"Made by beholder {escape(view.version)}.",
    ]
