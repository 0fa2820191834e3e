"""Fenced processes: what they may not do, and whose fault it is when one does not come back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence import workers
from beholder.evidence.decode import with_data
from beholder.evidence.good import good_job
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.workers import DATA_LIMIT_BYTES, WorkerPool
from beholder.fenced import WORKER_USER, worker
from beholder.records import EvidencePolicy, MediaLimits
from tests.fakes.evidence import png
from tests.fakes.office import open_place
from tests.fakes.processes import below, below_with, command_line, left_of

MISBEHAVING = "tests.fakes.misbehaving"
IMAGE = "beholder.evidence.image"
VIDEO = "beholder.evidence.video"
MODULES = (IMAGE, "beholder.evidence.pdf", "beholder.evidence.text", MISBEHAVING)


def job(data: bytes = b"x", name: str = "a.png") -> Job:
    """A job for a function that may look at its bytes."""
    return Job(name=name, suffix=".png", data=data, policy=EvidencePolicy(), limits=MediaLimits(), budget=1)


def in_pool(work: Callable[[WorkerPool], Awaitable[Any]], *, count: int = 1) -> Any:
    """What `work` makes with a pool that is closed afterwards."""

    async def scene() -> Any:
        pool = WorkerPool(MODULES, count)
        try:
            return await work(pool)
        finally:
            await pool.aclose()

    return asyncio.run(scene())


def misbehave(function: str, data: bytes = b"x", result: Any = dict[str, Any], **more: Any) -> Any:
    """The outcome of one badly behaved function."""
    return in_pool(lambda pool: pool.run(MISBEHAVING, function, job(data), result, **more))


def workers_left() -> list[str]:
    """The workers that do not end."""
    return left_of(below_with("beholder.fenced.inside"))


def test_a_picture_comes_back_with_its_own_bytes() -> None:
    """A picture that the judge takes as it is comes back byte for byte, without travelling twice."""
    data = png((64, 64))
    shown = in_pool(lambda pool: pool.run(IMAGE, "render_image", job(data), Shown))
    assert shown.pictures[0].data == b""
    assert with_data(shown, job(data)).pictures[0].data == data


def test_broken_files_keep_their_cause() -> None:
    """What is wrong with a file is told as its decoder tells it."""
    with pytest.raises(BrokenArtifact) as told:
        in_pool(lambda pool: pool.run(IMAGE, "render_image", job(b"just text"), Shown))
    assert told.value.slug == "wrong_type"
    assert told.value.concerns == "a.png"


@pytest.mark.parametrize("function", ["crash", "leave", "throw", "fill_memory", "answer_with_text"])
def test_a_file_that_ends_its_worker(function: str) -> None:
    """A crash, an exit, a fault or a lack of memory, twice, is the file's fault while a good one is shown."""
    with pytest.raises(BrokenArtifact) as told:
        misbehave(function, result=Shown)
    assert told.value.slug == "unrenderable"
    assert "twice" in str(told.value)


def test_what_is_printed_is_no_answer() -> None:
    """What a library prints does not get among the answers."""
    assert misbehave("print_much") == {"printed": True}


