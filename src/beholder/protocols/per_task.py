"""What a task adds to a protocol: criteria of its own.

A rubric is a text, which the protocol's one criterion then asks, or a JSON list of criteria in the form of
`[[criteria]]`, whose score is their `weighted`, 0 to 1. Weights are no part of the question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from beholder.errors import ProtocolError
from beholder.protocols.describe import plain_number
from beholder.protocols.formula import weight_problem, weighted_formula
from beholder.protocols.load import parse_criteria
from beholder.protocols.template import BUILT_IN_PLACEHOLDERS, describe_rubric
from beholder.records import Criterion, Protocol, Task

_LIKE_JSON = re.compile(r'\s*(?:\[\s*[{\]]|\{\s*["}])')
"""A text may begin with a bracket; one that begins so was meant as data."""

_ASKS_NOTHING = re.compile(r"\s*(?:true|false|null|none|nan)\s*", re.IGNORECASE)
"""What a program writes for a cell without a text."""


def protocol_for(protocol: Protocol, task: Task) -> Protocol:
    """The protocol as it holds for one task: its criteria and formula are the task's own, if it has such.

    Raises:
        ProtocolError: The task's rubric is wrong; the message lists every problem, with the fix.
    """
    column = protocol.per_task.criteria
    if column is None:
        return protocol
    name = f"row {task.row}, task {task.id!r}, {column}"
    rubric = task.fields[column]
    if not rubric.strip():
        raise ProtocolError(f"{name}: is empty; write a text, or a list of criteria", concerns=task.id)
    if _ASKS_NOTHING.fullmatch(rubric):
        raise ProtocolError(
            f"{name}: is {rubric.strip()}, which asks nothing; write a text, or a list of criteria",
            concerns=task.id,
        )
    listed = _listed(rubric, name)
    if listed is None:
        (criterion,) = protocol.criteria
        return replace(protocol, criteria=(replace(criterion, question=rubric),))
    if not isinstance(listed, list):
        raise ProtocolError(
            f"{name}: is a table; write a text, or a list of criteria, such as "
            '[{"key": "complete", "question": "…", "max": 10, "weight": 2}]',
            concerns=task.id,
        )
    return with_criteria(protocol, parse_criteria(listed, name), name)


def with_criteria(protocol: Protocol, criteria: tuple[Criterion, ...], name: str) -> Protocol:
    """The protocol with a task's own criteria.

    Raises:
        ProtocolError: They cannot be weighed, or one has the key that the judge's words have.
    """
    problem = weight_problem(criteria)
    if protocol.rationale in {criterion.key for criterion in criteria}:
        problem = f"{protocol.rationale!r} is the reply's key for the judge's words; choose another key"
    if problem is not None:
        raise ProtocolError(f"{name}: {problem}", concerns=name)
    return replace(protocol, criteria=criteria, score=weighted_formula(criteria, protocol.score.pass_at))


def task_columns(protocol: Protocol) -> dict[str, Any]:
    """What a task file is read with: columns that are needed, that may be there, that are labels too."""
    needed = [name for name in protocol.prompt.placeholders if name not in BUILT_IN_PLACEHOLDERS]
    own = protocol.per_task
    return {
        "placeholders": tuple(dict.fromkeys([*needed, *([own.criteria] if own.criteria else [])])),
        "optional": (own.rules,) if own.rules else (),
        "group_by": protocol.group_by,
    }


def prompt_fields(protocol: Protocol, task: Task) -> Mapping[str, str]:
    """What the prompt's placeholders stand for; a task's rubric as the judge is told it.

    Args:
        protocol: As `protocol_for` gave it for this task.
    """
    column = protocol.per_task.criteria
    if column is None:
        return task.fields
    rubric = describe_rubric(protocol.criteria, protocol.reply, protocol.rationale)
    return {**task.fields, column: rubric}


def criterion_record(criterion: Criterion) -> dict[str, Any]:
    """A criterion as data that `parse_criteria` takes, JSON-ready."""
    record: dict[str, Any] = {
        "key": criterion.key,
        "question": criterion.question,
        "min": plain_number(criterion.min),
        "max": plain_number(criterion.max),
        "type": criterion.type,
    }
    if criterion.allowed is not None:
        record["allowed"] = [plain_number(value) for value in criterion.allowed]
    if criterion.bands:
        record["bands"] = [
            {
                "from": plain_number(band.start),
                **({"below": plain_number(band.below)} if band.below is not None else {}),
                **({"to": plain_number(band.to)} if band.to is not None else {}),
                "text": band.text,
            }
            for band in criterion.bands
        ]
    if criterion.weight is not None:
        record["weight"] = plain_number(criterion.weight)
    return record


def _listed(rubric: str, name: str) -> Any:
    """The rubric as a list or table; None where it is a text. Raises ProtocolError for a broken list."""
    if not _LIKE_JSON.match(rubric):
        return _texts(rubric)
    try:
        return json.loads(rubric, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{name}: begins like a list of criteria and is no JSON: {error}") from None


def _texts(rubric: str) -> list[Any] | None:
    """A list of texts, which is no list of criteria and no text either; None for a text in brackets."""
    if not rubric.lstrip().startswith('["'):
        return None
    try:
        found = json.loads(rubric)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
