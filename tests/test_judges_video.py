"""Videos on Gemini's wire: within the request, or by the vendor's store."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import ConfigError, JudgeRejected, JudgeUnavailable
from beholder.judges import CallContext, connect_judge, media_limits, most_tokens, rough_tokens
from beholder.judges import uploads as uploads_module
from beholder.judges.base import Judge, sampled_fps
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply, Video
from tests.fakes.judge_server import FileStore, JudgeServer, SeenRequest, rule
from tests.test_judges_wire import picture

CALL = CallContext(task_id="t1", model="m", repeat=1)
CLIP = b"\0\0\0\x18ftypmp42" + bytes(range(256)) * 8
BIG = b"\0\0\0\x18ftypmp42" + bytes(9 * 2**20)  # more than one piece of an upload
SMALL_REQUESTS = MediaLimits(
    request_bytes=3000, video_types=("video/mp4",), video_bytes=10**8, video_s=3600.0
)


def video(data: bytes = CLIP, duration_s: float = 7.25, **more: Any) -> Video:
    parts: dict[str, Any] = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "media_type": "video/mp4",
        "size_bytes": len(data),
        "source": "answer.mp4",
        "width_px": 640,
        "height_px": 360,
        "duration_s": duration_s,
        "fps": 30.0,
        "data": data,
    }
    return Video(**{**parts, **more})


def gemini(url: str, name: str = "gemini-2.5-pro", **more: Any) -> JudgeSpec:
    return JudgeSpec(provider="google", name=name, base_url=url, **{"timeout_s": 120.0, **more})


def connect(what: JudgeSpec, limits: MediaLimits | None = None) -> Judge:
    return connect_judge(what, api_key="sk-secret-0123", limits=limits)


async def ask_times(
    judge: Judge, times: int, pictures: Sequence[Picture] = (), data: bytes = CLIP
) -> list[Reply]:
    prepared = judge.prepare("Judge.", pictures, [video(data)])
    try:
        return list(await asyncio.gather(*(judge.ask(prepared, CALL) for _ in range(times))))
    finally:
        await judge.release(prepared)
        await judge.aclose()


def questions(server: JudgeServer) -> list[SeenRequest]:
    return [request for request in server.requests if request.api == "gemini"]


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads_module, "FIRST_POLL_S", 0.02)


# --- within the request -------------------------------------------------------------------------


def test_small_video_goes_within_the_request() -> None:
    """A video that fits is sent after the prompt and the pictures, whole, with its frame rate recorded."""
    with JudgeServer() as server:
        judge = connect(gemini(server.url))
        prepared = judge.prepare("Judge.", [picture()], [video()])
        (reply,) = asyncio.run(ask_times(judge, 1, [picture()]))
    (request,) = server.requests
    assert request.texts == ["Judge."]
    assert [(one.sha256, one.media_type) for one in request.images] == [
        (picture().sha256, "image/png"),
        (video().sha256, "video/mp4"),
    ]
    assert request.parts[2]["videoMetadata"] == {"fps": 9.0}  # 60 frames of 7.25 s
    assert reply.sent["video_fps"] == [9.0]
    assert "uploads" not in reply.sent
    (record,) = prepared.request_record["videos"]
    assert (record["sha256"], record["sampled_fps"], record["duration_s"]) == (video().sha256, 9.0, 7.25)


def test_record_without_videos_is_as_it_was() -> None:
    """A question without videos has no word of them in its record."""
    judge = connect(JudgeSpec(provider="openai", name="gpt-4.1"))
    record = judge.prepare("q", [picture()]).request_record
    asyncio.run(judge.aclose())
    assert "videos" not in record


def test_frame_rate_is_the_users() -> None:
    """`-M video_fps` sets the rate that is sent; it is Gemini's only, and one that it takes."""
    with JudgeServer() as server:
        judge = connect(gemini(server.url, settings={"video_fps": 5}))
        asyncio.run(ask_times(judge, 1))
    assert server.requests[0].parts[1]["videoMetadata"] == {"fps": 5.0}
    for rate in (0, -1, 25, "fast", True):
        with pytest.raises(ConfigError, match="video_fps"):
            connect(gemini("http://127.0.0.1:9", settings={"video_fps": rate}))
    with pytest.raises(ConfigError, match="only google/"):
        connect(JudgeSpec(provider="openai", name="gpt-5", settings={"video_fps": 5}))


