"""What a judge is to the rest of beholder: prepare a question, ask it with one request each, let go of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from beholder.errors import JudgeRejected
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply, Video

MAX_FPS = 24
"""Frames a second that can be asked for at most; Gemini's video page, read November 2026."""

FEW_FRAMES = 60
"""Frames of a short video that are looked at, at least, if it has as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """Which call this is. Nothing of it is sent.

    Attributes:
        task_id: The task's id.
        model: The submission's model, as the run names it.
        repeat: 1-based.
    """

    task_id: str
    model: str
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One question, ready to be asked any number of times. Pictures are encoded here, once.

    Attributes:
        request_record: JSON-ready description of what will be sent, images and videos by their digests.
        payload: The judge's own form of it; nobody else looks inside.
        videos: After the pictures.
    """

    prompt: str = field(repr=False)
    pictures: tuple[Picture, ...]
    request_record: Mapping[str, Any]
    payload: Any = field(default=None, repr=False, compare=False)
    videos: tuple[Video, ...] = ()


class Judge(Protocol):
    """A model with its settings."""

    @property
    def spec(self) -> JudgeSpec:
        """What the user asked for."""

    @property
    def limits(self) -> MediaLimits:
        """What it takes in one request."""

    def prepare(self, prompt: str, pictures: Sequence[Picture], videos: Sequence[Video] = ()) -> Prepared:
        """Make the question ready; the result serves all repeats of a task.

        Raises:
            JudgeRejected: A picture or a video is not what its record says, does not fit, or is of no kind
                that the judge takes.
        """

    async def ask(self, prepared: Prepared, call: CallContext) -> Reply:
        """Ask once: exactly one request that may cost. A video too large for it is handed over before.

        Raises:
            JudgeError: The call ended without an answer.
        """

    async def release(self, prepared: Prepared) -> None:
        """Nobody asks this question any more: delete what was handed over for it. Never raises."""

    async def aclose(self) -> None:
        """Close the connections."""


def describe_request(
    spec: JudgeSpec, prompt: str, pictures: Sequence[Picture], videos: Sequence[Video] = ()
) -> dict[str, Any]:
    """The JSON-ready record of a request: its settings, its prompt, its images and videos by digest."""
    record: dict[str, Any] = {
        "model": spec.model,
        "base_url": spec.base_url,
        "max_tokens": spec.max_tokens,
        "temperature": None if spec.temperature is None else float(spec.temperature),
        "settings": dict(spec.settings),
        "prompt": prompt,
        "images": [
            {
                "sha256": picture.sha256,
                "media_type": picture.media_type,
                "width_px": picture.width_px,
                "height_px": picture.height_px,
                "size_bytes": picture.size_bytes,
                "source": picture.source,
            }
            for picture in pictures
        ],
    }
    if videos:
        record["videos"] = [
            {
                "sha256": video.sha256,
                "media_type": video.media_type,
                "width_px": video.width_px,
                "height_px": video.height_px,
                "size_bytes": video.size_bytes,
                "duration_s": video.duration_s,
                "sampled_fps": sampled_fps(spec, video),
                "source": video.source,
            }
            for video in videos
        ]
    return record


def recorded_videos(record: Mapping[str, Any]) -> tuple[Video, ...]:
    """The videos of a request's record, without their bytes."""
    names = ("sha256", "media_type", "width_px", "height_px", "size_bytes", "duration_s", "source")
    return tuple(Video(**{name: video[name] for name in names}) for video in record.get("videos", ()))


def prepare_question(
    spec: JudgeSpec,
    prompt: str,
    pictures: Sequence[Picture],
    payload: Any = None,
    videos: Sequence[Video] = (),
) -> Prepared:
    """`Prepared` with the record of its request."""
    return Prepared(
        prompt=prompt,
        pictures=tuple(pictures),
        request_record=describe_request(spec, prompt, pictures, videos),
        payload=payload,
        videos=tuple(videos),
    )


def sampled_fps(spec: JudgeSpec, video: Video) -> float:
    """Frames a second that the judge is told to look at: the user's `video_fps`, else by the duration.

    At least one a second, the vendor's own rate, and of a short video more, so that some 60 frames are seen:
    what is shown in its last moments only would else fall between two of them.
    """
    chosen = spec.settings.get("video_fps")
    if chosen is not None:
        return float(chosen)
    return float(min(MAX_FPS, max(1, math.ceil(FEW_FRAMES / max(video.duration_s, 0.001)))))


def check_videos(videos: Sequence[Video], limits: MediaLimits) -> None:
    """Refuse, before anything is sent, a video that the judge would not see as it is recorded.

    Raises:
        JudgeRejected: Its bytes are missing or others than its digest says, or it is of a type, a size or a
            length that the judge does not take.
    """
    for number, video in enumerate(videos, start=1):
        about = f"video {number} ({video.source})"
        if video.media_type not in limits.video_types:
            taken = ", ".join(limits.video_types)
            takes = f"the judge takes {taken} only" if taken else "this judge takes no video"
            raise JudgeRejected(f"{about} is {video.media_type}, and {takes}; nothing was sent")
        if hashlib.sha256(video.data).hexdigest() != video.sha256:
            what = "no bytes" if not video.data else "other bytes than its digest says"
            raise JudgeRejected(f"{about} has {what}; nothing was sent")
        if limits.video_bytes is not None and len(video.data) > limits.video_bytes:
            most = f"the judge takes {limits.video_bytes}"
            raise JudgeRejected(f"{about} has {len(video.data)} bytes, and {most}; nothing was sent")
        if limits.video_s is not None and video.duration_s > limits.video_s:
            most = f"the judge takes {limits.video_s:g} s"
            raise JudgeRejected(f"{about} lasts {video.duration_s:g} s, and {most}; nothing was sent")


def check_pictures(pictures: Sequence[Picture], limits: MediaLimits) -> None:
    """Refuse, before anything is sent, what the judge would not see as it is recorded.

    Raises:
        JudgeRejected: A picture's bytes are missing or others than its digest says, or there are more
            pictures than the judge takes.
    """
    for number, picture in enumerate(pictures, start=1):
        if hashlib.sha256(picture.data).hexdigest() != picture.sha256:
            what = "no bytes" if not picture.data else "other bytes than its digest says"
            raise JudgeRejected(f"image {number} ({picture.source}) has {what}; nothing was sent")
    if limits.images is not None and len(pictures) > limits.images:
        raise JudgeRejected(f"{len(pictures)} images, and the judge takes {limits.images}; nothing was sent")
