# ruff: noqa: E501 - pages in one line are read as a browser reads them
"""The same page is the same bytes, however many are drawn at a time."""

from __future__ import annotations

import asyncio

import pytest

from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser
from beholder.evidence.kinds import Shown
from tests.fakes.pages import HEAD, SVG, browser, codes, show

MOVES = "<style>@keyframes s{to{transform:rotate(360deg)}}div{width:90px;height:90px;background:red;transition:margin 2s}.e{animation:s 1.7s infinite linear}.f{animation:s 2s 1s linear}</style>"
PAGES = {
    "text.html": HEAD + "".join(f"<h2>{n}</h2><p>{'word ' * 200}</p>" for n in range(30)),
    "moves.html": f"{HEAD}{MOVES}<div class=e></div><div class=f></div><div id=t></div><script>onload=()=>t.style.margin='40px'</script>",
    "frames.html": f"{HEAD}<canvas id=c width=600 height=300></canvas><script>const g=c.getContext('2d');let n=0;(function f(){{g.fillStyle=`hsl(${{n*7}},80%,50%)`;g.fillRect(n*13%600,n%300,20,20);if(n++<120)requestAnimationFrame(f)}})()</script>",
    "chance.html": f"{HEAD}<pre id=p></pre><script>const r=[];for(let i=0;i<40;i++)r.push(Math.random(),crypto.randomUUID(),Date.now(),performance.now());p.textContent=r.join('\\n')</script>",
    "workers.html": f"{HEAD}<pre id=p></pre><script>for(let i=0;i<4;i++)new Worker(URL.createObjectURL(new Blob(['postMessage(Math.random())']))).onmessage=e=>p.append(e.data)</script>",
    "blur.html": f"{HEAD}<h1 style='filter:blur(3px)'>x</h1><p style='height:3000px;background:radial-gradient(lime,navy);transform:rotate(1deg);box-shadow:0 0 50px #000'>",
    "webgl.html": f"{HEAD}<canvas id=c></canvas><script>const g=c.getContext('webgl');g.clearColor(1,.3,0,.7);g.clear(g.COLOR_BUFFER_BIT)</script>",
    "inner.html": f"{HEAD}<main style='height:100vh;overflow:auto'>{'<p>row</p>' * 200}</main>",
    "lazy.html": f"{HEAD}{'<p style=height:400px>x<img loading=lazy src=data:image/gif;base64,R0lGODdhAQABAIAAAAAAAP8AACwAAAAAAQABAAACAkQBADs= width=99 height=50>' * 20}",
    "drawing.svg": f"{SVG} viewBox='0 0 300 200'><circle r='50' cx='90' cy='90'><animate attributeName='r' to='9' dur='3s' repeatCount='indefinite'/></circle></svg>",
}


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


async def drawn(workers: int) -> dict[str, tuple[str, ...]]:
    """Page -> the digests of its pictures, so many pages open at a time."""
    free = asyncio.Semaphore(workers)

    async def one(name: str) -> Shown:
        async with free:
            return await show(running, PAGES[name], name=name, max_wait_s=60)

    async with browser() as running:
        found = await asyncio.gather(*(one(name) for name in PAGES))
    settled = {
        name: shown
        for name, shown in zip(PAGES, found, strict=True)
        if "page_not_settled" not in codes(shown)
    }
    # A page may be told as unsettled on a busy machine, but these have no reason to be.
    assert len(settled) >= len(PAGES) - 1
    return {name: tuple(picture.sha256 for picture in shown.pictures) for name, shown in settled.items()}


@pytest.mark.long
def test_any_number_of_pages_at_a_time() -> None:
    """One, two and eight at a time, three times each: every page has the same pictures, or says it is unsettled."""
    seen: dict[str, set[tuple[str, ...]]] = {}
    for workers in (1, 2, 8) * 3:
        for name, digests in asyncio.run(drawn(workers)).items():
            seen.setdefault(name, set()).add(digests)
    assert {name: len(digests) for name, digests in seen.items()} == dict.fromkeys(PAGES, 1)
