"""A whole run: out-dirs opened, tasks handed to workers, results written. Calls the rooms in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import BeholderError, StoreError
from beholder.evidence.engine import EvidenceEngine
from beholder.judges import RetryPolicy
from beholder.records import Route, Task
from beholder.run.budget import Budget, spent_before
from beholder.run.display import Style, show_progress
from beholder.run.finish import write_joint, write_model
from beholder.run.opening import (
    close_desks,
    engine_for,
    environment,
    first_of,
    halt,
    open_desks,
    places_for,
    refuse_joint,
    say_lost,
)
from beholder.run.plan import Plan, plan_run
from beholder.run.progress import Progress
from beholder.run.spec import RunSpec
from beholder.run.stop import Stop, signals
from beholder.run.task import Desk, TaskJudge
from beholder.store import FolderLock, OutDir, read_rows
from beholder.summary import TaskFigures, figures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run came to.

    Attributes:
        out_dir: Where everything lies; `report` is the page to open.
        summary: `judge_summary.json`: of the one model, or the joint one.
        models: Each model's own summary.
        stopped: Why the run did not come to every task (`interrupted`, `budget`, `futile`); None if it did.
        message: What to do about it.
        progress: The run's counters, and the first problems with calls.
    """

    out_dir: Path
    report: Path
    summary: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    stopped: str | None
    message: str
    progress: Progress

    @property
    def unscored(self) -> int:
        """Tasks without a score, over all models."""
        return sum(sum(summary["unscored"].values()) for summary in self.models.values())


MOST_NAMED = 5
"""Entries of a run directory that a line names."""


def judge_run(
    spec: RunSpec, *, display: Style = "none", say: Callable[[str], object] | None = None
) -> RunResult:
    """Judge the submissions of one model or several: evidence, judge, score, report. Resumes by itself.

    Args:
        spec: What to do.
        display: Progress on stderr.
        say: Takes lines for the user, such as the judge's name before the first call.

    Raises:
        SpecError: The user's files or flags are wrong; nothing was sent.
        StoreError: The out-dir is held by another run, pinned to other inputs, damaged, or the disk is full.
    """
    return asyncio.run(_run(plan_run(spec), display, say or (lambda _: None)))


async def _run(plan: Plan, display: Style, say: Callable[[str], object]) -> RunResult:
    desks = open_desks(plan, environment(plan, say), say)
    progress = Progress(planned=len(plan.tasks) * len(plan.models))
    stop = Stop()
    with contextlib.ExitStack() as closing:
        outs = _open_outs(plan, closing)
        say_lost(outs, say)
        _say_left_out(plan, outs, say)
        _say_none_found(plan, say)
        spent = sum((spent_before(out.ledger, plan) for out in outs), Decimal(0))
        budget = Budget(limit_usd=plan.spec.max_cost, spent_usd=spent)
        main = asyncio.current_task()
        closing.enter_context(
            signals(stop, lambda: halt(desks, budget), lambda: main.cancel() if main else None, say)
        )
        async with engine_for(plan) as engine:
            judges = _task_judges(plan, outs, engine, desks, budget, stop, progress)
            shown = asyncio.create_task(show_progress(progress, display))
            try:
                rows = await _judge_all(plan.tasks, judges, progress, plan.spec.max_connections)
            finally:
                shown.cancel()
                try:
                    # What the display fails with, as on a terminal that went away, must not cost the results.
                    await asyncio.gather(shown, return_exceptions=True)
                finally:
                    await close_desks(desks)
        if engine.cache_problem:
            say(f"Not everything could be kept in --cache-dir {engine.cache_problem}")
        return _finish(judges, rows, engine.renderer)


def _task_judges(
    plan: Plan,
    outs: Sequence[OutDir],
    engine: EvidenceEngine,
    desks: Mapping[Route, Desk],
    budget: Budget,
    stop: Stop,
    progress: Progress,
) -> list[TaskJudge]:
    retry = RetryPolicy(max_retries=plan.spec.max_retries)
    return [
        TaskJudge(
            plan=plan,
            out=out,
            submissions=submissions,
            engine=engine,
            desks=desks,
            retry=retry,
            budget=budget,
            stop=stop,
            progress=progress,
        )
        for out, submissions in zip(outs, plan.models, strict=True)
    ]


