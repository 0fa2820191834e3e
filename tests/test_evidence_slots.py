"""Places for work: how many there are, and that work alone is alone."""

from __future__ import annotations

import asyncio

import pytest

from beholder.evidence import slots
from beholder.evidence.slots import Slots, default_workers, pages_at_a_time, processors


@pytest.mark.parametrize(
    ("cores", "workers", "pages"), [(1, 2, 4), (2, 2, 4), (3, 3, 6), (4, 4, 8), (64, 4, 8)]
)
def test_as_many_as_the_machine_bears(
    monkeypatch: pytest.MonkeyPatch, cores: int, workers: int, pages: int
) -> None:
    """Workers are from two to four, pages two a worker and at most four a processor."""
    monkeypatch.setattr(slots, "processors", lambda: cores)
    assert default_workers() == workers
    assert pages_at_a_time(workers) == pages


def test_many_workers_share_few_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many workers are asked for, each may have a page open, and none more than the machine bears."""
    monkeypatch.setattr(slots, "processors", lambda: 2)
    assert [pages_at_a_time(workers) for workers in (1, 2, 3, 8, 16)] == [2, 4, 6, 8, 16]


def test_processors_are_counted() -> None:
    """There is at least one."""
    assert processors() >= 1


def test_alone_is_alone() -> None:
    """While one has all places, no other is at work; afterwards all places are free again."""

    async def scene() -> list[str]:
        places = Slots(3)
        seen: list[str] = []

        async def shared(name: str) -> None:
            async with places.shared():
                seen.append(f"+{name}")
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                seen.append(f"-{name}")

        async def alone() -> None:
            async with places.alone():
                seen.append("alone")
                await asyncio.sleep(0)
                seen.append("done")

        await asyncio.gather(shared("a"), alone(), alone(), shared("b"), shared("c"))
        return seen

    seen = asyncio.run(scene())
    for at, what in enumerate(seen):
        if what == "alone":
            assert seen[at + 1] == "done"
            begun, ended = (sum(one.startswith(sign) for one in seen[:at]) for sign in "+-")
            assert begun == ended
    assert sorted(seen) == sorted(["+a", "-a", "+b", "-b", "+c", "-c", "alone", "done", "alone", "done"])
