"""`--max-cost`: what is spent and what calls under way may cost at the most, together, stay below a limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal

from beholder.errors import JudgeRejected


@dataclass(slots=True)
class Budget:
    """Money of one out-dir or several that share a run.

    Attributes:
        limit_usd: None: no limit.
        spent_usd: Known costs, of earlier runs in these out-dirs too, and the worst case of calls that may
            have been billed without an answer.
        reserved_usd: Worst case of calls under way.
    """

    limit_usd: Decimal | None = None
    spent_usd: Decimal = Decimal(0)
    reserved_usd: Decimal = Decimal(0)
    _settled: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def reserve(self, worst_usd: Decimal) -> None:
        """Set the worst case of a call aside; waits while calls under way may still leave enough.

        Raises:
            JudgeRejected: It does not fit with nothing under way; `slug` is `budget`, and it stops the run.
        """
        if self.limit_usd is None:
            return
        async with self._settled:
            while self.spent_usd + self.reserved_usd + worst_usd > self.limit_usd:
                if not self.reserved_usd:
                    raise JudgeRejected(
                        f"--max-cost {self.limit_usd}: ${self.spent_usd:.4f} are spent, and the next call "
                        f"may cost ${worst_usd:.4f}; raise the limit to go on",
                        slug="budget",
                        stops_run=True,
                    )
                await self._settled.wait()
            self.reserved_usd += worst_usd

    async def settle(self, worst_usd: Decimal, cost_usd: Decimal) -> None:
        """Exchange a reservation for what the call cost."""
        if self.limit_usd is None:
            return
        async with self._settled:
            self.reserved_usd -= worst_usd
            self.spent_usd += cost_usd
            self._settled.notify_all()
