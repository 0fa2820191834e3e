# ruff: noqa: E501 - pages in one line are read as a browser reads them
"""Pages that scroll in a part of theirs, lists that keep only what is in view, characters without a glyph."""

from __future__ import annotations

import asyncio

import pytest

from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser
from beholder.evidence.capture import MAX_HEIGHT_PX
from beholder.evidence.kinds import Shown
from tests.fakes.evidence import pixels
from tests.fakes.pages import HEAD, codes, show_all

RED, LIME, BLUE, NAVY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 128)
BLOCKS = "".join(f"<div style='height:500px;background:rgb({n},{n},9)'>{n}</div>" for n in range(20, 30))


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


def drawn(pages: dict[str, str], **options: object) -> dict[str, Shown]:
    """What is shown of each page, cut into tiles."""
    found = asyncio.run(
        show_all({f"{name}.html": body for name, body in pages.items()}, layout="tiles", **options)
    )
    for one in found.values():
        assert isinstance(one, Shown), one
    return {name.removesuffix(".html"): one for name, one in found.items() if isinstance(one, Shown)}


def column(shown: Shown, x: int = 1000) -> list[tuple[int, ...]]:
    """The different colours down a column of the whole page, in order."""
    found: list[tuple[int, ...]] = []
    for picture in shown.pictures:
        image = pixels(picture)
        for y in range(image.height):
            colour = image.getpixel((x, y))
            assert isinstance(colour, tuple)
            if not found or found[-1] != colour:
                found.append(colour)
    return found


SHADES = [(n, n, 9) for n in range(20, 30)]
BARS = "header,footer{flex:none;height:60px;background:navy}html,body{height:100%;overflow:hidden}"


def test_a_part_that_scrolls_is_shown_whole() -> None:
    """Whatever holds the scrolling part, all of it is there once, in order, with the bars around it once."""
    found = drawn(
        {
            "flex": f"{HEAD}<style>{BARS}#app{{display:flex;flex-direction:column;height:100vh}}"
            "main{flex:1;overflow:auto}</style>"
            f"<div id=app><header></header><main>{BLOCKS}</main><footer></footer></div>",
            "fixed": f"{HEAD}<style>{BARS}#app{{position:fixed;inset:0;display:grid;grid-template-rows:60px 1fr 60px}}"
            "main{overflow-y:scroll;min-height:0}</style>"
            f"<div id=app><header></header><main>{BLOCKS}</main><footer></footer></div>",
            "calc": f"{HEAD}<style>{BARS}main{{height:calc(100vh - 120px);overflow:auto}}</style>"
            f"<header></header><main>{BLOCKS}</main><footer></footer>",
        }
    )
    body = f"{HEAD}<style>html,body{{height:100%;overflow-x:hidden}}</style>{BLOCKS}"
    assert column(drawn({"body": body})["body"]) == SHADES
    for name, shown in found.items():
        assert column(shown) == [NAVY, *SHADES, NAVY], name
        assert sum(picture.height_px for picture in shown.pictures) == 5120, name
        assert shown.facts["expanded"] == {"what": "main", "shown_px": 680, "whole_px": 5000, "held": True}, (
            name
        )
        assert codes(shown) == set(), name


def test_what_is_inside_keeps_its_place() -> None:
    """In a part that scrolls, sticky heads come once at the top, and sections as high as the window stay so."""
    sections = "".join(f"<section style='background:{one}'></section>" for one in ("red", "lime", "blue"))
    found = drawn(
        {
            "snap": f"{HEAD}<style>.s{{height:100vh;overflow-y:auto;scroll-snap-type:y mandatory}}"
            f"section{{height:100vh;scroll-snap-align:start}}</style><div class=s>{sections}</div>",
            "sticky": f"{HEAD}<style>main{{height:100vh;overflow:auto}}h1{{position:sticky;top:0;margin:0;height:50px;"
            f"background:navy}}</style><main><h1></h1>{BLOCKS}</main>",
            "frame": f"{HEAD}<style>iframe{{width:100vw;height:100vh;border:0;display:block}}</style>"
            f"<iframe srcdoc=\"<body style='margin:0'>{BLOCKS}\"></iframe>",
        }
    )
    assert column(found["snap"]) == [RED, LIME, BLUE]
    assert found["snap"].facts["captured"] == [1280, 2400]
    assert column(found["sticky"]) == [NAVY, *SHADES]
    assert column(found["frame"]) == SHADES


