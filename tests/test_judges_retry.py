"""The one retry loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import JudgeError, JudgeRejected, JudgeUnavailable
from beholder.judges import (
    CallContext,
    Endpoint,
    Prepared,
    RetryPolicy,
    ask_with_retries,
    connect_judge,
)
from beholder.records import JudgeSpec, MediaLimits, Picture, Reply
from tests.fakes.clock import VirtualClock
from tests.fakes.judge_server import JudgeServer, rule

CALL = CallContext(task_id="t", model="m", repeat=1)
PREPARED = Prepared(prompt="q", pictures=(), request_record={})


class ListLog:
    """Writes attempts into a list, with the loop's time of each line in another."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, Any]] = []
        self.times: list[float] = []

    async def started(self, attempt: int) -> None:
        self._write("started", attempt, None)

    async def finished(self, attempt: int, outcome: Reply | JudgeError) -> None:
        self._write("finished", attempt, outcome)

    def _write(self, *line: Any) -> None:
        self.lines.append(line)
        self.times.append(asyncio.get_running_loop().time())


class ListJudge:
    """Gives the outcomes of a list, one per request, and notes when it was asked."""

    def __init__(
        self, outcomes: Sequence[Reply | JudgeError], clock: VirtualClock, log: ListLog | None = None
    ) -> None:
        self.spec = JudgeSpec(provider="openai", name="x")
        self.limits = MediaLimits()
        self.times: list[float] = []
        self.log_before: list[int] = []
        self._outcomes, self._clock, self._log = list(outcomes), clock, log

    def prepare(self, prompt: str, pictures: Sequence[Picture]) -> Prepared:
        raise NotImplementedError

    async def ask(self, prepared: Prepared, call: CallContext) -> Reply:
        self.times.append(self._clock.now())
        if self._log:
            self.log_before.append(len(self._log.lines))
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, JudgeError):
            raise outcome
        return outcome

    async def aclose(self) -> None:
        """Nothing to close."""


def run(
    outcomes: Sequence[Reply | JudgeError], **policy: Any
) -> tuple[Reply | JudgeError, ListJudge, ListLog, VirtualClock]:
    async def everything() -> tuple[Reply | JudgeError, ListJudge, ListLog, VirtualClock]:
        clock, log = VirtualClock(), ListLog()
        judge = ListJudge(outcomes, clock, log)
        work = ask_with_retries(
            judge,
            PREPARED,
            CALL,
            endpoint=Endpoint(clock=clock),
            policy=RetryPolicy(**{"chance": lambda: 1.0, **policy}),
            log=log,
        )
        try:
            return await clock.run(work), judge, log, clock
        except JudgeError as error:
            return error, judge, log, clock

    return asyncio.run(everything())


def down(**more: Any) -> JudgeUnavailable:
    return JudgeUnavailable("down", **more)


def test_first_success_ends_it() -> None:
    """A reply ends the loop, and what came before it is in the log."""
    reply = Reply(text="ok")
    error = down()
    got, judge, log, _ = run([error, reply])
    assert got is reply
    assert log.lines == [
        ("started", 1, None),
        ("finished", 1, error),
        ("started", 2, None),
        ("finished", 2, reply),
    ]
    assert judge.log_before == [1, 3]  # the intent was logged before each request


def test_waits_double_up_to_their_cap() -> None:
    """Without word from the judge the waits are 1, 2, 4, 8, … seconds, at most the cap."""
    _, judge, _, _ = run([down() for _ in range(7)], max_retries=6, cap_s=10)
    gaps = [later - earlier for earlier, later in zip(judge.times, judge.times[1:], strict=False)]
    assert gaps == [1, 2, 4, 8, 10, 10]


def test_jitter_takes_away_at_most_half() -> None:
    """The jitter comes from the given chance: 0 halves a wait, 1 leaves it whole."""
    assert [RetryPolicy(chance=lambda: 0.0).backoff_s(n) for n in (1, 2, 3)] == [0.5, 1, 2]
    assert [RetryPolicy(chance=lambda: 1.0).backoff_s(n) for n in (1, 2, 3)] == [1, 2, 4]


def test_asked_wait_is_kept() -> None:
    """A wait that the judge asks for is waited out exactly, whatever the backoff."""
    _, judge, _, _ = run([down(slug="rate_limited", status=429, retry_after_s=7.5), Reply(text="ok")])
    assert judge.times == [0, 7.5]


def test_too_long_a_wait_ends_at_once() -> None:
    """A judge that asks for an hour is given up, as rate limited, after one request."""
    got, judge, _, clock = run([down(slug="rate_limited", status=429, retry_after_s=3600)])
    assert isinstance(got, JudgeUnavailable)
    assert (got.slug, len(judge.times), clock.now()) == ("rate_limited", 1, 0)


def test_retries_are_bounded() -> None:
    """After `max_retries` further attempts the last error is raised."""
    errors = [down(status=500) for _ in range(3)]
    got, judge, log, _ = run(errors, max_retries=2)
    assert got is errors[-1]
    assert len(judge.times) == 3
    assert log.lines[-1] == ("finished", 3, errors[-1])


def test_no_retries() -> None:
    """With no retries there is one request."""
    _, judge, _, _ = run([down(), Reply(text="late")], max_retries=0)
    assert len(judge.times) == 1


