"""A result -> one HTML page that needs no server, no network and no script.

Everything is markup and inline SVG; every text is escaped by the template; the policy in the head allows this
page's own style, by hash, and pictures that stand in the page, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from beholder.detection import words
from beholder.detection.job import ScoreResult
from beholder.detection.markdown import leaves_of_task, tasks_of
from beholder.detection.scene import (
    COLOURS,
    DASHES,
    WIDTHS,
    WORDS,
    Scene,
    drawn_corners,
    drawn_scale,
    scenes,
    worst_images,
)

TEMPLATES = Path(__file__).parent / "templates"

WORST_PER_MODEL, WORST_IN_ALL = 6, 24
_THUMB_PX = 480


@dataclass(frozen=True)
class Bar:
    """A figure from 0 to 1 with its interval, in hundredths; `text` is the number."""

    text: str
    value: float | None
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True)
class Drawing:
    """A scene as SVG numbers. `picture` is a data URI, or ""."""

    scene: Scene
    picture: str
    width: float
    height: float
    boxes: tuple[Mapping[str, Any], ...]


def html_page(result: ScoreResult, *, images: Path | None = None) -> str:
    """The page.

    Args:
        images: Folder of the pictures; the worst images then show them, small.
    """
    style = _style()
    summary = result.summary
    key = words.summary_f_key(summary)
    return (
        _environment()
        .get_template("page.html")
        .render(
            summary=summary,
            words=words,
            policy=policy(style),
            style=Markup(style),  # noqa: S704 - our own file, not data
            f_key=key,
            f_title=words.f_title(key),
            iou=words.main_iou(summary),
            headline=_headline(summary, key),
            classes=_class_rows(result, key),
            curves=_iso_f(float(summary["beta"])),
            drawings=_drawings(result, images),
            kinds=WORDS,
            colours=COLOURS,
            dashes={kind: " ".join(map(str, on_off)) for kind, on_off in DASHES.items()},
            widths=WIDTHS,
        )
    )


def policy(style: str) -> str:
    """The content-security policy: this style, pictures within the page, nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def bar(value: float | None, leaf: Mapping[str, Any] | None, label: str) -> Bar:
    """A bar of a figure."""
    low, high = (leaf or {}).get("ci95") or (None, None)
    return Bar(words.number(value), _percent(value), _percent(low), _percent(high), label)


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 2)


def _headline(summary: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """A row per model: coverage, and per task the micro and macro F in the scope valid."""
    rows = []
    for name, result in summary["models"].items():
        figures, leaves = result["scopes"]["valid"], words.leaves_of(summary, name, "valid")
        tasks = []
        for task, block in tasks_of(summary, figures):
            found = leaves_of_task(leaves, task)
            micro = bar(block["micro"][key], found.get("micro", {}).get(key), f"{name}, {task}")
            limits = words.limits(found.get("micro", {}).get(key))
            common = result["scopes"]["common"]
            other = dict(tasks_of(summary, common))[task]["micro"][key]
            tasks.append(
                {
                    "task": task,
                    "micro": micro,
                    "limits": limits,
                    "macro": words.number(block["macro"][key]),
                    "common": words.number(other),
                    "counts": block["micro"],
                }
            )
        rows.append({"name": name, "result": result, "figures": figures, "tasks": tasks})
    return rows


def _class_rows(result: ScoreResult, key: str) -> list[dict[str, Any]]:
    """A row per class, most gold boxes first; a cell per model."""
    summary, iou = result.summary, words.main_iou(result.summary)
    blocks = {
        name: (
            model["scopes"]["valid"]["localisation"][iou]["per_class"],
            leaves_of_task(words.leaves_of(summary, name, "valid"), f"IoU {iou}").get("per_class", {}),
        )
        for name, model in summary["models"].items()
    }
    support: dict[str, int] = {}
    for per_class, _ in blocks.values():
        for label, one in per_class.items():
            support[label] = max(support.get(label, 0), one["tp"] + one["fn"])
    rows = []
    for label in sorted(support, key=lambda name: (-support[name], name)):
        cells = []
        for name, (per_class, leaves) in blocks.items():
            one = per_class.get(label)
            leaf = leaves.get(label, {}).get(key)
            cells.append(
                {
                    "figures": one,
                    "bar": bar(one[key], leaf, f"{label}, {name}") if one else None,
                    "limits": words.limits(leaf),
                }
            )
        rows.append(
            {
                "label": label,
                "domain": result.domains.get(label, ""),
                "support": support[label],
                "cells": cells,
            }
        )
    return rows


def _iso_f(beta: float) -> list[dict[str, Any]]:
    """Curves of equal F in a square of 100: recall to the right, precision up."""
    curves = []
    for value in (0.2, 0.4, 0.6, 0.8):
        points = []
        for step in range(1, 101):
            recall = step / 100
            # F = (1 + b²) P R / (b² P + R), solved for P
            below = (1 + beta**2) * recall - value * beta**2
            precision = value * recall / below if below > 0 else 2.0
            if precision <= 1:
                points.append(f"{100 * recall:.1f},{100 - 100 * precision:.1f}")
        curves.append({"value": value, "points": " ".join(points)})
    return curves


def _drawings(result: ScoreResult, images: Path | None) -> list[tuple[str, list[Drawing]]]:
    """Per model its worst images."""
    each = max(1, min(WORST_PER_MODEL, WORST_IN_ALL // max(1, len(result.models))))
    threshold = float(result.summary["iou"][0])
    found = []
    for model, tally in zip(result.models, result.tallies, strict=True):
        worst = worst_images(result.gold, tally, each)
        found.append(
            (model.name, [_drawing(scene, images) for scene in scenes(result.gold, model, worst, threshold)])
        )
    return found


def _drawing(scene: Scene, images: Path | None) -> Drawing:
    scale = drawn_scale(scene, _THUMB_PX)
    size = max(1.0, scene.width * scale), max(1.0, scene.height * scale)
    boxes = []
    for mark in scene.marks:
        left, top, right, bottom = drawn_corners(mark, scale, size)
        boxes.append(
            {
                "kind": mark.kind,
                "label": mark.label,
                "x": round(left, 1),
                "y": round(top, 1),
                "width": round(right - left, 1),
                "height": round(bottom - top, 1),
            }
        )
    return Drawing(scene, _thumbnail(scene, images), round(size[0], 1), round(size[1], 1), tuple(boxes))


def _thumbnail(scene: Scene, images: Path | None) -> str:
    """The picture as a small JPEG in a data URI; "" without one."""
    if images is None:
        return ""
    from beholder.detection.draw import find_picture, load_picture

    file = find_picture(images, scene.image_id)
    picture = load_picture(file) if file else None
    if picture is None:
        return ""
    picture.thumbnail((_THUMB_PX, _THUMB_PX))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=70)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


@cache
def _style() -> str:
    return (TEMPLATES / "page.css").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
