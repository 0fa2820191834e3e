"""Where keys come from, and where they may go."""

from __future__ import annotations

from typing import Any

import pytest

from beholder.errors import ConfigError
from beholder.judges import base_url_of, find_key
from beholder.records import JudgeSpec

ALL_KEYS = {
    "ANTHROPIC_API_KEY": "a",
    "OPENAI_API_KEY": "o",
    "GEMINI_API_KEY": "g",
    "GOOGLE_API_KEY": "gg",
    "DMX_API_KEY": "d",
    "OPENROUTER_API_KEY": "r",
    "MINE": "m",
}


def spec(provider: str, base_url: str | None = None, **more: Any) -> JudgeSpec:
    return JudgeSpec(provider=provider, name="x", base_url=base_url, **more)


@pytest.mark.parametrize(
    ("judge", "variable"),
    [
        (spec("anthropic"), "ANTHROPIC_API_KEY"),
        (spec("openai"), "OPENAI_API_KEY"),
        (spec("google"), "GEMINI_API_KEY"),
        (spec("anthropic", "https://API.anthropic.com/"), "ANTHROPIC_API_KEY"),
        (spec("openai-compatible", "https://www.dmxapi.cn/v1"), "DMX_API_KEY"),
        (spec("openai-compatible", "https://openrouter.ai/api/v1"), "OPENROUTER_API_KEY"),
        (spec("openai", "https://dmxapi.cn/v1"), "DMX_API_KEY"),
        (spec("openai-compatible", "https://api.openai.com/v1"), "OPENAI_API_KEY"),
        (spec("anthropic", "https://proxy.example/", api_key_env="MINE"), "MINE"),
        (spec("anthropic", "https://proxy.example/", api_key_env="ANTHROPIC_API_KEY"), "ANTHROPIC_API_KEY"),
        (spec("openai", api_key_env="MINE"), "MINE"),
    ],
)
def test_key_is_found_by_host(judge: JudgeSpec, variable: str) -> None:
    """The host decides which variable is read, and `--api-key-env` wins."""
    key = find_key(judge, ALL_KEYS)
    assert key is not None
    assert (key.variable, key.value) == (variable, ALL_KEYS[variable])


@pytest.mark.parametrize(
    "judge",
    [
        spec("openai-compatible", "http://127.0.0.1:8000/v1"),
        spec("openai-compatible", "https://dmxapi.cn.evil.example/v1"),
        spec("openai-compatible", "https://notopenrouter.ai/v1"),
        spec("scripted"),
    ],
)
def test_no_key_for_unknown_hosts(judge: JudgeSpec) -> None:
    """A host that is not in the table gets no key, even if its name looks like one that is."""
    assert find_key(judge, ALL_KEYS) is None


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
def test_vendor_key_stays_at_home(provider: str) -> None:
    """A vendor's key does not go to a foreign base URL unless the user names its variable."""
    assert find_key(spec(provider, "https://proxy.example/v1"), ALL_KEYS) is None


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (spec("anthropic"), "ANTHROPIC_API_KEY is not set.*export ANTHROPIC_API_KEY"),
        (spec("google"), "GEMINI_API_KEY or GOOGLE_API_KEY is not set"),
        (spec("openai-compatible", "https://dmxapi.cn/v1"), r"dmxapi\.cn.*DMX_API_KEY"),
        (spec("openai", api_key_env="NOT_THERE"), "NOT_THERE is not set"),
    ],
)
def test_missing_key_names_its_variable(judge: JudgeSpec, words: str) -> None:
    """A missing key's message names the variable and where to set it; a blank one is missing too."""
    for environ in ({}, {"ANTHROPIC_API_KEY": " ", "DMX_API_KEY": ""}):
        with pytest.raises(ConfigError, match=words):
            find_key(judge, environ)


def test_key_is_in_no_repr() -> None:
    """A key's value does not show when it is printed."""
    key = find_key(spec("openai"), {"OPENAI_API_KEY": "sk-very-secret"})
    assert "secret" not in repr(key)


def test_bad_base_url_is_the_users_error() -> None:
    """An address without http is refused with an example."""
    with pytest.raises(ConfigError, match="https://host/v1"):
        find_key(spec("openai-compatible", "localhost:8000"), {})


def test_environment_does_not_choose_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base URL in the environment, which the SDKs would follow, does not redirect the key."""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example")
    assert base_url_of(spec("openai")) == "https://api.openai.com/v1"
