"""A judge behind a vendor's API, through `pydantic_ai.direct`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from beholder.errors import JudgeError
from beholder.judges.base import CallContext, Prepared, check_pictures, prepare_question
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
from beholder.judges.pricing import price_of
from beholder.judges.translate import make_error, translate
from beholder.judges.vendors import build_model, model_settings, vendor_errors
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply, Usage

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings


@dataclass(frozen=True)
class WireJudge:
    """A judge that is asked over HTTP. One request per `ask`; nothing here retries.

    Attributes:
        errors: What the library and the vendor's package raise.
        key: Kept only to be blacked out of what a server echoes.
    """

    spec: JudgeSpec
    limits: MediaLimits
    model: Model = field(repr=False)
    settings: ModelSettings = field(repr=False)
    client: httpx2.AsyncClient = field(repr=False)
    errors: tuple[type[Exception], ...] = field(repr=False)
    key: str | None = field(default=None, repr=False)

    def prepare(self, prompt: str, pictures: Sequence[Picture]) -> Prepared:
        """Encode the pictures, once for all repeats."""
        from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

        check_pictures(pictures, self.limits)
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
        request = ModelRequest(parts=[UserPromptPart(content)])
        return prepare_question(self.spec, prompt, pictures, _Payload(request, stand_ins))

    async def ask(self, prepared: Prepared, call: CallContext) -> Reply:  # noqa: ARG002 - nothing of it is sent
        """Send the question once; the whole call, body included, has `spec.timeout_s`."""
        from pydantic_ai.direct import model_request

        payload: _Payload = prepared.payload
        exchange = Exchange(prepared.prompt, payload.stand_ins)
        token = CURRENT.set(exchange)
        try:
            async with asyncio.timeout(self.spec.timeout_s):
                response = await model_request(self.model, [payload.request], model_settings=self.settings)
        except TimeoutError as error:
            waited = f"no whole answer within {self.spec.timeout_s:g} s"
            raise make_error(TIMEOUT, waited, exchange, key=self.key) from error
        except self.errors as error:
            raise translate(error, exchange, key=self.key) from error
        except MISREADINGS as error:
            if exchange.status is None:
                raise  # no answer to misread: a fault of ours
            raise translate(error, exchange, key=self.key) from error
        finally:
            CURRENT.reset(token)
        return self._reply(response, exchange)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.aclose()

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
    """What `prepare` hands to `ask`: the library's message, and the pictures its stand-ins stand for."""

    request: ModelMessage
    stand_ins: Sequence[StandIn]


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
    return WireJudge(
        spec=spec,
        limits=limits,
        model=model,
        settings=settings,
        client=client,
        errors=vendor_errors(spec),
        key=api_key,
    )
