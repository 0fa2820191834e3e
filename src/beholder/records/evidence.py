"""What a person would see of a submission, and what limits it: the network, the judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Route = Literal["visual", "text", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    """Which outside hosts a page may reach. Loopback, private and link-local addresses: never.

    Attributes:
        mode: `block`, `allow`, or `hosts` with the listed names (a leading dot takes subdomains too).
        given: Whether the user said so; if not, a page that asks for an outside host is not judged.
    """

    mode: Literal["block", "allow", "hosts"] = "block"
    hosts: tuple[str, ...] = ()
    given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """What one judge takes, from the limits table in `judges`. None: no limit is known.

    Attributes:
        media_types: Accepted as they are; anything else is converted.
        image_bytes: Bytes of one image after base64.
        edge_px: Longest edge; `edge_px_many` holds if a request has more than `many_images` images.
        shrink_edge_px, shrink_pixels: Above either the judge shrinks the image by itself.
        images: Images in one request.
        request_bytes: Bytes of the whole request.
        video_types: Video types that it takes as they are; none: it is shown frames.
        video_bytes: Bytes of one video, by whatever way it is sent.
        video_s: Longest video.
    """

    media_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp")
    image_bytes: int | None = None
    edge_px: int | None = None
    edge_px_many: int | None = None
    many_images: int | None = None
    shrink_edge_px: int | None = None
    shrink_pixels: int | None = None
    images: int | None = None
    request_bytes: int | None = None
    video_types: tuple[str, ...] = ()
    video_bytes: int | None = None
    video_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warning_:  # noqa: N801 - `Warning` is a builtin
    """Something a reader of the score should know about the evidence.

    Attributes:
        code: Such as `blank_capture, page_not_settled, script_error, external_resource_failed,
            blocked_resource, downscaled`.
        detail: For people: the host, the message, the factor.
        source: The artifact's name.
    """

    code: str
    detail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One image as it is sent to a judge.

    Attributes:
        data: The file's bytes; empty in a manifest that was read back, where `path` tells where they lie.
        source: The artifact's name.
        page: 1-based page, of `pages`; None for what has no pages. Sheets of a workbook count as pages.
        sheet: The name of the sheet, where the page is one.
        time_s: Seconds from the start, where the picture is a frame of a video or an animation.
        part: 1-based piece of a cut picture, of `parts`; 0 is the overview; None if it is whole.
        transforms: What was done to the pixels since decoding or capture, in order, for people.
        path: Below the task's evidence folder, once stored.
    """

    sha256: str
    media_type: str
    width_px: int
    height_px: int
    size_bytes: int
    source: str
    page: int | None = None
    pages: int | None = None
    part: int | None = None
    parts: int | None = None
    transforms: tuple[str, ...] = ()
    path: str = ""
    sheet: str | None = None
    time_s: float | None = None
    data: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """One video as it is sent to a judge that takes video.

    Attributes:
        data: The file's bytes; empty in a manifest that was read back, where `path` tells where they lie.
        source: The artifact's name.
        duration_s: By its own frames, not by its header alone.
        fps: Frames a second of the file; None where it does not say.
        path: Below the task's evidence folder, once stored.
    """

    sha256: str
    media_type: str
    size_bytes: int
    source: str
    width_px: int
    height_px: int
    duration_s: float
    fps: float | None = None
    path: str = ""
    data: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEvidence:
    """What became of one file.

    Attributes:
        kind: `html, image, …`, or an empty string where no kind was decided.
        status: `shown`; `absent` (its own fault); `unscored` (ours); `not_shown` (not looked at).
        reason: A code of the contract's table, or `excluded, not_selected, unsupported, budget`.
        detail: The cause, for people.
        facts: What was recorded of the rendering: waits, hosts asked for, pages, files served.
    """

    name: str
    sha256: str
    size_bytes: int
    kind: str
    status: Literal["shown", "absent", "unscored", "not_shown"]
    reason: str | None = None
    detail: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a person would see of a submission; stored as `prepared_output_evidence.json`.

    Attributes:
        status: `ok`: there is something to judge; else the outcome, with `reason` and `detail`.
        pictures: In the order they are sent.
        videos: After the pictures; only for a judge that takes video, where the protocol wants it so.
        texts: (name, text) shown on the text route, within the budget.
        renderer: Names and versions of what drew it, and whether the browser's sandbox was on.
    """

    status: Literal["ok", "absent", "unscored"]
    route: Route
    reason: str | None = None
    detail: str = ""
    artifacts: tuple[ArtifactEvidence, ...] = ()
    pictures: tuple[Picture, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    videos: tuple[Video, ...] = ()
    warnings: tuple[Warning_, ...] = ()
    renderer: Mapping[str, Any] = field(default_factory=dict)
