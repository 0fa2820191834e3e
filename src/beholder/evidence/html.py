"""Web pages, told from SVG by their content, whatever the suffix."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from beholder.errors import BrokenArtifact
from beholder.evidence.browser import Browser
from beholder.evidence.cdp import ConnectionLost
from beholder.evidence.egress import Egress
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.page import PageFailed
from beholder.evidence.record import Record
from beholder.evidence.serve import ServedFolder
from beholder.evidence.sniff import sniff
from beholder.evidence.svg import is_svg, render_svg
from beholder.evidence.webshot import draw
from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy

GOOD_PAGE = (
    b"<!doctype html><title>good</title><body style='background:#fff'><h1>A page known to be good.</h1>"
)
"""What is rendered to find out whose fault a failure is."""


def check_html(job: Job) -> None:
    """Refuse what is no text at all.

    Raises:
        BrokenArtifact: `wrong_type`.
    """
    found = sniff(job.data)
    if found:
        raise BrokenArtifact(f"the content is no page but {found}", slug="wrong_type", concerns=job.name)
    # UTF-16 has NULs, but says so; anything else with a NUL in its first kilobytes is no text.
    if b"\0" in job.data[:4096] and not job.data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BrokenArtifact("the content is no text", slug="wrong_type", concerns=job.name)


async def render_html(
    browser: Browser,
    job: Job,
    folder: ServedFolder,
    network: NetworkPolicy,
    egress: Egress | None,
    *,
    record: Record | None = None,
) -> Shown:
    """A page's pictures, one attempt; a drawing under a page's suffix is drawn as what it is.

    Raises:
        BrokenArtifact: A drawing that is no well-formed XML.
        PageFailed: The page hangs, kills its renderer or cannot be captured.
        ConnectionLost: The browser is gone or does not answer.
    """
    if is_svg(job.data):
        return await render_svg(browser, job, folder, network, egress, record=record)
    return await draw(browser, job, folder, network, egress, record=record)


async def renders_good_page(open_browser: Callable[[], Coroutine[Any, Any, Browser]]) -> bool:
    """Whether a page known to be good comes out, and not blank."""
    policy = EvidencePolicy(viewport=(400, 300))
    job = Job(name="good.html", suffix=".html", data=GOOD_PAGE, policy=policy, limits=MediaLimits(), budget=1)
    folder = ServedFolder(root=None, name=job.name, page=job.data)
    try:
        shown = await render_html(await open_browser(), job, folder, NetworkPolicy(given=True), None)
    except (PageFailed, ConnectionLost):
        return False
    return not any(warning.code == "blank_capture" for warning in shown.warnings)
