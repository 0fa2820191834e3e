"""The summary of one out-dir, and the joint one of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beholder.errors import ConfigError
from beholder.records import Protocol
from beholder.scoring import number, score_range
from beholder.summary.crosstab import crosstabs
from beholder.summary.figures import (
    CI_METHOD,
    CI_METHOD_CLUSTERED,
    Columns,
    Scale,
    TaskFigures,
    cluster_of,
    column_figures,
    figures,
)
from beholder.summary.repeats import repeat_figures

MAX_GROUPS = 40


def summarize(
    tasks: Sequence[TaskFigures], protocol: Protocol, *, model: str, judge: str, hashes: Mapping[str, str]
) -> dict[str, Any]:
    """The summary of one out-dir, JSON-ready.

    Args:
        tasks: One per planned task; their number is `planned`.
        hashes: `question_sha256` and `formula_sha256`.
    """
    scale = Scale.of(protocol)
    columns = Columns.of(tasks, scale)
    scripted = judge.startswith("scripted/")
    return {
        "schema": 1,
        "protocol": protocol.id,
        "title": protocol.title,
        **hashes,
        "evidence_sha256": sorted({task.evidence_sha256 for task in tasks}),
        "judge": {
            "model": judge,
            "served": sorted({name for task in tasks for name in task.served}),
            "scripted": scripted,
        },
        "scripted": scripted,
        "model": model,
        **column_figures(columns, scale),
        "ci_method": CI_METHOD,
        "score_range": [number(end) for end in score_range(protocol.score, protocol.criteria)],
        "pass_at": scale.pass_at,
        "groups": _groups(tasks, columns, scale),
        "repeats": repeat_figures(tasks, protocol.repeats.n, scale),
        "crosstabs": crosstabs(tasks, scale),
        "warnings": _warnings(tasks, scripted=scripted),
    }


def summarize_jointly(
    summaries: Mapping[str, Mapping[str, Any]],
    tasks: Mapping[str, Sequence[TaskFigures]],
    protocol: Protocol,
) -> dict[str, Any]:
    """Several models: each one's own summary, and figures on the tasks that all have a number for."""
    numbered = [{task.task_id for task in own if task.main is not None} for own in tasks.values()]
    common = set.intersection(*numbered) if numbered else set()
    scale = Scale.of(protocol)
    first = next(iter(summaries.values()))
    return {
        "schema": 1,
        **{
            key: first[key]
            for key in (
                "protocol",
                "title",
                "question_sha256",
                "formula_sha256",
                "judge",
                "score_range",
                "pass_at",
            )
        },
        "scripted": any(summary["scripted"] for summary in summaries.values()),
        "ci_method": CI_METHOD,
        "models": dict(summaries),
        "common": {
            "tasks": len(common),
            "models": {
                name: figures([task for task in own if task.task_id in common], scale)
                for name, own in tasks.items()
            },
        },
        "warnings": [
            {"code": warning["code"], "detail": f"{name}: {warning['detail']}"}
            for name, summary in summaries.items()
            for warning in summary["warnings"]
        ],
    }


def recluster(summary: Mapping[str, Any], tasks: Sequence[TaskFigures], cluster: str) -> dict[str, Any]:
    """A summary whose intervals are over clusters: tasks with the same value of a label vary together.

    Means and counts stay as they are. A task with an empty value is a cluster of its own.

    Args:
        summary: Of one out-dir, over the same tasks.
        cluster: A label of the tasks.

    Raises:
        ConfigError: The tasks have no such label.
    """
    labels = {name for task in tasks for name in task.labels}
    if cluster not in labels:
        raise ConfigError(
            f"--cluster {cluster}: the tasks have no such column; there are "
            f"{', '.join(sorted(labels)) or 'none'}",
            concerns="--cluster",
        )
    scale = Scale.stored(summary)
    columns = Columns.of(tasks, scale, cluster)
    return {
        **summary,
        **column_figures(columns, scale),
        "ci_method": CI_METHOD_CLUSTERED.format(cluster=cluster),
        "cluster": {"column": cluster, "clusters": len({cluster_of(task, cluster) for task in tasks})},
        "groups": _groups(tasks, columns, scale),
    }


def _groups(tasks: Sequence[TaskFigures], columns: Columns, scale: Scale) -> dict[str, Any]:
    """Figures by the values of each label that divides the tasks at all.

    Args:
        columns: Of the same tasks.
    """
    groups: dict[str, Any] = {}
    for label in sorted({name for task in tasks for name in task.labels}):
        members: dict[str, list[int]] = {}
        for at, task in enumerate(tasks):
            members.setdefault(task.labels.get(label, ""), []).append(at)
        if len(members) <= MAX_GROUPS and (len(members) < len(tasks) or len(tasks) == 1):
            groups[label] = {
                value: column_figures(columns.take(np.array(members[value])), scale)
                for value in sorted(members)
            }
    return groups


def _warnings(tasks: Sequence[TaskFigures], *, scripted: bool) -> list[dict[str, str]]:
    found: list[tuple[str, str]] = []
    if scripted:
        found.append(("scripted", "the replies are made up; no model judged anything"))
    unscored = sum(task.outcome == "unscored" for task in tasks)
    if unscored:
        found.append(("unscored", f"{unscored} of {_tasks(len(tasks))} without a score; see the bounds"))
    partial = sum("partial_coverage" in task.flags for task in tasks)
    if partial:
        found.append(("partial_coverage", f"{_tasks(partial)} with fewer scored repeats than were asked for"))
    for judge in sorted({task.judge for task in tasks}):
        served = {name for task in tasks if task.judge == judge for name in task.served}
        if len(served) > 1:
            detail = "more than one model answered: " + ", ".join(sorted(served))
            found.append(("served_models_differ", detail))
    if len({task.evidence_sha256 for task in tasks}) > 1:
        found.append(("evidence_policies_differ", "tasks were judged under different evidence policies"))
    unsafe = sum("sandbox_off" in task.warnings for task in tasks)
    if unsafe:
        found.append(("sandbox_off", f"{_tasks(unsafe)} drawn by a browser without its sandbox"))
    return [{"code": code, "detail": detail} for code, detail in found]


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"
