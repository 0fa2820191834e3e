"""The one way out of the browser: a proxy of ours that dials public addresses only.

It is asked for every host by name, looks the name up itself, refuses it unless every address is public, and
dials the very address it has checked, so that a second answer of the name server changes nothing. It speaks
plain HTTP/1.1 proxying and CONNECT, listens on loopback, and wants a password that only our pages know.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from beholder.evidence.hosts import address_is_public, host_allowed
from beholder.records import NetworkPolicy

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""(host, port) -> addresses as text."""

Dialler = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""(address, port) -> an open connection."""

GREETING = "http://greeting.invalid/"
"""Answered by the proxy itself, with nothing: a page's first request, so that the password is known."""

_HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024
_DIAL_S = 10.0
_IDLE_S = 60.0

_HOP_HEADERS = frozenset(
    (b"proxy-authorization", b"proxy-connection", b"connection", b"keep-alive", b"te", b"upgrade")
)


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host by the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def dial(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a literal address; no name is looked up here."""
    return await asyncio.open_connection(address, port)


class _Refused(Exception):
    """A request is not passed on; the message says why."""


@dataclass(slots=True)
class Egress:
    """The proxy; an async context manager.

    Attributes:
        network: Which hosts may be reached.
        resolver, dialler: The outside world; replaced in tests, where there is no internet.
        refused: host -> why it was not dialled.
    """

    network: NetworkPolicy
    resolver: Resolver = resolve
    dialler: Dialler = dial
    user: str = "beholder"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    refused: dict[str, str] = field(default_factory=dict)
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Egress:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, limit=_HEAD_BYTES, start_serving=False
        )
        try:
            await self._server.start_serving()
        except asyncio.CancelledError:
            self._server.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """What the browser is told."""
        if self._server is None:
            raise ValueError("the proxy has not been started")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ValueError):
            pass  # the browser or the host hung up, or spoke nonsense: the connection ends, nothing else
        finally:
            if task is not None:
                self._tasks.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether the connection may be used for another."""
        async with asyncio.timeout(_IDLE_S):
            head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head[:-4].split(b"\r\n")
        method, target, _ = line.decode("latin-1").split(" ", 2)
        headers = [tuple(one.split(b":", 1)) for one in fields if b":" in one]
        values = {name.strip().lower(): value.strip() for name, value in headers}
        if not self._known(values.get(b"proxy-authorization", b"")):
            challenge = 'Proxy-Authenticate: Basic realm="beholder"\r\n'
            # A body that was sent along is skipped by the browser's next try on this connection only if there
            # was none; so the connection ends where there may be one.
            keep = method in {"CONNECT", "GET", "HEAD"}
            await _answer(writer, 407, challenge, keep=keep)
            return keep
        if target == GREETING:
            await _answer(writer, 204, "", keep=True)
            return True
        try:
            if method == "CONNECT":
                host, _, port = target.rpartition(":")
                await self._tunnel(host.strip("[]").lower(), int(port), reader, writer)
            else:
                await self._forward(method, target, headers, values, reader, writer)
        except _Refused as error:
            await _answer(writer, 403, f"X-Refused: {error}\r\n", keep=False)
        except (OSError, TimeoutError):
            await _answer(writer, 502, "", keep=False)
        return False

    def _known(self, given: bytes) -> bool:
        wanted = b"Basic " + base64.b64encode(f"{self.user}:{self.password}".encode())
        return hmac.compare_digest(given, wanted)

    async def _dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a checked address of the host."""
        host = host.rstrip(".")
        if not host_allowed(host, self.network):
            raise self._refuse(host, "not allowed by the network policy")
        async with asyncio.timeout(_DIAL_S):
            addresses = await self.resolver(host, port)
            inside = [address for address in addresses if not address_is_public(address)]
            if inside or not addresses:
                raise self._refuse(host, f"leads to {inside[0]}" if inside else "has no address")
            failure: OSError | None = None
            for address in addresses:
                try:
                    return await self.dialler(address, port)
                except OSError as error:
                    failure = error
            raise failure or OSError("no address answered")

    def _refuse(self, host: str, why: str) -> _Refused:
        self.refused[host] = why
        return _Refused(why)

    async def _tunnel(
        self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        far_reader, far_writer = await self._dial(host, port)
        with contextlib.closing(far_writer):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _both_ways(reader, writer, far_reader, far_writer)

    async def _forward(
        self,
        method: str,
        target: str,
        headers: list[tuple[bytes, ...]],
        values: dict[bytes, bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        url = urlsplit(target)
        if url.scheme != "http" or not url.hostname:
            raise _Refused("not an http address")
        far_reader, far_writer = await self._dial(url.hostname.lower(), url.port or 80)
        with contextlib.closing(far_writer):
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            kept = [
                name + b":" + value for name, value in headers if name.strip().lower() not in _HOP_HEADERS
            ]
            head = [f"{method} {path} HTTP/1.1".encode("latin-1"), *kept, b"Connection: close"]
            far_writer.write(b"\r\n".join(head) + b"\r\n\r\n")
            if b"content-length" in values:
                far_writer.write(await reader.readexactly(int(values[b"content-length"])))
            await _copy(far_reader, writer)


async def _answer(writer: asyncio.StreamWriter, status: int, headers: str, *, keep: bool) -> None:
    connection = "keep-alive" if keep else "close"
    head = f"HTTP/1.1 {status} Proxy\r\n{headers}Content-Length: 0\r\nConnection: {connection}\r\n\r\n"
    writer.write(head.encode("latin-1"))
    await writer.drain()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK_BYTES):
        sink.write(data)
        await sink.drain()


async def _both_ways(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    """Copy until one side ends."""
    ways = [asyncio.create_task(_copy(reader, far_writer)), asyncio.create_task(_copy(far_reader, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
