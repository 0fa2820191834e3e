"""The fake judge server, on which many other tests rely."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib
from concurrent.futures import ThreadPoolExecutor, wait
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.judge_server import GOOD_TEXT, JudgeServer, replay, rule

ROOT = Path(__file__).parents[1]
PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/g-1:generateContent",
}


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def post(url: str, body: Any) -> tuple[int, dict[str, str], Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, dict(answer.headers), json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), json.loads(error.read())


def question(api: str, text: str = "q", image: bytes | None = None) -> dict[str, Any]:
    encoded = base64.b64encode(image).decode() if image else None
    if api == "gemini":
        parts: list[Any] = [{"text": text}]
        parts += [{"inlineData": {"mimeType": "image/png", "data": encoded}}] if encoded else []
        return {"contents": [{"role": "user", "parts": parts}]}
    content: list[Any] = [{"type": "text", "text": text}]
    if encoded and api == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": encoded}
        content.append({"type": "image", "source": source})
    elif encoded:
        url = f"data:image/png;base64,{encoded}"
        content.append({"type": "x", "image_url": url if api == "openai-responses" else {"url": url}})
    key = "input" if api == "openai-responses" else "messages"
    return {"model": "m-1", "max_tokens": 9, key: [{"role": "user", "content": content}]}


@pytest.mark.parametrize("api", PATHS)
def test_every_dialect_is_read(api: str) -> None:
    """Text, model, parameters and images with their digests and sizes are read in every vendor's form."""
    image = png(7, 5)
    with JudgeServer() as server:
        status, _, body = post(server.url + PATHS[api], question(api, "hello", image))
    (request,) = server.requests
    assert status == 200
    assert GOOD_TEXT in json.dumps(body).encode().decode("unicode_escape").replace('\\"', '"')
    assert (request.api, request.texts, request.roles) == (api, ["hello"], ["user"])
    assert request.model == ("g-1" if api == "gemini" else "m-1")
    (seen,) = request.images
    assert (seen.sha256, seen.media_type) == (hashlib.sha256(image).hexdigest(), "image/png")
    assert (seen.width_px, seen.height_px) == (7, 5)
    assert request.as_line()["prompt_sha256"] == hashlib.sha256(b"hello").hexdigest()


def test_first_rule_that_holds_answers() -> None:
    """Rules are tried in order by call, model, text and how often they have answered."""
    rules = [
        rule(call=1, text="by call"),
        rule(contains="blue", text="by text"),
        rule(model="other", text="by model"),
        rule(times=1, text="once"),
        rule(call={"from": 6}, text="from six"),
    ]
    texts = []
    with JudgeServer(rules) as server:
        for words in ("a", "a blue map", "a", "b", "c", "d"):
            _, _, body = post(server.url + PATHS["openai-chat"], question("openai-chat", words))
            texts.append(body["choices"][0]["message"]["content"])
    assert texts == ["by call", "by text", "once", GOOD_TEXT, GOOD_TEXT, "from six"]


def test_replay_fills_in_address_and_date() -> None:
    """A replayed exchange has its status and headers, its own address, and a date in the future."""
    fixture = {"status": 429, "headers": {"retry-after": "@http-date+30"}, "body": {"next": "@base/x"}}
    with JudgeServer([replay(fixture)]) as server:
        before = time.time()
        status, headers, body = post(server.url + PATHS["anthropic"], question("anthropic"))
        after = time.time()
    assert status == 429
    assert body == {"next": server.url + "/x"}
    date = parsedate_to_datetime(headers["retry-after"]).timestamp()  # of whole seconds
    assert before + 29 < date <= after + 30


def test_what_is_held_is_answered_once_it_is_released() -> None:
    """A held answer comes with the release and not before; a later one is not held any more."""
    address = PATHS["anthropic"]
    with JudgeServer([rule(held=True)]) as server, ThreadPoolExecutor(1) as threads:
        answer = threads.submit(post, server.url + address, question("anthropic"))
        server.wait_for_requests(1)
        assert not wait([answer], timeout=0.05).done
        server.release()
        assert answer.result()[0] == 200
        assert post(server.url + address, question("anthropic"))[0] == 200


@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_faults_break_the_connection(fault: str) -> None:
    """A cut answer is shorter than announced, and a reset comes before any byte."""
    with JudgeServer([rule(fault=fault)]) as server:
        expected = http.client.IncompleteRead if fault == "cut" else ConnectionResetError
        with pytest.raises((expected, urllib.error.URLError)) as caught:
            post(server.url + PATHS["anthropic"], question("anthropic"))
    reason = getattr(caught.value, "reason", caught.value)
    assert isinstance(reason, expected)


def test_as_a_program(tmp_path: Path) -> None:
    """As a program it prints its address, follows a script and writes a line per request."""
    script, log = tmp_path / "rules.json", tmp_path / "requests.jsonl"
    script.write_text(json.dumps([{"call": 2, "status": 500}]))
    command = [
        sys.executable,
        "-m",
        "tests.fakes.judge_server",
        "--script",
        script,
        "--log",
        log,
        "--text",
        "hi",
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        codes = [post(url + PATHS["anthropic"], question("anthropic", image=png(2, 2)))[0] for _ in range(3)]
        server.terminate()
    assert codes == [200, 500, 200]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["number"] for line in lines] == [1, 2, 3]
    assert lines[0]["images"][0]["width_px"] == 2
    assert lines[0]["parameters"] == {"model": "m-1", "max_tokens": 9}


def test_light_mode_keeps_no_bodies() -> None:
    """For benchmarks the requests are counted and their bodies dropped but for the model's name."""
    with JudgeServer(light=True) as server:
        _, _, body = post(server.url + PATHS["anthropic"], question("anthropic", image=png(2, 2)))
    assert [request.raw for request in server.requests] == [b'{"model": "m-1"}']
    assert body["model"] == "m-1"
