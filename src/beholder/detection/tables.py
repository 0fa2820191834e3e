"""Summaries and tallies -> tables whose counts add up.

per_class   a row per model, scope, task and class; its TP, FP and FN add up to the task's micro counts
per_image   a row per model and gold image; those of valid images add up to the scope `valid`, those that are
            also `common` to the scope `common`
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from beholder.detection.boxes import Gold, Predictions
from beholder.detection.metrics import UNMAPPED
from beholder.detection.tally import Tally
from beholder.errors import MissingTool

Table = dict[str, list[Any]]
"""Column name -> values, all of one length."""

_STATUS = ("missing", "invalid", "valid")


def per_class_table(summary: Mapping[str, Any], domains: Mapping[str, str]) -> Table:
    """From the summary, with intervals where it has them."""
    rows = []
    trees = (summary.get("bootstrap") or {}).get("models", {})
    for model, result in summary["models"].items():
        for scope, figures in result["scopes"].items():
            intervals = trees.get(model, {}).get(scope, {})
            tasks = {"classification": figures["classification"]} | {
                f"localisation {key}": block for key, block in figures["localisation"].items()
            }
            for task, block in tasks.items():
                name, _, key = task.partition(" ")
                found = intervals.get(name, {})
                found = found.get(key, {}) if key else found
                for label, numbers in block["per_class"].items():
                    row = {"model": model, "scope": scope, "task": task, "class": label}
                    row["domain"] = domains.get(label, UNMAPPED)
                    rows.append(row | _with_limits(numbers, found.get("per_class", {}).get(label)))
    return _columns(rows, ["model", "scope", "task", "class", "domain", "tp", "fp", "fn"])


def _with_limits(numbers: Mapping[str, Any], leaves: Mapping[str, Any] | None) -> dict[str, Any]:
    row = dict(numbers)
    for key, leaf in (leaves or {}).items():
        row[f"{key}_low"], row[f"{key}_high"] = leaf["ci95"] or (None, None)
        row[f"{key}_ci_method"] = leaf["ci_method"]
    return row


def per_image_table(gold: Gold, predictions: Sequence[Predictions], tallies: Sequence[Tally]) -> Table:
    """Counts per image, null where the answer is not valid."""
    common = np.logical_and.reduce([model.valid for model in predictions])
    table: Table = {}
    for model, tally in zip(predictions, tallies, strict=True):
        columns: Table = {
            "model": [model.name] * len(gold),
            "image_id": list(gold.image_ids),
            "status": [_STATUS[code] for code in model.status.tolist()],
            "common": common.tolist(),
        }
        presence = np.minimum(tally.gold, 1), np.minimum(tally.predicted, 1)
        counts: dict[str, tuple[Any, ...]] = {
            "classification": (presence[0] & presence[1], presence[1], presence[0])
        }
        for k, threshold in enumerate(tally.thresholds):
            counts[f"localisation_{threshold}"] = (tally.matched[:, k], tally.predicted, tally.gold)
        for task, (tp, predicted, of_gold) in counts.items():
            for name, n in (("tp", tp), ("fp", predicted - tp), ("fn", of_gold - tp)):
                sums = np.bincount(tally.image, n, minlength=len(gold)).astype(np.int64)
                columns[f"{task}_{name}"] = [
                    total if valid else None
                    for total, valid in zip(sums.tolist(), tally.valid.tolist(), strict=True)
                ]
        for name, values in columns.items():
            table.setdefault(name, []).extend(values)
    return table


def _columns(rows: Sequence[Mapping[str, Any]], first: Sequence[str]) -> Table:
    names = list(dict.fromkeys([*first, *(name for row in rows for name in row)]))
    return {name: [row.get(name) for row in rows] for name in names}


def csv_text(table: Table) -> str:
    """CSV with a header; null is an empty cell, numbers are written so that they read back the same."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return out.getvalue()


def write_parquet(table: Table, path: Path) -> None:
    """The same as Parquet.

    Raises:
        MissingTool: pyarrow, which is large and therefore not installed with beholder, is absent.
    """
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingTool(
            "Parquet needs pyarrow: pip install pyarrow", slug="missing_pyarrow", concerns="--parquet"
        ) from None
    parquet.write_table(
        arrow.table({name: list(map(_in_utf8, values)) for name, values in table.items()}), path
    )


def _in_utf8(value: Any) -> Any:
    """Texts as the CSV file has them: half a surrogate pair, which UTF-8 cannot hold, is its escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
