"""The summaries of an out-dir, written anew from its rows with intervals over clusters; common tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from beholder.store import joint_models, no_results, read_json, read_rows
from beholder.store.outdir import write_json
from beholder.summary.document import recluster
from beholder.summary.figures import Scale, TaskFigures, figures, figures_of

NAME = "judge_summary.json"


def recluster_out_dir(out_dir: Path, cluster: str) -> None:
    """Rewrite an out-dir's summary, and those of its models, with intervals over clusters.

    Nothing but intervals and their words changes. The next `judge-run` there writes them over tasks again.

    Args:
        cluster: A label of the tasks.

    Raises:
        ConfigError: The tasks have no such label; nothing is written then.
        StoreError: Rows or summary are missing or damaged.
    """
    names = joint_models(out_dir)
    folders = [out_dir / name for name in names] or [out_dir]
    tasks = [[figures_of(row) for row in read_rows(folder)] for folder in folders]
    changed = [recluster(_summary(folder), own, cluster) for folder, own in zip(folders, tasks, strict=True)]
    for folder, summary in zip(folders, changed, strict=True):
        write_json(folder / NAME, summary)
    if names:
        joint = _summary(out_dir)
        joint["models"] = dict(zip(names, changed, strict=True))
        joint["ci_method"] = changed[0]["ci_method"]
        joint["common"] = {
            **joint["common"],
            **common_figures(dict(zip(names, tasks, strict=True)), changed[0], cluster=cluster),
        }
        write_json(out_dir / NAME, joint)


def common_figures(
    models: Mapping[str, Sequence[TaskFigures]], summary: Mapping[str, Any], *, cluster: str | None = None
) -> dict[str, Any]:
    """Figures of each model on the tasks that all have a number for, as a joint summary has them.

    Args:
        summary: Any model's, for the scale.
        cluster: A label: intervals are over its values.
    """
    numbered = [{task.task_id for task in own if task.main is not None} for own in models.values()]
    common = set.intersection(*numbered)
    scale = Scale.stored(summary)
    return {
        "tasks": len(common),
        "models": {
            name: figures([task for task in own if task.task_id in common], scale, cluster=cluster)
            for name, own in models.items()
        },
    }


def _summary(folder: Path) -> dict[str, Any]:
    found = read_json(folder / NAME)
    if found is None:
        raise no_results(folder / NAME)
    return found
