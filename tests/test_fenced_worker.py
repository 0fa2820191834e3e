"""One worker: what it is asked, what it may not do, and how it is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.fenced.inside import Call
from beholder.fenced.limits import Limits
from beholder.fenced.worker import Worker, WorkerLost, start_worker
from tests.fakes.office import open_place
from tests.fakes.processes import below, left_of

FUNCTIONS = "tests.fakes.fenced"
READER = Limits(cpu_s=60, address_bytes=2 * 2**30, file_bytes=0, handles=64)

Scene = Callable[[Worker], Awaitable[Any]]


def with_worker(scene: Scene, limits: Limits = READER) -> Any:
    """What a scene makes with a worker, which is ended afterwards."""

    async def play() -> Any:
        worker = await start_worker((FUNCTIONS,), limits)
        try:
            return await scene(worker)
        finally:
            await worker.aclose()

    return asyncio.run(play())


def call(function: str, result: Any, *, within_s: float = 120.0, **arguments: Any) -> Any:
    """The outcome of one function."""
    asked = Call(module=FUNCTIONS, function=function, arguments=arguments)
    return with_worker(lambda worker: worker.call(asked, result, within_s=within_s))


def test_arguments_have_the_types_that_the_function_names() -> None:
    """Bytes, dataclasses, mappings and numbers arrive as the function's annotations say."""
    sent = {"name": "a", "size": 3}
    shape = call("describe", dict[str, Any], data=b"\0\xff", pair=(1, "x"), box=sent)
    assert shape == {"data": "bytes", "pair": ["tuple", 1, "x"], "box": ["Box", "a", 3]}
    with pytest.raises(WorkerLost, match="ValidationError"):
        call("describe", dict[str, Any], data=b"", pair=(1, "x"), box={"name": 1})


def test_a_result_of_another_type_is_none() -> None:
    """An answer that is not of the type that was asked for is refused."""
    with pytest.raises(WorkerLost, match="an answer that cannot be read"):
        call("describe", list[int], data=b"", pair=(1, "x"), box={"name": "a", "size": 1})


def test_errors_keep_their_class() -> None:
    """A file's fault and ours come back as what they are, and the worker is used again."""

    async def scene(worker: Worker) -> list[bool]:
        usable = []
        for broken, error in ((True, BrokenArtifact), (False, RendererFailed)):
            asked = Call(module=FUNCTIONS, function="refuse", arguments={"broken": broken})
            with pytest.raises(error, match="no good") as told:
                await worker.call(asked, str, within_s=120)
            assert told.value.slug == ("wrong_type" if broken else "missing_tool")
            usable.append(worker.usable)
        return usable

    assert with_worker(scene) == [True, True]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("abort", "SIGABRT"),
        ("leave", "exit code 7"),
        ("fail", "ZeroDivisionError: unforeseen"),
        ("fill_memory", "more memory than there is"),
    ],
)
def test_a_lost_worker_tells_how(function: str, said: str) -> None:
    """A crash, an exit, an unforeseen error and a lack of memory are told apart; the worker is done with."""

    async def scene(worker: Worker) -> bool:
        with pytest.raises(WorkerLost, match=said) as lost:
            await worker.call(Call(module=FUNCTIONS, function=function), str, within_s=120)
        assert not lost.value.hung
        return worker.usable

    assert with_worker(scene) is False


def test_a_hang_ends_in_time() -> None:
    """A function that does not come back is given up; closing ends it with what it has started."""

    async def scene(worker: Worker) -> list[psutil.Process]:
        with pytest.raises(WorkerLost, match="no result after 1 s") as lost:
            await worker.call(Call(module=FUNCTIONS, function="hang"), str, within_s=1)
        assert lost.value.hung
        deadline = time.monotonic() + 120
        # It may not have started the other one within that second.
        while len(below() - before) < 2 and time.monotonic() < deadline:  # noqa: ASYNC110 - processes
            await asyncio.sleep(0.05)
        return list(below() - before)

    before = below()
    seen = with_worker(scene)
    assert len(seen) == 2
    assert left_of(seen) == []


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces and Landlock are Linux'")
def test_nothing_can_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that has taken a worker over reads no user's file, writes none, reaches no port, finds no key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    secret = tmp_path / "secret"
    secret.write_text("canary")

    async def scene(worker: Worker) -> tuple[Any, Any]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            arguments = {"secret": str(secret), "port": server.getsockname()[1]}
            asked = Call(module=FUNCTIONS, function="look_around", arguments=arguments)
            return worker.fence, await worker.call(asked, dict[str, Any], within_s=120)

    fence, seen = with_worker(scene)
    assert "sk-canary" not in str(seen["environment"])
    if fence["network"] == "off" or fence["given_up"] == "files and tcp":
        assert seen["connected"] is False
    if fence["given_up"] != "none":
        assert seen["read"] is False
    assert seen["wrote"] is False
    assert seen["new_privileges"] is False
    assert (seen["user"] == 0) is False
    assert set(fence) == {"network", "user", "given_up"}


def test_limits_are_set() -> None:
    """A worker is kept to each limit that was asked for."""
    limits = call("limits", dict[str, int])
    assert limits == {
        "core": 0, "cpu": 60, "address": 2 * 2**30, "file": 0, "handles": 64,
    }  # fmt: skip


def test_one_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that cannot be loaded, or no Python, is our failure, and leaves nothing behind."""
    with open_place() as folder:
        place = folder / "tmp"
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        with pytest.raises(RendererFailed, match=r"does not start.*exit code 1"):
            asyncio.run(start_worker(("tests.fakes.nowhere",), READER))
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(RendererFailed, match="cannot be started"):
            asyncio.run(start_worker((FUNCTIONS,), READER))
        assert list(place.iterdir()) == []


def test_a_killed_worker_is_lost() -> None:
    """One that was killed from outside between two calls is told by its signal."""

    async def scene(worker: Worker) -> None:
        os.kill(worker.running.process.pid, signal.SIGKILL)
        with pytest.raises(WorkerLost, match="SIGKILL"):
            await worker.call(Call(module=FUNCTIONS, function="hang"), str, within_s=120)

    with_worker(scene)
