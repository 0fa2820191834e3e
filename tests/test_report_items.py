"""One row becomes everything that a reader may ask about a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beholder.report import Run, TaskTexts, build_view, load_run
from beholder.report.figures import Scale
from beholder.report.items import ItemView
from beholder.report.load import INLINE_CHARS
from beholder.report.repeats import score_rows
from tests.fakes import outdir


@pytest.fixture
def items(tmp_path: Path) -> dict[str, ItemView]:
    run = load_run(outdir.write_varied(tmp_path / "atlas"))
    return {item.task_id: item for item in build_view([run]).items}


def view_of(row: dict[str, Any], **more: Any) -> ItemView:
    run = Run(name="x", rows=[row], summary=outdir.summary("x", [row]), **more)
    return build_view([run]).items[0]


def test_a_failed_repeat_leaves_a_gap_in_its_place(items: dict[str, ItemView]) -> None:
    """The second repeat is unscored: a dash stands where its numbers would, with its cause."""
    item = items["us_states_choropleth"]
    assert item.repeat_scores[1] == "–"
    assert all(row.cells[1] == "–" for row in item.scores)
    assert [row.name for row in item.scores] == [*outdir.CRITERIA, "total_raw", "score"]
    second = item.repeats[1]
    assert second.state == "unscored"
    assert second.reason is not None
    assert (second.reason.code, second.reason.detail) == ("invalid_json", "no JSON object in the reply")
    assert item.rests_on == "rests on 2 of 3 repeats"


def test_absent_unscored_and_low_are_three_things(items: dict[str, ItemView]) -> None:
    """Absent counts as the minimum and shows no score; unscored has no number; a low score is one."""
    absent, unscored, low = (
        items[name] for name in ("world_rivers", "tiles-from-outside", "airports-europe")
    )
    assert (absent.state, absent.score, absent.score_value, absent.rests_on) == (
        "absent",
        "–",
        None,
        "counts as 0",
    )
    assert (unscored.state, unscored.score, unscored.score_value) == ("unscored", "–", None)
    assert unscored.reason is not None
    assert "--network" in unscored.reason.detail
    assert low.state == "failed"
    assert low.score_value is not None


def test_an_excluded_absent_task_says_so() -> None:
    """Where the formula leaves absent tasks out, the item says it."""
    item = view_of(
        {**outdir.row("t", "x", outcome="absent", reason="missing"), "main_score": None, "pass": None}
    )
    assert item.rests_on == "left out of the mean"


def test_a_protocol_without_a_pass_mark_has_no_pass_or_fail() -> None:
    """A scored task is just scored."""
    row = outdir.row("t", "x", [outdir.repeat(1, (30, 30, 20, 20))])
    row["pass"] = None
    assert view_of(row).state == "scored"


def test_a_near_miss_is_not_printed_as_the_pass_mark() -> None:
    """59.97 that failed at 60 keeps its decimals."""
    row = outdir.row("t", "x", [outdir.repeat(1, (30, 10, 10, 9))])
    row.update(main_score=59.97, **{"pass": False})
    assert view_of(row).score == "59.97"


def test_pictures_are_told_apart_in_order(items: dict[str, ItemView]) -> None:
    """An overview and its parts carry their place and size."""
    pictures = items["airports-europe"].pictures
    assert [picture.caption for picture in pictures] == [
        "Image 1 · map.html · overview",
        "Image 2 · map.html · part 1 of 2",
        "Image 3 · map.html · part 2 of 2",
    ]
    assert (pictures[0].width_px, pictures[0].height_px) == (640, 1500)


def test_pages_are_counted() -> None:
    """A document's picture says which page it is."""
    row = outdir.row("t", "x", images=[outdir.image("t", page=2, pages=9, source="report.pdf")])
    assert view_of(row).pictures[0].caption == "Image 1 · report.pdf · page 2 of 9"


def test_a_missing_picture_has_no_url() -> None:
    """A picture whose file is gone is listed, and is no thumbnail."""
    row = outdir.row("t", "x", images=[outdir.image("t")])
    item = view_of(row, sizes={row["evidence"]["images"][0]["path"]: None})
    assert item.pictures[0].url is None
    assert item.thumbnail is None


def test_what_was_not_shown_is_told_with_the_reason(items: dict[str, ItemView]) -> None:
    """Files left out and warnings of the evidence are in words, with what is known in particular."""
    item = items["airports-europe"]
    assert [(note.source, note.code, note.words, note.detail) for note in item.not_shown] == [
        ("notes/data.csv", "excluded", "left out by the protocol's exclusions", "pattern *.csv")
    ]
    assert item.warnings[0].words == "a script on the page failed"
    assert [file.source for file in item.files] == ["map.html · html · 48.2 kB", "notes/data.csv · 1.2 MB"]


