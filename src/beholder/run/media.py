"""Pictures and videos as files of an out-dir: how they are named, and their bytes read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from beholder.records import Evidence, Picture, Video

_Media = TypeVar("_Media", Picture, Video)

_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/mpeg": ".mpg",
}


def media_of(evidence: Evidence) -> tuple[Picture | Video, ...]:
    """Pictures, then videos: the order in which they are sent."""
    return (*evidence.pictures, *evidence.videos)


def with_paths(evidence: Evidence) -> Evidence:
    """Evidence whose media know the names that they are stored under, such as `image-1.png`."""
    return replace(
        evidence,
        pictures=tuple(_named("image", at, one) for at, one in enumerate(evidence.pictures, start=1)),
        videos=tuple(_named("video", at, one) for at, one in enumerate(evidence.videos, start=1)),
    )


def _named(word: str, number: int, one: _Media) -> _Media:
    return replace(one, path=f"{word}-{number}{_SUFFIXES.get(one.media_type, '.bin')}")


def loaded(one: _Media, folder: Path) -> _Media:
    """A picture or video with its bytes. What cannot be read stays empty, and the judge does not send it."""
    if one.data:
        return one
    try:
        return replace(one, data=(folder / one.path).read_bytes())
    except OSError:
        return one
