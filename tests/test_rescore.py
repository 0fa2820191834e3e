"""Stored replies under another formula."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from beholder.cli import main
from beholder.errors import ConfigError, ProtocolError, StoreError
from beholder.run.conductor import judge_run
from beholder.run.rescore import rescore
from beholder.run.spec import RunSpec
from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import command, gis_reply, gis_run, judge_command, rows_of, run, summary_of

PROTOCOL = """
schema = 1
id = "posters/1"
title = "Posters"
reply = "json"
rationale = "reason"
[prompt]
text = 'Judge {prompt} {media}. Reply {"legible": 0-10, "balanced": 0-10, "reason": "..."}'
placeholders = ["prompt", "media"]
[judge]
model = "openai-compatible/judge-1"
[repeats]
n = 3
[routing]
visual = [".png"]
[[criteria]]
key = "legible"
min = 0
max = 10
[[criteria]]
key = "balanced"
min = 0
max = 10
[score]
both = { weighted = { legible = 1, balanced = 1 } }
main = { scale = "both", from = [0, 1], to = [0, 100] }
pass_at = 60
"""


def reply(legible: int, balanced: int) -> str:
    return json.dumps({"legible": legible, "balanced": balanced, "reason": "ok"})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `posters.toml` and the out-dir `o` of a run by it: scored, a gap, absent, unscored."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "posters.toml").write_text(PROTOCOL)
    gis_run(folder, ["a", "b", "gone", "x"])
    (folder / "run" / "gone.png").unlink()
    rules = [
        rule(contains="Map a.", text=reply(9, 5)),
        rule(contains="Map b.", times=1, text="no"),
        rule(contains="Map b.", times=1, text=reply(2, 10)),
        rule(contains="Map b.", text=reply(4, 10)),
        rule(contains="Map x.", status=400, body={"error": {"message": "no"}}),
    ]
    line = judge_command(folder, folder / "o", "URL", "--max-connections", 1)
    with JudgeServer(rules) as server:
        line = [part.replace("URL", server.url).replace("gis-bench", "posters.toml") for part in line]
        assert run(line, cwd=folder).returncode == 3
    return folder


@pytest.fixture(autouse=True)
def _there_and_offline(finished: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In the run's folder; whoever opens a connection fails; the run itself must not change."""
    monkeypatch.chdir(finished)

    def refuse(*args: object) -> None:
        raise AssertionError(f"a connection was opened: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    before = snapshot(finished / "o")
    yield
    assert snapshot(finished / "o") == before


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file's digest and time of change."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in folder.rglob("*")
        if path.is_file()
    }


def changed(tmp_path: Path, *pairs: tuple[str, str]) -> Path:
    """The protocol with pieces replaced."""
    text = PROTOCOL
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "new.toml").write_text(text)
    return tmp_path / "new.toml"


def test_the_same_formula_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    """Rows are equal byte for byte, and the files are those that a run leaves."""
    result = rescore(finished / "o", tmp_path / "new")
    for name in ("judge_results.jsonl",):
        assert (tmp_path / "new" / name).read_bytes() == (finished / "o" / name).read_bytes()
    assert snapshot(tmp_path / "new").keys() == snapshot(finished / "o").keys()
    assert result.reused == 6
    record = json.loads((tmp_path / "new" / "run.json").read_text())
    assert (record["calls"]["made"], record["calls"]["reused"], record["cost_usd"]) == (0, 6, 0)
    before, after = summary_of(finished / "o"), summary_of(tmp_path / "new")
    changed_keys = {key for key in before if before[key] != after[key]}
    assert changed_keys == {"cost_usd", "warnings"}
    assert [w["code"] for w in after["warnings"] if w not in before["warnings"]] == ["rescored"]


def test_a_new_weight_and_pass_mark_score_the_same_replies_anew(finished: Path, tmp_path: Path) -> None:
    """Numbers by hand: 9 and 5 of 10 at weights 3 : 1 are 80, not 70; the repeats keep their gap."""
    new = changed(
        tmp_path, ("legible = 1, balanced = 1", "legible = 3, balanced = 1"), ("pass_at = 60", "pass_at = 75")
    )
    rescore(finished / "o", tmp_path / "new", protocol=new)
    a, b, gone, x = rows_of(tmp_path / "new")
    old = rows_of(finished / "o")
    assert (old[0]["main_score"], old[0]["pass"]) == (70, True)
    assert (a["main_score"], a["pass"]) == (80, True)
    assert [repeat["derived"].get("main") for repeat in b["repeats"]] == [None, 40, 55]
    assert (b["main_score"], b["pass"], b["n_scored"]) == (47.5, False, 2)
    assert (gone["outcome"], gone["reason"], gone["main_score"]) == ("absent", "missing", 0)
    assert (x["outcome"], x["reason"], x["main_score_error"]) == (
        "unscored",
        "rejected",
        old[3]["main_score_error"],
    )
    assert {row["formula_sha256"] for row in (a, b, gone, x)} != {row["formula_sha256"] for row in old}
    assert [row["question_sha256"] for row in (a, b)] == [row["question_sha256"] for row in old[:2]]
    manifest = json.loads((tmp_path / "new" / "manifest.json").read_text())
    assert manifest["rescored"]["formula_sha256"] == old[0]["formula_sha256"]
    assert manifest["protocol"]["formula_sha256"] == a["formula_sha256"]