def test_the_raw_reply_and_the_exact_prompt_are_there(tmp_path: Path) -> None:
    """Both are verbatim, with a link to their file."""
    items = build_view([load_run(outdir.write_varied(tmp_path / "atlas"))]).items
    texts = items.verbatim(2)
    assert texts.prompt is not None
    assert "{query}" in texts.prompt.text
    assert texts.prompt.url == f"airports-europe/{outdir.JUDGE_FOLDER}/prompt.txt"
    assert "지도의 범례" in texts.replies["3"].text
    assert len(items[2].repeats[2].rationale) > 2000


def test_a_huge_reply_is_cut_and_says_how_much() -> None:
    """The page holds the beginning; the rest is counted and linked."""
    row = outdir.row("t", "x", [outdir.repeat(1, (1, 2, 3, 4))])
    texts = {row["folder"]: TaskTexts(replies={1: "x" * (INLINE_CHARS + 7), 2: "of an earlier run"})}
    run = Run(name="x", rows=[row], summary=outdir.summary("x", [row]), texts=texts)
    replies = build_view([run]).items.verbatim(0).replies
    assert list(replies) == ["1"]
    assert (len(replies["1"].text), replies["1"].cut) == (INLINE_CHARS, 7)


def test_frames_sheets_and_videos_are_named() -> None:
    """A frame has its time, a sheet its name, a video its length; a lost video has no address."""
    images = [
        outdir.image("t", sheet="Q3", page=2, pages=4, source="b.xlsx"),
        outdir.image("t", 2, time_s=12.5),
    ]
    folder = f"t/{outdir.JUDGE_FOLDER}"
    video = {
        "path": f"{folder}/video-1.mp4", "sha256": "ab", "media_type": "video/mp4", "source": "clip.mp4",
        "width_px": 640, "height_px": 360, "duration_s": 12.0, "size_bytes": 2_000_000,
    }  # fmt: skip
    row = outdir.row("t", "x", images=images, evidence={"videos": [video, {**video, "path": "../x.mp4"}]})
    item = view_of(row)
    assert [picture.caption for picture in item.pictures] == [
        "Image 1 · b.xlsx · page 2 of 4 · sheet “Q3”",
        "Image 2 · map.html · at 12.50 s",
    ]
    assert item.videos[0].caption == "clip.mp4 · 640 × 360 px · 12.0 s · 2.0 MB"
    assert [one.url for one in item.videos] == [f"{folder}/video-1.mp4", None]


def test_the_texts_that_a_judge_was_shown_are_there(tmp_path: Path) -> None:
    """They come from the stored evidence; another shape of it gives none."""
    out = outdir.write_varied(tmp_path / "atlas")
    folder = out / outdir.varied_rows("atlas")[0]["folder"]
    record = folder / "prepared_output_evidence.json"
    record.write_text(json.dumps({"texts": [["response.txt", "Here is <b>the</b> map."]]}))
    shown = build_view([load_run(out)]).items.verbatim(0).shown
    assert [(text.title, text.text) for text in shown] == [("response.txt", "Here is <b>the</b> map.")]
    record.write_text(json.dumps({"texts": "none"}))
    assert build_view([load_run(out)]).items.verbatim(0).shown == ()


def test_an_evidence_budget_is_not_a_money_budget() -> None:
    """`budget` on a file that was not shown means the number of pictures, not dollars."""
    row = outdir.row(
        "t", "x", evidence={"not_shown": [{"name": "p.pdf", "reason": "budget", "detail": "page 7"}]}
    )
    assert "pictures, pages" in view_of(row).not_shown[0].words


def test_rules_are_listed() -> None:
    """Rules checked without a judge show their arguments, outcome and detail."""
    rule = {"type": "file_exists", "args": {"glob": "*.csv"}, "outcome": "not_supported", "detail": "d"}
    shown = view_of(outdir.row("t", "x") | {"rules": [rule]}).rules[0]
    assert (shown.name, shown.outcome, shown.detail) == ("file_exists glob = *.csv", "not_supported", "d")


def test_a_tasks_own_criteria_stand_on_their_own_scales() -> None:
    """In place of the protocol's one criterion, which this task was never asked."""
    own = [
        {"key": "ordered", "question": "?", "min": 0, "max": 1, "type": "bool"},
        {"key": "advice", "question": "?", "min": 0, "max": 4, "type": "int"},
    ]
    one = {**outdir.repeat(1, (1, 1, 1, 1)), "scores": {"ordered": False, "advice": 3}}
    row = {
        **outdir.row("t", "m", [outdir.repeat(1, (1, 1, 1, 1))]),
        "repeats": [one],
        "scores": {"ordered": 0, "advice": 3},
        "criteria": own,
    }
    scale = Scale(ends=(0, 1), pass_at=None, criteria={"overall": (0, 10)})
    found = [(line.name, line.scale) for line in score_rows(row, scale) if line.kind == "criterion"]
    assert found == [("ordered", "0–1"), ("advice", "0–4")]
