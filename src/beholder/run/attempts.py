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
    _reserved: Decimal = Decimal(0)

    async def started(self, attempt: int) -> None:
        """Before the request leaves. Raises JudgeRejected if the budget is used up."""
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
            await self.ledger.replied(self._attempt, outcome)
        else:
            if self.price is not None and outcome.usage is not None:
                outcome.cost_usd = price_at(outcome.usage, *self.price)
            await self.ledger.attempt_failed(self._attempt, outcome)
        self.progress.attempted(outcome)
        await self.budget.settle(self._reserved, self._cost(outcome))

    def _cost(self, outcome: Reply | JudgeError) -> Decimal:
        """What to count as spent: the known cost, else the worst case of whatever may have been billed."""
        if outcome.cost_usd is not None:
            return outcome.cost_usd
        billed = isinstance(outcome, Reply) or getattr(outcome, "possibly_billed", False)
        return self.worst_usd if billed else Decimal(0)
