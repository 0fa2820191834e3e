"""The out-dir: lock, pins, ledger, files."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import JudgeUnavailable, StoreError
from beholder.export import read_table
from beholder.records import Reply, Usage
from beholder.report.write import rebuild_reports
from beholder.run.rescore import rescore
from beholder.store import CallKey, OutDir, joint_models, read_rows, task_folder
from beholder.store.names import RESERVED
from beholder.store.outdir import write_bytes

PINS = {"question_sha256": "q", "judge": {"model": "scripted/x"}}


def key(repeat: int = 1, **changes: object) -> CallKey:
    members = {
        "model": "m",
        "task_id": "t",
        "artifacts": ("a",),
        "question_sha256": "q",
        "evidence_sha256": "e",
        "prompt_sha256": "p",
        "judge": {"model": "j"},
        "repeat": repeat,
    }
    return CallKey(**{**members, **changes})  # type: ignore[arg-type]


REPLY = Reply(
    text='{"a": "\ud83d"}',
    stop_reason="end_turn",
    served_model="judge-1",
    usage=Usage(input_tokens=10, output_tokens=2),
    cost_usd=Decimal("0.001"),
    sent={"temperature": 0},
)


def test_an_answer_comes_back_as_it_was_even_with_half_a_surrogate_pair(tmp_path: Path) -> None:
    """Text, stop reason, served model, tokens, cost and sent settings survive."""

    async def ask(out: OutDir) -> None:
        attempt = await out.ledger.intend(key(), {"prompt": "x"}, 1)
        await out.ledger.replied(attempt, REPLY)

    out = OutDir(tmp_path / "o", PINS)
    asyncio.run(ask(out))
    out.close()
    again = OutDir(tmp_path / "o", PINS)
    stored = again.ledger.find(key())
    again.close()
    assert stored is not None
    assert (stored.state, stored.reply) == ("replied", REPLY)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"task_id": "u"},
        {"artifacts": ("b",)},
        {"question_sha256": "r"},
        {"evidence_sha256": "f"},
        {"prompt_sha256": "r"},
        {"judge": {"model": "j", "temperature": "0"}},
        {"repeat": 2},
    ],
)
def test_each_part_of_the_identity_makes_another_call(change: dict[str, object]) -> None:
    """No part may be forgotten: an answer to another call would be used again."""
    assert key(**change).identity != key().identity  # type: ignore[arg-type]


def test_a_failed_call_stays_failed_until_it_is_asked_again(tmp_path: Path) -> None:
    """Its reason is kept; a new intent opens it, an answer closes it."""

    async def steps(out: OutDir) -> list[str]:
        states = []
        error = JudgeUnavailable("too many", slug="rate_limited", status=429, possibly_billed=False)
        first = await out.ledger.intend(key(), {}, 1)
        await out.ledger.attempt_failed(first, error)
        await out.ledger.call_failed(key(), error)
        for _ in range(2):
            stored = out.ledger.find(key())
            assert stored is not None
            states.append(f"{stored.state}/{stored.slug}")
            again = await out.ledger.intend(key(), {}, 1)
            await out.ledger.replied(again, REPLY)
        return states

    out = OutDir(tmp_path / "o", PINS)
    states = asyncio.run(steps(out))
    totals = out.ledger.totals(this_run=True)
    out.close()
    assert states[0] == "failed/rate_limited"
    assert states[1].startswith("replied")
    assert (totals.attempts, totals.replied, totals.failed) == (3, 2, 1)


def test_unknown_prices_are_counted_and_never_taken_for_nothing(tmp_path: Path) -> None:
    """A reply without a price adds no cost and stands as unpriced."""

    async def ask(out: OutDir) -> None:
        for repeat, cost in ((1, Decimal("0.5")), (2, None)):
            attempt = await out.ledger.intend(key(repeat), {}, 1)
            await out.ledger.replied(attempt, Reply(text="x", cost_usd=cost))

    out = OutDir(tmp_path / "o", PINS)
    asyncio.run(ask(out))
    totals = out.ledger.totals(this_run=False)
    out.close()
    assert (totals.cost_usd, totals.unpriced) == (Decimal("0.5"), 1)


def test_another_question_or_judge_is_refused_with_what_differs(tmp_path: Path) -> None:
    """The message names the pin and both values; nothing is changed."""
    OutDir(tmp_path / "o", PINS).close()
    with pytest.raises(StoreError, match=r"  - judge\.model: there scripted/x, now scripted/y\n"):
        OutDir(tmp_path / "o", {**PINS, "judge": {"model": "scripted/y"}})
    OutDir(tmp_path / "o", PINS).close()


@pytest.mark.parametrize("damage", ["", "{", None])
def test_an_out_dir_whose_pins_are_lost_is_not_gone_on_with(tmp_path: Path, damage: str | None) -> None:
    """With replies in the ledger a torn or missing manifest is damage: another judge could join unnoticed."""

    async def ask(out: OutDir) -> None:
        await out.ledger.replied(await out.ledger.intend(key(), {}, 1), REPLY)

    out = OutDir(tmp_path / "o", PINS)
    asyncio.run(ask(out))
    out.close()
    manifest = tmp_path / "o" / "manifest.json"
    manifest.unlink()
    if damage is not None:
        manifest.write_text(damage)
    with pytest.raises(StoreError, match="missing or damaged"):
        OutDir(tmp_path / "o", {**PINS, "judge": {"model": "other"}})


def test_a_write_that_fails_takes_no_paid_reply_with_it(tmp_path: Path) -> None:
    """Two writes of one moment: the impossible one raises, the other is stored."""

    async def steps(out: OutDir) -> object:
        good, bad = [await out.ledger.intend(key(n), {}, 1) for n in (1, 2)]
        impossible = Reply(text="x", stop_reason=3.5j)  # type: ignore[arg-type]
        results = await asyncio.gather(
            out.ledger.replied(bad, impossible), out.ledger.replied(good, REPLY), return_exceptions=True
        )
        return results[0]

    out = OutDir(tmp_path / "o", PINS)
    error = asyncio.run(steps(out))
    stored = out.ledger.find(key(1))
    out.close()
    assert isinstance(error, Exception)
    assert stored is not None
    assert stored.reply == REPLY


def test_a_vendors_odd_words_and_counts_are_stored(tmp_path: Path) -> None:
    """Half a surrogate pair in a model's name and a count beyond 64 bits do not stop a run."""
    odd = Reply(text="x", served_model="judge-\ud800", usage=Usage(input_tokens=10**30))

    async def ask(out: OutDir) -> None:
        await out.ledger.replied(await out.ledger.intend(key(), {}, 1), odd)

    out = OutDir(tmp_path / "o", PINS)
    asyncio.run(ask(out))
    stored = out.ledger.find(key())
    out.close()
    assert stored is not None
    assert stored.reply is not None
    assert stored.reply.served_model == "judge-?"


