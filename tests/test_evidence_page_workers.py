"""Workers of a page: they share its clock and chance, and the capture waits for what they are at."""

from __future__ import annotations

import asyncio

import pytest

from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser
from beholder.evidence.kinds import Shown
from tests.fakes.evidence import pixels
from tests.fakes.pages import HEAD, browser, codes, show

LIME = (0, 255, 0)


@pytest.fixture(autouse=True)
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


def page(work: str) -> str:
    """A page that turns a box green, and says what it was told, when its worker says something."""
    return (
        f"{HEAD}<div id=o style='width:900px;height:100px;background:red'></div><script>const w=new Worker("
        f'URL.createObjectURL(new Blob(["{work}"])));'
        "w.onmessage=e=>{o.style.background='lime';o.textContent=e.data}</script>"
    )


def test_what_workers_do() -> None:
    """A worker's timer and its work are waited for; what comes later is told; all of it twice the same."""
    pages = {
        "timer": page("setTimeout(()=>postMessage([Math.random(),Date.now()>>18,crypto.randomUUID()]),1500)"),
        "work": page("let s=0;for(let i=0;i<1e8;i++)s+=i;postMessage(s)"),
        "late": page("const t=performance.now();for(;;){}"),
    }

    async def scene() -> list[Shown]:
        async with browser() as running:
            # What is waited for has all the time it needs; what never ends is given up soon.
            within_s = {"late": 6}
            asked = [
                show(running, pages[name], min_wait_s=3, max_wait_s=within_s.get(name, 120))
                for name in (*pages, "timer")
            ]
            return list(await asyncio.gather(*asked))

    timer, work, late, again = asyncio.run(scene())
    for one in (timer, work):
        assert pixels(one.pictures[0]).getpixel((899, 99)) == LIME
    assert timer.pictures[0].sha256 == again.pictures[0].sha256
    assert timer.facts["workers"] == 1
    assert codes(timer) == set()
    assert "page_not_settled" in codes(late)


@pytest.mark.long
def test_a_worker_that_is_ended_while_it_is_busy() -> None:
    """A page that ends its worker in the middle of its work has settled: no answer is waited for."""
    body = (
        f"{HEAD}<div id=o style='width:900px;height:100px;background:red'></div><script>"
        'const w=new Worker(URL.createObjectURL(new Blob(["onmessage=()=>{for(;;){}}"])));'
        "setTimeout(()=>w.postMessage(0),3150);"
        "setTimeout(()=>{w.terminate();o.style.background='lime'},3900)</script>"
    )

    async def scene() -> Shown:
        async with browser() as running:
            shown = await show(running, body, min_wait_s=3, max_wait_s=120)
            assert running.connection._sessions == {}
            return shown

    shown = asyncio.run(scene())
    assert pixels(shown.pictures[0]).getpixel((899, 99)) == LIME
    assert "page_not_settled" not in codes(shown)


@pytest.mark.long
def test_a_worker_that_works_piece_by_piece() -> None:
    """A worker that is always at some piece of work, and changes nothing, leaves a page settled."""
    pieces = "(function f(){let s=0;for(let i=0;i<2e9;i++)s+=i;setTimeout(f)})()"

    async def scene() -> Shown:
        async with browser() as running:
            return await show(running, page(pieces), min_wait_s=3)

    assert codes(asyncio.run(scene())) == set()
