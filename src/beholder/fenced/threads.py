"""Work in threads that must not be left half done: nothing can end a thread from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def to_its_end(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What work gives, done in a thread; a caller that is cancelled goes on once the work has ended.

    `asyncio.to_thread` lets a cancelled caller go on at once: the work then still writes into what is being
    removed, or was waiting for a thread and is never done. A second cancellation waits no more, but work that
    waits for a thread is done all the same.
    """
    # No task, which the end of the loop would cancel, and with it what waits for a thread.
    running = asyncio.get_running_loop().run_in_executor(None, partial(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_seen)
        await asyncio.wait([running])
        raise


def _seen(running: asyncio.Future[_T]) -> None:
    """Nobody waits for what has come of it."""
    if not running.cancelled():
        running.exception()
