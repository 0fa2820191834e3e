"""The page is inert where it quotes, opens from disk in a real browser, and works by keyboard."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import beholder
from beholder.report import Run, build_view, load_run, write_joint_reports, write_reports
from beholder.report.html import item_json, render_html
from tests.fakes import golden, outdir

# --- the markup ---------------------------------------------------------------------------------


def test_the_page_is_the_golden_one(tmp_path: Path) -> None:
    """Layout of a small report; style, script and hashes are looked at elsewhere."""
    rows = [row for row in outdir.varied_rows("atlas") if row["task_id"] != "airports-europe"]
    page = render_html(build_view([load_run(outdir.write(tmp_path / "atlas", "atlas", rows))]))
    page = re.sub(r"(<style>).*?(</style>)", r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r"(<script>).*?(</script>)", r"\1…\2", page, flags=re.DOTALL)
    page = re.sub(r"sha256-[\w+/=]+", "sha256-…", page)
    golden.check("report.html", page.replace(f"beholder {beholder.__version__}", "beholder VERSION"))


def test_an_item_s_json_cannot_end_its_element() -> None:
    """The data block holds no angle bracket, ampersand or line separator, and reads back the same."""
    evil = "</script><!--\u2028\u2029&amp;"
    row = outdir.row(evil, evil, [outdir.repeat(1, (1, 2, 3, 4), rationale=evil)], labels={evil: evil})
    item = build_view([Run(name=evil, rows=[row], summary=outdir.summary(evil, [row]))]).items[0]
    text = str(item_json(item))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["repeats"][0]["rationale"] == evil


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    """The policy allows this page's own style and script by hash, and pictures beside it; nothing else."""
    page = render_html(build_view([load_run(outdir.write_varied(tmp_path / "atlas"))]))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert not re.search(r"\son\w+=|\sstyle=", page)


# --- in a browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium-headless-shell")
    with sync_playwright() as playwright:
        chromium = playwright.chromium
        if program is None and not Path(chromium.executable_path).is_file():
            pytest.skip("no headless Chromium is installed")
        # The page is our own and loads nothing; and Chromium's sandbox does not start as root.
        sandbox = getattr(os, "geteuid", lambda: 1)() != 0
        started = chromium.launch(executable_path=program, chromium_sandbox=sandbox)
        yield started
        started.close()


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A joint report of two models, one of them with markup for a name."""
    root = tmp_path_factory.mktemp("joint")
    models = {
        name: outdir.write_varied(root / name, name, seed) for seed, name in enumerate(("atlas", "borea <i>"))
    }
    return write_joint_reports(root, models)[0]


class Watched:
    """A page and what it did that it should not have: messages, errors, requests that leave the disk."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.trouble: list[str] = []
        self.pictures: list[str] = []
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda dialog: (self.trouble.append(dialog.message), dialog.dismiss()))
        page.on("requestfailed", lambda request: self.trouble.append(f"failed: {request.url}"))
        page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if not request.url.startswith("file:"):
            self.trouble.append(request.url)
        if request.resource_type == "image":
            self.pictures.append(request.url)


@pytest.fixture
def opened(browser: Browser, joint: Path) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    watched = Watched(context.new_page())
    watched.page.goto(joint.as_uri())
    yield watched
    trouble = list(watched.trouble)  # closing may cut a picture that is on its way, which is no trouble
    context.close()
    assert trouble == []


def shown(page: Page) -> list[str]:
    """The visible cards' task and model, in order."""
    cards = page.locator(".card:visible")
    names, models = (cards.locator(part).all_inner_texts() for part in (".name", ".of"))
    return [f"{name} / {model}" for name, model in zip(names, models, strict=True)]


def eventually(page: Page, expression: str) -> None:
    """Wait until an expression holds. Playwright's own wait needs `eval`, which the page's policy forbids."""
    deadline = time.monotonic() + 5
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)


def test_the_page_opens_from_disk_and_shows_every_item(opened: Watched) -> None:
    """No server, no network, no console message; a card per item and the scripted banner on top."""
    assert len(shown(opened.page)) == 14
    assert "Scripted replies" in opened.page.inner_text("body > .scripted-banner")
    assert opened.page.title().startswith("Scripted · Maps from instructions")


