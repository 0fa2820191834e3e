"""A page scrolled to its end and back, with what scrolls inside it made as high as it is."""

from __future__ import annotations

from beholder.evidence.capture import MAX_HEIGHT_PX
from beholder.evidence.page import Page
from beholder.evidence.page_scripts import draw_frame

AFTER_SCROLL_S = 0.3
MAX_SCROLL_STEPS = 64

GONE = 3
"""Places that show something else once the page is back at its top: so many make a list of rows in view."""

_HARDLY_SCROLLS = 1.25
"""A page up to so many viewports high is one whose inner parts scroll in its place, if any do."""


async def scroll_through(page: Page) -> None:
    """Bring everything into view once; what scrolls inside the page is made as high as it is."""
    metrics = await page.session.call("Page.getLayoutMetrics")
    height = float(metrics["cssContentSize"]["height"])
    stands = height <= page.policy.viewport[1] * _HARDLY_SCROLLS
    if not await _expand(page, expand=stands) and height <= page.policy.viewport[1]:
        return
    found = await page.ask("scroll.js", STEPS=MAX_SCROLL_STEPS)
    if isinstance(found, dict):
        page.scrolled = found
    await page.clock.advance(AFTER_SCROLL_S)
    await draw_frame(page.session, page.frame)
    if page.expanded is not None and page.expanded["held"]:
        await _expand(page, expand=False)
        await draw_frame(page.session, page.frame)
    page.backdrops = int(await page.ask("backdrop.js", MOST=MAX_HEIGHT_PX) or 0)
    if page.backdrops:
        await draw_frame(page.session, page.frame)


async def _expand(page: Page, *, expand: bool) -> bool:
    """Whether a part of the page that scrolls has been made as high as what it holds."""
    found = await page.ask(
        "scroller.js", EXPAND=expand, STEPS=MAX_SCROLL_STEPS, MOST=MAX_HEIGHT_PX, GONE=GONE
    )
    if not isinstance(found, dict):
        return False
    page.inner = found["inner"]
    if found["expanded"] is not None:
        page.expanded = found["expanded"]
    return found["expanded"] is not None and bool(found["expanded"]["held"])
