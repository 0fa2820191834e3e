"""The scripted judge that ships for tests and demonstrations."""

from __future__ import annotations

import asyncio
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import ConfigError, JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges import CallContext, connect_judge
from beholder.records import JudgeSpec, Reply


def ask(
    tmp_path: Path,
    *lines: Any,
    task_id: str = "t1",
    model: str = "m1",
    repeat: int = 1,
    timeout_s: float = 60,
) -> Reply:
    script = tmp_path / "script.jsonl"
    script.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8"
    )
    spec = JudgeSpec(provider="scripted", name=str(script), temperature=Decimal("0.5"), timeout_s=timeout_s)
    judge = connect_judge(spec, api_key=None)
    prepared = judge.prepare("question", [])
    return asyncio.run(judge.ask(prepared, CallContext(task_id=task_id, model=model, repeat=repeat)))


def test_most_specific_line_wins(tmp_path: Path) -> None:
    """Of the lines that fit a call the one with most conditions answers, whatever their order."""
    lines = [
        {"reply": "any"},
        {"task_id": "t1", "reply": "task"},
        {"task_id": "t1", "model": "m1", "repeat": 2, "reply": "all three"},
        {"model": "m2", "reply": "model"},
    ]
    assert ask(tmp_path, *lines, task_id="t9").text == "any"
    assert ask(tmp_path, *lines).text == "task"
    assert ask(tmp_path, *lines, repeat=2).text == "all three"
    assert ask(tmp_path, *lines, task_id="t9", model="m2").text == "model"


def test_first_of_equals_wins(tmp_path: Path) -> None:
    """Of two lines that say equally much the first answers."""
    lines = [{"model": "m1", "reply": "first"}, {"task_id": "t1", "reply": "second"}]
    assert ask(tmp_path, *lines).text == "first"


def test_reply_is_marked_as_scripted(tmp_path: Path) -> None:
    """A scripted reply says so, names its settings and costs nothing; an object is sent as JSON text."""
    line = {
        "reply": {"reason": "gute Ränder", "legible": 7},
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 5, "output_tokens": 2},
        "served_model": "m-2026",
    }
    reply = ask(tmp_path, line)
    assert json.loads(reply.text) == line["reply"]
    assert "Ränder" in reply.text
    assert reply.sent["scripted"] is True
    assert (reply.sent["max_tokens"], reply.sent["temperature"]) == (1024, 0.5)
    assert (reply.stop_reason, reply.served_model, reply.cost_usd) == ("max_tokens", "m-2026", 0)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (5, 2)


def test_text_is_verbatim(tmp_path: Path) -> None:
    """A reply that is no JSON arrives as it stands, also an empty one."""
    assert ask(tmp_path, {"reply": "I see\nnothing \u2028 here"}).text == "I see\nnothing \u2028 here"
    assert ask(tmp_path, {"reply": ""}).text == ""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rate_limited", JudgeUnavailable),
        ("timeout", JudgeUnavailable),
        ("unavailable", JudgeUnavailable),
        ("rejected", JudgeRejected),
        ("refused", JudgeRefused),
    ],
)
def test_errors(tmp_path: Path, name: str, kind: type[JudgeError]) -> None:
    """Each scripted error is the error a real judge would end with, under its slug."""
    with pytest.raises(kind) as caught:
        ask(tmp_path, {"error": name})
    assert caught.value.slug == name
    assert not getattr(caught.value, "stops_run", False)


def test_delay_and_timeout(tmp_path: Path) -> None:
    """A delay is waited out, and one beyond the timeout ends as a timeout."""
    before = time.monotonic()
    ask(tmp_path, {"reply": "x", "delay_s": 0.1})
    assert time.monotonic() - before >= 0.1
    with pytest.raises(JudgeUnavailable) as caught:
        ask(tmp_path, {"reply": "x", "delay_s": 5}, timeout_s=0.05)
    assert caught.value.slug == "timeout"


def test_unmatched_call_is_rejected(tmp_path: Path) -> None:
    """A call that no line answers says which call it was and what to add."""
    with pytest.raises(JudgeRejected, match="no line answers task t1, model m1, repeat 1"):
        ask(tmp_path, {"task_id": "other", "reply": "x"})


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"reply": "x"'], "line 1: is no JSON"),
        (['{"reply": "x"}', "", "[1]"], "line 3: must be a JSON object"),
        ([{"reply": "x", "task": "t1"}], 'unknown key "task"'),
        ([{"task_id": "t1"}], 'either "reply" or "error"'),
        ([{"reply": "x", "error": "timeout"}], 'either "reply" or "error"'),
        ([{"error": "exploded"}], "must be one of rate_limited"),
        ([{"reply": 3}], '"reply" must be a string or an object'),
        ([{"reply": "x", "repeat": "1"}], '"repeat" must be a number'),
        ([{"reply": "x", "repeat": True}], '"repeat" must be a number'),
        ([{"reply": "x", "task_id": 1}], '"task_id" must be a string'),
        ([{"reply": "x", "delay_s": "long"}], '"delay_s" must be'),
        ([{"reply": "x", "usage": {"tokens": 1}}], '"usage" takes'),
        ([{"reply": "x"}, {"reply": "y"}], "line 2: answers the same calls as line 1"),
        ([""], "no line"),
    ],
)
def test_wrong_scripts_name_file_line_and_fix(tmp_path: Path, lines: list[Any], words: str) -> None:
    """A wrong script is the user's error, with the file, the line and what is wrong there."""
    with pytest.raises(ConfigError, match=words) as caught:
        ask(tmp_path, *lines)
    assert "script.jsonl" in str(caught.value)


def test_comments_and_self_declared_lines(tmp_path: Path) -> None:
    """A line may call itself scripted, and one with only a note is a comment."""
    lines = [{"scripted": True, "note": "made by hand"}, {"scripted": True, "reply": "x"}]
    assert ask(tmp_path, *lines).text == "x"
    with pytest.raises(ConfigError, match='"scripted" can only be true'):
        ask(tmp_path, {"scripted": False, "reply": "x"})


def test_missing_script_is_named() -> None:
    """A script that does not exist is the user's error."""
    with pytest.raises(ConfigError, match=r"there is no file no\.jsonl"):
        connect_judge(JudgeSpec(provider="scripted", name="no.jsonl"), api_key=None)
