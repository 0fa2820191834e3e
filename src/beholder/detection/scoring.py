"""Gold and predictions -> the summary of all models, in the scopes `valid` and `common`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beholder.detection.boxes import INVALID, MISSING, Gold, Predictions
from beholder.detection.metrics import exact_beta, scope_figures
from beholder.detection.tally import GoldCells, Tally, all_classes, checked_thresholds, n_degenerate
from beholder.errors import SpecError

DEFAULT_THRESHOLDS = (0.5, 0.3, 0.4)
"""The first is the main one; the others tell how much depends on it."""


def tally_models(
    gold: Gold, predictions: Sequence[Predictions], thresholds: Sequence[float] = DEFAULT_THRESHOLDS
) -> list[Tally]:
    """Counts per image and class of every model.

    Raises:
        SpecError: `bad_iou_threshold`, `duplicate_model`.
    """
    wanted = checked_thresholds(thresholds)
    names = [model.name for model in predictions]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"two models are called {name!r}", slug="duplicate_model", concerns=name)
    cells = GoldCells(gold, all_classes(gold, predictions))
    return [cells.tally(model, wanted) for model in predictions]


def common_images(gold: Gold, predictions: Sequence[Predictions]) -> np.ndarray[Any, Any]:
    """(N,) bool: images with a valid answer of every model."""
    common = np.ones(len(gold), np.bool_)
    for model in predictions:
        common &= model.valid
    return common


def summarize(
    gold: Gold,
    predictions: Sequence[Predictions],
    tallies: Sequence[Tally],
    *,
    domains: Mapping[str, str] | None = None,
    beta: float | str = 2,
) -> dict[str, Any]:
    """All counts and ratios, as plain data.

    Args:
        tallies: Of `tally_models`, in the order of `predictions`.
        domains: Class -> domain.

    Raises:
        SpecError: `bad_beta`.
    """
    weight = exact_beta(beta)
    mapping = domains or {}
    common = common_images(gold, predictions)
    negative = gold.n_boxes == 0
    models = {}
    for model, tally in zip(predictions, tallies, strict=True):
        valid = scope_figures(tally, model.valid, negative, mapping, weight)
        same = bool((model.valid == common).all())
        models[model.name] = {
            "coverage": {
                "n_valid": int(model.valid.sum()),
                "n_invalid": int((model.status == INVALID).sum()),
                "n_missing": int((model.status == MISSING).sum()),
                "coverage": int(model.valid.sum()) / len(gold),
                "bad_lines": model.bad_lines,
                "unknown_images": model.unknown_images,
            },
            "diagnostics": {
                "n_detections": len(model.boxes),
                "n_degenerate": n_degenerate(model.boxes),
                "n_out_of_image": model.n_outside(gold),
                "near_threshold": {
                    str(threshold): n for threshold, n in zip(tally.thresholds, tally.near, strict=True)
                },
            },
            "scopes": {
                "valid": valid,
                "common": valid if same else scope_figures(tally, common, negative, mapping, weight),
            },
            "box_format": model.box_format,
            "provenance": model.provenance,
            "sha256": model.sha256,
        }
    return {
        "schema": 1,
        "n_gold_images": len(gold),
        "n_common": int(common.sum()),
        "gold_boxes": len(gold.boxes),
        "gold_degenerate": n_degenerate(gold.boxes),
        "gold_sha256": gold.sha256,
        "iou": list(tallies[0].thresholds) if tallies else [],
        "beta": float(weight),
        "models": models,
    }


def score(
    gold: Gold,
    predictions: Sequence[Predictions],
    *,
    thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
    domains: Mapping[str, str] | None = None,
    beta: float | str = 2,
) -> dict[str, Any]:
    """Score models against gold; see `summarize` for the result.

    Raises:
        SpecError: `bad_iou_threshold`, `bad_beta`, `duplicate_model`.
    """
    tallies = tally_models(gold, predictions, thresholds)
    return summarize(gold, predictions, tallies, domains=domains, beta=beta)
