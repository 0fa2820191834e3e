"""A task's own rules, checked on its submission and kept beside the score."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from beholder.records import Protocol, Rule, Submission, Task
from beholder.rules import check_rules, parse_rules


def rules_of(protocol: Protocol, task: Task) -> tuple[Rule, ...]:
    """The rules in the task's column of rules; none where the protocol names no such column."""
    column = protocol.per_task.rules
    return parse_rules(task.fields.get(column)) if column else ()


def rule_rows(protocol: Protocol, task: Task, submission: Submission) -> list[dict[str, Any]]:
    """`rules` of a row: `{type, args, outcome, detail}` each."""
    return [asdict(result) for result in check_rules(rules_of(protocol, task), submission)]
