"""What is wrong with a protocol's score: numbers that are no formula, names that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from beholder.protocols.check_criteria import is_sensible
from beholder.protocols.finding import Finding
from beholder.protocols.formula import problems_of, weight_problem
from beholder.protocols.places import Place
from beholder.records import Criterion, ScoreNode


def score_findings(
    raw: Mapping[str, Any],
    nodes: Mapping[str, ScoreNode],
    wrong: set[str],
    criteria: tuple[Criterion, ...],
) -> Iterator[Finding]:
    """What is wrong with the section [score].

    Args:
        nodes: Those of its parts that have their shape.
        wrong: The names of the others.
    """
    score = raw.get("score", {})
    if not isinstance(score, Mapping):
        return
    for name, value in score.items():
        if name == "pass_at":
            if not (isinstance(value, int | Decimal) and is_sensible(Decimal(value))):
                message = "must be a number, of a size that a score can have"
                yield Finding(path=("score", "pass_at"), message=message)
        elif isinstance(value, int | Decimal):
            message = "a number is no formula; only pass_at is a number"
            yield Finding(path=("score", name), message=message)
    if not nodes and not wrong and set(score) <= {"pass_at"}:
        if problem := weight_problem(criteria):
            yield Finding(path=("criteria",), message=problem)
        return
    yield from node_findings(nodes, criteria, wrong)


def node_findings(
    nodes: Mapping[str, ScoreNode], criteria: tuple[Criterion, ...], wrong: set[str] | None = None
) -> Iterator[Finding]:
    """What is wrong with a formula whose names have the shape of such."""
    for name, sentence in problems_of(nodes, {c.key for c in criteria}, wrong or set()):
        path: Place = ("score", name) if name else ("score",)
        yield Finding(path=path, message=sentence, follows="neither a criterion" in sentence or name is None)
