"""Pages: what is drawn, when, and what a page cannot do. Each test opens a real browser."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from beholder.errors import MissingTool, RendererFailed
from beholder.evidence.browser import find_browser
from beholder.evidence.capture import MAX_AREA_PX
from beholder.evidence.gate import Gate
from beholder.records import Evidence, MediaLimits, NetworkPolicy
from tests.fakes.evidence import BLOCKED, codes, pixels, prepare, prepare_all, submission
from tests.fakes.web import answer, canary, site
from tests.test_evidence_egress import PUBLIC, to_port

ALLOW = NetworkPolicy(mode="allow", given=True)
HEAD = "<!doctype html><meta charset=utf-8><style>body{margin:0;font:20px sans-serif}</style>"
RED, LIME, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


def pages(tmp_path: Path, bodies: dict[str, str], **options: Any) -> dict[str, Evidence]:
    """The evidence of one-page submissions, by name."""
    submissions = [submission(tmp_path / name, {"index.html": body}) for name, body in bodies.items()]
    return dict(zip(bodies, prepare(*submissions, **options), strict=True))


def colours(evidence: Evidence, at: int = 0) -> set[tuple[int, ...]]:
    """The colours of one of its pictures, the first if not said."""
    counted = pixels(evidence.pictures[at]).getcolors(maxcolors=1 << 24)
    assert counted is not None
    return {colour for _, colour in counted}


def box(colour: str, extra: str = "") -> str:
    return f"<div style='width:200px;height:100px;background:{colour}' {extra}></div>"


def drawn_after(seconds: float, how: str = "setTimeout(draw,{ms})") -> str:
    """A canvas that turns red so many seconds after the page's start."""
    draw = "const draw=()=>{const g=c.getContext('2d');g.fillStyle='red';g.fillRect(0,0,200,100)};"
    ms = int(seconds * 1000)
    return f"{HEAD}<h1>chart</h1><canvas id=c></canvas><script>{draw}{how.replace('{ms}', str(ms))}</script>"


def test_a_plain_page(tmp_path: Path) -> None:
    """A page is one picture of the viewport's size, with what was set and waited recorded."""
    shown = pages(tmp_path, {"a": HEAD + "<h1>hello</h1>" + box("red")}, viewport=(800, 600))["a"]
    assert (shown.status, shown.route, shown.warnings) == ("ok", "visual", ())
    (picture,) = shown.pictures
    assert (picture.width_px, picture.height_px, picture.media_type) == (800, 600, "image/png")
    assert RED in colours(shown)
    facts = shown.artifacts[0].facts
    assert facts["viewport"] == [800, 600]
    assert facts["wait"]["page_time_s"] >= 3
    assert facts["wait"]["how"] == "virtual time"
    assert shown.renderer["sandbox"] in {"on", "off"}
    assert "Chrom" in shown.renderer["browser"]


def test_late_drawing(tmp_path: Path) -> None:
    """What is drawn 2.5 s after the start is there after a wait of 3 s; what comes at 4 s is a warning."""
    ramp = "const go=t=>t<{ms}?requestAnimationFrame(go):draw();requestAnimationFrame(go)"
    shown = pages(
        tmp_path,
        {
            "timer": drawn_after(2.5),
            "frames": drawn_after(2.5, ramp),
            "observer": drawn_after(0, "new ResizeObserver(()=>setTimeout(draw,1500)).observe(c)"),
            "late": drawn_after(4),
        },
        min_wait_s=3,
    )
    for name in ("timer", "frames", "observer"):
        assert RED in colours(shown[name]), name
        assert codes(shown[name]) == set(), name
    assert RED not in colours(shown["late"])
    assert codes(shown["late"]) == {"page_not_settled"}


def test_the_same_page_is_the_same_bytes(tmp_path: Path) -> None:
    """Clock, chance, frames and animations are the same each time, also beside other pages."""
    body = (
        HEAD
        + "<style>@keyframes s{to{transform:rotate(360deg)}}#a{animation:s 1s infinite linear}"
        + "#b{transition:margin 9s}</style>"
        + box("red", "id=a")
        + box("blue", "id=b")
        + "<pre id=p></pre><script>let n=0;const f=()=>{n++;if(n<60)requestAnimationFrame(f)};f();"
        + "onload=()=>b.style.marginLeft='300px';setTimeout(()=>{p.textContent=[new Date(),Date.now(),n,"
        + "performance.now(),Math.random(),crypto.randomUUID(),crypto.getRandomValues(new Uint8Array(4)),"
        + "navigator.language,matchMedia('(prefers-reduced-motion: reduce)').matches,"
        + "matchMedia('(prefers-color-scheme: light)').matches].join('\\n')},1500)</script>"
    )
    first = pages(tmp_path / "1", {"a": body, "b": body, "c": body})
    second = pages(tmp_path / "2", {"a": body})
    digests = {shown.pictures[0].sha256 for shown in [*first.values(), *second.values()]}
    assert len(digests) == 1
    assert codes(second["a"]) == set()


