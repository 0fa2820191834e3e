"""Which class of the library speaks to which vendor. Each vendor's package is imported only when it is used.

Set for all of them: no retries of their own, no framing text, no zero-width joiners in the prompt, and no
cutting of `<think>` blocks out of the reply, which is kept verbatim.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from beholder.errors import ConfigError, MissingTool
from beholder.judges.base import MAX_FPS
from beholder.judges.keys import base_url_of, host_of
from beholder.records import JudgeSpec

if TYPE_CHECKING:
    import httpx2
    from google.genai.files import AsyncFiles
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

# `-M` keys that are ours, not the vendor's: the dialect (`chat`, `responses`, `openrouter`), OpenAI's
# `detail` of every image, and the frames a second of every video that Gemini looks at.
OWN_SETTINGS = ("api", "detail", "video_fps")
DIALECTS = ("chat", "responses", "openrouter")

# What `-M` must not touch: it would make the request another than the record says.
FLAGS_INSTEAD = {
    "max_tokens": "--max-tokens",
    "max_completion_tokens": "--max-tokens",
    "max_output_tokens": "--max-tokens",
    "temperature": "--temperature",
    "model": "--judge",
}
FORBIDDEN = (
    *("messages", "input", "contents", "system", "instructions", "system_instruction", "prompt"),
    *("previous_response_id", "conversation", "tools", "stream", "n", "background", "modalities"),
)

# Google's library takes no free members, so these are the ones that go through.
GOOGLE_SETTINGS = ("top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")

PROFILE: Mapping[str, Any] = {
    "may_tokenize_special_tokens_in_content": False,
    "thinking_tags": ("\0", "\0"),
}
INSTALL = 'pip install "pydantic-ai-slim[anthropic,google,openai]>=2.68,<2.69"'
NO_KEY = "none"  # the SDKs insist on some key, and servers that ask for none ignore it


def dialect_of(spec: JudgeSpec) -> str:
    """How the OpenAI family is spoken to: `chat`, `responses` or `openrouter`.

    Chat completions is the default also for OpenAI itself: it stores nothing there and is what every
    compatible server speaks, so one model behind two hosts is asked in the same words.

    Raises:
        ConfigError: `-M api=` names no dialect.
    """
    chosen = spec.settings.get("api")
    if chosen is None:
        host = host_of(base_url_of(spec))
        return "openrouter" if host == "openrouter.ai" or host.endswith(".openrouter.ai") else "chat"
    if chosen not in DIALECTS:
        raise ConfigError(f"-M api={chosen}: write one of {', '.join(DIALECTS)}", concerns="api")
    return str(chosen)


def check_settings(spec: JudgeSpec) -> dict[str, Any]:
    """The `-M` settings that go to the vendor.

    Raises:
        ConfigError: One of them has a flag of its own, belongs to the conversation, or cannot be sent.
    """
    settings = {name: value for name, value in spec.settings.items() if name not in OWN_SETTINGS}
    _check_own(spec)
    for name in settings:
        if name in FLAGS_INSTEAD:
            raise ConfigError(f"-M {name}=…: use {FLAGS_INSTEAD[name]}", concerns=name)
        if name in FORBIDDEN:
            raise ConfigError(f"-M {name}=…: this is fixed by the protocol", concerns=name)
        if spec.provider == "google" and name not in GOOGLE_SETTINGS:
            raise ConfigError(
                f"-M {name}=…: for google/ only {', '.join(GOOGLE_SETTINGS)} can be set", concerns=name
            )
    return settings


def _check_own(spec: JudgeSpec) -> None:
    openai = spec.provider in {"openai", "openai-compatible"}
    for name in ("api", "detail"):
        if name in spec.settings and not openai:
            raise ConfigError(f"-M {name}=…: for openai/ and openai-compatible/ only", concerns=name)
    rate = spec.settings.get("video_fps")
    if rate is None:
        return
    if spec.provider != "google":
        raise ConfigError("-M video_fps=…: only google/ is sent videos", concerns="video_fps")
    if isinstance(rate, bool) or not isinstance(rate, int | float | Decimal) or not 0 < rate <= MAX_FPS:
        raise ConfigError(
            f"-M video_fps={rate}: frames a second, above 0 and up to {MAX_FPS}", concerns="video_fps"
        )


def model_settings(spec: JudgeSpec) -> ModelSettings:
    """The library's settings for a request."""
    settings: dict[str, Any] = {"max_tokens": spec.max_tokens, "framing_announcement": "never"}
    if spec.temperature is not None:
        settings["temperature"] = float(spec.temperature)
    extra = check_settings(spec)
    if spec.provider == "google":
        settings.update(extra)
        return settings  # type: ignore[return-value]  # a TypedDict built by name
    if spec.provider != "anthropic" and dialect_of(spec) == "responses":
        extra = {"store": False, **extra}
    if extra:
        settings["extra_body"] = extra
    return settings  # type: ignore[return-value]  # a TypedDict built by name