async def _judge_all(
    tasks: Sequence[Task], judges: Sequence[TaskJudge], progress: Progress, connections: int
) -> list[list[_Result]]:
    """Results by model, in task order. Workers take one task after the other, so memory is bounded."""
    results: list[list[_Result | None]] = [[None] * len(tasks) for _ in judges]
    waiting = iter([(m, t) for m in range(len(judges)) for t in range(len(tasks))])

    async def work() -> None:
        for model, index in waiting:
            judge = judges[model]
            row = await judge.judge_task(tasks[index])
            results[model][index] = _Result.of(row)
            progress.finished(row)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(places_for(connections), progress.planned)):
                group.create_task(work())
    except* BeholderError as errors:
        raise first_of(errors) from None
    return [[result for result in own if result is not None] for own in results]


@dataclass(frozen=True, slots=True)
class _Result:
    """A row as it will be written, with the figures that the summary needs."""

    line: str
    figures: TaskFigures

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Result:
        return cls(json.dumps(row, ensure_ascii=False, allow_nan=False), figures_of(row))


def _finish(
    judges: Sequence[TaskJudge], rows: Sequence[Sequence[_Result]], renderer: Mapping[str, Any]
) -> RunResult:
    plan, stop, progress = judges[0].plan, judges[0].stop, judges[0].progress
    summaries = {
        judge.submissions.model: write_model(
            judge, [result.line for result in own], [result.figures for result in own], renderer
        )
        for judge, own in zip(judges, rows, strict=True)
    }
    out = plan.spec.out_dir
    summary: Mapping[str, Any] = next(iter(summaries.values()))
    if len(judges) > 1:
        figures = {
            judge.submissions.model: [result.figures for result in own]
            for judge, own in zip(judges, rows, strict=True)
        }
        summary = write_joint(plan, summaries, figures)
    return RunResult(
        out_dir=out,
        report=out / "report.html",
        summary=summary,
        models=summaries,
        stopped=stop.reason,
        message=stop.message,
        progress=progress,
    )


def _open_outs(plan: Plan, closing: contextlib.ExitStack) -> list[OutDir]:
    """The out-dirs of all models, held: of several, the folder that holds theirs is held too."""
    outs = []
    top = plan.spec.out_dir
    several = len(plan.models) > 1
    if several and (top / "ledger.sqlite").exists():
        raise StoreError(
            f"{top}: holds the run of one model; several models have a folder each, so use another "
            f"--out-dir, or move it to {top / 'NAME'}",
            slug="pinned",
        )
    if not several:
        refuse_joint(top)
    if several:
        top.mkdir(parents=True, exist_ok=True)
        closing.callback(FolderLock(top).release)
    for submissions in plan.models:
        path = plan.spec.out_dir if len(plan.models) == 1 else plan.spec.out_dir / submissions.model
        out = OutDir(path, plan.out_dir_pins(submissions.model), force=plan.spec.force)
        closing.callback(out.close)
        outs.append(out)
    return outs


def _say_left_out(plan: Plan, outs: Sequence[OutDir], say: Callable[[str], object]) -> None:
    """Results are of the tasks that were asked for, and of no other: rows of others leave, replies stay."""
    if plan.spec.limit is None and not plan.spec.task_ids:
        return
    chosen = {task.id for task in plan.tasks}
    with contextlib.suppress(StoreError):  # none yet, or damaged: they are written anew in any case
        left = sum(row["task_id"] not in chosen for out in outs for row in read_rows(out.path))
        if left:
            rows = "1 row" if left == 1 else f"{left} rows"
            say(
                f"{rows} of tasks outside --limit and --task-id leave the results of this out-dir; their "
                "replies stay in the ledger: without these flags the rows come back, and no call is made."
            )


def _say_none_found(plan: Plan, say: Callable[[str], object]) -> None:
    """Where no task has a submission, another folder was meant, or the names are other ones."""
    for run in plan.models:
        matches = (run.match(task.id) for task in plan.tasks)
        if not plan.tasks or any(found.folder or found.files for found in matches):
            continue
        names = sorted(f"{path.name}/" if is_folder else path.name for _, path, is_folder in run.entries())
        there = [name for name in names if not name.startswith(".")]
        more = ", …" if len(there) > MOST_NAMED else ""
        holds = f"it holds {', '.join(there[:MOST_NAMED])}{more}" if there else "it is empty"
        say(
            f"{run.path}: nothing there is named after a task, such as {plan.tasks[0].id!r}; {holds}. "
            "A --run-dir is the folder that holds one model's submissions"
        )