@given(st.floats(min_value=0.01, max_value=5000))
def test_short_videos_are_sampled_densely(duration_s: float) -> None:
    """At least one frame a second, at most 24; a short video's last half second is seen."""
    rate = sampled_fps(gemini("http://h"), video(duration_s=duration_s))
    assert 1 <= rate <= 24
    if duration_s <= 30:
        assert 1 / rate <= 0.5


# --- by the store -------------------------------------------------------------------------------


def test_large_video_is_handed_over_once_and_deleted() -> None:
    """A video too large for a request is uploaded once for all repeats, waited for, named, and deleted."""
    store = FileStore(processing=3)
    with JudgeServer(files=store) as server:
        judge = connect(gemini(server.url), SMALL_REQUESTS)
        replies = asyncio.run(ask_times(judge, 3, [picture()]))
    assert [len(replies), len(store.uploaded), store.deleted] == [3, 1, store.uploaded]
    assert store.content[store.uploaded[0]] == CLIP
    assert store.asked[store.uploaded[0]] == 4
    for request in questions(server):
        assert request.texts == ["Judge."]
        uri = f"https://generativelanguage.googleapis.com/v1beta/{store.uploaded[0]}"
        assert request.parts[2]["fileData"] == {"file_uri": uri, "mime_type": "video/mp4"}
        assert request.parts[2]["videoMetadata"] == {"fps": 9.0}
        assert len(request.images) == 1
    assert replies[0].sent["uploads"] == 1
    starts = [r for r in server.requests if r.headers.get("x-goog-upload-command") == "start"]
    assert "answer.mp4" not in starts[0].raw.decode()


def test_upload_in_pieces_arrives_whole() -> None:
    """A file of more than one piece arrives byte for byte."""
    store = FileStore()
    with JudgeServer(files=store) as server:
        judge = connect(gemini(server.url), SMALL_REQUESTS)
        asyncio.run(ask_times(judge, 1, data=BIG))
    assert hashlib.sha256(store.content[store.uploaded[0]]).hexdigest() == video(BIG).sha256
    assert len([r for r in server.requests if "x-goog-upload-offset" in r.headers]) == 2


def test_question_waits_until_the_file_is_ready() -> None:
    """Nothing is asked before the store says that the file is ready."""
    with JudgeServer(files=FileStore(processing=4)) as server:
        asyncio.run(ask_times(connect(gemini(server.url), SMALL_REQUESTS), 1))
    kinds = [
        "ask" if r.api == "gemini" else "poll" if r.method == "GET" else r.method for r in server.requests
    ]
    assert kinds == ["POST", "POST", "poll", "poll", "poll", "poll", "poll", "ask", "DELETE"]


def test_file_that_is_never_ready_times_out() -> None:
    """A file that stays in processing is a timeout that cost nothing; the next attempt waits again."""
    store = FileStore(processing=10**6)

    async def twice(url: str) -> list[JudgeUnavailable]:
        judge = connect(gemini(url, timeout_s=2.0), SMALL_REQUESTS)
        prepared = judge.prepare("Judge.", [], [video()])
        errors = []
        for _ in range(2):
            with pytest.raises(JudgeUnavailable) as caught:
                await judge.ask(prepared, CALL)
            errors.append(caught.value)
        await judge.release(prepared)
        await judge.aclose()
        return errors

    with JudgeServer(files=store) as server:
        errors = asyncio.run(twice(server.url))
    assert [(error.slug, error.possibly_billed) for error in errors] == [("timeout", False)] * 2
    assert "not got the video ready within 2 s" in str(errors[0])
    assert (len(store.uploaded), store.deleted) == (1, store.uploaded)
    assert questions(server) == []


