"""One base URL with one key, shared by all its callers: how many at a time, how soon, and when not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from beholder.errors import JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable

UNPROVEN_CALLS = 3
RECOVERY = 0.25
BUSY_STATUSES = frozenset({429, 503, 529})


class Clock(Protocol):
    """Time as the limiter and the retry loop see it."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class LoopClock:
    """The event loop's own time."""

    def now(self) -> float:
        """Seconds since some moment of the loop's choice."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""
        await asyncio.sleep(seconds)


class Endpoint:
    """Lets calls through, in the order in which they asked.

    Three rules: at most `limit` at a time, starts at least `min_interval_s` apart, none before a pause is
    over. The limit halves when the judge says it is busy, and grows back by a quarter of a call with each
    success. Until the first success at most `UNPROVEN_CALLS` are in flight, so that a wrong key costs a few
    calls; after a rejection that stops the run no call is let through any more.

    Attributes:
        limit: Calls at a time, now; between 1 and `max_connections`.
        in_flight: Calls let through and not finished.
    """

    def __init__(
        self, *, max_connections: int = 16, min_interval_s: float = 0.0, clock: Clock | None = None
    ) -> None:
        if max_connections < 1 or min_interval_s < 0:
            raise ValueError("max_connections must be at least 1 and min_interval_s at least 0")
        self.limit = float(max_connections)
        self.in_flight = 0
        self._max = max_connections
        self._interval_s = min_interval_s
        self._clock = clock or LoopClock()
        self._not_before = float("-inf")
        self._next_start = float("-inf")
        self._last_cut = float("-inf")
        self._proven = False
        self._stopped: JudgeRejected | None = None
        self._stop = asyncio.Event()
        self._turn = asyncio.Lock()  # first come, first served; whoever holds it is next
        self._changed = asyncio.Event()

    @property
    def clock(self) -> Clock:
        """The time it goes by."""
        return self._clock

    @property
    def stopped(self) -> JudgeRejected | None:
        """The rejection after which nobody is let through, if there was one."""
        return self._stopped

    @property
    def paused_s(self) -> float:
        """Seconds until the pause is over; 0 if there is none."""
        return max(0.0, self._not_before - self._clock.now())

    def pause(self, seconds: float) -> None:
        """Let nobody start within the next seconds; a longer pause that is on stays."""
        self._not_before = max(self._not_before, self._clock.now() + seconds)

    def stop(self, error: JudgeRejected) -> None:
        """Let no call through any more; those that wait for their turn end with `error`'s message."""
        self._stopped = self._stopped or error
        self._stop.set()
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Wait, or until the endpoint is stopped.

        Raises:
            JudgeRejected: It was stopped; `slug` is `cancelled`.
        """
        sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((sleeping, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()
        self._check()

    def _check(self) -> None:
        if self._stopped:
            slug = "budget" if self._stopped.slug == "budget" else "cancelled"
            raise JudgeRejected(f"not asked: {self._stopped}", slug=slug, stops_run=True)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the connections; what the block raises tells how the judge is doing.

        Raises:
            JudgeRejected: An earlier call was rejected for a reason that holds for all.
        """
        started = await self._enter()
        try:
            yield
        except JudgeError as error:
            self._learn(error, started)
            raise
        else:
            self._succeeded()
        finally:
            self.in_flight -= 1
            self._changed.set()

    async def _enter(self) -> float:
        async with self._turn:
            while True:
                self._check()
                if self.in_flight >= self._allowed():
                    self._changed.clear()
                    await self._changed.wait()
                    continue
                now = self._clock.now()
                wait = max(self._not_before, self._next_start) - now
                if wait <= 0:
                    break
                await self.wait(wait)
            self.in_flight += 1
            self._next_start = now + self._interval_s
            return now

    def _allowed(self) -> int:
        allowed = max(1, int(self.limit))
        return allowed if self._proven else min(allowed, UNPROVEN_CALLS)

    def _succeeded(self) -> None:
        self._proven = True
        self.limit = min(float(self._max), self.limit + RECOVERY)

    def _learn(self, error: JudgeError, started: float) -> None:
        if isinstance(error, JudgeRefused):
            self._succeeded()
        elif isinstance(error, JudgeRejected) and error.stops_run:
            self.stop(error)
        elif is_busy(error) and started > self._last_cut:
            # Calls that were on their way when the limit was cut say nothing about the new one.
            self._last_cut = self._clock.now()
            self.limit = max(1.0, self.limit / 2)


def is_busy(error: JudgeError) -> bool:
    """Whether the judge says that it is asked too much, by whatever status."""
    if not isinstance(error, JudgeUnavailable):
        return False
    return error.slug == "rate_limited" or error.status in BUSY_STATUSES
