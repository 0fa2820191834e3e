"""`RunSpec` -> `Plan`: protocol, judges, policies, tasks. What the user got wrong is found here first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError, ProtocolError, RendererFailed, TaskError
from beholder.evidence.record import open_record
from beholder.evidence.select import select_artifacts
from beholder.protocols import (
    builtin_ids,
    evidence_sha256,
    formula_sha256,
    load_protocol,
    protocol_for,
    question_sha256,
    task_columns,
)
from beholder.records import JudgeSpec, MediaLimits, Protocol, Route, Submission, Task
from beholder.rows import Pins
from beholder.run.seat import Seat, seats_for
from beholder.run.spec import RunSpec, check_record
from beholder.store import task_folder
from beholder.tasks import RunDirectory, has_column, load_tasks

RUBRIC_COLUMN, RUBRIC_PROTOCOL = "semantic_rubric", "enterprise-claw/1"
"""Tasks with this column tell their protocol by it."""

SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run, resolved.

    Attributes:
        protocol: With the flags applied: repeats, budgets.
        per_task: The protocol as it holds for each task that has criteria of its own, by task id.
        seats: The judges by route, the visual one first.
    """

    spec: RunSpec
    protocol: Protocol
    per_task: Mapping[str, Protocol]
    seats: Mapping[Route, Seat]
    pins: Pins
    evidence_sha256: str
    tasks: tuple[Task, ...]
    models: tuple[RunDirectory, ...]

    @property
    def judge(self) -> JudgeSpec:
        """The judge of what can be seen."""
        return self.seats["visual"].judge

    @property
    def limits(self) -> MediaLimits:
        """What the judge of what can be seen takes."""
        return self.seats["visual"].limits

    def protocol_for(self, task: Task) -> Protocol:
        """The protocol as it holds for a task."""
        return self.per_task.get(task.id, self.protocol)

    def seat_for(self, submission: Submission) -> Seat:
        """Who judges a submission: by its files' names alone, so before any of it is drawn."""
        if "text" not in self.seats:
            return self.seats["visual"]
        route = select_artifacts(submission, self.protocol.routing).route
        return self.seats["text" if route == "text" else "visual"]

    def seat_of(self, model: str) -> Seat:
        """The seat of a judge, by its model as a request names it; the visual one for any other."""
        return next((seat for seat in self.seats.values() if seat.judge.model == model), self.seats["visual"])

    def out_dir_pins(self, model: str) -> dict[str, Any]:
        """What must not change while the replies in an out-dir are of use."""
        text = {"text_judge": self.seats["text"].identity} if "text" in self.seats else {}
        return {
            "model": model,
            "protocol": self.protocol.id,
            "question_sha256": self.pins.question_sha256,
            "judge": self.seats["visual"].identity,
            **text,
        }


def plan_run(spec: RunSpec) -> Plan:
    """Resolve a run.

    Raises:
        SpecError: A file or a flag is wrong.
    """
    ref = spec.protocol if spec.protocol is not None else told_protocol(spec.tasks, spec.columns)
    if ref is None:
        load_tasks(spec.tasks, columns=spec.columns)  # a file that cannot be read says so first
        raise ConfigError(
            f"{spec.tasks}: its columns do not tell which protocol they are for; say --protocol, one of "
            f"{', '.join(builtin_ids())} or a file of your own",
            slug="no_protocol",
            concerns="--protocol",
        )
    plan = plan_judging(spec, ref)
    tasks = load_tasks(spec.tasks, columns=spec.columns, **task_columns(plan.protocol))
    if not spec.run_dirs:
        raise ConfigError("no run directory: say --run-dir PATH", concerns="--run-dir")
    for name in spec.run_dirs:
        _check_name(name)
    _check_apart(spec)
    models = tuple(RunDirectory(path, name) for name, path in spec.run_dirs.items())
    chosen = _chosen(tasks, spec)
    per_task = _per_task(plan.protocol, chosen, spec.tasks)
    return replace(plan, per_task=per_task, tasks=chosen, models=models)


