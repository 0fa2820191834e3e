"""What a run writes at its end: rows, summary, manifest, run record, tables, reports."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import beholder
from beholder.records import PerTask, Protocol, Task
from beholder.report import write_joint_reports, write_reports, write_table
from beholder.rows import Pins
from beholder.run.plan import Plan
from beholder.run.seat import Seat
from beholder.run.task import TaskJudge
from beholder.store import read_json
from beholder.store.outdir import write_json
from beholder.summary import TaskFigures, summarize, summarize_jointly


def write_model(
    judge: TaskJudge, rows: Sequence[str], figures: Sequence[TaskFigures], renderer: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything of one out-dir but the ledger and the evidence; returns the summary.

    Args:
        rows: As JSON, in task order.
        figures: Of the same rows.
        renderer: What drew the evidence; empty if nothing was drawn in this run.
    """
    plan, out = judge.plan, judge.out
    out.write_rows(rows)
    run = _run_record(judge, sum(task.n_replies for task in figures))
    summary = summarize(
        figures,
        plan.protocol,
        model=judge.submissions.model,
        judge=judges_named(figures) or plan.judge.model,
        hashes=asdict(plan.pins),
    )
    summary["cost_usd"] = run["cost_usd"]
    out.write_json("judge_summary.json", summary)
    out.write_json("manifest.json", _manifest(judge, figures, renderer))
    out.write_json("run.json", run)
    if plan.protocol.table is not None:
        write_table(plan.protocol.table, out.path)
    write_reports(out.path)
    return summary


def write_joint(
    plan: Plan,
    summaries: Mapping[str, Mapping[str, Any]],
    figures: Mapping[str, Sequence[TaskFigures]],
) -> dict[str, Any]:
    """The joint summary and report of several models, in the out-dir that holds theirs."""
    joint = summarize_jointly(summaries, figures, plan.protocol)
    write_json(plan.spec.out_dir / "judge_summary.json", joint)
    write_joint_reports(plan.spec.out_dir, {name: plan.spec.out_dir / name for name in summaries})
    return joint


def _manifest(
    judge: TaskJudge, figures: Sequence[TaskFigures], renderer: Mapping[str, Any]
) -> dict[str, Any]:
    """What fixes the run. A resumed run that draws nothing keeps the renderer of the run that did."""
    plan = judge.plan
    earlier = read_json(judge.out.path / "manifest.json") or {}
    protocol = plan.protocol
    tasks = [[task.id, dict(task.fields), dict(task.labels)] for task in plan.tasks]
    return {
        "schema": 1,
        "beholder": beholder.__version__,
        "pins": plan.out_dir_pins(judge.submissions.model),
        "protocol": {
            **protocol_record(protocol, plan.pins),
            "evidence_sha256": plan.evidence_sha256,
        },
        "evidence": {
            **asdict(protocol.evidence),
            "network": asdict(plan.spec.network),
            "limits": asdict(plan.limits),
        },
        "judge": _judge_record(plan.seats["visual"]),
        **({"text_judge": _judge_record(plan.seats["text"])} if "text" in plan.seats else {}),
        "tasks": {
            "file": plan.spec.tasks.name,
            "count": len(plan.tasks),
            "sha256": hashlib.sha256(json.dumps(tasks, sort_keys=True).encode()).hexdigest(),
            "texts": {task.id: _text_digest(task) for task in plan.tasks},
        },
        "artifacts": {task.task_id: task.artifacts_sha256 for task in figures},
        "renderer": dict(renderer) or earlier.get("renderer", {}),
    }


def judges_named(figures: Sequence[TaskFigures]) -> str:
    """The judges that answered, or else were to; several where routes have judges of their own."""
    asked = [task.judge for task in figures if task.n_replies] or [task.judge for task in figures]
    return ", ".join(sorted(set(asked)))


def _judge_record(seat: Seat) -> dict[str, Any]:
    return {**seat.identity, "scripted": seat.judge.scripted}


def _text_digest(task: Task) -> str:
    """What tells whether two runs asked the same of a task: the columns that the prompt uses."""
    return hashlib.sha256(json.dumps(dict(task.fields), sort_keys=True).encode()).hexdigest()


def _run_warnings(judge: TaskJudge, possibly_billed: int) -> list[str]:
    found = [f"a call failed: {problem}" for problem in judge.progress.problems]
    if judge.out.ledger.lost_before:
        found.append(f"{judge.out.ledger.lost_before} calls were under way when an earlier run died")
    if possibly_billed:
        found.append(f"{possibly_billed} attempts may have been billed without an answer")
    return found


def protocol_record(protocol: Protocol, pins: Pins) -> dict[str, Any]:
    """What a manifest keeps of a protocol: all that decides question and score, and where it came from."""
    return {
        "id": protocol.id,
        "title": protocol.title,
        "source": protocol.source,
        "prompt_source": protocol.prompt.source,
        "prompt_sha256": protocol.prompt.sha256,
        **asdict(pins),
        "reply": protocol.reply,
        "repeats": asdict(protocol.repeats),
        "absent": protocol.absent,
        "pass_at": protocol.score.pass_at,
        "criteria": [asdict(criterion) for criterion in protocol.criteria],
        "score": {
            name: {key: value for key, value in asdict(node).items() if value is not None}
            for name, node in protocol.score.nodes.items()
        },
        "routing": asdict(protocol.routing),
        **({"per_task": asdict(protocol.per_task)} if protocol.per_task != PerTask() else {}),
    }


def machine_record() -> dict[str, Any]:
    """Where a run took place."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
    }


def _run_record(judge: TaskJudge, replies: int) -> dict[str, Any]:
    """What varies from run to run: times, calls, tokens, cost, machine, warnings."""
    out, stop, progress = judge.out, judge.stop, judge.progress
    now = datetime.now(UTC)
    this_run, ever = out.ledger.totals(this_run=True), out.ledger.totals(this_run=False)
    return {
        "schema": 1,
        "started": (now - timedelta(seconds=progress.seconds)).isoformat(timespec="seconds"),
        "ended": now.isoformat(timespec="seconds"),
        "seconds": round(progress.seconds, 3),
        "stopped": stop.reason,
        "message": stop.message,
        "calls": {
            "made": this_run.attempts,
            "answered": this_run.replied,
            "failed": this_run.failed,
            "retried": this_run.retried,
            "reused": replies - this_run.replied,
            "possibly_billed": ever.possibly_billed,
        },
        "tokens": {"input": ever.input_tokens, "output": ever.output_tokens},
        "cost_usd": float(ever.cost_usd) if not ever.unpriced else None,
        "known_cost_usd": float(ever.cost_usd),
        "unpriced_calls": ever.unpriced,
        "machine": machine_record(),
        "warnings": _run_warnings(judge, ever.possibly_billed),
    }
