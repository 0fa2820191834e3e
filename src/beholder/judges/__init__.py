"""Judges: a question and pictures go in, a reply comes back. The vendors' wire is a library's."""

from __future__ import annotations

from beholder.judges.base import CallContext, Judge, Prepared, recorded_videos
from beholder.judges.connect import connect_judge
from beholder.judges.endpoint import Clock, Endpoint, LoopClock
from beholder.judges.estimates import most_tokens, rough_tokens
from beholder.judges.keys import Key, base_url_of, find_key
from beholder.judges.limits import media_limits
from beholder.judges.names import judge_folder, judge_word, parse_model
from beholder.judges.pricing import list_price, price_at
from beholder.judges.prompt import describe_media, render_prompt
from beholder.judges.retry import AttemptLog, RetryPolicy, ask_with_retries
from beholder.judges.scripted import ScriptedJudge

__all__ = [
    "AttemptLog",
    "CallContext",
    "Clock",
    "Endpoint",
    "Judge",
    "Key",
    "LoopClock",
    "Prepared",
    "RetryPolicy",
    "ScriptedJudge",
    "ask_with_retries",
    "base_url_of",
    "connect_judge",
    "describe_media",
    "find_key",
    "judge_folder",
    "judge_word",
    "list_price",
    "media_limits",
    "most_tokens",
    "parse_model",
    "price_at",
    "recorded_videos",
    "render_prompt",
    "rough_tokens",
]
