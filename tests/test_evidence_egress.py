"""The proxy: public addresses only, the very address that was checked, and nobody but our pages."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable

import pytest

from beholder.evidence.egress import Egress
from beholder.records import NetworkPolicy
from tests.fakes.web import answer, canary, site

ALLOW = NetworkPolicy(mode="allow", given=True)
SOME = NetworkPolicy(mode="hosts", hosts=("cdn.example.com",), given=True)
PUBLIC = "93.184.216.34"

NAMES = {
    "cdn.example.com": [PUBLIC],
    "other.example.com": [PUBLIC],
    "inner.example.com": ["127.0.0.1"],
    "mapped.example.com": ["::ffff:192.168.0.1"],
    "half.example.com": [PUBLIC, "10.0.0.1"],
    "none.example.com": [],
}


async def look_up(host: str, port: int) -> list[str]:
    return NAMES[host]


def to_port(port: int) -> Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """A dialler that takes the public address to a local server, and nothing else anywhere."""

    async def dial(address: str, _: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert address == PUBLIC
        return await asyncio.open_connection("127.0.0.1", port)

    return dial


async def ask(proxy: Egress, request: str, *, password: str | None = None) -> bytes:
    """What the proxy answers to a raw request, until it hangs up."""
    port = int(proxy.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    given = base64.b64encode(f"{proxy.user}:{password or proxy.password}".encode()).decode()
    writer.write(
        request.replace("\n", "\r\n").replace("AUTH", f"Proxy-Authorization: Basic {given}").encode()
    )
    if b"407" in (first := await reader.readline()):
        writer.close()
        return first
    rest = await reader.read()
    writer.close()
    return first + rest


def test_http_is_forwarded() -> None:
    """A plain request reaches the host's checked address with the path alone and without our password."""

    async def scene() -> None:
        async with (
            site({"/x?y=1": answer(b"hello")}) as server,
            Egress(ALLOW, resolver=look_up, dialler=to_port(server.port)) as proxy,
        ):
            said = await ask(
                proxy, "GET http://cdn.example.com/x?y=1 HTTP/1.1\nHost: cdn.example.com\nAUTH\n\n"
            )
            assert said.startswith(b"HTTP/1.1 200 OK")
            assert said.endswith(b"hello")
            assert server.asked == ["cdn.example.com/x?y=1"]

    asyncio.run(scene())


def test_tunnel() -> None:
    """CONNECT gives the bytes of the host's checked address."""

    async def scene() -> None:
        async with (
            site({"/": answer(b"inside")}) as server,
            Egress(ALLOW, resolver=look_up, dialler=to_port(server.port)) as proxy,
        ):
            said = await ask(
                proxy,
                "CONNECT cdn.example.com:443 HTTP/1.1\nAUTH\n\nGET / HTTP/1.1\nHost: cdn.example.com\n\n",
            )
            assert said.startswith(b"HTTP/1.1 200 Connection established")
            assert said.endswith(b"inside")

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("host", "network", "why"),
    [
        ("inner.example.com", ALLOW, "127.0.0.1"),
        ("mapped.example.com", ALLOW, "::ffff:192.168.0.1"),
        ("half.example.com", ALLOW, "10.0.0.1"),
        ("none.example.com", ALLOW, "no address"),
        ("localhost", ALLOW, "not allowed"),
        ("127.0.0.1", ALLOW, "not allowed"),
        ("other.example.com", SOME, "not allowed"),
        ("other.example.com", NetworkPolicy(given=True), "not allowed"),
    ],
)
def test_refused(host: str, network: NetworkPolicy, why: str) -> None:
    """Names that lead inside, addresses that are inside and hosts not listed are refused; it is noted why."""

    async def scene() -> None:
        async with canary() as listener, Egress(network, resolver=look_up) as proxy:
            for request in (
                f"GET http://{host}:{listener.port}/ HTTP/1.1\nHost: {host}\nAUTH\n\n",
                f"CONNECT {host}:{listener.port} HTTP/1.1\nAUTH\n\n",
            ):
                assert (await ask(proxy, request)).startswith(b"HTTP/1.1 403")
            assert why in proxy.refused[host]
            assert listener.connections == 0

    asyncio.run(scene())


def test_strangers_get_nothing() -> None:
    """Without the password of this run nothing is looked up or dialled."""

    async def scene() -> None:
        async def never(host: str, port: int) -> list[str]:
            raise AssertionError(host)

        async with Egress(ALLOW, resolver=never) as proxy:
            for request in (
                "GET http://cdn.example.com/ HTTP/1.1\nHost: x\n\n",
                "GET http://cdn.example.com/ HTTP/1.1\nHost: x\nAUTH\n\n",
                "CONNECT cdn.example.com:443 HTTP/1.1\nAUTH\n\n",
            ):
                assert b"407" in await ask(proxy, request, password="wrong")

    asyncio.run(scene())


def test_nonsense_ends_the_connection() -> None:
    """What is no HTTP ends the connection and not the proxy."""

    async def scene() -> None:
        async with Egress(ALLOW, resolver=look_up) as proxy:
            assert await ask(proxy, "nonsense\n\n") == b""
            assert b"407" in await ask(proxy, "GET http://cdn.example.com/ HTTP/1.1\n\n")

    asyncio.run(scene())
