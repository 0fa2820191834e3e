"""`compare -o FILE.html`: a page of its own, without scripts, from disk."""

from __future__ import annotations

import copy
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, sync_playwright

from beholder.compare import compare_runs, load_runs
from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser
from beholder.human import human_agreement, read_ratings, scales_of
from beholder.report import comparison, write_reports
from beholder.report.comparison import build_comparison, write_comparison
from tests.fakes import outdir
from tests.fakes.outdir import SCRIPT, image, repeat, row
from tests.fakes.runs import command

AXE = Path(__file__).parent / "data" / "axe" / "axe.min.js"
HOSTILE = f"{SCRIPT} \u202egnp.\u2066 & \"'"
PATIENCE_MS = 300_000
GOOD, BAD = (30, 30, 20, 20), (10, 10, 5, 5)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Six tasks: two flips, a tie, one judge failure, one absent, one only in the first."""
    root = tmp_path_factory.mktemp("two")

    def rows(model: str, values: list[tuple[int, int, int, int] | None]) -> list[dict[str, object]]:
        found = []
        for at, one in enumerate(values):
            task = HOSTILE if at == 1 else f"t{at}"
            more = {"images": [image(task)], "labels": {"kind": HOSTILE if at % 2 else "plain"}}
            if one is None:
                found.append(
                    row(task, model, [repeat(1, None)], outcome="unscored", reason="timeout", **more)
                )
            else:
                found.append(row(task, model, [repeat(1, one, rationale="ok")], **more))
        return found

    first = rows("A", [GOOD, GOOD, BAD, GOOD, BAD, GOOD])
    second = rows(f"B {HOSTILE}", [GOOD, BAD, GOOD, None, BAD])
    second[4] = row("t4", f"B {HOSTILE}", outcome="absent", reason="missing", labels={"kind": "plain"})
    folders = [outdir.write(root / "a", "A", first), outdir.write(root / "b", f"B {HOSTILE}", second)]
    write_reports(folders[0])
    return folders


def page_of(folders: list[Path], output: Path) -> str:
    runs = load_runs(folders)
    write_comparison(compare_runs(runs).document, runs, output)
    return output.read_text(encoding="utf-8")


def test_flips_lead_and_what_is_missing_says_why(two: list[Path]) -> None:
    """Flips, then what has no number with its cause, then the rest; a count of each beside the heading."""
    runs = load_runs(two)
    pair = build_comparison(compare_runs(runs).document, runs, two[0].parent).pairs[0]
    assert [(item.task_id, item.kind) for item in pair.items] == [
        (HOSTILE, "flip"),
        ("t2", "flip"),
        ("t3", "missing"),
        ("t5", "missing"),
        ("t4", "changed"),
        ("t0", "equal"),
    ]
    assert dict(pair.counts) == {"flip": 2, "missing": 2, "changed": 1, "equal": 1}
    assert pair.population == f"4 of 6 tasks have a number in both. 1 task only in {pair.names[0]}."
    assert [item.sides[1].why for item in pair.items[2:5]] == [
        "the judge did not answer in time",
        "not in this run",
        "no file was submitted",
    ]
    assert pair.items[0].difference == "−70.0"
    assert pair.items[0].criteria[0] == "region 30 → 10"


def test_means_over_common_tasks_stand_beside_those_over_own(two: list[Path]) -> None:
    """A: 100 100 30 100 30 100 alone, 100 100 30 30 in common; B: 100 30 100 0 in both."""
    runs = load_runs(two)
    pair = build_comparison(compare_runs(runs).document, runs, two[0].parent).pairs[0]
    assert pair.own == ("76.7", "57.5")
    assert pair.common == ("65.0", "57.5")
    assert pair.difference.difference == "−7.5"


def test_pictures_and_verdicts_are_linked_where_they_lie(two: list[Path], tmp_path: Path) -> None:
    """From another folder too; the run without a report has no link to one."""
    page = page_of(two, tmp_path / "deep.html")
    sources = [unescape(one) for one in re.findall(r'<a href="([^"#]+)"><img', page)]
    assert len(sources) == 10
    for source in sources:
        assert (tmp_path / unquote(source)).is_file()
    verdicts = re.findall(r'href="([^"]+)#task=([^"]+)" aria-label', page)
    assert len(verdicts) == 6
    assert {(tmp_path / link).resolve() for link, _ in verdicts} == {(two[0] / "report.html").resolve()}


def test_nothing_of_names_becomes_markup(two: list[Path], tmp_path: Path) -> None:
    """Hostile names are text; the policy allows no script at all."""
    page = page_of(two, tmp_path / "compare.html")
    assert SCRIPT not in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert 'aria-label="verdict on t2, A"' in page
    assert "Of each run&#39;s own mean: t interval over tasks." in page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "script-src" not in policy[1]
    assert unescape(policy[1]).startswith("default-src 'none'; style-src 'sha256-")


def test_a_long_list_is_cut_and_says_so(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What differs most stays, and where the rest is found is told."""
    monkeypatch.setattr(comparison, "MOST_ITEMS", 2)
    page = page_of(two, tmp_path / "compare.html")
    assert "4 more tasks" in page
    assert page.count('class="flip"') == 2
    assert 'class="missing"' not in page


