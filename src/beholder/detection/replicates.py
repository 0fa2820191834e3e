"""Counts per image -> replicates of the counts per class, as sparse matrix products.

A figure depends on images only through sums, so a bootstrap replicate is (what each image adds) x (how often
it was drawn). The sums are integers below 2^24, exact in float32 in any order: threads cannot change a bit.

Most of what an image adds is said by one number (a box that matches at 0.50 matches at 0.30 too), so the
columns hold differences, and the counts are running sums over them: fewer entries, fewer products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beholder.detection.tally import Tally

FloatArray = NDArray[np.float64]
Generate = Callable[[np.random.Generator, int, int], NDArray[np.float32]]

CLASSIFICATION = "classification"

_CELLS_AT_A_TIME = 3_000_000  # weights in memory: 12 MB


@dataclass(frozen=True)
class Population:
    """The images that are resampled.

    Attributes:
        row: (N,) position of each image among them, by order of id, so that the order of files does not
            matter; -1 outside.
        n: How many they are.
    """

    row: NDArray[np.int64]
    n: int


def population(images: NDArray[np.bool_], by_id: NDArray[np.int64]) -> Population:
    """The images of a mask (N,), in the order `by_id` (N,)."""
    row = np.full(len(images), -1, np.int64)
    inside = by_id[images[by_id]]
    row[inside] = np.arange(len(inside))
    return Population(row, len(inside))


@dataclass(frozen=True)
class Cells:
    """One task's counts per cell in a population: image, class, matched, predicted, gold; (M,) each."""

    image: NDArray[np.int64]
    label: NDArray[np.int64]
    matched: NDArray[np.int64]
    predicted: NDArray[np.int64]
    gold: NDArray[np.int64]


def task_names(tally: Tally) -> list[str]:
    """`classification`, and each threshold by its key."""
    return [CLASSIFICATION, *map(str, tally.thresholds)]


def cells(tally: Tally, people: Population, task: str) -> Cells:
    """The cells of one task; classification counts presence."""
    row = people.row[tally.image]
    order = np.argsort(row, kind="stable")  # by id, so that sums do not depend on the file's order
    inside = order[row[order] >= 0]
    gold, predicted = tally.gold[inside], tally.predicted[inside]
    if task == CLASSIFICATION:
        gold, predicted = np.minimum(gold, 1), np.minimum(predicted, 1)
        matched = gold & predicted
    else:
        matched = tally.matched[inside, task_names(tally).index(task) - 1]
    return Cells(row[inside], tally.label[inside], matched, predicted, gold)


@dataclass(frozen=True)
class Sums:
    """Replicates of the counts, the first of which is the data itself.

    Attributes:
        tasks: Per task, matched and predicted boxes (or images) per class, (C, 1 + R) each.
        alarms: (1 + R,) negative images with a prediction.
    """

    tasks: Mapping[str, tuple[FloatArray, FloatArray]]
    alarms: FloatArray


def model_matrix(tally: Tally, people: Population) -> Any:
    """What each image adds to one model's counts: sparse, float32, (columns, n)."""
    presence = cells(tally, people, CLASSIFICATION)
    falling = sorted(tally.thresholds, reverse=True)
    boxes = [cells(tally, people, str(threshold)) for threshold in falling]
    columns = [presence.predicted, boxes[0].predicted - presence.predicted, presence.matched]
    before = np.zeros_like(presence.predicted)
    for one in boxes:
        columns.append(one.matched - before)
        before = one.matched
    return _matrix(presence, columns, len(tally.classes), people.row[tally.false_alarm], people.n)


def unfold_model(product: NDArray[np.float32], tally: Tally) -> Sums:
    """The counts of `product`, (K, 1 + R), which is one of `products` with `model_matrix`."""
    images, more, both, *steps = _blocks(product, 3 + len(tally.thresholds))
    falling = sorted(tally.thresholds, reverse=True)
    matched = dict(zip(map(str, falling), np.cumsum(steps, axis=0), strict=True))
    tasks = {str(threshold): (matched[str(threshold)], images + more) for threshold in tally.thresholds}
    return Sums({CLASSIFICATION: (both, images), **tasks}, product[-1].astype(np.float64))


def gold_matrix(tally: Tally, people: Population, negative: NDArray[np.bool_]) -> Any:
    """As `model_matrix`, for gold, which is the same for every model that was valid on these images.

    Args:
        negative: (N,) images without a gold box.
    """
    presence = cells(tally, people, CLASSIFICATION)
    boxes = cells(tally, people, str(tally.thresholds[0]))
    columns = [presence.gold, boxes.gold - presence.gold]
    return _matrix(presence, columns, len(tally.classes), people.row[negative], people.n)


def unfold_gold(product: NDArray[np.float32], tally: Tally) -> tuple[dict[str, FloatArray], FloatArray]:
    """Gold per task (C, 1 + R), and negative images (1 + R,)."""
    images, more = _blocks(product, 2)
    return {task: images if task == CLASSIFICATION else images + more for task in task_names(tally)}, product[
        -1
    ].astype(np.float64)


def _blocks(product: NDArray[np.float32], n_blocks: int) -> list[FloatArray]:
    """(C, 1 + R) each; the last row, of flagged images, belongs to none."""
    n_classes = (len(product) - 1) // n_blocks
    return list(product[:-1].astype(np.float64).reshape(n_blocks, n_classes, product.shape[1]))


def _matrix(
    where: Cells, columns: Sequence[NDArray[np.int64]], n_classes: int, flagged: NDArray[np.int64], n: int
) -> Any:
    """Blocks of n_classes rows, one per column of values per cell, and a last row of flagged images."""
    from scipy.sparse import csr_array

    at = [np.flatnonzero(values) for values in columns]
    flagged = flagged[flagged >= 0]
    last = len(columns) * n_classes
    row = [where.label[kept] + k * n_classes for k, kept in enumerate(at)]
    value = [values[kept] for values, kept in zip(columns, at, strict=True)]
    return csr_array(
        (
            np.concatenate([*value, np.ones(len(flagged))]).astype(np.float32),
            (
                np.concatenate([*row, np.full(len(flagged), last)]),
                np.concatenate([*(where.image[kept] for kept in at), flagged]),
            ),
        ),
        shape=(last + 1, n),
    )


def products(
    matrices: Sequence[Any], generate: Generate, seed: Sequence[int], n: int, replicates: int
) -> list[Any]:
    """Each matrix times a column of ones, then times generated weights: (K, 1 + R) float32.

    The same weights for all matrices, made in pieces, so that memory is bounded; which pieces they are does
    not change them.
    """
    generator = np.random.default_rng(list(seed))
    parts = [[matrix @ np.ones((n, 1), np.float32)] for matrix in matrices]
    step = max(8, min(256, _CELLS_AT_A_TIME // n))
    for start in range(0, replicates, step):
        weights = generate(generator, n, min(step, replicates - start))
        for matrix, part in zip(matrices, parts, strict=True):
            part.append(matrix @ weights)
    return [np.concatenate(part, axis=1) for part in parts]
