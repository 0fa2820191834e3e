"""The same reply is worth the same, whoever gave it and however it is read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from beholder.judges import CallContext, connect_judge
from beholder.protocols import load_protocol
from beholder.records import JudgeSpec, Reply
from beholder.replies import parse_reply
from tests.fakes.judge_server import JudgeServer as Server
from tests.fakes.judge_server import Rule, good_body, rule
from tests.fakes.runs import command, environment, gis_reply, gis_run, rows_of, run, summary_of

GOOD = gis_reply()
TEXTS = (
    GOOD,
    f"```json\n{GOOD}\n```",
    f"Here is my verdict:\n{GOOD}\nHope this helps!",
    f"\ufeff{GOOD}",
    f"  \n\t{GOOD}\r\n\n",
    f'<think>exists 0? No: {{"exists": 0}}</think>\n{GOOD}',
    GOOD.replace("}", ",}"),
    GOOD.replace("25", '"25"'),
    GOOD.replace("25", "２５").replace('": ２５', '": "２５"'),
    GOOD.replace("25", "25.0"),
    GOOD.replace("25", "31"),
    GOOD.replace("25", "24.5"),
    GOOD.replace('"accuracy": 25, ', ""),
    gis_reply(total_raw=99),
    GOOD + "\n" + GOOD.replace("25", "1"),
    GOOD[: len(GOOD) // 2],
    "I'm sorry, but I cannot see any image.",
    "The map scores 86 of 100.",
    GOOD.replace("ok", "지도 🗺️ \\u0041 <|im_end|> [INST] \\\\frac{1}{2}"),
    "   \n",
)
"""Twenty replies, good, mendable and useless ones."""

ADAPTERS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "anthropic": ("anthropic", "claude-sonnet-4-6", {}),
    "openai-chat": ("openai", "gpt-5", {}),
    "openai-responses": ("openai", "gpt-5", {"api": "responses"}),
    "google": ("google", "gemini-2.5-pro", {}),
    "compatible": ("openai-compatible", "Qwen/Qwen2.5-VL-7B-Instruct", {}),
    "openrouter": ("openai-compatible", "anthropic/claude-sonnet-4.6", {"api": "openrouter"}),
    "scripted": ("scripted", "", {}),
}
CUT = {"anthropic": "max_tokens", "google": "MAX_TOKENS"}


def replies(adapter: str, texts: Sequence[str], folder: Path, *, cut: bool = False) -> list[Reply]:
    """What comes back through an adapter, call by call."""
    provider, name, settings = ADAPTERS[adapter]
    stop = CUT.get(adapter, "length") if cut else None
    if provider == "scripted":
        script = folder / "replies.jsonl"
        more = {"stop_reason": stop} if stop else {}
        lines = [
            {"repeat": at, "reply": text, "scripted": True, **more} for at, text in enumerate(texts, start=1)
        ]
        script.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return asyncio.run(ask_all(JudgeSpec(provider=provider, name=str(script)), len(texts)))
    rules = [answer(adapter, text, stop, at) for at, text in enumerate(texts, start=1)]
    with Server(rules) as server:
        tail = "" if provider in {"anthropic", "google"} else "/v1"
        spec = JudgeSpec(provider=provider, name=name, base_url=server.url + tail, settings=settings)
        return asyncio.run(ask_all(spec, len(texts)))


def answer(adapter: str, text: str, stop: str | None, call: int) -> Rule:
    if stop and adapter == "openai-responses":
        body = good_body("openai-responses", "gpt-5", {"text": text, "stop_reason": "incomplete"})
        return rule(call=call, body={**body, "incomplete_details": {"reason": "max_output_tokens"}})
    return rule(call=call, text=text, **({"stop_reason": stop} if stop else {}))


async def ask_all(spec: JudgeSpec, times: int) -> list[Reply]:
    judge = connect_judge(spec, api_key="sk-secret-0123")
    prepared = judge.prepare("Judge.", [])
    try:
        calls = [CallContext(task_id="t", model="m", repeat=at) for at in range(1, times + 1)]
        return [await judge.ask(prepared, call) for call in calls]
    finally:
        await judge.aclose()


def worth(reply: Reply) -> dict[str, Any]:
    return parse_reply(reply.text, load_protocol("gis-bench"), stop_reason=reply.stop_reason)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_each_adapter_gives_the_reply_verbatim(adapter: str, tmp_path: Path) -> None:
    """Twenty texts come through every adapter sign for sign, and are worth what they are worth offline."""
    got = replies(adapter, TEXTS, tmp_path)
    assert [reply.text for reply in got] == list(TEXTS)
    offline = [parse_reply(text, load_protocol("gis-bench")) for text in TEXTS]
    assert [worth(reply) for reply in got] == offline
    kinds = {(one["outcome"], one["reason"]) for one in offline}
    assert len(kinds) >= 6  # scored, and five reasons at least: the texts tell adapters apart


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_each_adapters_word_for_a_cut_reply_is_understood(adapter: str, tmp_path: Path) -> None:
    """A reply cut at the token cap is `truncated`, or flagged where nothing is missing, for all alike."""
    texts = (GOOD, GOOD[:-40])
    got = [worth(reply) for reply in replies(adapter, texts, tmp_path, cut=True)]
    assert [(one["outcome"], one["reason"]) for one in got] == [("scored", None), ("unscored", "truncated")]
    assert "truncated_after_criteria" in got[0]["flags"]


@pytest.mark.long
def test_runs_and_rescoring_agree(tmp_path: Path) -> None:
    """The twenty texts through a run with scripted replies, a run over HTTP and a re-scoring: equal rows."""
    names = [f"t{at:02}" for at in range(len(TEXTS))]
    gis_run(tmp_path, names)
    script = tmp_path / "replies.jsonl"
    lines = [{"task_id": name, "reply": text} for name, text in zip(names, TEXTS, strict=True)]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    rules = [rule(contains=f"Map {name}.", text=text) for name, text in zip(names, TEXTS, strict=True)]

    def judge(out: str, *judge_flags: object) -> list[dict[str, Any]]:
        done = run(judge_line(tmp_path, out, "--repeats", 1, *judge_flags))
        assert done.returncode == 3, done.stderr
        return told(rows_of(tmp_path / out))

    scripted = judge("scripted", "--judge", f"scripted/{script}")
    with Server(rules) as server:
        asked = judge("asked", "--judge", "anthropic/claude-sonnet-4-6", "--base-url", server.url)
    again = run(
        command("rescore", "--out-dir", tmp_path / "asked", "--to", tmp_path / "again"), env=environment()
    )
    assert again.returncode in {0, 3}, again.stderr
    assert scripted == asked == told(rows_of(tmp_path / "again"))
    assert len({row["outcome"] for row in asked}) == 2


def judge_line(folder: Path, out: str, *more: object) -> list[str]:
    return command(
        "judge-run", "--tasks", folder / "tasks.jsonl", "--run-dir", folder / "run",
        "--out-dir", folder / out,
        "--protocol", "gis-bench", "--min-interval", 0, *more,
    )  # fmt: skip


@pytest.mark.long
def test_change_of_the_served_model_is_told(tmp_path: Path) -> None:
    """An alias answered by another model from the tenth call on: told by call, row, summary and report."""
    gis_run(tmp_path, ["a", "b", "c", "d"])
    rules = [
        rule(call={"from": 10}, text=GOOD, served_model="judge-2026-02"),
        rule(text=GOOD, served_model="judge-2026-01"),
    ]
    with Server(rules) as server:
        flags = ("--judge", "openai-compatible/judge-latest", "--base-url", f"{server.url}/v1")
        done = run(judge_line(tmp_path, "o", *flags, "--repeats", 3, "--max-connections", 1))
    out = tmp_path / "o"
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(out / "ledger.sqlite")) as ledger:
        per_call = [name for (name,) in ledger.execute("SELECT served_model FROM attempts ORDER BY rowid")]
    assert per_call == ["judge-2026-01"] * 9 + ["judge-2026-02"] * 3
    rows, summary = rows_of(out), summary_of(out)
    served = [row["judge"]["served"] for row in rows]
    assert sorted({name for names in served for name in names}) == ["judge-2026-01", "judge-2026-02"]
    for row in rows:
        assert ("served_models_differ" in row["flags"]) == (len(row["judge"]["served"]) > 1)
    (warning,) = [one for one in summary["warnings"] if one["code"] == "served_models_differ"]
    assert "judge-2026-01, judge-2026-02" in warning["detail"]
    assert summary["judge"]["served"] == ["judge-2026-01", "judge-2026-02"]
    report = (out / "REPORT_EVALUATION.md").read_text("utf-8")
    assert "judge-2026-01" in report
    assert "judge-2026-02" in report


def told(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a row says of the reply, and not of who gave it."""
    kept = ("task_id", "outcome", "reason", "main_score", "pass", "scores", "derived", "flags")
    repeat = ("outcome", "reason", "scores", "derived", "rationale", "flags", "repairs", "reply_sha256")
    return [
        {
            **{name: row[name] for name in kept},
            "repeats": [{name: one[name] for name in repeat} for one in row["repeats"]],
        }
        for row in rows
    ]