def test_lazy_and_endless_parts() -> None:
    """A part that scrolls reveals its content, draws a list's rows in full, and is cut at the stated height."""
    rows = (
        "<div id=l style='height:100vh;overflow:auto;position:relative'><i style='display:block;height:9000px'></i></div>"
        "<script>const draw=()=>{l.querySelectorAll('b').forEach(e=>e.remove());for(let i=l.scrollTop/300|0;"
        "i<30&&i*300<l.scrollTop+l.clientHeight;i++){const b=document.createElement('b');b.style=`position:absolute;"
        "left:0;right:0;height:300px;top:${i*300}px;background:rgb(${i},9,9)`;l.append(b)}};draw();"
        "l.onscroll=draw;new ResizeObserver(draw).observe(l)</script>"
    )
    lazy = (
        "<main style='height:100vh;overflow:auto'><div style='height:3000px'></div><div id=io style='height:100px;"
        "background:red'></div></main><script>new IntersectionObserver(e=>{if(e[0].isIntersecting){"
        "io.style.background='lime';io.style.height='900px'}},{root:document.querySelector('main')}).observe(io)"
        "</script>"
    )
    endless = (
        "<main id=m style='height:100vh;overflow:auto'></main><script>const add=()=>m.insertAdjacentHTML('beforeend',"
        "'<p style=\"height:700px;background:lime\">x</p>');add();add();m.onscroll=add</script>"
    )
    found = drawn({"rows": HEAD + rows, "lazy": HEAD + lazy, "endless": HEAD + endless}, budget=12)
    assert column(found["rows"]) == [(n, 9, 9) for n in range(30)]
    assert column(found["lazy"])[-1] == LIME
    assert found["lazy"].facts["captured"][1] == 3900
    assert found["endless"].facts["captured"][1] <= MAX_HEIGHT_PX
    assert codes(found["rows"]) == codes(found["lazy"]) == set()


def test_parts_that_are_not_made_higher_are_told() -> None:
    """A long list in a small box, beside a page that scrolls itself, stays as it is and is told; hidden ones are not."""
    inner = "<pre style='height:300px;overflow:auto'>" + "a\n" * 100 + "</pre>"
    hidden = "<div style='display:none'>" + inner + "</div><div style='visibility:hidden'>" + inner + "</div>"
    found = drawn(
        {
            "list": f"{HEAD}{inner}<p style='height:3000px'>",
            "hidden": f"{HEAD}<h1>a page</h1><p style='height:2000px;background:red'>x</p>{hidden}",
        }
    )
    (warning,) = found["list"].warnings
    assert warning.code == "inner_scroll"
    assert "pre scrolls by itself and shows 300 of " in warning.detail
    assert codes(found["hidden"]) == set()
    assert "expanded" not in found["list"].facts


def test_a_window_that_keeps_only_what_is_in_view_is_told() -> None:
    """A list of a thousand rows that draws those in view is told as such; a long page with a sticky head is not."""
    rows = (
        "<div id=l style='height:30000px;position:relative'></div><script>const draw=()=>{l.innerHTML='';"
        "for(let i=scrollY/300|0;i*300<scrollY+innerHeight;i++)l.insertAdjacentHTML('beforeend',"
        "`<div style='position:absolute;left:0;right:0;height:300px;top:${i*300}px'>row ${i}</div>`)};draw();"
        "addEventListener('scroll',draw)</script>"
    )
    still = f"<h1 style='position:sticky;top:0'>head</h1>{BLOCKS}<p style='position:fixed;bottom:0'>foot</p>"
    found = drawn({"rows": HEAD + rows, "still": HEAD + still}, budget=3)
    assert "virtual_list" in codes(found["rows"])
    assert "virtual_list" not in codes(found["still"])


