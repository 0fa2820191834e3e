"""Ollama, vLLM, OpenRouter and other servers that speak OpenAI's words: what is their own on the wire."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import ConfigError, JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges import connect_judge, find_key, parse_model
from beholder.records import JudgeSpec, Reply
from tests.fakes.judge_server import JudgeServer, good_body, replay, rule
from tests.test_judges_wire import WIRE, ask, outcome, picture, spec

VERDICT = '{"verdict": "pass"}'
ROUTED = "anthropic/claude-sonnet-4.6"


def chat(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    """A chat completion with these members of its message and its choice."""
    body = good_body("openai-chat", "m", {"text": VERDICT})
    body["choices"][0]["message"] |= message
    body["choices"][0] |= choice
    return body


def recorded(name: str, **settings: Any) -> Reply | JudgeError:
    fixture = json.loads((WIRE / "compatible" / f"{name}.json").read_text("utf-8"))
    with JudgeServer([replay(fixture)]) as server:
        return outcome(spec("openai-compatible", ROUTED, server.url, settings=settings))


# --- what is sent -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "name", "settings", "word"),
    [
        ("openai-compatible", "qwen2.5vl:7b", {}, "max_tokens"),
        ("openai-compatible", "Qwen/Qwen2.5-VL-7B-Instruct", {}, "max_tokens"),
        ("openai-compatible", "claude-sonnet-4-6", {}, "max_tokens"),
        ("openai-compatible", "openai/gpt-oss-120b", {}, "max_tokens"),
        ("openai-compatible", "anthropic/claude-sonnet-4.6", {"api": "openrouter"}, "max_tokens"),
        ("openai-compatible", "gpt-5-mini", {}, "max_completion_tokens"),
        ("openai-compatible", "openai/o4-mini", {}, "max_completion_tokens"),
        ("openai", "gpt-4.1", {}, "max_completion_tokens"),
    ],
)
def test_token_cap_goes_out_by_the_name_that_is_known(
    provider: str, name: str, settings: dict[str, Any], word: str
) -> None:
    """The cap goes out by the one name that the server knows, and is recorded alike."""
    with JudgeServer() as server:
        reply = ask(spec(provider, name, server.url, settings=settings))
    (request,) = server.requests
    caps = {key: value for key, value in request.parameters.items() if key.startswith("max_")}
    assert caps == {word: 77}
    assert reply.sent["max_tokens"] == 77


def test_images_are_data_addresses() -> None:
    """A picture goes out as a base64 data address, which every such server takes, never as a link."""
    with JudgeServer() as server:
        ask(spec("openai-compatible", "qwen2.5vl:7b", server.url), "q", (picture(),))
    (request,) = server.requests
    assert request.parts[1]["image_url"]["url"].startswith("data:image/png;base64,")


def test_settings_of_ones_own_reach_the_server() -> None:
    """What only one server knows goes out as written: OpenRouter's routing, vLLM's template, …"""
    own = {
        "provider": {"order": ["anthropic"], "allow_fallbacks": False},
        "chat_template_kwargs": {"enable_thinking": False},
        "reasoning_effort": "none",
    }
    with JudgeServer() as server:
        reply = ask(spec("openai-compatible", ROUTED, server.url, settings={"api": "openrouter", **own}))
    assert {name: server.requests[0].parameters[name] for name in own} == own
    assert {name: reply.sent[name] for name in own} == own


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        (("openai-compatible/qwen2.5vl:7b", "http://localhost:11434/v1"), None),
        (("Qwen/Qwen2.5-VL-7B-Instruct", "http://localhost:8000/v1"), None),
        (("anthropic/claude-sonnet-4.6", "https://openrouter.ai/api/v1"), "ANTHROPIC_API_KEY"),
        (
            ("openai-compatible/anthropic/claude-sonnet-4.6", "https://openrouter.ai/api/v1"),
            "OPENROUTER_API_KEY",
        ),
        (("claude-sonnet-4-6", "https://www.dmxapi.cn/v1"), "DMX_API_KEY"),
        (("gpt-5", "https://www.dmxapi.cn/v1"), "DMX_API_KEY"),
    ],
)
def test_lines_of_the_docs_find_their_key(line: tuple[str, str], variable: str | None) -> None:
    """The documented lines ask the documented host with its own variable's key, or with none."""
    keys = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "OPENROUTER_API_KEY": "r", "DMX_API_KEY": "d"}
    provider, name = parse_model(line[0], base_url=line[1])
    if variable == "ANTHROPIC_API_KEY":
        # `anthropic/…` is the vendor's own wire, which is why the docs write openai-compatible/ before it.
        assert provider == "anthropic"
        return
    key = find_key(JudgeSpec(provider=provider, name=name, base_url=line[1]), keys)
    assert (key.variable if key else None) == variable


