"""Figures of counts over pools of classes, and what leaving out one image does to them.

Arrays keep replicates (or images left out) on the last axis, so that a figure of the data, of 2,000
replicates and of n data sets with one image less are the same expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beholder.detection.metrics import UNMAPPED, exact_beta, f_name
from beholder.detection.replicates import Cells, FloatArray, Population
from beholder.stats.bootstrap import Moments, moments


@dataclass(frozen=True)
class Pools:
    """What counts are pooled into: each class, each domain, everything.

    Attributes:
        names: Per pool its place in the summary: ("per_class", name), ("domain_micro", name), ("micro",).
        domain: (C,) number of each class's domain.
        n_classes, n_domains: Pools are numbered classes, domains, all.
        ratio: b² of the F score.
        keys: Names of the three figures.
    """

    names: tuple[tuple[str, ...], ...]
    domain: NDArray[np.int64]
    n_classes: int
    n_domains: int
    ratio: float
    keys: tuple[str, str, str]

    def pool(self, counts: FloatArray) -> FloatArray:
        """(C, R) counts per class to (P, R) counts per pool."""
        belongs = (np.arange(self.n_domains)[:, None] == self.domain).astype(np.float64)
        # whole numbers far below 2^53: exact, in whatever order the product adds them up
        return np.concatenate([counts, belongs @ counts, counts.sum(axis=0, keepdims=True)])


def make_pools(classes: Sequence[str], domains: Mapping[str, str], beta: float | str) -> Pools:
    """Pools of these classes."""
    of_class = [domains.get(name, UNMAPPED) for name in classes]
    known = sorted(set(of_class))
    weight = exact_beta(beta)
    return Pools(
        names=(
            *(("per_class", name) for name in classes),
            *(("domain_micro", name) for name in known),
            ("micro",),
        ),
        domain=np.array([known.index(name) for name in of_class], np.int64),
        n_classes=len(classes),
        n_domains=len(known),
        ratio=float(weight**2),
        keys=("precision", "recall", f_name(weight)),
    )


def ratio_arrays(tp: FloatArray, p: FloatArray, g: FloatArray, ratio: float) -> FloatArray:
    """(3, …) precision, recall and F of counts; NaN where p + g = 0, else 0 over a zero denominator."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.stack([tp / p, tp / g, (1 + ratio) * tp / (p + ratio * g)])
    found[0][p == 0] = 0.0
    found[1][g == 0] = 0.0
    found[:, p + g == 0] = np.nan
    return found


