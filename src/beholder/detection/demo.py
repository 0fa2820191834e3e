"""Forty invented street images, two invented models: real numbers to look at, with no model and no network.

`careful` finds less and is mostly right; `eager` finds more, invents boxes, and answers two images in a form
that is malformed.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from PIL import Image, ImageDraw

from beholder.detection.job import ScoreResult, ScoreSpec, run_score, write_results
from beholder.detection.write import safe_out_dir, write_text

NOTE = "Invented images and invented answers: a demonstration, not a measurement of any model."

DOMAINS = {
    "pothole": "roads",
    "crack": "roads",
    "litter": "waste",
    "overfull bin": "waste",
    "graffiti": "walls",
}
_SHAPES = {
    "pothole": "#4a4a4a",
    "crack": "#7a6a5a",
    "litter": "#c8b560",
    "overfull bin": "#3f7d58",
    "graffiti": "#b04a8f",
}
_WIDTH, _HEIGHT, _IMAGES = 640, 420, 40

Box = tuple[str, list[float]]


def run_demo(out_dir: Path, *, replicates: int = 2000, seed: int = 0) -> tuple[ScoreResult, list[Path]]:
    """Make the files, score them, write the results; everything lands below `out_dir`.

    Raises:
        SpecError: `unwritable`.
    """
    inputs = safe_out_dir(out_dir / "inputs", [])
    pictures = safe_out_dir(inputs / "images", [])
    chance = random.Random(7)  # noqa: S311 - invented boxes, no secret
    gold: list[str] = []
    answers: dict[str, list[str]] = {"careful": [], "eager": []}
    for number in range(_IMAGES):
        image_id = f"street-{number:02d}"
        boxes = _street(chance)
        _picture(boxes, chance).save(pictures / f"{image_id}.png")
        gold.append(_line(image_id, boxes, width=_WIDTH, height=_HEIGHT))
        answers["careful"].append(_answer(image_id, _seen(boxes, chance, find=0.75, blur=5, invent=0.1)))
        answers["eager"].append(_answer(image_id, _seen(boxes, chance, find=0.92, blur=11, invent=0.9)))
    answers["eager"][3] = json.dumps({"image_id": "street-03", "response": "I see two potholes."}) + "\n"
    answers["eager"][17] = json.dumps({"image_id": "street-17", "valid": False, "detections": []}) + "\n"
    write_text(inputs / "gold.jsonl", "".join(gold))
    write_text(inputs / "classes.json", json.dumps({"class_to_domain": DOMAINS}, indent=1) + "\n")
    files = {name: write_text(inputs / f"{name}.jsonl", "".join(rows)) for name, rows in answers.items()}
    spec = ScoreSpec(
        gold=inputs / "gold.jsonl",
        predictions=files,
        classes=inputs / "classes.json",
        replicates=replicates,
        seed=seed,
        images=pictures,
    )
    result = run_score(spec)
    result.summary["note"] = NOTE
    return result, write_results(result, out_dir)


def _street(chance: random.Random) -> list[Box]:
    """The boxes of one image; every fifth or so has none."""
    boxes: list[Box] = []
    for _ in range(chance.choice([0, 1, 2, 2, 3, 4])):
        width, height = chance.randint(50, 170), chance.randint(40, 120)
        x, y = chance.randint(0, _WIDTH - width), chance.randint(120, _HEIGHT - height)
        boxes.append(
            (chance.choice(list(DOMAINS)), [float(x), float(y), float(x + width), float(y + height)])
        )
    return boxes


def _seen(boxes: list[Box], chance: random.Random, *, find: float, blur: float, invent: float) -> list[Box]:
    seen: list[Box] = []
    for label, corners in boxes:
        if chance.random() < find:
            moved = [round(value + chance.gauss(0, blur), 1) for value in corners]
            seen.append((label if chance.random() < 0.93 else chance.choice(list(DOMAINS)), moved))
    if chance.random() < invent:
        x, y = chance.randint(0, 500), chance.randint(100, 300)
        seen.append((chance.choice(list(DOMAINS)), [float(x), float(y), float(x + 90), float(y + 70)]))
    return seen


def _line(image_id: str, boxes: list[Box], **more: int) -> str:
    rows = [{"class": label, "bbox": corners} for label, corners in boxes]
    return json.dumps({"image_id": image_id, **more, "boxes": rows}) + "\n"


def _answer(image_id: str, boxes: list[Box]) -> str:
    rows = [{"class": label, "bbox": corners} for label, corners in boxes]
    return json.dumps({"image_id": image_id, "valid": True, "detections": rows}) + "\n"


def _picture(boxes: list[Box], chance: random.Random) -> Image.Image:
    """A street of flat shapes."""
    picture = Image.new("RGB", (_WIDTH, _HEIGHT), "#b9cfe0")
    draw = ImageDraw.Draw(picture)
    for x in range(0, _WIDTH, 160):
        top = chance.randint(20, 90)
        draw.rectangle((x, top, x + 150, 200), fill=chance.choice(["#c9b8a4", "#b7a08c", "#d5cabb"]))
    draw.rectangle((0, 200, _WIDTH, _HEIGHT), fill="#8c8c8c")
    for label, (x1, y1, x2, y2) in boxes:
        shape = draw.ellipse if label in {"pothole", "litter"} else draw.rectangle
        shape((x1, y1, x2, y2), fill=_SHAPES[label], outline="#222222")
    return picture
