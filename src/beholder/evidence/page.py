"""One page from its first request until it stands still: what it may load, and when it is ready.

Time in the page is virtual (`Emulation.setVirtualTimePolicy`): timers and animations run through without
waiting, in the same order each time, and time stands still while a request is on its way. It starts at
`EPOCH_S` with the page.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from beholder.errors import RenderError
from beholder.evidence.capture import MAX_AREA_PX, MAX_HEIGHT_PX, MAX_WIDTH_PX, Box
from beholder.evidence.cdp import JSON, ProtocolFailure, Session
from beholder.evidence.egress import GREETING
from beholder.evidence.gate import MAX_NOTED, Gate
from beholder.evidence.record import MAX_ANSWERS, MAX_CONTENT_BYTES, Asked, Outside, Record, kept_headers
from beholder.evidence.serve import ORIGIN, ServedFolder
from beholder.records import EvidencePolicy, Warning_

_T = TypeVar("_T")

EPOCH_S = 1_767_225_600
"""The page's clock starts at 2026-01-01T00:00:00Z."""

SEED = 20_260_101
LOCALE = "en-US"
TIMEZONE = "UTC"

MIN_PAGE_TIME_S = 3.0
"""Page time costs next to nothing, so that a page gets this much even where the protocol asks for less."""

LOAD_S = 8.0
"""Wall seconds for the page and its files to arrive; then page time goes on without the missing ones."""

FIRST_S = 0.1
"""Page time that passes before the first frame."""

AFTER_SCROLL_S = 0.3
PROBE_S = 1.0
"""Page time after the capture within which a change tells that the page had not settled."""

_WORKER_STEP_S = 0.1
_WORKER_PROBE_S = 1.0
"""Wall seconds, for pages with workers only."""

MAX_SCROLL_STEPS = 64

_HARDLY_SCROLLS = 1.25
"""A page up to so many viewports high is one whose inner parts scroll in its place, if any do."""

_GONE = 3
"""Places that show something else once the page is back at its top: so many make a list of rows in view."""

MAX_GLYPHS = 2_000
"""Different characters looked at; each costs a few hundredths of a millisecond."""

MAX_OWN_NAVIGATIONS = 4
MAX_DIALOGS = 50
STILL_AT_MS = 3000
"""Where endless animations are held."""


class PageFailed(RenderError):
    """The page hangs, has killed its renderer or cannot be captured; whose fault it is, is not known yet."""


@cache
def script(name: str) -> str:
    """The text of one of our scripts for pages."""
    return files("beholder.evidence").joinpath(name).read_text(encoding="utf-8")


