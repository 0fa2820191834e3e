"""A page from its address until it stands still, and a little further, to see whether it would have."""

from __future__ import annotations

import asyncio
import contextlib

from beholder.evidence.capture import MAX_AREA_PX, MAX_HEIGHT_PX, MAX_WIDTH_PX, Box
from beholder.evidence.page import Page, PageFailed
from beholder.evidence.page_clock import FIRST_S
from beholder.evidence.page_scripts import draw_frame, filled
from beholder.evidence.page_scroll import AFTER_SCROLL_S, scroll_through

MIN_PAGE_TIME_S = 3.0
"""Page time costs next to nothing, so that a page gets this much even where the protocol asks for less."""

LOAD_S = 8.0
"""Wall seconds for the page and its files to arrive; then page time goes on without the missing ones."""

PROBE_S = 1.0
"""Page time after the capture within which a change tells that the page had not settled."""

MAX_GLYPHS = 2_000
"""Different characters looked at; each costs a few hundredths of a millisecond."""

STILL_AT_MS = 3000
"""Where endless animations are held."""

_WORKER_STEP_S = 0.1
_WORKER_PROBE_S = 1.0
"""Wall seconds, for pages with workers only."""


async def settle(page: Page, *, scroll: bool = True) -> None:
    """Load, let page time pass, scroll to the end and back.

    Ends by `max_wait_s` at the latest; `cut_short` then says what it was doing.

    Raises:
        PageFailed: The renderer died, or the page does not come to its end of a script.
    """
    page_s = max(float(page.policy.min_wait_s), MIN_PAGE_TIME_S)
    doing = "loading"
    try:
        async with asyncio.timeout(float(page.policy.max_wait_s)):
            await page.alive(_load(page, page_s))
            doing = "scrolling"
            if scroll:
                await page.alive(scroll_through(page))
            doing = "looking at its text"
            found = await page.alive(page.ask("glyphs.js", MOST=MAX_GLYPHS))
            page.missing_glyphs = str("".join(found or ()))
            doing = "settling"
    except TimeoutError:
        page.cut_short = f"still {doing} after {page.policy.max_wait_s} s"
        page.session.post("Page.stopLoading")
        page.clock.stop()


async def _load(page: Page, page_s: float) -> None:
    page.clock.expect()
    navigating = page.session.post("Page.navigate", url=page.folder.url)
    try:
        async with asyncio.timeout(LOAD_S):
            answer = await navigating
            if "errorText" in answer:
                raise PageFailed(f"cannot be opened: {answer['errorText']}")
            await page.clock.over()
        waiting = True
    except TimeoutError:
        waiting = False  # something never arrives: page time no longer waits for it
    page.clock.passed_s += FIRST_S
    for share in (0.25, 0.75):
        # Observers are called, and transitions begin, in a real frame; what they start needs page time.
        await draw_frame(page.session, page.frame)
        await page.clock.advance(page_s * share, for_requests=waiting)
    if page.workers.running:
        await _wait_for_workers(page, page_s)
    await draw_frame(page.session, page.frame)


async def _wait_for_workers(page: Page, page_s: float) -> None:
    """Let the wall's time pass for workers, whose timers and work follow no virtual clock."""
    now = asyncio.get_running_loop().time
    end = now() + page_s
    while True:
        await asyncio.sleep(_WORKER_STEP_S)
        idle = await page.workers.idle()
        await page.clock.advance(_WORKER_STEP_S, told=False)
        if idle and now() >= end:
            return


async def settle_again(page: Page) -> None:
    """Let what we have changed in the page take effect."""
    await draw_frame(page.session, page.frame)
    await page.clock.advance(AFTER_SCROLL_S)
    await draw_frame(page.session, page.frame)


async def stand_still(page: Page, extent: tuple[int, int] | None = None) -> Box:
    """Hold animations and scripts; the page's box in CSS pixels, no larger than what can be captured.

    Args:
        extent: Width and height of what is captured; left out: all of the page, at least the viewport.

    Raises:
        PageFailed: It does not answer.
    """
    page.session.post("Runtime.evaluate", expression=filled("still.js", AT_MS=STILL_AT_MS))
    # Capturing resizes the window for a moment: no handler of the page may answer to that.
    page.session.post("Emulation.setScriptExecutionDisabled", value=True)
    # An answer also where the size is known: the page does not hang.
    metrics = await page.alive(page.session.call("Page.getLayoutMetrics"))
    if extent is None:
        size = metrics["cssContentSize"]
        width, height = page.policy.viewport
        extent = (max(int(size["width"]), width), max(int(size["height"]), height))
    page.full_size = extent
    wide = min(extent[0], MAX_WIDTH_PX)
    return Box(0, 0, wide, min(extent[1], MAX_HEIGHT_PX, MAX_AREA_PX // wide))


async def go_on(page: Page) -> None:
    """Let `PROBE_S` of page time pass after the capture, as far as it does so at once."""
    if page.workers.running:
        await asyncio.sleep(_WORKER_PROBE_S)
    await page.session.call("Emulation.setScriptExecutionDisabled", value=False)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2.0):
            await page.alive(page.clock.advance(PROBE_S, told=False))
