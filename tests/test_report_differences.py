"""Differences between models and agreement with people, as the page tells them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beholder.compare import RunRows
from beholder.human import human_agreement, read_ratings, scales_of
from beholder.report import Run, build_view, load_run
from beholder.report.differences import signed
from beholder.report.html import render_html
from beholder.report.people import notes_of
from tests.fakes import outdir


def rows_of(name: str, totals: list[int | None]) -> list[dict[str, Any]]:
    """A row per total of 100; None is unscored."""
    rows = []
    for number, total in enumerate(totals):
        if total is None:
            rows.append(outdir.row(f"t{number}", name, outcome="unscored", reason="timeout"))
            continue
        values = (
            min(30, total),
            min(30, max(0, total - 30)),
            min(20, max(0, total - 60)),
            max(0, total - 80),
        )
        rows.append(outdir.row(f"t{number}", name, [outdir.repeat(1, values)]))
    return rows


def run_of(name: str, totals: list[int | None], **more: Any) -> Run:
    rows = rows_of(name, totals)
    return Run(name=name, rows=rows, summary=outdir.summary(name, rows, **more))


def test_a_pair_is_compared_on_its_common_tasks() -> None:
    """Six tasks, one unscored in one run: five in common, two flips, one tie, the second less the first."""
    first = run_of("a", [80, 70, 60, 50, 40, 30])
    second = run_of("b", [50, 65, 60, 62, 35, None])
    view = build_view([first, second]).differences
    assert view is not None
    pair = view.pairs[0]
    assert pair.names == ("a", "b")
    assert pair.passes is not None
    one, passes = pair.difference, pair.passes
    assert (one.tasks, one.better, one.worse, one.equal) == (5, 1, 3, 1)
    assert (passes.only_second, passes.only_first) == (1, 1)
    assert one.difference == "−5.6"  # (-30 - 5 + 0 + 12 - 5) / 5
    assert re.fullmatch(r"\[−\d+\.\d, \d+\.\d\]", one.interval)
    assert one.bar.pass_mark == 50.0  # zero stands in the middle


def test_that_few_tasks_cannot_have_a_low_p_value_is_said() -> None:
    """Of five, two patterns of signs in 32 are as far off: 0.062, whatever the difference."""
    said = "Of five tasks or fewer no p-value is below 0.05."
    few, more = (render_html(build_view([run_of("one", [10] * n), run_of("two", [90] * n)])) for n in (5, 6))
    assert said in few
    assert said not in more


def test_one_model_has_no_differences() -> None:
    """Nothing to compare, no section."""
    assert build_view([run_of("a", [1, 2])]).differences is None


def test_rows_of_an_old_version_are_not_compared() -> None:
    """What a comparison cannot read leaves out the section, not the report."""
    second = run_of("b", [50, 60])
    bare = [{key: value for key, value in row.items() if key != "evidence_sha256"} for row in second.rows]
    view = build_view([run_of("a", [40, 50]), Run(name="b", rows=bare, summary=second.summary)])
    assert view.differences is None
    assert len(view.models) == 2


def test_unlike_runs_are_shown_with_what_differs() -> None:
    """Another question: the numbers stand, and above them that they were not measured alike, told once."""
    runs = [run_of("a", [40, 50])]
    for name in ("b", "c"):
        run = run_of(name, [50, 60], question_sha256="f" * 64)
        rows = [{**row, "question_sha256": "f" * 64} for row in run.rows]
        runs.append(Run(name=name, rows=rows, summary=run.summary))
    view = build_view(runs)
    assert view.differences is not None
    told = [one for one in view.warnings if one.words == "The models were not measured alike."]
    details = next(one.details for one in told if one.code == "question")
    assert "another question" in details[0][1]
    assert details[1:] == (("", "and 1 pair more"),)


def test_many_models_are_compared_up_to_a_limit() -> None:
    """Fifteen pairs of the best six."""
    runs = [run_of(f"m{n}", [10 * n, 5 * n + 3]) for n in range(8)]
    view = build_view(runs).differences
    assert view is not None
    assert len(view.pairs) == 15
    assert view.pairs[0].names == ("m7", "m6")
    assert view.compared == "Of the best 6 of 8 models."
    few = build_view(runs[:6]).differences
    assert few is not None
    assert few.compared == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0.0"), (2.345, "+2.3"), (-2.345, "−2.3"), (0.001, "+0.001"), (-0.04, "−0.04")],
)
def test_a_difference_prints_with_its_sign_and_never_as_none(value: float | None, text: str) -> None:
    """A small one keeps the decimals that tell it from zero."""
    assert signed(value, 1) == text


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """Thirty tasks: people pass 27, the judge passes all; with blanks in another column."""
    rows = rows_of("m", [80] * 30)
    out = outdir.write(tmp_path / "m", "m", rows)
    lines = ["task_id,pass,region"]
    lines += [f"t{n},{int(n >= 3)},{'' if n < 4 else 30}" for n in range(30)]
    ratings = tmp_path / "people.csv"
    ratings.write_text("\n".join(lines), encoding="utf-8")
    run = load_run(out)
    document = human_agreement(
        read_ratings(ratings, scales_of(run.summary), has_pass=True),
        rows,
        RunRows(name="m", rows=rows, summary=run.summary).summary,
    )
    (out / "human_agreement.json").write_text(json.dumps(document), encoding="utf-8")
    return out


def test_agreement_and_kappa_stand_side_by_side(rated: Path) -> None:
    """Agreement 90% beside a kappa of 0, each with its interval or the reason why there is none."""
    view = build_view([load_run(rated)]).people
    assert view is not None
    column = view.columns[0]
    figures = {figure.name: figure for figure in column.figures}
    assert figures["Agreement"].value == "90%"
    assert figures["Agreement"].interval
    assert figures["Kappa"].value == "0.00"
    assert column.table == ((0, 3), (0, 27))
    assert column.values == ("fail", "pass")
    assert column.n_disagreements == 3
    assert (column.disagreements[0].judge, column.disagreements[0].human) == ("pass", "fail")


def test_blanks_are_counted_and_constants_are_undefined(rated: Path) -> None:
    """Four blanks are told; a correlation of constants says undefined and why."""
    view = build_view([load_run(rated)]).people
    assert view is not None
    column = view.columns[1]
    assert column.counts == "26 tasks compared, 4 blanks left out"
    correlation = next(figure for figure in column.figures if figure.name == "Correlation")
    assert correlation.value == "undefined"
    assert correlation.reason


def test_the_page_has_the_section_only_where_people_rated(rated: Path) -> None:
    """With a file of ratings the page shows it, with links to the worst disagreements."""
    page = render_html(build_view([load_run(rated)]))
    assert "The judge against people" in page
    assert 'data-task="t0" data-model="0"' in page
    (rated / "human_agreement.json").unlink()
    assert "The judge against people" not in render_html(build_view([load_run(rated)]))


def test_differences_are_clustered_as_the_means_are() -> None:
    """Where the summaries' intervals are over clusters of tasks, those of differences are too."""
    runs = []
    for name, totals in (("a", [80, 70, 60, 50]), ("b", [60, 50, 65, 55])):
        rows = [{**row, "labels": {"source": f"s{at // 2}"}} for at, row in enumerate(rows_of(name, totals))]
        cluster = {"column": "source", "clusters": 2}
        runs.append(Run(name=name, rows=rows, summary=outdir.summary(name, rows, cluster=cluster)))
    view = build_view(runs).differences
    assert view is not None
    assert "clusters of equal source" in view.method
    assert (
        view.pairs[0].difference.p_value == "1.000"
    )  # -40 and +10: two of four sign patterns, and their turns


