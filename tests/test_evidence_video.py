"""Videos: frames with their times, always the last one, or the file itself where the judge takes it."""

from __future__ import annotations

import functools
import random
import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence import video, video_decode
from beholder.evidence.frames import MAX_FRAMES, sampled_words, spread
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.sniff import sniff
from beholder.evidence.video import preload, render_video
from beholder.records import EvidencePolicy, MediaLimits, Picture
from tests.fakes.evidence import LIMITS, pixels

NATIVE = MediaLimits(
    video_types=("video/mp4", "video/webm", "video/quicktime"), video_bytes=10**7, video_s=60.0
)
needs_ffmpeg = pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="ffmpeg makes what OpenCV cannot write, and is not here"
)


@functools.cache
def clip(
    frames: int = 30,
    *,
    suffix: str = ".mp4",
    codec: str = "mp4v",
    fps: float = 10.0,
    size: tuple[int, int] = (96, 64),
    last_is_red: bool = True,
) -> bytes:
    """A video of a grey picture with a bar that grows; the last frames may be red."""
    preload()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*codec), fps, size)
        assert writer.isOpened()
        for at in range(frames):
            picture = np.full((size[1], size[0], 3), 90, np.uint8)
            picture[:20, : 1 + at * (size[0] - 1) // max(1, frames - 1)] = (0, 220, 220)
            if last_is_red and at == frames - 1:
                picture[:] = (0, 0, 255)
                picture[:8, :8] = 0
            writer.write(picture)
        writer.release()
        return path.read_bytes()


@functools.cache
def ffmpeg(*options: str, suffix: str = ".mp4") -> bytes:
    """What ffmpeg makes with these options."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        subprocess.run(["ffmpeg", "-v", "error", "-y", *options, str(path)], check=True)
        return path.read_bytes()


def source(seconds: float = 1, size: str = "160x90", rate: int = 20) -> tuple[str, ...]:
    return ("-f", "lavfi", "-i", f"testsrc=duration={seconds}:size={size}:rate={rate}")


def show(
    data: bytes, name: str = "a.mp4", *, budget: int = 32, limits: MediaLimits = LIMITS, **policy: Any
) -> Shown:
    suffix = "." + name.rpartition(".")[2]
    rules = EvidencePolicy(**policy)
    return render_video(Job(name=name, suffix=suffix, data=data, policy=rules, limits=limits, budget=budget))


def slug(data: bytes, name: str = "a.mp4") -> str:
    with pytest.raises(BrokenArtifact) as caught:
        show(data, name)
    return caught.value.slug


def is_red(picture: Picture) -> bool:
    image = pixels(picture)
    red, green, blue = image.getpixel((image.width // 2, image.height // 2))
    return red > 180 and max(green, blue) < 90


def codes(shown: Shown) -> list[str]:
    return [warning.code for warning in shown.warnings]


def test_frames_with_their_times() -> None:
    """A video becomes frames, evenly spread from the first to the last, each with its time."""
    shown = show(clip(31), budget=4)
    assert [picture.time_s for picture in shown.pictures] == [0.0, 1.0, 2.0, 3.0]
    assert [is_red(picture) for picture in shown.pictures] == [False, False, False, True]
    assert all(sniff(picture.data) == picture.media_type for picture in shown.pictures)
    ((code, detail),) = [(one.code, one.detail) for one in shown.warnings]
    assert (code, detail) == ("frames_sampled", "4 of 31 frames are shown, at 0.00, 1.00, 2.00, 3.00 s")
    assert shown.facts["frames"] == 31
    assert shown.facts["duration_s"] == 3.1
    assert shown.facts["fps"] == 10.0
    assert shown.facts["size"] == [96, 64]


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 16, 32])
@pytest.mark.parametrize("frames", [1, 2, 17, 30])
def test_the_last_frame_is_always_there(budget: int, frames: int) -> None:
    """Whatever the budget, the very last frame is shown: the answer may be only there."""
    shown = show(clip(frames), budget=budget)
    assert is_red(shown.pictures[-1])
    assert len(shown.pictures) == min(budget, frames, MAX_FRAMES)
    assert ("frames_sampled" in codes(shown)) == (len(shown.pictures) < frames)


@pytest.mark.parametrize(
    ("suffix", "codec", "media_type"),
    [(".webm", "VP80", "video/webm"), (".webm", "VP90", "video/webm"), (".mov", "mp4v", "video/quicktime")],
)
def test_containers(suffix: str, codec: str, media_type: str) -> None:
    """WebM and QuickTime are videos like MP4."""
    data = clip(12, suffix=suffix, codec=codec)
    shown = show(data, f"a{suffix}")
    assert shown.facts["container"] == media_type
    assert len(shown.pictures) == 12
    assert is_red(shown.pictures[-1])
    assert codes(shown) == []


def test_another_format_than_the_name() -> None:
    """A WebM named .mp4 is judged as what it is, with a note; MP4 and QuickTime are one family."""
    assert codes(show(clip(5, suffix=".webm", codec="VP80"), "a.mp4")) == ["other_format"]
    assert codes(show(clip(5), "a.mov")) == []


def test_native() -> None:
    """Where protocol and judge take video, the very bytes go, and no frames."""
    data = clip(30)
    shown = show(data, limits=NATIVE)
    assert shown.pictures == ()
    (sent,) = shown.videos
    assert sent.data == data
    assert (sent.media_type, sent.width_px, sent.height_px) == ("video/mp4", 96, 64)
    assert (sent.duration_s, sent.fps, sent.size_bytes) == (3.0, 10.0, len(data))


@pytest.mark.parametrize(
    ("limits", "policy"),
    [
        (MediaLimits(), {}),
        (NATIVE, {"video": "frames"}),
        (MediaLimits(video_types=("video/webm",)), {}),
        (MediaLimits(video_types=("video/mp4",), video_bytes=100), {}),
        (MediaLimits(video_types=("video/mp4",), video_s=2.9), {}),
    ],
)
def test_frames_where_the_file_itself_cannot_go(limits: MediaLimits, policy: dict[str, Any]) -> None:
    """Another type, a file too large or too long, or a protocol that wants frames: frames are shown."""
    shown = show(clip(30), limits=limits, **policy)
    assert shown.videos == ()
    assert is_red(shown.pictures[-1])


def test_a_broken_file_never_goes_to_the_judge() -> None:
    """A file that cannot be decoded is refused also where the judge would take it as it is."""
    data = clip(30)
    for broken in (b"\0\0\0\x18ftypmp42" + b"x" * 500, data[: len(data) // 3]):
        with pytest.raises(BrokenArtifact) as caught:
            show(broken, limits=NATIVE)
        assert caught.value.slug == "corrupt"


def test_no_frames() -> None:
    """A video without a frame is corrupt."""
    assert slug(clip(0)) == "corrupt"


@pytest.mark.parametrize(
    "data",
    [
        b"<h1>x</h1>",
        b"#EXTM3U\n/etc/passwd",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"%PDF-1.7",
        b"ID3\3",
    ],
)
def test_what_is_no_video(data: bytes) -> None:
    """A playlist, which a decoder would follow to other files, or any other content is the wrong type."""
    assert slug(data) == "wrong_type"
    assert slug(b"") == "empty"


def test_a_cut_file_shows_what_there_is() -> None:
    """Of a WebM that breaks off the frames before the break are shown, and that some are missing."""
    rng = np.random.default_rng(1)
    preload()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.webm"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"VP80"), 10, (96, 64))
        for _ in range(40):
            writer.write(rng.integers(0, 255, (64, 96, 3), dtype=np.uint8))
        writer.release()
        data = path.read_bytes()
    shown = show(data[: len(data) // 2], "a.webm")
    assert shown.pictures
    assert shown.facts["frames"] < 40
    assert "damaged_frames" in codes(shown)


def test_blank() -> None:
    """A video of one colour is judged, with a note; one whose colour changes is not blank."""

    def flat(*colours: int) -> bytes:
        preload()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.mp4"
            writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 10, (64, 64))
            for colour in colours:
                writer.write(np.full((64, 64, 3), colour, np.uint8))
            writer.release()
            return path.read_bytes()

    assert codes(show(flat(0, 0, 0))) == ["blank_capture"]
    assert codes(show(flat(0, 120, 250))) == []


def test_large_frames_are_shrunk_here() -> None:
    """A frame that the judge would shrink is shrunk here, and the factor is recorded."""
    (picture, *_) = show(clip(2, size=(1920, 1080))).pictures
    assert picture.width_px * picture.height_px <= (LIMITS.shrink_pixels or 0)
    assert any("factor 0.770" in words for words in picture.transforms)


def test_the_same_bytes_each_time() -> None:
    """The same video gives the same pictures."""
    data = clip(30)
    first, again = show(data), show(data)
    assert [one.sha256 for one in first.pictures] == [one.sha256 for one in again.pictures]


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The copy that is decoded is gone afterwards, also of a broken file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = clip.__wrapped__(3)
    show(data)
    assert slug(data[:200]) == "corrupt"
    assert list(tmp_path.iterdir()) == []


def test_a_long_video_is_sought_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A video too long to be decoded whole is sought in; its last frame is found all the same."""
    data = clip(300)
    monkeypatch.setattr(video_decode, "MAX_WALK_FRAMES", 100)
    shown = show(data, budget=7)
    assert shown.facts["decoded"] == "in parts"
    assert shown.facts["frames"] is None
    assert [picture.time_s for picture in shown.pictures] == pytest.approx(
        [0, 5, 10, 15, 20, 25, 29.9], abs=0.11
    )
    assert is_red(shown.pictures[-1])
    assert codes(shown) == ["frames_sampled"]
    native = show(data, limits=NATIVE)
    assert [round(sent.duration_s, 1) for sent in native.videos] == [30.0]


def test_huge_frames_are_refused_by_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """A video whose frames have more pixels than the stated cap is refused before one is decoded."""
    monkeypatch.setattr(video, "MAX_FRAME_PIXELS", 96 * 64 - 1)
    assert slug(clip(3)) == "too_large"


@needs_ffmpeg
@pytest.mark.parametrize(
    ("options", "suffix", "codec"),
    [
        (("-c:v", "libx264", "-pix_fmt", "yuv420p"), ".mp4", "h264"),
        (("-c:v", "libx264", "-pix_fmt", "yuv420p"), ".mov", "h264"),
        (("-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p"), ".mp4", "hevc"),
        (("-c:v", "libvpx-vp9"), ".webm", "VP90"),
    ],
)
def test_codecs(options: tuple[str, ...], suffix: str, codec: str) -> None:
    """The usual codecs are decoded to the end."""
    shown = show(ffmpeg(*source(), *options, suffix=suffix), f"a{suffix}")
    assert shown.facts["codec"] == codec
    assert shown.facts["frames"] == 20
    assert shown.pictures[-1].time_s == 0.95


@needs_ffmpeg
def test_a_codec_that_this_machine_lacks_is_not_the_files_fault() -> None:
    """AV1, which needs a decoder that OpenCV does not bring, is shown or is our lack."""
    data = ffmpeg(*source(0.3), "-c:v", "libaom-av1", "-cpu-used", "8")
    try:
        assert show(data).pictures
    except RendererFailed as error:
        assert error.slug == "missing_tool"  # noqa: PT017 - either is right, by the OpenCV that is installed


@needs_ffmpeg
def test_a_turned_video_is_seen_turned() -> None:
    """A telephone's upright video, stored lying with a flag, is upright; a player agrees pixel by pixel."""
    lying = ffmpeg(*source(), "-c:v", "libx264", "-pix_fmt", "yuv420p")
    with tempfile.TemporaryDirectory() as folder:
        path, turned, still = (Path(folder) / name for name in ("a.mp4", "b.mp4", "b.png"))
        path.write_bytes(lying)
        copy = ["-c", "copy", "-metadata:s:v", "rotate=90"]
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), *copy, str(turned)], check=True)
        grab = ["-frames:v", "1", str(still)]
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(turned), *grab], check=True)
        shown = show(turned.read_bytes())
        theirs = cv2.imread(str(still))
    assert shown.facts["size"] == [90, 160]
    ours = np.asarray(pixels(shown.pictures[0]))[:, :, ::-1]
    assert theirs is not None
    assert ours.shape == theirs.shape
    assert np.abs(ours.astype(int) - theirs).mean() < 3