def plan_judging(spec: RunSpec, ref: str | Path) -> Plan:
    """Resolve what judging needs, whatever is judged: a plan without tasks and models.

    Args:
        spec: Its tasks and run directories are not looked at.
        ref: The protocol's id or file.

    Raises:
        SpecError: A file or a flag is wrong.
    """
    protocol = _with_flags(load_protocol(ref, prompt_file=spec.prompt_file), spec)
    seats = seats_for(spec, protocol)
    check_record(spec.network, spec.record, spec.replay)
    return Plan(
        spec=spec,
        protocol=protocol,
        per_task={},
        seats=seats,
        pins=Pins(question_sha256=question_sha256(protocol), formula_sha256=formula_sha256(protocol)),
        evidence_sha256=evidence_sha256(
            protocol.routing,
            protocol.evidence,
            spec.network,
            seats["visual"].limits,
            replay=_record_digest(spec.replay),
        ),
        tasks=(),
        models=(),
    )


def told_protocol(tasks: Path, columns: Mapping[str, str]) -> str | None:
    """The protocol that a task file's own columns tell; None if they tell none."""
    return RUBRIC_PROTOCOL if has_column(tasks, RUBRIC_COLUMN, columns) else None


def _per_task(protocol: Protocol, tasks: tuple[Task, ...], file: Path) -> dict[str, Protocol]:
    """Each task's own protocol. Raises TaskError with everything that is wrong with any rubric."""
    if protocol.per_task.criteria is None:
        return {}
    found, problems = {}, []
    for task in tasks:
        try:
            found[task.id] = protocol_for(protocol, task)
        except ProtocolError as error:
            problems.append(str(error))
    if problems:
        shown = "".join(f"\n  - {problem}" for problem in problems[:SHOWN_PROBLEMS])
        more = len(problems) - SHOWN_PROBLEMS
        rest = f"\n  … and {more} more (validate-run lists all)" if more > 0 else ""
        raise TaskError(f"{file}:{shown}{rest}", slug="rubric", concerns=str(file))
    return found


def _with_flags(protocol: Protocol, spec: RunSpec) -> Protocol:
    repeats = spec.repeats if spec.repeats is not None else protocol.repeats.n
    if repeats < 1:
        raise ConfigError(f"--repeats {repeats}: at least 1", concerns="--repeats")
    least = protocol.repeats.min_scored
    if repeats < least:
        raise ConfigError(
            f"--repeats {repeats}: {protocol.source} scores a task from min_scored = {least} usable replies "
            f"on; ask for at least {least}, or write another min_scored into a protocol of your own",
            concerns="--repeats",
        )
    policy = protocol.evidence
    return replace(
        protocol,
        repeats=replace(protocol.repeats, n=repeats),
        evidence=replace(
            policy,
            images=spec.max_output_images or policy.images,
            pages=spec.max_output_pages or policy.pages,
            text_chars=spec.max_output_text_chars or policy.text_chars,
        ),
    )


def _record_digest(replay: Path | None) -> str:
    """What tells a record from another; empty without one."""
    if replay is None:
        return ""
    try:
        return open_record(replay, replay=True).digest()
    except RendererFailed as error:
        raise ConfigError(f"--replay {replay}: {error}", concerns="--replay") from None


def _check_apart(spec: RunSpec) -> None:
    """Results are never written among submissions, where the next run would take them for such."""
    out = spec.out_dir.resolve()
    for path in spec.run_dirs.values():
        run_dir = path.resolve()
        if out.is_relative_to(run_dir) or run_dir.is_relative_to(out):
            raise ConfigError(
                f"--out-dir {spec.out_dir} and --run-dir {path} lie in one another; choose an --out-dir "
                "apart from the submissions",
                concerns="--out-dir",
            )


def _check_name(name: str) -> None:
    """A model's name is a folder's name below the out-dir."""
    if not name or task_folder(name) != name:
        raise ConfigError(
            f"--run-dir: {name!r} cannot name a model's folder; say --run-dir NAME=PATH with a plain name",
            concerns="--run-dir",
        )


def _chosen(tasks: list[Task], spec: RunSpec) -> tuple[Task, ...]:
    if spec.task_ids:
        known = {task.id for task in tasks}
        unknown = [task_id for task_id in spec.task_ids if task_id not in known]
        if unknown:
            raise TaskError(f"{spec.tasks}: no task {', '.join(map(repr, unknown))}", concerns="--task-id")
        tasks = [task for task in tasks if task.id in spec.task_ids]
    if spec.limit is not None and spec.limit < 1:
        raise ConfigError(f"--limit {spec.limit}: at least 1", concerns="--limit")
    return tuple(tasks[: spec.limit])
