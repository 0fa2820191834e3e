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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal

from beholder.errors import RendererFailed
from beholder.fenced import PROGRAM_USER
from beholder.fenced.limits import Limits, script

PROBE_S = 10.0

END_S = 10.0
"""Wall seconds that a killed program may take to be gone, on a machine that is busy elsewhere."""

_PATH = "/usr/bin:/bin:/usr/local/bin"


def is_root() -> bool:
    """Whether we may become another user, and should."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


# --- ways ---------------------------------------------------------------------------------------


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
        if self.owner is None and is_root():
            user = "root"
        told = {"network": self.network, "user": user}
        return told | ({"reason": self.reason} if self.reason else {})


def tied() -> Fence | None:
    """A program that ends with us; None where nothing here can tie it."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return Fence(before=(setpriv, "--pdeathsig", "KILL")) if setpriv else None


def guarded() -> Fence | None:
    """Tied, and cannot gain rights; under root it is the unprivileged user. None as for `tied`."""
    tie = tied()
    if tie is None:
        return None
    if not is_root():
        return Fence(before=(*tie.before, "--no-new-privs"))
    user = str(PROGRAM_USER)
    handed = (f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs")
    return Fence(before=(*tie.before, *handed), owner=PROGRAM_USER)


def fences() -> list[Fence]:
    """Ways to start a program without a network here, best first; the last one works everywhere."""
    if sys.platform != "linux":
        return [Fence(reason="this system has no network namespaces")]
    tie, guard, unshare = tied(), guarded(), shutil.which("unshare")
    bare = Fence(reason="the program setpriv is missing")
    if tie is None or guard is None:
        return [bare]
    closed = (unshare, *(() if is_root() else ("--map-root-user",)), "--net") if unshare else ()
    alone = "this system allows no network namespace"
    same = f"this system does not allow to become user {PROGRAM_USER}" if is_root() else ""
    ways = []
    if closed:
        ways.append(replace(guard, before=(*closed, *guard.before), network="off"))
    ways.append(replace(guard, reason=alone))
    if closed and same:
        ways.append(replace(tie, before=(*closed, *tie.before), network="off", reason=same))
    ways.append(replace(tie, reason=f"{same}, and {alone}" if same else alone))
    return [*ways, bare]


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


# --- start and end ------------------------------------------------------------------------------


@dataclass(slots=True)
class Fenced:
    """A running program and all that it has started."""

    process: asyncio.subprocess.Process
    _ended: bool = field(default=False)

    async def wait(self) -> int:
        """Its exit code; negative: the signal that ended it."""
        return await self.process.wait()

    def kill(self) -> None:
        """Kill the whole group, be it stopped; its ends of pipes close with it."""
        # Also after the program has ended by itself: what it has started may be left in its group. The kernel
        # gives a group's number to no new process; one that has it now says that the group is gone.
        if self.process.returncode is not None and _is_there(self.process.pid):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def aclose(self) -> None:
        """Kill the whole group and wait for it; also if the caller is cancelled meanwhile."""
        if self._ended:
            return
        self._ended = True
        self.kill()
        self._let_go()
        await asyncio.shield(self._end())

    def _let_go(self) -> None:
        """Close our ends of its pipes: whoever has left the group may hold the other ends for long."""
        writer = self.process.stdin
        if writer is not None and not writer.is_closing():
            writer.transport.abort()
        for reader in (self.process.stdout, self.process.stderr):
            # No public name leads to it; left open it would warn when it is collected, after its loop's end.
            transport = getattr(reader, "_transport", None)
            if transport is not None:
                transport.close()

    async def _end(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self.process.wait()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def start_group(
    command: Sequence[str],
    folder: Path,
    *,
    extra: Mapping[str, str] | None = None,
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: int = asyncio.subprocess.DEVNULL,
    stderr: int = asyncio.subprocess.DEVNULL,
) -> Fenced:
    """A process with a session, an environment and a folder of its own. No more: a worker shuts itself in.

    Args:
        folder: Its working folder, home and place for temporary files.
        extra: Further variables of its environment.
        stdin, stdout, stderr: As `asyncio.create_subprocess_exec` takes them.

    Raises:
        RendererFailed: It cannot be started.
    """
    variables = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": _PATH, "LANG": "C.UTF-8"}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
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
    """A program behind a fence; further as `start_group`."""
    # The limits come last: a namespace or another user may need what they forbid.
    lines = script(limits, processes=fence.owner is not None)
    full = [*fence.before, "/bin/sh", "-c", lines, "sh", *command]
    return await start_group(full, folder, extra=extra, stdin=stdin, stdout=stdout, stderr=stderr)


def last_line(said: IO[bytes]) -> str:
    """The last thing that a program has said into a file, for people.

    Hand it a file without a name (`tempfile.TemporaryFile`): in its folder it could be replaced by a link.
    """
    said.seek(0)
    lines = said.read(65536).decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