def test_waiting_by_polling_the_clock_ends(tmp_path: Path) -> None:
    """A script that waits in a loop for the clock to move on comes to its end."""
    loop = "const t={0};while({0}-t<3000);document.body.innerHTML+='{1}'"
    body = HEAD + "<body><script>" + loop.format("Date.now()", box("red").replace("'", '"')) + "</script>"
    assert RED in colours(pages(tmp_path, {"a": body})["a"])


def test_tall_page_whole_and_in_order(tmp_path: Path) -> None:
    """Forty blocks of 1000 px come out once each, in order, over all parts, past the texture limit."""
    shades = [(6 * n, 255 - 6 * n, 40) for n in range(40)]
    blocks = "".join(f"<div style='height:1000px;background:rgb{shade}'></div>" for shade in shades)
    shown = pages(tmp_path, {"a": HEAD + blocks}, images=64)["a"]
    overview, *parts = shown.pictures
    assert overview.part == 0
    assert sum(part.height_px for part in parts) == 40_000
    assert {part.width_px for part in parts} == {1280}
    column: list[tuple[int, ...]] = []
    for part in parts:
        image = pixels(part)
        column += [image.getpixel((640, y)) for y in range(image.height)]
    assert column == [shade for shade in shades for _ in range(1000)]
    assert not codes(shown) & {"truncated", "blank_capture", "page_not_settled"}


def test_single_picture_of_a_tall_page(tmp_path: Path) -> None:
    """`single` shrinks a page of 20,000 px, slices joined, to one picture and says by how much."""
    body = HEAD + "".join(
        f"<div style='height:10000px;background:{colour}'></div>" for colour in ("red", "blue")
    )
    shown = pages(tmp_path, {"a": body}, layout="single")["a"]
    (picture,) = shown.pictures
    assert picture.height_px == 1568
    assert pixels(picture).getpixel((50, 700)) == RED
    assert pixels(picture).getpixel((50, 900)) == BLUE
    assert "factor 0.078" in picture.transforms[-1]
    assert codes(shown) == {"downscaled"}


def test_pages_beyond_the_stated_height_are_cut(tmp_path: Path) -> None:
    """A page of 60,000 px is captured down to the stated height, and so is one that grows without end."""
    grow = "setInterval(()=>document.body.insertAdjacentHTML('beforeend','<p style=\"height:900px\">'),30)"
    shown = pages(
        tmp_path,
        {
            "tall": HEAD + "<h1>x</h1><div style='height:60000px'></div>",
            "grows": f"{HEAD}<body><h1>x</h1><script>{grow}</script>",
        },
        images=2,
    )
    for evidence in shown.values():
        assert "truncated" in codes(evidence)
        assert evidence.artifacts[0].facts["captured"] == [1280, 50_000]
    assert "page_not_settled" in codes(shown["grows"])


