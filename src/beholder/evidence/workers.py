"""Workers for decoders: started when needed, ended when they hang, crash or grow too large.

A file is tried twice, the second time alone and in a new process; then a file known to be good tells whose
fault it is. See `fenced.worker` for one worker, `decode` for what it is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, TypeVar

from beholder.errors import BrokenArtifact, RendererFailed, RenderError
from beholder.evidence import decode
from beholder.evidence.decode import decoder_call
from beholder.evidence.good import good_job
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.slots import Slots
from beholder.fenced.inside import Call
from beholder.fenced.limits import Limits
from beholder.fenced.worker import Worker, WorkerLost, start_worker

_T = TypeVar("_T")

JOB_S = 90.0
"""Wall seconds for one file; the slowest honest ones take a tenth, on a machine that is busy elsewhere."""

DATA_LIMIT_BYTES = 3 * 1024**3
"""Memory of one worker. The largest picture that is not refused by its header takes two thirds of it."""

_LIMITS = Limits(data_bytes=DATA_LIMIT_BYTES, file_bytes=1024**3, handles=256)


class WorkerPool:
    """Up to `count` processes that have loaded `modules`; an async context manager.

    Attributes:
        fence: How the last worker's fence turned out (`Worker.fence`); empty before the first.
    """

    def __init__(self, modules: tuple[str, ...], count: int) -> None:
        self._modules = (*modules, decode.__name__)
        self._slots = Slots(count)
        self._idle: list[Worker] = []
        self._closed = False
        self.fence: Mapping[str, Any] = {}

    async def aclose(self) -> None:
        """End all processes."""
        self._closed = True
        await self._end_idle()

    async def run(self, module: str, function: str, job: Job, result: type[_T], **more: Any) -> _T:
        """What `function` of `module` makes of a job.

        Args:
            result: Its type; the answer is checked against it.
            more: Further arguments, of types that MessagePack has.

        Raises:
            BrokenArtifact: As the function does, or `unrenderable`: it fails twice, and a good file does not.
            RendererFailed: As the function does, or a good file fails, too.
        """
        call = decoder_call(module, function, job, more)
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
                await self._once(decoder_call(*good_job(module)), Shown)
            except RenderError as error:
                raise RendererFailed(f"a good file fails too: {error}", concerns=job.name) from error
        raise BrokenArtifact(f"twice: {failure}", slug="unrenderable", concerns=job.name)

    async def _once(self, call: Call, result: type[_T]) -> _T:
        worker = self._idle.pop() if self._idle else await self._start()
        try:
            return await worker.call(call, result, within_s=JOB_S)
        except RenderError as error:
            error.concerns = call.arguments["job"].name
            raise
        finally:
            if worker.usable and not self._closed:
                self._idle.append(worker)
            else:
                await asyncio.shield(worker.aclose())

    async def _start(self) -> Worker:
        worker = await start_worker(self._modules, _LIMITS)
        self.fence = worker.fence
        return worker

    async def _end_idle(self) -> None:
        """End all that have nothing to do; all of them, also if the caller is cancelled meanwhile."""
        idle, self._idle = self._idle, []
        async with contextlib.AsyncExitStack() as ending:
            for worker in idle:
                ending.push_async_callback(worker.aclose)