# --- what comes back ----------------------------------------------------------------------------


def test_answer_without_a_request_id_is_known_by_its_own() -> None:
    """Where no header names the request, as with Ollama, the answer's id does."""
    with JudgeServer([rule(no_ids=True, text=VERDICT)]) as server:
        reply = ask(spec("openai-compatible", "qwen2.5vl:7b", server.url))
    assert reply.request_id == "chatcmpl-fake"


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thoughts_beside_the_reply_are_no_part_of_it(name: str) -> None:
    """Thoughts in a member of their own, by either name, do not get into the reply's text."""
    thoughts = {name: '{"verdict": "fail"}', "refusal": None, "tool_calls": []}
    with JudgeServer([rule(body=chat(thoughts))]) as server:
        reply = ask(spec("openai-compatible", "m", server.url))
    assert reply.text == VERDICT


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thoughts_alone_are_no_reply(name: str) -> None:
    """An answer that is all thoughts is empty: its thoughts are never taken for the verdict."""
    body = chat({name: VERDICT, "content": None}, finish_reason="length")
    with JudgeServer([rule(body=body)]) as server:
        reply = ask(spec("openai-compatible", "m", server.url))
    assert (reply.text, reply.stop_reason) == ("", "length")


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("", None),
        (None, None),
        ("eos", "eos"),
        ("eos_token", "eos_token"),
        ("length", "length"),
        ("max_tokens", "max_tokens"),
        ("tool_calls", "tool_calls"),
    ],
)
def test_words_for_the_end_come_through(finish: str | None, stop: str | None) -> None:
    """Every server's word for why it stopped is kept, and having none costs no reply."""
    with JudgeServer([rule(body=chat({}, finish_reason=finish))]) as server:
        reply = ask(spec("openai-compatible", "m", server.url))
    assert (reply.text, reply.stop_reason) == (VERDICT, stop)


def test_openrouter_tells_model_and_cost() -> None:
    """OpenRouter's answer names the dated model and what it charged, and both are taken from it."""
    reply = recorded("openrouter-good", api="openrouter")
    assert isinstance(reply, Reply)
    assert reply.served_model == "anthropic/claude-4.6-sonnet-20260217"
    assert reply.cost_usd == Decimal("0.00341475")
    assert reply.stop_reason == "stop"


@pytest.mark.parametrize(
    ("name", "kind", "slug"),
    [
        ("openrouter-error-in-200", JudgeUnavailable, "unavailable"),
        ("openrouter-429-in-200", JudgeUnavailable, "rate_limited"),
        ("openrouter-choice-error", JudgeUnavailable, "unavailable"),
        ("openrouter-402", JudgeRejected, "rejected"),
        ("openrouter-403-moderation", JudgeRefused, "refused"),
        ("openrouter-content-filter", JudgeRefused, "refused"),
    ],
)
@pytest.mark.parametrize("api", ["openrouter", "chat"])
def test_openrouter_errors_are_seen_inside_200(
    name: str, kind: type[JudgeError], slug: str, api: str
) -> None:
    """An error within a good status is an error of its own kind, also if the dialect was not chosen."""
    got = recorded(name, api=api)
    assert isinstance(got, kind), got
    assert got.slug == slug


@pytest.mark.parametrize(
    ("name", "stops_run"),
    [("ollama-404-model", True), ("vllm-404-model", True), ("vllm-400-too-many-images", False)],
)
def test_servers_errors_tell_whom_they_concern(name: str, stops_run: bool) -> None:
    """A model that is not there ends the run at once; too many images are this task's matter."""
    got = recorded(name)
    assert isinstance(got, JudgeRejected), got
    assert got.stops_run == stops_run


def test_openrouter_name_without_its_vendor_is_the_users_error() -> None:
    """A name that OpenRouter cannot know is refused with the way to write it, before any call."""
    what = JudgeSpec(provider="openai-compatible", name="gpt-5", base_url="https://openrouter.ai/api/v1")
    with pytest.raises(ConfigError, match="openai-compatible/VENDOR/gpt-5"):
        connect_judge(what, api_key="k")


def test_docs_name_every_server() -> None:
    """The lines to type for each server stand in the docs."""
    docs = (Path(__file__).parents[1] / "docs" / "judges.md").read_text("utf-8")
    for piece in (
        "http://localhost:11434/v1",
        "vllm serve",
        "--limit-mm-per-prompt",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "https://www.dmxapi.cn/v1",
        "DMX_API_KEY",
        "video_fps",
    ):
        assert piece in docs
