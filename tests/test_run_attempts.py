"""Money set aside for calls: given back however a call ends, so that nobody waits for it for ever."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import JudgeRejected
from beholder.judges.scripted import ScriptedJudge
from beholder.records import Reply
from beholder.run.attempts import AttemptRecord
from beholder.run.budget import Budget
from beholder.run.progress import Progress
from beholder.run.seat import Seat
from beholder.store import CallKey, Ledger, ledger_copy
from tests.fakes.runs import gis_reply
from tests.test_run_reward import MAP, TASK, other, scripted

KEY = CallKey(
    model="m",
    task_id="a",
    artifacts=(),
    question_sha256="q",
    evidence_sha256="e",
    prompt_sha256="p",
    judge={"model": "x/y"},
    repeat=1,
)


def record(ledger: Ledger, budget: Budget, progress: Progress | None = None) -> AttemptRecord:
    """The log of a call that may cost 6 USD."""
    return AttemptRecord(
        ledger=ledger,
        key=KEY,
        request={"prompt": "?"},
        budget=budget,
        worst_usd=Decimal(6),
        price=None,
        progress=progress or Progress(planned=1),
    )


def test_an_attempt_that_is_cut_off_counts_at_its_worst_case(tmp_path: Path) -> None:
    """It may have been billed; nothing stays set aside, and it is under way no more."""

    async def scene() -> None:
        ledger, budget, progress = (
            Ledger(tmp_path / "ledger.sqlite"),
            Budget(limit_usd=Decimal(10)),
            Progress(),
        )
        log = record(ledger, budget, progress)
        await log.started(1)
        assert (budget.reserved_usd, progress.under_way) == (6, 1)
        log.close()
        log.close()
        assert (budget.reserved_usd, budget.spent_usd, progress.under_way) == (0, 6, 0)
        ledger.close()

    asyncio.run(scene())


def test_a_finished_attempt_counts_once(tmp_path: Path) -> None:
    """What it cost, and closing its log adds nothing."""

    async def scene() -> None:
        ledger, budget, progress = (
            Ledger(tmp_path / "ledger.sqlite"),
            Budget(limit_usd=Decimal(10)),
            Progress(),
        )
        log = record(ledger, budget, progress)
        await log.started(1)
        await log.finished(1, Reply(text="7", cost_usd=Decimal(1)))
        log.close()
        assert (budget.reserved_usd, budget.spent_usd, progress.under_way) == (0, 1, 0)
        ledger.close()

    asyncio.run(scene())


@pytest.mark.parametrize("steps", range(1, 6))
def test_cancelled_at_any_step_nothing_stays_set_aside(tmp_path: Path, steps: int) -> None:
    """Before, while and after the intent is committed, and while the reply is, which the ledger has then."""

    async def scene() -> int:
        ledger, budget, answers = Ledger(tmp_path / "ledger.sqlite"), Budget(limit_usd=Decimal(10)), 0

        async def call() -> None:
            nonlocal answers
            log = record(ledger, budget)
            try:
                await log.started(1)
                answers += 1
                await log.finished(1, Reply(text="7", cost_usd=Decimal(1)))
            finally:
                log.close()

        running = asyncio.create_task(call())
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        assert budget.reserved_usd == 0
        ledger.close()
        return answers

    answers = asyncio.run(scene())
    with ledger_copy(tmp_path) as ledger:
        assert ledger is not None
        assert ledger.totals(this_run=False).replied == answers


def test_who_waits_for_money_is_told_when_all_is_stopped() -> None:
    """At once, although the call whose money it waits for is still under way."""

    async def scene() -> None:
        budget = Budget(limit_usd=Decimal(10))
        await budget.reserve(Decimal(6))
        waiting = [asyncio.create_task(budget.reserve(Decimal(6))) for _ in range(2)]
        await asyncio.sleep(0)
        budget.stop(JudgeRejected("interrupted", slug="cancelled", stops_run=True))
        done, _ = await asyncio.wait(waiting, timeout=30)
        assert [str(one.exception()) for one in done] == ["interrupted"] * 2

    asyncio.run(scene())


def test_nobody_waits_for_the_money_of_a_call_that_failed_through_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that ends as none should may have been billed; the next one is told so, and never hangs."""
    monkeypatch.setattr(Seat, "worst_cost", lambda *_: Decimal(1))
    ask, calls = ScriptedJudge.ask, []

    async def failing(self: ScriptedJudge, *args: Any) -> Reply:
        calls.append(args)
        if len(calls) == 1:
            raise RuntimeError("a fault of ours")
        return await ask(self, *args)

    monkeypatch.setattr(ScriptedJudge, "ask", failing)

    async def scene() -> None:
        lines = [{"reply": gis_reply()}]
        judge = scripted(tmp_path, lines, max_cost=Decimal("1.5"), price=(Decimal(1), Decimal(1)))
        async with asyncio.timeout(60), judge as opened:
            assert (await opened.score(TASK, MAP)).outcome == "unscored"
            with pytest.raises(JudgeRejected, match="max-cost"):
                await opened.score(TASK, other(1))

    asyncio.run(scene())
