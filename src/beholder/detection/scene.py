"""One image's boxes with what became of each: the plain data that pictures are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beholder.detection.boxes import Gold, Predictions
from beholder.detection.tally import Tally, match_boxes

MATCHED, MISSED, HIT, FALSE = "matched", "missed", "hit", "false"

WORDS = {
    MATCHED: "gold box, found",
    MISSED: "gold box, missed (FN)",
    HIT: "predicted box, right (TP)",
    FALSE: "predicted box, wrong (FP)",
}

# Colours that the colour-blind can tell (Okabe and Ito 2008); the dashes tell the same without colour:
# pixels on, pixels off, in turn; () is a full line.
COLOURS = {MATCHED: "#0072b2", MISSED: "#e69f00", HIT: "#009e73", FALSE: "#d55e00"}
DASHES: dict[str, tuple[int, ...]] = {MATCHED: (), MISSED: (12, 6), HIT: (), FALSE: (3, 4)}
WIDTHS = {MATCHED: 4, MISSED: 3, HIT: 2, FALSE: 3}


@dataclass(frozen=True)
class Mark:
    """A box to draw: what it is, its class, x1 y1 x2 y2 in pixels of the image, as the file says."""

    kind: str
    label: str
    corners: tuple[float, float, float, float]


@dataclass(frozen=True)
class Scene:
    """An image and the marks on it. `status` is that of the model's answer."""

    image_id: str
    width: float
    height: float
    model: str
    threshold: float
    status: int
    marks: tuple[Mark, ...]

    def count(self, kind: str) -> int:
        """How many marks of a kind."""
        return sum(mark.kind == kind for mark in self.marks)


def drawn_scale(scene: Scene, longest_px: float) -> float:
    """Drawn pixels per pixel of the image, so that its longer side has `longest_px`.

    An image that is declared smaller than a thousandth of a pixel is drawn as if it were that large.
    """
    return longest_px / max(scene.width, scene.height, 1e-3)


def drawn_corners(mark: Mark, scale: float, size: tuple[float, float]) -> tuple[float, float, float, float]:
    """Corners in order, scaled, at most a little outside, at least 3 pixels wide: drawn, not measured."""
    x1, y1, x2, y2 = mark.corners
    left, right = (min(max(x * scale, -8.0), size[0] + 8.0) for x in sorted((x1, x2)))
    top, bottom = (min(max(y * scale, -8.0), size[1] + 8.0) for y in sorted((y1, y2)))
    return left, top, max(right, left + 3), max(bottom, top + 3)


def scenes(gold: Gold, model: Predictions, images: Sequence[int], threshold: float) -> list[Scene]:
    """Scenes of some images, by position."""
    gold_matched, predicted_matched = match_boxes(gold.boxes, model.boxes, threshold)
    sides = []
    for boxes, matched, kinds in (
        (gold.boxes, gold_matched, (MISSED, MATCHED)),
        (model.boxes, predicted_matched, (FALSE, HIT)),
    ):
        is_matched = np.zeros(len(boxes), np.int64)
        is_matched[matched] = 1
        sides.append((boxes, is_matched, kinds))
    found = []
    for image in images:
        marks = []
        for boxes, is_matched, kinds in sides:
            for at in np.flatnonzero(boxes.image == image):
                x1, y1, x2, y2 = boxes.corners[at].tolist()
                label = boxes.classes[int(boxes.label[at])]
                marks.append(Mark(kinds[int(is_matched[at])], label, (x1, y1, x2, y2)))
        width, height = gold.size[image].tolist()
        status = int(model.status[image])
        found.append(Scene(gold.image_ids[image], width, height, model.name, threshold, status, tuple(marks)))
    return found


def worst_images(gold: Gold, tally: Tally, n: int) -> list[int]:
    """Positions of the n valid images with most errors (FP + FN) at the first threshold.

    Ties go to fewer matches, then to the smaller id. Images without an error are never among them.
    """
    matched = tally.matched[:, 0]
    size = len(gold)
    errors = np.bincount(tally.image, tally.gold + tally.predicted - 2 * matched, minlength=size)
    hits = np.bincount(tally.image, matched, minlength=size)
    candidates = np.flatnonzero((errors > 0) & tally.valid).tolist()
    candidates.sort(key=lambda at: (-errors[at], hits[at], gold.image_ids[at]))
    return candidates[:n]
