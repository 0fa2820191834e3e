"""`judge-run --cache-dir --record --replay`: what they change of a run, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from beholder.cli import main
from beholder.errors import ConfigError
from beholder.evidence.record import Asked, Outside, open_record
from beholder.run.spec import check_record, parse_network
from tests.fakes.runs import gis_reply, rows_of, summary_of

PAGE = "<!doctype html><title>t</title><body style='background:#fff'><h1>Map</h1>"


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """One task, one page, one scripted reply."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.html").write_text(PAGE + "<img src=https://tiles.example.org/1.png>")
    (tmp_path / "tasks.jsonl").write_text('{"task_id": "a", "level": "Level1", "prompt": "A map."}\n')
    (tmp_path / "script.jsonl").write_text(json.dumps({"reply": gis_reply()}) + "\n")
    return tmp_path


def judged(folder: Path, out: str, *more: object) -> Result:
    """The command in this process."""
    arguments = [
        *("judge-run", "--tasks", folder / "tasks.jsonl", "--run-dir", folder / "run"),
        *("--out-dir", folder / out, "--protocol", "gis-bench", "--repeats", 1, "--display", "none"),
        *("--judge", f"scripted/{folder / 'script.jsonl'}", *more),
    ]
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_a_second_run_draws_nothing(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --cache-dir a run into another out-dir starts no browser and comes to the same row."""
    first = judged(inputs, "one", "--network", "block", "--cache-dir", inputs / "kept")
    assert first.exit_code == 0, first.output

    async def no_page(*_: object) -> None:
        raise AssertionError("a page was drawn")

    monkeypatch.setattr("beholder.evidence.pages.PageRenderer.show", no_page)
    second = judged(inputs, "two", "--network", "block", "--cache-dir", inputs / "kept")
    assert second.exit_code == 0, second.output
    assert rows_of(inputs / "two") == rows_of(inputs / "one")
    assert rows_of(inputs / "one")[0]["outcome"] == "scored"


def test_another_network_policy_is_no_hit(inputs: Path) -> None:
    """A page that nobody had decided on is not shown from a run with --network block."""
    assert judged(inputs, "one", "--network", "block", "--cache-dir", inputs / "kept").exit_code == 0
    assert judged(inputs, "two", "--cache-dir", inputs / "kept").exit_code == 3
    assert summary_of(inputs / "two")["unscored"] == {"blocked_resources": 1}


def test_a_record_is_part_of_the_evidence(inputs: Path) -> None:
    """A run by a record has an evidence hash of its own, which another record changes."""
    found = set()
    for at, body in enumerate((b"one", b"two")):
        folder = inputs / f"record-{at}"
        record = open_record(folder, replay=False)
        asked = Asked("GET", "https://tiles.example.org/1.png", b"")
        record.keep(asked, Outside(200, (("content-type", "image/png"),), body, ""))
        done = judged(inputs, f"out-{at}", "--replay", folder)
        assert done.exit_code == 0, done.output
        found.add(rows_of(inputs / f"out-{at}")[0]["evidence_sha256"])
    assert judged(inputs, "plain", "--network", "block").exit_code == 0
    found.add(rows_of(inputs / "plain")[0]["evidence_sha256"])
    assert len(found) == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--record", "r"], "--network allow"),
        (["--record", "r", "--network", "block"], "--network allow"),
        (["--record", "r", "--replay", "r", "--network", "allow"], "--replay"),
        (["--replay", "nothing"], "no record"),
    ],
)
def test_flags_that_mean_nothing(
    inputs: Path, more: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flags that mean nothing together are exit code 2 with what to do, before anything is written."""
    monkeypatch.chdir(inputs)
    done = judged(inputs, "out", *more)
    assert (done.exit_code, words in done.output) == (2, True), done.output
    assert not (inputs / "out").exists()


def test_recording_needs_a_way_out() -> None:
    """A record can be made with all hosts allowed, or some."""
    for network in ("allow", "tiles.example.org"):
        check_record(parse_network(network), Path("r"), None)
    check_record(parse_network(None), None, Path("r"))
    with pytest.raises(ConfigError, match="--record"):
        check_record(parse_network(None), Path("r"), None)
