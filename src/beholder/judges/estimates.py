"""How many tokens a question has, before it is asked: roughly for a plan, at the most for a budget.

Vendors count differently and change it; these are their published rules of thumb. What a call really cost is
in its answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from beholder.judges.base import sampled_fps
from beholder.judges.names import judge_word
from beholder.records import JudgeSpec, Picture, Video

CHARS_PER_TOKEN = 3.5
"""English text has about four characters a token, other scripts fewer."""

MOST_IMAGE_TOKENS = (
    # Stated by the vendors, November 2026: 4784 a picture at Anthropic's high setting; 2833 and 5667 a tile
    # of 512 px, eight tiles at most, for gpt-4o-mini; 10,000 patches for other OpenAI models; 258 a tile of
    # 768 px for Gemini, and 24 tiles are far more than is sent. Open models: Qwen-VL's 16,384.
    (r"claude|sonnet|opus|haiku", 5_000),
    (r"gpt-4o-mini", 50_000),
    (r"gemini", 7_000),
    (r"gpt|\bo[134]\b", 12_000),
    (r"", 20_000),
)
"""(part of a model's name, tokens that one picture cannot exceed), the first match counts."""


SOUND_TOKENS = 32
"""Tokens of a second of sound. Gemini's video page, read November 2026."""

MOST_FRAME_TOKENS = 300
"""A frame has 258 tokens on Gemini 2 and 280 on Gemini 3 at its high setting, and 7 for its time."""


def rough_tokens(
    spec: JudgeSpec, prompt: str, pictures: Sequence[Picture], videos: Sequence[Video] = ()
) -> int:
    """A fair guess at the input tokens of one call."""
    images = sum(image_tokens(spec, picture.width_px, picture.height_px) for picture in pictures)
    moving = sum(video_tokens(spec, video) for video in videos)
    return math.ceil(len(prompt) / CHARS_PER_TOKEN) + images + moving


def most_tokens(spec: JudgeSpec, prompt: str, images: int, videos: Sequence[Video] = ()) -> int:
    """What the input tokens of one call cannot exceed: a token of text has at least one byte."""
    name = spec.name.lower()
    an_image = next(tokens for pattern, tokens in MOST_IMAGE_TOKENS if re.search(pattern, name))
    moving = sum(
        (_frames(spec, video) + 1) * MOST_FRAME_TOKENS + math.ceil(video.duration_s + 1) * SOUND_TOKENS
        for video in videos
    )
    return len(prompt.encode("utf-8", "surrogatepass")) + an_image * images + moving + 1000


def video_tokens(spec: JudgeSpec, video: Video) -> int:
    """Tokens of one video, its sound included, whether it has one or not.

    Source: Gemini's video page, November 2026: 258 a frame on 2.x, 70 on 3 at its usual setting.
    """
    a_frame = 258 if re.search(r"gemini-[12]", spec.name.lower()) else 70
    return _frames(spec, video) * a_frame + math.ceil(video.duration_s) * SOUND_TOKENS


def _frames(spec: JudgeSpec, video: Video) -> int:
    return math.ceil(video.duration_s * sampled_fps(spec, video))


def image_tokens(spec: JudgeSpec, width_px: int, height_px: int) -> int:
    """Tokens of one picture, by the family of the judge.

    Source: Anthropic: a token per patch of 28 x 28 px. Gemini 2: 258 per tile of 768 px. OpenAI (4o, 4.1): 85
    and 170 per tile of 512 px, after fitting 2048 px and 768 px on the short side. Others: as OpenAI.
    """
    word = judge_word(spec)
    if spec.provider == "anthropic" or word in {"sonnet", "opus", "haiku", "claude"}:
        return min(math.ceil(width_px / 28) * math.ceil(height_px / 28), 4784)
    if word == "gemini":
        return 258 * max(1, math.ceil(width_px / 768) * math.ceil(height_px / 768))
    scale = min(1.0, 2048 / max(width_px, height_px))
    scale = min(scale, 768 / min(width_px * scale, height_px * scale) * scale)
    return 85 + 170 * math.ceil(width_px * scale / 512) * math.ceil(height_px * scale / 512)
