"""The Markdown report reads well on a forge and cannot be bent by what it quotes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import beholder
from beholder.report import Run, build_view, load_run
from beholder.report.markdown import MOST_TASKS, MOST_WORDS, RATIONALE_CHARS, escape, render_markdown
from tests.fakes import golden, outdir


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return render_markdown(
        build_view([load_run(outdir.write_varied(tmp_path_factory.mktemp("o") / "atlas"))])
    )


def test_the_report_is_the_golden_one(text: str) -> None:
    """Layout and words of a small report with every outcome."""
    golden.check(
        "REPORT_EVALUATION.md", text.replace(f"beholder {beholder.__version__}.", "beholder VERSION.")
    )


def test_every_row_of_a_table_has_its_header_s_columns(text: str) -> None:
    """No quoted bar or line break adds or ends a cell."""
    width = 0
    for line in text.splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        width = width or cells
        assert cells == width, line


def test_nothing_quoted_is_markup(text: str) -> None:
    """Script elements, links and code of names and rationales are text."""
    assert "<script" not in text
    assert r"\[link\](javascript:alert(1))" in text
    assert r"\`code\`, \| pipe, \*stars\*" in text


def test_only_our_own_html_is_left(text: str) -> None:
    """The report's elements are `details`, `summary` and `br`, nothing else."""
    assert set(re.findall(r"<(/?\w+)", text)) <= {"details", "/details", "summary", "/summary", "br"}


def test_a_long_rationale_is_shortened_here(text: str) -> None:
    """The whole text is in the page; here it ends with an ellipsis."""
    line = next(line for line in text.splitlines() if "seven classes" in line)
    assert line.endswith(" …")
    assert len(line) < RATIONALE_CHARS + 100


@pytest.mark.parametrize(
    ("raw", "escaped"),
    [
        ("a|b\nc", r"a\|b c"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("`x` *y* _z_ ~~s~~", r"\`x\` \*y\* \_z\_ \~\~s\~\~"),
        ("@user #12 $x$", r"&#64;user \#12 \$x\$"),
        ("http://e.org www.e.org", "http&#58;//e.org www&#46;e.org"),
        ("back\\slash", r"back\\slash"),
        ("한국어 {x}", "한국어 {x}"),
    ],
)
def test_escapes(raw: str, escaped: str) -> None:
    """Every sign that Markdown, HTML or a forge would act on is escaped."""
    assert escape(raw) == escaped


@given(st.text())
def test_escaped_text_is_one_line_without_bare_signs(raw: str) -> None:
    """Whatever a name holds, no line break, bar, backtick or angle bracket stays bare."""
    shown = escape(raw)
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`*_\[\]]", shown)
    assert not re.search(r"[<>]", shown)


def test_a_report_of_nothing_still_reads() -> None:
    """A summary that says little gives dashes and no empty sections."""
    text = render_markdown(build_view([Run(name="x", rows=[], summary={"model": "x"})]))
    assert "| x | **–** | – | – (– of –) | 0 | 0 | – | – |" in text
    assert "## Criteria" not in text
    assert "## What the judge said" not in text


def test_models_with_common_tasks_show_both_means(tmp_path: Path) -> None:
    """Two populations are never in one column."""
    run = load_run(outdir.write_varied(tmp_path / "atlas"))
    other = Run(name="borea", rows=run.rows, summary=run.summary)
    common = {"tasks": 4, "models": {name: outdir.figures(list(run.rows)[:3]) for name in ("atlas", "borea")}}
    assert "On 4 common tasks" in render_markdown(build_view([run, other], joint={"common": common}))


def test_differences_stand_in_a_table(tmp_path: Path) -> None:
    """Two models: second less first with its interval, what got better and worse, and the passes."""
    run = load_run(outdir.write_varied(tmp_path / "atlas"))
    other = Run(name="borea|", rows=run.rows, summary=run.summary)
    text = render_markdown(build_view([run, other]))
    line = next(line for line in text.splitlines() if line.startswith(r"| atlas | borea\|"))
    assert line.startswith(r"| atlas | borea\| | 6 | **0.0** |")
    assert line.endswith("| 0 | 0 | 6 | – | 0 | 0 |")


def test_a_long_run_s_report_says_what_it_leaves_out(tmp_path: Path) -> None:
    """The first tasks, the words of the lowest scores, and where the rest is to be found."""
    rows = [
        outdir.row(f"t{n}", "x", [outdir.repeat(1, (n % 30, 0, 0, 0), rationale=f"w{n}")]) for n in range(450)
    ]
    text = render_markdown(build_view([Run(name="x", rows=rows, summary=outdir.summary("x", rows))]))
    assert f"The first {MOST_TASKS} of 450" in text
    assert text.count("<details>") == MOST_WORDS
    assert "w0" in text
    assert "w29\n" not in text


def test_a_difference_tells_its_tasks_and_what_they_could_show() -> None:
    """How many are in common, and the smallest difference that so many would find."""
    rows = {name: outdir.varied_rows(name, seed) for seed, name in enumerate(("one", "two"))}
    runs = [Run(name=name, rows=own, summary=outdir.summary(name, own)) for name, own in rows.items()]
    view = build_view(runs)
    assert view.differences is not None
    (pair,) = view.differences.pairs
    lines = render_markdown(view).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("| First | Second | Common |"))
    cells = [cell.strip() for cell in lines[at + 2].strip("|").split("|")]
    head = [cell.strip() for cell in lines[at].strip("|").split("|")]
    told = dict(zip(head, cells, strict=True))
    one = pair.difference
    assert (told["Common"], told["Detectable"]) == (str(one.tasks), one.detectable)
    assert int(told["Better"]) + int(told["Worse"]) + int(told["Equal"]) == one.tasks
