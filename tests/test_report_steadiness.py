"""How steady the judge is, as the page tells it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs

import pytest
from scipy import stats

from beholder.report import Run, build_view
from beholder.report.html import render_html
from beholder.report.markdown import render_markdown
from beholder.report.steadiness import _needed
from beholder.summary.figures import Scale, figures_of
from beholder.summary.repeats import repeat_figures
from tests.fakes import outdir

SCALE = Scale(low=0, high=100, pass_at=60, criteria={})
NAME = "a & <b>"


def run_of(tasks: dict[str, list[int]]) -> Run:
    """Repeats by task, each a score of 100; the summary's `repeats` are those of a real summary."""
    rows: list[dict[str, Any]] = []
    for task, scores in tasks.items():
        values = [
            (min(30, s), min(30, max(0, s - 30)), min(20, max(0, s - 60)), max(0, s - 80)) for s in scores
        ]
        rows.append(outdir.row(task, NAME, [outdir.repeat(n, one) for n, one in enumerate(values, 1)]))
    figures = repeat_figures([figures_of(row) for row in rows], 3, SCALE)
    return Run(name=NAME, rows=rows, summary=outdir.summary(NAME, rows, repeats=figures))


CASE = {"even": [60, 60, 60], "wide": [20, 60, 100], "near": [58, 60, 62], "x" * 200: [95, 96, 97]}


def test_equal_means_are_told_apart_by_their_spread() -> None:
    """60 60 60 and 20 60 100 have one mean; two of four verdicts flip; the near tasks are listed."""
    (one,) = build_view([run_of(CASE)]).steadiness
    assert one.tasks == "4"
    assert one.spread == "10.8"  # (0 + 40 + 2 + 1) / 4
    assert one.flips is not None
    assert one.flips[0] == "2 of 4"
    assert one.n_near == 3
    assert {near.task_id: (near.repeats, near.flips) for near in one.near} == {
        "even": ("60 · 60 · 60", False),
        "near": ("58 · 60 · 62", True),
        "wide": ("20 · 60 · 100", True),
    }


def test_the_icc_is_that_of_the_analysis_of_variance() -> None:
    """By scipy's F over tasks: (F - 1) / (F + k - 1) and (F - 1) / F, and the same at the ends of F."""
    (one,) = build_view([run_of(CASE)]).steadiness
    k, n = 3, len(CASE)
    f = stats.f_oneway(*CASE.values()).statistic
    freedom = (n - 1, n * (k - 1))
    ends = [f / stats.f.ppf(0.975, *freedom), f / stats.f.ppf(0.025, *freedom)]
    expected = [[(x - 1) / (x + k - 1) for x in (f, *ends)], [(x - 1) / x for x in (f, *ends)]]
    said = [
        [float(number) for number in re.findall(r"-?[\d.]+", f"{value} {interval}".replace("−", "-"))]
        for value, interval in (one.icc1, one.icck)
    ]
    for got, wanted in zip(said, expected, strict=True):
        assert got == pytest.approx(wanted, abs=0.00501)
    assert one.k == ""  # the three asked for; else it is said
    gap = build_view([run_of({**CASE, "gap": [50, 52]})]).steadiness[0]
    assert gap.k == "2.79"


def test_links_lead_to_the_tasks_whatever_they_are_called() -> None:
    """The address holds the whole name, the text a part of it."""
    long = "x" * 50 + " & #"
    page = render_html(build_view([run_of({long: [59, 60, 61], "even": [60, 60, 60], "far": [10, 20, 15]})]))
    links = [parse_qs(one.replace("&amp;", "&")) for one in re.findall(r'class="u" href="#([^"]+)"', page)]
    assert {"task": [long], "model": [NAME]} in links
    assert f">{'x' * 39}…</a>" in page


def test_repeats_needed_are_said_once_where_one_suffices() -> None:
    """In the scale's own units, without idle zeros; a judge that never differs needs one for the finest."""
    sure = build_view([run_of({"a": [60, 60, 60], "b": [70, 70, 70]})]).steadiness[0]
    assert sure.needed == "1 for ±1"
    wide = build_view([run_of(CASE)]).steadiness[0].needed
    assert [part.split("±")[1] for part in wide.split(", ")] == ["10", "5", "2", "1"]
    share = {"half_width": [{"half_width": 0.05, "repeats": 9}, {"half_width": 0.1, "repeats": 1}]}
    assert _needed(share) == "1 for ±0.1, 9 for ±0.05"


def test_without_repeats_there_is_no_section() -> None:
    """One judgement a task: nothing to say, no link to it."""
    view = build_view([run_of({"a": [50], "b": [70]})])
    assert view.steadiness == ()
    assert 'href="#repeats"' not in render_html(view)
    assert "## Repeats" not in render_markdown(view)


def test_no_spread_at_all_is_undefined_and_says_why() -> None:
    """All repeats of all tasks equal: no ICC, and the reason stands in its place."""
    (one,) = build_view([run_of({"a": [70, 70, 70], "b": [70, 70, 70]})]).steadiness
    assert one.icc1[0] == "undefined"
    assert one.icc1[1] != ""
    assert "undefined" in render_markdown(build_view([run_of({"a": [70, 70], "b": [70, 70]})]))
