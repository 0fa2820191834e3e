"""What a fenced process may use, set by a shell before a program begins, or by a worker on itself."""

from __future__ import annotations

import contextlib
import resource
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one fenced process may use; None: no limit.

    Attributes:
        cpu_s: Seconds of CPU.
        data_bytes: Private writable memory.
        address_bytes: Address space.
        file_bytes: Largest file it writes.
        handles: Open files.
        processes: Processes and threads of the unprivileged user, all fenced programs together. Set only by
            `script` and where there is such a user: the limit counts everything that a user runs.
    """

    cpu_s: int | None = None
    data_bytes: int | None = None
    address_bytes: int | None = None
    file_bytes: int | None = None
    handles: int | None = None
    processes: int | None = None


def script(limits: Limits, *, processes: bool) -> str:
    """A shell's lines that set the limits and become the command; what a shell does not know is left out."""
    kib = 1024
    asked = [
        ("-t", limits.cpu_s, 1),
        ("-d", limits.data_bytes, kib),
        ("-v", limits.address_bytes, kib),
        ("-f", limits.file_bytes, 512),
        ("-n", limits.handles, 1),
    ]
    lines = [
        f"ulimit {flag} {value // unit} 2>/dev/null || :" for flag, value, unit in asked if value is not None
    ]
    if processes and limits.processes is not None:
        # Bash calls it -u, dash -p.
        many = limits.processes
        lines.append(f"ulimit -u {many} 2>/dev/null || ulimit -p {many} 2>/dev/null || :")
    return "\n".join(["ulimit -c 0 2>/dev/null || :", *lines, 'exec "$@"'])


def keep_to(limits: Limits) -> None:
    """Set the limits for this process; what the system has lower already, or does not know, stays so."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_DATA, limits.data_bytes),
        (resource.RLIMIT_AS, limits.address_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.handles),
    ):
        if most is None:
            continue
        hard = resource.getrlimit(what)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (limit, limit))