def test_ratings_set_against_scores_that_changed_say_so(rated: Path) -> None:
    """A later run or formula changes the rows, and not `human_agreement.json`."""
    run = load_run(rated)
    words = "scores before they changed"
    assert words not in render_html(build_view([run]))
    changed = replace(run, summary={**run.summary, "mean": 1.0})
    assert words in render_html(build_view([changed]))
    old = replace(changed, human={key: value for key, value in run.human.items() if key != "of"})
    assert words not in render_html(build_view([old]))


def test_what_of_the_ratings_was_not_used_is_told(rated: Path) -> None:
    """Tasks that the run does not have, and columns that are no criterion."""
    human = {"tasks": {"unknown": ["x", "y" * 200], "unknown_count": 7}, "ignored_columns": ["notes"]}
    said = notes_of(human)
    assert said[0].startswith("7 rated tasks not in the run: x, yyy")
    assert said[0].endswith("… and 5 others.")
    assert said[1] == "1 column not used: notes."
    assert notes_of({}) == []


def test_a_confusion_table_keeps_the_values_that_somebody_gave(tmp_path: Path) -> None:
    """Of the 31 steps of a criterion three are in use; a table of fail and pass stays whole."""
    rows = rows_of("m", [20, 25, 30, 20])
    ratings = tmp_path / "people.csv"
    lines = "".join(f"t{n},{rater},{value},1\n" for n, value in enumerate([20, 20, 20, 20]) for rater in "ab")
    ratings.write_text("task_id,rater,symbols,pass\n" + lines, encoding="utf-8")
    summary = outdir.summary("m", rows)
    human = human_agreement(read_ratings(ratings, scales_of(summary), has_pass=True), rows, summary)
    people = build_view([Run(name="m", rows=rows, summary=summary, human=human)]).people
    assert people is not None
    symbols, passed = people.columns
    assert (symbols.values, symbols.table, symbols.cut) == (("0", "20"), ((0, 0), (4, 0)), True)
    assert (passed.values, passed.cut) == (("fail", "pass"), False)
    assert people.several_people
    agreement = symbols.figures[0]
    assert (agreement.value, agreement.one, agreement.ceiling) == ("0%", "0%", "100%")