def test_a_part_that_keeps_only_what_is_in_view_is_not_made_higher() -> None:
    """A part that draws so many rows and no more stays as it is and is told, instead of a long blank below them."""
    rows = (
        "<main id=m style='height:100vh;overflow:auto;background:lime'><div id=l style='height:30000px;position:relative'>"
        "</div></main><script>const draw=()=>{l.innerHTML='';const first=m.scrollTop/100|0;"
        "for(let i=first;i<first+9;i++)l.insertAdjacentHTML('beforeend',"
        "`<div style='position:absolute;left:0;right:0;height:100px;top:${i*100}px;background:red'>row ${i}</div>`)};"
        "draw();m.addEventListener('scroll',draw)</script>"
    )
    shown = drawn({"rows": HEAD + rows})["rows"]
    assert column(shown) == [RED]
    assert sum(picture.height_px for picture in shown.pictures) == 800
    assert [one.detail for one in shown.warnings if one.code == "truncated"] == [
        "main#m scrolls by itself and shows 800 of 30000 px"
    ]


def test_what_is_fixed_behind_the_page_is_behind_all_of_it() -> None:
    """Backgrounds fixed to the window and empty layers of its size reach down the page; a bar and a dialogue do not."""
    tall = "<p style='height:2400px;margin:0'>x</p>"
    layer = "content:'';position:fixed;inset:0;background:blue;z-index:-1"
    found = drawn(
        {
            "body": f"{HEAD}<style>body{{background:linear-gradient(blue,blue) fixed}}</style>{tall}",
            "hero": f"{HEAD}{tall}<div style='height:300px;background:linear-gradient(blue,blue) fixed'>x</div>",
            "layer": f'{HEAD}<div style="{layer}"></div>{tall}',
            "pseudo": f"{HEAD}<style>body::before{{{layer}}}</style>{tall}",
            "bar": f"{HEAD}<div style='position:fixed;inset:auto 0 0;height:50px;background:blue'></div>{tall}",
            "dialogue": f"{HEAD}<div style='position:fixed;inset:0;background:blue'>sure?</div>{tall}",
        }
    )
    white = (255, 255, 255)
    assert column(found["body"]) == column(found["layer"]) == column(found["pseudo"]) == [BLUE]
    assert column(found["hero"]) == [white, BLUE]
    assert column(found["bar"]) == [white, BLUE, white]
    assert column(found["dialogue"]) == [BLUE, white]
    assert found["body"].facts["fixed_backgrounds"] == 1
    assert "fixed_backgrounds" not in found["bar"].facts


def test_what_is_drawn_only_near_the_window_is_drawn_everywhere() -> None:
    """Sections with `content-visibility: auto` are there down to the page's end, as high as they are."""
    lazy = "content-visibility:auto;contain-intrinsic-size:auto 700px"
    body = BLOCKS.replace("<div style='", f"<div style='{lazy};")
    shown = drawn({"lazy": f"{HEAD}{body}<p style='content-visibility:hidden;margin:0;height:50px'>x</p>"})[
        "lazy"
    ]
    assert column(shown) == [*SHADES, (255, 255, 255)]
    assert sum(picture.height_px for picture in shown.pictures) == 5050


def test_characters_without_a_glyph() -> None:
    """Characters that no font has are named; those that have one, that are hidden or that have no look are not."""
    found = drawn(
        {
            "none": f"{HEAD}<h1>x \ue123 \U000f1234 y</h1>",
            "fine": f"{HEAD}<h1>\u00e9 \u03b1 \u0416 \u2192 \u200d\u00a0\u3000\ufe0f \u0301</h1>"
            "<p style='display:none'>\ue123</p><script>'\ue123'</script>",
        }
    )
    (warning,) = found["none"].warnings
    assert warning.code == "missing_glyphs"
    assert "U+E123" in warning.detail
    assert "U+F1234" in warning.detail
    assert codes(found["fine"]) == set()


