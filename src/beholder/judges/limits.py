"""What each judge takes: one table, read from the vendors' pages, to be overridden by who knows better.

Rows are matched in order by the model's name, whatever the provider, so that a model behind a reseller has
its vendor's limits; the provider's row is last.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from beholder.records import JudgeSpec, MediaLimits

MB = 1_000_000

_CLAUDE = MediaLimits(
    # Anthropic's vision page, read November 2026: 10 MB an image as base64; 8000 px, 2000 px in requests of
    # more than 20 images; 32 MB a request; 100 images for models of 200k context.
    media_types=("image/png", "image/jpeg", "image/webp", "image/gif"),
    image_bytes=10 * MB,
    edge_px=8000,
    edge_px_many=2000,
    many_images=20,
    # The same page: shrunk above 1568 px or 1568 tokens, a token being a patch of 28 x 28 px.
    shrink_edge_px=1568,
    shrink_pixels=1568 * 28 * 28,
    images=100,
    request_bytes=32 * MB,
)
# The same page: models from Opus 4.7 on see 2576 px and 4784 tokens; 600 images beyond 200k of context.
_CLAUDE_HIGH = replace(_CLAUDE, shrink_edge_px=2576, shrink_pixels=4784 * 28 * 28, images=600)

_GPT = MediaLimits(
    # OpenAI's vision page, read November 2026: 1500 images; 512 MB stated, but about 50 MB are enforced with
    # a 400 (measured by others); `detail` high sees 2048 px and 2500 patches of 32 x 32 px.
    images=1500,
    request_bytes=50 * MB,
    shrink_edge_px=2048,
    shrink_pixels=2500 * 32 * 32,
)
# The same page: a box of 2048 px, then 768 px on the short side.
_GPT_4 = replace(_GPT, shrink_pixels=2048 * 768)

_GEMINI = MediaLimits(
    # Google's pages, read November 2026: 3600 images (quoted by others); inline requests below 20 MB. Tiles
    # of 768 px on 2.x, so nothing is shrunk there.
    images=3600,
    request_bytes=20 * MB,
    # Gemini's video and Files API pages, read November 2026: these types; 2 GB a file, and what does not fit
    # into a request goes there; an hour at a million tokens of context.
    video_types=(
        "video/mp4",
        "video/mpeg",
        "video/mpg",
        "video/mov",
        "video/quicktime",
        "video/avi",
        "video/x-flv",
        "video/webm",
        "video/wmv",
        "video/3gpp",
    ),
    video_bytes=2000 * MB,
    video_s=3600.0,
)
# 1120 tokens a picture by default; at 2.x's 258 tokens for 768 x 768 px that is about 2.5 million pixels. The
# vendor states no pixel size: an estimate, on the side of cutting a long page into tiles.
_GEMINI_3 = replace(_GEMINI, shrink_edge_px=3072, shrink_pixels=2_500_000)

TABLE: tuple[tuple[str, MediaLimits], ...] = (
    (r"claude-(opus-4-[78]|opus-[5-9]|sonnet-[5-9]|haiku-[5-9]|fable|mythos)", _CLAUDE_HIGH),
    (r"claude-(opus-4\.[78]|sonnet-[5-9]|haiku-[5-9])", _CLAUDE_HIGH),
    (r"claude", _CLAUDE),
    (r"gpt-4|chatgpt-4", _GPT_4),
    (r"\bgpt-|\bo[134]\b", _GPT),
    (r"gemini-(1|2)", _GEMINI),
    (r"gemini", _GEMINI_3),
)
BY_PROVIDER = {"anthropic": _CLAUDE, "openai": _GPT, "google": _GEMINI_3}


def media_limits(spec: JudgeSpec, **overrides: Any) -> MediaLimits:
    """What the judge takes; `overrides` replace single fields. An unknown model has no known limits."""
    if spec.scripted:
        return replace(MediaLimits(), **overrides)
    name = spec.name.lower()
    limits = next((row for pattern, row in TABLE if re.search(pattern, name)), None)
    limits = limits or BY_PROVIDER.get(spec.provider, MediaLimits())
    if spec.provider != "google":
        # A video goes over Google's own wire only; behind a reseller the same model is shown frames.
        limits = replace(limits, video_types=(), video_bytes=None, video_s=None)
    return replace(limits, **overrides)
