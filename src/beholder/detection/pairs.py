"""Intersection over union, only where it can matter: within image and class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beholder.detection.formats import FloatArray, is_degenerate

Index = NDArray[np.int64]

NEAR = 1e-9
"""Pairs whose IoU lies this near a threshold are counted: another order of operations could turn them."""

_PAIRS_AT_A_TIME = 1 << 17


def pairwise_iou(a: FloatArray, b: FloatArray) -> FloatArray:
    """Intersection over union of every box in `a` with every box in `b`.

    Args:
        a: (N, 4) float64, corners x1 y1 x2 y2 in pixels.
        b: (M, 4), same convention.

    Returns:
        (N, M) float64 in [0, 1]; 0 for a box without area, and where an area is not finite.
    Source: Jaccard index; COCO box edges, no +1 pixel.
    """
    n, m = len(a), len(b)
    left, right = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    good = ~(is_degenerate(a)[left] | is_degenerate(b)[right])
    return np.where(good, _iou(_columns(b), right, _columns(a), left), 0.0).reshape(n, m)


def _columns(corners: FloatArray) -> FloatArray:
    """(5, N): x1, y1, x2, y2 and the area of boxes (N, 4), each contiguous."""
    x1, y1, x2, y2 = corners.T
    with np.errstate(over="ignore", invalid="ignore"):
        return np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)])


def _iou(gold: FloatArray, g: Index, predicted: FloatArray, p: Index) -> FloatArray:
    """(P,) IoU of pairs of boxes that have an area, given as columns and positions.

    inter / ((area_gold + area_predicted) - inter), in float64 and in this order; numpy fuses none of it.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        width = np.minimum(gold[2][g], predicted[2][p]) - np.maximum(gold[0][g], predicted[0][p])
        height = np.minimum(gold[3][g], predicted[3][p]) - np.maximum(gold[1][g], predicted[1][p])
        inter = width * height
        union = (gold[4][g] + predicted[4][p]) - inter
        iou = inter / union
        # Negative width times negative height would look like an overlap.
        return np.where((width > 0) & (height > 0) & (union > 0) & (union < np.inf), iou, 0.0)


@dataclass(frozen=True)
class Edges:
    """Pairs of one gold and one predicted box of the same image and class that reach a threshold.

    Attributes:
        gold, predicted: (E,) positions of the boxes.
        level: (E,) how many of the thresholds, in rising order, the pair reaches; at least 1.
        thresholds: The thresholds in rising order.
        near: Per threshold, the pairs within `NEAR` of it.
    """

    gold: NDArray[np.int64]
    predicted: NDArray[np.int64]
    level: NDArray[np.uint8]
    thresholds: tuple[float, ...]
    near: tuple[int, ...]


class Groups:
    """Gold boxes sorted by key, so that the partners of any other box are one slice.

    A key stands for an image and a class. Boxes without area have no partners and are left out.
    """

    def __init__(self, key: NDArray[np.int64], corners: FloatArray) -> None:
        usable = np.flatnonzero(~is_degenerate(corners))
        order = usable[np.argsort(key[usable], kind="stable")]
        self._keys, self._start, self._count = np.unique(key[order], return_index=True, return_counts=True)
        self._order = order
        self._columns = _columns(corners[order])

    def mean_best_iou(self, key: NDArray[np.int64], corners: FloatArray) -> float | None:
        """Mean over predicted boxes (P,) with a partner of the best IoU; None without any.

        A predicted box without area counts with 0.
        """
        at = self._place(key)
        with_partner = np.flatnonzero(at >= 0)
        if not len(with_partner):
            return None
        best = np.zeros(len(key))
        for left, _, iou in self._pairs(key, corners):
            np.maximum.at(best, left, iou)
        return float(best[with_partner].mean())

    def edges(self, key: NDArray[np.int64], corners: FloatArray, thresholds: Sequence[float]) -> Edges:
        """The edges to predicted boxes with keys (P,) and corners (P, 4).

        A pair matches a threshold if its IoU, as float64, is at least the threshold. Memory: the edges,
        and a bounded number of pairs at a time.
        """
        rising = tuple(sorted(thresholds))
        near = np.zeros(len(rising), np.int64)
        parts: list[tuple[Index, Index, NDArray[np.uint8]]] = []
        for left, right, every_iou in self._pairs(key, corners):
            found = np.flatnonzero(every_iou >= rising[0] - NEAR)
            iou = every_iou[found]
            level = np.zeros(len(found), np.uint8)
            for k, threshold in enumerate(rising):
                level += iou >= threshold
                near[k] += np.count_nonzero(np.abs(iou - threshold) <= NEAR)
            found = found[level > 0]
            parts.append((self._order[right[found]], left[found], level[level > 0]))
        parts.append((np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8)))
        return Edges(
            gold=np.concatenate([part[0] for part in parts]),
            predicted=np.concatenate([part[1] for part in parts]),
            level=np.concatenate([part[2] for part in parts]),
            thresholds=rising,
            near=tuple(int(n) for n in near),
        )

    def _place(self, key: Index) -> Index:
        """(P,) position of each key among ours; -1 for none."""
        if not len(self._keys):
            return np.full(len(key), -1)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where(self._keys[at] == key, at, -1)

    def _pairs(self, key: Index, corners: FloatArray) -> Iterator[tuple[Index, Index, FloatArray]]:
        """Predicted boxes, their partners by place in our order, and the IoUs, a bounded number at a time."""
        place = self._place(key)
        predicted = np.flatnonzero((place >= 0) & ~is_degenerate(corners))
        count, start = self._count[place[predicted]], self._start[place[predicted]]
        ends = np.cumsum(count)
        columns = _columns(corners)
        first = 0
        while first < len(predicted):
            done = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + _PAIRS_AT_A_TIME, side="right")))
            n = count[first:last]
            left = np.repeat(predicted[first:last], n)
            offset = np.arange(len(left)) - np.repeat(np.cumsum(n) - n, n)
            right = np.repeat(start[first:last], n) + offset
            yield left, right, _iou(self._columns, right, columns, left)
            first = last