def test_a_wide_page_is_cut(tmp_path: Path) -> None:
    """A page of 14,000 x 14,000 px is captured as far down as can be decoded, and says so."""
    body = f"{HEAD}<h1>x</h1><div style='width:14000px;height:14000px;background:lime'></div>"
    shown = pages(tmp_path, {"a": body}, layout="single")["a"]
    assert shown.status == "ok"
    assert shown.artifacts[0].facts["captured"] == [14_000, MAX_AREA_PX // 14_000]
    assert codes(shown) == {"downscaled", "truncated"}


def test_a_file_beside_the_page_that_we_cannot_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page whose own file cannot be read through a fault of the system is not judged without it."""

    def fail(root: Path, name: str, **_: Any) -> bytes:
        raise RendererFailed("cannot be read: Input/output error", concerns=name)

    monkeypatch.setattr("beholder.evidence.serve.read_below", fail)
    shown = pages(tmp_path, {"a": HEAD + "<img src=b.png>", "good": HEAD + box("red")})
    assert (shown["a"].status, shown["a"].reason) == ("unscored", "render_failed")
    assert "Input/output" in shown["a"].detail
    assert shown["good"].status == "ok"


def test_lazy_content(tmp_path: Path) -> None:
    """What shows only when it comes into view is shown, and the page is back at its top."""
    lazy = (
        HEAD
        + "<header style='position:sticky;top:0;height:50px;background:blue'></header>"
        + "<div style='height:4000px'></div><img loading=lazy width=300 height=100 src=side.png>"
        + "<div id=io style='height:200px;background:black'></div><script>new IntersectionObserver(e=>{"
        + "if(e[0].isIntersecting)setTimeout(()=>io.style.background='lime',100)}).observe(io)</script>"
    )
    red = Image.new("RGB", (30, 10), "red")
    side = tmp_path / "side.png"
    red.save(side)
    one = submission(tmp_path / "a", {"index.html": lazy, "side.png": side.read_bytes()}, show=["index.html"])
    (shown,) = prepare(one, layout="tiles")
    found = [colours(shown, at) for at in range(len(shown.pictures))]
    assert RED in found[-1]
    assert LIME in found[-1]
    assert [BLUE in seen for seen in found] == [True] + [False] * (len(found) - 1)
    assert list(shown.artifacts[0].facts["served"]) == ["side.png"]
    assert codes(shown) == set()


def test_blank_is_judged_with_a_note(tmp_path: Path) -> None:
    """A white page and white text on white are shown with `blank_capture`; a page that says 404 is a page."""
    shown = pages(
        tmp_path,
        {
            "empty": "<!doctype html><html><body></body></html>",
            "white": HEAD + "<h1 style='color:#fff'>unseen</h1>",
            "404": HEAD + "<h1>404 Not Found</h1>",
        },
    )
    assert {name: (one.status, codes(one)) for name, one in shown.items()} == {
        "empty": ("ok", {"blank_capture"}),
        "white": ("ok", {"blank_capture"}),
        "404": ("ok", set()),
    }


def test_script_errors_and_dialogs(tmp_path: Path) -> None:
    """Errors nobody catches are kept with their message; dialogs are dismissed and hold nothing up."""
    shown = pages(
        tmp_path,
        {
            "error": HEAD
            + "<h1>x</h1><script>nothing.here()</script><script>Promise.reject(Error('later'))</script>",
            "dialogs": HEAD + "<h1>x</h1><script>alert(1);if(!confirm(2)&&prompt(3)===null)"
            'document.write("' + box("red").replace("'", "") + "\");onbeforeunload=()=>'stay'</script>",
        },
    )
    (warning,) = shown["error"].warnings
    assert warning.code == "script_error"
    assert "nothing is not defined" in warning.detail
    assert "later" in warning.detail
    assert shown["dialogs"].artifacts[0].facts["dialogs"] == 3
    assert codes(shown["dialogs"]) == set()


def test_leaving_the_page(tmp_path: Path) -> None:
    """A page that goes elsewhere stays as it is, and is flagged; its own second page is gone to."""
    stays = HEAD + box("red")
    outside = {
        "script": stays + "<script>setTimeout(()=>location='https://example.org/',1000)</script>",
        "refresh": stays + "<meta http-equiv=refresh content='0;url=http://example.org/'>",
    }
    own = {
        "reload": stays + "<script>setTimeout(()=>location.reload(),10)</script>",
        "inside": stays + "<script>location='http://127.0.0.1:9/'</script>",
    }
    none = {
        "fragment": stays + "<script>location='#x';location.hash='y'</script>",
        "script": stays + "<script>location='javascript:void 0'</script>",
        "mail": stays + "<script>location='mailto:a@example.org'</script>",
        "back": stays + "<script>setTimeout(()=>{history.back();history.go(-1);history.go(-2)},500)</script>",
    }
    for name, evidence in pages(tmp_path / "undecided", outside, network=NetworkPolicy()).items():
        assert (evidence.status, evidence.reason) == ("unscored", "blocked_resources"), name
        assert "--network example.org" in evidence.detail, name
        assert codes(evidence) == {"left_page", "external_resource_failed"}, name
        assert evidence.artifacts[0].facts["outside_hosts"] == ["example.org"], name
    for name, evidence in pages(tmp_path / "given", outside).items():
        assert (evidence.status, codes(evidence)) == ("ok", {"left_page", "external_resource_failed"}), name
        assert RED in colours(evidence), name
    for name, evidence in pages(tmp_path / "own", own, network=NetworkPolicy()).items():
        assert (evidence.status, codes(evidence)) == ("ok", {"left_page"}), name
        assert RED in colours(evidence), name
    for name, evidence in pages(tmp_path / "none", none, network=NetworkPolicy()).items():
        assert (evidence.status, codes(evidence) - {"left_page"}) == ("ok", set()), name
        assert evidence.artifacts[0].facts["outside_hosts"] == [], name
        assert RED in colours(evidence), name
    two = submission(
        tmp_path / "two",
        {"index.html": HEAD + "<script>location='b.html'</script>", "b.html": HEAD + box("blue")},
        show=["index.html"],
    )
    (shown_two,) = prepare(two)
    assert BLUE in colours(shown_two)
    assert codes(shown_two) == set()


def test_encodings(tmp_path: Path) -> None:
    """Undeclared encodings are guessed as from a file, so the same text is the same picture."""
    text = "<body>中文网页没有声明编码，内容是简体中文文本。</body>"
    files = {
        "utf8": b"<meta charset=utf-8>" + text.encode(),
        "undeclared": text.encode(),
        "gbk": text.encode("gbk"),
        "utf16": text.encode("utf-16"),
    }
    shown = prepare(*(submission(tmp_path / name, {"index.html": data}) for name, data in files.items()))
    lines = [pixels(one.pictures[0]).crop((0, 0, 600, 40)).convert("L").histogram()[0:64] for one in shown]
    ink = [sum(line) for line in lines]
    assert min(ink) > 100
    assert max(ink) < 1.2 * min(ink)


HOSTILE = """<h1>x</h1>
<iframe src='file:///etc/passwd'></iframe><iframe src='../../../../../../etc/passwd'></iframe>
<object data='file:///etc/hostname'></object><img src='file:///usr/share/pixmaps/debian-logo.png'>
<iframe src='http://127.0.0.1:PORT/a'></iframe><iframe src='http://localhost:PORT/b'></iframe>
<img src='http://[::1]:PORT/c'><img src='http://127.1:PORT/d'><img src='http://0.0.0.0:PORT/d'>
<img src='http://[::ffff:127.0.0.1]:PORT/e'><img src='http://169.254.169.254/latest/meta-data/'>
<link rel=preconnect href='http://127.0.0.1:PORT'><link rel=prefetch href='http://127.0.0.1:PORT/f'>
<link rel=dns-prefetch href='http://localhost:PORT'><script src='http://127.0.0.1:PORT/g.js'></script>
<form id=f action='http://127.0.0.1:PORT/h' method=post></form>
<script>
const say = t => document.body.append(t);
fetch('file:///etc/passwd').then(r => r.text()).then(say).catch(() => 0);
fetch('http://127.0.0.1:PORT/i', {mode: 'no-cors'}).catch(() => 0);
navigator.sendBeacon('http://127.0.0.1:PORT/j', 'x');
try { new WebSocket('ws://127.0.0.1:PORT/k') } catch (e) {}
try { new EventSource('http://127.0.0.1:PORT/l') } catch (e) {}
try { const r = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]});
  r.createDataChannel('x'); r.createOffer().then(o => r.setLocalDescription(o)) } catch (e) {}