@pytest.mark.parametrize(
    ("old", "new", "task", "expected"),
    [
        ("n = 3", 'n = 3\nreduce = "median"', "b", ("scored", None, 65)),
        ("n = 3", "n = 3\nmin_scored = 3", "b", ("unscored", "invalid_json", None)),
        ("n = 3", 'n = 3\nreduce = "majority"', "b", ("unscored", "no_majority", None)),
        ("[score]", '[absent]\npolicy = "exclude"\n[score]', "gone", ("absent", "missing", None)),
    ],
)
def test_reduction_least_number_and_absent_policy_are_formula_too(
    finished: Path, tmp_path: Path, old: str, new: str, task: str, expected: tuple[object, ...]
) -> None:
    """Each is applied to the stored replies."""
    rescore(finished / "o", tmp_path / "new", protocol=changed(tmp_path, (old, new)))
    (row,) = [row for row in rows_of(tmp_path / "new") if row["task_id"] == task]
    assert (row["outcome"], row["reason"], row["main_score"]) == expected


def test_a_pass_mark_alone_needs_no_file(finished: Path, tmp_path: Path) -> None:
    """--pass-at changes who passes and the formula's hash, no score."""
    rescore(finished / "o", tmp_path / "new", pass_at=Decimal("70.5"))
    before, after = rows_of(finished / "o"), rows_of(tmp_path / "new")
    assert [row["main_score"] for row in after] == [row["main_score"] for row in before]
    assert (before[0]["pass"], after[0]["pass"]) == (True, False)
    assert before[0]["formula_sha256"] != after[0]["formula_sha256"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('key = "balanced"\nmin = 0\nmax = 10', 'key = "balanced"\nmin = 0\nmax = 5', "'balanced', max"),
        ("[score]", '[[criteria]]\nkey = "more"\n[score]', "'more' was not asked"),
        ("Judge {prompt}", "Please judge {prompt}", "the prompt's wording"),
        ('reply = "json"', 'reply = "lines"', "the reply form"),
    ],
)
def test_another_question_is_refused_with_what_differs(
    finished: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    """Old replies do not answer new questions; nothing is written."""
    with pytest.raises(StoreError) as caught:
        rescore(finished / "o", tmp_path / "new", protocol=changed(tmp_path, (old, new)))
    assert caught.value.slug == "pinned"
    assert message in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_weight_of_a_criterion_is_no_part_of_the_question(finished: Path, tmp_path: Path) -> None:
    """It changes the formula's hash only."""
    new = changed(tmp_path, ('key = "legible"', 'key = "legible"\nweight = 2'))
    rescore(finished / "o", tmp_path / "new", protocol=new)


def test_more_usable_replies_than_were_asked_for_are_never_quietly_fewer(tmp_path: Path) -> None:
    """A task that needs two replies is refused one, by run and rescoring alike, with what to do."""
    gis_run(tmp_path, ["a"])
    (tmp_path / "p.toml").write_text(PROTOCOL)
    (tmp_path / "r.jsonl").write_text(json.dumps({"reply": reply(9, 5)}))
    spec = RunSpec(
        tasks=tmp_path / "tasks.jsonl", run_dirs={"m": tmp_path / "run"}, out_dir=tmp_path / "o",
        protocol=tmp_path / "p.toml", judge=f"scripted/{tmp_path / 'r.jsonl'}", repeats=1,
    )  # fmt: skip
    judge_run(spec)
    two = changed(tmp_path, ("n = 3", "n = 3\nmin_scored = 2"))
    with pytest.raises(
        ConfigError, match=r"--repeats 1: .*min_scored = 2 usable replies on; ask for at least 2"
    ):
        judge_run(replace(spec, protocol=two, out_dir=tmp_path / "o2"))
    with pytest.raises(ProtocolError, match=r"min_scored = 2, and .* was asked for 1 a task"):
        rescore(tmp_path / "o", tmp_path / "new", protocol=two)


def test_a_protocol_file_that_is_gone_is_said(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names it and the flag."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProtocolError, match=r"posters\.toml is not there now; name it with --protocol"):
        rescore(finished / "o", tmp_path / "new")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("legible = 1, balanced = 1", "legible = 3, balanced = 1", "score.both"),
        ("pass_at = 60", "pass_at = 75", "pass_at: was 60, now 75"),
        ("n = 3", 'n = 3\nreduce = "median"', "repeats.reduce: was 'mean', now 'median'"),
        ('key = "legible"', 'key = "legible"\nweight = 2', "weight of 'legible': was None, now 2"),
        ("[score]", '[absent]\npolicy = "exclude"\n[score]', "absent"),
        ("Judge {prompt}", "Please judge {prompt}", "the prompt's wording"),
        ('key = "balanced"', 'key = "even"', "'balanced' was asked and is gone"),
    ],
)
def test_a_protocol_that_was_edited_since_is_not_taken_for_the_runs_own(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    """Named by nobody, it must be as it was, question and formula; the message tells the way out."""
    text = PROTOCOL.replace(old, new)
    text = text.replace("{ legible = 1, balanced", "{ legible = 1, even") if "even" in new else text
    (tmp_path / "posters.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught:
        rescore(finished / "o", tmp_path / "new")
    assert caught.value.slug == "pinned"
    assert message in str(caught.value)
    assert "--protocol" in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_pass_mark_of_an_earlier_rescoring_is_the_runs_own(finished: Path, tmp_path: Path) -> None:
    """It was a flag's and stands in no file; the next re-scoring keeps it."""
    rescore(finished / "o", tmp_path / "one", pass_at=Decimal("70.5"))
    rescore(tmp_path / "one", tmp_path / "two")
    assert rows_of(tmp_path / "two") == rows_of(tmp_path / "one")


@pytest.mark.parametrize("mark", ["1e400", "-1e400", "1e-400", "NaN", "Infinity", "0." + "1" * 16])
def test_a_pass_mark_that_json_cannot_hold_is_refused(finished: Path, tmp_path: Path, mark: str) -> None:
    """Before anything is written."""
    with pytest.raises(ConfigError, match="--pass-at"):
        rescore(finished / "o", tmp_path / "new", pass_at=Decimal(mark))
    assert list(tmp_path.iterdir()) == []


def test_a_wording_without_its_protocol_is_refused(finished: Path, tmp_path: Path) -> None:
    """It would be ignored: the run's own protocol brings its own wording."""
    (tmp_path / "words.txt").write_text("{prompt} {media}")
    with pytest.raises(ConfigError, match="name the protocol too"):
        rescore(finished / "o", tmp_path / "new", prompt_file=tmp_path / "words.txt")


def test_the_new_out_dir_stands_alone(finished: Path, tmp_path: Path) -> None:
    """It can be re-scored in its turn, back to the first rows, and holds no symbolic links."""
    new = changed(tmp_path, ("balanced = 1", "balanced = 3"))
    rescore(finished / "o", tmp_path / "one", protocol=new)
    rescore(tmp_path / "one", tmp_path / "two", protocol=finished / "posters.toml")
    assert (tmp_path / "two/judge_results.jsonl").read_bytes() == (
        finished / "o/judge_results.jsonl"
    ).read_bytes()
    assert not [path for path in (tmp_path / "one").rglob("*") if path.is_symlink()]


def test_the_new_out_dir_can_be_gone_on_with(finished: Path, tmp_path: Path) -> None:
    """judge-run with the new protocol takes it up: same rows, and no call, for its server is gone."""
    new = changed(tmp_path, ("legible = 1, balanced = 1", "legible = 3, balanced = 1"))
    rescore(finished / "o", tmp_path / "new", protocol=new)
    rows = (tmp_path / "new/judge_results.jsonl").read_bytes()
    url = json.loads((finished / "o/manifest.json").read_text())["judge"]["base_url"]
    line = judge_command(finished, tmp_path / "new", url.removesuffix("/v1"), "--max-retries", 0)
    done = run([str(new) if part == "gis-bench" else part for part in line])
    assert done.returncode == 3, done.stderr
    assert (tmp_path / "new/judge_results.jsonl").read_bytes() == rows
    assert json.loads((tmp_path / "new/run.json").read_text())["calls"]["made"] == 0


def test_the_old_folder_may_be_read_only(finished: Path, tmp_path: Path) -> None:
    """Nothing is created there, not even for a moment."""
    folders = [finished / "o", *(path for path in (finished / "o").rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        times = {folder: folder.stat().st_mtime_ns for folder in folders}
        rescore(finished / "o", tmp_path / "new")
        assert {folder: folder.stat().st_mtime_ns for folder in folders} == times
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("to", ["o", "o/inside", ".", "full"])
def test_a_target_that_would_touch_something_is_refused(finished: Path, tmp_path: Path, to: str) -> None:
    """Not the out-dir, a folder in it or around it, nor one with content."""
    target = finished / to
    if to == "full":
        target = tmp_path
        (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="--to"):
        rescore(finished / "o", target)


def test_a_run_that_is_under_way_is_not_read(finished: Path, tmp_path: Path) -> None:
    """Its ledger could be torn in two; the message says to wait."""
    with (finished / "o" / ".lock").open("rb") as held:
        fcntl.flock(held.fileno(), fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="a run is writing there"):
            rescore(finished / "o", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_in_the_log_is_read_too(finished: Path, tmp_path: Path) -> None:
    """Outcomes that SQLite had not yet moved into the ledger's own file count, and stay where they are."""
    rescore(finished / "o", tmp_path / "copy")
    db = sqlite3.connect(tmp_path / "copy/ledger.sqlite")
    db.execute("UPDATE attempts SET stop_reason = 'seen_in_log' WHERE state = 'replied'")
    db.commit()
    assert (tmp_path / "copy/ledger.sqlite-wal").stat().st_size > 0
    before = snapshot(tmp_path / "copy")
    rescore(tmp_path / "copy", tmp_path / "new")
    assert snapshot(tmp_path / "copy") == before
    db.close()
    assert rows_of(tmp_path / "new")[0]["repeats"][0]["stop_reason"] == "seen_in_log"


def test_a_row_whose_reply_is_not_in_the_ledger_is_damage(finished: Path, tmp_path: Path) -> None:
    """It is never scored by a reply it was not made of."""
    rescore(finished / "o", tmp_path / "copy")
    rows = (tmp_path / "copy/judge_results.jsonl").read_text()
    digest = rows_of(tmp_path / "copy")[0]["repeats"][0]["reply_sha256"]
    (tmp_path / "copy/judge_results.jsonl").write_text(rows.replace(digest, "0" * 64, 1))
    with pytest.raises(StoreError, match="task 'a', repeat 1"):
        rescore(tmp_path / "copy", tmp_path / "new")


def test_a_wording_of_ones_own_needs_to_be_named_with_a_new_protocol_only(tmp_path: Path) -> None:
    """Without --protocol the wording is the one that was asked; with it, --prompt-file says it again."""
    # The server needs connections, so this run is made in processes of its own.
    gis_run(tmp_path, ["a"])
    (tmp_path / "own.txt").write_text("{level} {prompt} my words")
    script = tmp_path / "replies.jsonl"
    script.write_text(json.dumps({"reply": gis_reply()}) + "\n")
    line = judge_command(tmp_path, tmp_path / "o", "http://unused", "--prompt-file", tmp_path / "own.txt")
    line = [part.replace("openai-compatible/judge-1", f"scripted/{script}") for part in line]
    line = [part for part in line if not part.startswith("http") and part != "--base-url"]
    assert (done := run(line, cwd=tmp_path)).returncode == 0, done.stderr
    own = command("rescore", "--out-dir", tmp_path / "o", "--to", tmp_path / "n1")
    assert (done := run(own)).returncode == 0, done.stderr
    assert rows_of(tmp_path / "n1") == rows_of(tmp_path / "o")
    other = command(
        "rescore", "--out-dir", tmp_path / "o", "--to", tmp_path / "n2", "--protocol", "gis-bench", "--json"
    )
    refused = run(other)
    assert (refused.returncode, json.loads(refused.stdout)["error"]) == (2, "pinned")
    assert "--prompt-file" in refused.stderr
    assert run([*other, "--prompt-file", str(tmp_path / "own.txt")]).returncode == 0


def test_the_command_tells_what_it_did(finished: Path, tmp_path: Path) -> None:
    """Exit 3 while something is unscored, the summary as JSON, and no call in words."""
    line = command("rescore", "--out-dir", "o", "--to", tmp_path / "new", "--pass-at", "99", "--json")
    done = run(line, cwd=finished, env={**os.environ, "http_proxy": "http://127.0.0.1:9"})
    assert done.returncode == 3, done.stderr
    assert "no call made" in done.stderr
    assert json.loads(done.stdout)["pass_at"] == 99
    again = run(line, cwd=finished)
    assert (again.returncode, "something already" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("mark", "said"), [("0.7", ""), ("0", "every task that is scored"), ("101", "no task")]
)
def test_a_pass_mark_of_another_scale_is_told(finished: Path, tmp_path: Path, mark: str, said: str) -> None:
    """Beyond the scale nobody can pass, or everybody does; it is applied all the same."""
    line = ["rescore", "--out-dir", str(finished / "o"), "--to", str(tmp_path / "new"), "--pass-at", mark]
    done = CliRunner().invoke(main, line)
    assert done.exit_code in {0, 3}
    assert (f"--pass-at {mark}, and the score runs from 0 to 100: {said}" in done.output) == bool(said)
