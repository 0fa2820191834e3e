"""What is wrong with what a task brings of its own: its rubric and its rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from beholder.errors import ProtocolError
from beholder.protocols import protocol_for
from beholder.records import Protocol, Rule, Task
from beholder.rules import parse_rules
from beholder.validation.records import Problem, problem_of

SHOWN_ROWS = 5


def own_problems(task: Task, protocol: Protocol, file: str) -> Iterator[Problem]:
    """Everything that is wrong with a task's own criteria and rules, by its row; see `unknown_rules`, too."""
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
        if rule.problem is None or _is_unknown(rule):
            continue
        named = f" ({rule.type})" if rule.type else ""
        yield problem_of(
            task, "rules", file, f"row {task.row}, {column}, rule {number}{named}: {rule.detail}"
        )


def unknown_rules(tasks: Sequence[Task], protocol: Protocol, file: str) -> Iterator[Problem]:
    """A note for each type of rule that is none, however many tasks have it: it is never passed."""
    column = protocol.per_task.rules
    having: dict[str, list[tuple[Task, Rule]]] = {}
    for task in tasks:
        for rule in parse_rules(task.fields.get(column)) if column else ():
            if _is_unknown(rule):
                having.setdefault(rule.type, []).append((task, rule))
    for name, found in having.items():
        rows = list(dict.fromkeys(task.row for task, _ in found))
        shown = ", ".join(map(str, rows[:SHOWN_ROWS])) + (", …" if len(rows) > SHOWN_ROWS else "")
        where = f"row {shown}" if len(rows) == 1 else f"{len(rows)} rows ({shown})"
        detail = (
            f"{where}, {column}: no rule is of type {name!r}; {found[0][1].detail}; told as not_supported"
        )
        yield problem_of(found[0][0], "rules", file, detail, "note")


def _is_unknown(rule: Rule) -> bool:
    """Whether a rule has the form of one, and a type that nothing here checks."""
    return rule.problem == "not_supported" and bool(rule.type)
