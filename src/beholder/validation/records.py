"""What a validation finds, as frozen data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

from beholder.records import Task

Level = Literal["problem", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, or to be known.

    Attributes:
        kind: One of the words of the package's docstring; for notes also `other_format`, `damaged`,
            `excluded` and `not_checked`.
        task_id: The task it concerns; None if it concerns none.
        path: Below the run directory, or the task file's name.
        detail: What is wrong, and what to do.
    """

    kind: str
    task_id: str | None
    path: str
    detail: str
    level: Level = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUse:
    """An outside host that pages name.

    Attributes:
        tasks: The tasks whose pages do, in task order.
        way: How the first of them asks for it.
    """

    host: str
    tasks: tuple[str, ...]
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was found.

    Attributes:
        tasks: Tasks that could be read; `submissions` of them have something handed in.
        problems: In task order; those of no task come first (the task file) and last (unexpected files).
        hosts: Outside hosts, by name.
    """

    tasks: int
    submissions: int
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()
    hosts: tuple[HostUse, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Problems by kind."""
        return dict(sorted(Counter(problem.kind for problem in self.problems).items()))

    @property
    def network_flag(self) -> str | None:
        """The flag of judge-run that lets pages reach what they name; None if they name nothing."""
        return f"--network {','.join(use.host for use in self.hosts)}" if self.hosts else None

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "ok": not self.problems,
            "tasks": self.tasks,
            "submissions": self.submissions,
            "counts": self.counts,
            "problems": [_plain(problem) for problem in self.problems],
            "notes": [_plain(note) for note in self.notes],
            "outside_hosts": {use.host: {"tasks": list(use.tasks), "way": use.way} for use in self.hosts},
            "network_flag": self.network_flag,
        }


def problem_of(task: Task, kind: str, path: str, detail: str, level: Level = "problem") -> Problem:
    """A problem of a task."""
    return Problem(kind=kind, task_id=task.id, path=path, detail=detail, level=level)


def _plain(problem: Problem) -> dict[str, Any]:
    return {name: value for name, value in asdict(problem).items() if name != "level"}
