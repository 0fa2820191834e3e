"""The virtual time of a page (`Emulation.setVirtualTimePolicy`).

Timers and animations run through without waiting, in the same order each time, and time stands still while a
request is on its way. It starts at `EPOCH_S` with the page.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from beholder.evidence.cdp import Session

EPOCH_S = 1_767_225_600
"""The page's clock starts at 2026-01-01T00:00:00Z."""

EPOCH = "2026-01-01T00:00:00Z"

FIRST_S = 0.1
"""Page time that passes before the first frame."""

_WITH_REQUESTS = "pauseIfNetworkFetchesPending"


@dataclass(slots=True)
class Clock:
    """One page's time.

    Attributes:
        passed_s: Page time that has passed so far, as it is told of the page.
    """

    session: Session
    passed_s: float = 0.0
    _expired: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.session.on("Emulation.virtualTimeBudgetExpired", lambda _: self._expired.set())

    async def set(self) -> None:
        """Let it stand at its start, before the page's first script looks at it."""
        await self.session.call("Emulation.setVirtualTimePolicy", policy="pause", initialVirtualTime=EPOCH_S)

    def begin(self) -> None:
        """Let the first `FIRST_S` pass from when the page is made.

        Sent before the page's own answer, this waits in the browser and takes effect as the page is made.
        Sent earlier it would run on the blank page; awaited here it would wait for that very answer.
        """
        self.session.post(
            "Emulation.setVirtualTimePolicy",
            policy=_WITH_REQUESTS,
            budget=FIRST_S * 1000,
            maxVirtualTimeTaskStarvationCount=100_000,
        )

    def expect(self) -> None:
        """Forget what has passed: `over` waits for what passes from here on."""
        self._expired.clear()

    async def over(self) -> None:
        """Wait until the time that was given to the page has passed."""
        await self._expired.wait()

    async def advance(self, page_s: float, *, for_requests: bool = True, told: bool = True) -> None:
        """Let page time pass.

        Args:
            for_requests: It stands still while a request is on its way.
            told: It counts as passed; where the wall's time says how much passes, it must not.
        """
        self.expect()
        policy = _WITH_REQUESTS if for_requests else "advance"
        await self.session.call("Emulation.setVirtualTimePolicy", policy=policy, budget=page_s * 1000)
        await self.over()
        if told:
            self.passed_s += page_s

    def stop(self) -> None:
        """Let it stand, without waiting for that."""
        self.session.post("Emulation.setVirtualTimePolicy", policy="pause")