def test_rejections_are_not_repeated() -> None:
    """What asking again cannot help is not asked again."""
    error = JudgeRejected("too large")
    got, judge, log, _ = run([error, Reply(text="never")])
    assert got is error
    assert len(judge.times) == 1
    assert log.lines[-1] == ("finished", 1, error)


def test_429_pauses_everyone() -> None:
    """After a 429 with a wait nobody asks before it is over."""

    async def everything() -> list[float]:
        clock = VirtualClock()
        endpoint = Endpoint(clock=clock, max_connections=4)
        busy = down(slug="rate_limited", status=429, retry_after_s=30)
        judge = ListJudge([busy, *(Reply(text="ok") for _ in range(6))], clock)
        policy, log = RetryPolicy(), ListLog()

        async def one() -> None:
            await ask_with_retries(judge, PREPARED, CALL, endpoint=endpoint, policy=policy, log=log)

        async def later() -> None:
            await clock.sleep(1)
            await one()

        async def together() -> None:
            await asyncio.gather(one(), *(later() for _ in range(5)))

        await clock.run(together())
        return judge.times

    times = asyncio.run(everything())
    assert times[0] == 0
    assert min(times[1:]) == 30


def test_cancelled_attempt_is_started_and_never_finished() -> None:
    """An attempt that is cancelled leaves its intent in the log and no outcome."""

    async def everything() -> list[tuple[str, int, Any]]:
        with JudgeServer([rule(fault="hang")]) as server:
            judge = connect_judge(
                JudgeSpec(provider="openai", name="gpt-4.1", base_url=server.url + "/v1"), api_key="k"
            )
            log = ListLog()
            task = asyncio.create_task(
                ask_with_retries(
                    judge,
                    judge.prepare("q", []),
                    CALL,
                    endpoint=Endpoint(),
                    policy=RetryPolicy(),
                    log=log,
                )
            )
            await asyncio.to_thread(server.wait_for_requests, 1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await judge.aclose()
        return log.lines

    assert asyncio.run(everything()) == [("started", 1, None)]


def test_requests_equal_attempts_over_the_wire() -> None:
    """A server that always fails gets exactly `1 + max_retries` requests, for every vendor."""

    async def count(provider: str, base_url: str) -> int:
        spec = JudgeSpec(provider=provider, name="x", base_url=base_url)
        judge, log = connect_judge(spec, api_key="k"), ListLog()
        with pytest.raises(JudgeUnavailable):
            await ask_with_retries(
                judge,
                judge.prepare("q", []),
                CALL,
                endpoint=Endpoint(),
                policy=RetryPolicy(max_retries=2, base_s=0.01),
                log=log,
            )
        await judge.aclose()
        return len(log.lines) // 2

    for provider in ("anthropic", "openai", "google"):
        with JudgeServer([rule(status=500)]) as server:
            assert asyncio.run(count(provider, server.url)) == 3
        assert len(server.requests) == 3


def test_429_and_529_over_the_wire() -> None:
    """A server that is busy for some calls is given its time, asked less, and all are answered."""

    async def everything(url: str) -> tuple[int, list[float], ListLog]:
        judge = connect_judge(JudgeSpec(provider="anthropic", name="x", base_url=url), api_key="k")
        endpoint, log = Endpoint(max_connections=6), ListLog()
        prepared, policy = judge.prepare("q", []), RetryPolicy(base_s=0.05)
        limits: list[float] = []

        async def one() -> Reply:
            reply = await ask_with_retries(judge, prepared, CALL, endpoint=endpoint, policy=policy, log=log)
            limits.append(endpoint.limit)
            return reply

        replies = await asyncio.gather(*(one() for _ in range(18)))
        await judge.aclose()
        return len(replies), limits, log

    rules = [
        rule(call=[3, 4, 5], status=429, headers={"retry-after": "1"}, delay_s=0.02),
        rule(call=8, status=529, delay_s=0.02),
        rule(delay_s=0.05),
    ]
    with JudgeServer(rules) as server:
        count, limits, log = asyncio.run(everything(server.url))
    assert count == 18
    assert len(server.requests) == 22
    assert min(limits) < 6
    lines = list(zip(log.lines, log.times, strict=True))
    refused = [at for (_, _, outcome), at in lines if getattr(outcome, "slug", None) == "rate_limited"]
    assert len(refused) == 3
    for at in refused:  # by the asker's own time: on its way to the server a request may take its own
        assert not [start for (what, _, _), start in lines if what == "started" and at < start < at + 1]


def test_scripted_failures_take_no_time(tmp_path: Path) -> None:
    """A scripted failure is tried again without waiting."""
    script = tmp_path / "script.jsonl"
    script.write_text('{"error": "rate_limited"}\n')
    spec = JudgeSpec(provider="scripted", name=str(script))
    judge, log = connect_judge(spec, api_key=None), ListLog()

    async def everything() -> None:
        work = ask_with_retries(
            judge,
            judge.prepare("q", []),
            CALL,
            endpoint=Endpoint(),
            policy=RetryPolicy(max_retries=3),
            log=log,
        )
        async with asyncio.timeout(30):
            await work

    with pytest.raises(JudgeUnavailable):
        asyncio.run(everything())
    assert len(log.lines) == 8
