"""`human_agreement.json` of an out-dir -> the section on how far the judge agrees with people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from beholder.report import numbers, words
from beholder.report.differences import signed
from beholder.report.load import Json, Run
from beholder.report.media import PictureView, pictures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """A figure of the judge and people's mean, with its interval, or why there is none.

    Attributes:
        one, ceiling: The mean over pairs of the judge and one person, and of two people, which is the most
            that the former can be expected to reach; empty where one person rated.
    """

    name: str
    value: str
    interval: str
    reason: str
    one: str
    ceiling: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A task that the judge and people see differently.

    Attributes:
        raters: What each person said, where several are named.
        thumb, url: The picture that was judged, small and as it is; None where there is none.
    """

    task_id: str
    judge: str
    human: str
    difference: str
    raters: str
    thumb: str | None
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView:
    """One rated column of one model.

    Attributes:
        counts: What was compared and what was left out, a sentence.
        values, table: The confusion table, rows people, columns judge; empty for numbers.
        cut: Values that nobody gave are left out of the table.
        disagreements: The worst first; `n_disagreements` counts them all.
    """

    model: str
    place: int
    name: str
    counts: str
    figures: tuple[FigureView, ...]
    values: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    disagreements: tuple[Disagreement, ...]
    cut: bool
    n_disagreements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleView:
    """The judge against people, for every model that was rated.

    Attributes:
        notes: What of the file was not used, a sentence each.
        several_people: Some column has more than one person's ratings.
    """

    method: str
    files: str
    notes: tuple[str, ...]
    several_people: bool
    columns: tuple[ColumnView, ...]


_FIGURES = (
    ("agreement", "Agreement"),
    ("kappa", "Kappa"),
    ("pearson", "Correlation"),
    ("spearman", "Rank correlation"),
    ("bias", "Bias"),
)
_ENDS = {"kappa": (-1, 0, 1), "pearson": (-1, 0, 1), "spearman": (-1, 0, 1), "bias": (0,)}
SHOWN, _NAMED = 8, 5


def people_of(runs: Sequence[Run]) -> PeopleView | None:
    """The section; None where nobody rated anything."""
    rated = [(place, run) for place, run in enumerate(runs) if run.human.get("columns")]
    if not rated:
        return None
    return PeopleView(
        method=str(rated[0][1].human.get("method") or ""),
        files=", ".join(dict.fromkeys(str(run.human.get("file") or "") for _, run in rated)),
        notes=tuple(
            dict.fromkeys(note for _, run in rated for note in [*_outdated(run), *notes_of(run.human)])
        ),
        several_people=any(
            column.get("human_human") for _, run in rated for column in run.human["columns"].values()
        ),
        columns=tuple(
            _column(run, place, str(name), column)
            for place, run in rated
            for name, column in run.human["columns"].items()
        ),
    )


def _outdated(run: Run) -> list[str]:
    """Whether the run's scores changed since people's ratings were set against them."""
    then = run.human.get("of") or {}
    if all(run.summary.get(key) == value for key, value in then.items()):
        return []
    return [
        f"Of {words.shortened(run.name)}'s scores before they changed: `beholder report` with --human sets "
        "people against those of now."
    ]


def notes_of(human: Json) -> list[str]:
    """What of a ratings' file was not used: tasks that the run does not have, and columns."""
    notes = []
    tasks = human.get("tasks") or {}
    unknown, n = tasks.get("unknown") or [], int(tasks.get("unknown_count") or 0)
    if n:
        more = (
            f" and {numbers.plural(n - len(unknown[:_NAMED]), 'other')}" if n > len(unknown[:_NAMED]) else ""
        )
        named = ", ".join(words.shortened(str(task)) for task in unknown[:_NAMED])
        notes.append(f"{numbers.plural(n, 'rated task')} not in the run: {named}{more}.")
    if ignored := human.get("ignored_columns"):
        named = ", ".join(words.shortened(str(name)) for name in ignored[:_NAMED])
        more = f" and {len(ignored) - _NAMED} more" if len(ignored) > _NAMED else ""
        notes.append(f"{numbers.plural(len(ignored), 'column')} not used: {named}{more}.")
    return notes


