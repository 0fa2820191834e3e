"""The adapter over the real wire: a local server answers like the vendors."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import ConfigError, JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges import CallContext, connect_judge
from beholder.judges.base import Judge
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply
from tests.fakes.judge_server import JudgeServer, replay, rule

WIRE = Path(__file__).parent / "data" / "wire"
CALL = CallContext(task_id="t1", model="m", repeat=1)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def picture(data: bytes = PNG, source: str = "map.png", media_type: str = "image/png") -> Picture:
    return Picture(
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=media_type,
        width_px=1,
        height_px=1,
        size_bytes=len(data),
        source=source,
        data=data,
    )


def spec(provider: str, name: str, url: str, **more: Any) -> JudgeSpec:
    tail = "" if provider in {"anthropic", "google"} else "/v1"
    return JudgeSpec(
        provider=provider, name=name, base_url=url + tail, **{"timeout_s": 120.0, "max_tokens": 77, **more}
    )


async def ask_once(judge: Judge, prompt: str = "Judge.", pictures: tuple[Picture, ...] = ()) -> Reply:
    try:
        return await judge.ask(judge.prepare(prompt, pictures), CALL)
    finally:
        await judge.aclose()


def ask(what: JudgeSpec, prompt: str = "Judge.", pictures: tuple[Picture, ...] = ()) -> Reply:
    return asyncio.run(ask_once(connect_judge(what, api_key="sk-secret-0123"), prompt, pictures))


def outcome(what: JudgeSpec) -> Reply | JudgeError:
    try:
        return ask(what)
    except JudgeError as error:
        return error


# --- what is sent -------------------------------------------------------------------------------

AWKWARD = (
    "Grade {this}: <|im_start|>system\n[INST] be kind [/INST] </s> <start_of_turn> <think>x</think>\n"
    '{"a": "b\\n"} %s $HOME \\frac{1}{2} "quoted" é 漢字 \u200d 🗺️ </system> <system>\n\ttrailing  \n'
)
JUDGES = [
    ("anthropic", "claude-sonnet-4-6", {}),
    ("anthropic", "claude-opus-4-8", {}),
    ("anthropic", "unheard-of", {}),
    ("openai", "gpt-4.1", {}),
    ("openai", "gpt-5", {}),
    ("openai", "unheard-of", {}),
    ("openai", "gpt-5", {"api": "responses"}),
    ("openai", "unheard-of", {"api": "responses"}),
    ("openai-compatible", "Qwen/Qwen2.5-VL-7B-Instruct", {}),
    ("openai-compatible", "claude-sonnet-4-6", {}),
    ("openai-compatible", "gpt-oss-120b", {}),
    ("openai-compatible", "unheard-of", {}),
    ("openai-compatible", "anthropic/claude-sonnet-4.6", {"api": "openrouter"}),
    ("openai-compatible", "openai/gpt-oss-120b", {"api": "openrouter"}),
    ("google", "gemini-2.5-flash", {}),
    ("google", "unheard-of", {}),
]


@pytest.mark.parametrize(("provider", "name", "settings"), JUDGES)
def test_sent_is_prompt_and_pictures(provider: str, name: str, settings: Mapping[str, Any]) -> None:
    """What arrives is one user message: the prompt byte for byte, then the pictures in order."""
    jpeg = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 40
    pictures = (picture(), picture(jpeg, "b.jpg", "image/jpeg"), picture(PNG + b"x", "c.png"))
    with JudgeServer() as server:
        reply = ask(
            spec(provider, name, server.url, settings=settings, temperature=Decimal("0.5")), AWKWARD, pictures
        )
    (request,) = server.requests
    assert request.texts == [AWKWARD]
    assert request.roles == ["user"]
    assert [image.sha256 for image in request.images] == [one.sha256 for one in pictures]
    assert [image.media_type for image in request.images] == [one.media_type for one in pictures]
    assert len(request.parts) == 4
    assert request.model == name
    assert reply.sent["model"] == name
    assert reply.sent["max_tokens"] == 77
    flat = {**request.body, **request.body.get("generationConfig", {})}
    assert reply.sent["temperature"] == flat.get("temperature")


def test_dropped_temperature_is_recorded_as_dropped() -> None:
    """A temperature that the library leaves out for a model is recorded as not sent."""
    with JudgeServer() as server:
        kept = ask(spec("anthropic", "claude-sonnet-4-6", server.url, temperature=Decimal(0)))
        dropped = ask(spec("anthropic", "claude-opus-4-8", server.url, temperature=Decimal(0)))
        unset = ask(spec("anthropic", "claude-sonnet-4-6", server.url))
    assert [reply.sent["temperature"] for reply in (kept, dropped, unset)] == [0, None, None]
    assert ["temperature" in request.body for request in server.requests] == [True, False, False]


def test_vendor_settings_go_out_as_written() -> None:
    """`-M` settings arrive under the user's names and stand in the record; responses are not stored."""
    with JudgeServer() as server:
        ask(spec("anthropic", "claude-sonnet-4-6", server.url, settings={"top_k": 5}))
        reply = ask(
            spec("openai", "gpt-4.1", server.url, settings={"seed": 7, "detail": "high"}), "q", (picture(),)
        )
        ask(spec("openai", "gpt-5", server.url, settings={"api": "responses"}))
        ask(spec("google", "gemini-2.5-flash", server.url, settings={"seed": 9}))
    first, second, third, fourth = server.requests
    assert first.parameters["top_k"] == 5
    assert second.parameters["seed"] == 7
    assert second.parts[1]["image_url"]["detail"] == "high"
    assert reply.sent["seed"] == 7
    assert third.path == "/v1/responses"
    assert third.parameters["store"] is False
    assert fourth.body["generationConfig"]["seed"] == 9


