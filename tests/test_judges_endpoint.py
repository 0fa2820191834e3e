"""The limiter that all calls to one endpoint share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from beholder.errors import JudgeError, JudgeRefused, JudgeRejected, JudgeUnavailable
from beholder.judges import Endpoint, LoopClock
from tests.fakes.clock import VirtualClock

Outcome = Callable[[int, float], JudgeError | None]


class Calls:
    """Makes calls of one second through an endpoint and notes when each starts."""

    def __init__(
        self, endpoint: Endpoint, clock: VirtualClock, outcome: Outcome = lambda _n, _t: None
    ) -> None:
        self.endpoint, self.clock, self.outcome = endpoint, clock, outcome
        self.starts: list[float] = []
        self.order: list[int] = []
        self.peak = 0
        self.errors: list[JudgeError] = []

    async def one(self, number: int) -> None:
        try:
            async with self.endpoint.slot():
                self.starts.append(self.clock.now())
                self.order.append(number)
                self.peak = max(self.peak, self.endpoint.in_flight)
                await self.clock.sleep(1)
                error = self.outcome(number, self.clock.now())
                if error:
                    raise error
        except JudgeError as error:
            self.errors.append(error)

    async def many(self, count: int) -> None:
        await asyncio.gather(*(self.one(number) for number in range(count)))


def run(count: int, outcome: Outcome = lambda _n, _t: None, **settings: float) -> Calls:
    async def everything() -> Calls:
        clock = VirtualClock()
        calls = Calls(Endpoint(clock=clock, **settings), clock, outcome)
        await clock.run(calls.many(count))
        return calls

    return asyncio.run(everything())


def busy() -> JudgeUnavailable:
    return JudgeUnavailable("busy", slug="rate_limited", status=429)


def test_at_most_max_connections_at_a_time() -> None:
    """No more calls are in flight than there are connections, and all of them are used."""
    calls = run(40, max_connections=8)
    assert calls.peak == 8
    assert len(calls.starts) == 40
    assert calls.clock.now() == pytest.approx(1 + (40 - 3) / 8, abs=1)


def test_three_calls_until_the_first_success() -> None:
    """Until a call succeeded only three are in flight, so a dead server is not asked by everyone."""
    calls = run(20, max_connections=16)
    assert calls.starts.count(0) == 3
    assert calls.starts.count(1) == 16


def test_wrong_key_costs_a_few_calls() -> None:
    """After a rejection that stops the run nobody is let through any more."""
    calls = run(50, lambda _n, _t: JudgeRejected("wrong key", stops_run=True), max_connections=16)
    assert len(calls.starts) == 3
    assert len(calls.errors) == 50
    assert all(isinstance(error, JudgeRejected) and error.stops_run for error in calls.errors)
    assert "wrong key" in str(calls.errors[-1])
    assert calls.endpoint.stopped in calls.errors


def test_stop_ends_every_wait() -> None:
    """Stopped from outside, those that wait out a pause or wait their turn end at once, as cancelled."""

    async def everything() -> tuple[Calls, float]:
        clock = VirtualClock()
        calls = Calls(Endpoint(clock=clock, max_connections=2), clock)
        calls.endpoint.pause(300)

        async def stopper() -> None:
            await clock.sleep(1)
            calls.endpoint.stop(JudgeRejected("interrupted"))

        async def together() -> None:
            await asyncio.gather(calls.many(5), stopper())

        await clock.run(together())
        return calls, clock.now()

    calls, now = asyncio.run(everything())
    assert (calls.starts, now) == ([], 1)
    assert {error.slug for error in calls.errors} == {"cancelled"}
    assert len(calls.errors) == 5


def test_rejected_case_stops_nobody() -> None:
    """A rejection of one case lets the others through."""
    calls = run(5, lambda n, _t: JudgeRejected("this picture") if n == 0 else None, max_connections=2)
    assert len(calls.starts) == 5


def test_refusal_counts_as_an_answer() -> None:
    """A refusal shows that the key and the model work."""
    calls = run(12, lambda _n, _t: JudgeRefused("no"), max_connections=8)
    assert calls.peak == 8


def test_starts_keep_their_interval() -> None:
    """Two starts are at least `min_interval_s` apart, whatever the number of connections."""
    calls = run(6, max_connections=8, min_interval_s=1.5)
    gaps = [later - earlier for earlier, later in zip(calls.starts, calls.starts[1:], strict=False)]
    assert gaps == [1.5] * 5


def test_first_come_first_served() -> None:
    """Calls start in the order in which they asked."""
    assert run(30, max_connections=2).order == list(range(30))


def test_pause_holds_for_everyone() -> None:
    """During a pause nobody starts, and a shorter pause does not end a longer one."""

    async def everything() -> Calls:
        clock = VirtualClock()
        calls = Calls(Endpoint(clock=clock, max_connections=4), clock)
        calls.endpoint.pause(20)
        calls.endpoint.pause(5)
        assert calls.endpoint.paused_s == 20
        await clock.run(calls.many(4))
        return calls

    calls = asyncio.run(everything())
    assert min(calls.starts) == 20


def test_pause_that_begins_while_waiting_is_kept() -> None:
    """A call that waits for its interval also waits for a pause that was put on meanwhile."""

    async def everything() -> list[float]:
        clock = VirtualClock()
        endpoint = Endpoint(clock=clock, max_connections=4, min_interval_s=2)
        calls = Calls(endpoint, clock)

        async def pauser() -> None:
            await clock.sleep(1)
            endpoint.pause(10)

        async def both() -> None:
            await asyncio.gather(calls.many(2), pauser())

        await clock.run(both())
        return calls.starts

    assert asyncio.run(everything()) == [0, 11]


def test_limit_halves_once_for_one_burst_and_recovers() -> None:
    """A burst of 429 halves the limit once; successes bring it back, never above the maximum."""

    async def everything() -> tuple[float, float, float]:
        clock = VirtualClock()
        endpoint = Endpoint(clock=clock, max_connections=16)
        await clock.run(Calls(endpoint, clock).many(60))
        full = endpoint.limit
        await clock.run(Calls(endpoint, clock, lambda _n, _t: busy()).many(16))
        halved = endpoint.limit
        await clock.run(Calls(endpoint, clock).many(200))
        return full, halved, endpoint.limit

    assert asyncio.run(everything()) == (16, 8, 16)


def test_limit_never_falls_below_one() -> None:
    """However often the judge is busy, one call at a time is still made."""
    calls = run(64, lambda _n, _t: busy(), max_connections=16)
    assert calls.endpoint.limit == 1
    assert len(calls.starts) == 64


def test_cancelled_call_gives_its_slot_back() -> None:
    """A call that is cancelled inside its slot, or while it waits for one, blocks nobody."""

    async def everything() -> int:
        endpoint = Endpoint(max_connections=1)

        async def hold(seconds: float) -> None:
            async with endpoint.slot():
                await asyncio.sleep(seconds)

        inside, waiting = asyncio.create_task(hold(60)), asyncio.create_task(hold(60))
        await asyncio.sleep(0.01)
        waiting.cancel()
        inside.cancel()
        await asyncio.gather(inside, waiting, return_exceptions=True)
        async with asyncio.timeout(30):
            await hold(0)
        return endpoint.in_flight

    assert asyncio.run(everything()) == 0


def test_impossible_settings_are_misuse() -> None:
    """No connection at all, or a negative interval, is a ValueError."""
    with pytest.raises(ValueError, match="max_connections"):
        Endpoint(max_connections=0)
    with pytest.raises(ValueError, match="min_interval_s"):
        Endpoint(min_interval_s=-1)


def test_loop_clock_waits() -> None:
    """The real clock moves by what it was told to sleep."""

    async def everything() -> float:
        clock = LoopClock()
        before = clock.now()
        await clock.sleep(0.05)
        return clock.now() - before

    assert asyncio.run(everything()) >= 0.049