try { new WebTransport('https://127.0.0.1:PORT/m') } catch (e) {}
const inner = "fetch('http://127.0.0.1:PORT/n').catch(()=>0);try{new WebSocket('ws://127.0.0.1:PORT/o')}catch(e){}";
const url = URL.createObjectURL(new Blob([inner + ";new Worker(URL.createObjectURL(new Blob([" +
  JSON.stringify(inner) + "])))"]));
try { new Worker(url) } catch (e) {}
try { new SharedWorker(url) } catch (e) {}
navigator.serviceWorker && navigator.serviceWorker.register('sw.js').catch(() => 0);
window.open('http://127.0.0.1:PORT/p');
const frame = document.createElement('iframe'); document.body.append(frame);
try { frame.contentWindow.fetch('http://127.0.0.1:PORT/q').catch(() => 0);
  new frame.contentWindow.WebSocket('ws://127.0.0.1:PORT/r') } catch (e) {}
setTimeout(() => f.submit(), 500);
</script>"""


@pytest.mark.parametrize("network", [BLOCKED, ALLOW, NetworkPolicy()], ids=["block", "allow", "default"])
def test_nothing_local_is_reached(tmp_path: Path, network: NetworkPolicy) -> None:
    """No flag lets a page reach loopback, private addresses or local files by any way it has; it is told."""

    async def scene() -> Evidence:
        async with canary() as listener:
            page = HEAD + HOSTILE.replace("PORT", str(listener.port))
            (shown,) = await prepare_all(submission(tmp_path / "a", {"index.html": page}), network=network)
            assert listener.connections == 0
            return shown

    shown = asyncio.run(scene())
    assert shown.status == "ok"
    assert "blocked_resource" in codes(shown)
    blocked = " ".join(shown.artifacts[0].facts["blocked"])
    for part in ("file:///etc/passwd", "/a", "/b", "169.254.169.254", "/k", "/n"):
        assert part in blocked, part
    assert shown.artifacts[0].facts["outside_hosts"] == []


def test_a_page_that_changes_the_built_in_objects(tmp_path: Path) -> None:
    """What is told of sockets does not go through objects that a page has changed, and can be written."""
    body = (
        HEAD
        + box("red")
        + "<script>JSON.stringify=()=>'garbage';String.prototype.slice=()=>({});new WebSocket('ws://localhost/');"
        + "URL=class{get href(){return 'ws://\\ud800'}};new WebSocket('x')</script>"
    )
    shown = pages(tmp_path, {"a": body, "good": HEAD + box("blue")})
    assert [one.status for one in shown.values()] == ["ok", "ok"]
    blocked = shown["a"].artifacts[0].facts["blocked"]
    assert "ws://localhost/" in blocked
    assert len(str(blocked).encode()) > 0


def test_an_event_that_cannot_be_handled_fails_its_page_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect of a handler is that page's failure, told in words; pages beside it and the end go well."""

    def defect(gate: Gate, url: str) -> None:
        raise KeyError(f"no {url[:4]}")

    monkeypatch.setattr(Gate, "leaving", defect)
    monkeypatch.setattr(Gate, "block", defect)
    shown = pages(
        tmp_path,
        {
            "later": HEAD + box("red") + "<script>location='http://127.0.0.1/'</script>",
            "at once": HEAD + box("red") + "<script>new WebSocket('ws://localhost/')</script>",
            "good": HEAD + box("blue"),
        },
    )
    assert shown["good"].status == "ok"
    for name in ("later", "at once"):
        assert (shown[name].status, shown[name].reason) == ("absent", "unrenderable"), name
        assert "KeyError('no " in shown[name].detail, name


