"""A local HTTP server that answers like the judges' vendors, by script, and writes down what it was sent.

It speaks Anthropic messages, OpenAI chat completions, OpenAI responses, Gemini `generateContent` and Gemini's
file store, told apart by the path. Nothing but the standard library is needed:

    with JudgeServer([rule(call=[3, 4], status=429), rule(text="{}")]) as server:
        ...  # server.url, server.requests

    python -m tests.fakes.judge_server --port 8123 --script rules.json --log requests.jsonl

A rule is a JSON object; the first whose conditions all hold answers, and where none does a good answer goes
out. Conditions, all optional:

    call        1-based number of the request, or a list of them; or {"from": 10}
    model       the requested model's name
    contains    a piece of the prompt's text
    path        a piece of the path
    method      of the request
    times       how often this rule answers at most

Answer, all optional:

    delay_s, held (until `release`), status, headers, text, stop_reason,
    usage {input_tokens, output_tokens, cached_input_tokens}, served_model,
    no_ids (no request id in the headers), body (sent as JSON), raw (sent as it is),
    fixture (path of a wire fixture to replay)
    fault       cut: the connection ends before the body does;  reset: before any byte
                stall: headers, then nothing;  hang: nothing at all

A file that was uploaded is PROCESSING for some requests first, by its `FileStore`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

GOOD_TEXT = '{"reason": "every line can be read", "legible": 7, "balanced": 6}'
GOOD_USAGE = {"input_tokens": 1200, "output_tokens": 40, "cached_input_tokens": 0}
STOP_WORDS = {
    "anthropic": "end_turn",
    "openai-chat": "stop",
    "openai-responses": "completed",
    "gemini": "STOP",
}
CUT_SHORT_BYTES = 5000
PATIENCE_S = 120.0
SETTLE_ROUNDS = 20
Rule = Mapping[str, Any]


def rule(**parts: Any) -> Rule:
    """One rule of a script; `call`, `model`, … as the module's docstring lists them."""
    return parts


def replay(fixture: Mapping[str, Any], **conditions: Any) -> Rule:
    """The rule that answers with a wire fixture (`status, headers, body` or `raw`, `fault`)."""
    fault = fixture.get("fault", {})
    parts = {key: fixture[key] for key in ("status", "headers", "body", "raw") if key in fixture}
    if fault:
        parts |= {"fault": fault["kind"], "after_bytes": fault.get("after_bytes", 0)}
    return {**parts, "close": True, **conditions}


# --- what came in -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SeenImage:
    """One image of a request, decoded."""

    sha256: str
    media_type: str
    size_bytes: int
    width_px: int | None
    height_px: int | None


