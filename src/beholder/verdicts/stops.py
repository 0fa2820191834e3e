"""What the vendors' words for the end of an answer mean."""

from __future__ import annotations

import re

_TRUNCATED = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "incomplete",
        "length",
        "max_completion_tokens",
        "max_length",
        "max_new_tokens",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
        "pause_turn",
        "token_limit",
    }
)
_REFUSAL = frozenset(
    {
        "blocked",
        "blocklist",
        "content_filter",
        "content_filtered",
        "content_policy_violation",
        "guardrail_intervened",
        "image_prohibited_content",
        "image_recitation",
        "image_safety",
        "language",
        "prohibited_content",
        "recitation",
        "refusal",
        "refused",
        "safety",
        "sensitive",
        "spii",
    }
)


def is_truncated(stop_reason: str | None) -> bool:
    """Whether the answer was stopped before the judge was done: by a cap on tokens, or paused."""
    return not _TRUNCATED.isdisjoint(_words(stop_reason)) and not is_refusal(stop_reason)


def is_refusal(stop_reason: str | None) -> bool:
    """Whether the judge declined, or the vendor filtered the answer."""
    return not _REFUSAL.isdisjoint(_words(stop_reason))


def _words(stop_reason: str | None) -> list[str]:
    """`FinishReason.MAX_TOKENS`, `incomplete: max_output_tokens`, … as their parts, in lower case."""
    text = (stop_reason or "")[:200].casefold().replace("-", "_")
    parts = [part.strip("_ ").replace(" ", "_") for part in re.split(r"[:./,()]", text)]
    return [part.removeprefix("finish_reason_") for part in parts]
