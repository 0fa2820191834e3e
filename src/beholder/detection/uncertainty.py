"""Intervals for every figure and paired comparisons of models, over images.

Per figure: `percentile` and `bca` intervals, and `ci95`, the one to quote, with `ci_method`:

    bca          bias-corrected and accelerated, where it is defined
    percentile   else, where the replicates vary
    wilson       the replicates do not vary and the figure is 0 or 1: Wilson's interval for as many images as
                 contribute to the figure, none of which said otherwise
    constant     they do not vary and the figure is neither: no interval
    undefined    the figure itself is null

A class that a replicate lacks leaves that replicate's means; replicates in which a figure is undefined are
left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beholder.detection.boxes import Gold, Predictions
from beholder.detection.metrics import exact_beta, scope_figures
from beholder.detection.pools import LeftOut, Pools, as_float, leave_one_out, make_pools, task_figures
from beholder.detection.replicates import (
    CLASSIFICATION,
    FloatArray,
    Population,
    Sums,
    cells,
    gold_matrix,
    model_matrix,
    population,
    products,
    task_names,
    unfold_gold,
    unfold_model,
)
from beholder.detection.scoring import common_images
from beholder.detection.tally import Tally
from beholder.errors import SpecError
from beholder.stats.bootstrap import TIE, Intervals, intervals, moments, resampling_counts
from beholder.stats.intervals import wilson_interval
from beholder.stats.permutation import holm, permutation_p_value, random_swaps

_DRAWS, _SWAPS = 0, 1  # the random streams under one seed


def bootstrap(
    gold: Gold,
    predictions: Sequence[Predictions],
    tallies: Sequence[Tally],
    *,
    domains: Mapping[str, str] | None = None,
    beta: float | str = 2,
    replicates: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Intervals of every figure of `summarize`, and paired differences between models.

    Same seed, same numbers: whatever the threads, the order of rows, boxes and files.

    Returns:
        `settings`; `models` {name: {scope: the summary's tree with an interval in each number's place}};
        `paired`, a list, on the images that all models answered.

    Raises:
        SpecError: `bad_bootstrap`, fewer than 2 replicates or a negative seed.
    """
    if replicates < 2 or seed < 0:
        raise SpecError("bootstrap: at least 2 replicates and a seed from 0", slug="bad_bootstrap")
    domains = domains or {}
    pools = make_pools(tallies[0].classes if tallies else (), domains, beta)
    by_id = np.array(sorted(range(len(gold)), key=gold.image_ids.__getitem__), np.int64)
    study = _Study(pools, by_id, gold.n_boxes == 0, domains, exact_beta(beta), replicates, seed)
    common = common_images(gold, predictions)
    on_common = study.run(tallies, common)
    found = {}
    for model, tally, shared in zip(predictions, tallies, on_common, strict=True):
        own = shared if (model.valid == common).all() else study.run([tally], model.valid)[0]
        found[model.name] = {"valid": own.tree, "common": shared.tree}
    names = [model.name for model in predictions]
    return {
        "settings": {
            "unit": "image",
            "replicates": replicates,
            "seed": seed,
            "confidence": 0.95,
            "p_values": "images swapped between two models at random; two-sided; Holm within a figure",
        },
        "models": found,
        "paired": study.paired(names, tallies, on_common, common),
    }


@dataclass(frozen=True)
class _Result:
    """One model on one population: the tree of intervals, and what paired differences need.

    Attributes:
        headline: Per task (2, 1 + R) replicates of micro F and macro F, the data first.
        changes: Per task (2, n).
    """

    tree: dict[str, Any]
    headline: Mapping[str, FloatArray]
    changes: Mapping[str, FloatArray]


