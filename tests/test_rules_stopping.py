"""Rules that nobody wants to know any more: given up soon, with their workers ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, cast

import pytest

from beholder.records import Rule, RuleResult, Submission
from beholder.rules import check_rules, parse_rules
from beholder.rules import fence as rules_fence
from beholder.run import rules as run_rules
from tests.fakes.processes import below, left_of

SLOW = {"type": "text_contains", "in": "response.txt", "regex": r"^(a|a)*$"}
ENDLESS = Submission(task_id="t", model="m", root=None, response="a" * 64 + "b")


def slow_rules(count: int) -> Sequence[Rule]:
    """Each of them takes seconds until its own time is over."""
    return parse_rules([SLOW] * count)


def test_what_is_not_decided_is_given_up() -> None:
    """Also the rule that is being checked; its worker ends."""
    before, stop = below(), threading.Event()
    threading.Timer(0.3, stop.set).start()
    results = check_rules(slow_rules(50), ENDLESS, stop=stop)
    assert (results[-1].outcome, results[-1].detail) == ("error", "was given up, for the run was ended")
    assert left_of(below() - before) == []


def test_who_waits_for_a_turn_gives_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many others are at it as there are cores, and stay at it."""
    turn = threading.BoundedSemaphore(1)
    monkeypatch.setattr(rules_fence, "_TURN", turn)
    stop = threading.Event()
    with turn:
        threading.Timer(0.1, stop.set).start()
        (result,) = check_rules(slow_rules(1), ENDLESS, stop=stop)
    assert "given up" in result.detail
    assert turn.acquire(blocking=False)


def test_a_cancelled_task_gives_its_rules_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C ends at once: no thread goes on checking for minutes."""
    checked: list[tuple[RuleResult, ...]] = []
    begun = threading.Event()

    def noted(*args: Any, **options: Any) -> tuple[RuleResult, ...]:
        begun.set()
        checked.append(check_rules(*args, **options))
        return checked[0]

    monkeypatch.setattr(run_rules, "check_rules", noted)
    monkeypatch.setattr(run_rules, "rules_of", lambda *_: slow_rules(50))
    before = below()

    async def scene() -> None:
        checking = asyncio.create_task(run_rules.rule_rows(cast("Any", None), cast("Any", None), ENDLESS))
        await asyncio.to_thread(begun.wait)
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking

    asyncio.run(scene())
    assert "given up" in checked[0][-1].detail
    assert left_of(below() - before) == []