@dataclass
class SeenRequest:
    """One request as it arrived. Everything below the raw bytes is read when it is asked for."""

    number: int
    time_s: float
    path: str
    headers: Mapping[str, str]
    raw: bytes
    images_seen: dict[str, SeenImage] = field(default_factory=dict, repr=False)
    method: str = "POST"

    @property
    def api(self) -> str:
        """Which vendor's shape was asked for, by the path."""
        if ":generateContent" in self.path:
            return "gemini"
        if self.path.endswith("/responses"):
            return "openai-responses"
        return "anthropic" if self.path.endswith("/messages") else "openai-chat"

    @cached_property
    def body(self) -> dict[str, Any]:
        """The parsed body; of a file's bytes, empty."""
        return json.loads(self.raw) if self.raw and "x-goog-upload-offset" not in self.headers else {}

    @property
    def model(self) -> str:
        """The requested model's name (in the path, for Gemini)."""
        in_path = re.search(r"/models/([^/:]+):", self.path)
        return in_path[1] if in_path else str(self.body.get("model", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything but the conversation."""
        return {
            key: value for key, value in self.body.items() if key not in {"messages", "input", "contents"}
        }

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation's messages, whatever the vendor calls them."""
        for key in ("messages", "input", "contents"):
            if key in self.body:
                return list(self.body[key])
        return []

    @property
    def roles(self) -> list[str]:
        """The messages' roles, a system prompt outside the messages included."""
        outside = [key for key in ("system", "instructions", "systemInstruction") if self.body.get(key)]
        return outside + [str(message.get("role")) for message in self.messages]

    @cached_property
    def parts(self) -> list[dict[str, Any]]:
        """Every content part of every message, in order; bare text becomes a text part."""
        found: list[dict[str, Any]] = []
        for message in self.messages:
            content = message.get("content", message.get("parts", []))
            found += [{"type": "text", "text": content}] if isinstance(content, str) else content
        return found

    @property
    def texts(self) -> list[str]:
        """The text parts, in order."""
        return [part["text"] for part in self.parts if "text" in part]

    @cached_property
    def images(self) -> list[SeenImage]:
        """The images, in order, decoded. Equal base64 is decoded once per server."""
        found = []
        for part in self.parts:
            media_type, encoded = _encoded_image(part)
            if encoded is None:
                continue
            if encoded not in self.images_seen:
                self.images_seen[encoded] = _look_at(media_type, base64.b64decode(encoded, validate=True))
            found.append(self.images_seen[encoded])
        return found

    def as_line(self) -> dict[str, Any]:
        """The record of `requests.jsonl`."""
        return {
            "number": self.number,
            "time_s": self.time_s,
            "path": self.path,
            "model": self.model,
            "parameters": self.parameters,
            "roles": self.roles,
            "prompt_sha256": hashlib.sha256("".join(self.texts).encode()).hexdigest(),
            "images": [vars(image) for image in self.images],
        }


def _encoded_image(part: Mapping[str, Any]) -> tuple[str, str | None]:
    """(media type, base64) of a content part of any vendor; (.., None) for what is no image."""
    inline = part.get("inlineData") or part.get("inline_data")
    if inline:
        return inline.get("mimeType") or inline.get("mime_type", ""), inline["data"]
    if part.get("type") == "image":
        return part["source"]["media_type"], part["source"]["data"]
    url = part.get("image_url")
    if url:
        address = url if isinstance(url, str) else url["url"]
        head, _, encoded = address.partition(";base64,")
        return head.removeprefix("data:"), encoded
    return "", None


def _look_at(media_type: str, data: bytes) -> SeenImage:
    """Digest and size of an image; the pixel size is read from PNG and JPEG headers only."""
    width, height = _pixel_size(data)
    return SeenImage(hashlib.sha256(data).hexdigest(), media_type, len(data), width, height)


def _pixel_size(data: bytes) -> tuple[int | None, int | None]:
    if data.startswith(b"\x89PNG"):
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(b"\xff\xd8"):
        at = 2
        while at + 9 < len(data):
            marker, length = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])[0]
            if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
                height, width = struct.unpack(">HH", data[at + 5 : at + 9])
                return width, height
            at += 2 + length
    return None, None


# --- what goes out ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """One answer, ready to be written."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    held: bool = False
    fault: str | None = None
    after_bytes: int | None = None
    close: bool = False


def good_body(api: str, model: str, parts: Rule) -> dict[str, Any]:
    """A vendor's good answer with the rule's `text, stop_reason, usage, served_model`."""
    text = parts.get("text", GOOD_TEXT)
    stop = parts.get("stop_reason", STOP_WORDS[api])
    usage = GOOD_USAGE | dict(parts.get("usage", {}))
    read, wrote, cached = usage["input_tokens"], usage["output_tokens"], usage["cached_input_tokens"]
    served = parts.get("served_model", model)
    if api == "anthropic":
        return {
            "id": "msg_fake",
            "type": "message",
            "role": "assistant",
            "model": served,
            "content": [{"type": "text", "text": text}],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": read - cached,
                "output_tokens": wrote,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0,
            },
        }
    if api == "gemini":
        return {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": stop, "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": read,
                "candidatesTokenCount": wrote,
                "cachedContentTokenCount": cached,
                "totalTokenCount": read + wrote,
            },
            "modelVersion": served,
            "responseId": "fake",
        }
    if api == "openai-responses":
        return {
            "id": "resp_fake",
            "object": "response",
            "created_at": 1785963574,
            "model": served,
            "status": stop,
            "error": None,
            "incomplete_details": None,
            "output": [
                {
                    "type": "message",
                    "id": "msg_fake",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}],
                }
            ],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": read,
                "output_tokens": wrote,
                "total_tokens": read + wrote,
                "input_tokens_details": {"cached_tokens": cached},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "provider": "fake",
        "created": 1785963574,
        "model": served,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": stop}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": wrote,
            "total_tokens": read + wrote,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def make_answer(request: SeenRequest, parts: Rule, base_url: str) -> Answer:
    """The rule's answer to this request. `@base` and `@http-date+N` are replaced as the wire fixtures ask."""
    if "fixture" in parts:
        fixture = json.loads(Path(parts["fixture"]).read_text(encoding="utf-8"))
        parts = {**replay(fixture), **{key: value for key, value in parts.items() if key != "fixture"}}
    status = int(parts.get("status", 200))
    headers = {name.lower(): _header(value, base_url) for name, value in parts.get("headers", {}).items()}
    if "raw" in parts:
        body = str(parts["raw"])
    elif "body" in parts or parts.get("fault") == "reset":
        body = json.dumps(parts.get("body"), ensure_ascii=False)
    elif status == 200:
        body = json.dumps(good_body(request.api, request.model, parts), ensure_ascii=False)
    else:
        body = json.dumps({"type": "error", "error": {"type": "fake", "message": f"scripted {status}"}})
    headers.setdefault("content-type", "application/json")
    if not parts.get("no_ids"):
        headers.setdefault("x-request-id", f"req_{request.number}")
        headers.setdefault("request-id", f"req_{request.number}")
    return Answer(
        status=status,
        headers=headers,
        body=body.replace("@base", base_url).encode(),
        delay_s=float(parts.get("delay_s", 0)),
        held=bool(parts.get("held")),
        fault=parts.get("fault"),
        after_bytes=parts.get("after_bytes"),
        close=bool(parts.get("close")),
    )


