"""Why a run ends before its tasks do: a signal, or a cause that makes every further call futile."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Stop:
    """Set once, by whoever notices first.

    Attributes:
        reason: `interrupted` (a signal), `budget` (the money) or `futile` (the key, the quota, the model's
            name); None: go on.
        message: For the user.
    """

    reason: str | None = None
    message: str = ""

    def set(self, reason: str, message: str) -> None:
        """Stop sending; what is under way is waited for."""
        if self.reason is None:
            self.reason, self.message = reason, message

    @property
    def slug(self) -> str:
        """The reason that calls which were not made any more stand under."""
        return "budget" if self.reason == "budget" else "cancelled"

    @property
    def is_set(self) -> bool:
        """Whether nothing new is to be sent."""
        return self.reason is not None


@contextlib.contextmanager
def signals(
    stop: Stop, halt: Callable[[], object], abandon: Callable[[], object], say: Callable[[str], object]
) -> Iterator[None]:
    """The first SIGINT or SIGTERM sets `stop` and calls `halt`, a second one calls `abandon`."""
    loop = asyncio.get_running_loop()

    def received() -> None:
        if stop.reason == "interrupted":
            abandon()
            return
        say("Stopping: no new call is sent; waiting for those under way. Press Ctrl-C again to end at once.")
        stop.set("interrupted", "interrupted by a signal")
        halt()

    taken = []
    for name in (signal.SIGINT, signal.SIGTERM):
        # Only the main thread of a POSIX system takes signals; elsewhere KeyboardInterrupt is what it was.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(name, received)
            taken.append(name)
    try:
        yield
    finally:
        for name in taken:
            loop.remove_signal_handler(name)
