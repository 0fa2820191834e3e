"""One page in the browser: set up before its first request, and watched as long as it lives.

    page_clock, page_scripts      its virtual time; our scripts in it
    page_requests, page_workers   what it may load; what runs beside it
    page                          all of that together, what it says, whether it lives
    page_scroll, page_settle      from its address until it stands still to be captured
    page_facts                    what is told of it

Each knows only those above it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from beholder.errors import RenderError
from beholder.evidence.cdp import JSON, ProtocolFailure, Session
from beholder.evidence.egress import GREETING
from beholder.evidence.gate import MAX_NOTED, Gate
from beholder.evidence.page_clock import Clock
from beholder.evidence.page_requests import PATTERNS, Requests
from beholder.evidence.page_scripts import SEED, filled, in_own_world
from beholder.evidence.page_workers import AUTO_ATTACH, Workers
from beholder.evidence.serve import ServedFolder
from beholder.records import EvidencePolicy

_T = TypeVar("_T")

LOCALE = "en-US"
TIMEZONE = "UTC"
MAX_DIALOGS = 50

_MEDIA_FEATURES = [
    {"name": "prefers-color-scheme", "value": "light"},
    {"name": "prefers-reduced-motion", "value": "reduce"},
]


class PageFailed(RenderError):
    """The page hangs, has killed its renderer or cannot be captured; whose fault it is, is not known yet."""


@dataclass(slots=True)
class Page:
    """A page being loaded.

    Attributes:
        gate: What decides on its requests and remembers them.
        clock: Its time.
        requests: What answers them.
        workers: Its scripts that run beside it.
        errors: Messages of its scripts.
        cut_short: What it was doing when its time was over; empty if it came to an end.
        full_size: Width and height in CSS px, before any cut.
        scrolled: Whether scrolling came to the end, and what was no longer there afterwards.
        expanded: The part that scrolled in the page's place, and whether it could be made as high as it is.
        missing_glyphs: Characters of its text that no font here has; a box stands for each.
        inner: Other parts that show less than they hold.
        backdrops: Backgrounds fixed to the window that were made to reach down the page.
    """

    session: Session
    frame: str
    folder: ServedFolder
    policy: EvidencePolicy
    gate: Gate
    errors: list[str] = field(default_factory=list)
    dialogs: int = 0
    cut_short: str = ""
    full_size: tuple[int, int] = (1, 1)
    scrolled: JSON = field(default_factory=dict)
    expanded: JSON | None = None
    missing_glyphs: str = ""
    inner: list[JSON] = field(default_factory=list)
    backdrops: int = 0
    clock: Clock = field(init=False)
    requests: Requests = field(init=False)
    workers: Workers = field(init=False)
    _report: str = field(default_factory=lambda: "_" + secrets.token_hex(8))
    _dead: asyncio.Event = field(default_factory=asyncio.Event)
    _death: RenderError | None = None

    def __post_init__(self) -> None:
        self.clock = Clock(self.session)
        self.requests = Requests(self.session, self.frame, self.folder, self.gate, self.clock.begin)
        self.workers = Workers(self.session, self.requests.decide, self._not_handled, self._init_script())

    def _init_script(self) -> str:
        return filled("init.js", REPORT=self._report, SEED=SEED)

    async def prepare(self) -> None:
        """Set the blank page up: size, clock, chance, interception."""
        session = self.session
        width, height = self.policy.viewport
        session.on_failure = self._not_handled
        session.on("Fetch.requestPaused", self.requests.paused)
        session.on("Inspector.targetCrashed", lambda _: self._die("the renderer died"))
        session.on("Page.javascriptDialogOpening", self._dialog)
        session.on("Runtime.bindingCalled", self._told)
        session.on("Runtime.exceptionThrown", self._threw)
        session.on("Log.entryAdded", self._logged)
        self.workers.follow(session)
        calls: list[tuple[str, JSON]] = [
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Log.enable", {}),
            ("Fetch.enable", {"patterns": PATTERNS, "handleAuthRequests": self.gate.egress is not None}),
            ("Target.setAutoAttach", AUTO_ATTACH),
            ("Runtime.enable", {}),
            ("Runtime.addBinding", {"name": self._report}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": self._init_script()}),
            (
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
            ),
            ("Emulation.setTimezoneOverride", {"timezoneId": TIMEZONE}),
            ("Emulation.setLocaleOverride", {"locale": LOCALE}),
            ("Emulation.setEmulatedMedia", {"media": "screen", "features": _MEDIA_FEATURES}),
        ]
        if self.gate.egress is not None:
            session.on("Fetch.authRequired", self.requests.authorize)
            self.requests.follow()
            calls.append(("Network.enable", {}))
        await asyncio.gather(*(session.post(method, **params) for method, params in calls))
        if self.gate.egress is not None:
            # The proxy's password is asked for once, here. A picture from elsewhere may not ask for one.
            await session.call("Page.navigate", url=GREETING)
        await self.clock.set()

    async def ask(self, name: str, **values: object) -> Any:
        """What one of our scripts gives, run in a world of its own, with `$NAME` in it replaced by JSON."""
        return await in_own_world(self.session, self.frame, filled(name, **values))

    # --- the page's life ------------------------------------------------------------------------

    async def alive(self, work: Awaitable[_T]) -> _T:
        """`work`'s result, unless the renderer dies first."""
        task = asyncio.ensure_future(work)
        death = asyncio.ensure_future(self._dead.wait())
        try:
            await asyncio.wait((task, death), return_when=asyncio.FIRST_COMPLETED)
            if self._death is not None:
                raise self._death
            return task.result()
        except ProtocolFailure as error:
            raise self._death or PageFailed(str(error)) from error
        finally:
            for one in (task, death):
                one.cancel()
            # Cancelled is not ended: the next step must not find the work still at the page.
            await asyncio.gather(task, death, return_exceptions=True)

    def _die(self, why: str) -> None:
        self._death = self._death or PageFailed(why)
        self._dead.set()

    def _not_handled(self, error: BaseException) -> None:
        """What the browser told or asked could not be dealt with: this page has failed, and no other."""
        if isinstance(error, RenderError):
            self._death = self._death or error
        self._die(f"an event of the page could not be handled: {error!r}")

    # --- what it says ---------------------------------------------------------------------------

    async def _dialog(self, params: JSON) -> None:
        self.dialogs += 1
        if self.dialogs > MAX_DIALOGS:
            self._die(f"opens more than {MAX_DIALOGS} dialogs")
            return
        leaving = params["type"] == "beforeunload"
        await self.session.call("Page.handleJavaScriptDialog", accept=leaving)

    def _told(self, params: JSON) -> None:
        """What our script in the page has to say."""
        if params["name"] != self._report:
            return
        kind, _, text = params["payload"].partition(" ")
        if kind == "socket":
            self.gate.may_go(plain(text))

    def _threw(self, params: JSON) -> None:
        details = params["exceptionDetails"]
        text = details.get("exception", {}).get("description") or details.get("text", "")
        if len(self.errors) < MAX_NOTED:
            self.errors.append(plain(text.split("\n", 1)[0][:300]))

    def _logged(self, params: JSON) -> None:
        """A local file is refused before it becomes a request; only the log tells."""
        text = params["entry"].get("text", "")
        marker = "Not allowed to load local resource: "
        if text.startswith(marker):
            self.gate.block(plain(text.removeprefix(marker)))


def plain(text: str) -> str:
    """The text as one that can be written as UTF-8: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
