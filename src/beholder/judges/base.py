"""What a judge is to the rest of beholder: four members, one request per `ask`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from beholder.errors import JudgeRejected
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply


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
        prompt_sha256: Of the prompt's UTF-8 bytes.
        request_record: JSON-ready description of what will be sent, images by their digests.
        payload: The judge's own form of it; nobody else looks inside.
    """

    prompt: str = field(repr=False)
    pictures: tuple[Picture, ...]
    prompt_sha256: str
    request_record: Mapping[str, Any]
    payload: Any = field(default=None, repr=False, compare=False)

    @property
    def request_sha256(self) -> str:
        """Of the request's record as canonical JSON."""
        text = json.dumps(self.request_record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class Judge(Protocol):
    """A model with its settings."""

    @property
    def spec(self) -> JudgeSpec:
        """What the user asked for."""

    @property
    def limits(self) -> MediaLimits:
        """What it takes in one request."""

    def prepare(self, prompt: str, pictures: Sequence[Picture]) -> Prepared:
        """Make the question ready; the result serves all repeats of a task.

        Raises:
            JudgeRejected: A picture is not what its record says, or does not fit.
        """

    async def ask(self, prepared: Prepared, call: CallContext) -> Reply:
        """Ask once: exactly one request.

        Raises:
            JudgeError: The call ended without an answer.
        """

    async def aclose(self) -> None:
        """Close the connections."""


def describe_request(spec: JudgeSpec, prompt: str, pictures: Sequence[Picture]) -> dict[str, Any]:
    """The JSON-ready record of a request: its settings, its prompt, its images by digest."""
    return {
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


def prepare_question(
    spec: JudgeSpec, prompt: str, pictures: Sequence[Picture], payload: Any = None
) -> Prepared:
    """`Prepared` with its digests."""
    return Prepared(
        prompt=prompt,
        pictures=tuple(pictures),
        prompt_sha256=hashlib.sha256(prompt.encode()).hexdigest(),
        request_record=describe_request(spec, prompt, pictures),
        payload=payload,
    )


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
