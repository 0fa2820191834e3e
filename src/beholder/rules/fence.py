"""Rules that read files, in a process of their own: what a hostile file does to a reader ends with it.

    parent -> child   pickle of (rules, submission), as its standard input
    child -> parent   a line of JSON for each rule, as soon as it is decided: {"outcome": …, "detail": …}

A child that takes too long for a rule is killed, and one that dies takes that rule with it: `error`. The
rules behind it are decided by the next child.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from beholder.records import Rule, RuleResult, Submission

START_S = 30.0
"""For a child to begin, on a machine that is busy rendering."""

RULE_S = 60.0
"""For one rule over all its files."""

MEMORY_BYTES = 3 * 2**30
MAX_ANSWER_BYTES = 2**20
_TURN = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Tasks are judged many at a time, and readers are hungry."""

OUTCOMES = ("passed", "failed", "not_supported", "error")

# Loads this room alone: the package's front door would load all of beholder, for half a second a child.
_PROGRAM = """
import sys, types
package = types.ModuleType("beholder")
package.__path__ = [sys.argv[1]]
sys.modules["beholder"] = package
from beholder.rules.fence import serve
serve()
"""
_KEPT_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR")
"""What a child needs to start; it gets no key."""


def check_fenced(rules: Sequence[Rule], submission: Submission) -> list[RuleResult]:
    """Each rule's result, in their order. Blocks, also while as many others are at it as there are cores."""
    results: list[RuleResult] = []
    while len(results) < len(rules):
        with _TURN:
            for answer in _one_child(rules[len(results) :], submission):
                rule = rules[len(results)]
                results.append(RuleResult(type=rule.type, args=rule.args, **answer))
    return results


def _one_child(rules: Sequence[Rule], submission: Submission) -> Iterator[dict[str, Any]]:
    """The answers of one child, at least one of them: the last is an error if it did not come to its end."""
    with tempfile.TemporaryFile() as payload:
        pickle.dump((tuple(rules), submission), payload)
        payload.seek(0)
        child = _start(payload)
    try:
        deadline = time.monotonic() + START_S + RULE_S
        lines = _Lines(cast("BinaryIO", child.stdout).fileno())
        for _ in rules:
            line = lines.next(deadline)
            answer = _read(line)
            if answer is None:
                yield {"outcome": "error", "detail": _end_of(child, timed_out=line is None)}
                return
            yield answer
            deadline = time.monotonic() + RULE_S
    finally:
        _kill(child)


def _start(payload: Any) -> subprocess.Popen[bytes]:
    package = Path(__file__).resolve().parent.parent
    return subprocess.Popen(  # noqa: S603 - this very Python, with a program that stands above
        [sys.executable, "-P", "-c", _PROGRAM, str(package)],
        stdin=payload,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ},
        cwd="/",
        start_new_session=True,
    )


class _Lines:
    """Lines of a pipe, each with its deadline."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._rest = b""

    def next(self, deadline: float) -> bytes | None:
        """The next line; empty at the end of the pipe, None past the deadline."""
        while b"\n" not in self._rest and len(self._rest) < MAX_ANSWER_BYTES:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._handle], [], [], left)[0]:
                return None
            piece = os.read(self._handle, 65536)
            if not piece:
                return b""
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _read(line: bytes | None) -> dict[str, Any] | None:
    """An answer, which may come from a reader that a file has taken over; None if it is none."""
    try:
        answer = json.loads(line or b"")
    except (ValueError, RecursionError):
        return None
    good = isinstance(answer, dict) and answer.keys() == {"outcome", "detail"}
    return answer if good and answer["outcome"] in OUTCOMES and isinstance(answer["detail"], str) else None


def _end_of(child: subprocess.Popen[bytes], *, timed_out: bool) -> str:
    if timed_out:
        return f"could not be checked within {RULE_S:g} s"
    _kill(child)
    code = child.returncode
    how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
    return f"could not be checked: the reader broke down on it ({how}; out of memory, perhaps)"


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(0.2)  # what has said everything ends by itself
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()


# --- in the child -------------------------------------------------------------------------------


def serve() -> None:
    """Decide the rules on standard input, one after the other."""
    from beholder.rules.check import check_rule

    rules, submission = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent
    # Libraries that print must not write among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    _limit()
    for rule in rules:
        result = check_rule(rule, submission)
        answers.write(json.dumps({"outcome": result.outcome, "detail": result.detail}) + "\n")
        answers.flush()


def _limit() -> None:
    import resource

    seconds = int(START_S + RULE_S) * 20
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a limit that this system lacks, or is lower already
            resource.setrlimit(what, (most, most))
