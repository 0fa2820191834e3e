"""The table of what judges take."""

from __future__ import annotations

import pytest

from beholder.judges import media_limits
from beholder.records import JudgeSpec


def limits(provider: str, name: str, **overrides: object):
    return media_limits(JudgeSpec(provider=provider, name=name), **overrides)


def test_claude_limits() -> None:
    """Older Claude models see 1568 px and take 100 images, newer ones 2576 px and 600."""
    older, newer = limits("anthropic", "claude-sonnet-4-6"), limits("anthropic", "claude-opus-4-8")
    assert (older.shrink_edge_px, older.images, older.image_bytes) == (1568, 100, 10_000_000)
    assert (newer.shrink_edge_px, newer.images) == (2576, 600)
    assert (older.edge_px, older.edge_px_many, older.many_images) == (8000, 2000, 20)


@pytest.mark.parametrize("name", ["claude-sonnet-4-6", "anthropic/claude-sonnet-4.6"])
def test_reseller_has_the_vendors_limits(name: str) -> None:
    """A model behind a compatible server keeps its vendor's limits."""
    assert limits("openai-compatible", name) == limits("anthropic", "claude-sonnet-4-6")


def test_vendors_differ() -> None:
    """OpenAI's and Google's rows are their own, and an unknown model of a vendor has the vendor's."""
    assert limits("openai", "gpt-4o").shrink_pixels == 2048 * 768
    assert limits("openai", "gpt-5.6").shrink_edge_px == 2048
    assert limits("openai", "unheard-of") == limits("openai", "gpt-5")
    assert limits("google", "gemini-2.5-flash").shrink_edge_px is None
    assert limits("google", "gemini-2.5-flash").request_bytes == 20_000_000
    assert limits("anthropic", "unheard-of").images == 100


def test_unknown_judge_has_no_known_limits() -> None:
    """Nothing is made up for a model and a host that nobody knows, nor for a scripted judge."""
    assert limits("openai-compatible", "unheard-of").images is None
    assert limits("scripted", "gpt-replies.jsonl").request_bytes is None


def test_overrides_win() -> None:
    """Single fields can be overridden; the rest of the row stays."""
    mine = limits("anthropic", "claude-sonnet-4-6", images=5)
    assert (mine.images, mine.edge_px) == (5, 8000)
