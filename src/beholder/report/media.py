"""Pictures, videos and texts of a row's evidence, as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from beholder.report import numbers
from beholder.report.load import INLINE_CHARS, Json, Run, TaskTexts, folder_of, media_paths, url


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureView:
    """A picture as it was sent. `url` and `thumb` are relative to the report, None if the file is gone."""

    url: str | None
    thumb: str | None
    width_px: int
    height_px: int
    caption: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoView:
    """A video as it was sent."""

    url: str | None
    caption: str
    media_type: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """A verbatim text; `cut` counts the characters that only the file at `url` has."""

    title: str
    text: str
    url: str
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """What went over the wire for one task, and what was shown as text.

    Attributes:
        replies: By repeat, as text: JSON has no other keys.
    """

    prompt: TextView | None = None
    replies: dict[str, TextView]
    shown: tuple[TextView, ...] = ()


def pictures_of(run: Run, row: Json) -> tuple[PictureView, ...]:
    """Every picture of a row, in the order they were sent."""
    images = (row.get("evidence") or {}).get("images") or []
    safe = _there(run, row)
    views = []
    for number, image in enumerate(images, 1):
        path = image.get("path")
        there = path in safe
        views.append(
            PictureView(
                url=url(run.base, path) if there else None,
                thumb=url(run.base, run.thumbs.get(path, path)) if there else None,
                width_px=int(image.get("width_px") or 0),
                height_px=int(image.get("height_px") or 0),
                caption=picture_caption(number, image),
                sha256=image.get("sha256") or "",
            )
        )
    return tuple(views)


def videos_of(run: Run, row: Json) -> tuple[VideoView, ...]:
    """Every video of a row."""
    safe = _there(run, row)
    return tuple(
        VideoView(
            url=url(run.base, video["path"]) if video.get("path") in safe else None,
            caption=_video_caption(video),
            media_type=str(video.get("media_type") or ""),
            sha256=video.get("sha256") or "",
        )
        for video in (row.get("evidence") or {}).get("videos") or []
    )


def verbatim_of(run: Run, row: Json) -> Verbatim:
    """Prompt, raw replies and shown texts of a row."""
    folder = folder_of(row)
    texts = run.texts.get(folder, TaskTexts())
    asked = {repeat.get("repeat") for repeat in row.get("repeats") or []}
    return Verbatim(
        prompt=None
        if texts.prompt is None
        else _text("Exact prompt", texts.prompt, url(run.base, folder, "prompt.txt")),
        replies={
            str(number): _text("Raw reply", reply, url(run.base, folder, f"reply-{number}.txt"))
            for number, reply in texts.replies.items()
            if number in asked
        },
        shown=tuple(_text(name, text, "") for name, text in texts.shown),
    )


def picture_caption(number: int, image: Json) -> str:
    """`Image 3 · report.pdf · page 2 of 9 · part 1 of 2`: where a picture comes from."""
    pieces = [f"Image {number}"]
    if image.get("source"):
        pieces.append(str(image["source"]))
    if image.get("page") is not None:
        of = f" of {image['pages']}" if image.get("pages") is not None else ""
        pieces.append(f"page {image['page']}{of}")
    if image.get("sheet"):
        pieces.append(f"sheet “{image['sheet']}”")
    if image.get("time_s") is not None:
        pieces.append(f"at {numbers.plain(image['time_s'], 2)} s")
    if image.get("part") is not None:
        of = f" of {image['parts']}" if image.get("parts") is not None else ""
        pieces.append("overview" if image["part"] == 0 else f"part {image['part']}{of}")
    return " · ".join(pieces)


def _video_caption(video: Json) -> str:
    pieces = [str(video.get("source") or "video")]
    if video.get("width_px") and video.get("height_px"):
        pieces.append(f"{video['width_px']} × {video['height_px']} px")
    if video.get("duration_s") is not None:
        pieces.append(numbers.duration(video["duration_s"]))
    if video.get("size_bytes") is not None:
        pieces.append(numbers.size(video["size_bytes"]))
    return " · ".join(pieces)


def _there(run: Run, row: Json) -> set[str]:
    """Paths inside the out-dir whose files are not known to be gone."""
    return {path for path in media_paths(row) if run.sizes.get(path, 0) is not None}


def _text(title: str, text: str, link: str) -> TextView:
    return TextView(title=title, text=text[:INLINE_CHARS], url=link, cut=max(0, len(text) - INLINE_CHARS))
