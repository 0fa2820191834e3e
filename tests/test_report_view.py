"""The view holds what the rows and summaries say, ranked and in words, and makes nothing up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beholder.report import Run, build_view, load_run
from beholder.report.figures import bar
from beholder.report.html import render_html
from beholder.report.markdown import render_markdown
from tests.fakes import outdir


def run_of(rows: list[dict[str, Any]], name: str = "atlas", **more: Any) -> Run:
    return Run(name=name, rows=rows, summary=outdir.summary(name, rows, **more))


@pytest.fixture
def varied(tmp_path: Path) -> Run:
    return load_run(outdir.write_varied(tmp_path / "atlas"))


def test_models_are_ranked_by_their_mean_and_the_unknown_is_last() -> None:
    """The best mean stands first; a model without a mean stands last and shows a dash."""
    rows = outdir.varied_rows("x")[:1]
    runs = [run_of(rows, name, mean=mean) for name, mean in (("a", 40.0), ("b", None), ("c", 90.0))]
    view = build_view(runs)
    assert [(model.name, model.figures.mean) for model in view.models] == [
        ("c", "90.0"),
        ("a", "40.0"),
        ("b", "–"),
    ]


def test_a_report_over_nothing_is_misuse() -> None:
    """There is no report without a run."""
    with pytest.raises(ValueError, match="at least one run"):
        build_view([])


def test_a_criterion_of_some_tasks_says_of_how_many(varied: Run) -> None:
    """Tasks may have criteria of their own; where a mean is of all scored tasks nothing is said."""
    scored = varied.summary["scored"]
    criteria = {key: {**one, "n": scored} for key, one in varied.summary["criteria"].items()}
    criteria["symbols"]["n"] = 2
    run = replace(varied, summary={**varied.summary, "criteria": criteria})
    view = build_view([run])
    assert {one.key: one.means[0].of for one in view.criteria if one.means[0].of} == {
        "symbols": f"2 of {scored} tasks"
    }
    assert f"(2 of {scored} tasks)" in render_markdown(view)
    assert f'<span class="under">2 of {scored} tasks</span>' in render_html(view)


def test_a_temperature_left_to_the_vendor_is_told(varied: Run) -> None:
    """What was asked of the judge is said, be it nothing."""
    for given, said in ((None, "temperature of the vendor's default"), (0, "temperature 0")):
        judge = {"model": "openai/judge-1", "temperature": given, "base_url": None}
        facts = {
            fact.label: fact.values
            for fact in build_view([replace(varied, manifest={"judge": judge})]).method
        }
        assert facts["Judge settings"] == (("", said),)


def test_absent_tasks_that_are_left_out_are_told(varied: Run) -> None:
    """Of how many the mean is, and bounds in which an absent one counts as worst: nobody gains by failing."""
    summary = {**varied.summary, "absent": {"missing": 1}, "unscored": {}, "scored": 5, "planned": 6}
    summary |= {"mean": 80.0, "n": 5, "mean_bounds": [66.7, 66.7], "coverage": 1.0}
    run = replace(varied, summary=summary)
    view = build_view([run])
    figures = view.models[0].figures
    assert (figures.mean_of, figures.bounded, figures.bounds) == ("5", True, "[66.7, 66.7]")
    assert "6 of 6, mean of 5" in render_html(view)
    assert ">bounds [66.7, 66.7]<" in render_html(view)
    assert "(6 of 6; mean of 5)" in render_markdown(view)
    counted = {**summary, "n": 6, "mean": 66.7}
    figures = build_view([replace(varied, summary=counted)]).models[0].figures
    assert (figures.mean_of, figures.bounded) == ("", False)


def test_every_outcome_is_a_state_of_its_own(varied: Run) -> None:
    """Passed, failed, absent and unscored are four different things, counted apart."""
    view = build_view([varied])
    assert dict(view.states) == {"passed": 4, "failed": 1, "absent": 1, "unscored": 1}
    assert [(part.state, part.n) for part in view.models[0].states] == list(view.states)
    assert sum(part.width for part in view.models[0].states) == pytest.approx(100, abs=0.05)


def test_figures_are_the_summarys(varied: Run) -> None:
    """Mean, interval, bounds, coverage and reasons come from the summary, not from counting again."""
    summary = {
        **varied.summary,
        "mean": 12.34,
        "ci95": [10.0, 20.0],
        "coverage": 0.5,
        "absent": {"empty": 3, "missing": 9},
    }
    figures = build_view([Run(name="atlas", rows=varied.rows, summary=summary)]).models[0].figures
    assert (figures.mean, figures.interval, figures.coverage) == ("12.3", "[10.0, 20.0]", "50%")
    assert [(note.code, n) for note, n in figures.absent] == [("missing", 9), ("empty", 3)]
    assert figures.n_absent == 12


def test_a_summary_that_says_little_gives_dashes() -> None:
    """Keys that are not there give no number: no mean, no interval, no cost, no bar."""
    view = build_view([Run(name="x", rows=[], summary={"model": "x"})])
    figures = view.models[0].figures
    assert {
        figures.mean,
        figures.interval,
        figures.bounds,
        figures.coverage,
        figures.pass_rate,
        figures.planned,
    } == {"–"}
    assert figures.bar.mean is None
    assert view.models[0].cost == "–"
    assert (view.criteria, view.groups, list(view.items)) == ((), (), [])


def test_a_cost_is_never_made_up(varied: Run) -> None:
    """An unknown price is a dash; a known one comes from the summary, else from the run's record."""
    assert build_view([varied]).models[0].cost == "–"
    assert build_view([run_of(list(varied.rows), cost_usd=1.5)]).models[0].cost == "$1.50"
    recorded = Run(name="x", rows=[], summary={"cost_usd": None}, run={"cost_usd": 0.25})
    assert build_view([recorded]).models[0].cost == "$0.25"


