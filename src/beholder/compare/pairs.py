"""The figures of one pair of runs: differences, passes, items."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from beholder.compare.load import RunRows
from beholder.stats import difference_interval, mcnemar_exact, sign_flip_test, smallest_difference
from beholder.stats.means import decimal_mean

Json = Mapping[str, Any]
ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The scale: of the score, and of each criterion."""

    score: tuple[float, float]
    criteria: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Both:
    """A task that both runs have a number for."""

    task_id: str
    a: Json
    b: Json
    cluster: str | None


def pair_figures(
    a: RunRows, b: RunRows, ends: Ends, *, cluster: str | None, details: bool = True
) -> dict[str, Any]:
    """One member of `pairs`, before Holm's correction; see `compare_runs`."""
    rows = ({row["task_id"]: row for row in a.rows}, {row["task_id"]: row for row in b.rows})
    ids = list(dict.fromkeys([*rows[0], *rows[1]]))
    items = [_item(task, rows[0].get(task), rows[1].get(task)) for task in ids] if details else []
    both = [
        Both(task, rows[0][task], rows[1][task], _cluster_of(task, rows[0][task], cluster))
        for task in ids
        if _numbered(rows[0].get(task)) and _numbered(rows[1].get(task))
    ]
    return {
        "a": a.name,
        "b": b.name,
        "tasks": {
            "planned_by_both": len(rows[0].keys() & rows[1].keys()),
            "common": len(both),
            "only_a": len(rows[0].keys() - rows[1].keys()),
            "only_b": len(rows[1].keys() - rows[0].keys()),
        },
        "means": {
            "own": {"a": _mean_of(a.rows), "b": _mean_of(b.rows)},
            "common": {
                "a": decimal_mean([one.a["main_score"] for one in both]),
                "b": decimal_mean([one.b["main_score"] for one in both]),
            },
        },
        "difference": _difference(both, ends.score, clustered=cluster is not None),
        "passes": _passes(both, clustered=cluster is not None),
        "criteria": {
            key: _criterion(both, key, scale, clustered=cluster is not None)
            for key, scale in ends.criteria.items()
            if details
        },
        "groups": _groups(both, ends.score, cluster=cluster) if details else {},
        "items": sorted(items, key=_first_things_first),
    }


def _difference(both: Sequence[Both], ends: tuple[float, float], *, clustered: bool) -> dict[str, Any]:
    values = [_minus(one.b["main_score"], one.a["main_score"]) for one in both]
    return _figures(values, [one.cluster for one in both] if clustered else None, ends)


def _criterion(
    both: Sequence[Both], key: str, ends: tuple[float, float], *, clustered: bool
) -> dict[str, Any]:
    """As `_difference`, over tasks that both runs have the criterion of: scored ones."""
    known = [one for one in both if _judged_by(one.a, key, ends) and _judged_by(one.b, key, ends)]
    values = [_minus(one.b["scores"][key], one.a["scores"][key]) for one in known]
    return _figures(values, [one.cluster for one in known] if clustered else None, ends)


def _judged_by(row: Json, key: str, ends: tuple[float, float]) -> bool:
    """Whether a row has a criterion on this scale: a task's own criteria may only share its name."""
    own = row.get("criteria")
    same = own is None or any(one["key"] == key and (one["min"], one["max"]) == ends for one in own)
    return same and key in row["scores"]


def _figures(
    values: Sequence[float], clusters: Sequence[str | None] | None, ends: tuple[float, float]
) -> dict[str, Any]:
    width = ends[1] - ends[0]
    units = values if clusters is None else _sums(values, clusters)
    interval = difference_interval(values, width, clusters=clusters)
    test = sign_flip_test(units)
    return {
        "tasks": len(values),
        "units": len(units),
        "mean": decimal_mean(values),
        "ci95": None if interval is None else list(interval),
        "ci_reason": None if interval is not None else too_few(len(units), clustered=clusters is not None),
        "p_value": test.p_value,
        "p_holm": None,
        "test": test.method,
        "better": {
            "a": sum(value < 0 for value in values),
            "b": sum(value > 0 for value in values),
            "equal": sum(value == 0 for value in values),
        },
        "smallest_detectable": _detectable(values, units),
    }


def _detectable(values: Sequence[float], units: Sequence[float]) -> dict[str, Any]:
    """The smallest difference that so many units like these could show; per task."""
    found = smallest_difference(units, alpha=ALPHA, power=POWER)
    if found is not None:
        found *= len(units) / len(values)  # clusters' sums -> the mean over tasks
    reason = None
    if found is None:
        reason = "fewer than two" if len(units) < 2 else "no spread: how much differences vary is unknown"
    return {"difference": found, "alpha": ALPHA, "power": POWER, "reason": reason}


