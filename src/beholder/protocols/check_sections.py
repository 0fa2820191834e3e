"""What is wrong with the sections beside criteria and score: values that have a shape and cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from beholder.protocols.check_shape import good_part
from beholder.protocols.finding import Finding
from beholder.protocols.places import Place
from beholder.protocols.schema import PromptSection
from beholder.records import (
    TABLE_FIELDS,
    TABLE_PREFIXES,
    EvidencePolicy,
    JudgeDefaults,
    PerTask,
    Repeats,
    ResultTable,
    Routing,
)


def section_findings(raw: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with the sections that have their shape; with a shape, `check_shape` tells."""
    repeats = good_part(Repeats, raw, "repeats")
    if repeats is not None and repeats.n < 1:
        yield Finding(
            path=("repeats", "n"), message=f"{repeats.n} is below 1; a task is judged at least once"
        )
    if repeats is not None and not 1 <= repeats.min_scored <= max(repeats.n, 1):
        message = f"{repeats.min_scored} is not between 1 and n = {repeats.n}"
        yield Finding(path=("repeats", "min_scored"), message=message)
    judge = good_part(JudgeDefaults, raw, "judge")
    if judge is not None and judge.max_tokens < 1:
        yield Finding(path=("judge", "max_tokens"), message=f"{judge.max_tokens} is below 1; 1024 is usual")
    if judge is not None and judge.temperature is not None and judge.temperature < 0:
        message = f"{judge.temperature} is below 0; 0 is the least"
        yield Finding(path=("judge", "temperature"), message=message)
    if judge is not None and not 0 <= judge.min_interval_s <= 3600:
        message = f"{judge.min_interval_s} is not within 0 to 3600 seconds"
        yield Finding(path=("judge", "min_interval_s"), message=message)
    yield from _evidence_findings(good_part(EvidencePolicy, raw, "evidence"))
    yield from _routing_findings(raw, good_part(Routing, raw, "routing"))
    yield from _table_findings(good_part(ResultTable, raw, "table"))
    prompt = good_part(PromptSection, raw, "prompt")
    if prompt is not None and prompt.text is not None and prompt.file is not None:
        yield Finding(path=("prompt",), message="text and file are both given; keep one")
    yield from _placeholder_findings(prompt.placeholders or () if prompt is not None else ())
    yield from _per_task_findings(raw, good_part(PerTask, raw, "per_task"))


def _evidence_findings(policy: EvidencePolicy | None) -> Iterator[Finding]:
    if policy is None:
        return
    for name in ("images", "pages", "text_chars"):
        if getattr(policy, name) < 1:
            message = f"{getattr(policy, name)} is below 1; leave it out for the default"
            yield Finding(path=("evidence", name), message=message)
    if min(policy.viewport) < 16 or max(policy.viewport) > 10_000:
        message = f"{list(policy.viewport)} is not within 16 to 10000 px"
        yield Finding(path=("evidence", "viewport"), message=message)
    if not 0 <= policy.min_wait_s <= policy.max_wait_s <= 600:
        message = "0 <= min_wait_s <= max_wait_s <= 600 does not hold"
        yield Finding(path=("evidence", "min_wait_s"), message=message)


def _routing_findings(raw: Mapping[str, Any], routing: Routing | None) -> Iterator[Finding]:
    if routing is None:
        return
    for name in ("visual", "text"):
        for at, suffix in enumerate(getattr(routing, name)):
            if not suffix.startswith("."):
                message = f'suffix {suffix!r} must start with a dot: write ".{suffix.lstrip("*.")}"'
                yield Finding(path=("routing", name, at), message=message)
    given = raw["routing"]
    if ("visual" in given or "text" in given) and not (routing.visual or routing.text):
        message = (
            "neither visual nor text names a suffix, so no file would be looked at; leave both out for all"
        )
        yield Finding(path=("routing",), message=message)
    if routing.kind == "visual" and routing.text:
        message = 'text suffixes are looked at with kind = "strict" only; say so, or leave them out'
        yield Finding(path=("routing", "text"), message=message)


def _table_findings(table: ResultTable | None) -> Iterator[Finding]:
    if table is None:
        return
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,60}", table.name) or table.name.startswith("judge_"):
        message = f"{table.name!r} must be of a-z, 0-9, - and _, and not begin with judge_"
        yield Finding(path=("table", "name"), message=message)
    for at, column in enumerate(table.columns):
        kind, colon, name = column.source.partition(":")
        if not (kind in TABLE_FIELDS if not colon else kind in TABLE_PREFIXES and name):
            known = ", ".join((*TABLE_FIELDS, *(f"{prefix}:NAME" for prefix in TABLE_PREFIXES)))
            message = f"table column {column.name!r}: no source {column.source!r}; the sources are {known}"
            yield Finding(path=("table", "columns", at), message=message)


def _placeholder_findings(names: tuple[str, ...]) -> Iterator[Finding]:
    for at, name in enumerate(names):
        path: Place = ("prompt", "placeholders", at)
        if not name.strip() or set(name) & set("{}"):
            message = f'{name!r} names no column; write the name that stands in braces, such as "prompt"'
            yield Finding(path=path, message=message)
        elif name in names[:at]:
            yield Finding(path=path, message=f"{name!r} is named twice; once is enough")


def _per_task_findings(raw: Mapping[str, Any], per_task: PerTask | None) -> Iterator[Finding]:
    if per_task is None or per_task.criteria is None:
        return
    criteria, score = raw.get("criteria"), raw.get("score", {})
    if isinstance(criteria, list) and len(criteria) != 1:
        message = (
            f"tasks bring their own criteria, and there are {len(criteria)} [[criteria]]; keep one, which is "
            "how a rubric is judged that is a text"
        )
        yield Finding(path=("per_task", "criteria"), message=message)
    if isinstance(score, Mapping) and set(score) - {"pass_at"}:
        message = "tasks bring their own criteria, and their score is weighted; keep only pass_at"
        yield Finding(path=("score",), message=message)