def test_force_archives_and_begins_anew(tmp_path: Path) -> None:
    """What was there lies below archive/, and the ledger is empty."""

    async def ask(out: OutDir) -> None:
        await out.ledger.replied(await out.ledger.intend(key(), {}, 1), REPLY)

    first = OutDir(tmp_path / "o", PINS)
    asyncio.run(ask(first))
    first.close()
    second = OutDir(tmp_path / "o", {"question_sha256": "other"}, force=True)
    found = second.ledger.find(key())
    second.close()
    assert found is None
    assert len(list((tmp_path / "o" / "archive").glob("*/ledger.sqlite"))) == 1


def test_a_living_run_holds_the_folder_and_a_dead_one_does_not(tmp_path: Path) -> None:
    """The second one is told which process holds it; after kill -9 the folder is free."""
    code = (
        "import sys, time; from pathlib import Path; from beholder.store import OutDir\n"
        "held = OutDir(Path(sys.argv[1]), {}); print('held', flush=True); time.sleep(3600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=str(process.pid)):
            OutDir(tmp_path, {})
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    OutDir(tmp_path, {}).close()


def test_what_was_in_flight_at_a_kill_is_told_and_asked_again(tmp_path: Path) -> None:
    """An intent without an outcome is counted as possibly billed, and the call is open."""
    code = (
        "import asyncio, os, sys; from pathlib import Path; from beholder.store import OutDir\n"
        "from tests.test_store import key\n"
        "out = OutDir(Path(sys.argv[1]), {})\n"
        "asyncio.run(out.ledger.intend(key(), {}, 1)); os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    out = OutDir(tmp_path, {})
    stored, totals = out.ledger.find(key()), out.ledger.totals(this_run=False)
    lost = out.ledger.lost_before
    out.close()
    assert stored is not None
    assert (stored.state, lost, totals.possibly_billed) == ("open", 1, 1)


def test_many_intents_of_one_moment_are_committed_together(tmp_path: Path) -> None:
    """200 at once are all durable when they return: another connection sees them."""

    async def ask(out: OutDir) -> int:
        await asyncio.gather(*(out.ledger.intend(key(n), {}, 1) for n in range(200)))
        with contextlib.closing(sqlite3.connect(out.path / "ledger.sqlite")) as db:
            count = db.execute("SELECT count(*) FROM attempts WHERE state = 'sent'").fetchone()[0]
        return int(count)

    out = OutDir(tmp_path / "o", PINS)
    count = asyncio.run(ask(out))
    out.close()
    assert count == 200


def test_a_cancelled_waiter_does_not_take_its_write_back(tmp_path: Path) -> None:
    """An answer that arrived is stored although nobody waits for it any more."""

    async def ask(out: OutDir) -> None:
        attempt = await out.ledger.intend(key(), {}, 1)
        writing = asyncio.create_task(out.ledger.replied(attempt, REPLY))
        await asyncio.sleep(0)
        writing.cancel()

    out = OutDir(tmp_path / "o", PINS)
    asyncio.run(ask(out))
    out.close()
    again = OutDir(tmp_path / "o", PINS)
    stored = again.ledger.find(key())
    again.close()
    assert stored is not None
    assert stored.state == "replied"


def test_a_ledger_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    """It is refused, not migrated backwards."""
    OutDir(tmp_path, {}).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="newer"):
        OutDir(tmp_path, {})


def test_a_damaged_ledger_is_said(tmp_path: Path) -> None:
    """A file that is no database ends with a plain message."""
    (tmp_path / "ledger.sqlite").write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(StoreError, match="--force"):
        OutDir(tmp_path, {})


def test_a_torn_last_row_counts_as_absent(tmp_path: Path) -> None:
    """Half a line at the end is skipped; half a line in the middle is damage."""
    path = tmp_path / "judge_results.jsonl"
    path.write_text('{"task_id": "a"}\n{"task_id": "b', encoding="utf-8")
    assert [row["task_id"] for row in read_rows(tmp_path)] == ["a"]
    path.write_text('{"task_\n{"task_id": "b"}\n', encoding="utf-8")
    with pytest.raises(StoreError):
        list(read_rows(tmp_path))


def test_evidence_is_stored_whole_and_old_images_go(tmp_path: Path) -> None:
    """The record is written after the images it names; images of an earlier record are removed."""
    out = OutDir(tmp_path / "o", PINS)
    out.write_evidence("t", "j", {"n": 2}, {"image-1.png": b"1", "image-2.png": b"2"})
    out.write_evidence("t", "j", {"n": 1}, {"image-1.png": b"3"})
    found = sorted(path.name for path in out.folder("t", "j").iterdir())
    record = out.read_evidence("t", "j")
    out.close()
    assert found == ["image-1.png", "prepared_output_evidence.json"]
    assert record == {"n": 1}


@given(st.text(max_size=300), st.text(max_size=300))
def test_different_ids_have_different_safe_folders(one: str, two: str) -> None:
    """A folder is one name below the out-dir, never a path out of it and never one of its own files."""
    if not one or not two:
        return
    names = {task_folder(one), task_folder(two)}
    assert len(names) == len({one, two})
    for name in names:
        assert "/" not in name
        assert name not in {".", ".."}
        assert name.lower() not in RESERVED
        assert len(name.encode()) <= 180
        assert not name.endswith((".", " "))


@pytest.mark.parametrize(
    "task_id", ["..", ".", "a/../b", "judge_results.jsonl", "ledger.sqlite-wal", "CON", "x" * 999, "a\x00b"]
)
def test_dangerous_ids_are_encoded(task_id: str, tmp_path: Path) -> None:
    """They make a folder below the out-dir like any other."""
    folder = tmp_path / task_folder(task_id)
    folder.mkdir()
    assert folder.resolve().parent == tmp_path.resolve()
    assert task_folder(task_id) != task_id


def test_a_full_disk_is_one_plain_error(tmp_path: Path) -> None:
    """A write that the system refuses ends as a StoreError and leaves the old file."""
    out = OutDir(tmp_path / "o", PINS)
    out.write_json("run.json", {"a": 1})
    folder = tmp_path / "o" / "run.json"
    folder.unlink()
    folder.mkdir()  # a folder in a file's place: renaming over it fails, as on a full or read-only disk
    with pytest.raises(StoreError):
        out.write_json("run.json", {"a": 2})
    out.close()
    assert not list((tmp_path / "o").glob(".*.part"))


def test_a_disk_without_room_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's words alone would leave open whether the run is lost."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreError, match="; free space, then run the same command again"):
        write_bytes(tmp_path / "image-1.png", b"x")


@pytest.mark.parametrize("name", ["../other", "/etc", "..", "", "a/b", "a\\b", "archive"])
def test_a_joint_summary_leads_to_no_other_folder(name: str, tmp_path: Path) -> None:
    """Models are the names that a run gives folders; any other is damage, whoever reads the out-dir."""
    (tmp_path / "judge_summary.json").write_text(json.dumps({"models": {"good": {}, name: {}}}))
    for read in (joint_models, read_table, rebuild_reports, lambda path: rescore(path, tmp_path / "../new")):
        with pytest.raises(StoreError, match="no name of a model") as caught:
            read(tmp_path)
        assert caught.value.slug == "damaged"


def test_an_out_dir_of_one_model_names_none(tmp_path: Path) -> None:
    """Neither one with rows, whatever its summary holds, nor an empty folder."""
    assert joint_models(tmp_path) == []
    (tmp_path / "judge_summary.json").write_text('{"models": {"b": {}, "a": {}}}')
    assert joint_models(tmp_path) == ["b", "a"]
    (tmp_path / "judge_results.jsonl").touch()
    assert joint_models(tmp_path) == []
