"""Out-dirs -> `RunRows`: what a comparison reads of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError
from beholder.store import joint_models, no_results, read_json, read_rows

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """One model's out-dir, as far as a comparison needs it.

    Attributes:
        name: How the run is called in the comparison.
        rows: Of `judge_results.jsonl`, in task order.
        summary, manifest: The files' content; the manifest may be empty.
        path: Where it lies; None if it comes from memory.
    """

    name: str
    rows: Sequence[Json]
    summary: Json
    manifest: Json = field(default_factory=dict)
    path: Path | None = None


def load_runs(out_dirs: Sequence[Path]) -> dict[str, RunRows]:
    """The runs of these out-dirs in order, a joint one standing for all its models.

    A run is called by its model's name; where two models have the same, each is called by its path.

    Raises:
        StoreError: There are no results, or they are damaged.
        ConfigError: The same out-dir is named twice.
    """
    folders = [
        folder
        for out_dir in out_dirs
        for folder in ([out_dir / name for name in joint_models(out_dir)] or [out_dir])
    ]
    places = [folder.resolve() for folder in folders]
    twice = next(
        (folder for folder, place in zip(folders, places, strict=True) if places.count(place) > 1), None
    )
    if twice is not None:
        raise ConfigError(f"{twice}: named twice; a run is compared with another one", concerns=str(twice))
    runs = [_load(folder) for folder in folders]
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    return {
        name: RunRows(name=name, rows=run.rows, summary=run.summary, manifest=run.manifest, path=run.path)
        for name, run in zip(names, runs, strict=True)
    }


def _load(folder: Path) -> RunRows:
    rows = list(read_rows(folder))
    path = folder / "judge_summary.json"
    summary = read_json(path)
    if summary is None:
        raise no_results(path)
    name = str(summary.get("model") or (rows[0]["model"] if rows else folder.name))
    manifest = read_json(folder / "manifest.json") or {}
    return RunRows(name=name, rows=rows, summary=summary, manifest=manifest, path=folder)