def build_model(spec: JudgeSpec, api_key: str | None, client: httpx2.AsyncClient) -> Model:
    """The library's model for a judge.

    Raises:
        MissingTool: The vendor's package is not installed.
    """
    # The library warns when it leaves a sampling parameter out; `Reply.sent` tells it of every single call.
    warnings.filterwarnings("ignore", message="Sampling parameters", category=UserWarning)
    builders = {"anthropic": _anthropic, "google": _google}
    try:
        return builders.get(spec.provider, _openai)(spec, api_key or NO_KEY, client)
    except ImportError as error:
        raise MissingTool(f"{spec.model} needs a package that is not installed: {INSTALL}") from error


def _root(spec: JudgeSpec, *versions: str) -> str:
    """The address without the version that this vendor's package adds by itself."""
    url = base_url_of(spec).rstrip("/")
    return next((url.removesuffix(version) for version in versions if url.endswith(version)), url)


def _anthropic(spec: JudgeSpec, api_key: str, client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    vendor = AsyncAnthropic(
        api_key=api_key,
        base_url=_root(spec, "/v1"),
        http_client=client,
        max_retries=0,
        timeout=client.timeout,
    )
    return AnthropicModel(spec.name, provider=AnthropicProvider(anthropic_client=vendor), profile=_profile())


def _openai(spec: JudgeSpec, api_key: str, client: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.models.openai._chat_completions import LenientChatCompletion
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    vendor = AsyncOpenAI(
        api_key=api_key,
        base_url=base_url_of(spec),
        http_client=client,
        max_retries=0,
        timeout=client.timeout,
    )
    dialect = dialect_of(spec)
    if dialect == "openrouter":
        if "/" not in spec.name:
            raise ConfigError(
                f'judge "{spec.name}": OpenRouter names a model vendor/name, so write '
                f"openai-compatible/VENDOR/{spec.name}",
                slug="unknown_judge",
                concerns=spec.model,
            )
        return OpenRouterModel(
            spec.name, provider=OpenRouterProvider(openai_client=vendor), profile=_profile()
        )
    provider = (
        OpenAIProvider(openai_client=vendor)
        if spec.provider == "openai"
        else OpenAICompatibleProvider(host_of(base_url_of(spec)), openai_client=vendor)
    )
    if dialect == "responses":
        return OpenAIResponsesModel(spec.name, provider=provider, profile=_profile())

    class ChatModel(OpenAIChatModel):
        """Takes an empty finish reason, which some servers send, for none."""

        def _validate_completion(self, response: ChatCompletion) -> LenientChatCompletion:
            for choice in response.choices or []:
                if not cast("str | None", choice.finish_reason):
                    choice.finish_reason = "stop"
            return super()._validate_completion(response)

    return ChatModel(spec.name, provider=provider, profile=_profile(**_token_cap(spec)))


def _token_cap(spec: JudgeSpec) -> dict[str, bool]:
    """Which of two names the token cap goes out by.

    Ollama and other servers know `max_tokens` only, and ignore the newer `max_completion_tokens` without a
    word (ollama issue 7125, confirmed in August 2026): a reply would have no cap. OpenAI's own newer models
    refuse the older name, whoever passes the request on.
    """
    newer = spec.provider == "openai" or re.search(r"(^|/)(gpt-[5-9]|o[1-9])", spec.name.lower())
    return {"openai_chat_supports_max_completion_tokens": bool(newer)}


def _google(spec: JudgeSpec, api_key: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(api_key=api_key, base_url=_root(spec, "/v1beta", "/v1"), http_client=client)
    return GoogleModel(spec.name, provider=provider, profile=_profile())


def files_of(model: Model) -> AsyncFiles:
    """The store of Google's model."""
    from pydantic_ai.models.google import GoogleModel

    if not isinstance(model, GoogleModel):
        raise TypeError(f"{type(model).__name__} has no store for files")
    return model.client.aio.files


def vendor_errors(spec: JudgeSpec) -> tuple[type[Exception], ...]:
    """The bases of everything that the library and the vendor's package raise for a call."""
    import httpx2
    from pydantic_ai.exceptions import AgentRunError, UserError

    errors: tuple[type[Exception], ...] = (AgentRunError, UserError, httpx2.HTTPError, OSError)
    if spec.provider == "anthropic":
        from anthropic import AnthropicError

        return (*errors, AnthropicError)
    if spec.provider == "google":
        from google.genai.errors import APIError

        return (*errors, APIError)
    from openai import OpenAIError

    return (*errors, OpenAIError)


def _profile(**more: Any) -> Any:
    return {**PROFILE, **more}