def test_a_hang_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that keeps its worker busy for ever is given up in time, with its worker and what it started."""
    monkeypatch.setattr(workers, "JOB_S", 1.0)

    def good(module: str) -> tuple[str, str, Job]:
        monkeypatch.setattr(workers, "JOB_S", 300.0)  # the good file is not what hangs
        return good_job(module)

    monkeypatch.setattr(workers, "good_job", good)
    began = time.monotonic()
    with pytest.raises(BrokenArtifact, match="no result after 1 s"):
        misbehave("hang")
    assert time.monotonic() - began < 300
    assert workers_left() == []


def test_one_bad_moment_is_no_fault(tmp_path: Path) -> None:
    """A file whose first try fails and whose second does not is shown."""
    mark = tmp_path / "mark"
    tmp_path.chmod(0o777)

    async def scene(pool: WorkerPool) -> Any:
        async def once(self: WorkerPool, call: Any, result: Any) -> Any:
            if not mark.exists():
                mark.touch()
                raise worker.WorkerLost("killed from outside")
            return await real(self, call, result)

        real = WorkerPool._once
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WorkerPool, "_once", once)
            return await pool.run(IMAGE, "render_image", job(png()), Shown)

    assert len(in_pool(scene).pictures) == 1


def test_a_machine_that_decodes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a good file fails, too, it is our fault; likewise where no process starts."""

    async def lost(*_: Any) -> Any:
        raise worker.WorkerLost("killed")

    with monkeypatch.context() as patch:
        patch.setattr(WorkerPool, "_once", lost)
        with pytest.raises(RendererFailed, match="a good file fails too"):
            in_pool(lambda pool: pool.run(IMAGE, "render_image", job(png()), Shown))
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(RendererFailed, match="cannot be started"):
        in_pool(lambda pool: pool.run(IMAGE, "render_image", job(png()), Shown))


def test_good_files_are_good() -> None:
    """The files that settle whose fault it is are shown by every kind."""

    async def scene() -> list[Shown]:
        pool = WorkerPool((*MODULES, VIDEO), 1)
        try:
            return [await pool.run(*good_job(module), Shown) for module in (*MODULES, VIDEO)]
        finally:
            await pool.aclose()

    for shown in asyncio.run(scene()):
        assert shown.pictures or shown.texts


def test_a_worker_has_no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that has been taken over reaches no port, no user's file and no key."""
    monkeypatch.setenv("SOME_API_KEY", "canary")
    with open_place() as place, socket.create_server(("127.0.0.1", 0)) as server:
        secret = place / "secret"
        secret.write_text("canary")
        secret.chmod(0o644)
        port = server.getsockname()[1]
        server.settimeout(0.2)
        seen = misbehave("look_around", paths=[str(secret), "/etc/passwd"], port=port)
        with pytest.raises(TimeoutError):
            server.accept()
    assert seen["connected"] is False
    assert "SOME_API_KEY" not in seen["environment"]
    fence = seen["fence"]
    if sys.platform == "linux" and fence != "none":
        assert seen["read"] == []
        assert seen["wrote"] == []
    assert seen["own_folder"] is True
    if os.geteuid() == 0:
        assert seen["user"] == WORKER_USER


def test_memory_is_limited() -> None:
    """A decoder gets no more memory than one file may take."""
    assert misbehave("limits")["data"] == DATA_LIMIT_BYTES


def test_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """After closing, and after a cancelled job, no worker runs and no folder is left."""
    before = below()

    async def scene() -> None:
        pool = WorkerPool(MODULES, 2)
        await pool.run(IMAGE, "render_image", job(png()), Shown)
        stuck = asyncio.create_task(pool.run(MISBEHAVING, "hang", job(), dict[str, Any]))
        async with asyncio.timeout(120):
            while not [one for one in below() - before if "sleep" in command_line(one)]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # until it is at work; other processes tell
        stuck.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stuck
        await pool.aclose()

    with open_place() as place:
        monkeypatch.setattr(tempfile, "tempdir", str(place / "tmp"))
        asyncio.run(scene())
        assert left_of(below() - before) == []
        assert list((place / "tmp").iterdir()) == []


def test_workers_end_with_us() -> None:
    """A worker whose parent is killed ends by itself."""
    script = (
        "import asyncio, sys\n"
        "from beholder.evidence.workers import WorkerPool\n"
        "from tests.test_evidence_workers import IMAGE, job, png\n"
        "from beholder.evidence.kinds import Shown\n"
        "async def main():\n"
        "    pool = WorkerPool((IMAGE,), 1)\n"
        "    await pool.run(IMAGE, 'render_image', job(png()), Shown)\n"
        "    print(pool._idle[0].running.process.pid, flush=True)\n"
        "    await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert left_of([worker]) == []