def test_people_stand_in_the_page(two: list[Path], tmp_path: Path) -> None:
    """Ratings of one run: no pairs, the figures, and the worst disagreement with its picture."""
    ratings = tmp_path / "people.csv"
    ratings.write_text("task_id,rater,pass\nt0,ann,0\nt0,bob,0\nt2,ann,0\nt2,bob,1\n", encoding="utf-8")
    runs = load_runs(two[:1])
    name, run = next(iter(runs.items()))
    agreement = human_agreement(
        read_ratings(ratings, scales_of(run.summary), has_pass=True), run.rows, run.summary
    )
    view = build_comparison({}, runs, two[0].parent, human={name: agreement})
    assert view.pairs == ()
    assert view.people is not None
    worst = view.people.columns[0].disagreements[0]
    assert (worst.task_id, worst.judge, worst.human, worst.raters) == (
        "t0",
        "pass",
        "fail",
        "ann fail; bob fail",
    )
    assert worst.url is not None
    write_comparison({}, runs, two[0].parent / "people.html", human={name: agreement})
    page = (two[0].parent / "people.html").read_text(encoding="utf-8")
    assert f'<a href="{worst.url}"><img loading="lazy"' in page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        program = find_browser()
    except MissingTool:
        pytest.skip("no headless Chromium is installed")
    with sync_playwright() as playwright:
        # The page is our own and loads nothing; and Chromium's sandbox does not start as root.
        started = playwright.chromium.launch(
            executable_path=program, chromium_sandbox=False, timeout=PATIENCE_MS
        )
        yield started
        started.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (820, "dark"), (390, "light")])
def test_the_page_is_accessible_and_fits_every_width(
    browser: Browser, two: list[Path], width: int, scheme: str
) -> None:
    """Opened from disk: no serious finding of axe-core, no sideways scrolling, every picture is found."""
    output = two[0].parent / "compare.html"
    page_of(two, output)
    dark = "dark" if scheme == "dark" else "light"
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=dark, bypass_csp=True
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    trouble: list[str] = []
    page.on("requestfailed", lambda request: trouble.append(request.url))
    page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    page.goto(output.as_uri())
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.evaluate(AXE.read_text(encoding="utf-8"))
    findings = page.evaluate("axe.run().then((found) => found.violations)")
    serious = [
        (one["id"], one["nodes"][0]["html"]) for one in findings if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert trouble == []
    context.close()


def test_the_command_writes_it_and_refuses_other_suffixes(two: list[Path], tmp_path: Path) -> None:
    """`-o compare.html`; a suffix that is no format is told before anything is read."""

    def told(output: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command("compare", *two, "-o", output), capture_output=True, text=True, check=False
        )

    done = told(tmp_path / "c.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c.html").read_text(encoding="utf-8").lstrip().startswith("<!doctype html>")
    done = told(tmp_path / "c.pdf")
    assert done.returncode == 2
    assert "the format follows the suffix, .json or .html" in done.stderr
    done = told(tmp_path / "none" / "c.html")
    assert done.returncode == 2
    assert "make it first" in done.stderr


def test_thousands_are_set_apart(two: list[Path], tmp_path: Path) -> None:
    """Counts of a large comparison read like those of the report."""
    runs = load_runs(two)
    document = copy.deepcopy(compare_runs(runs).document)
    difference, passes = document["pairs"][0]["difference"], document["pairs"][0]["passes"]
    difference["tasks"], difference["better"] = 5000, {"a": 1997, "b": 2796, "equal": 207}
    passes.update(tasks=4999, both=1878)
    write_comparison(document, runs, tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "2,796 · 1,997 · 207" in page
    assert "5,000 in common" in page
    assert "Of 4,999 tasks with a verdict in both, 1,878 pass in both" in page
