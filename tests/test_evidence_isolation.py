"""No page reaches this machine, by whatever way a browser has, whatever the user allows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser
from beholder.evidence.egress import Egress
from beholder.evidence.kinds import Shown
from beholder.records import NetworkPolicy
from tests.fakes.evidence import BLOCKED
from tests.fakes.pages import HEAD, SVG, browser, codes, show
from tests.fakes.web import answer, site
from tests.test_evidence_egress import PUBLIC, to_port

ALLOW = NetworkPolicy(mode="allow", given=True)
SOME = NetworkPolicy(mode="hosts", hosts=("cdn.example.com", ".example.org"), given=True)


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


@dataclass
class Listener:
    """One port on both loopback addresses that counts who comes."""

    port: int = 0
    connections: int = 0


@contextlib.asynccontextmanager
async def listener() -> AsyncIterator[Listener]:
    """The port, on 127.0.0.1 and, where the machine has it, on ::1."""
    seen = Listener()

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        writer.close()

    servers = [await asyncio.start_server(accept, "127.0.0.1", 0)]
    seen.port = servers[0].sockets[0].getsockname()[1]
    with contextlib.suppress(OSError):
        servers.append(await asyncio.start_server(accept, "::1", seen.port))
    try:
        yield seen
    finally:
        for server in servers:
            server.close()


HOSTS = (
    *(
        "127.0.0.1",
        "localhost",
        "[::1]",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "[::]",
    ),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1.", "LOCALHOST", "a.localhost", "127.255.255.254"),
    *("169.254.169.254", "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "[fe80::1]", "[fc00::1]"),
    *(
        "[64:ff9b::7f00:1]",
        "224.0.0.1",
        "255.255.255.255",
        "metadata.google.internal",
        "printer.local",
        "router",
    ),
)
"""Names and spellings of what is never reached."""

WAYS = (Path(__file__).parent / "data" / "every_way.html").read_text(encoding="utf-8")
"""The ways out that a browser has, with `$a`, `$w` and `$h` for origin, socket origin and host."""


def every_way(host: str, port: int) -> str:
    """A page that tries them all."""
    said = WAYS.replace("$a", f"http://{host}:{port}").replace("$w", f"ws://{host}:{port}")
    return HEAD + said.replace("$h", f"{host}:{port}")


async def to_nowhere(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was looked up")


@pytest.mark.parametrize(
    "network",
    [BLOCKED, ALLOW, pytest.param(NetworkPolicy(), marks=pytest.mark.long)],
    ids=["block", "allow", "default"],
)
def test_no_way_leads_to_this_machine(tmp_path: Path, network: NetworkPolicy) -> None:
    """None of the sixty ways tried opens a connection to loopback, on either protocol, nor in drawings."""

    async def scene() -> Shown:
        async with listener() as canary, contextlib.AsyncExitStack() as stack:
            egress = None
            if network.mode != "block":
                egress = await stack.enter_async_context(Egress(network, resolver=to_nowhere))
            options = {"proxy": egress.url} if egress else {}
            running = await stack.enter_async_context(browser(**options))
            own = {"sw.js": f"fetch('http://127.0.0.1:{canary.port}/sw')".encode()}
            shown = await show(
                running,
                every_way("127.0.0.1", canary.port),
                root=tmp_path,
                files=own,
                network=network,
                egress=egress,
            )
            tags = "".join(f"<img src='http://{host}:{canary.port}/'>" for host in HOSTS)
            names = await show(running, HEAD + "<h1>x</h1>" + tags, network=network, egress=egress)
            assert set(codes(names)) == {"blocked_resource"}
            assert names.facts["outside_hosts"] == []
            loopback = every_way("[::1]", canary.port)
            await show(running, loopback, network=network, egress=egress)
            drawing = f"{SVG} width='300' height='200'><image href='http://localhost:{canary.port}/'/></svg>"
            await show(running, drawing, name="a.svg", network=network, egress=egress)
            await asyncio.sleep(0.2)
            assert canary.connections == 0
            return shown

    shown = asyncio.run(scene())
    assert {"blocked_resource", "left_page"} <= codes(shown)
    assert shown.facts["outside_hosts"] == []
    assert shown.blocked_hosts == ()


@pytest.mark.parametrize("network", [ALLOW, SOME], ids=["allow", "hosts"])
def test_allowed_hosts_do_not_lead_inside(network: NetworkPolicy) -> None:
    """Redirects, names with inner or changing addresses, and headers of an allowed host lead nowhere."""
    asked: dict[str, int] = {}

    async def look_up(host: str, port: int) -> list[str]:
        asked[host] = asked.get(host, 0) + 1
        if host == "flips.example.org":  # public at first, inside from the second time on
            return [PUBLIC] if asked[host] == 1 else ["127.0.0.1"]
        inner = {
            "v4.example.org": "127.0.0.1",
            "v6.example.org": "::1",
            "mapped.example.org": "::ffff:127.0.0.1",
        }
        return [inner[host]] if host in inner else [PUBLIC]

    async def scene() -> None:
        async with listener() as canary:
            at = f"http://127.0.0.1:{canary.port}"
            away = {
                f"/{code}": answer(b"", status=f"{code} Found", headers=f"Location: {at}/r{code}\r\n")
                for code in (301, 302, 303, 307, 308)
            }
            told = (
                f"Link: <{at}/l>; rel=preload; as=image, <{at}>; rel=preconnect\r\nRefresh: 0;url={at}/h\r\n"
                f"Content-Security-Policy: img-src 'none'; report-uri {at}/csp; report-to far\r\n"
                f'Report-To: {{"group":"far","max_age":9,"endpoints":[{{"url":"{at}/rep"}}]}}\r\n'
                f'NEL: {{"report_to":"far","max_age":9}}\r\nAlt-Svc: h2="127.0.0.1:{canary.port}"\r\n'
            )
            frame = f"<img src='{at}/frame'><script>location='{at}/f'</script>".encode()
            pages: dict[str, bytes | None] = {
                **away,
                "/chain": answer(b"", status="302 Found", headers="Location: http://cdn.example.com/302\r\n"),
                "/frame": answer(frame, "text/html", headers=told),
                "/js": answer(f"fetch('{at}/js');new WebSocket('ws{at[4:]}/s')".encode(), "text/javascript"),
            }
            async with (
                site(pages) as server,
                Egress(network, resolver=look_up, dialler=to_port(server.port)) as egress,
                browser(egress.url) as running,
            ):
                cdn = "http://cdn.example.com"
                tags = "".join(f"<img src='{cdn}{path}'>" for path in [*away, "/chain"])
                tags += "".join(
                    f"<img src='http://{name}.example.org:{canary.port}/'>" for name in ("v4", "v6", "mapped")
                )
                tags += f"<iframe src='{cdn}/frame'></iframe><iframe src='{cdn}/302'></iframe>"
                tags += f"<script src='{cdn}/js'></script><script>"
                tags += f"fetch('{cdn}/307',{{method:'POST',mode:'no-cors',body:'x'}});for(const n of[1,2,3])"
                tags += "setTimeout(()=>new Image().src='http://flips.example.org/'+n,n*200)</script>"
                shown = await show(running, HEAD + "<h1>x</h1>" + tags, network=network, egress=egress)
                await asyncio.sleep(0.2)
                assert canary.connections == 0
                assert "blocked_resource" in codes(shown)
                assert any(url.startswith(at) for url in shown.facts["blocked"])
                refused = {name for name, why in egress.refused.items() if "leads to" in why}
                assert {"v4.example.org", "v6.example.org", "mapped.example.org"} <= refused
                assert len(server.asked) >= 8

    asyncio.run(scene())