def test_quoted_markup_is_text(opened: Watched) -> None:
    """A task, label and model named as markup are shown and do nothing, on cards and in an item."""
    page = opened.page
    assert any(name.startswith(outdir.SCRIPT) for name in shown(page))
    assert page.locator("i").count() == 0
    page.locator(".card", has_text=outdir.SCRIPT).first.locator("a").click()
    assert page.inner_text("#item-title").startswith(outdir.SCRIPT)
    assert outdir.SCRIPT in page.inner_text("#item .rationale >> nth=0")
    assert page.locator("#item script").count() == 0
    assert page.evaluate("document.scripts.length") == 14 + 1


def test_pictures_load_when_they_come_near(browser: Browser, tmp_path: Path) -> None:
    """Of 300 pictures only those near the window are loaded; the others come when scrolled to."""
    path = write_reports(outdir.write_many(tmp_path / "many", 300))[0]
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    watched = Watched(context.new_page())
    watched.page.goto(path.as_uri())
    eventually(watched.page, "document.querySelector('.card img').naturalWidth > 0")
    first = set(watched.pictures)
    assert 0 < len(first) < 150
    watched.page.locator(".card").last.scroll_into_view_if_needed()
    eventually(watched.page, "[...document.querySelectorAll('.card img')].at(-1).naturalWidth > 0")
    assert any("task-0299" in url for url in watched.pictures)
    assert not any("task-0299" in url for url in first)
    trouble = list(watched.trouble)
    context.close()
    assert trouble == []


def test_every_picture_is_found(opened: Watched) -> None:
    """Folders with markup, Korean and per cent signs in their names are reached by their URLs."""
    page = opened.page
    for card in page.locator(".card:has(img)").all():
        card.scroll_into_view_if_needed()
        eventually(page, f"document.querySelector('#{card.get_attribute('id')} img').naturalWidth > 0")


def test_filtering_by_text_outcome_and_model(opened: Watched) -> None:
    """Each filter narrows the cards, the count says so, and all of it can be undone."""
    page = opened.page
    page.locator("#find").fill("seventh")  # stands in one rationale only
    assert shown(page) == ["airports-europe / atlas", "airports-europe / borea <i>"]
    assert page.inner_text("#shown") == "2 of 14 items"
    page.locator("#by-model").select_option(label="borea <i>")
    assert shown(page) == ["airports-europe / borea <i>"]
    page.locator("#find").fill("nothing says this")
    page.get_by_role("button", name="Show all items").click()
    assert len(shown(page)) == 14
    for state in ("passed", "failed", "absent"):
        page.locator(f"[name=state][value={state}]").uncheck()
    assert shown(page) == ["tiles-from-outside / atlas", "tiles-from-outside / borea <i>"]


def test_sorting_puts_what_has_no_score_last(opened: Watched) -> None:
    """By score in either direction, absent and unscored items come after the others."""
    page = opened.page
    page.locator("#sort").select_option("low")
    low = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.score)")
    numbers = [float(text) for text in low if text]
    assert numbers == sorted(numbers)
    assert low[len(numbers) :] == [""] * 4
    page.locator("#sort").select_option("high")
    high = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.score)")
    assert [float(text) for text in high if text] == sorted(numbers, reverse=True)
    assert high[-4:] == [""] * 4


def test_the_keyboard_is_enough(opened: Watched) -> None:
    """Search, open, step, zoom and close with keys alone; focus comes back to the card."""
    page = opened.page
    keys = page.keyboard
    keys.press("/")
    keys.type("airports")
    assert len(shown(page)) == 2
    page.locator(".card:visible a").first.focus()
    keys.press("Enter")
    eventually(page, "document.querySelector('#item').open")
    assert page.inner_text("#item-title") == "airports-europe"
    assert page.inner_text("#item .count") == "1 of 2"
    keys.press("ArrowRight")
    eventually(page, "document.querySelector('#item .eyebrow').textContent === 'borea <i>'")
    page.locator("#item .picture").first.focus()
    keys.press("Enter")
    eventually(page, "document.querySelector('#zoom img').naturalWidth === 640")
    fitting = page.locator("#zoom img").bounding_box()
    assert fitting
    assert fitting["height"] <= 800
    keys.press("1")
    full = page.locator("#zoom img").bounding_box()
    assert full
    assert (full["width"], full["height"]) == (640, 1500)
    keys.press("+")
    assert page.inner_text("#zoom output") == "150%"
    keys.press("PageDown")
    eventually(page, "document.querySelector('#zoom img').naturalWidth === 960")
    assert "part 1 of 2" in page.inner_text("#zoom .caption")
    keys.press("Escape")
    assert not page.locator("#zoom").is_visible()
    assert page.locator("#item").is_visible()
    keys.press("Escape")
    assert not page.locator("#item").is_visible()
    assert page.evaluate("document.activeElement.closest('.card') !== null")


