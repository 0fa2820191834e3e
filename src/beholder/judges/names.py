"""What users write for a judge, `provider/name` or a bare name, and the word it is called by."""

from __future__ import annotations

import re
from pathlib import PurePath

from beholder.errors import ConfigError
from beholder.records import JudgeSpec

PROVIDERS = ("anthropic", "openai", "google", "openai-compatible", "scripted")

# A model is called by the first of these words found in its name, at a word's start. Vendors' product lines
# come before the vendors' own names, so that `claude-sonnet-4-6` is `sonnet`.
FAMILY_WORDS = (
    "sonnet",
    "opus",
    "haiku",
    "gpt",
    "gemini",
    "gemma",
    "qwen",
    "qvq",
    "internvl",
    "llava",
    "llama",
    "pixtral",
    "magistral",
    "mistral",
    "molmo",
    "minicpm",
    "kimi",
    "grok",
    "glm",
    "phi",
    "nova",
    "deepseek",
    "claude",
)


def parse_model(model: str, *, base_url: str | None = None) -> tuple[str, str]:
    """(provider, name) of what the user wrote.

    A name whose first part is no provider is `openai-compatible/` if there is a base URL.

    Raises:
        ConfigError: An unknown provider, an empty name, or a base URL that is missing or makes no sense.
    """
    provider, slash, name = model.partition("/")
    if not slash or provider not in PROVIDERS:
        if base_url is None:
            raise ConfigError(
                f'judge "{model}": write it as provider/name, the provider one of {", ".join(PROVIDERS)}; '
                "a bare name needs --model-base-url",
                slug="unknown_judge",
                concerns=model,
            )
        provider, name = "openai-compatible", model
    if not name:
        raise ConfigError(f'judge "{model}": the name after the slash is missing', concerns=model)
    if provider == "openai-compatible" and base_url is None:
        raise ConfigError(
            f'judge "{model}": openai-compatible/ needs --model-base-url, such as http://127.0.0.1:8000/v1',
            concerns=model,
        )
    return provider, name


def judge_word(spec: JudgeSpec) -> str:
    """The short name of a judge: its family's word (`sonnet`, `gpt`, …), else the slug of its name."""
    name = PurePath(spec.name).stem if spec.scripted else spec.name
    lowered = name.lower()
    for word in FAMILY_WORDS:
        if re.search(rf"(?<![a-z]){word}", lowered):
            return word
    return re.sub(r"[^a-z0-9]+", "-", lowered).strip("-") or spec.provider


def judge_folder(spec: JudgeSpec, route: str, judge_name: str | None = None) -> str:
    """`semantic_<name>_<route>_judge`, the folder of a judge's files below a task's."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", judge_name).strip("-.") if judge_name else ""
    return f"semantic_{name or judge_word(spec)}_{route}_judge"
