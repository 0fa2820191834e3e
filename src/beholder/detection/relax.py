"""Semantic relaxation: a second score in which a near class counts for a part.

A class-similarity matrix (CSV; rows gold, columns predicted, values 0 to 1, 1 on the diagonal) weighs every
pair of classes. Soft TP is the largest sum of weights of a one-to-one matching:

    classification   between the class sets of an image
    localisation     between the boxes of an image whose IoU reaches the threshold, whatever their classes

Precision = soft TP / predicted, recall = soft TP / gold, F_b = (1 + b²) soft TP / (predicted + b² gold). The
exact score stands beside it and is never replaced by it. A class that the matrix lacks is like itself only.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beholder.detection.boxes import Boxes, Gold, Predictions
from beholder.detection.metrics import exact_beta, f_name
from beholder.detection.pairs import Groups
from beholder.detection.scoring import common_images
from beholder.detection.tally import checked_thresholds
from beholder.errors import SpecError

LABEL = "semantic relaxation: soft TP by maximum-weight matching; not the exact score"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Similarity:
    """How alike a gold class and a predicted class are: `weight[gold, predicted]`."""

    weight: Mapping[tuple[str, str], float]
    sha256: str

    def between(self, gold: str, predicted: str) -> float:
        """In [0, 1]; 1 for the same class, 0 for pairs that are not listed."""
        return 1.0 if gold == predicted else self.weight.get((gold, predicted), 0.0)


def load_similarity(path: Path) -> Similarity:
    """A matrix with class names in its first row and first column; empty cells are 0.

    Raises:
        SpecError: `bad_similarity`, `unreadable`.
    """
    try:
        data = path.read_bytes()
        rows = [row for row in csv.reader(data.decode("utf-8-sig").splitlines()) if row]
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}", slug="unreadable", concerns=str(path)) from None
    except (UnicodeError, csv.Error) as error:
        raise _bad(path, f"no CSV in UTF-8: {error}") from None
    if not rows:
        raise _bad(path, "empty")
    columns = rows[0][1:]
    if len(set(columns)) < len(columns) or len({row[0] for row in rows[1:]}) < len(rows) - 1:
        raise _bad(path, "a class is named twice")
    weight = {}
    for row in rows[1:]:
        if len(row) != len(rows[0]):
            raise _bad(path, f"row {row[0]!r} has {len(row)} cells, the first row {len(rows[0])}")
        for name, cell in zip(columns, row[1:], strict=True):
            weight[row[0], name] = _weight(path, row[0], name, cell)
    return Similarity(
        {pair: value for pair, value in weight.items() if value}, hashlib.sha256(data).hexdigest()
    )


def _weight(path: Path, gold: str, predicted: str, cell: str) -> float:
    try:
        value = float(cell.strip() or 0)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1 or (gold == predicted and value != 1):
        what = "must be 1" if gold == predicted else "must be a number from 0 to 1"
        raise _bad(path, f"{gold!r} with {predicted!r}: {cell!r} {what}")
    return value


def _bad(path: Path, what: str) -> SpecError:
    return SpecError(f"{path}: {what}", slug="bad_similarity", concerns=str(path))


def relaxed_scores(
    gold: Gold,
    predictions: Sequence[Predictions],
    similarity: Similarity,
    *,
    thresholds: Sequence[float],
    beta: float | str = 2,
) -> dict[str, Any]:
    """Per model and scope the relaxed micro figures, labelled as such.

    Raises:
        SpecError: `bad_iou_threshold`, `bad_beta`.
    """
    wanted = checked_thresholds(thresholds)
    ratio, key = float(exact_beta(beta) ** 2), f_name(exact_beta(beta))
    groups = Groups(gold.boxes.image.astype(np.int64), gold.boxes.corners)
    common = common_images(gold, predictions)
    found = {}
    for model in predictions:
        soft = _soft_tp(gold, model, similarity, groups, wanted)
        found[model.name] = {
            scope: {
                "classification": _figures(soft["classification"], images, ratio, key),
                "localisation": {str(t): _figures(soft[str(t)], images, ratio, key) for t in wanted},
            }
            for scope, images in (("valid", model.valid), ("common", common))
        }
    return {"label": LABEL, "matrix_sha256": similarity.sha256, "models": found}


@dataclass(frozen=True)
class _Soft:
    """Per image (N,): soft TP, predicted, gold."""

    tp: FloatArray
    predicted: NDArray[np.int64]
    gold: NDArray[np.int64]


def _soft_tp(
    gold: Gold, model: Predictions, similarity: Similarity, groups: Groups, thresholds: tuple[float, ...]
) -> dict[str, _Soft]:
    n = len(gold)
    weight = np.array(
        [[similarity.between(g, p) for p in model.boxes.classes] for g in gold.boxes.classes]
    ).reshape(len(gold.boxes.classes), len(model.boxes.classes))
    n_predicted = np.bincount(model.boxes.image, minlength=n)
    found = {}
    edges = groups.edges(model.boxes.image.astype(np.int64), model.boxes.corners, thresholds)
    for threshold in thresholds:
        kept = edges.level > edges.thresholds.index(threshold)
        left, right = edges.gold[kept], edges.predicted[kept]
        value = weight[gold.boxes.label[left], model.boxes.label[right]]
        tp = _heaviest(left, right, value, gold.boxes.image[left], n)
        found[str(threshold)] = _Soft(tp, n_predicted, gold.n_boxes)
    found["classification"] = _soft_sets(gold, model.boxes, weight)
    return found


def _soft_sets(gold: Gold, predicted: Boxes, weight: FloatArray) -> _Soft:
    """Classification: a matching of class sets."""
    n = len(gold)
    sides = []
    for boxes in (gold.boxes, predicted):
        width = max(1, len(boxes.classes))
        key = np.unique(boxes.image.astype(np.int64) * width + boxes.label)
        sides.append((key // width, key % width))
    (g_image, g_label), (p_image, p_label) = sides
    start = np.searchsorted(g_image, np.arange(n + 1))
    count = np.diff(start)[p_image]
    right = np.repeat(np.arange(len(p_image)), count)
    left = np.repeat(start[p_image] - np.cumsum(count) + count, count) + np.arange(len(right))
    tp = _heaviest(left, right, weight[g_label[left], p_label[right]], p_image[right], n)
    return _Soft(tp, np.bincount(p_image, minlength=n), np.bincount(g_image, minlength=n))


def _heaviest(
    left: NDArray[np.int64], right: NDArray[np.int64], value: FloatArray, image: NDArray[Any], n: int
) -> FloatArray:
    """(n,) weight of a maximum-weight matching per image."""
    from scipy.optimize import linear_sum_assignment

    some = value > 0
    left, right, value, image = left[some], right[some], value[some], image[some]
    if not len(left):
        return np.zeros(n)
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    total = np.bincount(image[alone], value[alone], minlength=n).astype(np.float64)
    rest = np.flatnonzero(~alone)
    rest = rest[np.argsort(image[rest], kind="stable")]
    for edges in np.split(rest, np.flatnonzero(np.diff(image[rest])) + 1):
        if not len(edges):
            continue
        _, a = np.unique(left[edges], return_inverse=True)
        _, b = np.unique(right[edges], return_inverse=True)
        table = np.zeros((a.max() + 1, b.max() + 1))
        table[a, b] = value[edges]
        total[image[edges[0]]] += table[linear_sum_assignment(table, maximize=True)].sum()
    return total


def _figures(soft: _Soft, images: NDArray[np.bool_], ratio: float, key: str) -> dict[str, Any]:
    """Micro figures on the images of a scope."""
    tp = math.fsum(soft.tp[images].tolist())
    p, g = int(soft.predicted[images].sum()), int(soft.gold[images].sum())
    nothing = p + g == 0
    return {
        "soft_tp": tp,
        "predicted": p,
        "gold": g,
        "precision": None if nothing else tp / p if p else 0.0,
        "recall": None if nothing else tp / g if g else 0.0,
        key: None if nothing else (1 + ratio) * tp / (p + ratio * g),
    }
