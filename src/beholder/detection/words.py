"""Numbers and codes as people read them; shared by Markdown, terminal and page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

NONE = "–"

# Control characters, separators of lines, marks that turn the direction of writing, half surrogate pairs.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

METHODS = {
    "bca": "bias-corrected and accelerated bootstrap over images",
    "percentile": "percentile bootstrap over images",
    "wilson": "nothing varied: Wilson's interval for the images that contribute",
    "constant": "nothing varied and no other rule applies: no interval",
    "undefined": "the figure itself is undefined",
}


def printable(text: str) -> str:
    """Text on one line that a terminal or a picture shows: what has no shape is written as its escape."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def number(value: float | None) -> str:
    """Three decimals, cut so that what is not 0 or 1 never looks so."""
    if value is None:
        return NONE
    text = f"{value:.3f}"
    if text in {"0.000", "-0.000"} and value != 0:
        return "<0.001" if value > 0 else ">-0.001"
    return "0.999" if text == "1.000" and value < 1 else text


def limits(leaf: Mapping[str, Any] | None) -> str:
    """An interval, or nothing."""
    if not leaf or leaf["ci95"] is None:
        return ""
    low, high = leaf["ci95"]
    return f"{number(low)} to {number(high)}"


def p_value(value: float | None) -> str:
    """Three decimals."""
    return NONE if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def f_key(figures: Mapping[str, Any]) -> str:
    """The key of the F score in a block's micro figures."""
    return next(key for key in figures if key.startswith("f") and key not in {"fp", "fn"})


def summary_f_key(summary: Mapping[str, Any]) -> str:
    """The key of the F score of a whole summary."""
    for model in summary["models"].values():
        return f_key(model["scopes"]["valid"]["classification"]["micro"])
    return "f"


def f_title(key: str) -> str:
    """The F score's name for people: F2 for f2."""
    return key.upper()


def main_iou(summary: Mapping[str, Any]) -> str:
    """Key of the main threshold."""
    return str(summary["iou"][0])


def leaves_of(summary: Mapping[str, Any], model: str, scope: str) -> Mapping[str, Any]:
    """The intervals of a model in a scope; {} without a bootstrap."""
    found: Mapping[str, Any] = (
        (summary.get("bootstrap") or {}).get("models", {}).get(model, {}).get(scope, {})
    )
    return found
