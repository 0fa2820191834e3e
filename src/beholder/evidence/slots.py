"""Places for work that is done a few at a time, and now and then alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

MOST_WORKERS = 4
"""Each takes memory, and the machine is often meant for other things, too."""


PAGES_A_WORKER = 2
"""A page waits for frames half of its time: another one uses the processor meanwhile."""

PAGES_A_PROCESSOR = 4


def processors() -> int:
    """How many processors this process may use; at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_workers() -> int:
    """As many as there are processors, from 2 to `MOST_WORKERS`."""
    return min(MOST_WORKERS, max(2, processors()))


def pages_at_a_time(workers: int) -> int:
    """How many pages are open beside so many workers."""
    return min(PAGES_A_WORKER * workers, max(workers, PAGES_A_PROCESSOR * processors()))


@dataclass
class Slots:
    """At most `count` at a time; `alone` waits until it has all the slots."""

    count: int
    _free: asyncio.Semaphore = field(init=False)
    _taking_all: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.count)

    def shared(self) -> asyncio.Semaphore:
        """One slot, as a context."""
        return self._free

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """All the slots."""
        taken = 0
        async with self._taking_all:
            try:
                while taken < self.count:
                    await self._free.acquire()
                    taken += 1
                yield
            finally:
                for _ in range(taken):
                    self._free.release()