@dataclass(frozen=True)
class _Study:
    """The settings of one bootstrap."""

    pools: Pools
    by_id: NDArray[np.int64]
    negative: NDArray[np.bool_]
    domains: Mapping[str, str]
    beta: Fraction
    replicates: int
    seed: int

    def run(self, tallies: Sequence[Tally], images: NDArray[np.bool_]) -> list[_Result]:
        """Each model on the same resampled images; `images`, (N,), says which of gold's take part."""
        people = population(images, self.by_id)
        if not people.n or not tallies:
            return [_Result({}, {}, {}) for _ in tallies]
        matrices = [
            gold_matrix(tallies[0], people, self.negative),
            *(model_matrix(tally, people) for tally in tallies),
        ]
        seed = (self.seed, _DRAWS)
        first, *others = products(matrices, resampling_counts, seed, people.n, self.replicates)
        gold, negatives = unfold_gold(first, tallies[0])
        return [
            self._one(
                tally,
                people,
                unfold_model(product, tally),
                gold,
                negatives,
                scope_figures(tally, images, self.negative, self.domains, self.beta),
            )
            for tally, product in zip(tallies, others, strict=True)
        ]

    def _one(
        self,
        tally: Tally,
        people: Population,
        sums: Sums,
        gold: Mapping[str, FloatArray],
        negatives: FloatArray,
        published: Mapping[str, Any],
    ) -> _Result:
        tree: dict[str, Any] = {"localisation": {}}
        headline, changes = {}, {}
        for task in task_names(tally):
            figures = task_figures(*sums.tasks[task], gold[task], self.pools)
            block = published[task] if task == CLASSIFICATION else published["localisation"][task]
            # The published figures are exact; intervals are about them, and rounding is no difference.
            figures[:, :, 0] = self._published(block)
            left_out = leave_one_out(cells(tally, people, task), people, self.pools)
            found = self._task_tree(figures, left_out)
            if task == CLASSIFICATION:
                tree[task] = found
            else:
                tree["localisation"][task] = found
            n_pools = len(self.pools.names)
            headline[task] = figures[2, [n_pools - 1, n_pools]]
            changes[task] = left_out.headline
        tree["negative_fpr"] = _share_interval(sums.alarms, negatives)
        return _Result(tree, headline, changes)

    @property
    def _places(self) -> list[tuple[str, ...]]:
        """Where each row of `task_figures` stands in the summary."""
        return [*self.pools.names, ("macro",), ("macro_gold",)]

    def _published(self, block: Mapping[str, Any]) -> FloatArray:
        """(3, P + 2) figures of a block of the summary; NaN for null."""
        found = np.full((len(self.pools.keys), len(self._places)), np.nan)
        for at, place in enumerate(self._places):
            branch: Any = block
            for name in place:
                branch = branch.get(name, {})
            for k, key in enumerate(self.pools.keys):
                value = branch.get(key)
                found[k, at] = np.nan if value is None else value
        return found

    def _task_tree(self, figures: FloatArray, left_out: LeftOut) -> dict[str, Any]:
        flat = figures.reshape(-1, figures.shape[2])
        found = intervals(flat[:, 0], flat[:, 1:], left_out.moments)
        places = self._places
        tree: dict[str, Any] = {"per_class": {}, "domain_micro": {}}
        for k, key in enumerate(self.pools.keys):
            for at, place in enumerate(places):
                row = k * len(places) + at
                if place[0] == "per_class" and np.isnan(flat[row, 0]):
                    continue
                branch = tree
                for name in place:
                    branch = branch.setdefault(name, {})
                pooled = at < len(self.pools.names)
                units = int(left_out.contributing[k, at]) if pooled else 0
                branch[key] = interval_leaf(flat[row, 0], found, row, units)
        return tree

    def paired(
        self,
        names: Sequence[str],
        tallies: Sequence[Tally],
        results: Sequence[_Result],
        common: NDArray[np.bool_],
    ) -> list[dict[str, Any]]:
        """Differences first minus second, of micro F and macro F per task, for every pair of models.

        Args:
            common: (N,) images that every model was valid on.
        """
        people = population(common, self.by_id)
        pairs = list(combinations(sorted(range(len(names)), key=names.__getitem__), 2))
        if not pairs or not people.n:
            return []
        matrices = [model_matrix(tally, people) for tally in tallies]
        seed = (self.seed, _SWAPS)
        swapped = products(matrices, random_swaps, seed, people.n, self.replicates)
        sums = [unfold_model(product, tally) for product, tally in zip(swapped, tallies, strict=True)]
        found = []
        for task in task_names(tallies[0]):
            counts = cells(tallies[0], people, task)
            gold = as_float(np.bincount(counts.label, counts.gold, minlength=self.pools.n_classes))[:, None]
            rows = [self._difference(task, a, b, results, sums, gold) for a, b in pairs]
            for k, figure in enumerate(("micro", "macro")):
                adjusted = holm([row[k]["p"] for row in rows])
                found += [
                    {
                        "task": task if task == CLASSIFICATION else f"localisation {task}",
                        "figure": f"{figure} {self.pools.keys[2].upper()}",
                        "first": names[a],
                        "second": names[b],
                        **row[k],
                        "p_holm": p,
                    }
                    for (a, b), row, p in zip(pairs, rows, adjusted, strict=True)
                ]
        return found

    def _difference(
        self, task: str, a: int, b: int, results: Sequence[_Result], sums: Sequence[Sums], gold: FloatArray
    ) -> list[dict[str, Any]]:
        difference = results[a].headline[task] - results[b].headline[task]
        difference[np.abs(difference) <= TIE] = 0.0
        jackknife = moments(results[a].changes[task] - results[b].changes[task])
        found = intervals(difference[:, 0], difference[:, 1:], jackknife)
        permuted = self._permuted(sums[a].tasks[task], sums[b].tasks[task], gold)
        return [
            {
                "difference": number_or_null(difference[k, 0]),
                **interval_leaf(difference[k, 0], found, k, 0),
                "p": permutation_p_value(difference[k, 0], permuted[k]),
            }
            for k in range(2)
        ]

    def _permuted(
        self, a: tuple[FloatArray, FloatArray], b: tuple[FloatArray, FloatArray], gold: FloatArray
    ) -> FloatArray:
        """(2, R) differences of micro F and macro F after swapping whole images.

        Column 0 of the sums is everything, the others what is swapped.
        """
        moved = [y[:, 1:] - x[:, 1:] for x, y in zip(a, b, strict=True)]
        first = [x[:, :1] + change for x, change in zip(a, moved, strict=True)]
        second = [y[:, :1] - change for y, change in zip(b, moved, strict=True)]
        left, right = (self._headline(tp, p, gold) for tp, p in (first, second))
        return left - right

    def _headline(self, tp: FloatArray, p: FloatArray, gold: FloatArray) -> FloatArray:
        ratio = self.pools.ratio
        either = p + gold > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            micro = (1 + ratio) * tp.sum(axis=0) / (p.sum(axis=0) + ratio * gold.sum(axis=0))
            per_class = np.where(either, (1 + ratio) * tp / (p + ratio * gold), 0.0)
            return np.stack([micro, per_class.sum(axis=0) / either.sum(axis=0)])


