"""Out-dirs are read whole or refused with the place that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beholder.compare import load_runs
from beholder.errors import StoreError
from beholder.export import read_table
from beholder.report.load import folder_of, load_run, media_paths, url
from beholder.run.conductor import judge_run
from beholder.run.spec import RunSpec
from beholder.store.outdir import ANY_MODEL, EVIDENCE_FILE
from tests.fakes import outdir


def test_an_out_dir_is_read_with_its_texts(tmp_path: Path) -> None:
    """Rows, summary, prompts and raw replies come back verbatim, in the rows' order."""
    run = load_run(outdir.write_varied(tmp_path / "atlas"))
    assert run.name == "atlas"
    assert [row["task_id"] for row in run.rows] == [row["task_id"] for row in outdir.varied_rows("atlas")]
    assert list(run.texts) == [row["folder"] for row in run.rows]
    texts = run.texts[run.rows[1]["folder"]]
    assert "{query}" in (texts.prompt or "")
    assert sorted(texts.replies) == [1, 3]  # the second repeat had no usable reply
    assert json.loads(texts.replies[1])["reason"] == outdir.WORDS[1]


def test_line_ends_of_a_reply_are_kept(tmp_path: Path) -> None:
    """A raw reply is shown as it came, a carriage return and a broken byte included."""
    out = outdir.write_varied(tmp_path / "atlas")
    row = outdir.varied_rows("atlas")[0]
    (out / row["folder"] / "reply-1.txt").write_bytes(b"a\r\nb\xff")
    assert load_run(out).texts[row["folder"]].replies[1] == "a\r\nb\ufffd"


def test_a_picture_that_is_gone_is_noticed(tmp_path: Path) -> None:
    """Rows may outlive their pictures; a missing one has no size."""
    out = outdir.write_varied(tmp_path / "atlas")
    path = outdir.varied_rows("atlas")[0]["evidence"]["images"][0]["path"]
    (out / path).unlink()
    assert [name for name, size in load_run(out).sizes.items() if size is None] == [path]


@pytest.mark.parametrize(
    ("name", "slug"), [("judge_results.jsonl", "no_results"), ("judge_summary.json", "not_an_out_dir")]
)
def test_a_folder_without_rows_or_summary_is_no_out_dir(tmp_path: Path, name: str, slug: str) -> None:
    """What a report cannot do without is asked for by name."""
    out = outdir.write_varied(tmp_path / "atlas")
    (out / name).unlink()
    with pytest.raises(StoreError, match=name) as caught:
        load_run(out)
    assert caught.value.slug == slug


def test_an_out_dir_of_a_programs_judge_says_what_it_is(tmp_path: Path) -> None:
    """It has replies and evidence, and its rows are the program's: whoever asks for a table hears how."""
    pins = {"pins": {"model": ANY_MODEL}}
    (tmp_path / "manifest.json").write_text(json.dumps(pins), encoding="utf-8")
    said = "open_judge.*write each Judgement.row as a line of FOLDER/judge_results.jsonl"
    for read in (load_run, read_table, lambda path: load_runs([path])):
        with pytest.raises(StoreError, match=said):
            read(tmp_path)


def test_a_comparison_needs_the_summary(tmp_path: Path) -> None:
    """Rows alone do not tell scales and formula."""
    out = outdir.write_varied(tmp_path / "atlas")
    (out / "judge_summary.json").unlink()
    with pytest.raises(StoreError, match=r"no judge_summary\.json"):
        load_runs([out])


def test_manifest_and_run_record_may_be_missing(tmp_path: Path) -> None:
    """A report needs neither `manifest.json` nor `run.json`."""
    out = outdir.write_varied(tmp_path / "atlas")
    (out / "manifest.json").unlink()
    (out / "run.json").unlink()
    run = load_run(out)
    assert (run.manifest, run.run) == ({}, {})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"task_id": "a"}\n{"task": \n', ":2: Expecting value"),
        ("[1]\n", "not a JSON object"),
        ('{"a": NaN}\n', "NaN is not JSON"),
    ],
)
def test_a_damaged_row_is_named_by_its_line(tmp_path: Path, content: str, said: str) -> None:
    """A broken row, another shape and NaN are refused."""
    out = outdir.write_varied(tmp_path / "atlas")
    (out / "judge_results.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(StoreError, match=said) as caught:
        load_run(out)
    assert caught.value.slug == "damaged"


def test_bytes_that_are_no_utf8_are_damage(tmp_path: Path) -> None:
    """Another encoding is refused rather than guessed."""
    out = outdir.write_varied(tmp_path / "atlas")
    (out / "judge_summary.json").write_bytes(b'{"model": "\xff"}')
    with pytest.raises(StoreError, match="judge_summary"):
        load_run(out)


def test_a_path_out_of_the_out_dir_is_not_followed() -> None:
    """Neither a picture nor a folder of a row may lead outside."""
    images = [{"path": path} for path in ("a/1.png", "../x.png", "/etc/x.png", "a/../../x.png", "")]
    assert media_paths({"evidence": {"images": images}}) == ["a/1.png"]
    assert folder_of({"folder": "../a"}) == ""
    assert folder_of({"folder": "t/j"}) == "t/j"
    assert folder_of({"evidence": {"images": [{"path": "t/j/1.png"}]}}) == "t/j"


def test_a_url_is_encoded_once_more_than_the_folder_on_disk() -> None:
    """A browser decodes once, so the percent sign of a folder's name is encoded."""
    assert url("borea <i>", "%3Cb%3E/a b#1?.png") == "borea%20%3Ci%3E/%253Cb%253E/a%20b%231%3F.png"
    assert url("", "a:b/서.png") == "a%3Ab/%EC%84%9C.png"


def test_the_texts_that_a_judge_was_shown_are_read_from_the_stored_record(tmp_path: Path) -> None:
    """As a run writes it, the evidence below `evidence`; and as the first versions did."""
    out = outdir.write_varied(tmp_path / "atlas")
    record = {"texts": [["response.txt", "Three items differ.\n"], ["a.csv", "sku\n"]]}
    rows = outdir.varied_rows("atlas")[:2]
    for row, content in zip(rows, ({"evidence": record}, record), strict=True):
        (out / row["folder"] / EVIDENCE_FILE).write_text(json.dumps(content), encoding="utf-8")
    run = load_run(out)
    for row in rows:
        shown = run.texts[row["folder"]].shown
        assert shown == (("response.txt", "Three items differ.\n"), ("a.csv", "sku\n"))


def test_a_run_over_texts_shows_them(tmp_path: Path) -> None:
    """A judged response is found again in what the report loads."""
    (tmp_path / "tasks.jsonl").write_text(
        json.dumps({"task_id": "t", "agent_prompt": "Count.", "semantic_rubric": "Is it right?"}) + "\n",
        encoding="utf-8",
    )
    submission = tmp_path / "m" / "t"
    submission.mkdir(parents=True)
    (submission / "response.txt").write_text("Seven.\n", encoding="utf-8")
    (tmp_path / "replies.jsonl").write_text(json.dumps({"reply": {"overall": 8, "reason": "fine"}}) + "\n")
    spec = RunSpec(
        tasks=tmp_path / "tasks.jsonl",
        run_dirs={"m": tmp_path / "m"},
        out_dir=tmp_path / "o",
        protocol="enterprise-claw",
        judge=f"scripted/{tmp_path / 'replies.jsonl'}",
    )
    judge_run(spec)
    run = load_run(tmp_path / "o")
    assert run.texts[run.rows[0]["folder"]].shown == (("response.txt", "Seven.\n"),)
