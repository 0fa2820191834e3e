"""A page's requests, each answered, passed on or refused: from its folder, from a record or from outside."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass

from beholder.evidence.cdp import JSON, ProtocolFailure, Session
from beholder.evidence.egress import GREETING
from beholder.evidence.gate import Gate
from beholder.evidence.record import MAX_ANSWERS, MAX_CONTENT_BYTES, Asked, Outside, Record, kept_headers
from beholder.evidence.serve import ORIGIN, ServedFolder

PATTERNS = [{"urlPattern": "*"}]
"""What `Fetch.enable` is told: every request is decided here."""

MAX_OWN_NAVIGATIONS = 4

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


@dataclass(slots=True)
class Requests:
    """What one page and its workers ask for.

    Attributes:
        session: The page's own.
        frame: Its main frame.
        gate: What decides on requests that leave the folder, and remembers them.
        begin: Called just before the page's own first answer is given.
        navigations: How often it went to a page of its own folder, the first time included.
    """

    session: Session
    frame: str
    folder: ServedFolder
    gate: Gate
    begin: Callable[[], None]
    navigations: int = 0

    async def paused(self, params: JSON) -> None:
        """A request of the page (`Fetch.requestPaused`)."""
        await self.decide(self.session, params)

    async def decide(self, session: Session, params: JSON) -> None:
        """Answer, pass on or refuse one request of the page or, by its session, of a worker."""
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

    # --- the page's own folder ------------------------------------------------------------------

    async def _own(self, session: Session, request: str, url: str, *, main: bool) -> None:
        if main:
            self.navigations += 1
            if self.navigations > MAX_OWN_NAVIGATIONS:
                self.gate.leaving(url)
                await session.call("Fetch.fulfillRequest", requestId=request, responseCode=204)
                return
        answer = await asyncio.to_thread(self.folder.answer, url)
        if main and self.navigations == 1:
            self.begin()
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

    # --- the outside ----------------------------------------------------------------------------

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
                body = await _body(session, params["requestId"])
                answer = Outside(answer.status, headers, body)
            except OverflowError as error:
                answer = Outside(0, error=str(error))
        answer = await asyncio.to_thread(record.keep, asked, answer)
        await self._give(session, params["requestId"], asked, answer, arrived=True)

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

    # --- what goes out by the proxy -------------------------------------------------------------

    async def authorize(self, params: JSON) -> None:
        """Give the proxy its password, and nobody else any (`Fetch.authRequired`)."""
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

    def follow(self) -> None:
        """Let the gate know what goes out and what becomes of it."""
        session, gate = self.session, self.gate
        session.on("Network.requestWillBeSent", self._sent)
        session.on(
            "Network.responseReceived", lambda p: gate.answered(p["requestId"], p["response"]["status"])
        )
        session.on("Network.loadingFinished", lambda p: gate.ended(p["requestId"]))
        session.on("Network.loadingFailed", lambda p: gate.ended(p["requestId"], p["errorText"]))

    def _sent(self, params: JSON) -> None:
        url = params["request"]["url"]
        if not url.startswith(ORIGIN) and url.startswith("http"):
            self.gate.sent(params["requestId"], url)


async def _body(session: Session, request: str) -> bytes:
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
            session.post("IO.close", handle=stream["stream"])
            raise OverflowError(f"more than {MAX_CONTENT_BYTES} bytes")
        if piece.get("eof"):
            return b"".join(pieces)


def _asked(request: JSON) -> Asked:
    """A request as the record knows it."""
    body: bytes | None = None
    if request.get("hasPostData"):
        body = b"".join(base64.b64decode(one.get("bytes", "")) for one in request.get("postDataEntries", ()))
    headers = {str(name).lower(): str(value) for name, value in request.get("headers", {}).items()}
    return Asked(str(request["method"]), str(request["url"]), body, headers.get("range", ""))
