"""A page scrolled to its end and back, with what scrolls inside it made as high as it is."""

from __future__ import annotations

from beholder.evidence.capture import MAX_HEIGHT_PX
from beholder.evidence.cdp import JSON
from beholder.evidence.page import Page
from beholder.evidence.page_scripts import draw_frame, in_own_world

AFTER_SCROLL_S = 0.3

AT_END_S = 1.0
"""Page time at the end of a page, for what it loads and adds there."""

MAX_SCROLL_STEPS = 64

GONE = 3
"""Places that show something else once the page is back at its top: so many make a list of rows in view."""

_LINE_PX = 16
_HEIGHT = "(document.scrollingElement || document.documentElement || {}).scrollHeight"

_HARDLY_SCROLLS = 1.25
"""A page up to so many viewports high is one whose inner parts scroll in its place, if any do."""


async def scroll_through(page: Page) -> None:
    """Bring everything into view once; what scrolls inside the page is made as high as it is."""
    metrics = await page.session.call("Page.getLayoutMetrics")
    height = float(metrics["cssContentSize"]["height"])
    stands = height <= page.policy.viewport[1] * _HARDLY_SCROLLS
    if not await _expand(page, expand=stands) and height <= page.policy.viewport[1]:
        return
    page.scrolled = await _to_the_end(page)
    page.scrolled["gone"] = int(await page.ask("scroll_back.js") or 0)
    await _a_little(page)
    if page.scrolled.get("ended") and (unseen := await _unseen(page)):
        page.scrolled["held"] = await _hold(page, unseen)
    if page.expanded is not None and page.expanded["held"]:
        await _expand(page, expand=False)
        await draw_frame(page.session, page.frame)
    page.backdrops = int(await page.ask("backdrop.js", MOST=MAX_HEIGHT_PX) or 0)
    if page.backdrops:
        await draw_frame(page.session, page.frame)


async def _to_the_end(page: Page) -> JSON:
    """What `scroll.js` gives, once the page grows no more at its end or has been followed far enough."""
    found: JSON = {"steps": 0}
    for _ in range(MAX_SCROLL_STEPS):
        answer = await page.ask("scroll.js", FROM=found["steps"], STEPS=MAX_SCROLL_STEPS)
        if not isinstance(answer, dict):
            return {}
        found = answer
        if not found["ended"]:
            return found
        await page.clock.advance(AT_END_S)
        height = await in_own_world(page.session, page.frame, _HEIGHT)
        # Less than a line is a word that changed, and asks for no further step.
        if not isinstance(height, int | float) or height < found["height"] + _LINE_PX:
            return found
        # What watches the end is told that it has left the view before it is told that it is back.
        await draw_frame(page.session, page.frame)
        await page.clock.advance(AFTER_SCROLL_S)
    return found | {"ended": False}


async def _hold(page: Page, unseen: int) -> int:
    """How many parts are seen after all where the page is not told that it scrolls back to its top.

    Pages that reveal their parts as they come into view often hide them again once they leave it.
    """
    await page.ask("hold.js", TELL=False)
    await page.ask("scroll.js", FROM=0, STEPS=MAX_SCROLL_STEPS)
    await page.clock.advance(AT_END_S)
    await page.ask("hold.js", TELL=False)
    await page.ask("scroll_back.js")
    await _a_little(page)
    revealed = unseen - await _unseen(page)
    if revealed <= 0:
        await page.ask("hold.js", TELL=True)
        await _a_little(page)
    return max(0, revealed)


async def _unseen(page: Page) -> int:
    return int(await page.ask("unseen.js") or 0)


async def _a_little(page: Page) -> None:
    await page.clock.advance(AFTER_SCROLL_S)
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