@needs_ffmpeg
def test_pixels_that_are_not_square() -> None:
    """A video stored with narrow pixels is seen in its true shape."""
    data = ffmpeg(*source(0.3), "-vf", "setsar=2", "-c:v", "libx264", "-pix_fmt", "yuv420p")
    (picture, *_) = show(data).pictures
    assert (picture.width_px, picture.height_px) == (320, 90)


@needs_ffmpeg
@pytest.mark.parametrize(("codec", "suffix"), [("aac", ".mp4"), ("libopus", ".webm"), ("aac", ".mov")])
def test_sound_alone_is_no_video(codec: str, suffix: str) -> None:
    """A file with sound and no picture is the wrong type, and it is said so."""
    data = ffmpeg("-f", "lavfi", "-i", "sine=duration=1", "-c:a", codec, suffix=suffix)
    with pytest.raises(BrokenArtifact, match="sound without a picture") as caught:
        show(data, f"a{suffix}")
    assert caught.value.slug == "wrong_type"


@needs_ffmpeg
def test_frames_at_irregular_times() -> None:
    """Where frames stay for different times, the times told are those of the file."""
    wait = "setpts='if(lt(N,10),N,N*5)/(20*TB)'"
    data = ffmpeg(*source(), "-vf", wait, "-vsync", "vfr", "-c:v", "libx264", "-pix_fmt", "yuv420p")
    shown = show(data)
    times = [picture.time_s or 0.0 for picture in shown.pictures]
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(19 * 5 / 20, abs=0.05)
    gaps = np.diff(times)
    assert gaps.max() > 3 * gaps.min()