@pytest.mark.parametrize(
    ("provider", "settings", "word"),
    [
        ("openai", {"temperature": 1}, "--temperature"),
        ("openai", {"messages": []}, "protocol"),
        ("google", {"frobnicate": 1}, "google/"),
        ("openai", {"api": "telegraph"}, "responses"),
    ],
)
def test_settings_that_change_the_question_are_refused(
    provider: str, settings: dict[str, Any], word: str
) -> None:
    """A setting that has a flag, belongs to the conversation or cannot be sent is the user's error."""
    with pytest.raises(ConfigError, match=word):
        connect_judge(JudgeSpec(provider=provider, name="gpt-4.1", settings=settings), api_key="k")


def test_picture_with_other_bytes_is_not_sent() -> None:
    """A picture without bytes, or with other bytes than its digest says, stops the call before it is sent."""
    lost = Picture(
        sha256="0" * 64, media_type="image/png", width_px=1, height_px=1, size_bytes=0, source="lost.png"
    )
    with JudgeServer() as server:
        judge = connect_judge(spec("openai", "gpt-4.1", server.url), api_key="k")
        with pytest.raises(JudgeRejected, match=r"image 2 \(lost.png\) has no bytes"):
            judge.prepare("q", [picture(), lost])
        few = connect_judge(spec("openai", "gpt-4.1", server.url), api_key="k", limits=MediaLimits(images=1))
        with pytest.raises(JudgeRejected, match="takes 1"):
            few.prepare("q", [picture(), picture()])
        asyncio.run(judge.aclose())
        asyncio.run(few.aclose())
    assert server.requests == []


def test_request_that_is_not_the_question_does_not_leave() -> None:
    """A request with another text, a missing picture or a system prompt is stopped before it leaves."""

    async def tampered(url: str, change: str) -> JudgeError:
        judge = connect_judge(spec("anthropic", "claude-sonnet-4-6", url), api_key="k")
        prepared = judge.prepare("the question", [picture()])
        request = prepared.payload.request
        if change == "text":
            request.parts[0].content[0] = "another question"
        elif change == "image":
            del request.parts[0].content[1]
        else:
            request.instructions = "be kind"
        try:
            with pytest.raises(JudgeRejected) as caught:
                await judge.ask(prepared, CALL)
        finally:
            await judge.aclose()
        return caught.value

    with JudgeServer() as server:
        errors = [asyncio.run(tampered(server.url, change)) for change in ("text", "image", "system")]
    assert server.requests == []
    assert ["text" in str(errors[0]), "images" in str(errors[1]), "system" in str(errors[2])] == [True] * 3


def test_repeats_share_one_encoding() -> None:
    """A prepared question can be asked many times at once, and each request holds the same picture."""
    data = PNG + bytes(100_000)

    async def many(url: str) -> list[Reply]:
        judge = connect_judge(spec("openai", "gpt-4.1", url), api_key="k")
        prepared = judge.prepare("q", [picture(data)])
        try:
            return list(await asyncio.gather(*(judge.ask(prepared, CALL) for _ in range(8))))
        finally:
            await judge.aclose()

    with JudgeServer() as server:
        replies = asyncio.run(many(server.url))
    assert len(replies) == 8
    assert {image.sha256 for request in server.requests for image in request.images} == {picture(data).sha256}


def test_request_record_names_images_by_digest() -> None:
    """The request's record has the prompt and the images' digests, and neither bytes nor key."""
    judge = connect_judge(JudgeSpec(provider="openai", name="gpt-4.1"), api_key="sk-secret-0123")
    prepared = judge.prepare("question", [picture()])
    asyncio.run(judge.aclose())
    text = json.dumps(prepared.request_record)
    assert picture().sha256 in text
    assert "question" in text
    assert base64.b64encode(PNG).decode() not in text
    assert "sk-secret" not in text + repr(prepared) + repr(judge)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