@dataclass(slots=True)
class Page:
    """A page being loaded.

    Attributes:
        gate: What decides on its requests and remembers them.
        errors: Messages of its scripts.
        navigations: How often it went to a page of its own folder, the first time included.
        cut_short: What it was doing when its time was over; empty if it came to an end.
        page_time_s: Page time that passed before the capture.
        full_size: Width and height in CSS px, before any cut.
        scrolled: Whether scrolling came to the end, and what was no longer there afterwards.
        expanded: The part that scrolled in the page's place, and whether it could be made as high as it is.
        workers, workers_seen: Its scripts that run beside it, by their session; and how many there were.
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
    navigations: int = 0
    cut_short: str = ""
    page_time_s: float = 0.0
    full_size: tuple[int, int] = (1, 1)
    scrolled: JSON = field(default_factory=dict)
    expanded: JSON | None = None
    missing_glyphs: str = ""
    workers: dict[str, Session] = field(default_factory=dict)
    workers_seen: int = 0
    inner: list[JSON] = field(default_factory=list)
    backdrops: int = 0
    _expired: asyncio.Event = field(default_factory=asyncio.Event)
    _dead: asyncio.Event = field(default_factory=asyncio.Event)
    _death: RenderError | None = None
    _report: str = ""
    _asked: dict[str, asyncio.Future[JSON]] = field(default_factory=dict)

    # --- before the page ------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Set the blank page up: size, clock, chance, interception."""
        session = self.session
        width, height = self.policy.viewport
        self._report = "_" + secrets.token_hex(8)
        session.on_failure = self._not_handled
        session.on("Fetch.requestPaused", self._paused)
        session.on("Emulation.virtualTimeBudgetExpired", lambda _: self._expired.set())
        session.on("Inspector.targetCrashed", lambda _: self._die("the renderer died"))
        session.on("Page.javascriptDialogOpening", self._dialog)
        session.on("Runtime.bindingCalled", self._told)
        session.on("Runtime.exceptionThrown", self._threw)
        session.on("Log.entryAdded", self._logged)
        session.on("Target.attachedToTarget", self._attached)
        session.on("Target.detachedFromTarget", self._detached)
        patterns = [{"urlPattern": "*"}]
        calls: list[tuple[str, JSON]] = [
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Log.enable", {}),
            ("Fetch.enable", {"patterns": patterns, "handleAuthRequests": self.gate.egress is not None}),
            ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
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
            session.on("Fetch.authRequired", self._auth)
            session.on("Network.requestWillBeSent", self._sent)
            session.on(
                "Network.responseReceived",
                lambda p: self.gate.answered(p["requestId"], p["response"]["status"]),
            )
            session.on("Network.loadingFinished", lambda p: self.gate.ended(p["requestId"]))
            session.on("Network.loadingFailed", lambda p: self.gate.ended(p["requestId"], p["errorText"]))
            calls.append(("Network.enable", {}))
        await asyncio.gather(*(session.post(method, **params) for method, params in calls))
        if self.gate.egress is not None:
            # The proxy's password is asked for once, here. A picture from elsewhere may not ask for one.
            await session.call("Page.navigate", url=GREETING)
        # The clock is virtual, and stands, before the page's first script looks at it.
        await session.call("Emulation.setVirtualTimePolicy", policy="pause", initialVirtualTime=EPOCH_S)

    def _init_script(self) -> str:
        source = script("init.js").replace("$REPORT", json.dumps(self._report))
        return source.replace("$SEED", str(SEED))

    # --- the page's life ------------------------------------------------------------------------

    async def settle(self, *, scroll: bool = True) -> None:
        """Load, let page time pass, scroll to the end and back.

        Ends by `max_wait_s` at the latest; `cut_short` then says what it was doing.

        Raises:
            PageFailed: The renderer died, or the page does not come to its end of a script.
        """
        page_s = max(float(self.policy.min_wait_s), MIN_PAGE_TIME_S)
        doing = "loading"
        try:
            async with asyncio.timeout(float(self.policy.max_wait_s)):
                await self.alive(self._load(page_s))
                doing = "scrolling"
                if scroll:
                    await self.alive(self._scroll_through())
                doing = "looking at its text"
                self.missing_glyphs = str(
                    "".join(await self.alive(self.ask("glyphs.js", MOST=MAX_GLYPHS)) or ())
                )
                doing = "settling"
        except TimeoutError:
            self.cut_short = f"still {doing} after {self.policy.max_wait_s} s"
            self.session.post("Page.stopLoading")
            self.session.post("Emulation.setVirtualTimePolicy", policy="pause")

    async def _load(self, page_s: float) -> None:
        self._expired.clear()
        navigating = self.session.post("Page.navigate", url=self.folder.url)
        try:
            async with asyncio.timeout(LOAD_S):
                answer = await navigating
                if "errorText" in answer:
                    raise PageFailed(f"cannot be opened: {answer['errorText']}")
                await self._expired.wait()
            waiting = True
        except TimeoutError:
            waiting = False  # something never arrives: page time no longer waits for it
        self.page_time_s += FIRST_S
        for share in (0.25, 0.75):
            # Observers are called, and transitions begin, in a real frame; what they start needs page time.
            await self._frame()
            await self._advance(
                page_s * share, policy="pauseIfNetworkFetchesPending" if waiting else "advance"
            )
            self.page_time_s += page_s * share
        if self.workers:
            await self._wait_for_workers(page_s)
        await self._frame()

    async def _wait_for_workers(self, page_s: float) -> None:
        """Let the wall's time pass for workers, whose timers and work follow no virtual clock."""
        now = asyncio.get_running_loop().time
        end = now() + page_s
        while True:
            await asyncio.sleep(_WORKER_STEP_S)
            idle = await self.workers_idle()
            await self._advance(_WORKER_STEP_S)
            if idle and now() >= end:
                return

    async def workers_idle(self, within_s: float = 0.2) -> bool:
        """Whether every worker answers, which it does between two pieces of work."""
        for name, worker in self.workers.items():
            if name not in self._asked:
                self._asked[name] = worker.post("Runtime.evaluate", expression="0")
        waiting = set(self._asked.values())
        if waiting:
            await asyncio.wait(waiting, timeout=within_s)
        self._asked = {name: one for name, one in self._asked.items() if not one.done()}
        return not self._asked

    async def _frame(self) -> None:
        """One frame by the wall clock, drawn while page time stands."""
        await self._in_own_world(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    async def _in_own_world(self, source: str) -> Any:
        """What a script gives where the page's changes to the built-in objects do not reach, as JSON data."""
        world = await self.session.call("Page.createIsolatedWorld", frameId=self.frame, worldName="beholder")
        answer = await self.session.call(
            "Runtime.evaluate",
            expression=source,
            awaitPromise=True,
            returnByValue=True,
            contextId=world["executionContextId"],
        )
        return answer["result"].get("value")

    async def ask(self, name: str, **values: object) -> Any:
        """What one of our scripts gives, run in a world of its own, with `$NAME` in it replaced by JSON."""
        source = script(name)
        for key, value in values.items():
            source = source.replace(f"${key}", json.dumps(value))
        return await self._in_own_world(source)

    async def settle_again(self) -> None:
        """Let what we have changed in the page take effect."""
        await self._frame()
        await self._advance(AFTER_SCROLL_S)
        self.page_time_s += AFTER_SCROLL_S
        await self._frame()

    async def _advance(self, page_s: float, *, policy: str = "pauseIfNetworkFetchesPending") -> None:
        """Let page time pass."""
        self._expired.clear()
        await self.session.call("Emulation.setVirtualTimePolicy", policy=policy, budget=page_s * 1000)
        await self._expired.wait()

    async def _height(self) -> float:
        metrics = await self.session.call("Page.getLayoutMetrics")
        return float(metrics["cssContentSize"]["height"])

    async def _scroll_through(self) -> None:
        """Bring everything into view once; what scrolls inside the page is made as high as it is."""
        height = await self._height()
        stands = height <= self.policy.viewport[1] * _HARDLY_SCROLLS
        if not await self._expand(expand=stands) and height <= self.policy.viewport[1]:
            return
        found = await self.ask("scroll.js", STEPS=MAX_SCROLL_STEPS)
        if isinstance(found, dict):
            self.scrolled = found
        await self._advance(AFTER_SCROLL_S)
        self.page_time_s += AFTER_SCROLL_S
        await self._frame()
        if self.expanded is not None and self.expanded["held"]:
            await self._expand(expand=False)
            await self._frame()
        self.backdrops = int(await self.ask("backdrop.js", MOST=MAX_HEIGHT_PX) or 0)
        if self.backdrops:
            await self._frame()

    async def _expand(self, *, expand: bool) -> bool:
        """Whether a part of the page that scrolls has been made as high as what it holds."""
        found = await self.ask(
            "scroller.js", EXPAND=expand, STEPS=MAX_SCROLL_STEPS, MOST=MAX_HEIGHT_PX, GONE=_GONE
        )
        if not isinstance(found, dict):
            return False
        self.inner = found["inner"]
        if found["expanded"] is not None:
            self.expanded = found["expanded"]
        return found["expanded"] is not None and bool(found["expanded"]["held"])

    async def stand_still(self, extent: tuple[int, int] | None = None) -> Box:
        """Hold animations and scripts; the page's box in CSS pixels, no larger than what can be captured.

        Args:
            extent: Width and height of what is captured; left out: all of the page, at least the viewport.

        Raises:
            PageFailed: It does not answer.
        """
        source = script("still.js").replace("$AT_MS", str(STILL_AT_MS))
        self.session.post("Runtime.evaluate", expression=source)
        # Capturing resizes the window for a moment: no handler of the page may answer to that.
        self.session.post("Emulation.setScriptExecutionDisabled", value=True)
        if extent is None:
            metrics = await self.alive(self.session.call("Page.getLayoutMetrics"))
            size = metrics["cssContentSize"]
            width, height = self.policy.viewport
            self.full_size = (max(int(size["width"]), width), max(int(size["height"]), height))
        else:
            await self.alive(self.session.call("Page.getLayoutMetrics"))  # an answer: it does not hang
            self.full_size = extent
        wide = min(self.full_size[0], MAX_WIDTH_PX)
        return Box(0, 0, wide, min(self.full_size[1], MAX_HEIGHT_PX, MAX_AREA_PX // wide))

    async def go_on(self) -> None:
        """Let `PROBE_S` of page time pass after the capture, as far as it does so at once."""
        if self.workers:
            await asyncio.sleep(_WORKER_PROBE_S)
        await self.session.call("Emulation.setScriptExecutionDisabled", value=False)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                await self.alive(self._advance(PROBE_S))

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

    def _die(self, why: str) -> None:
        self._death = self._death or PageFailed(why)
        self._dead.set()

    def _not_handled(self, error: BaseException) -> None:
        """What the browser told or asked could not be dealt with: this page has failed, and no other."""
        if isinstance(error, RenderError):
            self._death = self._death or error
        self._die(f"an event of the page could not be handled: {error!r}")

    # --- what the browser asks and tells --------------------------------------------------------

    async def _paused(self, params: JSON) -> None:
        await self._decide(self.session, params)

    async def _decide(self, session: Session, params: JSON) -> None:
        """Answer, pass on or refuse one request."""
        request, url = params["requestId"], params["request"]["url"]
        if "responseStatusCode" in params or "responseErrorReason" in params:
            await self._arrived(session, params)
            return
        document = params.get("resourceType") == "Document"
        main = document and params.get("frameId") == self.frame
        if url.startswith(ORIGIN + "/"):
            await self._own(session, request, url, main=main)
            return
        if main and url == GREETING and self.navigations == 0:
            await session.call("Fetch.continueRequest", requestId=request)
            return
        if main:
            # Answered with "no content" the page stays as it is; a refusal would replace it.
            self.gate.leaving(url)
            await session.call("Fetch.fulfillRequest", requestId=request, responseCode=204)
            return
        if url.startswith(("data:", "blob:", "about:")):
            await session.call("Fetch.continueRequest", requestId=request)
            return
        if not self.gate.may_go(url):
            await session.call("Fetch.failRequest", requestId=request, errorReason="BlockedByClient")
        elif self.gate.record is None:
            await session.call("Fetch.continueRequest", requestId=request)
        else:
            await self._by_record(session, params, self.gate.record)

    async def _by_record(self, session: Session, params: JSON, record: Record) -> None:
        """Answer from the record; what it does not hold is asked for outside, or fails on a replay."""
        asked = _asked(params["request"])
        found = await asyncio.to_thread(record.find, asked)
        if found is not None:
            await self._give(session, params["requestId"], asked, found)
        elif record.replaying:
            self.gate.fail(asked.url, "not in the record")
            await session.call(
                "Fetch.failRequest", requestId=params["requestId"], errorReason="InternetDisconnected"
            )
        else:
            await session.call("Fetch.continueRequest", requestId=params["requestId"], interceptResponse=True)

    async def _arrived(self, session: Session, params: JSON) -> None:
        """An answer from outside: kept, then given to the page as it was kept."""
        record = self.gate.record
        if record is None:
            await session.call("Fetch.continueRequest", requestId=params["requestId"])
            return
        asked = _asked(params["request"])
        if len(self.gate.used) >= MAX_ANSWERS:
            answer = Outside(0, error=f"more than {MAX_ANSWERS} answers")
            await self._give(session, params["requestId"], asked, answer)
            return
        headers = kept_headers((one["name"], one["value"]) for one in params.get("responseHeaders", ()))
        refused = self.gate.refused(asked.url)
        if refused is not None:
            answer = Outside(0, error=f"refused: {refused}")
        elif "responseErrorReason" in params:
            answer = Outside(0, error=str(params["responseErrorReason"]))
        else:
            answer = Outside(int(params["responseStatusCode"]), headers)
        if answer.status and not answer.redirects:
            try:
                body = await self._body(session, params["requestId"])
                answer = Outside(answer.status, headers, body)
            except OverflowError as error:
                answer = Outside(0, error=str(error))
        answer = await asyncio.to_thread(record.keep, asked, answer)
        await self._give(session, params["requestId"], asked, answer, arrived=True)

    async def _body(self, session: Session, request: str) -> bytes:
        """The content of an answer, decoded.

        Raises:
            OverflowError: It is too long to be kept.
        """
        try:
            stream = await session.call("Fetch.takeResponseBodyAsStream", requestId=request)
        except ProtocolFailure:
            return b""  # an answer to HEAD, or one without content
        pieces: list[bytes] = []
        size = 0
        while True:
            piece = await session.call("IO.read", handle=stream["stream"], size=_READ_BYTES)
            data = piece.get("data", "")
            pieces.append(base64.b64decode(data) if piece.get("base64Encoded") else data.encode())
            size += len(pieces[-1])
            if size > MAX_CONTENT_BYTES:
                self.session.post("IO.close", handle=stream["stream"])
                raise OverflowError(f"more than {MAX_CONTENT_BYTES} bytes")
            if piece.get("eof"):
                return b"".join(pieces)

    async def _give(
        self, session: Session, request: str, asked: Asked, answer: Outside, *, arrived: bool = False
    ) -> None:
        """Hand an outside answer to the page."""
        self.gate.used[asked.key] = answer.digest()
        if answer.error:
            self.gate.fail(asked.url, answer.error)
            reason = answer.error if answer.error in _ERROR_REASONS else "Failed"
            await session.call("Fetch.failRequest", requestId=request, errorReason=reason)
            return
        if answer.status >= 400:
            self.gate.fail(asked.url, f"answered {answer.status}")
        if answer.redirects and arrived:
            await session.call("Fetch.continueRequest", requestId=request)
            return
        await session.call(
            "Fetch.fulfillRequest",
            requestId=request,
            responseCode=answer.status,
            responseHeaders=[{"name": name, "value": value} for name, value in answer.headers],
            body=base64.b64encode(answer.body).decode(),
        )

    async def _own(self, session: Session, request: str, url: str, *, main: bool) -> None:
        if main:
            self.navigations += 1
            if self.navigations > MAX_OWN_NAVIGATIONS:
                self.gate.leaving(url)
                await session.call("Fetch.fulfillRequest", requestId=request, responseCode=204)
                return
        answer = await asyncio.to_thread(self.folder.answer, url)
        if main and self.navigations == 1:
            # Sent before the answer, this waits in the browser and takes effect as the page is made. Sent
            # earlier it would run on the blank page; awaited here it would wait for this very answer.
            self.session.post(
                "Emulation.setVirtualTimePolicy",
                policy="pauseIfNetworkFetchesPending",
                budget=FIRST_S * 1000,
                maxVirtualTimeTaskStarvationCount=100_000,
            )
        await session.call(
            "Fetch.fulfillRequest",
            requestId=request,
            responseCode=answer.status,
            responseHeaders=[
                {"name": name, "value": value}
                for name, value in (("content-type", answer.media_type), *answer.headers)
            ],
            body=base64.b64encode(answer.body).decode(),
        )

    def _attached(self, params: JSON) -> None:
        """A worker: its requests are decided here too, before it runs."""
        child = self.session.connection.session(params["sessionId"])
        child.on_failure = self._not_handled

        async def paused(request: JSON) -> None:
            await self._decide(child, request)

        if params["targetInfo"]["type"].endswith("worker"):
            self.workers[params["sessionId"]] = child
            self.workers_seen += 1
        child.on("Fetch.requestPaused", paused)
        child.on("Target.attachedToTarget", self._attached)
        child.on("Target.detachedFromTarget", self._detached)
        for method, extra in (
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
            # The same clock, chance and closed ways as in the page, before its first line.
            ("Runtime.evaluate", {"expression": self._init_script()}),
            ("Runtime.runIfWaitingForDebugger", {}),
        ):
            child.post(method, **extra)

    def _detached(self, params: JSON) -> None:
        self.workers.pop(params["sessionId"], None)

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
            self.gate.may_go(_plain(text))

    def _threw(self, params: JSON) -> None:
        details = params["exceptionDetails"]
        text = details.get("exception", {}).get("description") or details.get("text", "")
        if len(self.errors) < MAX_NOTED:
            self.errors.append(_plain(text.split("\n", 1)[0][:300]))

    def _logged(self, params: JSON) -> None:
        """A local file is refused before it becomes a request; only the log tells."""
        text = params["entry"].get("text", "")
        marker = "Not allowed to load local resource: "
        if text.startswith(marker):
            self.gate.block(_plain(text.removeprefix(marker)))

    async def _auth(self, params: JSON) -> None:
        answer: JSON = {"response": "CancelAuth"}
        egress = self.gate.egress
        if egress is not None and params["authChallenge"].get("source") == "Proxy":
            answer = {
                "response": "ProvideCredentials",
                "username": egress.user,
                "password": egress.password,
            }
        await self.session.call(
            "Fetch.continueWithAuth", requestId=params["requestId"], authChallengeResponse=answer
        )

    def _sent(self, params: JSON) -> None:
        url = params["request"]["url"]
        if not url.startswith(ORIGIN) and url.startswith("http"):
            self.gate.sent(params["requestId"], url)

    # --- afterwards -----------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What was recorded, for the manifest. Nothing in it depends on the machine's speed."""
        facts: dict[str, Any] = {
            "viewport": list(self.policy.viewport),
            "device_scale": 1,
            "color_scheme": "light",
            "reduced_motion": True,
            "locale": LOCALE,
            "timezone": TIMEZONE,
            "clock": "2026-01-01T00:00:00Z",
            "random_seed": SEED,
            "animations": {"endless_held_at_ms": STILL_AT_MS, "pictures_and_smil_held_at_ms": 0},
            "page_size": list(self.full_size),
            "wait": {
                "how": "virtual time",
                "page_time_s": round(self.page_time_s, 3),
                "asked_s": float(self.policy.min_wait_s),
                "cut_short": self.cut_short,
            },
            "served": {_plain(name): digest for name, digest in sorted(self.folder.served.items())},
        }
        optional: dict[str, Any] = {
            "missing_files": [_plain(name) for name in sorted(self.folder.missing)[:MAX_NOTED]],
            "script_errors": self.errors,
            "dialogs": self.dialogs,
            "workers": self.workers_seen,
            "missing_glyphs": _plain(self.missing_glyphs),
            "expanded": self.expanded,
            "inner_scrollers": self.inner,
            "fixed_backgrounds": self.backdrops,
        }
        return facts | self.gate.facts() | {key: value for key, value in optional.items() if value}

    def warnings(self) -> Iterator[Warning_]:
        """What a reader of the score should know."""
        name = self.folder.name
        yield from self.gate.warnings(name)
        if self.folder.missing:
            missing = _plain(", ".join(sorted(self.folder.missing)[:5]))
            yield Warning_(code="missing_file", detail=missing, source=name)
        if self.expanded is not None:
            shown, whole = self.expanded["shown_px"], self.expanded["whole_px"]
            shown = min(whole, MAX_HEIGHT_PX) if self.expanded["held"] else shown
            if shown < whole:
                detail = f"{self.expanded['what']} scrolls by itself and shows {shown} of {whole} px"
                yield Warning_(code="truncated", detail=detail, source=name)
        for one in self.inner:
            detail = f"{one['what']} scrolls by itself and shows {one['shown_px']} of {one['whole_px']} px"
            yield Warning_(code="inner_scroll", detail=detail, source=name)
        if not self.scrolled.get("ended", True):
            detail = f"scrolled through {MAX_SCROLL_STEPS} viewports, and the page goes on"
            yield Warning_(code="truncated", detail=detail, source=name)
        if self.scrolled.get("gone", 0) >= _GONE:
            detail = "what comes into view replaces what was there: only the first rows are shown"
            yield Warning_(code="virtual_list", detail=detail, source=name)
        if self.missing_glyphs:
            listed = ", ".join(f"U+{ord(one):04X} {one}" for one in self.missing_glyphs[:5])
            more = f" and {len(self.missing_glyphs) - 5} more" if len(self.missing_glyphs) > 5 else ""
            detail = f"no font here has {listed}{more}; `beholder doctor` lists fonts by script"
            yield Warning_(code="missing_glyphs", detail=_plain(detail), source=name)
        if self.errors:
            yield Warning_(code="script_error", detail="; ".join(self.errors[:3]), source=name)


_MEDIA_FEATURES = [
    {"name": "prefers-color-scheme", "value": "light"},
    {"name": "prefers-reduced-motion", "value": "reduce"},
]


_ERROR_REASONS = frozenset(
    (
        "Failed",
        "Aborted",
        "TimedOut",
        "AccessDenied",
        "ConnectionClosed",
        "ConnectionReset",
        "ConnectionRefused",
        "ConnectionAborted",
        "ConnectionFailed",
        "NameNotResolved",
        "InternetDisconnected",
        "AddressUnreachable",
        "BlockedByClient",
        "BlockedByResponse",
    )
)
"""What the protocol can make a request fail with (`Network.ErrorReason`)."""

_READ_BYTES = 1 << 20


def _asked(request: JSON) -> Asked:
    """A request as the record knows it."""
    body: bytes | None = None
    if request.get("hasPostData"):
        body = b"".join(base64.b64decode(one.get("bytes", "")) for one in request.get("postDataEntries", ()))
    headers = {str(name).lower(): str(value) for name, value in request.get("headers", {}).items()}
    return Asked(str(request["method"]), str(request["url"]), body, headers.get("range", ""))


def _plain(text: str) -> str:
    """The text as one that can be written as UTF-8: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