def _share_interval(hits: FloatArray, of: FloatArray) -> dict[str, Any]:
    """The interval of hits / of, both (1 + R,) sums over images that add 0 or 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(of > 0, hits / of, np.nan)[None]
        k, m = hits[0], of[0]
        changes = np.concatenate(
            [np.full(int(k), k / m - (k - 1) / (m - 1)), np.full(int(m - k), k / m - k / (m - 1))]
        )
    found = intervals(share[:, 0], share[:, 1:], moments(changes[None]))
    return interval_leaf(share[0, 0], found, 0, int(m))


def interval_leaf(estimate: float, found: Intervals, row: int, units: int) -> dict[str, Any]:
    """One figure's interval as plain data.

    Args:
        units: Images that contribute; 0 where Wilson's interval would make no sense.
    """
    percentile, bca = _pair(found.percentile[row]), _pair(found.bca[row])
    method = "bca" if bca else "percentile" if percentile else "constant"
    ci95 = bca or percentile
    if np.isnan(estimate):
        method, ci95 = "undefined", None
    elif ci95 is None and units and estimate in {0.0, 1.0}:
        low_high = wilson_interval(units if estimate else 0, units)
        method, ci95 = "wilson", None if low_high is None else list(low_high)
    return {
        "ci95": ci95,
        "ci_method": method,
        "percentile": percentile,
        "bca": bca,
        "undefined_replicates": int(found.undefined[row]),
    }


def _pair(limits: FloatArray) -> list[float] | None:
    """Low and high; None where undefined, and where they are one: no width was learnt then."""
    low, high = limits.tolist()
    return [low, high] if low < high else None


def number_or_null(value: float) -> float | None:
    """A figure as plain data: NaN is null."""
    return None if np.isnan(value) else float(value)
