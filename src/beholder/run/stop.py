"""Why a run ends before its tasks do: a signal, or a cause that makes every further call futile."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # Windows has no SIGHUP


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
    """The first SIGINT, SIGTERM or SIGHUP sets `stop` and calls `halt`, a second one calls `abandon`.

    SIGHUP stays ignored where it is, as under `nohup`. SIGINT does not: shells let what they start in the
    background ignore it, and whoever sends it all the same wants the run to stop. Afterwards each handler is
    as before.
    """
    loop = asyncio.get_running_loop()

    def received() -> None:
        if stop.reason == "interrupted":
            abandon()
            return
        stop.set("interrupted", "interrupted by a signal")
        halt()
        # At last: nobody may be there to read it.
        say("Stopping: no new call is sent; waiting for those under way. Press Ctrl-C again to end at once.")

    before = {}
    for name in _SIGNALS:
        handler = signal.getsignal(name)
        if handler is signal.SIG_IGN and name not in {signal.SIGINT, signal.SIGTERM}:
            continue
        # Only the main thread of a POSIX system takes signals; elsewhere KeyboardInterrupt is what it was.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(name, received)
            before[name] = handler
    try:
        yield
    finally:
        for name, handler in before.items():
            loop.remove_signal_handler(name)
            if handler is not None:  # None: set by no Python code, which cannot set it again
                signal.signal(name, handler)
