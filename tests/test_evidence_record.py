"""Records of the outside: what is kept, and pages drawn from it alone."""

from __future__ import annotations

import asyncio
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import ConfigError, MissingTool, RendererFailed
from beholder.evidence import page_requests
from beholder.evidence.browser import find_browser
from beholder.evidence.egress import Egress
from beholder.evidence.kinds import Shown
from beholder.evidence.record import Asked, Outside, Record, kept_headers, open_record
from beholder.records import NetworkPolicy
from tests.fakes.evidence import pixels, png
from tests.fakes.pages import HEAD, browser, codes, show
from tests.fakes.web import answer, canary, site
from tests.test_evidence_egress import PUBLIC, to_port

ALLOW = NetworkPolicy(mode="allow", given=True)
RED, LIME, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)

answers = st.builds(
    Outside,
    st.integers(100, 599),
    st.lists(st.tuples(st.sampled_from(["content-type", "location"]), st.text(max_size=20))).map(tuple),
    st.binary(max_size=50),
)


@given(st.text(), st.text(), st.none() | st.binary(), answers)
def test_what_is_kept_is_found(method: str, url: str, body: bytes | None, told: Outside) -> None:
    """An answer kept for any method, URL and content is found for those, whole, and by a replay too."""
    with tempfile.TemporaryDirectory() as folder:
        record = open_record(Path(folder), replay=False)
        asked = Asked(method, url, body)
        kept = record.keep(asked, told)
        assert kept == told
        again = open_record(Path(folder), replay=True)
        assert again.find(asked) == told
        assert again.find(Asked(method, url + "x", body)) is None
        assert again.find(Asked(method, url, body, "bytes=0-9")) is None
        assert again.find(Asked(method, url, (body or b"") + b"x")) is None


def test_the_first_answer_stays_and_a_failure_gives_way(tmp_path: Path) -> None:
    """A second answer changes nothing; a failure is asked for again, but not on a replay."""
    record = open_record(tmp_path, replay=False)
    asked = Asked("GET", "http://a.example.com/")
    failed = Outside(0, error="TimedOut")
    record.keep(asked, failed)
    assert record.find(asked) is None
    assert open_record(tmp_path, replay=True).find(asked) == failed
    first, second = Outside(200, (), b"1"), Outside(200, (), b"2")
    assert record.keep(asked, first) == first
    assert record.keep(asked, second) == first
    assert record.keep(asked, failed) == first
    assert record.find(asked) == first


def test_many_writers(tmp_path: Path) -> None:
    """Of fifty writers at once every one is told the same answer, and nothing half-written is left."""
    open_record(tmp_path, replay=False)
    asked = Asked("GET", "http://a.example.com/")

    def write(n: int) -> Outside:
        return open_record(tmp_path, replay=False).keep(asked, Outside(200, (), b"x" * n))

    with ThreadPoolExecutor(16) as pool:
        told = set(pool.map(write, range(1, 51)))
    assert told == {open_record(tmp_path, replay=True).find(asked)}
    assert not list(tmp_path.rglob(".new-*"))
    assert [entry["url"] for entry in open_record(tmp_path, replay=True).entries()] == [asked.url]


