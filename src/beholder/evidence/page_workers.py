"""The workers of a page: scripts beside it, with the page's rules but a time of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from beholder.evidence.cdp import JSON, Session
from beholder.evidence.page_requests import PATTERNS

AUTO_ATTACH: JSON = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
"""What `Target.setAutoAttach` is told: whatever a page starts is in our hands before its first line."""


@dataclass(slots=True)
class Workers:
    """What a page has started beside itself: workers, and frames that the browser keeps apart.

    Attributes:
        session: The page's own.
        decide: Answers a request, by the session that it comes from.
        failed: Told what a handler failed with.
        source: Runs in each before its first line.
        running: The workers, by the ids of their sessions.
        seen: How many there were.
    """

    session: Session
    decide: Callable[[Session, JSON], Awaitable[None]]
    failed: Callable[[BaseException], None]
    source: str
    running: dict[str, Session] = field(default_factory=dict)
    seen: int = 0
    _asked: dict[str, asyncio.Future[JSON]] = field(default_factory=dict)

    def follow(self, session: Session) -> None:
        """Take on what this session starts."""
        session.on("Target.attachedToTarget", self._attached)
        session.on("Target.detachedFromTarget", self._detached)

    def _attached(self, params: JSON) -> None:
        """A worker: its requests are decided here too, before it runs."""
        child = self.session.connection.session(params["sessionId"])
        child.on_failure = self.failed

        async def paused(request: JSON) -> None:
            await self.decide(child, request)

        if params["targetInfo"]["type"].endswith("worker"):
            self.running[params["sessionId"]] = child
            self.seen += 1
        child.on("Fetch.requestPaused", paused)
        self.follow(child)
        for method, extra in (
            ("Fetch.enable", {"patterns": PATTERNS}),
            ("Target.setAutoAttach", AUTO_ATTACH),
            # The same clock, chance and closed ways as in the page, before its first line.
            ("Runtime.evaluate", {"expression": self.source}),
            ("Runtime.runIfWaitingForDebugger", {}),
        ):
            child.post(method, **extra)

    def _detached(self, params: JSON) -> None:
        self.running.pop(params["sessionId"], None)

    async def idle(self, within_s: float = 0.2) -> bool:
        """Whether every worker answers, which it does between two pieces of work."""
        for name, worker in self.running.items():
            if name not in self._asked:
                self._asked[name] = worker.post("Runtime.evaluate", expression="0")
        waiting = set(self._asked.values())
        if waiting:
            await asyncio.wait(waiting, timeout=within_s)
        self._asked = {name: one for name, one in self._asked.items() if not one.done()}
        return not self._asked
