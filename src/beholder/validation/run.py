"""One model's run directory against a task file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from beholder.errors import TaskError
from beholder.evidence.select import select_artifacts
from beholder.protocols import task_columns
from beholder.records import EvidencePolicy, Protocol, Submission, Task
from beholder.tasks import RunDirectory, read_tasks
from beholder.validation.content import artifact_problems, hosts_of
from beholder.validation.decoded import Decoders
from beholder.validation.folder import folder_problems
from beholder.validation.names import Names
from beholder.validation.own import own_problems, unknown_rules
from beholder.validation.records import HostUse, Problem, Validation, problem_of


def validate_run(
    tasks_file: Path,
    run_dir: Path,
    *,
    protocol: Protocol | None = None,
    columns: Mapping[str, str] | None = None,
    model: str = "",
) -> Validation:
    """Everything that is wrong with a task file and one model's run directory.

    Args:
        protocol: Tells which columns the prompt needs and which files are looked at; without it only the
            ids are needed, and every file of a known kind is looked at.
        columns: Our column name -> the task file's.

    A run directory that cannot be listed is a problem like any other.
    """
    found = read_tasks(tasks_file, columns=columns, **(task_columns(protocol) if protocol else {}))
    problems = [
        Problem(kind="task_file", task_id=None, path=tasks_file.name, detail=str(problem))
        for problem in found.problems
    ]
    if protocol is not None:
        for task in found.tasks:
            problems += own_problems(task, protocol, tasks_file.name)
        problems += unknown_rules(found.tasks, protocol, tasks_file.name)
    try:
        directory = RunDirectory(run_dir, model or run_dir.absolute().name)
    except TaskError as error:
        problems.append(Problem(kind="unreadable", task_id=None, path=str(run_dir), detail=str(error)))
        return Validation(tasks=len(found.tasks), submissions=0, problems=tuple(problems))
    names = Names(directory)
    hosts: dict[str, tuple[str, list[str]]] = {}
    handed_in = 0
    with Decoders(protocol.evidence if protocol else EvidencePolicy()) as decoders:
        for task in found.tasks:
            submission = directory.open(task)
            handed_in += bool(submission.artifacts) or submission.response is not None
            problems += _task_problems(task, submission, names, protocol, columns or {}, decoders)
            for host, way in hosts_of(submission, protocol).items():
                hosts.setdefault(host, (way, []))[1].append(task.id)
    # With a broken task file nobody can tell which files no task asks for.
    if not found.problems:
        problems += names.unclaimed()
    return Validation(
        tasks=len(found.tasks),
        submissions=handed_in,
        problems=tuple(problem for problem in problems if problem.level == "problem"),
        notes=tuple(problem for problem in problems if problem.level == "note"),
        hosts=tuple(
            HostUse(host=host, tasks=tuple(tasks), way=way) for host, (way, tasks) in sorted(hosts.items())
        ),
    )


def _task_problems(
    task: Task,
    submission: Submission,
    names: Names,
    protocol: Protocol | None,
    columns: Mapping[str, str],
    decoders: Decoders,
) -> Iterator[Problem]:
    match = names.claim(task.id)
    if match.folder is None and not match.files:
        like = names.like(task.id)
        hint = f"; is {like} meant? Names must be equal" if like else ""
        yield problem_of(
            task, "missing", "", f"nothing was handed in: no {task.id}/ and no {task.id}.*{hint}"
        )
        return
    folder = names.shown(match.folder) if match.folder else None
    entries = [folder] if folder else [path.name for path in match.files]
    entries += map(names.shown, match.others)
    if len(entries) > 1:
        yield problem_of(task, "doubled", entries[0], _doubled(entries, submission, protocol))
    if folder is not None and submission.root is not None:
        yield from folder_problems(task, submission, folder, protocol, columns)
    yield from artifact_problems(task, submission, folder, protocol, decoders)


def _doubled(entries: Sequence[str], submission: Submission, protocol: Protocol | None) -> str:
    several = f"{len(entries)} entries for one task ({', '.join(entries)})"
    if entries[0].endswith("/"):
        return f"{several}; the folder is taken, remove the others"
    chosen = select_artifacts(submission, protocol.routing).chosen if protocol else ()
    taken = f"{chosen[0].name} is taken" if chosen else "one is taken, by the protocol's order of suffixes"
    return f"{several}; {taken}, remove the others"
