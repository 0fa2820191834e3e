"""Which of the files that wait for LibreOffice go into the next call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from beholder.evidence.soffice_call import Office, Target

BATCH = 16
"""Files of one call, at most: a crash costs those that come after it another call."""

LEAST_SHARE = 4
"""Files worth a call of their own where several calls are free: fewer would pay start-up to save less."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a file became.

    Attributes:
        retried: It failed once, in company, and was converted alone.
    """

    data: bytes = field(repr=False)
    retried: bool = False


@dataclass(slots=True, eq=False)
class Item:
    """A file that somebody waits for.

    Attributes:
        done: What its sender waits for.
        passed_over: Calls that ended before its turn came.
    """

    name: str
    suffix: str
    data: bytes
    target: Target
    office: Office
    done: asyncio.Future[Conversion]
    passed_over: int = 0


def next_batch(waiting: Iterable[Item], *, most: int, parts: int) -> list[Item]:
    """The oldest file and others with the same target: a fair share where several calls are free.

    Args:
        waiting: The oldest first; those that nobody waits for any more are left out.
        most: Files of a call.
        parts: Calls that are free.
    """
    open_ = [item for item in waiting if not item.done.done()]
    if not open_:
        return []
    same = [item for item in open_ if item.target == open_[0].target]
    others = len({item.target for item in open_}) - 1
    share = max(LEAST_SHARE, -(-len(same) // max(1, parts - others)))
    return same[: min(share, most)]