@pytest.mark.parametrize("where", ["summary", "row", "joint"])
def test_scripted_anywhere_is_scripted(where: str) -> None:
    """One scripted row or summary marks the whole report."""
    rows = [outdir.row("t", "x")]
    rows[0]["judge"]["scripted"] = where == "row"
    run = run_of(rows, scripted=where == "summary")
    assert build_view([run], joint={"scripted": where == "joint"}).scripted
    rows[0]["judge"]["scripted"] = False
    assert not build_view([run_of(rows, scripted=False)]).scripted


def test_warnings_are_told_once_with_the_models_they_concern(varied: Run) -> None:
    """One line per kind of warning; a summary's own words win over what the rows imply."""
    own = [{"code": "partial_coverage", "detail": "two of nine"}, {"code": "scripted", "detail": ""}]
    second = Run(name="borea", rows=varied.rows, summary={**varied.summary, "warnings": own})
    warnings = {warning.code: warning.details for warning in build_view([varied, second]).warnings}
    assert warnings["partial_coverage"] == (("atlas", "1 of 5 scored tasks"), ("borea", "two of nine"))
    assert "scripted" not in warnings
    assert len(warnings["evidence_warnings"]) == 2


def test_a_joint_summary_s_warnings_are_not_told_twice(varied: Run) -> None:
    """A joint summary repeats its models' warnings; only what is new in it is added."""
    warning = {"code": "unscored", "detail": "1 of 7"}
    run = Run(name="a", rows=varied.rows, summary={**varied.summary, "warnings": [warning]})
    joint = {"warnings": [{"code": "unscored", "detail": "a: 1 of 7"}, {"code": "new", "detail": "x"}]}
    warnings = {shown.code: shown.details for shown in build_view([run, varied], joint=joint).warnings}
    assert warnings["unscored"] == (("a", "1 of 7"),)
    assert warnings["new"] == (("", "x"),)


def test_a_sandbox_that_was_off_and_mixed_judges_are_warned_of(varied: Run) -> None:
    """The manifest's sandbox and the served models reach the reader."""
    run = Run(
        name="x",
        rows=varied.rows,
        summary={**varied.summary, "judge": {"model": "m", "served": ["m-1", "m-2"]}},
        manifest={"renderer": {"sandbox": False}},
    )
    codes = [warning.code for warning in build_view([run]).warnings]
    assert {"sandbox_off", "served_models_differ"} <= set(codes)