def test_file_that_cannot_be_read_is_rejected() -> None:
    """A file that the store cannot read rejects the question in the store's words, for all repeats."""
    store = FileStore(processing=1, final="FAILED")

    async def all_repeats(url: str) -> list[BaseException | Reply]:
        judge = connect(gemini(url), SMALL_REQUESTS)
        prepared = judge.prepare("Judge.", [], [video()])
        outcomes = await asyncio.gather(
            *(judge.ask(prepared, CALL) for _ in range(3)), return_exceptions=True
        )
        await judge.release(prepared)
        await judge.aclose()
        return outcomes

    with JudgeServer(files=store) as server:
        outcomes = asyncio.run(all_repeats(server.url))
    for error in outcomes:
        assert isinstance(error, JudgeRejected)
        assert not error.stops_run
        assert "cannot be decoded" in str(error)
    assert (len(store.uploaded), store.deleted, questions(server)) == (1, store.uploaded, [])


@pytest.mark.parametrize("stage", ["upload", "ask"])
def test_cancelled_question_leaves_nothing_behind(stage: str) -> None:
    """A file that was handed over is deleted also if the call is cancelled, by whoever closes the judge."""
    store = FileStore(processing=10**6 if stage == "upload" else 0)
    rules = [rule(path=":generateContent", fault="hang")]

    async def cancelled(server: JudgeServer) -> None:
        judge = connect(gemini(server.url), SMALL_REQUESTS)
        prepared = judge.prepare("Judge.", [], [video()])
        asking = asyncio.create_task(judge.ask(prepared, CALL))
        await asyncio.to_thread(server.wait_for_requests, 4)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await judge.aclose()

    with JudgeServer(rules, files=store) as server:
        asyncio.run(cancelled(server))
    assert store.deleted == store.uploaded != []


@pytest.mark.parametrize(
    ("wrong", "kind", "word"),
    [
        (rule(path="/upload/", call=1, status=500), JudgeUnavailable, "failed"),
        (rule(path="/upload/", call=1, raw="", headers={}), JudgeUnavailable, "no answer"),
        (rule(path="/upload/", call=2, raw="", headers={}), JudgeUnavailable, "broke off"),
        (rule(path="/upload/", call=2, fault="reset"), JudgeUnavailable, "broke off"),
        (rule(path="/files/", method="GET", status=503), JudgeUnavailable, "failed"),
        (rule(path="/upload/", call=1, raw="<html>", status=200), JudgeUnavailable, "no answer"),
    ],
)
def test_failed_upload_is_free_and_tried_again_by_the_one_loop(
    wrong: Any, kind: type[JudgeUnavailable], word: str
) -> None:
    """An upload that fails is one error, sent once, cost nothing, and the next attempt succeeds."""
    store = FileStore()

    async def twice(url: str) -> tuple[JudgeUnavailable, Reply, int]:
        judge = connect(gemini(url), SMALL_REQUESTS)
        prepared = judge.prepare("Judge.", [], [video()])
        with pytest.raises(kind) as caught:
            await judge.ask(prepared, CALL)
        before = len(server.requests)
        reply = await judge.ask(prepared, CALL)
        await judge.release(prepared)
        await judge.aclose()
        return caught.value, reply, before

    with JudgeServer([{**wrong, "times": 1}], files=store) as server:
        error, reply, before = asyncio.run(twice(server.url))
    assert (error.slug, error.possibly_billed) == ("unavailable", False)
    assert word in str(error)
    assert before <= 3
    assert reply.text
    assert set(store.deleted) == set(store.uploaded)


def test_store_elsewhere_is_not_spoken_to() -> None:
    """An upload address on another host gets neither the video nor a request."""
    away = rule(path="/upload/", call=1, raw="", headers={"x-goog-upload-url": "http://localhost:9/x"})
    with JudgeServer([away]) as server, pytest.raises(JudgeRejected, match="sends on to localhost"):
        asyncio.run(ask_times(connect(gemini(server.url), SMALL_REQUESTS), 1))
    assert len(server.requests) == 1


