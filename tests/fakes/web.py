"""A small web server on loopback, and a listener that counts who comes: stand-ins for the internet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field


@dataclass
class Canary:
    """A listener that no page may reach."""

    port: int = 0
    connections: int = 0


@contextlib.asynccontextmanager
async def canary() -> AsyncIterator[Canary]:
    """A loopback port that counts connections."""
    seen = Canary()

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()


@dataclass
class Site:
    """A web server.

    Attributes:
        pages: Path -> whole answer, head included; `None`: no answer at all.
        asked: Request lines with their Host, in order.
    """

    pages: Mapping[str, bytes | None]
    port: int = 0
    asked: list[str] = field(default_factory=list)
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close."""
        self._writers.append(writer)
        try:
            answered = await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            answered = True  # by nobody: it has hung up
        if answered:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, _, rest = head.partition("\r\n")
        host = next((one[5:].strip() for one in rest.split("\r\n") if one.lower().startswith("host:")), "")
        path = line.split(" ")[1]
        self.asked.append(f"{host}{path}")
        answer = self.pages.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        if answer is None:
            return False
        writer.write(answer)
        await writer.drain()
        return True

    def let_go(self) -> None:
        """End the connections that are still open, as those are that were never answered."""
        for writer in self._writers:
            writer.transport.abort()


def answer(body: bytes, media_type: str = "text/plain", status: str = "200 OK", headers: str = "") -> bytes:
    """A whole HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


@contextlib.asynccontextmanager
async def site(pages: Mapping[str, bytes | None]) -> AsyncIterator[Site]:
    """A server of these pages on loopback."""
    seen = Site(pages)
    server = await asyncio.start_server(seen.accept, "127.0.0.1", 0)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        seen.let_go()
        server.close()
