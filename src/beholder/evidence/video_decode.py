"""Frames of a video file, decoded by OpenCV's FFmpeg.

FFmpeg would follow what some files name: playlists, parts, addresses. So the container is told by its magic
number before, only demuxers for such containers are let in, and no protocol but the file's own.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import cv2
import numpy as np

from beholder.evidence.pixels import Pixels

_T = TypeVar("_T")

MAX_WALK_PIXELS = 8_000_000_000
MAX_WALK_FRAMES = 200_000
"""Decoded from the first frame to the last: two minutes of 1920x1080. A longer video is sought in instead."""

_TAIL_S = (2.0, 15.0, 120.0)
"""How far before the stated end a search for the last frame begins, tried in order."""

_MAX_TAIL_FRAMES = 8_000

_DEMUXERS = "mov,matroska,webm,avi,flv,mpeg,mpegvideo,ogg"
_OPTIONS = "OPENCV_FFMPEG_CAPTURE_OPTIONS"
_QUIET = {"OPENCV_FFMPEG_LOGLEVEL": "-8", "OPENCV_LOG_LEVEL": "SILENT"}
_MAX_ASPECT = 8.0


@dataclass(frozen=True, slots=True)
class Header:
    """What the file says of itself.

    Attributes:
        width, height: Of a frame as it is seen: turned, with square pixels.
        fps: None where it does not say.
        frames: None where it does not say; an estimate for some containers.
        codec: Four letters.
    """

    width: int
    height: int
    fps: float | None
    frames: int | None
    codec: str

    @property
    def duration_s(self) -> float | None:
        """By the header alone."""
        return None if self.frames is None or self.fps is None else self.frames / self.fps


@dataclass(frozen=True, slots=True)
class Walk(Generic[_T]):
    """What a way through the frames gave.

    Attributes:
        times_s: Of every frame walked over, or, where the file was sought in, of those kept.
        kept: Index in `times_s` -> what was made of the frame.
        complete: The end was reached.
    """

    times_s: Sequence[float]
    kept: dict[int, _T]
    complete: bool


@functools.cache
def quiet() -> None:
    """No decoder's words on stderr, where they would be taken for ours; nothing but files is opened."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    os.environ[_OPTIONS] = f"protocol_whitelist;file|format_whitelist;{_DEMUXERS}"
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


def open_video(path: Path) -> cv2.VideoCapture | None:
    """The file, with its rotation applied to each frame; None if it has no picture that can be opened.

    One thread, so that a decoder's memory and its answers do not depend on the machine.
    """
    quiet()
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    if not capture.isOpened():
        capture.release()
        return None
    return capture


def read_header(capture: cv2.VideoCapture) -> Header:
    """What an open file says of itself."""
    fps, frames = capture.get(cv2.CAP_PROP_FPS), capture.get(cv2.CAP_PROP_FRAME_COUNT)
    code = int(capture.get(cv2.CAP_PROP_FOURCC)) & 0xFFFFFFFF
    letters = code.to_bytes(4, "little").decode("latin-1")
    height = int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))
    width = round(int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)) * _pixel_aspect(capture))
    return Header(
        width=width,
        height=height,
        fps=fps if 0.01 <= fps <= 1000 else None,
        frames=int(frames) if 1 <= frames <= 10**8 else None,
        codec="".join(letter if letter.isprintable() else "?" for letter in letters).strip(),
    )


def _pixel_aspect(capture: cv2.VideoCapture) -> float:
    """Width of a pixel over its height; 1 where the file does not say anything sensible."""
    above, below = capture.get(cv2.CAP_PROP_SAR_NUM), capture.get(cv2.CAP_PROP_SAR_DEN)
    aspect = above / below if above > 0 and below > 0 else 1.0
    if round(capture.get(cv2.CAP_PROP_ORIENTATION_META)) % 180 == 90:
        aspect = 1 / aspect
    return aspect if 1 / _MAX_ASPECT <= aspect <= _MAX_ASPECT else 1.0


def walk(
    capture: cv2.VideoCapture, wanted: Collection[int], make: Callable[[Pixels], _T], frame_pixels: int
) -> Walk[_T]:
    """Decode from the first frame to the last; of those in `wanted` something is made at once."""
    times: list[float] = []
    kept: dict[int, _T] = {}
    most = min(MAX_WALK_FRAMES, MAX_WALK_PIXELS // max(1, frame_pixels))
    while len(times) < most and _grab(capture):
        if len(times) in wanted and (pixels := _retrieve(capture)) is not None:
            kept[len(times)] = make(pixels)
        times.append(_time_s(capture))
    return Walk(times, kept, complete=len(times) < most)


def seek_through(
    capture: cv2.VideoCapture, targets_s: Sequence[float], end_s: float, make: Callable[[Pixels], _T]
) -> Walk[_T]:
    """The frames near `targets_s`, and the very last one before or after `end_s`, by seeking."""
    found: list[tuple[float, _T]] = []
    for target in targets_s:
        capture.set(cv2.CAP_PROP_POS_MSEC, target * 1000)
        if _grab(capture) and (pixels := _retrieve(capture)) is not None:
            found.append((_time_s(capture), make(pixels)))
    complete = False
    for back in (*_TAIL_S, end_s):
        capture.set(cv2.CAP_PROP_POS_MSEC, max(0.0, end_s - back) * 1000)
        tail = deque(enumerate(_tail(capture), start=1), maxlen=1)
        if tail:
            seen, (second, pixels) = tail[0]
            found.append((second, make(pixels)))
            complete = seen < _MAX_TAIL_FRAMES
            break
    by_time = dict(sorted(found, key=lambda one: one[0]))
    return Walk(list(by_time), dict(enumerate(by_time.values())), complete)


def _tail(capture: cv2.VideoCapture) -> Iterator[tuple[float, Pixels]]:
    for _ in range(_MAX_TAIL_FRAMES):
        if not _grab(capture):
            return
        # Whether a frame is the last is known only after it: so each of them is taken out.
        if (pixels := _retrieve(capture)) is not None:
            yield _time_s(capture), pixels


def _grab(capture: cv2.VideoCapture) -> bool:
    try:
        return bool(capture.grab())
    except cv2.error:
        return False


def _retrieve(capture: cv2.VideoCapture) -> Pixels | None:
    try:
        done, pixels = capture.retrieve()
    except cv2.error:
        return None
    if not done or pixels is None or pixels.ndim != 3 or pixels.dtype != np.uint8:
        return None
    return np.asarray(pixels, dtype=np.uint8)


def _time_s(capture: cv2.VideoCapture) -> float:
    return max(0.0, float(capture.get(cv2.CAP_PROP_POS_MSEC)) / 1000)
