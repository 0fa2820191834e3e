"""What really went over the wire in one call, and the pictures' way into it.

The vendors' libraries write the request around short stand-ins; just before it leaves, each stand-in is
replaced by its picture's base64, encoded once per task and shared by all calls. So a call copies no picture,
and what is recorded as sent is read from the request itself.

    library's request   {"…": [{"text": "prompt"}, {"…": "<stand-in 1>"}, {"…": "<stand-in 2>"}]}
    on the wire         {"…": [{"text": "prompt"}, {"…": "<base64 1>"}, {"…": "<base64 2>"}]}
"""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx2

from beholder.errors import JudgeRejected

# Names of the settings that vendors call differently, as they are recorded.
SAME_SETTING = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
}
CONVERSATION = ("messages", "input", "contents")
SYSTEM_PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")


@dataclass(frozen=True, slots=True)
class StandIn:
    """A short text that stands for one picture's, or a small video's, base64 until the request leaves.

    Attributes:
        token: 64 hexadecimal digits that are the base64 of `data`; random, so that no prompt can hold them.
        data: What the vendor's library is given as the picture's bytes.
        encoded: The picture's base64.
    """

    token: str
    data: bytes
    encoded: bytes = field(repr=False)


def stand_in(picture: bytes) -> StandIn:
    """A fresh stand-in for a picture or a video, which is encoded here."""
    token = secrets.token_hex(32)
    return StandIn(token, base64.b64decode(token), base64.b64encode(picture))


@dataclass(slots=True)
class Exchange:
    """One request and its answer, filled in as they pass.

    Attributes:
        prompt, stand_ins, files: What the request must hold, and nothing else; files by their addresses.
        sent: The settings of the request that left; empty as long as none did.
        violation: Set if the request was stopped because it was not what it must be.
        status, headers, body: The answer; `status` is None as long as none came.
    """

    prompt: str = field(repr=False)
    stand_ins: Sequence[StandIn] = field(repr=False)
    files: Sequence[str] = ()
    sent: dict[str, Any] = field(default_factory=dict)
    violation: JudgeRejected | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def request_id(self) -> str | None:
        """The vendor's id of the request."""
        return self.headers.get("request-id") or self.headers.get("x-request-id")

    @property
    def text(self) -> str:
        """The answer's body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        """The answer's body, parsed; None if it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def before(self, request: httpx2.Request) -> None:
        """Check what is about to leave, write it down, and put the pictures in."""
        self.violation = _violation(self, request)
        if self.violation:
            raise NotSent(str(self.violation), request=request)
        body = json.loads(request.content)
        self.sent = settings_of(body, request.url.path)
        chunks = _splice(request.content, self.stand_ins)
        request.headers["content-length"] = str(sum(map(len, chunks)))
        request.stream = _Chunks(chunks)

    async def after(self, response: httpx2.Response) -> None:
        """Read the whole body here, so that one cut short is one kind of error for all vendors."""
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self.body = await response.aread()


CURRENT: ContextVar[Exchange] = ContextVar("beholder_exchange")


class NotSent(httpx2.RequestError):
    """The request was stopped before it left; `Exchange.violation` says why."""


async def before_sending(request: httpx2.Request) -> None:
    """Request hook."""
    CURRENT.get().before(request)


async def after_answer(response: httpx2.Response) -> None:
    """Response hook."""
    await CURRENT.get().after(response)


def _violation(exchange: Exchange, request: httpx2.Request) -> JudgeRejected | None:
    """Why this request must not leave, if so."""
    if exchange.sent:
        return JudgeRejected(
            f"the judge's server sends on to {request.url}; give that address as the base URL", stops_run=True
        )
    texts, images, others = read_content(json.loads(request.content))
    if others:
        return JudgeRejected(
            f"the request holds more than the question ({', '.join(others)}); nothing was sent"
        )
    if "".join(texts) != exchange.prompt:
        return JudgeRejected("the request's text is not the prompt; nothing was sent")
    expected = [*(stand.token for stand in exchange.stand_ins), *exchange.files]
    if images != expected:
        return JudgeRejected(
            f"the request holds {len(images)} images and videos for {len(expected)}, or in another order; "
            "nothing was sent"
        )
    return None


def read_content(body: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """(texts, base64 or address of images and videos, anything else) of a request of any vendor, in order."""
    texts: list[str] = []
    images: list[str] = []
    others = [name for name in (*SYSTEM_PROMPTS, "tools") if body.get(name)]
    messages: list[Any] = next((body[name] for name in CONVERSATION if name in body), [])
    others += [f"a {message.get('role')} message" for message in messages if message.get("role") != "user"]
    for message in messages:
        content = message.get("content", message.get("parts"))
        for part in [{"text": content}] if isinstance(content, str) else content:
            image = _image_of(part)
            if image is not None:
                images.append(image)
            elif isinstance(part.get("text"), str) and not images:
                texts.append(part["text"])
            else:
                others.append(f"a part of type {part.get('type')}")
    return texts, images, others


def _image_of(part: Mapping[str, Any]) -> str | None:
    file = part.get("fileData")
    if file:
        return str(file.get("file_uri") or file.get("fileUri"))
    inline = part.get("inlineData") or part.get("source")
    if inline:
        return str(inline.get("data", ""))
    url = part.get("image_url")
    if url:
        return str(url if isinstance(url, str) else url["url"]).partition(";base64,")[2]
    return None


def settings_of(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Everything of a request but the conversation; `temperature` is always there, None if not sent."""
    settings: dict[str, Any] = {"model": None, "max_tokens": None, "temperature": None}
    flat = {**body, **body.get("generationConfig", {})}
    for name, value in flat.items():
        if name not in {*CONVERSATION, "generationConfig"}:
            settings[SAME_SETTING.get(name, name)] = value
    in_path = re.search(r"/models/([^/:]+):", path)  # Gemini names the model in the path
    if in_path:
        settings["model"] = in_path[1]
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    rates = [part["videoMetadata"].get("fps") for part in parts if "videoMetadata" in part]
    if rates:
        settings["video_fps"] = rates
    return settings


def _splice(content: bytes, stand_ins: Sequence[StandIn]) -> list[bytes]:
    """The request's body in pieces, each stand-in replaced by its picture's base64."""
    chunks = []
    for stand in stand_ins:
        before, _, content = content.partition(stand.token.encode())
        chunks += [before, stand.encoded]
    return [*chunks, content]


class _Chunks(httpx2.AsyncByteStream):
    """A request's body that is already there, in pieces."""

    def __init__(self, chunks: Sequence[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


def http_client(timeout_s: float) -> httpx2.AsyncClient:
    """The one client of a judge; how many connections there are is the endpoint's business."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 10.0), pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30.0),
        event_hooks={"request": [before_sending], "response": [after_answer]},
    )
