"""Work in threads that is not left half done: a cancelled caller waits for it, and it is done in any case."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from beholder.fenced.threads import to_its_end


def test_what_it_gives_and_raises() -> None:
    """The result of the work, or its exception."""

    def failing() -> None:
        raise KeyError("of the work")

    async def scene() -> int:
        with pytest.raises(KeyError):
            await to_its_end(failing)
        return await to_its_end(divmod, 7, 2)

    assert asyncio.run(scene()) == (3, 1)


def cancelled(work: Callable[[], object], *, times: int, go: threading.Event, busy: bool = False) -> bool:
    """Whether a caller that is cancelled so often was still waiting before its work could go on.

    Args:
        busy: The only thread is at something else, until `go`.
    """

    async def scene() -> bool:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        if busy:
            asyncio.get_running_loop().run_in_executor(None, go.wait)
        caller = asyncio.create_task(to_its_end(work))
        await asyncio.sleep(0)
        for _ in range(times):
            caller.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
        waits = not caller.done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await caller
        return waits

    return asyncio.run(scene())


@pytest.mark.parametrize("busy", [False, True])
def test_a_cancelled_caller_goes_on_when_the_work_has_ended(busy: bool) -> None:
    """Until then what it works on stays as it is, whether the work has begun or waits for a thread."""
    go, done = threading.Event(), threading.Event()
    assert cancelled(lambda: (go.wait(), done.set()), times=1, go=go, busy=busy)
    assert done.is_set()


def test_cancelled_again_it_waits_no_more_and_the_work_is_done() -> None:
    """Also work that had no thread yet, which `asyncio.to_thread` would have forgotten."""
    go, done = threading.Event(), threading.Event()
    assert not cancelled(done.set, times=2, go=go, busy=True)
    assert done.wait(30)


def test_nobody_is_told_of_what_nobody_waits_for() -> None:
    """Work that fails after its caller was cancelled twice complains nowhere."""
    go, told = threading.Event(), []

    def failing() -> None:
        go.wait()
        raise KeyError("of the work")

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        caller = asyncio.create_task(to_its_end(failing))
        await asyncio.sleep(0)
        for _ in range(2):
            caller.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await caller
        go.set()
        await asyncio.get_running_loop().shutdown_default_executor()
        await asyncio.sleep(0.01)

    asyncio.run(scene())
    assert told == []
