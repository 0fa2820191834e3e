"""Fenced processes for decoders: started when needed, ended when they hang, crash or grow too large.

A file is tried twice, the second time alone and in a new process; then a file known to be good tells whose
fault it is. See `worker` for what runs inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import struct
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from beholder.errors import BrokenArtifact, RendererFailed, RenderError
from beholder.evidence.good import good_call
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.slots import Slots
from beholder.evidence.worker import Answer, Call, Setup

_T = TypeVar("_T")

WORKER_USER = 64_918
"""The user that workers run as under root: as the browser's, a passing user without a name."""

START_S = 60.0
JOB_S = 90.0
"""Wall seconds for one file; the slowest honest ones take a tenth, on a machine that is busy elsewhere."""

CLOSE_S = 3.0
_HEADER = struct.Struct(">Q")
_MOST_BYTES = 1024**3
"""Of one answer: pictures for one judge's request are a tenth of it."""

_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from beholder.evidence.worker import main; main(sys.argv[2])"
)


class WorkerLost(RenderError):
    """A worker has hung, crashed or run out of memory; whose fault it is, is not known yet."""


@dataclass(slots=True)
class _Worker:
    """One process and its folder."""

    process: asyncio.subprocess.Process
    folder: str

    async def exchange(self, message: bytes) -> bytes:
        reader, writer = self.process.stdout, self.process.stdin
        if reader is None or writer is None:
            raise WorkerLost("no pipe to the worker")
        try:
            writer.write(_HEADER.pack(len(message)))
            writer.write(message)
            await writer.drain()
            return await self.read()
        except (OSError, asyncio.IncompleteReadError):
            raise WorkerLost("the decoder crashed") from None

    async def read(self) -> bytes:
        if self.process.stdout is None:
            raise WorkerLost("no pipe to the worker")
        (size,) = _HEADER.unpack(await self.process.stdout.readexactly(_HEADER.size))
        if size > _MOST_BYTES:
            raise WorkerLost(f"the decoder answers with {size} bytes")
        return await self.process.stdout.readexactly(size)

    async def aclose(self) -> None:
        """Kill the process with all it has started; its folder goes too."""
        try:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                await asyncio.shield(asyncio.wait_for(self.process.wait(), CLOSE_S))
            if self.process.stdin is not None:
                self.process.stdin.close()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class WorkerPool:
    """Up to `count` processes that have loaded `modules`; an async context manager.

    Attributes:
        fence: How the fence turned out: `network` (`off` if it is closed), `user`, and which of files and TCP
            was `given_up`; empty before the first process.
    """

    def __init__(self, modules: tuple[str, ...], count: int) -> None:
        self._modules = modules
        self._slots = Slots(count)
        self._idle: list[_Worker] = []
        self._closed = False
        self.fence: dict[str, Any] = {}

    async def aclose(self) -> None:
        """End all processes."""
        self._closed = True
        while self._idle:
            await self._idle.pop().aclose()

    async def run(self, module: str, function: str, job: Job, result: type[_T], **more: Any) -> _T:
        """What `function` of `module` makes of a job.

        Args:
            result: Its type; the answer is checked against it.
            more: Further arguments, of types that MessagePack has.

        Raises:
            BrokenArtifact: As the function does, or `unrenderable`: it fails twice, and a good file does not.
            RendererFailed: As the function does, or a good file fails, too.
        """
        call = Call(module=module, function=function, job=job, more=more)
        try:
            async with self._slots.shared():
                return await self._once(call, result)
        except WorkerLost:
            pass  # perhaps the machine was short of memory: a second try, alone, in a new process
        async with self._slots.alone():
            await self._end_idle()
            try:
                return await self._once(call, result)
            except WorkerLost as error:
                failure = str(error)
            try:
                await self._once(good_call(module), Shown)
            except RenderError as error:
                raise RendererFailed(f"a good file fails too: {error}", concerns=job.name) from error
        raise BrokenArtifact(f"twice: {failure}", slug="unrenderable", concerns=job.name)

    async def _once(self, call: Call, result: type[_T]) -> _T:
        worker = self._idle.pop() if self._idle else await self._start()
        fine = False
        try:
            async with asyncio.timeout(JOB_S):
                message = await worker.exchange(msgspec.msgpack.encode(call))
            answer = msgspec.msgpack.decode(message, type=Answer)
            fine = not answer.fault and not self._closed
        except TimeoutError:
            raise WorkerLost(f"no result after {JOB_S:g} s", concerns=call.job.name) from None
        except msgspec.MsgspecError as error:
            raise WorkerLost(f"an answer that cannot be read: {error}", concerns=call.job.name) from None
        finally:
            if fine:
                self._idle.append(worker)
            else:
                await asyncio.shield(worker.aclose())
        return _value(answer, call.job, result)

    async def _start(self) -> _Worker:
        """A worker that has loaded and shut itself in.

        Raises:
            RendererFailed: It does not start.
        """
        user = WORKER_USER if hasattr(os, "geteuid") and os.geteuid() == 0 else None
        try:
            folder = tempfile.mkdtemp(prefix="beholder-worker-")
            if user is not None:
                os.chown(folder, user, user)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-c", _PROGRAM,
                msgspec.json.encode([path for path in sys.path if path]).decode(),
                msgspec.json.encode(Setup(modules=self._modules, user=user)).decode(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"HOME": folder, "TMPDIR": folder, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                cwd=folder,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise RendererFailed(f"no process to decode in: {error}", concerns="worker") from error
        worker = _Worker(process, folder)
        ready = False
        try:
            async with asyncio.timeout(START_S):
                hello = msgspec.msgpack.decode(await worker.read(), type=Answer)
            self.fence = msgspec.msgpack.decode(hello.value, type=dict[str, Any])
            ready = True
        except (OSError, TimeoutError, asyncio.IncompleteReadError, WorkerLost) as error:
            raise RendererFailed(
                f"the process to decode in does not start: {error!r}", concerns="worker"
            ) from error
        finally:
            if not ready:
                await asyncio.shield(worker.aclose())
        return worker

    async def _end_idle(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()


def _value(answer: Answer, job: Job, result: type[_T]) -> _T:
    """An answer's value, or what it raises."""
    if answer.broken is not None:
        raise BrokenArtifact(answer.broken[1], slug=answer.broken[0], concerns=job.name)
    if answer.failed is not None:
        raise RendererFailed(answer.failed[1], slug=answer.failed[0], concerns=job.name)
    if answer.fault:
        raise WorkerLost(answer.fault, concerns=job.name)
    try:
        value = msgspec.msgpack.decode(answer.value, type=result)
    except msgspec.MsgspecError as error:
        raise WorkerLost(f"an answer that cannot be read: {error}", concerns=job.name) from None
    return value
