"""Looking at processes that may end at any moment: what has ended is skipped, never an error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

import psutil


def command_line(process: psutil.Process) -> str:
    """The command line; empty for a process that has ended, waited for or not, or that is another user's."""
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return " ".join(process.cmdline())
    return ""


def below() -> set[psutil.Process]:
    """All processes that this one has started, and theirs, but for those that have ended."""
    # Below us only: other runs of these tests may be under way.
    return {one for one in psutil.Process().children(recursive=True) if runs(one)}


def below_with(what: str) -> set[psutil.Process]:
    """Those below this one with `what` in their command line."""
    return {one for one in below() if what in command_line(one)}


def named(what: str) -> set[psutil.Process]:
    """All processes of this machine with `what` in their command line: a name that no other run can have.

    Unlike `below_with` it finds those, too, whose parent has ended before them.
    """
    return {one for one in psutil.process_iter() if what in command_line(one) and runs(one)}


def runs(process: psutil.Process) -> bool:
    """Whether a process still runs; one that has ended and waits for its parent does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def kernel_status(process: psutil.Process) -> str:
    """What the kernel says of a process; empty for one that has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process.pid}/status").read_text()
    return ""


def left_of(processes: Iterable[psutil.Process], within_s: float = 120.0) -> list[str]:
    """The processes that have not ended in time: nothing, as it should be."""
    deadline = time.monotonic() + within_s
    left = list(processes)
    while (left := [one for one in left if runs(one)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"{one.pid} {command_line(one)}" for one in left]
