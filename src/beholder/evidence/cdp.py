"""The DevTools protocol over a pair of pipes: calls, answers, events.

Source: https://chromedevtools.github.io/devtools-protocol/ ("flat" sessions); each message is JSON ended by
a NUL byte. A pipe, unlike a port, can be reached by nobody else, and a browser whose pipe closes ends itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from beholder.errors import BeholderError

JSON = dict[str, Any]
Handler = Callable[[JSON], Coroutine[Any, Any, None] | None]

_READ_BYTES = 1 << 20


_FAULTS = (
    ArithmeticError,
    AttributeError,
    BeholderError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a handler may fail with on an event that is not as it expects; it costs its page, not the browser."""


class ProtocolFailure(Exception):
    """The browser answered a call with an error, such as a session that is gone."""


class ConnectionLost(Exception):
    """The browser's end of the pipe is closed."""


class Connection:
    """The one pipe to a browser; `session` gives the view of one target."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last_id = 0
        self._waiting: dict[int, tuple[str, asyncio.Future[JSON]]] = {}
        self._sessions: dict[str, Session] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._end = "the browser is gone"
        self.lost = asyncio.Event()
        self.browser = Session(self, "")
        self._pump = asyncio.create_task(self._read())

    def session(self, session_id: str) -> Session:
        """The session with this id, made at the first call."""
        found = self._sessions.get(session_id)
        if found is None:
            found = self._sessions[session_id] = Session(self, session_id)
        return found

    def forget(self, session_id: str) -> None:
        """Drop a session: its calls still waiting fail, its later events go nowhere."""
        self._sessions.pop(session_id, None)
        for call_id in [n for n, (owner, _) in self._waiting.items() if owner == session_id]:
            _, future = self._waiting.pop(call_id)
            if not future.done():
                future.set_exception(ProtocolFailure("the session is gone"))
                future.exception()  # nobody may be waiting any more; that is no fault of theirs

    def start(self, work: Coroutine[Any, Any, None], failed: Callable[[BaseException], None]) -> None:
        """Run an event's coroutine beside the reading loop; what it fails with is handed to `failed`."""

        def ended(task: asyncio.Task[None]) -> None:
            self._work.discard(task)
            failure = None if task.cancelled() else task.exception()
            if failure is not None:
                failed(failure)

        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(ended)

    async def call(self, method: str, params: JSON, session_id: str) -> JSON:
        """The result of `method`.

        Raises:
            ProtocolFailure: The browser refused.
            ConnectionLost: There is no browser any more.
        """
        future = self._post(method, params, session_id)
        return await future

    def _post(self, method: str, params: JSON, session_id: str) -> asyncio.Future[JSON]:
        if self.lost.is_set():
            raise ConnectionLost(self._end)
        self._last_id += 1
        message: JSON = {"id": self._last_id, "method": method, "params": params}
        if session_id:
            message["sessionId"] = session_id
        future: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = (session_id, future)
        self._writer.write(json.dumps(message).encode() + b"\0")
        return future

    async def _read(self) -> None:
        pieces: list[bytes] = []
        try:
            while data := await self._reader.read(_READ_BYTES):
                *ended, rest = data.split(b"\0")
                for end in ended:
                    pieces.append(end)
                    self._take(json.loads(b"".join(pieces)))
                    pieces.clear()
                if rest:
                    pieces.append(rest)
        except ConnectionError:
            pass  # a broken pipe says what an ended one says
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            self._end = f"the browser speaks no DevTools protocol: {error!r}"
        finally:
            self.lost.set()
            for _, future in self._waiting.values():
                if not future.done():
                    future.set_exception(ConnectionLost(self._end))
                    future.exception()
            self._waiting.clear()

    def _take(self, message: JSON) -> None:
        if "id" in message:
            _, future = self._waiting.pop(message["id"], ("", None))
            if future is None or future.done():
                return
            if "error" in message:
                future.set_exception(ProtocolFailure(message["error"].get("message", "refused")))
                future.exception()
            else:
                future.set_result(message.get("result", {}))
            return
        session_id = message.get("sessionId", "")
        session = self._sessions.get(session_id) if session_id else self.browser
        params = message.get("params", {})
        if session is not None:
            session.dispatch(message["method"], params)
        if message["method"] == "Target.detachedFromTarget":
            # A target that is gone answers nothing more, nor what it was asked while it was busy.
            self.forget(params["sessionId"])

    async def aclose(self) -> None:
        """Stop reading and end what is still being handled; whatever that failed with is not raised."""
        self._pump.cancel()
        for task in tuple(self._work):
            task.cancel()
        try:
            await asyncio.gather(self._pump, *self._work, return_exceptions=True)
        finally:
            self._writer.close()


class Session:
    """One target (a page, a worker) or, with an empty id, the browser itself.

    Attributes:
        on_failure: Told what a handler failed with, other than the end of the session it spoke to.
    """

    def __init__(self, connection: Connection, session_id: str) -> None:
        self.connection = connection
        self.id = session_id
        self.on_failure: Callable[[BaseException], None] | None = None
        self._handlers: dict[str, Handler] = {}

    def on(self, event: str, handler: Handler) -> None:
        """Call `handler` with each `event`'s parameters; a coroutine runs beside the reading loop."""
        self._handlers[event] = handler

    def dispatch(self, event: str, params: JSON) -> None:
        """Hand one event to its handler."""
        handler = self._handlers.get(event)
        if handler is None:
            return
        try:
            work = handler(params)
        except (ProtocolFailure, ConnectionLost, *_FAULTS) as error:
            self._failed(error)
            return
        if work is not None:
            self.connection.start(work, self._failed)

    def _failed(self, error: BaseException) -> None:
        if self.on_failure is not None and not isinstance(error, ProtocolFailure | ConnectionLost):
            self.on_failure(error)

    async def call(self, method: str, **params: Any) -> JSON:
        """The result of `method`; see `Connection.call`."""
        return await self.connection.call(method, params, self.id)

    def post(self, method: str, **params: Any) -> asyncio.Future[JSON]:
        """Send without waiting; the browser works through one session's calls in order."""
        return self.connection._post(method, params, self.id)