@pytest.mark.parametrize("status", [302, 307])
def test_redirect_is_not_followed(provider: str, status: int) -> None:
    """A redirect does not carry the question to another address: one call is one request."""
    with JudgeServer([rule(status=status, headers={"location": "@base/v1/elsewhere"})]) as server:
        error = outcome(spec(provider, "unheard-of", server.url))
    assert isinstance(error, JudgeRejected), error
    assert error.stops_run
    assert len(server.requests) == 1


# --- what comes back ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "name", "settings"),
    [
        ("anthropic", "claude-sonnet-4-6", {}),
        ("openai", "gpt-4.1", {}),
        ("openai", "gpt-4.1", {"api": "responses"}),
        ("google", "gemini-2.5-flash", {}),
    ],
)
def test_usage_and_served_model_are_alike(provider: str, name: str, settings: dict[str, Any]) -> None:
    """Cached tokens are part of the input for every vendor, and the served model is the answer's own word."""
    usage = {"input_tokens": 1000, "output_tokens": 50, "cached_input_tokens": 400}
    served = name + "-2026-01-01" if provider != "google" else "gemini-2.5-flash"
    with JudgeServer([rule(text="ok", usage=usage, served_model=served)]) as server:
        reply = ask(spec(provider, name, server.url, settings=settings))
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_input_tokens) == (
        1000,
        50,
        400,
    )
    assert reply.served_model == served
    assert reply.text == "ok"
    if provider != "google":  # its request id is in no header of ours
        assert reply.request_id == "req_1"


@pytest.mark.parametrize(("stop", "kind"), [("refusal", JudgeRefused), ("pause_turn", JudgeUnavailable)])
def test_answer_that_is_no_reply_tells_its_cost(stop: str, kind: type[JudgeError]) -> None:
    """A refusal and an unfinished answer were paid for, and the error tells the tokens and the cost."""
    with JudgeServer([rule(text="", stop_reason=stop)]) as server:
        error = outcome(spec("anthropic", "claude-sonnet-4-6", server.url))
    assert type(error) is kind
    assert error.usage is not None
    assert (error.usage.input_tokens, error.usage.output_tokens) == (1200, 40)
    assert error.cost_usd == Decimal("0.0042")


def test_unknown_price_is_none() -> None:
    """A model that the price list does not know has no cost, and a known one has one."""
    with JudgeServer() as server:
        unknown = ask(spec("openai-compatible", "unheard-of", server.url))
        known = ask(spec("anthropic", "claude-sonnet-4-6", server.url))
    assert unknown.cost_usd is None
    assert known.cost_usd is not None
    assert known.cost_usd > 0


def test_stalled_body_times_out() -> None:
    """No answer and an answer that stalls after its headers both end at the timeout, as possibly billed."""
    rules = [rule(model="hangs", fault="hang"), rule(model="stalls", fault="stall")]

    async def both(url: str) -> list[Reply | BaseException]:
        judges = [
            connect_judge(spec("openai", name, url, timeout_s=3.0), api_key="k")
            for name in ("hangs", "stalls")
        ]
        return await asyncio.gather(*map(ask_once, judges), return_exceptions=True)

    with JudgeServer(rules) as server:
        ask(spec("openai", "answers", server.url))  # what takes its time once does so before time counts
        errors = asyncio.run(both(server.url))
    for error in errors:
        assert isinstance(error, JudgeUnavailable)
        assert (error.slug, error.possibly_billed) == ("timeout", True)


def test_unreachable_server_was_not_billed() -> None:
    """A refused connection is unavailable and cannot have been billed."""
    error = outcome(spec("openai", "gpt-4.1", "http://127.0.0.1:9"))
    assert isinstance(error, JudgeUnavailable)
    assert (error.slug, error.possibly_billed) == ("unavailable", False)


def test_key_is_blacked_out() -> None:
    """A server that echoes the key gets it into neither the message nor the stored body."""
    body = {"error": {"message": "bad key sk-secret-0123", "code": "invalid_api_key"}}
    with JudgeServer([rule(status=401, body=body)]) as server:
        error = outcome(spec("openai", "gpt-4.1", server.url))
    assert isinstance(error, JudgeRejected)
    assert error.stops_run
    assert "sk-secret" not in str(error) + error.body
    assert "***" in error.body


@pytest.mark.parametrize("status", [500, 429, 529])
def test_one_ask_is_one_request(status: int) -> None:
    """No library retries by itself."""
    for provider, name in (("anthropic", "x"), ("openai", "x"), ("google", "x")):
        with JudgeServer([rule(status=status)]) as server:
            assert isinstance(outcome(spec(provider, name, server.url)), JudgeUnavailable)
        assert len(server.requests) == 1


# --- the recorded answers -----------------------------------------------------------------------

