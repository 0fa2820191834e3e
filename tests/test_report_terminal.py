"""The table at the end of a run."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from beholder.report.terminal import results_table, visible
from tests.fakes import outdir


def shown(summaries: dict[str, Any], *, plain: bool = True) -> str:
    stream = io.StringIO()
    Console(
        file=stream, width=120, color_system=None if plain else "truecolor", force_terminal=not plain
    ).print(results_table(summaries, plain=plain))
    return stream.getvalue()


def test_each_model_has_a_line_best_first() -> None:
    """Mean with interval, coverage, passes, absent and unscored by reason, cost; best mean first."""
    rows = outdir.varied_rows("x")
    text = shown(
        {"low": outdir.summary("low", rows, mean=10.0), "high": outdir.summary("high", rows, cost_usd=0.5)}
    )
    lines = text.splitlines()
    assert "Scripted replies" in lines[0]
    assert [line.split()[0] for line in lines[1:4]] == ["Model", "high", "low"]
    for piece in ("57.9 [49.3, 66.5]", "85.7%", "66.7%", "1 missing", "1 blocked_resources", "$0.50"):
        assert piece in lines[2]
    assert lines[3].rstrip().endswith("–")


def test_absent_tasks_that_the_mean_leaves_out_say_so() -> None:
    """Else a run of failures would look as good as one without."""
    rows = outdir.varied_rows("x")
    judged = sum(row["outcome"] != "unscored" for row in rows)
    assert "1 missing (left out)" in shown({"x": outdir.summary("x", rows, n=judged - 1)})
    assert "left out" not in shown({"x": outdir.summary("x", rows, n=judged)})


def test_without_a_pass_mark_there_is_no_such_column() -> None:
    """A protocol that does not pass or fail shows no pass rate, and an unscripted one no notice."""
    text = shown({"x": outdir.summary("x", outdir.varied_rows("x"), pass_at=None, scripted=False)})
    assert "Passed" not in text
    assert "Scripted" not in text


def test_a_name_cannot_drive_the_terminal() -> None:
    """Escape sequences and rich markup in a model's name are shown, not obeyed."""
    summary = outdir.summary("x", outdir.varied_rows("x"))
    text = shown({"[red]a[/red]\x1b[31m\u202e": summary})
    assert "[red]a[/red]\\x1b[31m\\x202e" in text
    assert "\x1b" not in text


def test_plain_has_no_lines_and_no_colour() -> None:
    """Off a terminal the table is words and spaces."""
    summary = {"x": outdir.summary("x", outdir.varied_rows("x"))}
    assert not set("─│┃━\x1b") & set(shown(summary))
    assert "─" in shown(summary, plain=False)


def test_eighty_columns_break_no_number() -> None:
    """On a narrow terminal names and reasons wrap; means, intervals and shares stay whole."""
    stream = io.StringIO()
    summary = outdir.summary("x", outdir.varied_rows("x"))
    Console(file=stream, width=80).print(
        results_table({"a-model-with-quite-a-long-name": summary}, plain=True)
    )
    for piece in ("57.9 [49.3, 66.5]", "85.7%", "66.7%", "Unscored", "missing"):
        assert piece in stream.getvalue()
    assert max(map(len, stream.getvalue().splitlines())) <= 80


def test_a_long_name_is_cut_in_tables_only() -> None:
    """A name of twenty thousand letters is one cell; a message keeps its length."""
    assert visible("x" * 20_000, 120) == "x" * 119 + "…"
    assert len(visible("x" * 20_000)) == 20_000
