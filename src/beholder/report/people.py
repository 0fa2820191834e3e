"""`human_agreement.json` of an out-dir -> the section on how far the judge agrees with people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from beholder.report import numbers
from beholder.report.differences import signed
from beholder.report.load import Json, Run
from beholder.report.media import PictureView, pictures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureView:
    """A figure with its interval, or why there is none."""

    name: str
    value: str
    interval: str
    reason: str
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
    n_disagreements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleView:
    """The judge against people, for every model that was rated."""

    method: str
    files: str
    columns: tuple[ColumnView, ...]


_FIGURES = (("agreement", "Agreement"), ("kappa", "Kappa"), ("pearson", "Correlation"), ("bias", "Bias"))
SHOWN = 8


def people_of(runs: Sequence[Run]) -> PeopleView | None:
    """The section; None where nobody rated anything."""
    rated = [(place, run) for place, run in enumerate(runs) if run.human.get("columns")]
    if not rated:
        return None
    return PeopleView(
        method=str(rated[0][1].human.get("method") or ""),
        files=", ".join(dict.fromkeys(str(run.human.get("file") or "") for _, run in rated)),
        columns=tuple(
            _column(run, place, str(name), column)
            for place, run in rated
            for name, column in run.human["columns"].items()
        ),
    )


def _column(run: Run, place: int, name: str, column: Json) -> ColumnView:
    confusion = column.get("confusion") or {}
    found = column.get("disagreements") or {}
    worst = (found.get("tasks") or [])[:SHOWN]
    pictures = _pictures(run, {str(one.get("task_id") or "") for one in worst})
    return ColumnView(
        model=run.name,
        place=place,
        name=name,
        counts=_counts(column),
        figures=tuple(_figure(column, key, title) for key, title in _FIGURES if column.get(key)),
        values=tuple(_value(value, name) for value in confusion.get("values") or ()),
        table=tuple(tuple(line) for line in confusion.get("table") or ()),
        disagreements=tuple(_disagreement(one, name, pictures) for one in worst),
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


def _figure(column: Json, key: str, title: str) -> FigureView:
    figure = column[key]
    percent = key == "agreement"
    weights = f" ({figure['weights']} weights)" if figure.get("weights") not in (None, "none") else ""
    ceiling = ((column.get("human_human") or {}).get("ceiling") or {}).get(key)
    ci95 = figure.get("ci95")
    show = numbers.percent if percent else _two_digits
    return FigureView(
        name=title + weights,
        value=show(figure.get("value")) if figure.get("value") is not None else "undefined",
        interval=(numbers.percent_interval(ci95) if percent else numbers.interval(ci95, 2)) if ci95 else "",
        reason=str(figure.get("reason") or ""),
        ceiling="" if ceiling is None else show(ceiling),
    )


def _two_digits(value: float | None) -> str:
    return numbers.fixed(value, 2)


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