def test_a_page_that_grows_at_its_end_is_followed() -> None:
    """What is added whenever the end comes into view is shown until nothing more is, or as far as is stated."""
    add = (
        "let n=0;function add(){if(n<MOST){const e=document.createElement('div');e.style.cssText="
        "`height:900px;background:rgb(${20+n},${20+n},9)`;n++;document.body.insertBefore(e,s)}}"
        "new IntersectionObserver(e=>{if(e[0].isIntersecting)setTimeout(add,500)}).observe(s)"
    )
    page = f"{HEAD}<div id=s style='height:20px'></div><script>{add};add()</script>"
    found = drawn({"ends": page.replace("MOST", "10"), "endless": page.replace("MOST", "1e9")}, budget=12)
    assert column(found["ends"])[:10] == SHADES
    assert codes(found["ends"]) == set()
    assert found["endless"].facts["captured"][1] == MAX_HEIGHT_PX
    assert "truncated" in codes(found["endless"])


def test_parts_as_high_as_a_share_of_the_window_keep_their_height() -> None:
    """Sections of 100 % in a part that scrolls are each shown once, as high as the window."""
    style = "html,body,main{height:100%;margin:0}body{overflow:hidden}main{overflow-y:auto}"
    colours = ("red", "lime", "blue")
    heights = {"height": "height:100%", "least": "min-height:100%"}
    found = drawn(
        {
            name: f"{HEAD}<style>{style}section{{{rule}}}</style><main>"
            + "".join(f"<section style='background:{one}'></section>" for one in colours)
            + "</main>"
            for name, rule in heights.items()
        }
    )
    for name, shown in found.items():
        assert column(shown) == [RED, LIME, BLUE], name
        assert shown.facts["captured"] == [1280, 2400], name
        assert codes(shown) == set(), name


def test_what_comes_into_view_is_seen_though_the_page_would_hide_it_again() -> None:
    """Parts that are revealed in view are all seen, each way to reveal them; what is never seen stays so."""
    style = (
        "<style>div{height:700px;opacity:0;transition:opacity .8s}.in{opacity:1}"
        "header{position:fixed;top:0;width:100%;height:20px;background:navy}</style>"
    )
    parts = "".join(f"<div style='background:rgb({n},{n},9)'></div>" for n in range(20, 26))
    toggle = "all.forEach(e=>e.classList.toggle('in',e.getBoundingClientRect().top<innerHeight-90))"
    ways = {
        "observed": "new IntersectionObserver(es=>es.forEach(e=>e.target.classList.toggle('in',e.isIntersecting)),"
        "{threshold:.3})",
        "once": "new IntersectionObserver(es=>es.forEach(e=>e.isIntersecting&&e.target.classList.add('in')))",
        "scrolled": f"(onscroll=()=>{toggle},onscroll(),{{observe(){{}}}})",
        "later": f"(onscroll=()=>setTimeout(()=>{toggle},99),onscroll(),{{observe(){{}}}})",
    }
    found = drawn(
        {
            name: f"{HEAD}{style}{parts}<script>const all=document.querySelectorAll('div');"
            f"const o={way};all.forEach(e=>o.observe(e))</script>"
            for name, way in ways.items()
        }
        | {"unseen": f"{HEAD}{style}{parts}<header></header>"}
    )
    for name in ways:
        assert column(found[name]) == SHADES[:6], name
        assert codes(found[name]) == set(), name
    held = {name: shown.facts.get("reveals_held") for name, shown in found.items()}
    assert all(held[name] for name in ("observed", "scrolled", "later"))
    assert held["once"] is held["unseen"] is None
    assert column(found["unseen"])[0] == NAVY