def test_local_files_are_not_in_the_picture(tmp_path: Path) -> None:
    """A frame on a local file shows nothing of it: the picture is that of a frame on nothing."""
    frame = HEAD + "<h1>x</h1><iframe src='URL' width=800 height=400></iframe>"
    urls = {"file": "file:///etc/passwd", "none": "about:blank"}
    shown = pages(tmp_path, {name: frame.replace("URL", url) for name, url in urls.items()})
    assert shown["file"].pictures[0].sha256 == shown["none"].pictures[0].sha256


CDN = HEAD + "<h1>map</h1><script src='https://cdn.example.com/map.js'></script><script>map()</script>"


def test_outside_hosts_without_a_word_on_the_network(tmp_path: Path) -> None:
    """A page that asks for an outside host is not judged until the user has said how; the flag is named."""
    shown = pages(tmp_path, {"a": CDN}, network=NetworkPolicy())["a"]
    assert (shown.status, shown.reason) == ("unscored", "blocked_resources")
    assert "cdn.example.com" in shown.detail
    assert "--network cdn.example.com" in shown.detail
    assert shown.artifacts[0].facts["outside_hosts"] == ["cdn.example.com"]


def test_outside_hosts_with_block_given(tmp_path: Path) -> None:
    """With the network blocked by the user's word the page is judged as it looks, with warnings."""
    shown = pages(tmp_path, {"a": CDN})["a"]
    assert (shown.status, codes(shown)) == ("ok", {"external_resource_failed", "script_error"})
    assert len(shown.pictures) == 1
    strict = pages(tmp_path / "strict", {"a": CDN}, degraded="unscored")["a"]
    assert (strict.status, strict.reason) == ("unscored", "blocked_resources")


async def look_up(host: str, port: int) -> list[str]:
    return ["127.0.0.1"] if host.startswith("inner.") else [PUBLIC]