def _column(run: Run, place: int, name: str, column: Json) -> ColumnView:
    confusion = column.get("confusion") or {}
    found = column.get("disagreements") or {}
    worst = (found.get("tasks") or [])[:SHOWN]
    given = _given(confusion.get("table") or ())
    pictures = _pictures(run, {str(one.get("task_id") or "") for one in worst})
    return ColumnView(
        model=run.name,
        place=place,
        name=name,
        counts=_counts(column),
        figures=tuple(
            _figure(column, key, title)
            for key, title in _FIGURES
            if column.get(key) and not (key == "spearman" and column.get("kind") == "binary")
        ),
        values=tuple(_value(confusion["values"][at], name) for at in given),
        table=tuple(tuple(confusion["table"][at][other] for other in given) for at in given),
        disagreements=tuple(_disagreement(one, name, pictures) for one in worst),
        cut=len(given) < len(confusion.get("table") or ()),
        n_disagreements=int(found.get("count") or 0),
    )


def _disagreement(one: Json, name: str, pictures: Mapping[str, PictureView]) -> Disagreement:
    task = str(one.get("task_id") or "")
    raters: Mapping[str, float] = one.get("raters") or {}
    said = "; ".join(f"{rater} {_value(value, name)}" for rater, value in raters.items())
    picture = pictures.get(task)
    return Disagreement(
        task_id=task,
        judge=_value(one.get("judge"), name),
        human=_value(one.get("human"), name),
        difference="" if name == "pass" else signed(one.get("difference"), 2),
        raters=said if len(raters) > 1 else "",
        thumb=picture.thumb if picture else None,
        url=picture.url if picture else None,
    )


def _pictures(run: Run, tasks: Collection[str]) -> dict[str, PictureView]:
    """The first picture of each of these tasks whose file is there."""
    rows = (row for row in run.rows if row.get("task_id") in tasks)
    views = ((row["task_id"], pictures_of(run, row)) for row in rows)
    return {task: found for task, view in views if (found := next((one for one in view if one.url), None))}


def _given(table: Sequence[Sequence[int]]) -> list[int]:
    """Places of the values that anybody gave; a scale of 21 steps is mostly empty. Of two values both."""
    if len(table) <= 2:
        return list(range(len(table)))
    return [at for at, line in enumerate(table) if any(line) or any(other[at] for other in table)]


def _figure(column: Json, key: str, title: str) -> FigureView:
    figure = column[key]
    percent = key == "agreement"
    weights = f" ({figure['weights']} weights)" if figure.get("weights") not in (None, "none") else ""
    among = column.get("human_human") or {}
    one, ceiling = ((among.get(pairs) or {}).get(key) for pairs in ("judge_mean", "ceiling"))
    ci95, ends = figure.get("ci95"), _ENDS.get(key, ())

    def show(value: float | None) -> str:
        text = numbers.percent(value) if percent else numbers.fixed(value, 2, marks=ends)
        return text.replace("-", "−")

    interval = numbers.percent_interval(ci95) if percent else numbers.interval(ci95, 2, ends=ends)
    return FigureView(
        name=title + weights,
        value=show(figure.get("value")) if figure.get("value") is not None else "undefined",
        interval=interval.replace("-", "−") if ci95 else "",
        reason=str(figure.get("reason") or ""),
        one="" if one is None else show(one),
        ceiling="" if ceiling is None else show(ceiling),
    )


def _counts(column: Json) -> str:
    parts = [f"{numbers.plural(int(column.get('n') or 0), 'task')} compared"]
    if column.get("blanks"):
        parts.append(f"{numbers.plural(int(column['blanks']), 'blank')} left out")
    not_judged: Mapping[str, int] = column.get("not_judged") or {}
    parts += [f"{n} {outcome}" for outcome, n in not_judged.items() if n]
    if column.get("tied"):
        parts.append(f"{column['tied']} tied")
    return ", ".join(parts)


def _value(value: object, name: str) -> str:
    if name == "pass" and value in (0, 1):
        return "pass" if value else "fail"
    return numbers.plain(value, 2) if isinstance(value, int | float) else numbers.DASH
