"""Scenes -> pictures, by Pillow: one image, or a contact sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps, UnidentifiedImageError

from beholder.detection.scene import COLOURS, DASHES, WIDTHS, WORDS, Mark, Scene, drawn_corners, drawn_scale
from beholder.detection.words import printable

MAX_SIDE_PX = 1600
_LEAST_SIDE_PX = 480
"""Small images are enlarged to it, so that labels have room."""

_SHEET_COLUMNS, _SHEET_CELL_PX, _BAR_PX = 3, 520, 26
_SUFFIXES = ("", ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".JPG", ".JPEG", ".PNG")
_FONTS = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
)

_Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def find_picture(folder: Path, image_id: str) -> Path | None:
    """The image's file in a folder: its id, with or without a suffix; never outside of the folder."""
    root = folder.resolve()
    for suffix in _SUFFIXES:
        try:
            file = (root / f"{image_id}{suffix}").resolve()
            if file.is_relative_to(root) and file.is_file():
                return file
        except (OSError, ValueError):  # an id that no file name can be
            return None
    return None


def load_picture(file: Path) -> Image.Image | None:
    """The picture, upright, in RGB; None if Pillow cannot read it or finds it too large."""
    try:
        with Image.open(file) as opened:
            return ImageOps.exif_transpose(opened).convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        return None


def picture_size(file: Path) -> tuple[float, float] | None:
    """Width and height of a picture by its header, upright; None if it is none."""
    try:
        with Image.open(file) as opened:
            turned = opened.getexif().get(0x0112, 1) in {5, 6, 7, 8}
            width, height = opened.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        return None
    return (float(height), float(width)) if turned else (float(width), float(height))


def render_scene(scene: Scene, picture: Image.Image | None = None) -> Image.Image:
    """The image with its boxes, and a line of text above.

    Args:
        picture: Stretched to the size that gold declares; grey ground if None.
    """
    scale = min(drawn_scale(scene, MAX_SIDE_PX), max(1.0, drawn_scale(scene, _LEAST_SIDE_PX)))
    size = max(1, round(scene.width * scale)), max(1, round(scene.height * scale))
    ground = Image.new("RGB", size, "#d9d9d9") if picture is None else picture.resize(size)
    sheet = Image.new("RGB", (size[0], size[1] + _BAR_PX), "white")
    sheet.paste(ground, (0, _BAR_PX))
    draw = ImageDraw.Draw(sheet)
    font = _font(14)
    for mark in sorted(scene.marks, key=lambda mark: -WIDTHS[mark.kind]):
        _draw_mark(draw, mark, scale, size, font)
    draw.rectangle((0, 0, size[0], _BAR_PX - 1), fill="white")
    draw.text((6, 5), _title(scene), fill="black", font=font)
    return sheet


def contact_sheet(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures side by side, with the key to colours and lines below."""
    columns = max(1, min(_SHEET_COLUMNS, len(pictures)))
    cell = _SHEET_CELL_PX
    small = [_fitted(picture, cell - 12) for picture in pictures]
    rows = [small[at : at + columns] for at in range(0, len(small), columns)]
    heights = [max(one.height for one in row) + 12 for row in rows]
    sheet = Image.new("RGB", (columns * cell, sum(heights) + 4 * _BAR_PX + 6), "white")
    for at, row in enumerate(rows):
        for column, one in enumerate(row):
            sheet.paste(one, (column * cell + 6, sum(heights[:at]) + 6))
    _draw_key(ImageDraw.Draw(sheet), 6, sum(heights) + 6)
    return sheet


def _fitted(picture: Image.Image, side: int) -> Image.Image:
    """The picture with its longer side of that many pixels, the other one at least 1."""
    scale = side / max(picture.size)
    return picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))


def with_key(picture: Image.Image) -> Image.Image:
    """A single picture with the key below it."""
    sheet = Image.new("RGB", (max(picture.width, 260), picture.height + 4 * _BAR_PX + 6), "white")
    sheet.paste(picture, (0, 0))
    _draw_key(ImageDraw.Draw(sheet), 6, picture.height + 6)
    return sheet


def _title(scene: Scene) -> str:
    answer = ("no answer", "malformed answer", "")[scene.status]
    counts = f"TP {scene.count('hit')}  FP {scene.count('false')}  FN {scene.count('missed')}"
    return (
        f"{printable(scene.image_id)}  {printable(scene.model)}  IoU {scene.threshold:g}  {answer or counts}"
    )


def _draw_mark(
    draw: ImageDraw.ImageDraw, mark: Mark, scale: float, size: tuple[int, int], font: _Font
) -> None:
    x1, y1, x2, y2 = drawn_corners(mark, scale, size)
    y1, y2 = y1 + _BAR_PX, y2 + _BAR_PX
    colour, width = COLOURS[mark.kind], WIDTHS[mark.kind]
    for a, b in (((x1, y1), (x2, y1)), ((x2, y1), (x2, y2)), ((x2, y2), (x1, y2)), ((x1, y2), (x1, y1))):
        _draw_line(draw, a, b, DASHES[mark.kind], colour, width)
    if mark.kind == "matched":
        return  # its partner carries the name
    text = f"{ {'missed': 'FN', 'hit': 'TP', 'false': 'FP'}[mark.kind] } {printable(mark.label)}"
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    y = y1 - (bottom - top) - 6 if y1 - (bottom - top) - 6 > _BAR_PX else y1 + 2
    draw.rectangle((x1, y, x1 + right - left + 6, y + bottom - top + 5), fill=colour)
    draw.text(
        (x1 + 3 - left, y + 2 - top), text, fill="white" if mark.kind != "missed" else "black", font=font
    )


def _draw_line(
    draw: ImageDraw.ImageDraw,
    a: tuple[float, float],
    b: tuple[float, float],
    dashes: tuple[int, ...],
    colour: str,
    width: int,
) -> None:
    if not dashes:
        draw.line((*a, *b), fill=colour, width=width)
        return
    length = math.dist(a, b)
    on, off = dashes
    at = 0.0
    while at < length:
        end = min(at + on, length)
        points = [(a[0] + (b[0] - a[0]) * t / length, a[1] + (b[1] - a[1]) * t / length) for t in (at, end)]
        draw.line((*points[0], *points[1]), fill=colour, width=width)
        at += on + off


def _draw_key(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    for row, (kind, words) in enumerate(WORDS.items()):
        middle = y + row * _BAR_PX + 9
        _draw_line(draw, (x, middle), (x + 48, middle), DASHES[kind], COLOURS[kind], WIDTHS[kind])
        draw.text((x + 58, y + row * _BAR_PX), words, fill="black", font=_font(14))


def _font(size: int) -> _Font:
    """A font of the system that knows many scripts, else Pillow's own."""
    for name in _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)