@pytest.mark.long
@needs_ffmpeg
def test_ninety_seconds() -> None:
    """A video of 90 s in full size is decoded to its last frame."""
    data = ffmpeg(
        *source(90, "1280x720", 25), "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"
    )
    shown = show(data)
    assert shown.facts["frames"] == 2250
    assert shown.pictures[-1].time_s == pytest.approx(89.96)


@given(st.integers(0, 5000), st.integers(0, 40))
def test_spread(count: int, most: int) -> None:
    """The frames chosen rise, are as many as may be, evenly apart by one at most, and end with the last."""
    chosen = spread(count, most)
    assert len(chosen) == min(count, most)
    assert list(chosen) == sorted(set(chosen))
    if chosen:
        assert chosen[-1] == count - 1
    if len(chosen) > 1:
        assert chosen[0] == 0
        gaps = [after - before for before, after in pairwise(chosen)]
        assert max(gaps) - min(gaps) <= 1


def test_words_of_one_frame() -> None:
    """One frame is spoken of as one."""
    assert sampled_words([2.5], "9 frames") == "1 of 9 frames is shown, at 2.50 s"


def survive(rounds: int, seed: int) -> int:
    """How many damaged videos were refused; all others were shown."""
    rng = random.Random(seed)
    refused = 0
    for _ in range(rounds):
        for suffix, codec in ((".mp4", "mp4v"), (".webm", "VP80"), (".webm", "VP90"), (".mov", "mp4v")):
            data = bytearray(clip(8, suffix=suffix, codec=codec))
            for _ in range(rng.choice((1, 3, 12))):
                data[rng.randrange(len(data))] = rng.randrange(256)
            if rng.random() < 0.2:
                del data[rng.randrange(len(data)) :]
            try:
                assert show(bytes(data), f"a{suffix}", budget=3).pictures
            except BrokenArtifact:
                refused += 1
    return refused


def test_damaged_videos() -> None:
    """Whatever is broken in a video, it is shown or it is the file's fault."""
    assert survive(25, 5) > 0


@pytest.mark.long
def test_many_damaged_videos() -> None:
    """The same, for thousands of them."""
    assert survive(1500, 6) > 0


def test_the_handed_video(shared: Path) -> None:
    """The video of the corpus is shown from its first frame to its last."""
    shown = show((shared / "corpus" / "handout" / "px_just-two-mice.mp4").read_bytes())
    assert shown.facts["frames"] == 179
    assert shown.facts["duration_s"] == 7.16
    assert len(shown.pictures) == MAX_FRAMES
    assert shown.pictures[-1].time_s == 7.12
    assert codes(shown) == ["frames_sampled"]