def test_outside_hosts_that_are_allowed(tmp_path: Path) -> None:
    """Allowed hosts are reached through the proxy, and what fails, hangs or leads inside is told."""
    page = (
        HEAD
        + "<h1>map</h1><script src='http://cdn.example.com/map.js'></script>"
        + "<img src='http://cdn.example.com/never.png'><img src='http://cdn.example.com/gone.png'>"
        + "<img src='http://cdn.example.com/to-loopback'><img src='http://cdn.example.com/to-inner'>"
        + "<img src='http://inner.example.org/x.png'><img src='http://other.example.net/x.png'>"
    )
    script = (
        b"document.body.insertAdjacentHTML('beforeend', '" + box("red").replace("'", '"').encode() + b"')"
    )

    async def scene(network: NetworkPolicy) -> tuple[Evidence, list[str]]:
        async with canary() as listener:
            moved = {
                "/to-loopback": f"Location: http://127.0.0.1:{listener.port}/\r\n",
                "/to-inner": f"Location: http://inner.example.org:{listener.port}/\r\n",
            }
            answers: dict[str, bytes | None] = {
                "/map.js": answer(script, "text/javascript"),
                "/never.png": None if network.mode == "allow" else answer(b""),
                "/gone.png": answer(b"", status="404 Not Found"),
                **{path: answer(b"", status="302 Found", headers=to) for path, to in moved.items()},
            }
            async with site(answers) as server:
                engine = {"resolver": look_up, "dialler": to_port(server.port)}
                one = submission(tmp_path / network.mode, {"index.html": page})
                (shown,) = await prepare_all(one, network=network, engine=engine)
                assert listener.connections == 0
                return shown, server.asked

    allowed, asked = asyncio.run(scene(ALLOW))
    assert allowed.status == "ok"
    assert RED in colours(allowed)
    assert {"external_resource_failed", "blocked_resource", "page_not_settled"} <= codes(allowed)
    facts = allowed.artifacts[0].facts
    assert any("/never.png" in url for url in facts["pending"])
    assert any("/gone.png" in url for url in facts["failed"])
    assert facts["blocked"]["http://inner.example.org/x.png"] == "leads to 127.0.0.1"
    assert any(url.startswith("http://127.0.0.1") for url in facts["blocked"])
    assert "other.example.net/x.png" in asked

    some, asked = asyncio.run(scene(NetworkPolicy(mode="hosts", hosts=("cdn.example.com",), given=True)))
    assert RED in colours(some)
    assert not any(line.startswith("other.example.net") for line in asked)
    assert some.artifacts[0].facts["outside_hosts"] == [
        "cdn.example.com",
        "inner.example.org",
        "other.example.net",
    ]


def test_webgl_is_drawn(tmp_path: Path) -> None:
    """WebGL works without a graphics card."""
    draw = "const g=c.getContext('webgl');g.clearColor(1,0,0,1);g.clear(g.COLOR_BUFFER_BIT)"
    assert RED in colours(pages(tmp_path, {"a": f"{HEAD}<canvas id=c></canvas><script>{draw}</script>"})["a"])


def test_unknown_judge_gets_the_whole_page(tmp_path: Path) -> None:
    """Without known limits a page goes as one picture in its natural size."""
    body = HEAD + "<h1>x</h1><div style='height:3000px;background:lime'></div>"
    (picture,) = pages(tmp_path, {"a": body}, limits=MediaLimits())["a"].pictures
    assert picture.width_px == 1280
    assert picture.height_px > 3000
    assert picture.transforms == ()


def film(path: Path) -> bytes:
    """One frame of red, then seconds of blue."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"VP80"), 10.0, (320, 240))
    assert writer.isOpened()
    for at in range(40):
        writer.write(np.full((240, 320, 3), (0, 0, 255) if at == 0 else (255, 0, 0), np.uint8))
    writer.release()
    return path.read_bytes()


def test_a_film_in_a_page_stands_at_its_start(tmp_path: Path) -> None:
    """A film that plays by itself, or is started, shows its first frame, however long the page takes."""
    video = film(tmp_path / "film.webm")
    bodies = {
        "auto": f"{HEAD}<video src=a.webm autoplay muted loop></video>",
        "asked": f"{HEAD}<video id=v src=a.webm muted></video><script>v.play()</script>",
    }
    shown = prepare(
        *(
            submission(tmp_path / name, {"index.html": body, "a.webm": video}, show=["index.html"])
            for name, body in bodies.items()
        ),
        min_wait_s=9.0,
    )
    for evidence in shown:
        red, _, blue = pixels(evidence.pictures[0]).getpixel((160, 120))
        assert red > 200
        assert blue < 60
        assert codes(evidence) == set()
