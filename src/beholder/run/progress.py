"""What a run has done so far: counters that the displays read."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from beholder.errors import JudgeError
from beholder.records import Reply


@dataclass(slots=True)
class Progress:
    """Counters of one run. `clock` gives seconds and only ever goes forward.

    Attributes:
        planned: Tasks, over all models.
        done: Tasks that have a row.
        outcomes: Rows by outcome.
        calls: Answers received in this run; `reused_calls`: answers taken from the ledger.
        under_way: Requests that are waited for.
        cost_usd: Of answers with a known price; `unpriced` counts the others.
        problems: The first three different messages of calls that failed for good.
        unscored: By reason, the first task without a score, and why in words.
    """

    planned: int = 0
    done: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    reused_calls: int = 0
    failed_calls: int = 0
    under_way: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    problems: list[str] = field(default_factory=list)
    unscored: dict[str, tuple[str, str]] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    def asked(self) -> None:
        """A request is about to leave."""
        self.under_way += 1

    def attempted(self, outcome: Reply | JudgeError) -> None:
        """An attempt ended; one that was paid for counts even if it gave no reply."""
        self.under_way -= 1
        self.calls += isinstance(outcome, Reply)
        if outcome.cost_usd is not None:
            self.cost_usd += outcome.cost_usd
        elif isinstance(outcome, Reply) or outcome.usage is not None:
            self.unpriced += 1

    def cut_off(self) -> None:
        """An attempt ended without an outcome."""
        self.under_way -= 1

    def reused(self) -> None:
        """A stored answer was used again."""
        self.reused_calls += 1

    def failed(self, error: JudgeError) -> None:
        """A call failed for good."""
        self.failed_calls += 1
        if error.slug != "cancelled" and len(self.problems) < 3 and str(error) not in self.problems:
            self.problems.append(str(error))

    def finished(self, row: Mapping[str, Any]) -> None:
        """A task has its row."""
        self.done += 1
        self.outcomes[row["outcome"]] += 1
        if row["outcome"] == "unscored":
            self.unscored.setdefault(row["reason"], (row["task_id"], row["main_score_error"] or ""))

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return self.clock() - self.started

    @property
    def rate(self) -> float:
        """Tasks a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate, at the rate so far; None before the first task is done."""
        return (self.planned - self.done) / self.rate if self.done else None

    @property
    def cost(self) -> str:
        """Cost so far, for people; `unknown` where no price was known."""
        if self.unpriced and not self.cost_usd:
            return "price unknown"
        return f"${self.cost_usd:.4f}" + (f" + {self.unpriced} unpriced" if self.unpriced else "")

    @property
    def waiting(self) -> str:
        """What is being waited for, in words."""
        if self.under_way:
            return "waiting for 1 call" if self.under_way == 1 else f"waiting for {self.under_way} calls"
        return "" if self.done == self.planned else "preparing evidence"

    def line(self) -> str:
        """One plain line."""
        left = self.seconds_left
        parts = [
            f"{self.done}/{self.planned} tasks",
            f"{self.outcomes['unscored']} unscored",
            f"{self.calls} calls",
            self.waiting,
            f"{self.rate:.1f} tasks/s",
            "" if left is None else f"{duration(left)} left",
            self.cost,
        ]
        return ", ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Seconds as `1 h 02 min`, `3 min 20 s` or `12 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
