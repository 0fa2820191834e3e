"""Videos: as they are for a judge that takes video, else as frames with their times.

Either way every frame is decoded first, so that a broken file is found here and not by the judge. The last
frame that can be decoded is always shown, whatever the header says: an answer may appear only there.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.frames import MAX_FRAMES, sampled_words, spread
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.layout import fit_scale, scaled_size
from beholder.evidence.pictures import make_picture
from beholder.evidence.pixels import Pixels, encode_pixels, is_flat_pixels
from beholder.evidence.sniff import check_kind, sniff
from beholder.evidence.video_decode import Header, Walk, open_video, quiet, read_header, seek_through, walk
from beholder.records import MediaLimits, Picture, Video, Warning_

MAX_FRAME_PIXELS = 67_108_864
"""Pixels of one frame, 8192 x 8192; more is refused by the header, before decoding."""

MAX_SENT_PIXELS = 16_000_000
"""Pixels of one frame as it is sent, whatever the judge takes."""

_SUFFIXES = {
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/x-matroska": ".mkv",
    "video/x-msvideo": ".avi",
}
_FAMILIES = {
    ".mp4": ("video/mp4", "video/quicktime"),
    ".mov": ("video/mp4", "video/quicktime"),
    ".webm": ("video/webm",),
}

_NEEDS_HARDWARE = ("av01", "AV01")
"""Codecs that OpenCV's FFmpeg hands to the graphics card alone: undecodable here, and maybe nowhere else."""

_HANDLER = re.compile(rb"hdlr.{4}(?:\0\0\0\0|mhlr)(vide|soun)", re.DOTALL)
"""A track's handler (ISO/IEC 14496-12, 8.4.3; QuickTime names the class of handler before it)."""

_MATROSKA_CODEC = re.compile(rb"\x86[\x80-\xff](V_[A-Z]|A_[A-Z])")
"""CodecID of a track: element 86, its size, then a name that begins with the kind (RFC 9559, 27.3)."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame as it will be sent.

    Attributes:
        flat: The one colour it consists of, if it does.
    """

    picture: Picture
    flat: tuple[int, ...] | None


def preload() -> None:
    """Load what decoding needs while files may still be opened."""
    quiet()
    encode_pixels(np.zeros((4, 4, 3), np.uint8), MediaLimits())


def render_video(job: Job) -> Shown:
    """The video as it is, where protocol and judge take it so; else at most `MAX_FRAMES` of its frames.

    Raises:
        BrokenArtifact: `empty`, `wrong_type` (also sound without a picture), `corrupt` or `too_large`.
        RendererFailed: It cannot be written or encoded, or its codec cannot be decoded on this machine.
    """
    check_kind(job.name, job.data, "video", "a video")
    media_type = sniff(job.data)
    if _sound_only(job.data, media_type):
        raise BrokenArtifact("the content is sound without a picture", slug="wrong_type", concerns=job.name)
    with tempfile.TemporaryDirectory(prefix="beholder-video-") as folder:
        path = Path(folder) / f"video{_SUFFIXES.get(media_type, '.bin')}"
        try:
            path.write_bytes(job.data)
        except OSError as error:
            raise RendererFailed(f"cannot be written for decoding: {error}", concerns=job.name) from error
        return _render(job, path, media_type)


def _render(job: Job, path: Path, media_type: str) -> Shown:
    header = _header(job, path)
    native = _may_be_native(job, media_type)
    most = 0 if native else min(job.budget, MAX_FRAMES)
    found, sought = _frames(job, path, header, most)
    if not found.times_s:
        _raise_undecodable(job, header)
    duration = _duration_s(header, found.times_s)
    facts: dict[str, Any] = {
        "container": media_type,
        "codec": header.codec,
        "size": [header.width, header.height],
        "fps": None if header.fps is None else round(header.fps, 3),
        "frames": None if sought else len(found.times_s),
        "frames_by_header": header.frames,
        "duration_s": round(duration, 3),
        "decoded": "in parts" if sought else "whole",
    }
    warnings = _file_warnings(job, media_type, header, found, sought)
    most_s = job.limits.video_s
    if native and (most_s is None or duration <= most_s):
        return Shown(videos=(_video(job, media_type, header, duration),), facts=facts, warnings=warnings)
    if native:  # too long for the judge after all
        found, sought = _frames(job, path, header, min(job.budget, MAX_FRAMES))
    if not found.kept:
        _raise_undecodable(job, header)
    times = [found.times_s[at] for at in found.kept]
    frames = list(found.kept.values())
    pictures = tuple(
        replace(frame.picture, time_s=round(second, 3)) for frame, second in zip(frames, times, strict=True)
    )
    if sought or len(frames) < len(found.times_s):
        in_all = f"about {header.frames} frames" if sought else f"{len(found.times_s)} frames"
        detail = sampled_words(times, in_all)
        warnings = (*warnings, Warning_(code="frames_sampled", detail=detail, source=job.name))
    # Frames of one colour each are not blank if the colour changes.
    if frames[0].flat is not None and len({frame.flat for frame in frames}) == 1:
        detail = "all frames shown are of the same flat colour"
        warnings = (*warnings, Warning_(code="blank_capture", detail=detail, source=job.name))
    return Shown(
        pictures=pictures,
        facts=facts | {"frames_shown": len(pictures), "times_s": [round(second, 3) for second in times]},
        warnings=warnings,
    )