def _mean_over(values: FloatArray, represented: NDArray[np.bool_]) -> FloatArray:
    """(3, C, R) to (3, R): mean over the represented classes; NaN over none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: FloatArray = np.where(represented, values, 0.0).sum(axis=1) / represented.sum(axis=0)
    return means


def task_figures(tp: FloatArray, p: FloatArray, g: FloatArray, pools: Pools) -> FloatArray:
    """(3, P + 2, R): precision, recall, F of every pool, then of the two means over classes."""
    pooled = ratio_arrays(pools.pool(tp), pools.pool(p), pools.pool(g), pools.ratio)
    per_class = pooled[:, : pools.n_classes]
    return np.concatenate(
        [pooled, _mean_over(per_class, p + g > 0)[:, None], _mean_over(per_class, g > 0)[:, None]], axis=1
    )


@dataclass(frozen=True)
class LeftOut:
    """What leaving out one image changes.

    Attributes:
        moments: Of the (3 * (P + 2),) figures of a task, in the order of `task_figures`.
        contributing: (3, P) images that have a say: with a prediction, with gold, with either.
        headline: (2, n) changes of micro F and macro F per image.
    """

    moments: Moments
    contributing: NDArray[np.int64]
    headline: FloatArray


def leave_one_out(task: Cells, people: Population, pools: Pools) -> LeftOut:
    """Jackknife over images, at the cost of the cells: an image without a class leaves its figures alone."""
    n_pools, n_cells = len(pools.names), len(task.label)
    entries = [
        (task.label, task.image, task.matched, task.predicted, task.gold),
        _merged(pools.domain[task.label] + pools.n_classes, task, people.n),
        _merged(np.full(n_cells, n_pools - 1), task, people.n),
    ]
    pool, image, tp, p, g = (np.concatenate(part) for part in zip(*entries, strict=True))
    all_tp, all_p, all_g = (as_float(np.bincount(pool, values, minlength=n_pools)) for values in (tp, p, g))
    whole = ratio_arrays(all_tp, all_p, all_g, pools.ratio)
    rest = ratio_arrays(all_tp[pool] - tp, all_p[pool] - p, all_g[pool] - g, pools.ratio)
    changes = whole[:, pool] - rest
    cell_g, cell_both = (all_g[pool] - g)[:n_cells], (all_p[pool] + all_g[pool] - p - g)[:n_cells]
    means = [
        _mean_changes(task, people.n, whole[:, : pools.n_classes], rest[:, :n_cells], inside, stays)
        for inside, stays in (
            ((all_p + all_g)[: pools.n_classes] > 0, cell_both > 0),
            (all_g[: pools.n_classes] > 0, cell_g > 0),
        )
    ]
    per_figure = [
        _stacked(
            [_sparse_moments(pool, changes[k], n_pools, people.n), *(moments(e[k : k + 1]) for e in means)]
        )
        for k in range(3)
    ]
    everything = pool == n_pools - 1
    micro = np.zeros(people.n)
    micro[image[everything]] = changes[2, everything]
    contributing = [np.bincount(pool[part > 0], minlength=n_pools) for part in (p, g, p + g)]
    return LeftOut(_stacked(per_figure), np.stack(contributing), np.stack([micro, means[0][2]]))


def _merged(pool: NDArray[np.int64], task: Cells, n: int) -> tuple[NDArray[Any], ...]:
    """Cells added up by pool and image."""
    key, at = np.unique(pool * n + task.image, return_inverse=True)
    sums = [
        np.bincount(at, values, minlength=len(key)) for values in (task.matched, task.predicted, task.gold)
    ]
    return (key // n, key % n, *sums)


def _mean_changes(
    task: Cells,
    n: int,
    whole: FloatArray,
    rest: FloatArray,
    inside: NDArray[np.bool_],
    stays: NDArray[np.bool_],
) -> FloatArray:
    """(3, n) changes of the mean over the classes `inside` (C,).

    Without a cell its class `stays` (M,) or leaves the mean.
    """
    total = np.where(inside, whole, 0.0).sum(axis=1)
    count = int(inside.sum())
    ours = inside[task.label]
    lost = np.where(stays, whole[:, task.label] - rest, whole[:, task.label])[:, ours]
    left = count - np.bincount(task.image[ours & ~stays], minlength=n)
    found = np.empty((3, n))
    with np.errstate(invalid="ignore", divide="ignore"):
        for k in range(3):
            sums = total[k] - np.bincount(task.image[ours], lost[k], minlength=n)
            found[k] = total[k] / count - np.where(left > 0, sums / left, np.nan)
    return found


def _sparse_moments(pool: NDArray[Any], e: FloatArray, n_pools: int, n: int) -> Moments:
    """Moments per pool of changes that are 0 for the images without an entry."""
    known = ~np.isnan(e)
    e, at = e[known], pool[known]
    n_undefined = np.bincount(pool[~known], minlength=n_pools)
    first, second, third = (np.bincount(at, power, minlength=n_pools) for power in (e, e * e, e * e * e))
    return Moments((n - n_undefined).astype(np.float64), as_float(first), as_float(second), as_float(third))


def as_float(values: NDArray[Any]) -> FloatArray:
    """The same values, in the same shape, as float64."""
    return values.astype(np.float64, copy=False)


def _stacked(parts: Sequence[Moments]) -> Moments:
    return Moments(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("n", "first", "second", "third")
        )
    )
