"""Plots: the same bytes each time, text as text, colours of the page, every dot an item."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from beholder.report import Run, build_view
from beholder.report.plots import Plot, build_plots
from beholder.report.plots.canvas import short
from tests.fakes import outdir


def run_of(name: str, rows: list[dict[str, Any]], **more: Any) -> Run:
    return Run(name=name, rows=rows, summary=outdir.summary(name, rows, **more))


def scored(task: str, name: str, *totals: int, **more: Any) -> dict[str, Any]:
    """A row whose repeats have these totals of 100."""
    asked = []
    for number, total in enumerate(totals, 1):
        values = (
            min(30, total),
            min(30, max(0, total - 30)),
            min(20, max(0, total - 60)),
            max(0, total - 80),
        )
        asked.append(outdir.repeat(number, values))
    return outdir.row(task, name, asked, **more)


def plots_of(*runs: Run) -> dict[str, Plot]:
    return {plot.kind: plot for plot in build_plots(build_view(list(runs)))}


@pytest.fixture(scope="module")
def two() -> tuple[Run, Run]:
    first = [scored(f"t{n}", "a", 60 + n, 64 + n, labels={"level": f"L{n % 2}"}) for n in range(8)]
    second = [scored(f"t{n}", "b", 40 + 6 * n, labels={"level": f"L{n % 2}"}) for n in range(7)]
    return run_of("a", first), run_of("b <i>$x$", second)


def test_the_same_rows_give_the_same_bytes(two: tuple[Run, Run]) -> None:
    """Names of parts depend on nothing but the plot."""
    assert [plot.svg for plot in plots_of(*two).values()] == [plot.svg for plot in plots_of(*two).values()]


def test_a_plot_has_no_style_script_or_address(two: tuple[Run, Run]) -> None:
    """The page's policy would stop them; colours are classes of the stylesheet."""
    for plot in plots_of(*two).values():
        assert not re.search(r"style|<script|http|xlink|#0{4}|<a ", plot.svg)
        colours = set(re.findall(r"\b[fs]-([a-z]+\d?)", " ".join(re.findall(r'class="([^"]*)"', plot.svg))))
        assert colours <= {"ink", "muted", "line", "surface", "passed", "failed", "flip", "m0", "m1"}


def test_every_class_of_a_colour_is_in_the_stylesheet() -> None:
    """A stand-in without a rule would be drawn black, in the dark too."""
    from beholder.report.html import STYLES, TEMPLATES
    from beholder.report.svg import _CLASSES

    style = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in STYLES)
    assert [name for name in _CLASSES.values() if name != "accent" and f".f-{name}" not in style] == []


def test_text_is_text_and_names_are_escaped(two: tuple[Run, Run]) -> None:
    """Names with markup or dollar signs are drawn as they are."""
    svg = plots_of(*two)["distribution"].svg
    texts = [element.text for element in ET.fromstring(svg).iter("text")]
    assert "b <i>$x$" in texts
    assert "mean 65.5" in texts


def test_a_dot_is_an_item_once(two: tuple[Run, Run]) -> None:
    """The scores' plot has a point for each task of each model; a pair's has one for each common task."""
    plots = plots_of(*two)
    points = re.findall(r'data-item="([^"]+)"', plots["distribution"].svg)
    assert sorted(map(int, points)) == list(range(15))
    pairs = re.findall(r'data-item="([^"]+)"', plots["pair"].svg)
    assert len(pairs) == 7
    assert all(re.fullmatch(r"\d+:1", pair) for pair in pairs)


def test_names_of_parts_differ_between_plots(two: tuple[Run, Run]) -> None:
    """Two plots of a page never share an id, and every reference has its target."""
    seen: set[str] = set()
    for plot in plots_of(*two).values():
        ids = set(re.findall(r' id="([^"]+)"', plot.svg))
        assert not ids & seen
        assert set(re.findall(r'href="#([^"]+)"', plot.svg)) <= ids
        seen |= ids


def test_what_a_plot_shows_is_said_in_words(two: tuple[Run, Run]) -> None:
    """Who does not see it is told the range, the better and worse, the means."""
    plots = plots_of(*two)
    labels = {kind: ET.fromstring(plot.svg).get("aria-label") or "" for kind, plot in plots.items()}
    assert "a: 8 tasks from 62 to 69" in labels["distribution"]
    assert "a is better in 3 and worse in 4 of 7 common tasks" not in labels["pair"]
    assert re.search(r"a is better in \d and worse in \d of 7 common tasks", labels["pair"])
    assert "Mean score by level" in labels["groups"]
    assert all(ET.fromstring(plot.svg).get("role") == "img" for plot in plots.values())


def test_flips_of_repeats_are_counted() -> None:
    """A task whose repeats pass and fail is ringed and said; a steady one is not."""
    rows = [
        scored("steady", "a", 60, 60, 60),
        scored("wild", "a", 20, 60, 100),
        scored("near", "a", 58, 60, 62),
    ]
    plot = plots_of(run_of("a", rows))["repeats"]
    assert "In 2 tasks (ringed) some repeats pass and others fail." in plot.note
    assert "largest 80" in (ET.fromstring(plot.svg).get("aria-label") or "")
    once = [scored("t", "a", 50)]
    assert "repeats" not in plots_of(run_of("a", once))


def test_thousands_of_tasks_are_counted_instead_of_drawn() -> None:
    """Bars and bubbles, no dot per task, and a picture that stays small."""
    runs = [
        run_of(name, [scored(f"t{n}", name, (n * step) % 101, (n * 3) % 101) for n in range(1200)])
        for name, step in (("a", 7), ("b", 11))
    ]
    for plot in plots_of(*runs).values():
        assert "data-item" not in plot.svg
        assert len(plot.svg) < 250_000


def test_without_a_number_there_is_no_plot() -> None:
    """Nothing is drawn of a run in which nothing was scored."""
    row = outdir.row("t", "a", outcome="unscored", reason="timeout")
    assert plots_of(run_of("a", [row])) == {}


def test_a_score_without_a_scale_is_drawn_over_its_own_range() -> None:
    """Older summaries say no range; equal scores have some room around them."""
    rows = [scored(f"t{n}", "a", 50) for n in range(3)]
    plots = plots_of(run_of("a", rows, score_range=None, pass_at=None, criteria={}, groups={}))
    assert "dashed line" not in plots["distribution"].note
    assert "criteria" not in plots


def test_any_script_and_control_characters_are_names(tmp_path: Path) -> None:
    """Korean, an emoji, a null byte and half a surrogate pair draw without a warning."""
    name = "지도 🗺 \x00\ud800"
    rows = [scored(f"t{n}", name, 50 + n, labels={"지역": f"서울{n % 2}\x1b"}) for n in range(4)]
    svg = plots_of(run_of(name, rows))["groups"].svg
    assert "서울0\ufffd" in svg


def test_criteria_that_nobody_was_scored_on_have_no_plot() -> None:
    """Four absent tasks: no empty frame."""
    rows = [outdir.row(f"t{n}", "m", outcome="absent", reason="missing") for n in range(4)]
    view = build_view([Run(name="m", rows=rows, summary=outdir.summary("m", rows))])
    assert "criteria" not in {plot.kind for plot in build_plots(view)}


@pytest.mark.parametrize(
    ("name", "most", "text"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("가나다", 6, "가나다"),
        ("가나다라", 6, "가나…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_a_name_is_cut_by_the_room_it_takes(name: str, most: int, text: str) -> None:
    """Wide letters take two places, marks above a letter none."""
    assert short(name, most) == text
