"""The fence: a program behind it has no network, no rights, no environment, and an end."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import psutil
import pytest

from beholder.errors import RendererFailed
from beholder.fenced.folders import make_folder, remove_folder
from beholder.fenced.limits import Limits, script
from beholder.fenced.programs import (
    Fence,
    best_fence,
    fences,
    start_fenced,
)
from tests.fakes.processes import left_of

PYTHON = "/usr/bin/python3"
linux = pytest.mark.skipif(sys.platform != "linux", reason="the fence's stronger half is Linux'")
python = pytest.mark.skipif(not Path(PYTHON).exists(), reason="no Python that another user may run")


async def behind(
    command: list[str], *, limits: Limits | None = None, fence: Fence | None = None
) -> tuple[int, str]:
    way = fence or best_fence()
    folder = make_folder("test", way.owner)
    try:
        fenced = await start_fenced(
            way,
            command,
            folder,
            limits=limits or Limits(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert fenced.process.stdout is not None
        said = await fenced.process.stdout.read()
        code = await fenced.wait()
        await fenced.aclose()
    finally:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.unlink()
        folder.rmdir()
    return code, said.decode()


def test_environment() -> None:
    """A fenced program sees four variables, and none of ours."""
    code, said = asyncio.run(behind(["/usr/bin/env"]))
    assert code == 0
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"HOME", "TMPDIR", "PATH", "LANG"}


@linux
@python
def test_no_network() -> None:
    """Where the fence says that the network is off, a listener on this machine is not reached."""
    fence = best_fence()
    if fence.network != "off":
        pytest.skip(f"this system allows no network namespace: {fence.reason}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 60)"
        code, _ = asyncio.run(behind([PYTHON, "-c", connect]))
        with pytest.raises(TimeoutError):
            server.accept()
        assert code != 0
        # The same program reaches it without the fence, so that the test can fail.
        assert os.spawnl(os.P_WAIT, PYTHON, PYTHON, "-c", connect) == 0


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root hands over")
def test_unprivileged() -> None:
    """Under root the program is another user, with no groups and no way back."""
    code, said = asyncio.run(behind(["/bin/sh", "-c", "id -u; id -G; grep NoNewPrivs /proc/self/status"]))
    user = str(best_fence().owner)
    assert code == 0
    assert said.split() == [user, user, "NoNewPrivs:", "1"]


@linux
@python
def test_memory_limit() -> None:
    """A program that takes more memory than it may fails, and the machine does not."""
    small = Limits(data_bytes=200 * 2**20)
    code, said = asyncio.run(behind([PYTHON, "-c", "x = bytearray(400 * 2**20)"], limits=small))
    assert code != 0
    assert "MemoryError" in said
    assert asyncio.run(behind([PYTHON, "-c", "x = bytearray(2**20)"], limits=small))[0] == 0


@linux
@python
def test_file_limit() -> None:
    """A program writes no larger file than it may."""
    code, _ = asyncio.run(
        behind(["/bin/sh", "-c", "head -c 3000000 /dev/zero > big"], limits=Limits(file_bytes=2**20))
    )
    assert code != 0


def test_group_ends() -> None:
    """Closing ends what the program has started, too, and leaves at once."""

    async def leave() -> psutil.Process:
        fence = best_fence()
        folder = make_folder("test", fence.owner)
        command = ["/bin/sh", "-c", "sleep 600 & echo $!; wait"]
        fenced = await start_fenced(fence, command, folder, limits=Limits(), stdout=asyncio.subprocess.PIPE)
        assert fenced.process.stdout is not None
        child = psutil.Process(int(await fenced.process.stdout.readline()))
        await fenced.aclose()
        folder.rmdir()
        return child

    assert left_of([asyncio.run(leave())]) == []


@pytest.mark.skipif(not Path("/usr/bin/setsid").exists(), reason="nothing here leaves a group")
def test_pipes_are_let_go() -> None:
    """Closing closes our ends of the pipes, though somebody who has left the group holds the others."""

    async def leave() -> tuple[psutil.Process, bytes]:
        fence = best_fence()
        folder = make_folder("test", fence.owner)
        pipe = asyncio.subprocess.PIPE
        command = ["/bin/sh", "-c", "setsid sleep 600 & echo $!; wait"]
        fenced = await start_fenced(fence, command, folder, limits=Limits(), stdin=pipe, stdout=pipe)
        assert fenced.process.stdout is not None
        stranger = psutil.Process(int(await fenced.process.stdout.readline()))
        try:
            while os.getsid(stranger.pid) != stranger.pid:  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.01)
            async with asyncio.timeout(60):
                await fenced.aclose()
                rest = await fenced.process.stdout.read()
            assert stranger.is_running()
        finally:
            stranger.kill()
            remove_folder(folder)
        return stranger, rest

    stranger, rest = asyncio.run(leave())
    assert rest == b""
    assert left_of([stranger]) == []


def test_ways_are_told() -> None:
    """Each way but the best says what it lacks, and the last needs nothing of the system."""
    ways = fences()
    assert ways[-1].before == ()
    assert all(way.reason for way in ways[1:])
    assert {"network", "user"} <= best_fence().info().keys()


@pytest.mark.parametrize("way", range(len(fences())))
def test_every_way(way: int) -> None:
    """Every way that this system allows starts a program, the weakest included."""
    fence = fences()[way]
    code, said = asyncio.run(behind(["/bin/sh", "-c", "echo started"], fence=fence))
    if said.strip() != "started":
        assert code != 0
        assert fence.before
        assert any(name in said for name in ("unshare", "setpriv")), said


def test_limits_in_words() -> None:
    """Only limits that were asked for are set, and processes only for a user of their own."""
    assert "ulimit -v" not in script(Limits(cpu_s=5), processes=True)
    assert "ulimit -t 5" in script(Limits(cpu_s=5), processes=True)
    assert "-u 9" not in script(Limits(processes=9), processes=False)
    assert "-u 9" in script(Limits(processes=9), processes=True)


def test_cannot_start() -> None:
    """A program that is not there is our failure, in one sentence."""

    async def start() -> None:
        fence = Fence(before=("/nowhere/setpriv",))
        await start_fenced(fence, ["true"], Path("/"), limits=Limits())

    with pytest.raises(RendererFailed, match="cannot be started"):
        asyncio.run(start())
