"""How far annotators agree: alpha, kappa, class-set F1, box F1, with intervals over images.

    alpha          Krippendorff's, nominal, on presence; a unit is an image and a class. Who did not rate an
                   image is missing there; units with fewer than two raters are left out
    kappa          Cohen's, of two annotators, on the images both rated; the same units
    class_set_f1   2 |A and B| / (|A| + |B|), sums over those images of the sets of classes
    box_f1         2 TP / (boxes of A + boxes of B), maximum matching within image and class

The classes are those of the class file together with all that occur, in every group. A figure that is not
defined (nobody ever said anything else; nothing was seen) is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from beholder.detection.annotations import Annotations
from beholder.detection.boxes import Boxes
from beholder.detection.replicates import products
from beholder.detection.tally import checked_thresholds, match_boxes
from beholder.detection.uncertainty import interval_leaf, number_or_null
from beholder.errors import SpecError
from beholder.stats.agreement import alpha_terms, cohen_kappa, krippendorff_alpha
from beholder.stats.bootstrap import intervals, moments, resampling_counts

FloatArray = NDArray[np.float64]


def agreement(
    annotations: Annotations,
    *,
    thresholds: Sequence[float] = (0.5,),
    classes: Sequence[str] = (),
    replicates: int = 0,
    seed: int = 0,
) -> dict[str, Any]:
    """Agreement overall and in each group, as plain data.

    Args:
        classes: Classes that annotators could choose, beside those that occur.
        replicates: Bootstrap replicates over images; 0 for no intervals.

    Raises:
        SpecError: `bad_iou_threshold`, `bad_bootstrap`.
    """
    wanted = checked_thresholds(thresholds)
    if replicates == 1 or replicates < 0 or seed < 0:
        raise SpecError("bootstrap: at least 2 replicates and a seed from 0", slug="bad_bootstrap")
    names = tuple(sorted({*classes, *annotations.boxes.classes}))
    everyone = np.ones(len(annotations.image), np.bool_)
    scopes = {group: annotations.group == at for at, group in enumerate(annotations.groups)}
    return {
        "schema": 1,
        "n_images": len(annotations.image_ids),
        "annotators": list(annotations.annotators),
        "classes": list(names),
        "iou": list(wanted),
        "sha256": annotations.sha256,
        "bootstrap": {"unit": "image", "replicates": replicates, "seed": seed} if replicates else None,
        "overall": _scope(annotations, everyone, names, wanted, replicates, seed),
        "groups": {
            group: _scope(annotations, rows, names, wanted, replicates, seed)
            for group, rows in scopes.items()
        },
    }


@dataclass(frozen=True)
class _Pair:
    """Two annotators. `sums` (n, 5 + T): images both rated, classes of each, of both, all boxes, matched."""

    first: int
    second: int
    sums: FloatArray


def _scope(
    annotations: Annotations,
    rows: NDArray[np.bool_],
    classes: tuple[str, ...],
    thresholds: tuple[float, ...],
    replicates: int,
    seed: int,
) -> dict[str, Any]:
    """The figures of some rows."""
    images, image = np.unique(annotations.image[rows], return_inverse=True)
    people = np.unique(annotations.annotator[rows])
    seen = _presence(annotations, classes)[rows]
    raters = np.bincount(image, minlength=len(images))
    yes = np.zeros((len(images), len(classes)), np.int64)
    np.add.at(yes, image, seen)
    alpha_sums = _alpha_sums(raters, yes)
    pairs = [
        _pair(annotations, rows, a, b, len(images), image, seen, thresholds)
        for a, b in combinations(people, 2)
    ]
    pairs = [pair for pair in pairs if pair.sums[:, 0].any()]
    table = np.concatenate([alpha_sums, *(pair.sums for pair in pairs)], axis=1)
    layout = _Layout(len(classes), len(pairs), thresholds)
    # Sparse, so that the order of additions, and with it the last bit, does not depend on threads.
    sums = products([csr_array(table.T)], resampling_counts, (seed, 0), len(images), replicates)[0]
    figures = layout.figures(sums)
    leaves = _leaves(figures, table, layout) if replicates else {}
    number = {key: number_or_null(values[0]) for key, values in figures.items()}
    at = annotations.annotators
    return {
        "n_images": len(images),
        "n_images_paired": int((raters >= 2).sum()),
        "n_ratings": {at[who]: int((annotations.annotator[rows] == who).sum()) for who in people},
        "alpha": number["alpha",],
        "alpha_per_class": {name: number["alpha", k] for k, name in enumerate(classes)},
        **({"intervals": {"alpha": leaves["alpha",]}} if replicates else {}),
        "pairs": [
            {
                "first": at[pair.first],
                "second": at[pair.second],
                "n_images": int(pair.sums[:, 0].sum()),
                "kappa": number["kappa", k],
                "class_set_f1": number["class_set_f1", k],
                "box_f1": {str(t): number["box_f1", k, t] for t in thresholds},
                **({"intervals": _pair_leaves(leaves, k, thresholds)} if replicates else {}),
            }
            for k, pair in enumerate(pairs)
        ],
        "mean_over_pairs": {
            "n_pairs": len(pairs),
            "kappa": _mean([number["kappa", k] for k in range(len(pairs))]),
            "class_set_f1": _mean([number["class_set_f1", k] for k in range(len(pairs))]),
            "box_f1": {
                str(t): _mean([number["box_f1", k, t] for k in range(len(pairs))]) for t in thresholds
            },
        },
    }


def _presence(annotations: Annotations, classes: tuple[str, ...]) -> NDArray[np.int64]:
    """(A, C) of 0 and 1: who saw which class."""
    code = {name: at for at, name in enumerate(classes)}
    recode = np.array([code[name] for name in annotations.boxes.classes], np.int64)
    seen = np.zeros((len(annotations.image), len(classes)), np.int64)
    if len(annotations.boxes):
        seen[annotations.boxes.image, recode[annotations.boxes.label]] = 1
    return seen


def _alpha_sums(raters: NDArray[np.int64], yes: NDArray[np.int64]) -> FloatArray:
    """(n, 1 + 2 C): raters that can be paired, then per class their disagreement, then who said yes."""
    none = alpha_terms(raters[:, None])[:, :1]
    terms = [alpha_terms(np.column_stack([said, raters - said])) for said in yes.T]
    return np.column_stack([none, *(term[:, 1] for term in terms), *(term[:, 2] for term in terms)])


def _pair(
    annotations: Annotations,
    rows: NDArray[np.bool_],
    a: int,
    b: int,
    n: int,
    image: NDArray[np.int64],
    seen: NDArray[np.int64],
    thresholds: tuple[float, ...],
) -> _Pair:
    """What two annotators said of the images that both rated."""
    number = np.flatnonzero(rows)
    person = annotations.annotator[rows]
    row_of = np.full((2, n), -1)
    for side, who in enumerate((a, b)):
        row_of[side, image[person == who]] = np.flatnonzero(person == who)
    both = np.flatnonzero((row_of >= 0).all(axis=0))
    left, right = row_of[:, both]
    boxes = [_boxes_of(annotations, number[side], both) for side in (left, right)]
    sums = np.zeros((n, 5 + len(thresholds)))
    sums[both, 0] = 1
    sums[both, 1] = seen[left].sum(axis=1)
    sums[both, 2] = seen[right].sum(axis=1)
    sums[both, 3] = (seen[left] & seen[right]).sum(axis=1)
    sums[:, 4] = sum(np.bincount(side.image, minlength=n) for side in boxes)
    for k, threshold in enumerate(thresholds):
        matched, _ = match_boxes(boxes[0], boxes[1], threshold)
        sums[:, 5 + k] = np.bincount(boxes[0].image[matched], minlength=n)
    return _Pair(a, b, sums)


def _boxes_of(annotations: Annotations, rows: NDArray[np.int64], images: NDArray[np.int64]) -> Boxes:
    """The boxes of some rows, each row standing for one of `images`."""
    to_image = np.full(len(annotations.image), -1)
    to_image[rows] = images
    image = to_image[annotations.boxes.image] if len(annotations.boxes) else np.empty(0, np.int64)
    kept = image >= 0
    boxes = annotations.boxes
    return Boxes(image[kept].astype(np.int32), boxes.label[kept], boxes.corners[kept], boxes.classes)


Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Layout:
    """Which rows of the sums are what."""

    n_classes: int
    n_pairs: int
    thresholds: tuple[float, ...]

    def figures(self, sums: FloatArray) -> dict[Key, FloatArray]:
        """Every figure (R,) of sums (K, R)."""
        c = self.n_classes
        m, d, n1 = sums[0], sums[1 : 1 + c], sums[1 + c : 1 + 2 * c]
        found: dict[Key, FloatArray] = {
            ("alpha",): _alpha(m * c, d.sum(axis=0), n1.sum(axis=0)),
            **{("alpha", k): _alpha(m, d[k], n1[k]) for k in range(c)},
        }
        width = 5 + len(self.thresholds)
        for k in range(self.n_pairs):
            start = 1 + 2 * c + k * width
            n, a, b, both, boxes, *matched = sums[start : start + width]
            found["kappa", k] = cohen_kappa(n * c, a, b, both)
            found["class_set_f1", k] = _f1(both, a + b)
            for threshold, tp in zip(self.thresholds, matched, strict=True):
                found["box_f1", k, threshold] = _f1(tp, boxes)
        return found


def _alpha(n: FloatArray, disagreement: FloatArray, yes: FloatArray) -> FloatArray:
    return krippendorff_alpha(n, disagreement, np.stack([yes, n - yes]))


def _f1(both: FloatArray, together: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(together > 0, 2 * both / together, np.nan)


def _leaves(figures: dict[Key, FloatArray], table: FloatArray, layout: _Layout) -> dict[Key, dict[str, Any]]:
    """The interval of every figure."""
    without = layout.figures(table.sum(axis=0)[:, None] - table.T)
    stacked = np.stack(list(figures.values()))
    changes = stacked[:, :1] - np.stack([without[key] for key in figures])
    found = intervals(stacked[:, 0], stacked[:, 1:], moments(changes))
    # Wilson's interval makes sense for shares only, which alpha and kappa are not.
    units = {key: _contributing(key, table, layout) if key[0].endswith("f1") else 0 for key in figures}
    return {key: interval_leaf(stacked[at, 0], found, at, units[key]) for at, key in enumerate(figures)}


def _contributing(key: Key, table: FloatArray, layout: _Layout) -> int:
    """Images on which either of a pair saw something."""
    start = 1 + 2 * layout.n_classes + key[1] * (5 + len(layout.thresholds))
    return int((table[:, start + 4] > 0).sum())


def _pair_leaves(leaves: dict[Key, Any], k: int, thresholds: tuple[float, ...]) -> dict[str, Any]:
    return {
        "kappa": leaves["kappa", k],
        "class_set_f1": leaves["class_set_f1", k],
        "box_f1": {str(t): leaves["box_f1", k, t] for t in thresholds},
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
