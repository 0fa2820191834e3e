"""Boxes -> counts per image and class: everything that any figure is a sum of.

A cell is an image and a class with at least one box, gold or predicted. For a cell: g gold boxes, p predicted
ones, and per threshold the matched ones. Every score, interval and table is made from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beholder.detection.boxes import Boxes, Gold, IntArray, Predictions
from beholder.detection.match import maximum_matching
from beholder.detection.pairs import Groups
from beholder.errors import SpecError

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """One model's counts on its valid images.

    Attributes:
        classes: All classes of gold and of every compared model, sorted by code point.
        image, label: (M,) image and class of each cell.
        gold, predicted: (M,) boxes.
        matched: (M, T) matched boxes per threshold, in the order of `thresholds`.
        thresholds: T thresholds, as asked for.
        near: (T,) pairs within 1e-9 of the threshold.
        valid: (N,) bool, the images that count.
        false_alarm: (N,) bool, valid images without gold boxes and with a prediction.
    """

    classes: tuple[str, ...]
    image: Counts
    label: Counts
    gold: Counts
    predicted: Counts
    matched: Counts
    thresholds: tuple[float, ...]
    near: tuple[int, ...]
    valid: NDArray[np.bool_]
    false_alarm: NDArray[np.bool_]


def checked_thresholds(thresholds: Sequence[float]) -> tuple[float, ...]:
    """Thresholds as floats, each once.

    Raises:
        SpecError: `bad_iou_threshold`, unless each is above 0 and at most 1.
    """
    if not thresholds:
        raise SpecError("at least one IoU threshold is needed", slug="bad_iou_threshold")
    for threshold in thresholds:
        if not 0 < threshold <= 1:
            raise SpecError(
                f"IoU threshold {threshold}: must be above 0 and at most 1",
                slug="bad_iou_threshold",
                concerns=str(threshold),
            )
    return tuple(dict.fromkeys(map(float, thresholds)))


def all_classes(gold: Gold, predictions: Sequence[Predictions]) -> tuple[str, ...]:
    """Every class that occurs, sorted by code point; nothing is folded, stripped or normalised."""
    return tuple(
        sorted({*gold.boxes.classes, *(name for model in predictions for name in model.boxes.classes)})
    )


def cell_keys(boxes: Boxes, classes: tuple[str, ...]) -> Counts:
    """(B,) image * number of classes + class, with the class numbered as in `classes`."""
    number = {name: at for at, name in enumerate(classes)}
    recode = np.array([number[name] for name in boxes.classes], np.int64)
    label = recode[boxes.label] if len(boxes) else np.empty(0, np.int64)
    return boxes.image.astype(np.int64) * len(classes) + label


class GoldCells:
    """Gold, made ready once for the matching of every model."""

    def __init__(self, gold: Gold, classes: tuple[str, ...]) -> None:
        self.gold = gold
        self.classes = classes
        self.key = cell_keys(gold.boxes, classes)
        self.groups = Groups(self.key, gold.boxes.corners)

    def tally(self, model: Predictions, thresholds: tuple[float, ...]) -> Tally:
        """Match one model's boxes at each threshold and count."""
        valid = model.valid
        gold_key = self.key if valid.all() else self.key[valid[self.gold.boxes.image]]
        key = cell_keys(model.boxes, self.classes)
        cells, at = np.unique(np.concatenate([gold_key, key]), return_inverse=True)
        n_gold = np.bincount(at[: len(gold_key)], minlength=len(cells))
        of_prediction = at[len(gold_key) :]
        edges = self.groups.edges(key, model.boxes.corners, thresholds)
        matched = np.zeros((len(cells), len(thresholds)), np.int64)
        for column, threshold in enumerate(thresholds):
            reached = np.flatnonzero(edges.level > edges.thresholds.index(threshold))
            left, right = edges.predicted[reached], edges.gold[reached]
            chosen = maximum_matching(
                left, right, of_prediction[left], len(model.boxes), len(self.gold.boxes)
            )
            matched[:, column] = np.bincount(of_prediction[left[chosen]], minlength=len(cells))
        answered = np.zeros(len(self.gold), np.bool_)
        answered[model.boxes.image] = True
        return Tally(
            classes=self.classes,
            image=cells // len(self.classes) if self.classes else cells,
            label=cells % len(self.classes) if self.classes else cells,
            gold=n_gold,
            predicted=np.bincount(of_prediction, minlength=len(cells)),
            matched=matched,
            thresholds=thresholds,
            near=tuple(edges.near[edges.thresholds.index(threshold)] for threshold in thresholds),
            valid=valid,
            false_alarm=valid & answered & (self.gold.n_boxes == 0),
        )


def match_boxes(gold: Boxes, predicted: Boxes, threshold: float) -> tuple[IntArray, IntArray]:
    """Matched pairs of boxes, as positions in `gold` and in `predicted`.

    Same image, same class, IoU at least `threshold`; no box twice; as many pairs as can be.
    """
    classes = tuple(sorted({*gold.classes, *predicted.classes}))
    gold_key, key = cell_keys(gold, classes), cell_keys(predicted, classes)
    edges = Groups(gold_key, gold.corners).edges(key, predicted.corners, checked_thresholds([threshold]))
    chosen = maximum_matching(edges.predicted, edges.gold, key[edges.predicted], len(predicted), len(gold))
    return edges.gold[chosen].astype(np.int32), edges.predicted[chosen].astype(np.int32)


def n_degenerate(boxes: Boxes) -> int:
    """Boxes without area."""
    return int(boxes.degenerate.sum())
