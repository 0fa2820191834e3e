"""What is done with a page goes on as long as it lives."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from beholder.evidence.cdp import ProtocolFailure
from beholder.evidence.gate import Gate
from beholder.evidence.page import Page, PageFailed
from beholder.evidence.serve import ServedFolder
from beholder.records import EvidencePolicy
from tests.fakes.evidence import BLOCKED
from tests.test_evidence_cdp import wire


def test_a_death_is_told_once() -> None:
    """Where work fails because the renderer died, the death is the cause, and nothing else is reported."""
    reported: list[dict[str, Any]] = []

    async def refused() -> None:
        raise ProtocolFailure("the session is gone")

    async def scene() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        async with wire() as (connection, _):
            folder = ServedFolder(root=None, name="index.html", page=b"")
            page = Page(connection.session("s"), "f", folder, EvidencePolicy(), Gate(BLOCKED))
            page._die("the renderer died")
            with pytest.raises(PageFailed, match="died"):
                await page.alive(refused())

    asyncio.run(scene())
    gc.collect()  # asyncio reports a failure that nobody has looked at when its task goes
    assert reported == []


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
