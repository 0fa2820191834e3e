"""Boxes: read, match, count, agree, draw. No model is called; every number is exact and can be reproduced.

    from pathlib import Path
    from beholder.detection import load_gold, load_predictions, score

    gold = load_gold(Path("gold.jsonl"))
    models = [load_predictions(Path("yolo.jsonl"), gold, name="yolo")]
    score(gold, models)["models"]["yolo"]["scopes"]["valid"]["localisation"]["0.5"]["micro"]

From arrays: `Gold(ids, sizes, boxes_from_arrays(image, classes, corners))`, and
`predictions_from_boxes(name, boxes, gold)`.
Names are loaded on first use, so that `import beholder.detection` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beholder.detection.agree import agreement
    from beholder.detection.annotations import load_annotations
    from beholder.detection.boxes import Boxes, Gold, Predictions, boxes_from_arrays, predictions_from_boxes
    from beholder.detection.formats import to_corners
    from beholder.detection.pairs import pairwise_iou
    from beholder.detection.read import load_gold, load_predictions
    from beholder.detection.relax import load_similarity, relaxed_scores
    from beholder.detection.scoring import score, tally_models
    from beholder.detection.tally import match_boxes
    from beholder.detection.uncertainty import bootstrap

_HOME = {
    "Boxes": "boxes",
    "Gold": "boxes",
    "Predictions": "boxes",
    "agreement": "agree",
    "bootstrap": "uncertainty",
    "boxes_from_arrays": "boxes",
    "load_annotations": "annotations",
    "load_gold": "read",
    "load_predictions": "read",
    "load_similarity": "relax",
    "match_boxes": "tally",
    "pairwise_iou": "pairs",
    "predictions_from_boxes": "boxes",
    "relaxed_scores": "relax",
    "score": "scoring",
    "tally_models": "scoring",
    "to_corners": "formats",
}

__all__ = [
    "Boxes",
    "Gold",
    "Predictions",
    "agreement",
    "bootstrap",
    "boxes_from_arrays",
    "load_annotations",
    "load_gold",
    "load_predictions",
    "load_similarity",
    "match_boxes",
    "pairwise_iou",
    "predictions_from_boxes",
    "relaxed_scores",
    "score",
    "tally_models",
    "to_corners",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"beholder.detection.{_HOME[name]}"), name)
