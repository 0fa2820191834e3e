"""What is wrong with what a task brings of its own: its rubric and its rules."""

from __future__ import annotations

from collections.abc import Iterator

from beholder.errors import ProtocolError
from beholder.protocols import protocol_for
from beholder.records import Protocol, Task
from beholder.rules import parse_rules
from beholder.validation.records import Problem, problem_of


def own_problems(task: Task, protocol: Protocol, file: str) -> Iterator[Problem]:
    """Everything that is wrong with a task's own criteria and rules, by its row; unknown rules are notes."""
    column = protocol.per_task.criteria
    if column is not None and task.fields.get(column, "").strip():
        try:
            protocol_for(protocol, task)
        except ProtocolError as error:
            yield problem_of(task, "rubric", file, "; ".join(str(error).split("\n  - ")).replace(":; ", ": "))
    elif column is not None:
        detail = f"row {task.row}, {column}: is empty; write a text, or a list of criteria"
        yield problem_of(task, "rubric", file, detail)
    column = protocol.per_task.rules
    for number, rule in enumerate(parse_rules(task.fields.get(column)) if column else (), start=1):
        if rule.problem is None:
            continue
        named = f" ({rule.type})" if rule.type else ""
        detail = f"row {task.row}, {column}, rule {number}{named}: {rule.detail}"
        if rule.problem == "not_supported" and rule.type:
            yield problem_of(task, "rules", file, f"{detail}; it is told as not_supported", "note")
        else:
            yield problem_of(task, "rules", file, detail)
