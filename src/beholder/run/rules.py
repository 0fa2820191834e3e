"""A task's own rules, checked on its submission and kept beside the score."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import asdict
from typing import Any

from beholder.records import Protocol, Rule, Submission, Task
from beholder.rules import check_rules, parse_rules


def rules_of(protocol: Protocol, task: Task) -> tuple[Rule, ...]:
    """The rules in the task's column of rules; none where the protocol names no such column."""
    column = protocol.per_task.rules
    return parse_rules(task.fields.get(column)) if column else ()


async def rule_rows(protocol: Protocol, task: Task, submission: Submission) -> list[dict[str, Any]]:
    """`rules` of a row: `{type, args, outcome, detail}` each."""
    stop = threading.Event()

    def check() -> list[dict[str, Any]]:
        return [asdict(result) for result in check_rules(rules_of(protocol, task), submission, stop=stop)]

    try:
        return await asyncio.to_thread(check)
    finally:
        stop.set()  # a thread cannot be cancelled, and a rule may take a minute
