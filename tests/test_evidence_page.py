"""What is done with a page goes on as long as it lives."""

from __future__ import annotations

import asyncio

import pytest

from beholder.evidence.gate import Gate
from beholder.evidence.page import Page
from beholder.evidence.serve import ServedFolder
from beholder.records import EvidencePolicy
from tests.fakes.evidence import BLOCKED
from tests.test_evidence_cdp import wire


def test_work_that_ends_with_its_caller() -> None:
    """When the time of a step is over, its work has ended, too, before anything else is done to the page."""
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("work")

    async def scene() -> None:
        async with wire() as (connection, _):
            folder = ServedFolder(root=None, name="index.html", page=b"")
            page = Page(connection.session("s"), "f", folder, EvidencePolicy(), Gate(BLOCKED))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await page.alive(work())
            ended.append("caller")

    asyncio.run(scene())
    assert ended == ["work", "caller"]
