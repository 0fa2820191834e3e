"""A judge behind a vendor's API, through `pydantic_ai.direct`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from beholder.errors import JudgeError, JudgeRejected, JudgeUnavailable
from beholder.judges.base import (
    CallContext,
    Prepared,
    check_pictures,
    check_videos,
    prepare_question,
    sampled_fps,
)
from beholder.judges.exchange import CURRENT, Exchange, StandIn, http_client, stand_in
from beholder.judges.fates import (
    MALFORMED,
    MISREADINGS,
    REFUSED,
    REFUSED_STOPS,
    TIMEOUT,
    UNFINISHED,
    UNFINISHED_STOPS,
)
from beholder.judges.keys import base_url_of, host_of
from beholder.judges.pricing import price_of
from beholder.judges.translate import codes_of, make_error, translate
from beholder.judges.uploads import FileStore, Upload, uploads_made
from beholder.judges.vendors import build_model, files_of, model_settings, vendor_errors
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply, Usage, Video

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

REQUEST_OVERHEAD = 2048
"""Bytes of a request around its prompt and around each picture or video, generously."""

CLOSE_S = 1.0
"""Wall seconds that a cancelled caller waits for the connections to close."""

NOT_READY = "FAILED_PRECONDITION"
"""Gemini's word for a file that is named before it is ready; without a file: for the account's country."""


@dataclass(frozen=True)
class WireJudge:
    """A judge that is asked over HTTP. One request per `ask`; nothing here retries.

    Attributes:
        errors: What the library and the vendor's package raise.
        key: Kept only to be blacked out of what a server echoes.
        store: Where videos too large for a request are handed over; None: this vendor is sent no video.
        handed_over: The videos that lie there and are not deleted yet.
    """

    spec: JudgeSpec
    limits: MediaLimits
    model: Model = field(repr=False)
    settings: ModelSettings = field(repr=False)
    client: httpx2.AsyncClient = field(repr=False)
    errors: tuple[type[Exception], ...] = field(repr=False)
    key: str | None = field(default=None, repr=False)
    store: FileStore | None = field(default=None, repr=False)
    handed_over: list[Upload] = field(default_factory=list, repr=False)

    def prepare(self, prompt: str, pictures: Sequence[Picture], videos: Sequence[Video] = ()) -> Prepared:
        """Encode the pictures, and videos that fit into the request, once for all repeats."""
        from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

        check_pictures(pictures, self.limits)
        if videos and self.store is None:
            raise JudgeRejected(
                f"{self.spec.model} is sent no video, and {videos[0].source} is one; nothing was sent: "
                'show it as frames, [evidence] video = "frames"'
            )
        check_videos(videos, self.limits)
        stand_ins = [stand_in(picture.data) for picture in pictures]
        detail = self.spec.settings.get("detail")
        content: list[Any] = [prompt]
        content += [
            BinaryContent(
                data=stand.data,
                media_type=picture.media_type,
                vendor_metadata={"detail": detail} if detail else None,
            )
            for picture, stand in zip(pictures, stand_ins, strict=True)
        ]
        uploads: tuple[Upload, ...] = ()
        if self._fits(prompt, pictures, videos):
            moving = [stand_in(video.data) for video in videos]
            content += [
                BinaryContent(
                    data=stand.data,
                    media_type=video.media_type,
                    vendor_metadata={"fps": sampled_fps(self.spec, video)},
                )
                for video, stand in zip(videos, moving, strict=True)
            ]
            stand_ins += moving
        else:
            uploads = tuple(map(Upload, videos))
        request = ModelRequest(parts=[UserPromptPart(content)])
        payload = _Payload(request, stand_ins, tuple(content), uploads)
        return prepare_question(self.spec, prompt, pictures, payload, videos)

    def _fits(self, prompt: str, pictures: Sequence[Picture], videos: Sequence[Video]) -> bool:
        """Whether the videos go into the request itself."""
        if not videos or self.limits.request_bytes is None:
            return True
        media = [*(len(picture.data) for picture in pictures), *(len(video.data) for video in videos)]
        encoded = sum(-(-size // 3) * 4 for size in media)
        text = len(json.dumps(prompt).encode())
        return encoded + text + REQUEST_OVERHEAD * (1 + len(media)) < self.limits.request_bytes

    async def ask(self, prepared: Prepared, call: CallContext) -> Reply:  # noqa: ARG002 - nothing of it is sent
        """Send the question once; the whole call, body included, has `spec.timeout_s`."""
        from pydantic_ai.direct import model_request

        payload: _Payload = prepared.payload
        request, files = await self._with_files(payload)
        exchange = Exchange(prepared.prompt, payload.stand_ins, files)
        token = CURRENT.set(exchange)
        try:
            async with asyncio.timeout(self.spec.timeout_s):
                response = await model_request(self.model, [request], model_settings=self.settings)
        except TimeoutError as error:
            waited = f"no whole answer within {self.spec.timeout_s:g} s"
            raise make_error(TIMEOUT, waited, exchange, key=self.key) from error
        except self.errors as error:
            if files and NOT_READY in codes_of(exchange.json):
                for upload in payload.uploads:
                    upload.uri = None  # looked up again, and waited for, before the next attempt
                raise JudgeUnavailable("the judge's store has the video not ready yet", status=400) from error
            raise translate(error, exchange, key=self.key) from error
        except MISREADINGS as error:
            if exchange.status is None:
                raise  # no answer to misread: a fault of ours
            raise translate(error, exchange, key=self.key) from error
        finally:
            CURRENT.reset(token)
        exchange.sent |= uploads_made(payload.uploads)
        return self._reply(response, exchange)

    async def _with_files(self, payload: _Payload) -> tuple[ModelMessage, list[str]]:
        """The request with the addresses of what was handed over, and those addresses."""
        from pydantic_ai.messages import ModelRequest, UploadedFile, UserPromptPart

        if not payload.uploads or self.store is None:
            return payload.request, []
        content = list(payload.content)
        files = []
        for upload in payload.uploads:
            if upload not in self.handed_over:
                self.handed_over.append(upload)
            files.append(await self.store.ready(upload))
            content.append(
                UploadedFile(
                    files[-1],
                    provider_name="google",
                    media_type=upload.video.media_type,
                    vendor_metadata={"fps": sampled_fps(self.spec, upload.video)},
                )
            )
        return ModelRequest(parts=[UserPromptPart(content)]), files

    async def release(self, prepared: Prepared) -> None:
        """Delete the question's videos from the vendor's store."""
        for upload in prepared.payload.uploads:
            await self._delete(upload)

    async def _delete(self, upload: Upload) -> None:
        if upload in self.handed_over and self.store is not None:
            await self.store.delete(upload)
            if upload in self.handed_over:  # which two who close at the same time both find
                self.handed_over.remove(upload)

    async def aclose(self) -> None:
        """Delete what lies in the vendor's store still, and close the connections."""
        try:
            for upload in tuple(self.handed_over):
                await self._delete(upload)
        finally:
            # A task of its own, for a moment: cancelled in the midst, the client would leave sockets open.
            closing = asyncio.ensure_future(self.client.aclose())
            try:
                await asyncio.shield(closing)
            except asyncio.CancelledError:
                await asyncio.wait([closing], timeout=CLOSE_S)
                raise

    def _reply(self, response: ModelResponse, exchange: Exchange) -> Reply:
        text = _text_of(response)
        stop = _stop_of(response)
        problem = self._problem(text, stop, response, exchange)
        if problem:
            problem.usage, problem.cost_usd = _usage_of(response), price_of(response)
            raise problem
        return Reply(
            text=text,
            stop_reason=stop,
            served_model=_served(exchange) or response.model_name,
            usage=_usage_of(response),
            cost_usd=price_of(response),
            request_id=exchange.request_id or response.provider_response_id,
            sent=exchange.sent,
        )

    def _problem(
        self, text: str, stop: str | None, response: ModelResponse, exchange: Exchange
    ) -> JudgeError | None:
        """The error that a good status hides, if it does."""
        if not isinstance(exchange.json, dict):
            return make_error(MALFORMED, "the body is no JSON object", exchange, key=self.key)
        refused = response.finish_reason == "content_filter" or stop in REFUSED_STOPS
        if not refused and (stop in UNFINISHED_STOPS or response.finish_reason == "error"):
            return make_error(UNFINISHED, f"stop reason {stop}", exchange, key=self.key)
        if refused and not text.strip():
            details = response.provider_details or {}
            why = details.get("refusal") or details.get("block_reason") or stop or "no reason given"
            return make_error(REFUSED, str(why), exchange, key=self.key)
        return None


