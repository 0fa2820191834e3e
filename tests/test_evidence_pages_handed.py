"""The handed pages and drawings, good and hostile, through one browser: what becomes of each."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import BrokenArtifact
from beholder.evidence.browser import find_browser, launch
from beholder.evidence.cdp import ConnectionLost
from beholder.evidence.kinds import Shown
from beholder.evidence.page import PageFailed
from tests.fakes.evidence import pixels
from tests.fakes.pages import HEAD, codes, show
from tests.fakes.processes import left_of, named
from tests.test_evidence_isolation import listener

pytestmark = pytest.mark.long

NAMES = "name ok"
FINE: dict[str, set[str]] = {
    "sticky.html": set(),
    "vh100.html": set(),
    "dialogs.html": set(),
    "popup.html": set(),
    "download.html": set(),
    "fonts.html": set(),
    "latin1.html": set(),
    "gbk_nodecl.html": set(),
    "utf16.html": set(),
    "webgl.html": set(),
    "title_injection.html": set(),
    "iframe_bomb.html": set(),
    "tall_40000.html": set(),
    "lazy.html": {"missing_file"},
    "infinite_scroll.html": {"truncated"},
    "growing.html": {"truncated", "page_not_settled"},
    "meta_refresh.html": {"left_page", "external_resource_failed"},
    "js_redirect_file.html": {"blocked_resource"},
    "reload_loop.html": {"left_page"},
    "passwd.html": {"blocked_resource", "missing_file"},
    "ssrf.html": {"blocked_resource", "external_resource_failed"},
    "sw_worker.html": {"blocked_resource"},
    "cdn_map.html": {"external_resource_failed", "script_error", "blank_capture"},
    "empty.html": {"blank_capture"},
    "zero.html": {"blank_capture"},
    "html_named.html": {"blank_capture"},
    # Chromium refuses the allocation, so that the renderer need not be killed: a blank page with its error.
    "membomb.html": {"script_error", "blank_capture"},
    # Filled with one colour up to its edges.
    "nosize.svg": {"blank_capture"},
    "huge.svg": {"blank_capture"},
    "novb.svg": set(),
    "script.svg": {"blocked_resource"},
    "pj_firefox_logo.svg": set(),
    "pj_loading.svg": set(),
    "po_project-header.svg": set(),
    "mk_test_blog.html": {"external_resource_failed", "missing_file"},
    "mk_test_wikipedia.html": {"external_resource_failed", "missing_file"},
}
"""File -> the codes of its warnings."""

BROKEN = {"bad.svg": "corrupt", "lol.svg": "corrupt"}
_SILENT = "failed: the page does not answer and cannot be captured"
HANGING = {
    "alert_loop.html": "failed: opens more than 50 dialogs",
    "busy.html": _SILENT,
    "busy_late.html": _SILENT,
}
"""They never give their thread back: no picture, and the engine finds out that a good page has one."""


@pytest.fixture(scope="module")
def files(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The handed pages and drawings, and the hostile ones, made now."""
    handed = shared / "corpus" / "handout"
    made = tmp_path_factory.mktemp("hostile")
    done = subprocess.run(
        [sys.executable, str(shared / "corpus" / "make_hostile.py"), str(made)],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        pytest.skip(f"the hostile files need packages that are not here: {done.stderr[-200:]!r}")
    return sorted(
        path for folder in (handed, made) for path in folder.iterdir() if path.suffix in {".html", ".svg"}
    )


def test_each_file_ends_as_stated_and_harms_no_other(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each ends in time as is stated; after each a good page is what it was; nothing is left running."""
    import tempfile

    real = tempfile.mkdtemp
    mine = f"beholder-fenced-browser-{secrets.token_hex(8)}-"

    def mark(*args: Any, **options: Any) -> str:
        if str(options.get("prefix", "")).startswith("beholder-fenced-browser-"):
            options["prefix"] = mine
        return real(*args, **options)

    monkeypatch.setattr(tempfile, "mkdtemp", mark)
    ends: dict[str, set[str] | str] = {}

    async def scene() -> None:
        async with listener() as canary:
            running = await launch(find_browser())
            good = await show(running, HEAD + "<h1>good</h1>")
            for path in files:
                said = path.read_bytes().replace(b"23999", str(canary.port).encode())
                async with asyncio.timeout(900):
                    ends[path.name] = await end_of(running, path, said)
                if running.lost:
                    await running.aclose()
                    running = await launch(find_browser())
                after = await show(running, HEAD + "<h1>good</h1>")
                assert after.pictures[0].sha256 == good.pictures[0].sha256, path.name
            await running.aclose()
            assert canary.connections == 0

    async def end_of(running: Any, path: Path, said: bytes) -> set[str] | str:
        try:
            shown = await show(running, said, name=path.name, root=path.parent, min_wait_s=3)
        except BrokenArtifact as error:
            return error.slug
        except (PageFailed, ConnectionLost) as error:
            return f"failed: {error}"
        check_picture(path.name, shown)
        # It names languages in scripts such as Amharic and Dhivehi, which a machine may have no font for.
        fonts = {"missing_glyphs"} if path.name == "mk_test_wikipedia.html" else set()
        return codes(shown) - fonts

    asyncio.run(scene())
    wanted: dict[str, set[str] | str] = {**FINE, **BROKEN, **HANGING}
    for name, end in ends.items():
        if name in wanted:
            expected = wanted[name]
            if name == "ssrf.html":
                assert isinstance(end, set)
                assert "blocked_resource" in end
            else:
                assert end == expected, name
        else:  # the awkward names
            assert end == set(), name
    assert set(ends) >= set(wanted) - {"html_named.html"}
    assert left_of(named(mine)) == []
    assert not list(tmp_path.iterdir())


def check_picture(name: str, shown: Shown) -> None:
    """What the picture itself must hold."""
    first = pixels(shown.pictures[-1])
    seen = {colour for _, colour in first.getcolors(1 << 24) or []}
    if name == "lazy.html":
        assert {(255, 0, 0), (0, 255, 0)} <= seen
    if name == "webgl.html":
        assert (255, 0, 0) in seen
    if name == "novb.svg":
        assert first.size == (1000, 900)
    if name == "sticky.html":
        navy = [picture for picture in shown.pictures[1:] if (0, 0, 128) in dict_of(picture)]
        maroon = [picture for picture in shown.pictures[1:] if (128, 0, 0) in dict_of(picture)]
        assert (len(navy), len(maroon)) == (1, 1)
    if name == "vh100.html":
        assert shown.facts["page_size"][1] == 1640
    if name == "tall_40000.html":
        assert sum(picture.height_px for picture in shown.pictures[1:]) == shown.facts["page_size"][1]


def dict_of(picture: Any) -> dict[tuple[int, ...], int]:
    """Colour -> how often."""
    return {colour: count for count, colour in pixels(picture).getcolors(1 << 24) or []}
