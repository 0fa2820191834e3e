"""A comparison as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from beholder.report import numbers
from beholder.report.people import notes_of
from beholder.report.terminal import results_table, visible

Json = Mapping[str, Any]
SHOWN_ITEMS = 20
DETAILED = 3
"""Pairs whose groups and tasks are listed: those of eight runs' 28 would be a thousand lines."""
WIDE = 120
"""Columns of a terminal that hold a pair's figures in one line; with fewer they are two tables."""


def comparison_tables(document: Json, *, plain: bool = False, width: int = WIDE) -> Iterator[RenderableType]:
    """What differs and warns, each run over its own tasks, all pairs, and per pair its groups and items.

    Args:
        document: Of a `Comparison`.
        plain: For a pipe or a log: no colour, no lines.
        width: Of the terminal, in columns.
    """
    for one in document["differs"]:
        yield Text(f"Compared although it is {visible(one['detail'])}", style="" if plain else "bold yellow")
    for one in document["warnings"]:
        yield Text(f"Note: {visible(one['detail'])}", style="" if plain else "yellow")
    yield _own(document, plain=plain)
    title = "On the tasks in common"
    if width >= WIDE:
        yield _pairs(document, title, [*_MEANS, *_TESTS], plain=plain)
    else:
        yield _pairs(document, title, _MEANS, plain=plain)
        yield _pairs(document, "", _TESTS, plain=plain)
    yield Text("Differences are second less first. " + document["test_method"], style="" if plain else "dim")
    if len(document["pairs"]) > DETAILED:
        yield Text(
            f"Groups and tasks of {len(document['pairs'])} pairs: compare two runs, or write a page with "
            "-o compare.html."
        )
        return
    for pair in document["pairs"]:
        for label, values in pair["groups"].items():
            yield _group(pair, label, values, document, plain=plain)
        yield _items(pair, document, plain=plain)


_SHARES = ("Tasks", "Left out", "Agreement", "People agree")
_RATER_FIGURES = ("Kappa", "Pearson", "Bias")


def human_tables(
    agreements: Mapping[str, Json], *, plain: bool = False, width: int = WIDE
) -> Iterator[RenderableType]:
    """One line per run and rated column: the judge against people; two tables where a terminal is narrow.

    Args:
        agreements: Documents of `human_agreement`, by run.
        plain, width: As for `comparison_tables`.
    """
    title = "The judge against people"
    if width >= WIDE:
        yield _human_table(agreements, title, [*_SHARES[:3], *_RATER_FIGURES, *_SHARES[3:]], plain=plain)
    else:
        yield _human_table(agreements, title, _SHARES, plain=plain)
        yield _human_table(agreements, "", _RATER_FIGURES, plain=plain)


def _human_table(agreements: Mapping[str, Json], title: str, columns: Sequence[str], *, plain: bool) -> Table:
    table = _table(title, plain=plain)
    for name in ("Run", "Column"):
        table.add_column(name, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=name != "Left out")
    for run, agreement in agreements.items():
        for column, one in agreement["columns"].items():
            people = one["human_human"]
            cells = {
                "Tasks": numbers.count(one["n"]),
                "Left out": _left_out(one),
                "Agreement": _share(one["agreement"]),
                "Kappa": _figure(one["kappa"]),
                "Pearson": _figure(one["pearson"]),
                "Bias": _figure(one["bias"]),
                "People agree": numbers.percent(people["ceiling"]["agreement"] if people else None),
            }
            table.add_row(*map(Text, [_name(run), _name(column), *(cells[name] for name in columns)]))
    return table


def _left_out(column: Json) -> str:
    """What of the ratings is not compared: blank cells, tasks without a judged value, ties."""
    counts = {"blank": column["blanks"], **column["not_judged"], "tied": column["tied"]}
    return ", ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "0"


def human_notes(agreements: Mapping[str, Json]) -> list[str]:
    """What of a ratings' file was not used, each sentence once."""
    return [
        visible(note) for note in dict.fromkeys(note for one in agreements.values() for note in notes_of(one))
    ]


def _name(text: str) -> str:
    """A name in a length that a table can hold."""
    return visible(text, 120)


def _own(document: Json, *, plain: bool) -> Table:
    """Each run over its own tasks, which stands beside the means of the common ones."""
    scale = {key: document[key] for key in ("score_range", "pass_at")}
    return results_table({name: {**one, **scale} for name, one in document["models"].items()}, plain=plain)


_MEANS = ("Common", "Means", "Difference [95%]")
_TESTS = ("p", "p Holm", "Detectable", "Passes", "p McNemar")


def _pairs(document: Json, title: str, columns: Sequence[str], *, plain: bool) -> Table:
    table = _table(title, plain=plain)
    table.add_column("First / second", overflow="fold", min_width=12)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for pair in document["pairs"]:
        cells = _pair_cells(pair, document)
        names = f"{_name(pair['a'])} / {_name(pair['b'])}"
        table.add_row(*map(Text, [names, *(cells[name] for name in columns)]))
    return table


