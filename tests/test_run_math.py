"""Runs of `math-media`: marks by line, accuracy over what was scored or absent, majority over repeats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beholder.run.conductor import judge_run
from beholder.run.spec import RunSpec
from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import picture, rows_of, summary_of


def marks(steps: int, final: int, reflection: int = 0) -> str:
    """A clean reply."""
    return (
        f"INTERMEDIATE_CORRECT: {steps}\nFINAL_CORRECT: {final}\nACTION_REFLECTION: {reflection}\n"
        "EXPLANATION: step by step."
    )


def math_run(folder: Path, tasks: dict[str, str], server: JudgeServer, **more: Any) -> dict[str, Any]:
    """The summary of a run; of each task with its subtask, `missing` of which hands nothing in."""
    rows = [
        {"task_id": name, "solution_text": f"The answer to {name}.", "subtask": subtask}
        for name, subtask in tasks.items()
    ]
    (folder / "tasks.json").write_text(json.dumps(rows))
    for name in tasks:
        if name != "missing":
            picture(folder / "run" / f"{name}.png")
    judge_run(
        RunSpec(
            tasks=folder / "tasks.json",
            run_dirs={"m": folder / "run"},
            out_dir=folder / "o",
            protocol="math-media",
            judge="judge-1",
            base_url=f"{server.url}/v1",
            **more,
        )
    )
    return summary_of(folder / "o")


def test_accuracy_is_over_what_was_scored_or_absent(tmp_path: Path) -> None:
    """A judge's failure is no wrong answer, a missing output is; bounds and subtasks beside it."""
    tasks = {"a": "AIME", "b": "AIME", "c": "GSM8K", "d": "GSM8K", "missing": "GSM8K"}
    with JudgeServer(
        [
            rule(contains="answer to a.", text=marks(1, 1)),
            rule(contains="answer to b.", text=marks(0, 1, 1)),
            rule(contains="answer to c.", text=marks(1, 0)),
            rule(contains="answer to d.", text="INTERMEDIATE_CORRECT: 1\nFINAL_CORR"),
        ]
    ) as server:
        summary = math_run(tmp_path, tasks, server)
    rows = {row["task_id"]: row for row in rows_of(tmp_path / "o")}
    assert {name: row["main_score"] for name, row in rows.items()} == {
        "a": 1, "b": 1, "c": 0, "d": None, "missing": 0,
    }  # fmt: skip
    assert rows["d"]["outcome"] == "unscored"
    assert rows["b"]["repeats"][0]["rationale"] == "step by step."
    assert (summary["mean"], summary["pass_rate"], summary["coverage"]) == (0.5, 0.5, 0.8)
    assert summary["mean_bounds"] == [0.4, 0.6]
    assert summary["accuracy"]["share"] == 0.5
    assert {name: group["mean"] for name, group in summary["groups"]["subtask"].items()} == {
        "AIME": 1, "GSM8K": 0,
    }  # fmt: skip
    assert summary["criteria"]["INTERMEDIATE_CORRECT"]["mean"] == pytest.approx(2 / 3)


def test_repeats_are_reduced_by_majority_of_those_asked_for(tmp_path: Path) -> None:
    """Two of three agree: that value, with the disagreement flagged; one and one failure: no majority."""
    replies = {"a": [marks(1, 1), marks(1, 0), marks(1, 1)], "b": [marks(1, 1), marks(0, 0), "?"]}
    rules = [
        rule(contains=f"answer to {name}.", times=1, text=text)
        for name, own in replies.items()
        for text in own
    ]
    with JudgeServer(rules) as server:
        math_run(tmp_path, dict.fromkeys("ab", "AIME"), server, repeats=3, max_connections=1)
    a, b = rows_of(tmp_path / "o")
    assert (a["main_score"], a["n_scored"], a["n_requested"]) == (1, 3, 3)
    assert [repeat["scores"]["FINAL_CORRECT"] for repeat in a["repeats"]] == [1, 0, 1]
    assert "repeats_disagree" in a["flags"]
    assert (b["outcome"], b["reason"], b["main_score"]) == ("unscored", "no_majority", None)
    assert "partial_coverage" in b["flags"]


def test_fewer_tasks_in_a_used_out_dir_are_said_and_undone_without_a_call(tmp_path: Path) -> None:
    """Results are of the tasks asked for; the rows of the others come back from the ledger."""
    said: list[str] = []
    with JudgeServer([rule(text=marks(1, 1))]) as server:
        math_run(tmp_path, dict.fromkeys("abc", "AIME"), server)
        before = (tmp_path / "o" / "judge_results.jsonl").read_bytes()
        spec = RunSpec(
            tasks=tmp_path / "tasks.json", run_dirs={"m": tmp_path / "run"}, out_dir=tmp_path / "o",
            protocol="math-media", judge="judge-1", base_url=f"{server.url}/v1", task_ids=("b",),
        )  # fmt: skip
        judge_run(spec, say=said.append)
        assert [row["task_id"] for row in rows_of(tmp_path / "o")] == ["b"]
        assert any(line.startswith("2 rows of tasks outside") for line in said)
        math_run(tmp_path, dict.fromkeys("abc", "AIME"), server)
        assert len(server.requests) == 3
    assert (tmp_path / "o" / "judge_results.jsonl").read_bytes() == before
