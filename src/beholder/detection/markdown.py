"""Summaries -> Markdown, and the same in short for the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from beholder.detection.words import (
    METHODS,
    NONE,
    f_key,
    f_title,
    leaves_of,
    limits,
    main_iou,
    number,
    p_value,
    printable,
    summary_f_key,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~])")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()) or text.strip())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows]) + "\n"


def markdown_report(summary: Mapping[str, Any]) -> str:
    """The whole report."""
    models = summary["models"]
    parts = [
        "# Detection report\n",
        *([f"**{escaped(summary['note'])}**\n"] if "note" in summary else []),
        f"{summary['n_gold_images']} gold images, {summary['gold_boxes']} gold boxes "
        f"({summary['gold_degenerate']} without area); {summary['n_common']} images answered by all.\n",
        "## Coverage\n",
        _table(
            ["model", "valid", "invalid", "missing", "coverage", "bad lines", "unknown images", "box format"],
            [_coverage_row(name, result) for name, result in models.items()],
        ),
    ]
    for scope in ("valid", "common"):
        parts += [f"## Scope {scope}\n", _headline_table(summary, scope)]
    parts += _sections(summary)
    parts += [_method(summary)]
    return "\n".join(parts)


def _coverage_row(name: str, result: Mapping[str, Any]) -> list[str]:
    c = result["coverage"]
    counts = [str(c[key]) for key in ("n_valid", "n_invalid", "n_missing")]
    tail = [str(c["bad_lines"]), str(c["unknown_images"]), result["box_format"]]
    return [escaped(name), *counts, number(c["coverage"]), *tail]


def tasks_of(summary: Mapping[str, Any], figures: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Classification, then localisation per threshold."""
    return [
        ("classification", figures["classification"]),
        *((f"IoU {key}", figures["localisation"][key]) for key in map(str, summary["iou"])),
    ]


