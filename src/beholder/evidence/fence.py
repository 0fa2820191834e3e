"""How a program that handles hostile files is started: alone, poor, mortal, and without a network.

Whatever the way, the program gets a session and process group of its own, an environment of four variables,
a folder that goes with it, and limits on memory, CPU time, file size and processes. On Linux it also has no
network (a network namespace of its own), cannot gain rights, dies with this process, and is an unprivileged
user where we are root. What a system does not allow is left out, and said: see `Fence.info`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from beholder.errors import RendererFailed
from beholder.evidence.browser import RENDERER_USER

PROBE_S = 10.0
END_S = 3.0

_PATH = "/usr/bin:/bin:/usr/local/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one fenced process may use; None: no limit.

    Attributes:
        cpu_s: Seconds of CPU.
        data_bytes: Private writable memory.
        address_bytes: Address space.
        file_bytes: Largest file it writes.
        processes: Processes and threads of the unprivileged user, all fenced programs together. Set only
            where there is such a user: the limit counts everything that a user runs.
    """

    cpu_s: int | None = None
    data_bytes: int | None = None
    address_bytes: int | None = None
    file_bytes: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One way to start a program.

    Attributes:
        before: What stands before the command.
        owner: The user that the program runs as and that must own its files; None: ourselves.
        network: `off` if the program has no network at all.
        reason: Why it is not the best way; empty for the best.
    """

    before: tuple[str, ...] = ()
    owner: int | None = None
    network: Literal["off", "on"] = "on"
    reason: str = ""

    def info(self) -> dict[str, Any]:
        """What doctor, manifest and report say of it."""
        user = "own user" if self.owner is None else f"user {self.owner}"
        if self.owner is None and _is_root():
            user = "root"
        told = {"network": self.network, "user": user}
        return told | ({"reason": self.reason} if self.reason else {})


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def fences() -> list[Fence]:
    """Ways to start a program here, best first; the last one works everywhere."""
    if sys.platform != "linux":
        return [Fence(reason="this system has no network namespaces")]
    setpriv, unshare = shutil.which("setpriv"), shutil.which("unshare")
    bare = Fence(reason="the program setpriv is missing")
    if setpriv is None:
        return [bare]
    tied = (setpriv, "--pdeathsig", "KILL")
    guarded = (*tied, "--no-new-privs")
    user, alone = str(RENDERER_USER), "this system allows no network namespace"
    if not _is_root():
        closed = (unshare, "--map-root-user", "--net") if unshare else ()
        ways = [Fence(before=(*closed, *guarded), network="off")] if unshare else []
        return [*ways, Fence(before=guarded, reason=alone), Fence(before=tied, reason=alone), bare]
    handed = (*guarded, f"--reuid={user}", f"--regid={user}", "--clear-groups")
    same = f"this system does not allow to become user {user}"
    ways = []
    if unshare:
        ways.append(Fence(before=(unshare, "--net", *handed), owner=RENDERER_USER, network="off"))
    ways.append(Fence(before=handed, owner=RENDERER_USER, reason=alone))
    if unshare:
        ways.append(Fence(before=(unshare, "--net", *tied), network="off", reason=same))
    return [*ways, Fence(before=tied, reason=f"{same}, and {alone}"), bare]


@functools.cache
def best_fence() -> Fence:
    """The first way that starts a shell here; asked of the system once. Blocks for some milliseconds."""
    ways = fences()
    for way in ways[:-1]:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            tried = subprocess.run(  # noqa: S603 - a fixed command
                [*way.before, "/bin/sh", "-c", ":"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": _PATH},
                check=False,
                timeout=PROBE_S,
            )
            if tried.returncode == 0:
                return way
    return ways[-1]


def limits_script(limits: Limits, *, processes: bool) -> str:
    """A shell's lines that set the limits and become the command; what a shell does not know is left out."""
    kib = 1024
    asked = [
        ("-t", limits.cpu_s, 1),
        ("-d", limits.data_bytes, kib),
        ("-v", limits.address_bytes, kib),
        ("-f", limits.file_bytes, 512),
    ]
    lines = [
        f"ulimit {flag} {value // unit} 2>/dev/null || :" for flag, value, unit in asked if value is not None
    ]
    if processes and limits.processes is not None:
        # Bash calls it -u, dash -p.
        many = limits.processes
        lines.append(f"ulimit -u {many} 2>/dev/null || ulimit -p {many} 2>/dev/null || :")
    return "\n".join(["ulimit -c 0 2>/dev/null || :", *lines, 'exec "$@"'])


def make_folder(prefix: str, fence: Fence) -> Path:
    """A new folder that only the fenced program's user and root may enter.

    Raises:
        RendererFailed: There is no room for one.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        hand_over(folder, fence)
    except OSError as error:
        raise RendererFailed(f"no folder for temporary files: {error}") from error
    return folder


def hand_over(path: Path, fence: Fence) -> None:
    """Give a file, or a folder with all that is in it, to the user that the program runs as."""
    if fence.owner is None:
        return
    os.chown(path, fence.owner, fence.owner, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), fence.owner, fence.owner, follow_symlinks=False)


@dataclass(slots=True)
class Fenced:
    """A running program and all that it has started."""

    process: asyncio.subprocess.Process
    _ended: bool = field(default=False)

    async def wait(self) -> int:
        """Its exit code; negative: the signal that ended it."""
        return await self.process.wait()

    async def aclose(self) -> None:
        """Kill the whole group and wait for it; also if the caller is cancelled meanwhile."""
        if self._ended:
            return
        self._ended = True
        # Also after the program has ended by itself: what it has started may be left in its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.shield(asyncio.wait_for(self.process.wait(), END_S))


async def start_fenced(
    fence: Fence,
    command: Sequence[str],
    folder: Path,
    *,
    limits: Limits,
    extra: Mapping[str, str] | None = None,
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: int = asyncio.subprocess.DEVNULL,
    stderr: int = asyncio.subprocess.DEVNULL,
) -> Fenced:
    """A program behind a fence.

    Args:
        folder: Its working folder, home and place for temporary files.
        extra: Further variables of its environment.
        stdin, stdout, stderr: As `asyncio.create_subprocess_exec` takes them.

    Raises:
        RendererFailed: It cannot be started.
    """
    script = limits_script(limits, processes=fence.owner is not None)
    # The limits come last: a namespace or another user may need what they forbid.
    full = [*fence.before, "/bin/sh", "-c", script, "sh", *command]
    variables = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": _PATH, "LANG": "C.UTF-8"}
    try:
        process = await asyncio.create_subprocess_exec(
            *full,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env=variables | dict(extra or {}),
            start_new_session=True,
        )
    except OSError as error:
        raise RendererFailed(f"{command[0]} cannot be started: {error}") from error
    return Fenced(process)