def _may_be_native(job: Job, media_type: str) -> bool:
    """Whether the judge takes these bytes, as far as it is known before decoding."""
    most = job.limits.video_bytes
    return (
        job.policy.video == "native"
        and media_type in job.limits.video_types
        and (most is None or len(job.data) <= most)
    )


def _header(job: Job, path: Path) -> Header:
    capture = open_video(path)
    if capture is None:
        raise BrokenArtifact("its header cannot be read", slug="corrupt", concerns=job.name)
    header = read_header(capture)
    capture.release()
    if header.width < 1 or header.height < 1:
        raise BrokenArtifact("its header states no size", slug="corrupt", concerns=job.name)
    if header.width * header.height > MAX_FRAME_PIXELS:
        detail = f"a frame of {header.width}x{header.height}: more than {MAX_FRAME_PIXELS} pixels"
        raise BrokenArtifact(detail, slug="too_large", concerns=job.name)
    return header


def _frames(job: Job, path: Path, header: Header, most: int) -> tuple[Walk[_Frame], bool]:
    """(`most` frames, spread evenly, the last among them; whether the file was sought in)."""

    def make(pixels: Pixels) -> _Frame:
        return _frame(job, pixels, header)

    frame_pixels = header.width * header.height
    wanted = spread(header.frames or 0, most)
    found = _walk(path, wanted, make, frame_pixels)
    if not found.complete:
        end_s = header.duration_s or found.times_s[-1]
        targets = [end_s * at / max(1, most - 1) for at in range(most - 1)]
        capture = open_video(path)
        if capture is None:
            return found, True
        sought = seek_through(capture, targets, end_s, make)
        capture.release()
        return sought, True
    # The header may be wrong; what was decoded decides.
    true = spread(len(found.times_s), most)
    if set(found.kept) != set(true):
        found = _walk(path, true, make, frame_pixels)
    return found, False


def _walk(path: Path, wanted: Sequence[int], make: Any, frame_pixels: int) -> Walk[_Frame]:
    capture = open_video(path)
    if capture is None:
        return Walk([], {}, complete=True)
    found: Walk[_Frame] = walk(capture, set(wanted), make, frame_pixels)
    capture.release()
    return found


def _frame(job: Job, pixels: Pixels, header: Header) -> _Frame:
    """One frame with square pixels, in the size that the judge takes."""
    words = []
    height, width = pixels.shape[:2]
    most = min(job.limits.shrink_pixels or MAX_SENT_PIXELS, MAX_SENT_PIXELS)
    scale = fit_scale(header.width, header.height, replace(job.limits, shrink_pixels=most))
    size = scaled_size(header.width, header.height, scale)
    if size != (width, height):
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        what = "scaled" if scale >= 1.0 else "shrunk"
        words.append(f"{what} from {width}x{height} to {size[0]}x{size[1]}, factor {scale:.3f}")
    data, media_type, encoded = encode_pixels(pixels, job.limits)
    transforms = ("decoded frame", *words, encoded)
    picture = make_picture(
        data, media_type, (pixels.shape[1], pixels.shape[0]), job.name, transforms=transforms
    )
    flat = tuple(int(value) for value in pixels[0, 0]) if is_flat_pixels(pixels) else None
    return _Frame(picture, flat)


def _duration_s(header: Header, times_s: Sequence[float]) -> float:
    """The last frame's time and how long it stays."""
    return times_s[-1] + (1 / header.fps if header.fps else 0.0)


def _video(job: Job, media_type: str, header: Header, duration: float) -> Video:
    return Video(
        sha256=hashlib.sha256(job.data).hexdigest(),
        media_type=media_type,
        size_bytes=len(job.data),
        source=job.name,
        width_px=header.width,
        height_px=header.height,
        duration_s=round(duration, 3),
        fps=None if header.fps is None else round(header.fps, 3),
        data=job.data,
    )


def _file_warnings(
    job: Job, media_type: str, header: Header, found: Walk[_Frame], sought: bool
) -> tuple[Warning_, ...]:
    warnings = []
    family = _FAMILIES.get(job.suffix)
    if family is not None and media_type not in family:
        detail = f"{media_type} by content, {job.suffix} by name"
        warnings.append(Warning_(code="other_format", detail=detail, source=job.name))
    decoded = len(found.times_s)
    if not sought and header.frames is not None and decoded < 0.9 * header.frames - 2:
        detail = f"{decoded} of {header.frames} frames can be decoded"
        warnings.append(Warning_(code="damaged_frames", detail=detail, source=job.name))
    if sought and not found.complete:
        detail = "its end was not reached in the frames that are decoded at most"
        warnings.append(Warning_(code="damaged_frames", detail=detail, source=job.name))
    return tuple(warnings)


def _raise_undecodable(job: Job, header: Header) -> None:
    if header.codec in _NEEDS_HARDWARE:
        raise RendererFailed(
            f"this machine's OpenCV decodes no {header.codec}; give the video as H.264, H.265, VP8 or VP9",
            slug="missing_tool",
            concerns=job.name,
        )
    raise BrokenArtifact(
        f"no frame can be decoded (codec {header.codec or 'unknown'})", slug="corrupt", concerns=job.name
    )


def _sound_only(data: bytes, media_type: str) -> bool:
    """Whether the tracks are of sound alone, as far as the container tells."""
    if media_type in {"video/mp4", "video/quicktime"}:
        return {match[1] for match in _HANDLER.finditer(data)} == {b"soun"}
    if media_type in {"video/webm", "video/x-matroska"}:
        return {match[1][:1] for match in _MATROSKA_CODEC.finditer(data[: 2**20])} == {b"A"}
    return False
