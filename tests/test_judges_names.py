"""What users write for a judge."""

from __future__ import annotations

import pytest

from beholder.errors import ConfigError
from beholder.judges import judge_folder, judge_word, parse_model
from beholder.records import JudgeSpec

LOCAL = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "base_url", "expected"),
    [
        ("anthropic/claude-sonnet-4-6", None, ("anthropic", "claude-sonnet-4-6")),
        ("scripted/dir/replies.jsonl", None, ("scripted", "dir/replies.jsonl")),
        ("openai-compatible/Qwen/Qwen2.5-VL", LOCAL, ("openai-compatible", "Qwen/Qwen2.5-VL")),
        ("claude-sonnet-4-6", LOCAL, ("openai-compatible", "claude-sonnet-4-6")),
        ("Qwen/Qwen2.5-VL", LOCAL, ("openai-compatible", "Qwen/Qwen2.5-VL")),
        ("anthropic/claude-sonnet-4-6", LOCAL, ("anthropic", "claude-sonnet-4-6")),
    ],
)
def test_model_is_read(model: str, base_url: str | None, expected: tuple[str, str]) -> None:
    """A known provider is taken from the front; with a base URL anything else is openai-compatible."""
    assert parse_model(model, base_url=base_url) == expected


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("claude-sonnet-4-6", "provider/name"),
        ("antropic/claude", "anthropic"),
        ("anthropic/", "missing"),
        ("openai-compatible/x", "--model-base-url"),
    ],
)
def test_unreadable_model_is_the_users_error(model: str, words: str) -> None:
    """An unknown provider, an empty name and a missing base URL say what to write."""
    with pytest.raises(ConfigError, match=words):
        parse_model(model)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("claude-sonnet-4-6", "sonnet"),
        ("claude-opus-4-8", "opus"),
        ("anthropic/claude-haiku-5.5", "haiku"),
        ("gpt-5.6-sol", "gpt"),
        ("gemini-3.5-flash", "gemini"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen"),
        ("o4-mini", "o4-mini"),
        ("My Model_v2", "my-model-v2"),
        ("opusculum", "opus"),
        ("egpt", "egpt"),
    ],
)
def test_family_word(name: str, word: str) -> None:
    """A judge is called by its family's word at a word's start, else by its name's slug."""
    assert judge_word(JudgeSpec(provider="openai", name=name)) == word


def test_scripted_judge_is_called_by_its_file() -> None:
    """A scripted judge's word is its file's name without folder and suffix."""
    assert judge_word(JudgeSpec(provider="scripted", name="/tmp/a b/Replies.jsonl")) == "replies"


def test_folder_is_safe() -> None:
    """The folder has the contract's form, and a given name cannot leave it."""
    spec = JudgeSpec(provider="anthropic", name="claude-sonnet-4-6")
    assert judge_folder(spec, "visual") == "semantic_sonnet_visual_judge"
    assert judge_folder(spec, "text", "panel A") == "semantic_panel-A_text_judge"
    assert judge_folder(spec, "text", "../../x") == "semantic_x_text_judge"
    assert judge_folder(spec, "text", "..") == "semantic_sonnet_text_judge"
