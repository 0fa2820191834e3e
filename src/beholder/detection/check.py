"""Does the declared box format fit? A warning where another reading would fit much better; never a switch.

The fit of a reading is the mean, over predicted boxes with a gold box of their class in the image, of the
best IoU with one of these. It is computed for the declared format and for every other one, and for each with
the axes swapped (y before x).
"""

from __future__ import annotations

from typing import Any

from beholder.detection.boxes import Gold, Predictions
from beholder.detection.formats import BOX_FORMATS, FloatArray, to_corners
from beholder.detection.pairs import Groups
from beholder.detection.tally import cell_keys

_MARKED_GAIN, _MARKED_FACTOR = 0.1, 1.5

_SWAP = [1, 0, 3, 2]
_SAME = {"xyxy_1000 with axes swapped": "yxyx_1000", "yxyx_1000 with axes swapped": "xyxy_1000"}


def fit_of_readings(gold: Gold, model: Predictions, raw: FloatArray) -> dict[str, float]:
    """Mean best IoU per reading; {} without a predicted box that has a gold box of its class.

    Args:
        model: Its boxes tell images and classes.
        raw: (B, 4) the numbers of the same boxes as the file has them.
    """
    classes = tuple(sorted({*gold.boxes.classes, *model.boxes.classes}))
    groups = Groups(cell_keys(gold.boxes, classes), gold.boxes.corners)
    key = cell_keys(model.boxes, classes)
    size = gold.size[model.boxes.image]
    found = {}
    for name in BOX_FORMATS:
        for label, values in ((name, raw), (f"{name} with axes swapped", raw[:, _SWAP])):
            if label in _SAME:
                continue
            fit = groups.mean_best_iou(key, to_corners(values, size, name))
            if fit is not None:
                found[label] = fit
    return found


def format_warning(declared: str, fits: dict[str, float]) -> dict[str, Any] | None:
    """The reading that fits markedly better than the declared one, or None."""
    if declared not in fits:
        return None
    best = max(fits, key=lambda name: (fits[name], name == declared))
    ours, theirs = fits[declared], fits[best]
    if theirs - ours < _MARKED_GAIN or theirs < _MARKED_FACTOR * ours:
        return None
    return {
        "declared": declared,
        "mean_best_iou": ours,
        "better": best,
        "better_mean_best_iou": theirs,
        "message": (
            f"read as {declared} the mean IoU is {ours:.3f}; read as {best} it would be {theirs:.3f}. "
            "Nothing was switched: declare the format with --box-format if that is what the numbers mean."
        ),
    }
