"""What can be checked of a submission without a judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry of a task's `evaluation.rule_based`, checked for its form.

    Attributes:
        type: As written; empty where the entry has none.
        args: The entry's other members, as written.
        problem: Why it cannot be checked: `not_supported` (no rule that is known) or `error` (a known type
            with wrong arguments); with `detail` in words.
    """

    type: str
    args: Mapping[str, Any] = field(default_factory=dict)
    problem: Literal["not_supported", "error"] | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """What became of a rule. No part of any score.

    Attributes:
        detail: What was found, for people.
    """

    type: str
    args: Mapping[str, Any]
    outcome: Literal["passed", "failed", "not_supported", "error"]
    detail: str = ""