def _pair_cells(pair: Json, document: Json) -> dict[str, str]:
    """A pair's figures by the column's name."""
    digits = numbers.digits_for(document["score_range"])
    difference, passes, common = pair["difference"], pair["passes"], pair["means"]["common"]
    return {
        "Common": f"{difference['tasks']}",
        "Means": f"{numbers.fixed(common['a'], digits)} / {numbers.fixed(common['b'], digits)}",
        "Difference [95%]": _difference(difference, digits),
        "p": numbers.p_value(difference["p_value"]),
        "p Holm": numbers.p_value(difference["p_holm"]),
        "Detectable": numbers.detectable(
            difference["smallest_detectable"]["difference"], document["score_range"]
        ),
        "Passes": _passes(passes),
        "p McNemar": numbers.p_value(passes["p_value"]) if passes else numbers.DASH,
    }


def _group(pair: Json, label: str, values: Json, document: Json, *, plain: bool) -> Table:
    table = _table(f"{_name(pair['a'])} / {_name(pair['b'])}, by {_name(label)}", plain=plain)
    table.add_column(_name(label), overflow="fold")
    for name in ("Common", "Difference [95%]", "p", "p Holm", "Passes"):
        table.add_column(name, justify="right", no_wrap=True)
    digits = numbers.digits_for(document["score_range"])
    for value, one in values.items():
        difference = one["difference"]
        cells = (
            _name(value) or numbers.DASH,
            str(difference["tasks"]),
            _difference(difference, digits),
            numbers.p_value(difference["p_value"]),
            numbers.p_value(difference["p_holm"]),
            _passes(one["passes"]),
        )
        table.add_row(*map(Text, cells))
    return table


def _items(pair: Json, document: Json, *, plain: bool) -> Table:
    told = [item for item in pair["items"] if item["kind"] != "equal"]
    more = len(told) - SHOWN_ITEMS
    rest = f"; {more} more with --json" if more > 0 else ""
    equal = len(pair["items"]) - len(told)
    title = f"{_name(pair['a'])} / {_name(pair['b'])}: tasks that differ ({equal} equal{rest})"
    table = _table(title, plain=plain)
    table.add_column("Task", overflow="fold", min_width=8)
    table.add_column("", no_wrap=True)
    for name in (pair["a"], pair["b"]):
        table.add_column(_name(name), justify="right", overflow="fold")
    table.add_column("Difference", justify="right", no_wrap=True)
    digits = numbers.digits_for(document["score_range"])
    for item in told[:SHOWN_ITEMS]:
        cells = (
            _name(item["task_id"]),
            item["kind"],
            _side(item["a"], document, digits),
            _side(item["b"], document, digits),
            numbers.signed(item["difference"], digits),
        )
        # What is missing is greyed, and says why.
        table.add_row(*map(Text, cells), style="dim" if item["kind"] == "missing" and not plain else None)
    return table


def _side(side: Json, document: Json, digits: int) -> str:
    if side["main_score"] is None:
        return f"{numbers.DASH} {side['reason'] or side['outcome']}"
    score = numbers.score(
        side["main_score"],
        digits,
        ends=document["score_range"] or (),
        pass_at=document["pass_at"],
        passed=side["pass"],
    )
    verdict = "" if side["pass"] is None else " pass" if side["pass"] else " fail"
    absent = f" ({side['reason']})" if side["outcome"] == "absent" else ""
    return f"{score}{verdict}{absent}"


def _difference(figures: Json, digits: int) -> str:
    if figures["ci95"] is None:
        return numbers.signed(figures["mean"], digits)
    return f"{numbers.signed(figures['mean'], digits)} {numbers.interval(figures['ci95'], digits)}"


def _passes(passes: Json | None) -> str:
    """How many pass in the first and in the second, and what flipped each way."""
    if passes is None:
        return numbers.DASH
    first, second = passes["both"] + passes["only_a"], passes["both"] + passes["only_b"]
    return f"{first} / {second} (-{passes['only_a']} +{passes['only_b']})"


def _share(figure: Json) -> str:
    if figure["value"] is None:
        return numbers.DASH
    return f"{numbers.percent(figure['value'])} {numbers.percent_interval(figure['ci95'])}"


def _figure(figure: Json) -> str:
    if figure["value"] is None:
        return "undefined"
    ends = (-1, 0, 1)  # neither full agreement nor none is printed for what is only near it
    interval = "" if figure["ci95"] is None else f" {numbers.interval(figure['ci95'], 2, ends=ends)}"
    return f"{numbers.fixed(figure['value'], 2, marks=ends)}{interval}"


def _table(title: str, *, plain: bool) -> Table:
    return Table(
        box=None if plain else box.SIMPLE_HEAD,
        header_style="" if plain else "bold",
        pad_edge=False,
        collapse_padding=True,
        title=Text(title) if title else None,
        title_style="" if plain else "bold",
        title_justify="left",
    )