def _header(value: str, base_url: str) -> str:
    dated = re.fullmatch(r"@http-date\+(\d+)", value)
    if dated:
        return formatdate(time.time() + int(dated[1]), usegmt=True)
    return value.replace("@base", base_url)


# --- Gemini's file store ------------------------------------------------------------------------


@dataclass
class FileStore:
    """What is in the store, and what becomes of it.

    Attributes:
        processing: How often a file is asked for before it leaves PROCESSING.
        final: The state it has then.
        uploaded, deleted: Names of files, in order.
        content: Bytes by name.
    """

    processing: int = 0
    final: str = "ACTIVE"
    uploaded: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    content: dict[str, bytes] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def answer(self, request: SeenRequest) -> Rule | None:
        """The answer to a request to the store; None if it is none."""
        if request.path == "/upload/v1beta/files":
            return self._upload(request)
        if not request.path.startswith("/v1beta/files/"):
            return None
        name = request.path.removeprefix("/v1beta/")
        if name not in self.content or name in self.deleted:
            error = {"code": 403, "message": f"No permission for {name}", "status": "PERMISSION_DENIED"}
            return {"status": 403, "body": {"error": error}}
        if request.method == "DELETE":
            self.deleted.append(name)
            return {"body": {}}
        self.asked[name] = self.asked.get(name, 0) + 1
        return {"body": self._file(name, self.final if self.asked[name] > self.processing else "PROCESSING")}

    def _upload(self, request: SeenRequest) -> Rule:
        command = request.headers.get("x-goog-upload-command", "")
        if command == "start":
            name = f"files/fake{len(self.content) + 1}"
            self.content[name] = b""
            address = f"@base{request.path}?upload_id={name}"
            return {"raw": "", "headers": {"x-goog-upload-url": address, "x-goog-upload-status": "active"}}
        name = list(self.content)[-1]
        self.content[name] += request.raw
        if "finalize" not in command:
            return {"raw": "", "headers": {"x-goog-upload-status": "active"}}
        self.uploaded.append(name)
        body = {"file": self._file(name, "PROCESSING")}
        return {"body": body, "headers": {"x-goog-upload-status": "final"}}

    def _file(self, name: str, state: str) -> dict[str, Any]:
        uri = f"https://generativelanguage.googleapis.com/v1beta/{name}"
        failed = {"error": {"code": 3, "message": "cannot be decoded"}} if state == "FAILED" else {}
        size = str(len(self.content[name]))
        return {
            "name": name,
            "mimeType": "video/mp4",
            "sizeBytes": size,
            "uri": uri,
            "state": state,
            **failed,
        }


# --- the server ---------------------------------------------------------------------------------


