"""The one retry loop. Nothing below it asks twice."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from beholder.errors import JudgeError, JudgeUnavailable
from beholder.judges.base import CallContext, Judge, Prepared
from beholder.judges.endpoint import Endpoint, is_busy
from beholder.records import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and how long in between.

    Attributes:
        max_retries: Further attempts after the first; 0 asks once.
        base_s, cap_s: Without word from the judge the n-th wait is between half of and the whole of
            `min(cap_s, base_s * 2**(n - 1))` seconds.
        longest_wait_s: A judge that asks for a longer wait is given up at once.
        chance: Gives the jitter, uniform in [0, 1).
    """

    max_retries: int = 4
    base_s: float = 1.0
    cap_s: float = 60.0
    longest_wait_s: float = 300.0
    chance: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def backoff_s(self, attempt: int) -> float:
        """Seconds to wait after the `attempt`-th (1-based) attempt failed."""
        whole = min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        return whole / 2 + whole / 2 * self.chance()


class AttemptLog(Protocol):
    """Where attempts are written down."""

    async def started(self, attempt: int) -> None:
        """Called before the `attempt`-th request leaves; it leaves once this has returned."""

    async def finished(self, attempt: int, outcome: Reply | JudgeError) -> None:
        """Called with what came of it."""


async def ask_with_retries(
    judge: Judge,
    prepared: Prepared,
    call: CallContext,
    *,
    endpoint: Endpoint,
    policy: RetryPolicy,
    log: AttemptLog,
) -> Reply:
    """The judge's reply, asking at most `1 + max_retries` times.

    An attempt that is cancelled has been started and is never finished: it may have been billed.

    Raises:
        JudgeError: The last attempt's, if none succeeded.
    """
    attempt = 1
    while True:
        try:
            async with endpoint.slot():
                await log.started(attempt)
                return await _one_attempt(judge, prepared, call, attempt, log)
        except JudgeUnavailable as error:
            wait = _wait_s(error, attempt, policy, scripted=judge.spec.scripted)
            if attempt > policy.max_retries or wait > policy.longest_wait_s:
                raise
            if is_busy(error):
                endpoint.pause(wait)  # for everyone: the next attempt waits in `slot`, in turn
            else:
                await endpoint.wait(wait)
            attempt += 1


async def _one_attempt(
    judge: Judge, prepared: Prepared, call: CallContext, attempt: int, log: AttemptLog
) -> Reply:
    try:
        reply = await judge.ask(prepared, call)
    except JudgeError as error:
        await log.finished(attempt, error)
        raise
    await log.finished(attempt, reply)
    return reply


def _wait_s(error: JudgeUnavailable, attempt: int, policy: RetryPolicy, *, scripted: bool) -> float:
    if scripted:
        return 0.0  # a made-up failure is not worth a real wait
    if not error.retry_after_s:  # a wait of 0 would burn every attempt at once
        return policy.backoff_s(attempt)
    return error.retry_after_s
