"""Time that a test moves: everybody sleeps until nobody has anything else to do, then it jumps."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Coroutine
from typing import Any

SETTLE_ROUNDS = 50


class VirtualClock:
    """A clock whose `sleep` takes no real time.

    Attributes:
        sleeps: Every wait that was asked for, in order, in seconds.
    """

    def __init__(self) -> None:
        self.sleeps: list[float] = []
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Seconds since the clock was made."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved that far."""
        self.sleeps.append(seconds)
        awake = asyncio.Event()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), awake))
        await awake.wait()

    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something to its end, moving the clock whenever everybody waits for it."""
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(SETTLE_ROUNDS):
                await asyncio.sleep(0)
            if task.done():
                break
            if not self._sleepers:
                task.cancel()
                raise AssertionError("everybody waits, and nobody for the clock")
            when, _, awake = heapq.heappop(self._sleepers)
            self._now = max(self._now, when)
            awake.set()
        return await task