def test_folders_that_are_no_record(tmp_path: Path) -> None:
    """A folder with other things, a missing one and one of a newer version are refused in plain words."""
    with pytest.raises(ConfigError, match="there is no record to replay"):
        open_record(tmp_path / "none", replay=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not empty and no record"):
        open_record(tmp_path / "full", replay=False)
    open_record(tmp_path / "new", replay=False)
    (tmp_path / "new" / "record.json").write_text('{"format": "beholder-record", "schema": 99}')
    with pytest.raises(ConfigError, match="schema 99"):
        open_record(tmp_path / "new", replay=True)
    (tmp_path / "new" / "record.json").write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        open_record(tmp_path / "new", replay=True)


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    """Content that has been changed, lost or was never an entry is our fault and no answer."""
    record = open_record(tmp_path, replay=False)
    asked = Asked("GET", "http://a.example.com/")
    record.keep(asked, Outside(200, (), b"true"))
    (content,) = (path for path in (tmp_path / "contents").rglob("*") if path.is_file())
    (entry,) = (tmp_path / "answers").rglob("*.json")
    content.write_bytes(b"false")
    with pytest.raises(RendererFailed, match="not the one that was kept"):
        record.find(asked)
    content.unlink()
    with pytest.raises(RendererFailed, match="damaged"):
        record.find(asked)
    said = json.loads(entry.read_text())
    for wrong in ("{", "[]", "{}", json.dumps({**said, "content": "../../etc/passwd"})):
        entry.write_text(wrong)
        with pytest.raises(RendererFailed, match="damaged"):
            record.find(asked)


def test_headers_that_are_kept() -> None:
    """Types, places and rights are kept; cookies and what describes the transfer are not."""
    sent = [
        ("Content-Type", "text/css"),
        ("Set-Cookie", "a=b"),
        ("Content-Encoding", "gzip"),
        ("LOCATION", "/x"),
    ]
    assert kept_headers(sent) == (("content-type", "text/css"), ("location", "/x"))
    assert kept_headers([("location", "x" * 10_000)]) == ()


# --- in the browser -----------------------------------------------------------------------------


@pytest.fixture
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


async def look_up(host: str, port: int) -> list[str]:
    return ["127.0.0.1"] if host.startswith("inner.") else [PUBLIC]


PAGE = (
    HEAD
    + "<h1>x</h1><link rel=stylesheet href='http://cdn.example.com/a.css'>"
    + "<img src='http://cdn.example.com/moved.png'>"
    + "<img src='http://cdn.example.com/gone.png'><img src='http://inner.example.org/x.png'>"
    + "<style>div{width:200px;height:100px}</style><div class=a></div><div id=b></div><script>"
    + "fetch('http://cdn.example.com/post',{method:'POST',body:'one'}).then(r=>r.text())"
    + ".then(c=>b.style.background=c);"
    + "new Worker(URL.createObjectURL(new Blob([\"fetch('http://cdn.example.com/work').then(r=>r.text())"
    + '.then(t=>postMessage(t))"]))).onmessage=e=>document.body.append(e.data)</script>'
)
OPEN = "Access-Control-Allow-Origin: *\r\n"
SITE: dict[str, bytes | None] = {
    "/a.css": answer(b".a{background:lime}", "text/css"),
    "/moved.png": answer(b"", status="302 Found", headers="Location: http://other.example.net/b.png\r\n"),
    "/b.png": answer(png((200, 50), "red"), "image/png"),
    "/post": answer(b"blue", headers=OPEN),
    "/work": answer(b"from a worker", headers=OPEN),
}


async def recorded(folder: Path, page: str = PAGE) -> tuple[Shown, list[str]]:
    """A page drawn with a server outside, its answers kept; and what the server was asked."""
    record = open_record(folder, replay=False)
    async with (
        site(SITE) as server,
        Egress(ALLOW, resolver=look_up, dialler=to_port(server.port)) as egress,
        browser(egress.url) as running,
    ):
        return await show(running, page, network=ALLOW, egress=egress, record=record), server.asked


async def replayed(folder: Path, page: str = PAGE) -> Shown:
    """The same page from the record, in a browser that has no way out."""
    async with browser() as running:
        return await show(running, page, network=NetworkPolicy(), record=open_record(folder, replay=True))


@pytest.mark.usefixtures("_browser")
@pytest.mark.long
def test_a_page_is_drawn_from_its_record_alone(tmp_path: Path) -> None:
    """Style, redirected picture, posted question and worker: the same bytes again, without a server."""
    first, asked = asyncio.run(recorded(tmp_path))
    second = asyncio.run(replayed(tmp_path))
    third = asyncio.run(replayed(tmp_path))
    assert {one.split("/")[1] for one in asked} == {"a.css", "moved.png", "b.png", "gone.png", "post", "work"}
    counted = pixels(first.pictures[0]).getcolors(1 << 24) or []
    assert {RED, LIME, BLUE} <= {colour for _, colour in counted}
    digests = {one.pictures[0].sha256 for one in (first, second, third)}
    assert len(digests) == 1
    assert second.facts["record"] == third.facts["record"]
    assert (second.facts["record"]["mode"], first.facts["record"]["mode"]) == ("replay", "record")
    assert second.facts["record"]["answers"] >= 6
    assert second.blocked_hosts == ()
    assert second.facts["failed"]["http://inner.example.org/x.png"] == "refused: leads to 127.0.0.1"
    assert second.facts["failed"]["http://cdn.example.com/gone.png"] == "answered 404"
    assert "page_not_settled" not in codes(second)


@pytest.mark.usefixtures("_browser")
def test_what_the_record_does_not_hold(tmp_path: Path) -> None:
    """A replay without the answer says so of each, and asks nobody; the page is judged with the warning."""
    open_record(tmp_path, replay=False)

    async def scene() -> Shown:
        async with canary() as listener:
            inside = f"<img src='http://127.0.0.1:{listener.port}/x'><img src='http://cdn.example.com/b.png'>"
            shown = await replayed(tmp_path, HEAD + "<h1>x</h1>" + inside)
            assert listener.connections == 0
            return shown

    shown = asyncio.run(scene())
    assert shown.facts["failed"] == {"http://cdn.example.com/b.png": "not in the record"}
    assert codes(shown) == {"external_resource_failed", "blocked_resource"}
    assert shown.blocked_hosts == ()


@pytest.mark.usefixtures("_browser")
def test_a_recorded_redirect_into_this_machine(tmp_path: Path) -> None:
    """A record that sends a page to a loopback address does not get it there."""

    async def scene() -> Shown:
        async with canary() as listener:
            record = open_record(tmp_path, replay=False)
            there = (("location", f"http://127.0.0.1:{listener.port}/x"),)
            record.keep(Asked("GET", "http://cdn.example.com/x.png"), Outside(302, there))
            shown = await replayed(tmp_path, HEAD + "<h1>x</h1><img src='http://cdn.example.com/x.png'>")
            assert listener.connections == 0
            return shown

    assert "blocked_resource" in codes(asyncio.run(scene()))


@pytest.mark.usefixtures("_browser")
def test_answers_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long to be kept fails for the page too, now and on a replay."""
    monkeypatch.setattr(page_requests, "MAX_CONTENT_BYTES", 10)
    page = HEAD + "<h1>x</h1><link rel=stylesheet href='http://cdn.example.com/a.css'>"
    first, _ = asyncio.run(recorded(tmp_path, page))
    second = asyncio.run(replayed(tmp_path, page))
    for shown in (first, second):
        assert shown.facts["failed"] == {"http://cdn.example.com/a.css": "more than 10 bytes"}
    assert first.pictures[0].sha256 == second.pictures[0].sha256


@pytest.mark.usefixtures("_browser")
def test_a_damaged_record_fails_the_page(tmp_path: Path) -> None:
    """A page whose record is damaged has failed by our fault."""
    record: Record = open_record(tmp_path, replay=False)
    record.keep(Asked("GET", "http://cdn.example.com/x.png"), Outside(200, (), b"1"))
    (content,) = (path for path in (tmp_path / "contents").rglob("*") if path.is_file())
    content.write_bytes(b"2")
    with pytest.raises(RendererFailed, match="damaged"):
        asyncio.run(replayed(tmp_path, HEAD + "<h1>x</h1><img src='http://cdn.example.com/x.png'>"))