def leaves_of_task(leaves: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    """The intervals of a task as `tasks_of` names it."""
    if not leaves:
        return {}
    found: Mapping[str, Any] = leaves[task] if task == "classification" else leaves["localisation"][task[4:]]
    return found


def _headline_table(summary: Mapping[str, Any], scope: str) -> str:
    rows = []
    for name, result in summary["models"].items():
        figures = result["scopes"][scope]
        leaves = leaves_of(summary, name, scope)
        for task, block in tasks_of(summary, figures):
            micro, macro = block["micro"], block["macro"]
            key = f_key(micro)
            found = leaves_of_task(leaves, task)
            rows.append(
                [
                    escaped(name),
                    task,
                    *(str(micro[count]) for count in ("tp", "fp", "fn")),
                    number(micro["precision"]),
                    number(micro["recall"]),
                    number(micro[key]),
                    limits(found.get("micro", {}).get(key)),
                    number(macro[key]),
                    limits(found.get("macro", {}).get(key)),
                    number(block["macro_gold"][key]),
                ]
            )
    f = f_title(summary_f_key(summary))
    head = ["model", "task", "TP", "FP", "FN", "precision", "recall"]
    head += [f"micro {f}", "95%", f"macro {f}", "95%", f"macro {f}, gold classes"]
    return _table(head, rows) + "\n" + _negatives(summary, scope)


def _negatives(summary: Mapping[str, Any], scope: str) -> str:
    lines = []
    for name, result in summary["models"].items():
        figures = result["scopes"][scope]
        found = limits(leaves_of(summary, name, scope).get("negative_fpr"))
        lines.append(
            f"- {escaped(name)}: {figures['negative_fp_images']} of {figures['n_negative']} images "
            f"without gold boxes got a box: {number(figures['negative_fpr'])}"
            + (f" ({found})" if found else "")
        )
    return "\n".join(lines) + "\n"


def _sections(summary: Mapping[str, Any]) -> list[str]:
    iou = main_iou(summary)
    parts = []
    key = summary_f_key(summary)
    for name, result in summary["models"].items():
        block = result["scopes"]["valid"]["localisation"][iou]
        found = leaves_of_task(leaves_of(summary, name, "valid"), f"IoU {iou}").get("per_class", {})
        rows = [
            [
                escaped(label),
                *(str(one[count]) for count in ("tp", "fp", "fn")),
                *(number(one[ratio]) for ratio in ("precision", "recall", key)),
                limits(found.get(label, {}).get(key)),
            ]
            for label, one in block["per_class"].items()
        ]
        head = ["class", "TP", "FP", "FN", "precision", "recall", f_title(key), "95%"]
        parts += [f"## {escaped(name)}: classes at IoU {iou}, scope valid\n", _table(head, rows)]
        domains = [
            [escaped(label), *(str(one[count]) for count in ("tp", "fp", "fn")), number(one[key])]
            for label, one in block["domain_micro"].items()
        ]
        if domains:
            parts.append(_table(["domain", "TP", "FP", "FN", f_title(key)], domains))
    if paired := (summary.get("bootstrap") or {}).get("paired"):
        rows = [
            [
                f"{escaped(row['first'])} - {escaped(row['second'])}",
                f"{row['task']} {row['figure']}",
                number(row["difference"]),
                limits(row),
                p_value(row["p"]),
                p_value(row["p_holm"]),
            ]
            for row in paired
        ]
        head = ["models", "figure", "difference", "95%", "p", "p (Holm)"]
        parts += ["## Paired differences on the common images\n", _table(head, rows)]
    if semantic := summary.get("semantic"):
        parts += ["## Semantic relaxation\n", f"{escaped(semantic['label'])}.\n", _semantic_table(semantic)]
    return parts


def _semantic_table(semantic: Mapping[str, Any]) -> str:
    rows = []
    for name, scopes in semantic["models"].items():
        for scope, figures in scopes.items():
            tasks = {"classification": figures["classification"]} | {
                f"IoU {key}": one for key, one in figures["localisation"].items()
            }
            for task, one in tasks.items():
                ratios = [number(one[key]) for key in ("precision", "recall", f_key(one))]
                rows.append([escaped(name), scope, task, f"{one['soft_tp']:.3f}", *ratios])
    return _table(["model", "scope", "task", "soft TP", "precision", "recall", "F"], rows)


def _method(summary: Mapping[str, Any]) -> str:
    lines = [
        "## Method\n",
        "- Localisation: maximum-cardinality one-to-one matching within image and class; every box of a "
        "valid answer is kept.",
        "- A malformed answer is invalid as a whole: counted in the coverage, in no score, and never a "
        "correct negative.",
        "- `valid`: each model's own valid images. `common`: the images that all models answered validly.",
        "- Micro pools counts over classes; macro is the mean over classes with any count, so a class that "
        "does not exist adds a 0.",
    ]
    near = {
        f"{escaped(name)} {key}": n
        for name, result in summary["models"].items()
        for key, n in result["diagnostics"]["near_threshold"].items()
        if n
    }
    if near:
        found = ", ".join(f"{where}: {n}" for where, n in near.items())
        lines.append(f"- Pairs within 1e-9 of a threshold, decided by float64 as written: {found}.")
    if settings := (summary.get("bootstrap") or {}).get("settings"):
        lines.append(
            f"- Intervals: {settings['replicates']} replicates over images, seed {settings['seed']}. "
            + "; ".join(f"{code}: {words}" for code, words in METHODS.items())
            + "."
        )
    lines.append(f"- Gold sha256 `{summary['gold_sha256']}`")
    for name, result in summary["models"].items():
        lines.append(f"- {escaped(name)}: boxes read as {result['box_format']}, sha256 `{result['sha256']}`")
        if result["provenance"]:
            lines.append(f"  - provenance: {escaped(str(result['provenance']))}")
    return "\n".join(lines) + "\n"


# --- terminal -----------------------------------------------------------------------------------


def plain_summary(summary: Mapping[str, Any]) -> str:
    """The headline figures, one line a model and task."""
    key = summary_f_key(summary)
    lines = [
        f"{summary['n_gold_images']} images, {summary['gold_boxes']} gold boxes; "
        f"{summary['n_common']} images answered by all"
    ]
    if "note" in summary:
        lines.insert(0, printable(summary["note"]))
    for name, result in summary["models"].items():
        c = result["coverage"]
        figures = result["scopes"]["valid"]
        leaves = leaves_of(summary, name, "valid")
        lines.append(
            f"\n{printable(name)}: {c['n_valid']} valid, {c['n_invalid']} invalid, {c['n_missing']} missing; "
            f"coverage {number(c['coverage'])}; negative-image FPR {number(figures['negative_fpr'])}"
        )
        for task, block in tasks_of(summary, figures):
            micro = block["micro"]
            found = limits(leaves_of_task(leaves, task).get("micro", {}).get(key))
            lines.append(
                f"    {task:15} TP {micro['tp']:>6}  FP {micro['fp']:>6}  FN {micro['fn']:>6}  "
                f"P {number(micro['precision'])}  R {number(micro['recall'])}  "
                f"{f_title(key)} {number(micro[key])}{f' ({found})' if found else ''}  "
                f"macro {number(block['macro'][key])}"
            )
    return "\n".join(lines)


def plain_agreement(found: Mapping[str, Any]) -> str:
    """Agreement, one line a pair."""
    lines = []
    for name, scope in {"overall": found["overall"], **found["groups"]}.items():
        leaf = limits(scope.get("intervals", {}).get("alpha"))
        lines.append(
            f"{printable(name)}: {scope['n_images']} images, "
            f"{scope['n_images_paired']} rated by two or more; "
            f"alpha {number(scope['alpha'])}{f' ({leaf})' if leaf else ''}"
        )
        for pair in scope["pairs"]:
            boxes = "  ".join(f"box F1 at {key} {number(value)}" for key, value in pair["box_f1"].items())
            lines.append(
                f"    {printable(pair['first'])} - {printable(pair['second'])}: {pair['n_images']} images  "
                f"kappa {number(pair['kappa'])}  class-set F1 {number(pair['class_set_f1'])}  {boxes}"
            )
    return "\n".join(lines)


def plain_check(report: Mapping[str, Any]) -> str:
    """What the check found."""
    lines = []
    if inventory := report.get("inventory"):
        lines.append(
            f"inventory: {inventory['files']} files, {len(inventory['changed'])} changed, "
            f"{len(inventory['missing'])} missing"
        )
        lines += [f"    changed {printable(name)}" for name in inventory["changed"]]
        lines += [f"    missing {printable(name)}" for name in inventory["missing"]]
    if gold := report.get("gold"):
        lines.append(
            f"gold: {gold['images']} images ({gold['negative_images']} without boxes), "
            f"{gold['boxes']} boxes, {gold['degenerate']} without area"
        )
    for name, model in report.get("models", {}).items():
        fit = model["mean_best_iou"].get(model["box_format"])
        lines.append(
            f"{printable(name)}: {model['valid']} valid, {model['invalid']} invalid, "
            f"{model['missing']} missing, "
            f"{model['bad_lines']} bad lines, {model['unknown_images']} unknown images; "
            f"{model['detections']} boxes, {model['degenerate']} without area, "
            f"{model['out_of_image']} over an edge; "
            f"read as {model['box_format']}, mean best IoU {NONE if fit is None else number(fit)}"
        )
        if model["classes_not_in_gold"]:
            lines.append(
                f"    classes that gold lacks: {', '.join(map(printable, model['classes_not_in_gold']))}"
            )
    lines += [
        f"Warning: {printable(warning['model'])}: {warning['message']}" for warning in report["warnings"]
    ]
    return "\n".join(lines)
