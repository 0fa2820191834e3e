"""An event loop that counts what it is asked to do, and does something else at a chosen moment."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import psutil


class CountingLoop(asyncio.SelectorEventLoop):
    """A loop that does what `at` says when its count of callbacks comes there.

    Each step of a task, and each word to it that what it waits for is there, is a callback. What `at` says is
    done just before: when what a task waits for has come, and the task has not learned of it yet.

    Attributes:
        count: Callbacks so far.
        at: Count -> what to do then.
        complaints: What the loop's exception handler was told: exceptions that nobody retrieved, and such.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.at: dict[int, Callable[[], object]] = {}
        self.complaints: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.complaints.append(context))

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        self.count += 1
        now = self.at.pop(self.count, None)
        if now is not None:
            super().call_soon(now)
        return super().call_soon(callback, *args, context=context)


async def cancelled_at(step: int, task: asyncio.Task[Any], *more: int) -> bool:
    """Whether a task ended as cancelled, having been cancelled so many callbacks after now.

    Args:
        more: It is cancelled again, so many callbacks after the time before.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    at = loop.count
    for later in (step, *more):
        at += later
        loop.at[at] = task.cancel
    await asyncio.wait([task])
    loop.at.clear()
    return task.cancelled()


async def all_reaped(before: set[psutil.Process]) -> None:
    """Wait until the loop has learned of every child's end.

    asyncio does not wait for a program whose start is cancelled twice; it would warn if its loop ended first.

    Args:
        before: Children that were there already.
    """
    async with asyncio.timeout(120):
        while set(psutil.Process().children()) - before:  # noqa: ASYNC110 - the kernel ends them
            await asyncio.sleep(0.05)
    for thread in threading.enumerate():
        if thread.name.startswith("asyncio-waitpid"):  # up to Python 3.11 they tell the loop
            await asyncio.to_thread(thread.join, 60)
    await asyncio.sleep(0)