FIXTURES = sorted(WIRE.glob("*/*.json"))
# `malformed`: a good status with a body that is no answer is asked again, as possibly billed.
# `incomplete` and `poll`: an answer that was never finished, the same.
RETRIED = {"retry", "malformed", "incomplete", "poll"}
# Fixtures whose reading of ours differs from `means`, with the reason.
OURS: Mapping[str, str] = {
    # An error object that says 500: the server failed, whatever the outer status.
    "compatible/error-in-200-flat": "retry",
}


def judge_of(fixture: Mapping[str, Any], folder: str, url: str) -> JudgeSpec:
    if folder == "anthropic":
        return spec("anthropic", "claude-sonnet-4-6", url)
    if folder == "gemini":
        return spec("google", "gemini-2.5-flash", url)
    if folder == "openai-responses":
        return spec("openai", "gpt-5.6-sol", url, settings={"api": "responses"})
    if folder == "openai-chat":
        return spec("openai", "gpt-5", url)
    if fixture.get("call") == "openrouter" or fixture["id"].startswith("openrouter"):
        return spec("openai-compatible", "anthropic/claude-sonnet-4.6", url, settings={"api": "openrouter"})
    return spec("openai-compatible", "Qwen/Qwen2.5-VL-7B-Instruct", url)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_recorded_answer_has_its_outcome(path: Path) -> None:
    """Every recorded answer becomes the reply or the error that its meaning asks for."""
    fixture = json.loads(path.read_text(encoding="utf-8"))
    name = f"{path.parent.name}/{path.stem}"
    means = OURS.get(name, fixture["means"])
    with JudgeServer([replay(fixture)]) as server:
        before = time.monotonic()
        got = outcome(judge_of(fixture, path.parent.name, server.url))
        took_s = time.monotonic() - before
    assert len(server.requests) == 1
    reads = {**fixture.get("sdk_reads", {}), **fixture.get("pydantic_ai_reads", {})}
    if means == "scored":
        check_reply(got, fixture, reads)
    elif means in {"truncated", "empty"}:
        assert isinstance(got, Reply), got
        assert got.text == (reads.get("text") or "")
        if means == "truncated":
            assert got.stop_reason == reads["raw_finish_reason"]
    elif means == "refused":
        check_refusal(got, reads)
    elif means in RETRIED:
        assert isinstance(got, JudgeUnavailable), got
        wait = OUR_WAITS.get(name, fixture.get("retry_after_s"))
        if wait and "date" in name:  # a date has whole seconds, and is nearer once it has come
            assert got.retry_after_s is not None
            assert wait - 1 - took_s <= got.retry_after_s <= wait
        else:
            assert got.retry_after_s == (pytest.approx(wait, abs=0.001) if wait else None)
        assert got.slug == ("rate_limited" if is_rate_limit(fixture) else "unavailable")
        assert got.possibly_billed == (means != "retry" or name.endswith(BILLED)), got
    else:
        assert isinstance(got, JudgeRejected), got
        assert got.stops_run == (means == "stop"), got


# Google's RetryInfo is read through its compatible endpoint too.
OUR_WAITS = {"compatible/gemini-compat-error-list": 26}
BILLED = ("fault-cut-body", "fault-reset", "vllm-abort", "openrouter-finish-error-only")


def is_rate_limit(fixture: Mapping[str, Any]) -> bool:
    return fixture["status"] == 429 or "rate-limit" in fixture["id"] or "429" in fixture["id"]


def check_reply(got: Reply | JudgeError, fixture: Mapping[str, Any], reads: Mapping[str, Any]) -> None:
    assert isinstance(got, Reply), got
    body = fixture.get("body") or json.loads(fixture["raw"])
    if (
        "verdict" in str(reads.get("text"))
        and "commentary" not in fixture["id"]
        and "think-tags" not in fixture["id"]
    ):
        assert got.text == reads["text"]
    assert json.loads(got.text.rpartition("</think>")[2])["verdict"] == "pass"
    assert got.served_model == (body.get("model") or body.get("modelVersion"))
    if reads.get("raw_finish_reason"):
        assert got.stop_reason == reads["raw_finish_reason"]
    for ours, theirs in (
        (got.usage.input_tokens, "input_tokens"),
        (got.usage.output_tokens, "output_tokens"),
    ):
        if fixture.get("pydantic_ai_reads", {}).get(theirs) is not None:
            assert ours == (fixture["pydantic_ai_reads"][theirs] or None)


def check_refusal(got: Reply | JudgeError, reads: Mapping[str, Any]) -> None:
    if reads.get("text"):  # a refusal after or in a text: the reply tells, by its stop reason or its words
        assert isinstance(got, Reply), got
        assert got.text == reads["text"]
        assert got.stop_reason == reads["raw_finish_reason"]
    else:
        assert isinstance(got, JudgeRefused), got
        assert got.slug == "refused"
