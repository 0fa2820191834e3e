"""What is wrong with a task's folder, its artifacts aside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from beholder.records import Protocol, Submission, Task
from beholder.tasks.cells import cell_at, identity, text
from beholder.tasks.submissions import inside, is_folder
from beholder.validation.names import is_system_file
from beholder.validation.records import Problem, problem_of

ARTIFACTS, RESPONSE = "artifacts", "response.txt"
AUDIT = {"task.json", "prompt.txt", "history.jsonl", "metadata.json"}


def folder_problems(
    task: Task,
    submission: Submission,
    folder: str,
    protocol: Protocol | None,
    columns: Mapping[str, str],
) -> Iterator[Problem]:
    """What is wrong in a task's folder beside its artifacts."""
    root = submission.root.parent if submission.root else Path()
    try:
        entries = {entry.name: is_folder(entry) for entry in os.scandir(root)}
    except OSError as error:
        yield problem_of(task, "unreadable", folder, f"{error.strerror}; make it readable")
        return
    if ARTIFACTS in entries and not entries[ARTIFACTS]:
        yield problem_of(
            task, "malformed", f"{folder}{ARTIFACTS}", "is a file; artifacts belong into a folder"
        )
    others = sorted(
        name for name in entries if name not in {ARTIFACTS, RESPONSE, *AUDIT} and not is_system_file(name)
    )
    for name in others:
        detail = f"does not belong here and is left out; artifacts belong into {folder}{ARTIFACTS}/"
        yield problem_of(task, "unexpected", f"{folder}{name}", detail)
    yield from _response_problems(task, submission, folder, root, has_file=RESPONSE in entries)
    if not submission.artifacts and not (submission.response or "").strip():
        yield problem_of(task, "missing", folder, "no artifact, and no text in response.txt")
    elif ARTIFACTS not in entries and protocol is not None and protocol.routing.kind == "strict":
        detail = "there is no artifacts folder; make one, be it empty"
        yield problem_of(task, "no_artifacts", f"{folder}{ARTIFACTS}", detail)
    elif not submission.artifacts and protocol is not None and protocol.routing.kind == "visual":
        yield problem_of(
            task, "missing", f"{folder}{ARTIFACTS}", "no artifact, and the protocol looks at nothing else"
        )
    for name in sorted(AUDIT & entries.keys()):
        yield from _audit_problems(task, root / name, f"{folder}{name}", columns)


def _response_problems(
    task: Task, submission: Submission, folder: str, root: Path, *, has_file: bool
) -> Iterator[Problem]:
    path = f"{folder}{RESPONSE}"
    if not has_file:
        yield problem_of(task, "no_response", path, "there is no response.txt; write one, be it empty")
    elif submission.response is None:
        yield problem_of(task, "unsafe_path", path, "no regular file of this folder; it is left out")
    else:
        try:
            (root / RESPONSE).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            yield problem_of(task, "malformed", path, f"not UTF-8 (byte {error.start}); save it as UTF-8")
        except OSError as error:
            yield problem_of(task, "unreadable", path, f"{error.strerror}; make it readable")


def _audit_problems(task: Task, file: Path, path: str, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Files for audit: none of them is shown to a judge."""
    if file.is_symlink() and not inside(file, file.parent):
        yield problem_of(
            task, "unsafe_path", path, "a link that leads out of the task's folder; it is not read"
        )
        return
    if not file.is_file():
        yield problem_of(task, "malformed", path, "is no file")
        return
    try:
        content = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield problem_of(task, "malformed", path, f"not UTF-8 (byte {error.start}); save it as UTF-8")
        return
    except OSError as error:
        yield problem_of(task, "unreadable", path, f"{error.strerror}; make it readable")
        return
    if file.suffix == ".jsonl":
        for number, line in enumerate(content.split("\n"), start=1):
            if line.strip() and (problem := _json_problem(line)):
                yield problem_of(task, "malformed", path, f"line {number}: {problem}")
    elif file.suffix == ".json":
        if problem := _json_problem(content):
            yield problem_of(task, "malformed", path, problem)
        elif file.name == "task.json":
            yield from _task_differences(task, json.loads(content), path, columns)


def _json_problem(content: str) -> str | None:
    try:
        json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return None


def _task_differences(task: Task, said: Any, path: str, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Where task.json and the task's row have the same column and another value."""
    if not isinstance(said, dict):
        yield problem_of(task, "malformed", path, "a task is an object")
        return
    row = {**task.labels, **task.fields}
    ours = {theirs: name for name, theirs in columns.items()}
    # A name with dots leads into a table of the row, and of task.json as well.
    nested = {
        name: cell_at(said, columns.get(name, name)) for name in task.fields if "." in columns.get(name, name)
    }
    inner = {columns.get(name, name): value for name, value in nested.items() if value is not None}
    for key, value in {**said, **inner}.items():
        name = key if key in row or key == "task_id" else ours.get(key, key)
        if name == "task_id":
            try:
                same = identity(value) == task.id
            except ValueError:
                same = False
            expected = task.id
        elif name in row:
            same, expected = _same(text(value), row[name]), row[name]
        else:
            continue
        if not same:
            detail = f"{key!r} is {_short(text(value))} here and {_short(expected)} in row {task.row}"
            yield problem_of(task, "task_differs", path, f"{detail}; was this run made for these tasks?")


def _same(one: str, other: str) -> bool:
    """Whether two cells say the same: a table may have its members in another order."""
    if one == other:
        return True
    try:
        return one[:1] in "[{" and bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False


def _short(value: str) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:60]}… ({len(value)} characters)"
