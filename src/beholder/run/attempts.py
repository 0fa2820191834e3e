"""Each attempt of a call, written to the ledger and paid from the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from beholder.errors import JudgeError
from beholder.judges import price_at
from beholder.records import Reply
from beholder.run.budget import Budget
from beholder.run.progress import Progress
from beholder.store import Attempt, CallKey, Ledger

Price = tuple[Decimal, Decimal]
"""USD per million tokens in and out."""


@dataclass(slots=True, kw_only=True)
class AttemptRecord:
    """The attempt log of one call: money set aside and the intent committed before sending, the rest after.

    Whoever made it closes it, however the call ended.

    Attributes:
        worst_usd: What one attempt can cost at the most.
        price: The user's own; None takes what the reply says.
    """

    ledger: Ledger
    key: CallKey
    request: Mapping[str, Any]
    budget: Budget
    worst_usd: Decimal
    price: Price | None
    progress: Progress
    _attempt: Attempt | None = field(default=None)
    _reserved: Decimal | None = None

    async def started(self, attempt: int) -> None:
        """Before the request leaves. Raises JudgeRejected if the budget is used up."""
        self._attempt = None
        self._reserved = await self.budget.reserve(self.worst_usd)
        self._attempt = await self.ledger.intend(self.key, self.request, attempt)
        self.progress.asked()

    async def finished(self, attempt: int, outcome: Reply | JudgeError) -> None:
        """When its outcome is known."""
        if self._attempt is None:
            raise ValueError(f"attempt {attempt} finished and was never started")
        if isinstance(outcome, Reply):
            if self.price is not None:
                outcome = replace(outcome, cost_usd=price_at(outcome.usage, *self.price))
        elif self.price is not None and outcome.usage is not None:
            outcome.cost_usd = price_at(outcome.usage, *self.price)
        self.progress.attempted(outcome)
        self._settle(self._cost(outcome))
        # Queued before anything is waited for: a cancellation cannot take it out again.
        if isinstance(outcome, Reply):
            await self.ledger.replied(self._attempt, outcome)
        else:
            await self.ledger.attempt_failed(self._attempt, outcome)

    def close(self) -> None:
        """Count an attempt that was cut off, by a cancellation or a fault of ours: it may have been billed.

        What stays set aside for ever would have others wait for it for ever.
        """
        if self._reserved is None:
            return
        if self._attempt is not None:
            self.progress.cut_off()
        self._settle(Decimal(0) if self._attempt is None else self.worst_usd)

    def _settle(self, cost_usd: Decimal) -> None:
        reserved, self._reserved = self._reserved, None
        if reserved is not None:
            self.budget.settle(reserved, cost_usd)

    def _cost(self, outcome: Reply | JudgeError) -> Decimal:
        """What to count as spent: the known cost, else the worst case of whatever may have been billed."""
        if outcome.cost_usd is not None:
            return outcome.cost_usd
        billed = isinstance(outcome, Reply) or getattr(outcome, "possibly_billed", False)
        return self.worst_usd if billed else Decimal(0)
