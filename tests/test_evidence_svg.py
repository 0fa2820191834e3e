"""Drawings: their size, what they cannot do, and what is broken. In a real browser where one is needed."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import pytest
from PIL import ImageColor

from beholder.errors import BrokenArtifact, MissingTool
from beholder.evidence import svg as svg_module
from beholder.evidence.browser import find_browser
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.svg import LEAST_PX, MOST_PX, check_svg, is_svg
from beholder.records import EvidencePolicy
from tests.fakes.evidence import LIMITS, pixels
from tests.fakes.pages import HEAD, SVG, browser, codes, show, show_all
from tests.fakes.web import canary

RED, LIME, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
RECT = "<rect width='100%' height='100%' fill='red'/><text y='50'>text</text></svg>"


@pytest.fixture
def _browser() -> None:
    try:
        find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


def drawn(**drawings: str | bytes) -> dict[str, Shown]:
    """What is shown of each drawing."""
    found = asyncio.run(show_all({f"{name}.svg": data for name, data in drawings.items()}))
    for one in found.values():
        assert isinstance(one, Shown), one
    return {name.removesuffix(".svg"): one for name, one in found.items() if isinstance(one, Shown)}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"{SVG}/>", False),
        (f"{SVG}></svg>", True),
        (f"\ufeff<?xml version='1.0'?><!-- a --><!DOCTYPE svg>\n{SVG}></svg>\n", True),
        ("<?xml version='1.0'?><s:svg xmlns:s='http://www.w3.org/2000/svg'></s:svg>", True),
        ("<!DOCTYPE svg [<!ENTITY a '<b>'>]><svg></svg>", True),
        ("<svg width='9'></svg>", False),
        (f"{SVG}></svg><p>a page that begins with a drawing", False),
        (f"<!doctype html>{SVG}></svg>", False),
        ("<html><body><svg></svg></body></html>", False),
        ("text", False),
        ("", False),
    ],
)
def test_drawings_are_told_from_pages(content: str, expected: bool) -> None:
    """A drawing is told by root and namespace, in any encoding and compressed; a page with one is a page."""
    assert is_svg(content.encode()) is expected
    assert is_svg(content.removeprefix("\ufeff").encode("utf-16")) is expected
    assert is_svg(gzip.compress(content.encode())) is expected


@pytest.mark.parametrize(
    "data", [b"plain text", b"\x89PNG\r\n\x1a\n", b"%PDF-1.4", b"\0\0\0", b"\x1f\x8bxxxxxxxxxxxx"]
)
def test_what_is_no_drawing(data: bytes) -> None:
    """Text, pictures, documents and broken archives under the suffix are refused before any browser."""
    with pytest.raises(BrokenArtifact) as caught:
        check_svg(job(data))
    assert caught.value.slug in {"wrong_type", "corrupt"}


def job(data: bytes) -> Job:
    return Job(name="a.svg", suffix=".svg", data=data, policy=EvidencePolicy(), limits=LIMITS, budget=9)


def test_a_compressed_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    """What unpacks to more than the limit is refused, and never unpacked further."""
    monkeypatch.setattr(svg_module, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(BrokenArtifact) as caught:
        check_svg(job(gzip.compress(b"<svg>" + b" " * 1_000_000)))
    assert caught.value.slug == "too_large"


@pytest.mark.usefixtures("_browser")
def test_sizes() -> None:
    """The picture is as large as the drawing says, its view box or what is drawn, and bounded."""
    found = drawn(
        said=f"{SVG} width='400' height='200'>{RECT}",
        inches=f"{SVG} width='2in' height='3in'>{RECT}",
        style=f"{SVG} style='width:500px;height:300px'>{RECT}",
        one=f"{SVG} width='500' viewBox='0 0 100 50'>{RECT}",
        view=f"{SVG} viewBox='0 0 200 100'>{RECT}",
        percent=f"{SVG} width='100%' height='100%' viewBox='0 0 2000 1000'>{RECT}",
        none=f"{SVG}><circle cx='600' cy='500' r='400' fill='teal' stroke='red' stroke-width='10'/></svg>",
        huge=f"{SVG} width='100000' height='50000'>{RECT}",
        tiny=f"{SVG} width='20' height='10'>{RECT}",
        nothing=f"{SVG}></svg>",
        endless=f"{SVG}><rect width='1e30' height='1e30'/></svg>",
    )
    sizes = {name: tuple(one.facts["captured"]) for name, one in found.items()}
    assert sizes == {
        "said": (400, 200),
        "inches": (192, 288),
        "style": (500, 300),
        "one": (500, 250),
        "view": (1280, 640),
        "percent": (2000, 1000),
        "none": (1005, 905),
        "huge": (MOST_PX, MOST_PX // 2),
        "tiny": (LEAST_PX, LEAST_PX // 2),
        "nothing": (1280, 800),
        "endless": (MOST_PX, MOST_PX),
    }
    assert found["huge"].pictures[0].transforms[0] == "drawn at factor 0.04096 of 100000x50000 px"
    assert found["tiny"].facts["svg"] == {"size": [20, 10], "sized_by": "width and height", "scale": 10.0}
    for name in ("said", "view", "tiny", "huge"):
        image = pixels(found[name].pictures[0])
        assert {image.getpixel((2, image.height - 3)), image.getpixel((image.width - 3, 2))} == {RED}, name
    assert codes(found["nothing"]) == {"blank_capture"}


@pytest.mark.usefixtures("_browser")
def test_scripts_and_frames_do_not_run(tmp_path: Path) -> None:
    """No script runs, no frame opens, no address is reached; a picture of its own folder is shown."""
    page = (
        SVG
        + " width='400' height='300' onload=\"document.documentElement.style.background='lime'\">"
        + "<script>document.documentElement.style.background='lime';fetch('http://127.0.0.1:PORT/a')</script>"
        + "<script href='own.js'/><image href='http://127.0.0.1:PORT/b' width='9' height='9'/>"
        + "<image href='file:///etc/passwd' width='9' height='9'/>"
        + "<image href='own.svg' width='50' height='50'/>"
        + "<a href='javascript:1'><text y='200'>ok</text></a><use href='http://127.0.0.1:PORT/c#x'/>"
        + "<style>@import 'http://127.0.0.1:PORT/d'; text{fill:url(http://127.0.0.1:PORT/e#f)}</style>"
        + "<foreignObject width='400' height='100' y='200'><iframe xmlns='http://www.w3.org/1999/xhtml' "
        + "src='own.html'/><iframe xmlns='http://www.w3.org/1999/xhtml' src='http://127.0.0.1:PORT/f'/>"
        + "<object xmlns='http://www.w3.org/1999/xhtml' data='own.html'/></foreignObject></svg>"
    )
    own = {
        "own.js": b"document.documentElement.style.background='lime'",
        "own.html": b"<body style='background:lime'>",
        "own.svg": f"{SVG} width='50' height='50'><rect width='50' height='50' fill='blue'/></svg>".encode(),
    }

    async def scene() -> Shown:
        async with canary() as listener, browser() as running:
            said = page.replace("PORT", str(listener.port))
            shown = await show(running, said, name="a.svg", root=tmp_path, files=own)
            assert listener.connections == 0
            return shown

    shown = asyncio.run(scene())
    seen = {colour for _, colour in pixels(shown.pictures[0]).getcolors(1 << 20) or []}
    assert BLUE in seen
    assert LIME not in seen
    assert "blocked_resource" in codes(shown)
    assert list(shown.facts["served"]) == ["own.svg"]


@pytest.mark.usefixtures("_browser")
def test_broken_drawings() -> None:
    """Bad XML, entities without end and other XML are told in the browser's words, as the file's fault."""
    laughs = "".join(f"<!ENTITY {chr(98 + n)} '{('&' + chr(97 + n) + ';') * 10}'>" for n in range(9))
    found = asyncio.run(
        show_all(
            {
                "bad.svg": f"{SVG}><rect width=10></svg>",
                "cut.svg": f"{SVG} width='9' height='9'><rect",
                "laughs.svg": f"<!DOCTYPE s [<!ENTITY a 'lol'>{laughs}]>{SVG}><text>&j;</text></svg>",
                "other.svg": "<?xml version='1.0'?><feed/>",
                "latin.svg": f"<?xml version='1.0' encoding='utf-8'?>{SVG}><text>\xe9</text></svg>".encode(
                    "latin-1"
                ),
                "good.svg": f"{SVG} width='300' height='200'>{RECT}",
            }
        )
    )
    slugs = {name: one.slug if isinstance(one, BrokenArtifact) else "shown" for name, one in found.items()}
    assert slugs == {
        "bad.svg": "corrupt",
        "cut.svg": "corrupt",
        "laughs.svg": "corrupt",
        "other.svg": "wrong_type",
        "latin.svg": "corrupt",
        "good.svg": "shown",
    }
    assert "line 1 at column 53" in str(found["bad.svg"])


@pytest.mark.usefixtures("_browser")
def test_the_other_format_of_the_kind() -> None:
    """A page named `.svg`, a drawing named `.html` and a packed one are shown as such, with a note."""
    drawing = f"{SVG} width='300' height='200'>{RECT}"
    found = asyncio.run(
        show_all(
            {
                "page.svg": HEAD + "<h1>a page</h1>",
                "drawing.html": "<?xml version='1.0'?>" + drawing,
                "packed.svg": gzip.compress(drawing.encode()),
                "inline.html": "<svg width=300 height=200>" + RECT + "<p>and more",
            }
        )
    )
    shown = {name: one for name, one in found.items() if isinstance(one, Shown)}
    assert {
        name: (one.pictures[0].width_px, "other_format" in codes(one)) for name, one in shown.items()
    } == {
        "page.svg": (1280, True),
        "drawing.html": (300, True),
        "packed.svg": (300, True),
        "inline.html": (1280, False),
    }


@pytest.mark.usefixtures("_browser")
def test_moving_drawings_are_the_same_bytes() -> None:
    """Animations by SVG and by CSS stand at a stated time, the same each time and beside each other."""
    body = (
        f"{SVG} width='300' height='200'><style>@keyframes s{{to{{transform:translate(90px)}}}}"
        "circle{animation:s 1s infinite}</style><circle r='20' cy='50' fill='red'/>"
        "<rect width='20' height='20' fill='blue'><animate attributeName='x' to='200' dur='7s' "
        "repeatCount='indefinite'/></rect></svg>"
    )

    async def scene() -> list[Shown]:
        async with browser() as running:
            return list(await asyncio.gather(*(show(running, body, name="a.svg") for _ in range(4))))

    shown = asyncio.run(scene())
    assert len({one.pictures[0].sha256 for one in shown}) == 1
    assert [codes(one) for one in shown] == [set()] * 4
    assert shown[0].facts["animations"]["endless_held_at_ms"] == 3000


@pytest.mark.usefixtures("_browser")
def test_what_moves_into_place_is_seen_in_place() -> None:
    """SVG's own animations that have ended and stay are seen at their end; others at their start."""
    freeze = "dur='1s' fill='freeze'"
    appears = f"<animate attributeName='opacity' values='0;.5;1' begin='a.end+.5s' {freeze}/>"
    shown = drawn(
        a=f"{SVG} width='300' height='200'>"
        "<rect width='0' height='20' fill='red'>"
        f"<animate id='a' attributeName='width' to='290' {freeze}/></rect>"
        f"<rect y='30' width='20' height='20' fill='blue' opacity='0'>{appears}<animateTransform "
        f"attributeName='transform' type='translate' to='200 0' {freeze}/></rect>"
        "<rect y='60' width='20' height='20' fill='lime' visibility='hidden'>"
        "<set attributeName='visibility' to='visible' begin='1s'/></rect>"
        "<rect y='90' width='20' height='20' fill='lime'>"
        f"<animate attributeName='x' to='200' begin='b.end' {freeze}/>"
        f"<animate id='b' attributeName='y z' to='9' begin='c.end' {freeze}/>"
        f"<animate id='c' attributeName='y' to='150' begin='b.end;click' {freeze}/>"
        "<animate attributeName='x' to='250' dur='9s' fill='freeze'/></rect></svg>"
    )
    picture = pixels(shown["a"].pictures[0])
    points = {(280, 10): "red", (210, 40): "blue", (10, 70): "lime", (10, 100): "lime", (210, 100): "white"}
    for place, colour in points.items():
        assert picture.getpixel(place) == ImageColor.getrgb(colour), place
