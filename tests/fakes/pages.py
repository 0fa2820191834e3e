"""Pages and drawings straight through the browser, without the engine."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import BrokenArtifact
from beholder.evidence.browser import DEAD_PROXY, Browser, find_browser, launch
from beholder.evidence.egress import Egress
from beholder.evidence.html import check_html, render_html
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.record import Record
from beholder.evidence.serve import ServedFolder
from beholder.evidence.svg import check_svg, render_svg
from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy
from tests.fakes.evidence import BLOCKED, LIMITS

HEAD = "<!doctype html><meta charset=utf-8><style>body{margin:0;font:20px sans-serif}</style>"
SVG = "<svg xmlns='http://www.w3.org/2000/svg'"


@contextlib.asynccontextmanager
async def browser(proxy: str = DEAD_PROXY) -> AsyncIterator[Browser]:
    """A real browser."""
    running = await launch(find_browser(), proxy=proxy)
    try:
        yield running
    finally:
        await running.aclose()


async def show(
    running: Browser,
    content: str | bytes,
    *,
    name: str = "index.html",
    files: Mapping[str, bytes] | None = None,
    root: Path | None = None,
    network: NetworkPolicy = BLOCKED,
    egress: Egress | None = None,
    record: Record | None = None,
    limits: MediaLimits = LIMITS,
    budget: int = 64,
    **policy: Any,
) -> Shown:
    """What is shown of one page or drawing, as its suffix says."""
    data = content.encode() if isinstance(content, str) else content
    for beside, bytes_ in (files or {}).items():
        assert root is not None
        (root / beside).write_bytes(bytes_)
    rules = EvidencePolicy(**{"min_wait_s": Decimal(1), "max_wait_s": Decimal(120), **policy})
    job = Job(name=name, suffix=Path(name).suffix, data=data, policy=rules, limits=limits, budget=budget)
    check, render = (check_svg, render_svg) if job.suffix == ".svg" else (check_html, render_html)
    check(job)
    folder = ServedFolder(root=root, name=name, page=data)
    return await render(running, job, folder, network, egress, record=record)


async def show_all(pages: Mapping[str, str | bytes], **options: Any) -> dict[str, Shown | BrokenArtifact]:
    """What is shown of each, or why nothing is; one browser, one after the other."""
    found: dict[str, Shown | BrokenArtifact] = {}
    async with browser() as running:
        for name, content in pages.items():
            try:
                found[name] = await show(running, content, name=name, **options)
            except BrokenArtifact as error:
                found[name] = error
    return found


def codes(shown: Shown) -> set[str]:
    """The codes of its warnings."""
    return {warning.code for warning in shown.warnings}