def _passes(both: Sequence[Both], *, clustered: bool) -> dict[str, Any] | None:
    """Passes of tasks that both runs have a verdict on; None without a pass mark."""
    known = [one for one in both if one.a["pass"] is not None and one.b["pass"] is not None]
    if not known:
        return None
    only_a = sum(one.a["pass"] and not one.b["pass"] for one in known)
    only_b = sum(one.b["pass"] and not one.a["pass"] for one in known)
    passed = sum(one.a["pass"] and one.b["pass"] for one in known)
    values = [float(one.b["pass"]) - float(one.a["pass"]) for one in known]
    clusters = [one.cluster for one in known] if clustered else None
    interval = difference_interval(values, 1, clusters=clusters)
    p_value, test = mcnemar_exact(only_a, only_b), "mcnemar_exact"
    if clusters is not None:  # McNemar's test takes tasks for independent
        flipped = sign_flip_test(_sums(values, clusters))
        p_value, test = flipped.p_value, flipped.method
    return {
        "tasks": len(known),
        "both": passed,
        "only_a": only_a,
        "only_b": only_b,
        "neither": len(known) - passed - only_a - only_b,
        "rate": {"a": (passed + only_a) / len(known), "b": (passed + only_b) / len(known)},
        "difference": (only_b - only_a) / len(known),
        "ci95": None if interval is None else list(interval),
        "ci_reason": None if interval is not None else too_few(len(known), clustered=clustered),
        "p_value": p_value,
        "p_holm": None,
        "test": test,
    }


def _groups(both: Sequence[Both], ends: tuple[float, float], *, cluster: str | None) -> dict[str, Any]:
    """Differences and passes by the values of each label that divides the tasks."""
    groups: dict[str, Any] = {}
    for label in sorted({name for one in both for name in one.a["labels"]}):
        members: dict[str, list[Both]] = {}
        for one in both:
            members.setdefault(str(one.a["labels"].get(label, "")), []).append(one)
        if 1 < len(members) <= MAX_GROUPS and len(members) < len(both):
            groups[label] = {
                value: {
                    "difference": _difference(own, ends, clustered=cluster is not None),
                    "passes": _passes(own, clustered=cluster is not None),
                }
                for value, own in sorted(members.items())
            }
    return groups


MAX_GROUPS = 40


def _item(task_id: str, a: Json | None, b: Json | None) -> dict[str, Any]:
    if a is not None and b is not None and _numbered(a) and _numbered(b):
        difference = _minus(b["main_score"], a["main_score"])
        flips = a["pass"] is not None and b["pass"] is not None and a["pass"] != b["pass"]
        kind = "flip" if flips else "changed" if difference else "equal"
    else:
        difference, kind = None, "missing"
    return {
        "task_id": task_id,
        "kind": kind,
        "difference": difference,
        "a": _side(a),
        "b": _side(b),
        "labels": dict((a or b or {})["labels"]),
    }


def _side(row: Json | None) -> dict[str, Any]:
    if row is None:
        return {
            "outcome": None,
            "reason": "not_in_run",
            "detail": "this run has no such task",
            "main_score": None,
            "pass": None,
            "scores": {},
            "folder": None,
        }
    return {
        "outcome": row["outcome"],
        "reason": row["reason"],
        "detail": row["main_score_error"],
        "main_score": row["main_score"],
        "pass": row["pass"],
        "scores": dict(row["scores"]),
        "folder": row.get("folder"),
    }


def _first_things_first(item: Json) -> tuple[int, float]:
    """Flips, then what is missing, then by the size of the difference; tasks' order within."""
    rank = {"flip": 0, "missing": 1, "changed": 2, "equal": 3}
    return rank[item["kind"]], -abs(item["difference"] or 0)


def too_few(units: int, *, clustered: bool) -> str:
    """Why a mean has no interval."""
    what = "cluster" if clustered else "task"
    return f"no {what}" if units == 0 else f"one {what} only" if units == 1 else "a scale without width"


def _cluster_of(task_id: str, row: Json, column: str | None) -> str | None:
    """The task's cluster; a task whose cell is empty is a cluster of its own."""
    if column is None:
        return None
    value = str(row["labels"].get(column, ""))
    return f"={value}" if value else f"#{task_id}"


def _sums(values: Sequence[float], clusters: Sequence[str | None]) -> list[float]:
    members: dict[str | None, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    return [math.fsum(own) for own in members.values()]


def _numbered(row: Json | None) -> bool:
    return row is not None and row["main_score"] is not None


def _mean_of(rows: Iterable[Json]) -> float | None:
    return decimal_mean([row["main_score"] for row in rows if row["main_score"] is not None])


def _minus(a: float, b: float) -> float:
    """The difference of numbers as their decimals say, so that equal steps stay equal."""
    return float(Decimal(repr(a)) - Decimal(repr(b)))
