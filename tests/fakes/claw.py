"""Small runs of `enterprise-claw` for tests: tasks with rubrics of their own, and what was handed in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUBRIC = "The report names all three regions and says which one grew most."
LISTED = [
    {"key": "complete", "question": "Are all regions named?", "max": 4, "weight": 3},
    {"key": "clear", "question": "Is it easy to read?", "type": "bool", "weight": 1},
]


def claw_task(task_id: str, rubric: Any = RUBRIC, **more: Any) -> dict[str, Any]:
    """A task row as the construction of such tasks exports it."""
    return {
        "task_id": task_id,
        "agent_prompt": f"Write the report of {task_id}.",
        "semantic_rubric": rubric,
        "evaluation": {"rule_based": [{"type": "file_exists", "glob": "*"}]},
        "big_class": "reports",
        "subclass_id": "r1",
        "input_fixture_paths": ["fixtures/sales.csv"],
        **more,
    }


def claw_run(
    folder: Path, tasks: list[dict[str, Any]], handed_in: Mapping[str, Mapping[str, bytes | str | None]]
) -> tuple[Path, Path]:
    """(task file, run directory). Of what was handed in, `response.txt` lies beside `artifacts/`."""
    file = folder / "eval_tasks.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in tasks), encoding="utf-8")
    run_dir = folder / "runs" / "demo_run"
    for task_id, files in handed_in.items():
        (run_dir / task_id / "artifacts").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = run_dir / task_id / (name if name == "response.txt" else f"artifacts/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
    return file, run_dir