def test_file_not_ready_after_all_is_asked_again() -> None:
    """A 400 that says the file is not ready is no verdict on the account: the file is looked up again."""
    body = {"error": {"code": 400, "message": "not ACTIVE", "status": "FAILED_PRECONDITION"}}
    store = FileStore()

    async def twice(url: str) -> Reply:
        judge = connect(gemini(url), SMALL_REQUESTS)
        prepared = judge.prepare("Judge.", [], [video()])
        with pytest.raises(JudgeUnavailable, match="not ready yet"):
            await judge.ask(prepared, CALL)
        reply = await judge.ask(prepared, CALL)
        await judge.release(prepared)
        await judge.aclose()
        return reply

    with JudgeServer([rule(path=":generateContent", status=400, body=body, times=1)], files=store) as server:
        assert asyncio.run(twice(server.url)).text
    assert (len(store.uploaded), store.asked[store.uploaded[0]]) == (1, 2)


def test_file_that_cannot_be_deleted_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A deletion that fails costs no reply and is logged."""
    with JudgeServer([rule(method="DELETE", status=500)]) as server:
        (reply,) = asyncio.run(ask_times(connect(gemini(server.url), SMALL_REQUESTS), 1))
    assert reply.text
    assert "was not deleted" in caplog.text


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("anthropic", "claude-sonnet-4-6"),
        ("openai", "gpt-5"),
        ("openai-compatible", "google/gemini-2.5-pro"),
    ],
)
def test_other_vendors_are_sent_no_video(provider: str, name: str) -> None:
    """A video for a judge that takes none is refused before anything is sent, never dropped."""
    with JudgeServer() as server:
        judge = connect(JudgeSpec(provider=provider, name=name, base_url=server.url))
        with pytest.raises(JudgeRejected, match=r"sent no video.*answer\.mp4"):
            judge.prepare("Judge.", [], [video()])
        asyncio.run(judge.aclose())
    assert server.requests == []
    assert media_limits(JudgeSpec(provider=provider, name=name)).video_types == ()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"media_type": "video/x-matroska"}, "takes video/mp4"),
        ({"data": b""}, "no bytes"),
        ({"data": b"other"}, "other bytes"),
        ({"duration_s": 3601.0}, "lasts 3601 s"),
    ],
)
def test_video_that_is_not_as_recorded_is_refused(change: dict[str, Any], word: str) -> None:
    """A video of another type, without its bytes, or longer than the judge takes is not sent."""
    judge = connect(gemini("http://127.0.0.1:9"))
    with pytest.raises(JudgeRejected, match=word):
        judge.prepare("Judge.", [], [replace(video(), **change)])
    asyncio.run(judge.aclose())


def test_video_limits_are_gemini_s() -> None:
    """Gemini takes two gigabytes and an hour; a video that is larger is refused."""
    limits = media_limits(JudgeSpec(provider="google", name="gemini-2.5-pro"))
    assert (limits.video_bytes, limits.video_s) == (2_000_000_000, 3600.0)
    judge = connect(gemini("http://127.0.0.1:9"), MediaLimits(video_types=("video/mp4",), video_bytes=10))
    with pytest.raises(JudgeRejected, match="takes 10"):
        judge.prepare("Judge.", [], [video()])
    asyncio.run(judge.aclose())


# --- what it costs ------------------------------------------------------------------------------


def test_video_tokens_by_hand() -> None:
    """258 tokens a frame on 2.x and 70 on 3, 32 a second of sound; the most is never below the guess."""
    clip = video(duration_s=100.0)
    two, three = gemini("http://h"), gemini("http://h", name="gemini-3-pro")
    assert rough_tokens(two, "", (), [clip]) == 100 * 258 + 100 * 32
    assert rough_tokens(three, "", (), [clip]) == 100 * 70 + 100 * 32
    fast = gemini("http://h", settings={"video_fps": Decimal("2.5")})
    assert rough_tokens(fast, "", (), [clip]) == 250 * 258 + 100 * 32
    for what in (two, three, fast):
        assert most_tokens(what, "", 0, [clip]) > rough_tokens(what, "", (), [clip])
        assert most_tokens(what, "x", 1) == most_tokens(what, "x", 1, ())
