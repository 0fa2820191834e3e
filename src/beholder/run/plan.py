"""`RunSpec` -> `Plan`: protocol, judge, policies, tasks. What the user got wrong is found here first."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError, TaskError
from beholder.judges import judge_folder, list_price, media_limits, most_tokens, parse_model, price_at
from beholder.protocols import (
    BUILT_IN_PLACEHOLDERS,
    evidence_sha256,
    formula_sha256,
    load_protocol,
    question_sha256,
)
from beholder.records import JudgeSpec, MediaLimits, Protocol, Task, Usage
from beholder.rows import Pins
from beholder.run.spec import RunSpec
from beholder.store import task_folder
from beholder.tasks import RunDirectory, load_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run, resolved.

    Attributes:
        protocol: With the flags applied: repeats, budgets.
        limits: What the judge takes.
        judge_folder: `semantic_<name>_visual_judge`.
        min_interval_s: 0 for a scripted judge.
        script_sha256: Of a scripted judge's file: another script is another judge.
    """

    spec: RunSpec
    protocol: Protocol
    judge: JudgeSpec
    limits: MediaLimits
    judge_folder: str
    pins: Pins
    evidence_sha256: str
    tasks: tuple[Task, ...]
    models: tuple[RunDirectory, ...]
    min_interval_s: float
    script_sha256: str | None = None

    @property
    def judge_identity(self) -> dict[str, Any]:
        """What makes the judge the same judge: model, address and settings, no key."""
        return {
            "model": self.judge.model,
            "base_url": self.judge.base_url,
            "max_tokens": self.judge.max_tokens,
            "temperature": None if self.judge.temperature is None else float(self.judge.temperature),
            "settings": dict(sorted(self.judge.settings.items())),
            **({"script_sha256": self.script_sha256} if self.script_sha256 else {}),
        }

    def out_dir_pins(self, model: str) -> dict[str, Any]:
        """What must not change while the replies in an out-dir are of use."""
        return {
            "model": model,
            "protocol": self.protocol.id,
            "question_sha256": self.pins.question_sha256,
            "judge": self.judge_identity,
        }

    def cost(self, usage: Usage) -> Decimal | None:
        """USD by the user's price, else by the price list; None if neither knows."""
        return price_at(usage, *self.spec.price) if self.spec.price else list_price(self.judge, usage)

    def worst_cost(self, prompt: str, images: int) -> Decimal:
        """What one attempt can cost at the most, in USD; 0 where no limit is to be kept."""
        if self.spec.max_cost is None:
            return Decimal(0)
        most = Usage(
            input_tokens=most_tokens(self.judge, prompt, images), output_tokens=self.judge.max_tokens
        )
        return self.cost(most) or Decimal(0)


def plan_run(spec: RunSpec) -> Plan:
    """Resolve a run.

    Raises:
        SpecError: A file or a flag is wrong.
    """
    protocol = _with_flags(load_protocol(spec.protocol, prompt_file=spec.prompt_file), spec)
    judge = _judge(spec, protocol)
    limits = media_limits(judge)
    _check_price(spec, judge)
    columns = tuple(name for name in protocol.prompt.placeholders if name not in BUILT_IN_PLACEHOLDERS)
    tasks = load_tasks(spec.tasks, placeholders=columns, group_by=protocol.group_by, columns=spec.columns)
    if not spec.run_dirs:
        raise ConfigError("no run directory: say --run-dir PATH", concerns="--run-dir")
    for name in spec.run_dirs:
        _check_name(name)
    _check_apart(spec)
    models = tuple(RunDirectory(path, name) for name, path in spec.run_dirs.items())
    interval = Decimal(0) if judge.scripted else protocol.judge.min_interval_s
    return Plan(
        spec=spec,
        protocol=protocol,
        judge=judge,
        limits=limits,
        judge_folder=judge_folder(judge, "visual", spec.judge_name),
        pins=Pins(question_sha256=question_sha256(protocol), formula_sha256=formula_sha256(protocol)),
        evidence_sha256=evidence_sha256(protocol.routing, protocol.evidence, spec.network, limits),
        tasks=_chosen(tasks, spec),
        models=models,
        script_sha256=_script_sha256(judge),
        min_interval_s=float(interval)
        if spec.min_interval_s is None or judge.scripted
        else spec.min_interval_s,
    )


def _with_flags(protocol: Protocol, spec: RunSpec) -> Protocol:
    repeats = spec.repeats if spec.repeats is not None else protocol.repeats.n
    if repeats < 1:
        raise ConfigError(f"--repeats {repeats}: at least 1", concerns="--repeats")
    policy = protocol.evidence
    return replace(
        protocol,
        repeats=replace(protocol.repeats, n=repeats, min_scored=min(protocol.repeats.min_scored, repeats)),
        evidence=replace(
            policy,
            images=spec.max_output_images or policy.images,
            pages=spec.max_output_pages or policy.pages,
            text_chars=spec.max_output_text_chars or policy.text_chars,
        ),
    )


def _judge(spec: RunSpec, protocol: Protocol) -> JudgeSpec:
    model = spec.judge or protocol.judge.visual_model or protocol.judge.model
    if model is None:
        raise ConfigError(
            f"{protocol.id} has no judge of its own: say --judge provider/name, such as "
            "--judge anthropic/claude-sonnet-4-6",
            slug="no_judge",
            concerns="--judge",
        )
    try:
        json.dumps(dict(spec.settings), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"settings of the judge: {error}; they are sent as JSON", concerns="-M") from None
    provider, name = parse_model(model, base_url=spec.base_url)
    defaults = protocol.judge
    return JudgeSpec(
        provider=provider,
        name=name,
        max_tokens=spec.max_tokens if spec.max_tokens is not None else defaults.max_tokens,
        temperature=spec.temperature if spec.temperature is not None else defaults.temperature,
        base_url=spec.base_url,
        api_key_env=spec.api_key_env,
        timeout_s=spec.timeout_s,
        settings=spec.settings,
    )


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


def _script_sha256(judge: JudgeSpec) -> str | None:
    if not judge.scripted:
        return None
    try:
        return hashlib.sha256(Path(judge.name).read_bytes()).hexdigest()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise ConfigError(f"scripted judge {judge.name}: {reason}", concerns=judge.name) from None


def _check_price(spec: RunSpec, judge: JudgeSpec) -> None:
    """A limit cannot be kept where no price is known."""
    if spec.max_cost is None or spec.price is not None:
        return
    if list_price(judge, Usage(input_tokens=1000, output_tokens=1000)) is None:
        raise ConfigError(
            f"--max-cost: the price of {judge.model} is unknown; say --price IN,OUT (USD per million tokens)",
            slug="unknown_price",
            concerns="--max-cost",
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
