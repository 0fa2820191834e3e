"""Pages in a browser that is kept from one to the next, and whose fault it is when one does not come out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.browser import DEAD_PROXY, Browser, find_browser, fonts_fingerprint, launch
from beholder.evidence.cdp import ConnectionLost
from beholder.evidence.egress import Dialler, Egress, Resolver
from beholder.evidence.html import renders_good_page
from beholder.evidence.kinds import Shown
from beholder.evidence.page import PageFailed
from beholder.evidence.slots import Slots
from beholder.records import NetworkPolicy

Attempt = Callable[[Browser, Egress | None], Awaitable[Shown]]
"""One try at a page, in the browser given."""


class PageRenderer:
    """The browser, started with the first page.

    Args:
        count: Pages open at a time.
        network: The way out, if the user has allowed one.

    Attributes:
        info: Name, sandbox and fonts of what has drawn so far; empty before the first page.
    """

    def __init__(
        self,
        count: int,
        network: NetworkPolicy,
        *,
        browser_path: str | None,
        resolver: Resolver,
        dialler: Dialler,
    ) -> None:
        self._network = network
        self._browser_path = browser_path
        self._resolver = resolver
        self._dialler = dialler
        self._slots = Slots(count)
        self._starting = asyncio.Lock()
        self._browser: Browser | None = None
        self._egress: Egress | None = None
        self.info: dict[str, Any] = {}

    async def aclose(self) -> None:
        """End the browser and the proxy."""
        egress, self._egress = self._egress, None
        try:
            await self._close_browser()
        finally:
            if egress is not None:
                await egress.__aexit__()

    async def _close_browser(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.aclose()

    async def show(self, name: str, attempt: Attempt) -> Shown:
        """A page's pictures: tried twice, the second time alone, then the blame is found.

        The second try and the good page have a new browser each: a page may have upset the one before.

        Args:
            name: The artifact's.

        Raises:
            BrokenArtifact: `unrenderable`: it fails twice, and a good page does not.
            RendererFailed: A good page fails, too.
            MissingTool: There is no browser.
        """

        async def once() -> Shown:
            browser = await self._open_browser()
            return await attempt(browser, self._egress)

        try:
            async with self._slots.shared():
                return await once()
        except (PageFailed, ConnectionLost):
            pass  # perhaps another page took the browser down: this one gets a second try, alone
        async with self._slots.alone():
            await self._close_browser()
            try:
                return await once()
            except (PageFailed, ConnectionLost) as error:
                failure = str(error)
            await self._close_browser()
            if await renders_good_page(self._open_browser):
                raise BrokenArtifact(f"twice: {failure}", slug="unrenderable", concerns=name)
        raise RendererFailed(f"a good page fails too: {failure}", concerns=name)

    async def _open_browser(self) -> Browser:
        """The browser, started if there is none or it has ended.

        Raises:
            MissingTool: There is none on this machine.
            RendererFailed: It does not start, or the proxy before it.
        """
        async with self._starting:
            if self._browser is not None and not self._browser.lost:
                return self._browser
            await self._close_browser()
            path = find_browser(self._browser_path)
            proxy = DEAD_PROXY
            if self._network.mode != "block":
                if self._egress is None:
                    egress = Egress(self._network, resolver=self._resolver, dialler=self._dialler)
                    try:
                        self._egress = await egress.__aenter__()
                    except OSError as error:
                        raise RendererFailed(
                            f"no proxy for the browser: {error}", concerns="browser"
                        ) from error
                proxy = self._egress.url
            # Before the browser: once that is there, the next page takes it, and does not ask what it is.
            fonts = await asyncio.to_thread(fonts_fingerprint)
            self._browser = await launch(path, proxy=proxy)
            self.info = {**self._browser.info(), "fonts": fonts}
            return self._browser


async def renderer_info(browser_path: str | None = None) -> dict[str, Any]:
    """What would render pages here: path, version, sandbox and why, fonts. Starts the browser for a moment.

    Raises:
        MissingTool: There is no browser.
        RendererFailed: It does not start.
    """
    path = find_browser(browser_path)
    browser = await launch(path)
    try:
        fonts = await asyncio.to_thread(fonts_fingerprint)
        return {"path": str(path), **browser.info(), "fonts": fonts}
    finally:
        await browser.aclose()
