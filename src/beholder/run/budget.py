"""`--max-cost`: what is spent and what calls under way may cost at the most, together, stay below a limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal

from beholder.errors import JudgeRejected
from beholder.judges import recorded_videos
from beholder.run.plan import Plan
from beholder.store import Ledger


def spent_before(ledger: Ledger, plan: Plan) -> Decimal:
    """What earlier runs in an out-dir cost, in USD; 0 where no limit is to be kept.

    An answer without a known price counts by its tokens; an attempt that may have been billed without an
    answer counts at its worst case.
    """
    if plan.spec.max_cost is None:
        return Decimal(0)
    total = ledger.totals(this_run=False).cost_usd
    for usage, request in ledger.unpriced():
        seat = plan.seat_of(request["model"])
        if usage.input_tokens is not None:
            total += seat.cost(usage) or Decimal(0)
        else:
            total += seat.worst_cost(request["prompt"], len(request["images"]), recorded_videos(request))
    return total


@dataclass(slots=True)
class Budget:
    """Money of one out-dir or several that share a run.

    Attributes:
        limit_usd: None: no limit.
        spent_usd: Known costs, of earlier runs in these out-dirs too, and the worst case of calls that may
            have been billed without an answer.
        reserved_usd: Worst case of calls under way.
        dearest_usd: What one call cost at the most so far.
    """

    limit_usd: Decimal | None = None
    spent_usd: Decimal = Decimal(0)
    reserved_usd: Decimal = Decimal(0)
    dearest_usd: Decimal = Decimal(0)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _stopped: JudgeRejected | None = None

    def stop(self, error: JudgeRejected) -> None:
        """Let nobody set money aside any more; who waits for it ends with `error`."""
        self._stopped = error
        self._settled.set()

    async def reserve(self, worst_usd: Decimal) -> Decimal:
        """Set the worst case of a call aside; waits while calls under way may still leave enough.

        Returns:
            What was set aside: the worst case, or the dearest call so far if that was more.

        Raises:
            JudgeRejected: It does not fit with nothing under way; `slug` is `budget`, and it stops the run.
        """
        if self.limit_usd is None:
            return worst_usd
        self._check()
        # A judge may cost more than it should: thinking tokens, a cap that a server ignores.
        while self.spent_usd + self.reserved_usd + max(worst_usd, self.dearest_usd) > self.limit_usd:
            if not self.reserved_usd:
                raise JudgeRejected(
                    f"--max-cost {self.limit_usd}: ${self.spent_usd:.4f} are spent, and the next call "
                    f"may cost ${max(worst_usd, self.dearest_usd):.4f}; raise the limit to go on",
                    slug="budget",
                    stops_run=True,
                )
            self._settled.clear()
            await self._settled.wait()
            self._check()
        reserved = max(worst_usd, self.dearest_usd)
        self.reserved_usd += reserved
        return reserved

    def _check(self) -> None:
        if self._stopped is not None:
            raise self._stopped

    def settle(self, reserved_usd: Decimal, cost_usd: Decimal) -> None:
        """Exchange a reservation for what the call cost."""
        if self.limit_usd is None:
            return
        self.reserved_usd -= reserved_usd
        self.spent_usd += cost_usd
        self.dearest_usd = max(self.dearest_usd, cost_usd)
        self._settled.set()
