"""A process that reads hostile bytes with functions of ours: started, called, and ended when it is lost.

See `inside` for what runs in it. Whose fault it is that a worker is lost, its caller finds out.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from beholder.errors import BrokenArtifact, RendererFailed, RenderError
from beholder.fenced import WORKER_USER
from beholder.fenced.folders import make_folder, remove_folder
from beholder.fenced.inside import HEADER, Answer, Call, Setup
from beholder.fenced.limits import Limits
from beholder.fenced.programs import Fenced, is_root, start_group

_T = TypeVar("_T")

START_S = 60.0
"""Wall seconds for a worker to load and shut itself in, on a machine that is busy elsewhere."""

END_S = 5.0
"""What a process that has closed its pipe may take to end by itself, so that its exit code is its own."""

MOST_BYTES = 1024**3
"""Of one answer: pictures for one judge's request are a tenth of it."""

_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from beholder.fenced.inside import main; main(sys.argv[2])"
)


class WorkerLost(RenderError):
    """A worker has hung, crashed or run out of memory; whose fault it is, is not known yet.

    Attributes:
        hung: It gave no answer in time.
    """

    def __init__(self, message: str, *, hung: bool = False) -> None:
        super().__init__(message)
        self.hung = hung


@dataclass(slots=True)
class Worker:
    """A running worker and its folder.

    Attributes:
        running: Its process, with all that it has started.
        fence: How the fence turned out: `network` (`off` if it is closed), `user`, and which of files and TCP
            was `given_up`.
        usable: Whether it can be called; not while it is at work, and never again after it was lost.
    """

    running: Fenced
    _folder: Path
    fence: Mapping[str, Any] = field(default_factory=dict)
    usable: bool = False

    async def call(self, call: Call, result: type[_T], *, within_s: float) -> _T:
        """What a function makes of its arguments.

        Args:
            result: Its type; the answer is checked against it.
            within_s: Wall seconds.

        Raises:
            BrokenArtifact: As the function does.
            RendererFailed: For any other `RenderError` of the function.
            WorkerLost: There is no answer that can be used; the worker is of no more use, either.
        """
        self.usable = False
        try:
            async with asyncio.timeout(within_s):
                answer = await self._exchange(msgspec.msgpack.encode(call))
        except TimeoutError:
            raise WorkerLost(f"no result after {within_s:g} s", hung=True) from None
        if answer.fault:
            raise WorkerLost(answer.fault)
        if answer.broken is not None or answer.failed is not None:
            self.usable = True
        if answer.broken is not None:
            raise BrokenArtifact(answer.broken[1], slug=answer.broken[0])
        if answer.failed is not None:
            raise RendererFailed(answer.failed[1], slug=answer.failed[0])
        value = _decoded(answer.value, result)
        self.usable = True
        return value

    async def _exchange(self, message: bytes) -> Answer:
        writer = self.running.process.stdin
        if writer is None:
            raise WorkerLost("there is no pipe to it")
        try:
            writer.write(HEADER.pack(len(message)))
            writer.write(message)
            await writer.drain()
        except OSError:
            raise WorkerLost(await self._how_it_ended()) from None
        return await self._read()

    async def _read(self) -> Answer:
        reader = self.running.process.stdout
        if reader is None:
            raise WorkerLost("there is no pipe to it")
        try:
            (size,) = HEADER.unpack(await reader.readexactly(HEADER.size))
            if size > MOST_BYTES:
                raise WorkerLost(f"an answer of {size} bytes")
            return _decoded(await reader.readexactly(size), Answer)
        except (OSError, asyncio.IncompleteReadError):
            raise WorkerLost(await self._how_it_ended()) from None

    async def _how_it_ended(self) -> str:
        # One that ends by itself has closed its pipe a moment before.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self.running.wait()
        await self.running.aclose()
        code = self.running.process.returncode
        if code is None:
            return "its process does not end"
        return f"its process ended: {f'exit code {code}' if code >= 0 else signal.Signals(-code).name}"

    async def aclose(self) -> None:
        """Kill the process with all it has started; its folder goes too."""
        self.usable = False
        try:
            await self.running.aclose()
        finally:
            remove_folder(self._folder)


async def start_worker(modules: Sequence[str], limits: Limits, *, within_s: float = START_S) -> Worker:
    """A worker that has loaded modules, and their functions `preload`, and has shut itself in.

    Raises:
        RendererFailed: It does not start.
    """
    user = WORKER_USER if is_root() else None
    setup = Setup(modules=tuple(modules), limits=limits, user=user)
    folder = make_folder("worker", user)
    worker: Worker | None = None
    try:
        places = msgspec.json.encode([path for path in sys.path if path]).decode()
        command = [sys.executable, "-I", "-c", _PROGRAM, places, msgspec.json.encode(setup).decode()]
        pipe = asyncio.subprocess.PIPE
        # No fence before it: it must load its modules first, which another user may not be able to.
        worker = Worker(await start_group(command, folder, stdin=pipe, stdout=pipe), folder)
        async with asyncio.timeout(within_s):
            hello = await worker._read()
        worker.fence = _decoded(hello.value, dict[str, Any])
        worker.usable = True
    except (TimeoutError, WorkerLost) as error:
        raise RendererFailed(f"the process to read files in does not start: {error!r}") from error
    finally:
        if worker is None:
            remove_folder(folder)
        elif not worker.usable:
            await asyncio.shield(worker.aclose())
    return worker


def _decoded(message: bytes, type_: type[_T]) -> _T:
    try:
        return msgspec.msgpack.decode(message, type=type_)
    except msgspec.MsgspecError as error:
        raise WorkerLost(f"an answer that cannot be read: {error}") from None
