"""The wire to the browser: whose failure is whose, and an end that raises nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from beholder.evidence.cdp import JSON, Connection, ConnectionLost, ProtocolFailure


class Peer:
    """The other end of the pipe, where a browser would be."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, **message: Any) -> None:
        """Send one message."""
        self.writer.write(json.dumps(message).encode() + b"\0")

    async def hear(self) -> JSON:
        """The next call."""
        heard: JSON = json.loads((await self.reader.readuntil(b"\0"))[:-1])
        return heard


@contextlib.asynccontextmanager
async def wire() -> AsyncIterator[tuple[Connection, Peer]]:
    """A connection and its other end; closing it must not raise."""
    ours, theirs = socket.socketpair()
    connection = Connection(*await asyncio.open_connection(sock=ours))
    peer = Peer(*await asyncio.open_connection(sock=theirs))
    try:
        yield connection, peer
    finally:
        await connection.aclose()
        peer.writer.close()
        with contextlib.suppress(ConnectionError):
            await peer.writer.wait_closed()


def test_calls_and_answers() -> None:
    """An answer comes to its call whatever the order, and a refusal is raised."""

    async def scene() -> None:
        async with wire() as (connection, peer):
            one = asyncio.ensure_future(connection.session("s").call("A.one", x=1))
            two = asyncio.ensure_future(connection.session("t").call("A.two"))
            first, second = await peer.hear(), await peer.hear()
            assert (first["method"], first["params"], first["sessionId"]) == ("A.one", {"x": 1}, "s")
            peer.say(id=second["id"], error={"message": "not today"})
            peer.say(id=first["id"], result={"y": 2})
            assert await one == {"y": 2}
            with pytest.raises(ProtocolFailure, match="not today"):
                await two

    asyncio.run(scene())


@pytest.mark.parametrize("how", ["at once", "later"])
def test_a_failing_handler_fails_its_session_only(how: str) -> None:
    """What a handler fails with is told to its session; the others hear on, and closing raises nothing."""

    def at_once(params: JSON) -> None:
        raise KeyError(params["what"])

    async def later(params: JSON) -> None:
        await asyncio.sleep(0)
        raise KeyError(params["what"])

    async def scene() -> None:
        failures: list[BaseException] = []
        heard, failed = asyncio.Event(), asyncio.Event()

        def note(failure: BaseException) -> None:
            failures.append(failure)
            failed.set()

        async with wire() as (connection, peer):
            bad, good = connection.session("bad"), connection.session("good")
            bad.on("E", at_once if how == "at once" else later)
            bad.on_failure = note
            good.on("E", lambda _: heard.set())
            peer.say(method="E", params={"what": "x"}, sessionId="bad")
            peer.say(method="E", params={}, sessionId="good")
            async with asyncio.timeout(60):
                await heard.wait()
                await failed.wait()
            assert [repr(failure) for failure in failures] == ["KeyError('x')"]
            assert not connection.lost.is_set()

    asyncio.run(scene())


def test_a_handler_may_end_with_its_session() -> None:
    """A handler whose session is gone under it is no failure."""

    async def scene() -> None:
        failures: list[BaseException] = []
        async with wire() as (connection, peer):
            session = connection.session("s")
            session.on_failure = failures.append

            async def answer(_: JSON) -> None:
                await session.call("F.answer")

            session.on("E", answer)
            peer.say(method="E", params={}, sessionId="s")
            await peer.hear()
            connection.forget("s")
            await asyncio.sleep(0.05)
            assert failures == []

    asyncio.run(scene())


def test_what_is_gone_answers_nothing_more() -> None:
    """A call to a target that ends fails with it, though no answer comes, and the session is forgotten."""

    async def scene() -> None:
        async with wire() as (connection, peer):
            seen: list[str] = []
            connection.browser.on("Target.detachedFromTarget", lambda p: seen.append(p["sessionId"]))
            asked = asyncio.ensure_future(connection.session("worker").call("Runtime.evaluate"))
            other = asyncio.ensure_future(connection.session("page").call("Runtime.evaluate"))
            for _ in range(2):
                call = await peer.hear()
            peer.say(method="Target.detachedFromTarget", params={"sessionId": "worker"})
            with pytest.raises(ProtocolFailure, match="gone"):
                await asked
            assert seen == ["worker"]
            peer.say(id=call["id"], result={"x": 1})
            assert await other == {"x": 1}
            # Also where whoever has started it is not listened to any more.
            asked = asyncio.ensure_future(connection.session("worker").call("Runtime.evaluate"))
            await peer.hear()
            detached = {"method": "Target.detachedFromTarget", "params": {"sessionId": "worker"}}
            peer.say(**detached, sessionId="closed")
            with pytest.raises(ProtocolFailure, match="gone"):
                await asked

    async def in_time() -> None:
        async with asyncio.timeout(60):
            await scene()

    asyncio.run(in_time())


def test_noise_on_the_pipe_is_the_end_of_it() -> None:
    """A message that is none ends the connection: waiting and later calls are told, closing is not."""

    async def scene() -> None:
        async with wire() as (connection, peer):
            waiting = asyncio.ensure_future(connection.browser.call("A.one"))
            await peer.hear()
            peer.writer.write(b"\xff not json\0")
            for work in (waiting, connection.browser.call("A.two")):
                with pytest.raises(ConnectionLost, match="no DevTools protocol"):
                    await work

    asyncio.run(scene())