def test_labels_that_do_not_group_get_no_table() -> None:
    """A label with one task per value is a text; it is named with the reason."""
    rows = [outdir.row(f"t{n}", "x", labels={"level": f"L{n % 2}", "query": f"text {n}"}) for n in range(6)]
    view = build_view([run_of(rows)])
    assert [table.label for table in view.groups] == ["level"]
    assert view.no_groups == (("query", "every value stands for one task"),)
    many = [outdir.row(f"t{n}", "x", labels={"query": f"text {n // 2}"}) for n in range(60)]
    assert build_view([run_of(many)]).no_groups == (("query", "30 different values"),)


def test_common_tasks_are_shown_only_where_they_differ(varied: Run) -> None:
    """Means over other tasks stand beside means over common ones; equal populations show one mean."""
    other = Run(name="borea", rows=varied.rows, summary=varied.summary)
    common = {"tasks": 4, "models": {"atlas": outdir.figures(list(varied.rows)[:4])}}
    view = build_view([varied, other], joint={"common": common})
    assert view.common_tasks == 4
    by_name = {model.name: model.common for model in view.models}
    assert by_name["atlas"] is not None
    assert by_name["borea"] is None
    same = build_view([varied, other], joint={"common": {"tasks": 6, "models": {}}})
    assert same.common_tasks is None


def test_items_put_models_side_by_side(varied: Run) -> None:
    """Items go by task and then by model, in the ranking's order."""
    better = Run(name="borea", rows=varied.rows, summary={**varied.summary, "mean": 99.0})
    items = build_view([varied, better]).items
    assert [(item.order, item.model) for item in items[:3]] == [
        ((0, 0), "borea"),
        ((0, 1), "atlas"),
        ((1, 0), "borea"),
    ]


def test_method_facts_that_differ_are_told_per_model(varied: Run) -> None:
    """A fact that all share stands once, another stands once per model."""
    other = Run(
        name="borea", rows=varied.rows, summary=varied.summary, manifest={**varied.manifest, "beholder": "9"}
    )
    facts = {fact.label: fact.values for fact in build_view([varied, other]).method}
    assert facts["Protocol"] == (("", "gis-bench/1"),)
    assert facts["beholder"] == (("atlas", "0.1.0"), ("borea", "9"))
    assert facts["Duration"] == (("atlas", "20.4 s"),)  # borea's is not known, and is not shared


def test_a_bar_places_numbers_on_the_scale() -> None:
    """Positions are per cent of the scale, held inside it; without a scale there is no bar."""
    placed = bar((50, 150), 100, (25, 125), None, 150)
    assert (placed.mean, placed.low, placed.high, placed.pass_mark) == (50, 0, 75, 100)
    assert bar(None, 3).mean is None
    assert bar((0, 100), None).mean is None


def test_a_row_that_says_little_is_an_item_all_the_same() -> None:
    """Older out-dirs lack fields: nothing is made up, nothing breaks, the page is written."""
    rows: list[dict[str, Any]] = [{"task_id": "t"}, {"task_id": "u", "outcome": "scored", "main_score": 5}]
    view = build_view([Run(name="x", rows=rows, summary={"model": "x"}), Run(name="y", rows=[], summary={})])
    assert [(item.task_id, item.state, item.score) for item in view.items] == [
        ("t", "unscored", "–"),
        ("u", "scored", "5"),
    ]
    assert "page-data" in render_html(view)


def test_a_mean_without_an_interval_says_why() -> None:
    """One task: the page and the Markdown tell the reason rather than a dash."""
    rows = [outdir.row("t0", "m", [outdir.repeat(1, (30, 30, 20, 20))])]
    summary = outdir.summary("m", rows, ci95=None, ci_reason="one task with a number")
    view = build_view([Run(name="m", rows=rows, summary=summary)])
    assert (view.models[0].figures.interval, view.models[0].figures.why_none) == (
        "–",
        "one task with a number",
    )
    assert "<span>no interval: one task with a number</span>" in render_html(view)
    assert "none: one task with a number" in render_markdown(view)
