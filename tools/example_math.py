"""The solutions of the `math-media` example: sheets of mathematics, still and being written."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch
from PIL import Image

WIDTH, HEIGHT = 960, 540
FPS = 12
PEN_PX = 5

mpl.rcParams["mathtext.fontset"] = "stix"
mpl.rcParams["font.family"] = "DejaVu Sans"
mpl.rcParams["svg.hashsalt"] = "beholder"


@dataclass(frozen=True)
class Line:
    """One line of a sheet.

    Attributes:
        text: With mathematics between dollar signs.
        y: Pixels from the top, of the line's middle.
        x: Pixels from the left.
        boxed: It is the answer.
        strikes: The line is no text but strikes out the line with this number.
        write_s, hold_s: In a video: how long it is written, and how long it then rests.
    """

    text: str
    y: int = 0
    x: int = 60
    size: int = 26
    colour: str = ""
    boxed: bool = False
    strikes: int | None = None
    write_s: float = 0.9
    hold_s: float = 0.5


@dataclass(frozen=True)
class Paper:
    """What is written on, and with what."""

    ground: str
    ink: str
    faint: str
    mark: str
    squared: bool = False


BOARD = Paper(ground="#20382f", ink="#f1efe4", faint="#b9c9bb", mark="#ffd76a")
SQUARED = Paper(ground="#fbfaf4", ink="#1f2f6b", faint="#5b6270", mark="#c0362c", squared=True)

Frame = np.ndarray
Box = tuple[int, int, int, int]  # left, top, right, bottom


def draw(paper: Paper, title: str, lines: Sequence[Line]) -> tuple[Frame, list[Box]]:
    """The sheet with its lines, (height, width, 3) uint8, and where each line stands."""
    figure = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=paper.ground)
    if paper.squared:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
        axes.axis("off")
        for x in range(0, WIDTH, 24):
            axes.axvline(x, color="#d9e2ec", lw=0.7)
        for y in range(0, HEIGHT, 24):
            axes.axhline(y, color="#d9e2ec", lw=0.7)
    figure.text(60 / WIDTH, 1 - 50 / HEIGHT, title, fontsize=16, color=paper.faint, va="center")
    figure.add_artist(
        plt.Line2D([60 / WIDTH, 1 - 60 / WIDTH], [1 - 90 / HEIGHT] * 2, color=paper.faint, lw=1)
    )
    boxes: list[Box] = []
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for line in lines:
        if line.strikes is not None:
            left, top, right, bottom = boxes[line.strikes]
            middle = 1 - (top + bottom) / 2 / HEIGHT
            ends = ([left / WIDTH, right / WIDTH], [middle - 0.012, middle + 0.012])
            figure.add_artist(plt.Line2D(*ends, color=paper.mark, lw=3.5))
            boxes.append((left, top, right, bottom))
            continue
        colour = line.colour or (paper.mark if line.boxed else paper.ink)
        text = figure.text(
            line.x / WIDTH, 1 - line.y / HEIGHT, line.text, fontsize=line.size, color=colour, va="center"
        )
        extent = text.get_window_extent(renderer)
        pad = 10 if line.boxed else 3
        if line.boxed:
            figure.add_artist(
                FancyBboxPatch(
                    ((extent.x0 - pad) / WIDTH, (extent.y0 - pad) / HEIGHT),
                    (extent.width + 2 * pad) / WIDTH,
                    (extent.height + 2 * pad) / HEIGHT,
                    boxstyle="square,pad=0",
                    fill=False,
                    edgecolor=paper.mark,
                    lw=2,
                )
            )
        boxes.append(
            (
                int(extent.x0 - pad - 3),
                int(HEIGHT - extent.y1 - pad - 3),
                int(extent.x1 + pad + 4),
                int(HEIGHT - extent.y0 + pad + 4),
            )
        )
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy()  # type: ignore[attr-defined]
    plt.close(figure)
    return pixels, boxes


def written(paper: Paper, title: str, lines: Sequence[Line]) -> Iterator[Frame]:
    """The frames of a video in which the lines are written one after the other, from left to right."""
    now, _ = draw(paper, title, [])
    pen = np.array([int(paper.mark[at : at + 2], 16) for at in (1, 3, 5)], dtype=np.uint8)
    for _ in range(FPS):
        yield now
    for count, line in enumerate(lines, start=1):
        after, boxes = draw(paper, title, lines[:count])
        left, top, right, bottom = boxes[-1]
        steps = round(line.write_s * FPS)
        for step in range(1, steps):
            edge = left + (right - left) * step // steps
            frame = now.copy()
            frame[:, left:edge] = after[:, left:edge]
            middle = (top + bottom) // 2
            frame[middle - PEN_PX : middle + PEN_PX, edge - PEN_PX : edge + PEN_PX] = pen
            yield frame
        for _ in range(max(1, round(line.hold_s * FPS))):
            yield after
        now = after


def picture(paper: Paper, title: str, lines: Sequence[Line]) -> Image.Image:
    """The sheet as a picture."""
    return Image.fromarray(draw(paper, title, lines)[0])


def png(image: Image.Image) -> bytes:
    """PNG with at most 64 colours, which flat sheets do not exceed to the eye."""
    file = io.BytesIO()
    image.quantize(64, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def video(frames: Iterator[Frame], suffix: str) -> bytes:
    """MP4 (H.264) or WebM (VP9), by ffmpeg, without dates."""
    codec = {
        ".mp4": ["-c:v", "libx264", "-crf", "30", "-preset", "veryslow", "-movflags", "+faststart"],
        ".webm": ["-c:v", "libvpx-vp9", "-crf", "40", "-b:v", "0", "-threads", "1"],
    }[suffix]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"video{suffix}"
        command = [
            *("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}"),
            *("-r", str(FPS), "-i", "-", *codec, "-pix_fmt", "yuv420p", "-fflags", "+bitexact"),
            *("-flags:v", "+bitexact", "-map_metadata", "-1", str(path)),
        ]
        subprocess.run(command, input=b"".join(frame.tobytes() for frame in frames), check=True)
        return path.read_bytes()


def gif(frames: Sequence[Image.Image], milliseconds: Sequence[int]) -> bytes:
    """An animation that plays once."""
    file = io.BytesIO()
    small = [frame.quantize(32, dither=Image.Dither.NONE) for frame in frames]
    small[0].save(file, "GIF", save_all=True, append_images=small[1:], duration=list(milliseconds))
    return file.getvalue()


# --- the solutions ------------------------------------------------------------------------------

FENCE = "14 posts at 6.50 € and 3 rolls of wire at 18 € are paid with 200 €.\nHow much is left?"
ROOTS = r"$x_1, x_2$ are the roots of $2x^2 - 7x + 4 = 0$.  Find $x_1^2 + x_2^2$."
PAIRS = r"How many ordered pairs $(a, b)$ of positive integers satisfy  $1/a + 1/b = 1/12$ ?"
SUM = r"Find  $\sum_{k=1}^{99}\; \dfrac{1}{\sqrt{k} + \sqrt{k+1}}$ ."
TRAINS = (
    "Two trains start 270 km apart towards each other, at 80 and 100 km/h.\n"
    "How far does the slower one get until they meet?"
)
CLOCK = "Which angle do the hands of a clock make at 3:40?"

FENCE_LINES = [
    Line(r"posts:   $14 \cdot 6.50 = 91$", 135),
    Line(r"wire:    $3 \cdot 18 = 54$", 200),
    Line(r"together:   $91 + 54 = 145$", 265),
    Line(r"$200 - 145 = 55$", 330),
]
ROOTS_WRONG = [
    Line(r"$x_1 + x_2 = \dfrac{7}{2}$ ,     $x_1 x_2 = \dfrac{4}{2} = 2$", 140),
    Line(r"$x_1^2 + x_2^2 = (x_1 + x_2)^2 - x_1 x_2$", 220),
    Line(r"$= \dfrac{49}{4} - 2 = \dfrac{41}{4}$", 300, x=150),
]


def pairs_late() -> bytes:
    """The answer is written in the last 0.4 s and nowhere before."""
    lines = [
        Line(r"$12\,b + 12\,a = a\,b$", 135),
        Line(r"$(a - 12)(b - 12) = 144$", 200),
        Line(r"$a, b < 12$ :  the product is below 144, so none", 265, size=22),
        Line(r"$144 = 2^4 \cdot 3^2$   has   $(4+1)(2+1)$   divisors,", 330),
        Line("and each of them gives one pair:", 395, size=22, hold_s=2.0),
        Line(r"$15$ pairs", 465, boxed=True, write_s=0, hold_s=0.42),
    ]
    return video(written(BOARD, PAIRS, lines), ".mp4")


def roots_reconsidered() -> bytes:
    """A wrong line is doubted, tried on a known case, struck out and done anew."""
    lines = [
        Line(ROOTS_WRONG[0].text, 130, size=22),
        Line(ROOTS_WRONG[1].text + r"$\; = 41/4$", 195, size=22),
        Line(r"Is that so?  $x^2 - 3x + 2$ has 1 and 2:  $1 + 4 = 5$, but $9 - 2 = 7$.", 250, size=19),
        Line("", strikes=1, write_s=0.5),
        Line(r"$(x_1 + x_2)^2 = x_1^2 + 2\,x_1 x_2 + x_2^2$", 310, size=22),
        Line(r"$x_1^2 + x_2^2 = \dfrac{49}{4} - 2 \cdot 2$", 380, size=22),
        Line(r"$= \dfrac{33}{4}$", 470, x=80, boxed=True, hold_s=1.5),
    ]
    return video(written(SQUARED, ROOTS, lines), ".mp4")


def sum_twice() -> bytes:
    """The sum, then its first terms by number."""
    term = r"$\dfrac{1}{\sqrt{k}+\sqrt{k+1}} "
    lines = [
        Line(term + r"= \dfrac{\sqrt{k+1}-\sqrt{k}}{(k+1)-k} = \sqrt{k+1}-\sqrt{k}$", 155, size=22),
        Line(r"$(\sqrt{2}-\sqrt{1}) + (\sqrt{3}-\sqrt{2}) + \ldots + (\sqrt{100}-\sqrt{99})$", 245, size=21),
        Line(r"$= \sqrt{100} - \sqrt{1} = 9$", 315, size=22),
        Line(r"Check with three terms:  $0.4142 + 0.3178 + 0.2679 = 0.9999$", 380, size=18),
        Line(r"and  $\sqrt{4} - \sqrt{1} = 1$ .  Good, up to rounding.", 420, size=18),
        Line(r"$9$", 485, x=80, boxed=True, hold_s=1.5),
    ]  # fmt: skip
    return video(written(SQUARED, SUM, lines), ".webm")


def sum_by_chance() -> bytes:
    """A false identity, made good by a false factor; as a JPEG, a little aslant like a photograph."""
    lines = [
        Line(r"$\dfrac{1}{\sqrt{k}+\sqrt{k+1}} = \dfrac{1}{\sqrt{k}} - \dfrac{1}{\sqrt{k+1}}$", 160, size=24),
        Line(r"sum $= 1 - \dfrac{1}{\sqrt{100}} = \dfrac{9}{10}$", 260, size=24),
        Line(r"times $\sqrt{100}$ :", 345, size=24),
        Line(r"$\dfrac{9}{10} \cdot 10 = 9$", 440, x=80, boxed=True),
    ]
    sheet = picture(BOARD, SUM, lines).rotate(
        -1.6, expand=True, resample=Image.Resampling.BICUBIC, fillcolor="#5a4632"
    )
    light = np.linspace(1.06, 0.86, sheet.width)[None, :, None]
    lit = Image.fromarray((np.asarray(sheet) * light).clip(0, 255).astype(np.uint8))
    file = io.BytesIO()
    lit.save(file, "JPEG", quality=82)
    return file.getvalue()


def clock_face(hour_deg: float, minute_deg: float, note: str, arc: bool) -> Image.Image:
    """A clock, its hands at angles from twelve, with a note beside it."""
    figure = plt.figure(figsize=(6.4, 3.6), dpi=100, facecolor=SQUARED.ground)
    axes = figure.add_axes((0.02, 0.03, 0.53, 0.94))
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    axes.axis("off")
    axes.add_patch(plt.Circle((0, 0), 1.05, fill=False, color=SQUARED.ink, lw=2))
    for number in range(1, 13):
        angle = np.radians(30 * number)
        x, y = 0.88 * np.sin(angle), 0.88 * np.cos(angle)
        axes.text(x, y, str(number), ha="center", va="center", fontsize=12, color=SQUARED.faint)
    for degrees, length, width in ((hour_deg, 0.5, 5), (minute_deg, 0.76, 3)):
        angle = np.radians(degrees)
        axes.plot([0, length * np.sin(angle)], [0, length * np.cos(angle)], color=SQUARED.ink, lw=width)
    if arc:
        turn = np.radians(np.linspace(hour_deg, minute_deg, 60))
        axes.plot(0.3 * np.sin(turn), 0.3 * np.cos(turn), color=SQUARED.mark, lw=2)
    figure.text(0.56, 0.5, note, fontsize=15, color=SQUARED.ink, va="center", linespacing=1.9)
    figure.canvas.draw()
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[:, :, :3].copy())  # type: ignore[attr-defined]
    plt.close(figure)
    return image


def clock_turning() -> bytes:
    """The hands turn from 3:00 to 3:40; the angles and the answer follow."""
    frames, times = [], []
    for minute in range(0, 41, 4):
        note = f"3:{minute:02d}\nhour hand {90 + minute / 2:.0f}°\nminute hand {6 * minute}°"
        frames.append(clock_face(90 + minute / 2, 6 * minute, note, arc=False))
        times.append(250)
    times[-1] = 1200
    answer = "3:40\nhour hand 110°\nminute hand 240°\n240° − 110° = 130°"
    frames.append(clock_face(110, 240, answer, arc=True))
    times.append(2500)
    return gif(frames, times)


def solutions() -> dict[str, bytes]:
    """Every solution by its path below `runs/`."""
    chalk, slate = "chalk-small-demo", "slate-large-demo"
    whole = sum_twice()
    fence_checked = [*FENCE_LINES, Line(r"Check:   $55 + 54 + 91 = 200$ .  It fits.", 395, size=22)]
    return {
        f"{chalk}/garden-fence.png": png(
            picture(BOARD, FENCE, [*FENCE_LINES, Line("55 € are left", 440, x=80, boxed=True)])
        ),
        f"{chalk}/quadratic-roots.png": png(
            picture(
                BOARD,
                ROOTS,
                [*ROOTS_WRONG, Line(r"$x_1^2 + x_2^2 = \dfrac{41}{4}$", 430, x=80, boxed=True)],
            )
        ),
        f"{chalk}/unit-fractions.mp4": pairs_late(),
        f"{chalk}/telescope.jpg": sum_by_chance(),
        f"{chalk}/clock-hands.webm": whole[: len(whole) // 40],
        f"{slate}/garden-fence.png": png(
            picture(SQUARED, FENCE, [*fence_checked, Line("55 € are left", 470, x=80, boxed=True)])
        ),
        f"{slate}/quadratic-roots.mp4": roots_reconsidered(),
        f"{slate}/unit-fractions.png": png(
            picture(
                SQUARED,
                PAIRS,
                [
                    Line(r"$(a - 12)(b - 12) = 144$", 135),
                    Line(r"$144 = 1 \cdot 144 = 2 \cdot 72 = 3 \cdot 48 = 4 \cdot 36$", 205),
                    Line(r"$= 6 \cdot 24 = 8 \cdot 18 = 9 \cdot 16 = 12 \cdot 12$", 265, x=128),
                    Line("one pair for each product, so", 335, size=22),
                    Line(r"$8$ pairs", 410, x=80, boxed=True),
                ],
            )
        ),
        f"{slate}/telescope.webm": whole,
        f"{slate}/two-trains.png": png(
            picture(
                SQUARED,
                TRAINS,
                [
                    Line(r"Together they come nearer by  $80 + 100 = 180$ km/h.", 140, size=22),
                    Line(r"$270 : 180 = 1.5$ ,  so they meet after 1.5 h.", 210, size=22),
                    Line(r"$80 \cdot 1.5 = 120$", 280, size=24),
                    Line("120 km", 370, x=80, boxed=True),
                ],
            )
        ),
        f"{slate}/clock-hands.gif": clock_turning(),
    }