@dataclass(frozen=True, slots=True)
class _Payload:
    """What `prepare` hands to `ask`.

    Attributes:
        request, content: The library's message, without the videos that are handed over; what it is made of.
        stand_ins: The pictures, and videos within the request, that its stand-ins stand for.
        uploads: The videos that are handed over.
    """

    request: ModelRequest
    stand_ins: Sequence[StandIn]
    content: Sequence[Any]
    uploads: tuple[Upload, ...] = ()


def _text_of(response: ModelResponse) -> str:
    """The answer's text, its parts joined with nothing between; thoughts and commentary left out."""
    from pydantic_ai.messages import TextPart

    texts = [part for part in response.parts if isinstance(part, TextPart)]
    final = [part for part in texts if (part.provider_details or {}).get("phase") != "commentary"]
    return "".join(part.content for part in final)


def _stop_of(response: ModelResponse) -> str | None:
    """The vendor's own word for why it stopped; the library's where the vendor has none."""
    details = response.provider_details or {}
    stop = details.get("finish_reason") or details.get("block_reason")
    if stop is None and "refusal" in details:
        return "refusal"
    return None if stop is None else str(stop)


def _served(exchange: Exchange) -> str | None:
    body = exchange.json
    served = body.get("model") or body.get("modelVersion") if isinstance(body, dict) else None
    return served if isinstance(served, str) else None


def _usage_of(response: ModelResponse) -> Usage:
    """Tokens, alike for all vendors: cached ones are part of the input, thoughts part of the output."""
    usage = response.usage
    if not usage.has_values():
        return Usage()
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cache_read_tokens,
    )


def connect_wire(spec: JudgeSpec, *, api_key: str | None, limits: MediaLimits) -> WireJudge:
    """A judge behind the vendor's API, with a client of its own.

    Raises:
        ConfigError: A setting cannot be sent.
        MissingTool: The vendor's package is not installed.
    """
    settings = model_settings(spec)
    client = http_client(spec.timeout_s)
    model = build_model(spec, api_key, client)
    errors = vendor_errors(spec)
    store = None
    if spec.provider == "google":
        store = FileStore(
            files=files_of(model),
            host=host_of(base_url_of(spec)),
            timeout_s=spec.timeout_s,
            # What the library says of an answer that it did not expect.
            errors=(*errors, KeyError, ValueError),
            translate=partial(translate, key=api_key),
        )
    return WireJudge(
        spec=spec,
        limits=limits,
        model=model,
        settings=settings,
        client=client,
        errors=errors,
        key=api_key,
        store=store,
    )
