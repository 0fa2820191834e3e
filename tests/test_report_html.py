"""The page is inert where it quotes, loads nothing from elsewhere, and reads without its script."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import beholder
from beholder.report import Run, build_view, load_run
from beholder.report.html import render_html
from beholder.report.pack import pack, pack_items, script_safe, to_json, unpack
from tests.fakes import golden, outdir


@pytest.fixture
def page(tmp_path: Path) -> str:
    return render_html(build_view([load_run(outdir.write_varied(tmp_path / "atlas"))]))


def block(page: str, id_: str) -> str:
    found = re.search(rf'<script type="[^"]+" id="{id_}">(.*?)</script>', page, re.DOTALL)
    assert found
    return found[1]


def test_the_page_is_the_golden_one(tmp_path: Path) -> None:
    """Layout of a small report; style, script, plots, packs and hashes are looked at elsewhere."""
    rows = [row for row in outdir.varied_rows("atlas") if row["task_id"] != "airports-europe"]
    page = render_html(build_view([load_run(outdir.write(tmp_path / "atlas", "atlas", rows))]))
    for start, end in (("<style>", "</style>"), ("<script>", "</script>")):
        page = re.sub(rf"({start}).*?({end})", r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r'(<svg class="plot").*?(</svg>)', r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r'(<script type="text/plain"[^>]*>)[^<]*', r"\1…", page)
    page = re.sub(r"sha256-[\w+/=]+", "sha256-…", page)
    golden.check("report.html", page.replace(f"beholder {beholder.__version__}", "beholder VERSION"))


def test_data_cannot_end_its_element() -> None:
    """The page's data holds no angle bracket, ampersand or line separator, and reads back the same."""
    evil = "</script><!--\u2028\u2029&amp;"
    row = outdir.row(evil, evil, [outdir.repeat(1, (1, 2, 3, 4), rationale=evil)], labels={evil: evil})
    view = build_view([Run(name=evil, rows=[row], summary=outdir.summary(evil, [row]))])
    packed = pack_items(view)
    text = script_safe(to_json(packed.page))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["items"][0]["task"] == evil
    packs = [*packed.stories, *packed.texts]
    assert all(re.fullmatch(r"[A-Za-z0-9+/]+=*", one) for one in packs)
    assert unpack(packs[0])[0]["repeats"][0]["rationale"] == evil


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    """The policy allows this page's own style and script by hash, and media beside it; nothing else."""
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert not re.search(r"\son\w+=|\sstyle=", page)


def test_the_page_knows_of_each_item_what_the_gallery_shows(page: str) -> None:
    """Outcome, score, repeats with their gap, reason, flags, labels and the picture's address."""
    items = {item["task"]: item for item in json.loads(block(page, "page-data"))["items"]}
    assert len(items) == 7
    partial = items["us_states_choropleth"]
    assert (partial["state"], partial["repeats"][1], partial["flags"]) == (
        "passed",
        "–",
        ["partial_coverage"],
    )
    unscored = items["tiles-from-outside"]
    assert (unscored["value"], unscored["reason"]) == (None, "blocked_resources")
    assert items["world_rivers"]["value"] is None
    assert items["London boroughs by population"]["thumb"].startswith("London%20boroughs")
    assert items["airports-europe"]["pictures"] == 3


def test_words_for_codes_are_there_once(page: str) -> None:
    """Reasons, flags and warnings that occur have their words; others are left out."""
    codes = json.loads(block(page, "page-data"))["codes"]
    assert codes["reasons"]["missing"] == "no file was submitted"
    assert set(codes["flags"]) == {"partial_coverage", "repaired", "total_mismatch"}
    assert set(codes["warnings"]) == {"script_error", "blank_capture"}


def test_a_label_with_too_many_values_is_no_choice() -> None:
    """Labels that sort items have a filter; those that are all alike or all different have none."""
    rows = [
        outdir.row(f"t{n}", "x", labels={"level": f"L{n % 3}", "url": f"u{n}", "kind": "map"})
        for n in range(60)
    ]
    data = pack_items(build_view([Run(name="x", rows=rows, summary=outdir.summary("x", rows))])).page
    assert data["labels"] == ["level", "url", "kind"]
    assert data["choices"] == [["L0", "L1", "L2"], None, None]


def test_a_pack_gives_back_what_it_took() -> None:
    """Any text, half a surrogate pair included."""
    value = [{"a": "서울\ud800", "b": [1, None, True, 0.1]}, "x" * 10_000]
    assert unpack(pack(value)) == value
    assert len(pack(value)) < 200


def test_a_number_that_json_lacks_is_an_error_and_so_is_a_strange_object() -> None:
    """Nothing is written that a strict reader refuses."""
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(float("nan"))
    with pytest.raises(TypeError, match="no JSON"):
        to_json({1, 2})


def test_items_are_cut_into_packs(tmp_path: Path) -> None:
    """Stories and texts of 60 items lie in two and three packs, in order."""
    packed = pack_items(build_view([load_run(outdir.write_many(tmp_path / "many", 60))]))
    stories, texts = [unpack(one) for one in packed.stories], [unpack(one) for one in packed.texts]
    assert [len(one) for one in stories] == [50, 10]
    assert [len(one) for one in texts] == [25, 25, 10]
    assert stories[1][0]["task_id"] == "task-0050"
    assert texts[2][0]["prompt"]["text"].startswith("Task task-0050:")


def test_many_models_and_long_or_turned_names_keep_the_page_in_shape() -> None:
    """A long name is set smaller, criteria have the whole width, and a name ends its own direction."""
    names = ["أفضل", "x" * 60, "c", "d", "e"]
    runs = []
    for name in names:
        rows = outdir.varied_rows(name)
        warning = {"code": "unscored", "detail": "1 of 7 tasks without a score"}
        runs.append(Run(name=name, rows=rows, summary=outdir.summary(name, rows, warnings=[warning])))
    page = render_html(build_view(runs))
    assert page.count('class="of-model long"') == 1
    assert '<div class="above">' in page
    assert 'class="plots tall-first"' in page
    assert '<span class="muted"><span class="u">أفضل</span>:</span> 1 of 7' in page
    few = render_html(build_view(runs[:1]))
    assert '<div class="beside">' in few
    assert 'class="of-model long"' not in few
