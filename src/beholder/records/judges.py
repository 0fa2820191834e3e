"""A judge, and what came back from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge: a model with its settings. Holds no key, only the name of the variable that has it.

    Attributes:
        provider: `anthropic, openai, google, openai-compatible, scripted`.
        name: The model's name for that provider (the file, for `scripted`).
        settings: Further vendor settings from `-M key=value`.
    """

    provider: str
    name: str
    max_tokens: int = 1024
    temperature: Decimal | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    timeout_s: float = 120.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """`provider/name`, as the user writes it; of a script only the file's name, wherever it lies."""
        return f"{self.provider}/{Path(self.name).name if self.scripted else self.name}"

    @property
    def scripted(self) -> bool:
        """Whether its replies are made up."""
        return self.provider == "scripted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one answer as the vendor counts them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, verbatim.

    Attributes:
        stop_reason: The vendor's own word (`end_turn`, `length`, `SAFETY`, …), or None.
        served_model: The model the vendor says it used.
        cost_usd: By the price list; None where the price is unknown, never 0 for that.
        sent: The settings that really went out (`temperature` may have been dropped on the way).
    """

    text: str
    stop_reason: str | None = None
    served_model: str | None = None
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    request_id: str | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)
