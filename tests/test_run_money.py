"""Money: estimates before, true cost after, a limit that holds."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import pytest

from beholder.errors import JudgeRejected
from beholder.run.budget import Budget
from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import gis_reply, gis_run, judge_command, picture, rows_of, run, summary_of

USAGE = {"input_tokens": 1000, "output_tokens": 100, "cached_input_tokens": 0}
GOOD = rule(text=gis_reply(), usage=USAGE)
PRICE = ("--price", "10,100")  # 1000 in and 100 out cost 2 cents


def test_a_dry_run_counts_and_asks_nobody(tmp_path: Path) -> None:
    """Items, calls, images, tokens, cost; nothing is written."""
    gis_run(tmp_path, ["a", "b", "c"])
    (tmp_path / "run" / "c.png").unlink()
    with JudgeServer([GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--dry-run", "--json", *PRICE))
        plain = run(judge_command(tmp_path, tmp_path / "o", server.url, "--dry-run"))
        assert server.requests == []
    found = json.loads(done.stdout)
    assert (found["items"], found["to_judge"], found["calls"], found["images"]) == (3, 2, 6, 6)
    assert found["cost_usd"] > 0
    assert "price unknown" in plain.stdout
    assert not (tmp_path / "o").exists()


def test_a_dry_run_of_a_finished_run_has_no_call_left(tmp_path: Path) -> None:
    """What the ledger answers is not counted; more repeats are."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url))
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--dry-run", "--json", "--repeats", 5))
    found = json.loads(done.stdout)
    assert (found["calls"], found["reused"]) == (2, 3)


@pytest.mark.long
def test_true_cost_holds_failed_calls_and_not_reused_ones(tmp_path: Path) -> None:
    """A reply that cannot be read was paid for; the second run costs nothing more."""
    gis_run(tmp_path, ["a"])
    out = tmp_path / "o"
    with JudgeServer([rule(call=2, text="no idea", usage=USAGE), GOOD]) as server:
        run(judge_command(tmp_path, out, server.url, *PRICE))
        first = json.loads((out / "run.json").read_text())
        run(judge_command(tmp_path, out, server.url, *PRICE))
        second = json.loads((out / "run.json").read_text())
    assert rows_of(out)[0]["n_scored"] == 2
    assert first["cost_usd"] == pytest.approx(0.06)
    assert (second["cost_usd"], second["calls"]["made"]) == (pytest.approx(0.06), 0)


def test_an_unknown_price_is_unknown_and_never_0(tmp_path: Path) -> None:
    """Null in run and summary, and a limit is refused without --price."""
    gis_run(tmp_path, ["a"])
    out = tmp_path / "o"
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, out, server.url))
        assert json.loads((out / "run.json").read_text())["cost_usd"] is None
        assert summary_of(out)["cost_usd"] is None
        refused = run(judge_command(tmp_path, out, server.url, "--max-cost", 1))
    assert refused.returncode == 2
    assert "--price IN,OUT" in refused.stderr


@pytest.mark.long
def test_a_limit_stops_before_it_is_exceeded_and_can_be_raised(tmp_path: Path) -> None:
    """Exit 1, what was paid is kept, unasked tasks say `budget`; a higher limit finishes the run."""
    gis_run(tmp_path, [f"t{n}" for n in range(8)])
    out = tmp_path / "o"
    with JudgeServer([GOOD]) as server:
        first = run(
            judge_command(tmp_path, out, server.url, *PRICE, "--max-cost", "0.50", "--max-connections", 2)
        )
        asked = len(server.requests)
        record = json.loads((out / "run.json").read_text())
        assert first.returncode == 1
        assert "--max-cost" in first.stderr
        assert 0 < asked < 24
        assert record["cost_usd"] == pytest.approx(asked * 0.02)
        assert record["cost_usd"] <= 0.5
        assert summary_of(out)["unscored"]["budget"] > 0
        second = run(judge_command(tmp_path, out, server.url, *PRICE, "--max-cost", 5))
        assert (second.returncode, len(server.requests)) == (0, 24)


def test_a_budget_waits_for_what_is_under_way() -> None:
    """A call that fits only once another was cheaper than feared waits for it."""

    async def steps() -> list[str]:
        order: list[str] = []
        budget = Budget(limit_usd=Decimal(10))
        await budget.reserve(Decimal(6))

        async def second() -> None:
            await budget.reserve(Decimal(6))
            order.append("second")

        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)
        order.append("first settled")
        budget.settle(Decimal(6), Decimal(1))
        await waiting
        assert (budget.spent_usd, budget.reserved_usd) == (1, 6)
        return order

    assert asyncio.run(steps()) == ["first settled", "second"]


def test_a_budget_learns_what_a_call_really_costs() -> None:
    """Once a call cost more than its worst case, the next one is expected to do so too."""

    async def steps() -> Decimal:
        budget = Budget(limit_usd=Decimal(5))
        budget.settle(await budget.reserve(Decimal("0.1")), Decimal("2.25"))
        return await budget.reserve(Decimal("0.1"))

    assert asyncio.run(steps()) == Decimal("2.25")


def test_a_judge_that_costs_more_than_it_should_stays_near_the_limit(tmp_path: Path) -> None:
    """Fifty connections, a server that ignores the cap: at most the first calls go beyond the limit."""
    gis_run(tmp_path, [f"t{n}" for n in range(20)])
    dear = {"input_tokens": 100_000, "output_tokens": 10_000, "cached_input_tokens": 0}  # 2 USD at this price
    with JudgeServer([rule(text=gis_reply(), usage=dear, delay_s=0.05)]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, *PRICE, "--max-cost", 6)
        done = run([*line, "--max-connections", "50"])
        assert done.returncode == 1
        assert len(server.requests) <= 4


def test_a_budget_never_waits_for_nothing() -> None:
    """With nothing under way a call that does not fit ends the run."""
    budget = Budget(limit_usd=Decimal(1), spent_usd=Decimal("0.9"))
    with pytest.raises(JudgeRejected, match="max-cost") as caught:
        asyncio.run(budget.reserve(Decimal("0.2")))
    assert (caught.value.slug, caught.value.stops_run) == ("budget", True)


@pytest.mark.long
@pytest.mark.parametrize("change", ["artifact", "text", "retry", "nothing"])
def test_a_dry_run_counts_what_the_real_run_then_asks(tmp_path: Path, change: str) -> None:
    """By the calls' identity, not by their place; and the out-dir stays as it is, file by file."""
    gis_run(tmp_path, ["a", "b"])
    out = tmp_path / "o"
    with JudgeServer([rule(contains="Map b.", times=2, text="no idea"), GOOD]) as server:
        line = judge_command(tmp_path, out, server.url)
        run(line)
        if change == "artifact":
            picture(tmp_path / "run/a.png", "teal")
        elif change == "text":
            gis_run(tmp_path, ["a", "b"], prompt="Another map.")
        elif change == "retry":
            line = [*line, "--retry-unscored"]
        before = sorted(path.name for path in out.iterdir())
        promised = json.loads(run([*line, "--dry-run", "--json"]).stdout)["calls"]
        assert sorted(path.name for path in out.iterdir()) == before
        asked = len(server.requests)
        run(line)
        assert (
            len(server.requests) - asked
            == promised
            == {"artifact": 3, "text": 6, "nothing": 0, "retry": 2}[change]
        )


def test_a_dry_run_refuses_what_the_real_run_refuses(tmp_path: Path) -> None:
    """Another setting of the judge: exit 2 with what differs."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url))
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--max-tokens", 99, "--dry-run"))
    assert done.returncode == 2
    assert "max_tokens" in done.stderr