class JudgeServer:
    """The server, in a thread of its own.

    Attributes:
        requests: Everything that arrived, in order.
        in_flight_peak: The most requests that were unanswered at one time.
        url: `http://127.0.0.1:<port>`, once started.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        port: int = 0,
        log: TextIO | None = None,
        light: bool = False,
        files: FileStore | None = None,
    ) -> None:
        """Make a server; it listens from `start` or `with` on.

        Args:
            rules: The script.
            port: 0 takes a free one.
            log: Where a line per request goes.
            light: Count the requests and read their model, without keeping their bodies: for benchmarks.
            files: Gemini's file store.
        """
        self.files = files or FileStore()
        self.rules = list(rules)
        self.requests: list[SeenRequest] = []
        self.in_flight_peak = 0
        self.url = ""
        self._port = port
        self._log = log
        self._light = light
        self._answered = [0] * len(self.rules)
        self._in_flight = 0
        self._images: dict[str, SeenImage] = {}
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._released: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def __enter__(self) -> JudgeServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, in a thread; returns when the port is open."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self._thread.start()
        if not self._ready.wait(PATIENCE_S):
            raise TimeoutError("the fake judge did not start")

    def stop(self) -> None:
        """Close every connection and end the thread."""
        if self._loop and self._stop and self._thread:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(PATIENCE_S)
            if self._thread.is_alive():
                raise TimeoutError("the fake judge did not stop")

    def release(self) -> None:
        """Let the answers out that a rule holds, those of later requests too."""
        assert self._loop is not None
        assert self._released is not None
        self._loop.call_soon_threadsafe(self._released.set)

    def wait_for_requests(self, count: int, timeout_s: float = 300.0) -> None:
        """Block until so many requests have arrived; fails if they do not come in time."""
        deadline = time.monotonic() + timeout_s
        while len(self.requests) < count:
            assert time.monotonic() < deadline, f"{len(self.requests)} of {count} requests have come"
            time.sleep(0.005)

    async def serve(self) -> None:
        """Listen until `stop` is called."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._released = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port, limit=1 << 21)
        self.url = "http://{}:{}".format(*server.sockets[0].getsockname())
        self._ready.set()
        async with server:
            await self._stop.wait()
            server.close()
            for _ in range(SETTLE_ROUNDS):  # who was let in just now gets a task, which can be ended
                await asyncio.sleep(0)
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the server is being stopped
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; False ends the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length") or 0))
        method, target, _ = first.split(" ")
        request = self._note(method, target.partition("?")[0], headers, raw)
        self._in_flight += 1
        self.in_flight_peak = max(self.in_flight_peak, self._in_flight)
        try:
            answer = make_answer(request, self._pick(request), self.url)
            await asyncio.sleep(answer.delay_s)
            if answer.held and self._released:
                await self._released.wait()
            return await self._write(writer, answer)
        finally:
            self._in_flight -= 1

    def _note(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> SeenRequest:
        if self._light:
            model = re.search(rb'"model": ?"[^"]*"', raw)
            raw = b"{" + (model[0] if model else b"") + b"}"
        request = SeenRequest(len(self.requests) + 1, time.time(), path, headers, raw, self._images, method)
        self.requests.append(request)
        if self._log:
            self._log.write(json.dumps(request.as_line()) + "\n")
            self._log.flush()
        return request

    def _pick(self, request: SeenRequest) -> Rule:
        for at, candidate in enumerate(self.rules):
            if _holds(candidate, request) and self._answered[at] < candidate.get("times", sys.maxsize):
                self._answered[at] += 1
                return candidate
        return self.files.answer(request) or {}

    async def _write(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        if answer.fault == "hang":
            await asyncio.sleep(3600)
        if answer.fault == "reset":
            _reset(writer)
            return False
        announced = len(answer.body) + (CUT_SHORT_BYTES if answer.fault in {"cut", "stall"} else 0)
        closing = answer.close or answer.fault is not None
        lines = [f"HTTP/1.1 {answer.status} Scripted", f"content-length: {announced}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items() if name != "content-length"]
        lines.append("connection: close" if closing else "connection: keep-alive")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        if answer.fault == "stall":
            writer.write(head)
            await writer.drain()
            await asyncio.sleep(3600)
        sent = answer.body[: answer.after_bytes] if answer.fault == "cut" else answer.body
        writer.write(head + sent)
        await writer.drain()
        return not closing


def _holds(candidate: Rule, request: SeenRequest) -> bool:
    call = candidate.get("call")
    if isinstance(call, Mapping) and request.number < call["from"]:
        return False
    if isinstance(call, int) and request.number != call:
        return False
    if isinstance(call, list | tuple) and request.number not in call:
        return False
    if "path" in candidate and candidate["path"] not in request.path:
        return False
    if "method" in candidate and candidate["method"] != request.method:
        return False
    if "model" in candidate and candidate["model"] != request.model:
        return False
    return "contains" not in candidate or any(candidate["contains"] in text for text in request.texts)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with a TCP reset instead of a close."""
    plug = writer.get_extra_info("socket")
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def main() -> None:
    """Serve until interrupted; the address is the first line on stdout."""
    parser = argparse.ArgumentParser(description="A judge server for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="a JSON list of rules")
    parser.add_argument("--log", type=Path, help="a JSON line per request goes here")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each good answer")
    parser.add_argument("--text", default=GOOD_TEXT, help="the good answer's text")
    parser.add_argument("--processing", type=int, default=0, help="how often a file is not ready yet")
    parser.add_argument("--file-state", default="ACTIVE", help="what becomes of an uploaded file")
    parser.add_argument("--light", action="store_true", help="do not read the requests: for benchmarks")
    options = parser.parse_args()
    rules = json.loads(options.script.read_text(encoding="utf-8")) if options.script else []
    rules.append({"delay_s": options.delay, "text": options.text})
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(options.log.open("a", encoding="utf-8")) if options.log else None
        files = FileStore(options.processing, options.file_state)
        server = stack.enter_context(
            JudgeServer(rules, port=options.port, log=log, light=options.light, files=files)
        )
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