def test_an_item_tells_its_whole_story(opened: Watched) -> None:
    """Criteria by repeat with a gap, words, raw reply, exact prompt, warnings, what was left out."""
    page = opened.page
    page.goto(page.url.split("#")[0] + "#item-3")
    eventually(page, "document.querySelector('#item').open")
    item = page.locator("#item")
    assert item.locator("tr.main td").all_inner_texts()[2] == "–"
    assert "no JSON object in the reply" in item.inner_text()
    item.locator("summary", has_text="Raw reply").first.click()
    assert '"region"' in item.locator("pre").first.inner_text()
    item.locator("summary", has_text="Exact prompt").click()
    assert "draw the map {query}" in item.locator("pre:visible").last.inner_text()
    page.goto(page.url.split("#")[0] + "#item-5")
    eventually(page, "document.querySelector('#item-title').textContent === 'airports-europe'")
    assert "notes/data.csv" in item.inner_text()
    assert "left out by the protocol's exclusions" in item.inner_text()
    assert "ReferenceError: <script>" in item.inner_text()


def test_an_item_has_an_address(opened: Watched) -> None:
    """Going back closes an item, and a wrong address opens nothing."""
    page = opened.page
    page.locator(".card a").first.click()
    eventually(page, "document.querySelector('#item').open")
    page.go_back()
    eventually(page, "!document.querySelector('#item').open")
    page.goto(page.url.split("#")[0] + "#item-999")
    assert not page.locator("#item").is_visible()


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_no_width_scrolls_sideways(opened: Watched, width: int) -> None:
    """The page fits a phone, a tablet and a desk, with an item open too."""
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".card a").first.click()
    eventually(page, "document.querySelector('#item').open")
    assert page.evaluate("document.querySelector('#item').scrollWidth") <= width


def test_paper_shows_results_and_cards_without_tools(opened: Watched) -> None:
    """In print the filters are gone and the notice stays; with an item open, the item is what is printed."""
    page = opened.page
    page.emulate_media(media="print")
    assert not page.locator("#tools").is_visible()
    assert page.locator(".scripted-banner").is_visible()
    assert page.locator(".card").first.is_visible()
    page.evaluate("location.hash = '#item-1'")
    eventually(page, "document.querySelector('#item').open")
    assert not page.locator("main").is_visible()


def test_without_scripts_the_cards_are_there(browser: Browser, joint: Path) -> None:
    """The figures and cards are plain markup; what needs the script is not offered."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(joint.as_uri())
    assert page.locator(".card").count() == 14
    assert not page.locator("#tools").is_visible()
    assert page.get_by_text("Without scripts this page shows the cards only").is_visible()
    context.close()


def test_five_hundred_items_stay_quick(browser: Browser, tmp_path: Path) -> None:
    """500 items of 3 repeats are built in seconds, opened and searched without a wait to be felt."""
    out = outdir.write_many(tmp_path / "many", 500)
    start = time.perf_counter()
    path = write_reports(out)[0]
    built = time.perf_counter() - start
    page = browser.new_page()
    start = time.perf_counter()
    page.goto(path.as_uri())
    loaded = time.perf_counter() - start
    searched = page.evaluate(
        """() => {
            const start = performance.now();
            document.querySelector('#find').value = 'overlap';
            document.querySelector('#find').dispatchEvent(new Event('input', {bubbles: true}));
            document.body.offsetHeight;
            return (performance.now() - start) / 1000;
        }"""
    )
    page.close()
    assert path.stat().st_size < 5_000_000
    # Ten times what an idle machine takes: a guard against growth, not a measurement.
    assert (built < 6, loaded < 8, searched < 3) == (True, True, True), (built, loaded, searched)
