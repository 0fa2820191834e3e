"""Counts -> precision, recall, F: one division of integers each, so that every bit can be reproduced.

    precision = TP / (TP + FP)          recall = TP / (TP + FN)
    F_b = (1 + b²) TP / ((1 + b²) TP + b² FN + FP)

Nothing to find and nothing found (TP + FP + FN = 0): undefined, null. Otherwise a zero denominator gives 0:
what was never predicted has precision 0. Means over classes are `math.fsum / n`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from beholder.detection.tally import Counts, Tally
from beholder.errors import SpecError

UNMAPPED = "__unmapped__"

MAX_BETA = 1_000_000
_MIN_BETA = 1e-100  # its square is still a float above 0

Figures = dict[str, Any]


def exact_beta(beta: float | str) -> Fraction:
    """Beta as the decimal (or fraction) that was written, above 0 and at most `MAX_BETA`.

    Raises:
        SpecError: `bad_beta`.
    """
    text = str(beta)
    try:
        # As a float first: an exact 1e-999999999 would fill the memory. Thirty digits are more than enough.
        sensible = len(text) <= 30 and ("/" in text or _MIN_BETA <= float(text) <= MAX_BETA)
        value = Fraction(text) if sensible else Fraction(0)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not _MIN_BETA <= value <= MAX_BETA:
        raise SpecError(
            f"beta {text[:40]}: must be a number above 0 and at most {MAX_BETA}",
            slug="bad_beta",
            concerns=text[:40],
        )
    return value


def f_name(beta: Fraction) -> str:
    """The key of the F score: "f2", "f0.5"."""
    return f"f{float(beta):g}"


def ratios(tp: int, fp: int, fn: int, beta: Fraction) -> Figures:
    """Counts with their precision, recall and F."""
    figures: Figures = {"tp": tp, "fp": fp, "fn": fn}
    if tp + fp + fn == 0:
        return {**figures, "precision": None, "recall": None, f_name(beta): None}
    # b² = n / d, multiplied out: (d + n) TP / ((d + n) TP + n FN + d FP)
    n, d = beta.numerator**2, beta.denominator**2
    hits = (d + n) * tp
    figures["precision"] = tp / (tp + fp) if tp + fp else 0.0
    figures["recall"] = tp / (tp + fn) if tp + fn else 0.0
    figures[f_name(beta)] = hits / (hits + n * fn + d * fp)
    return figures


def mean_over_classes(per_class: Sequence[Figures], beta: Fraction) -> Figures:
    """Unweighted means over the classes given; null over none."""
    n = len(per_class)
    keys = ("precision", "recall", f_name(beta))
    return {
        "n_classes": n,
        **{key: math.fsum(one[key] for one in per_class) / n if n else None for key in keys},
    }


def block(
    matched: Counts,
    predicted: Counts,
    gold: Counts,
    classes: Sequence[str],
    domains: Mapping[str, str],
    beta: Fraction,
) -> Figures:
    """The figures of one task (classification, or localisation at one threshold) in one scope.

    Args:
        matched, predicted, gold: (C,) counts per class.
        domains: Class -> domain. A class outside of it counts under `__unmapped__`.
    """
    per_class: dict[str, Figures] = {}
    pooled: dict[str, tuple[int, int, int]] = dict.fromkeys(sorted(set(domains.values())), (0, 0, 0))
    for name, tp, p, g in zip(classes, matched.tolist(), predicted.tolist(), gold.tolist(), strict=True):
        if p + g == 0:
            continue
        per_class[name] = ratios(tp, p - tp, g - tp, beta)
        domain = domains.get(name, UNMAPPED)
        a, b, c = pooled.get(domain, (0, 0, 0))
        pooled[domain] = (a + tp, b + p - tp, c + g - tp)
    represented = list(per_class.values())
    tp, p, g = int(matched.sum()), int(predicted.sum()), int(gold.sum())
    return {
        "per_class": per_class,
        "micro": ratios(tp, p - tp, g - tp, beta),
        "macro": mean_over_classes(represented, beta),
        "macro_gold": mean_over_classes([one for one in represented if one["tp"] + one["fn"]], beta),
        "domain_micro": {name: ratios(*sums, beta) for name, sums in pooled.items()},
    }


def scope_figures(
    tally: Tally,
    images: np.ndarray[Any, Any],
    negative: np.ndarray[Any, Any],
    domains: Mapping[str, str],
    beta: Fraction,
) -> Figures:
    """Everything about one model on some of its valid images.

    Args:
        images: (N,) bool, the scope.
        negative: (N,) bool, images without gold boxes.
    """
    inside = images[tally.image]
    label, gold, predicted = tally.label[inside], tally.gold[inside], tally.predicted[inside]
    matched = tally.matched[inside]

    def per_class(values: np.ndarray[Any, Any]) -> Counts:
        # float64 sums of integers below 2^53 are exact
        return np.bincount(label, values, minlength=len(tally.classes)).astype(np.int64)

    n_images, n_negative = int(images.sum()), int((images & negative).sum())
    alarms = int((images & tally.false_alarm).sum())
    has_gold, has_predicted = gold > 0, predicted > 0
    return {
        "n_images": n_images,
        "n_positive": n_images - n_negative,
        "n_negative": n_negative,
        "negative_fp_images": alarms,
        "negative_fpr": alarms / n_negative if n_negative else None,
        "classification": block(
            per_class(has_gold & has_predicted),
            per_class(has_predicted),
            per_class(has_gold),
            tally.classes,
            domains,
            beta,
        ),
        "localisation": {
            str(threshold): block(
                per_class(matched[:, column]),
                per_class(predicted),
                per_class(gold),
                tally.classes,
                domains,
                beta,
            )
            for column, threshold in enumerate(tally.thresholds)
        },
    }
