"""Evidence that is cancelled, once or twice, at whatever moment: nothing is left, and the engine goes on."""

from __future__ import annotations

import asyncio
import gc
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest
from docx import Document
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from beholder.errors import MissingTool, RendererFailed
from beholder.evidence import pages
from beholder.evidence.browser import find_browser, fonts_fingerprint, launch
from beholder.evidence.egress import Egress
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.kinds import Shown
from beholder.evidence.soffice import OfficeSuite
from beholder.evidence.soffice_find import find_soffice
from beholder.evidence.workers import WorkerPool
from beholder.fenced.programs import Fenced
from beholder.records import EvidencePolicy, NetworkPolicy, Routing, Submission
from tests.fakes.evidence import BLOCKED, LIMITS, png, submission
from tests.fakes.office import open_place
from tests.fakes.processes import below, left_of, named
from tests.fakes.steps import CountingLoop, all_reaped, cancelled_at
from tests.test_evidence_soffice import FOREVER, fake, there
from tests.test_evidence_workers import IMAGE, job

PAGE = "<!doctype html><link rel=stylesheet href=s.css><h1>Here</h1><script src=a.js></script>"
ALL = Routing(visual=(".html", ".png", ".docx"), text=(), select="all")
QUICK = EvidencePolicy(min_wait_s=Decimal(1), max_wait_s=Decimal(15))
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what runs")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that other users may enter; below its `tmp` lie all folders of programs and workers."""
    with open_place() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        yield folder


@pytest.fixture(scope="session")
def browser() -> Path:
    try:
        return find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


def left(folder: Path) -> list[str]:
    """What was left below its `tmp`."""
    return [str(path.relative_to(folder)) for path in (folder / "tmp").rglob("*")]


# --- one by one ---------------------------------------------------------------------------------


def test_a_number_that_was_given_away_is_not_killed() -> None:
    """A program that ended long ago is ended no more: another process, with a group, may have its number."""
    with subprocess.Popen(["/bin/sleep", "3600"], start_new_session=True) as other:
        ended = cast("asyncio.subprocess.Process", SimpleNamespace(pid=other.pid, returncode=0))
        Fenced(ended).kill()
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.5)
        other.kill()


def test_all_idle_workers_end_though_closing_is_cancelled(place: Path) -> None:
    """At whatever step: each has been told to end, and its folder is gone."""

    async def scene() -> None:
        for step in range(1, 4):
            pool = WorkerPool((IMAGE,), 2)
            await asyncio.gather(*(pool.run(IMAGE, "render_image", job(png()), Shown) for _ in range(2)))
            workers = below()
            assert len(workers) >= 2
            closing = asyncio.create_task(pool.aclose())
            for _ in range(step):
                await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait([closing])
            assert left_of(workers) == []
            assert left(place) == []
        await all_reaped(before)

    before = below()
    asyncio.run(scene())


@linux
def test_a_suite_whose_closing_is_cancelled_leaves_nothing(place: Path) -> None:
    """No program and no folder, at whatever step it is cancelled, once or twice."""
    mark = place / "marks" / "called"
    mark.parent.mkdir()
    mark.parent.chmod(0o777)
    program = fake(place, f"touch {mark}; sleep FOREVER\n")

    async def scene() -> None:
        for step in (1, 2, 3, 5, 8):
            suite = OfficeSuite(program)
            waiting = asyncio.create_task(suite.convert("a.rtf", ".rtf", b"x", target="pdf"))
            await there(mark)
            closing = asyncio.create_task(suite.aclose())
            await cancelled_at(step, closing, *([step] if step % 2 else []))
            ended, _ = await asyncio.wait([waiting], timeout=60)
            assert [type(one.exception()) for one in ended] == [RendererFailed]
            mark.unlink()
        await all_reaped(before)

    before = below()
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(scene())
    assert left_of(named(FOREVER)) == []
    assert left(place) == []


@linux
def test_an_office_works_on_no_file_that_nobody_waits_for(place: Path) -> None:
    """A call that all have left ends at once, and its place is free; one that another waits in goes on."""
    marks = place / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    program = fake(
        place,
        f'for f in "$@"; do if grep -q slow "$f"; then touch {marks}/slow; '
        f'until [ -e {marks}/go ]; do sleep 0.05; done; fi; ok "$f"; done\n',
    )

    async def scene() -> None:
        async with OfficeSuite(program, calls=1) as suite:
            await suite._start()
            ones = [asyncio.create_task(suite.convert("a", ".rtf", b"slow", target="pdf")) for _ in range(2)]
            await there(marks / "slow")
            ones[0].cancel()
            await asyncio.wait(ones, timeout=0.3)
            assert ones[0].cancelled()
            assert not ones[1].done()
            assert suite._tasks
            ones[1].cancel()
            # The one place is free, though nobody lets the slow file go on.
            assert (await suite.convert("b", ".rtf", b"quick", target="pdf")).data
            if suite._tasks:
                await asyncio.wait(suite._tasks)
            kept = list((place / "tmp").glob("*/profile-*"))
            assert len(kept) == 1  # and no profile is left but the one that is kept for the next call

    async def in_time() -> None:
        async with asyncio.timeout(300):
            await scene()

    asyncio.run(in_time())
    assert left(place) == []


def test_a_browser_is_told_of_though_its_first_page_was_cancelled(
    place: Path, browser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next page is drawn by the same browser, and what drew it is recorded."""
    one = submission(place / "a", {"a.html": PAGE})

    async def scene() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        async with EvidenceEngine(QUICK, ALL, BLOCKED, LIMITS) as engine:
            first = asyncio.create_task(engine.prepare(one))

            def fonts() -> Any:
                monkeypatch.setattr(pages, "fonts_fingerprint", fonts_fingerprint)
                loop.call_soon_threadsafe(first.cancel)
                return fonts_fingerprint()

            monkeypatch.setattr(pages, "fonts_fingerprint", fonts)
            await asyncio.wait([first])
            assert first.cancelled()
            await engine.prepare(one)
            return engine.renderer

    assert {"browser", "sandbox", "fonts"} <= set(asyncio.run(scene()))


def test_a_proxy_that_is_cancelled_while_it_starts_listens_to_nobody() -> None:
    """At whatever step."""

    async def scene() -> None:
        for step in range(1, 12):
            proxy = Egress(NetworkPolicy(mode="allow", given=True))
            starting = asyncio.create_task(proxy.__aenter__())
            if await cancelled_at(step, starting):
                assert listening() - before == set()
            else:
                await proxy.__aexit__()

    def listening() -> set[Any]:
        return {one for one in psutil.Process().net_connections() if one.status == "LISTEN"}

    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        before = listening()
        runner.run(scene())


def test_a_page_that_is_cancelled_before_it_is_there_leaves_no_context(browser: Path, place: Path) -> None:
    """The browser may have made it already, and not told yet."""

    async def page() -> None:
        async with running[0].page(400, 300):
            pass

    async def scene() -> None:
        running.append(await launch(browser))
        try:
            for step in range(1, 16):
                await cancelled_at(step, asyncio.create_task(page()))
                found = await running[0].connection.browser.call("Target.getBrowserContexts")
                assert found["browserContextIds"] == []
        finally:
            await running[0].aclose()

    running: list[Any] = []
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(scene())


# --- at whatever moment -------------------------------------------------------------------------


def document() -> bytes:
    made, data = Document(), io.BytesIO()
    made.add_paragraph("Here")
    made.save(data)
    return data.getvalue()


def everything(folder: Path) -> Submission:
    """A page with two files beside it, a picture and a document."""
    files = {"a.html": PAGE, "s.css": "h1 { color: red }", "a.js": "1", "b.png": png(), "c.docx": document()}
    return submission(folder, files, show=["a.html", "b.png", "c.docx"])


async def disturbed(one: Submission, steps: list[int], *, goes_on: bool) -> bool:
    """Whether the evidence was cancelled so many steps from its beginning; the engine is closed afterwards.

    Args:
        goes_on: The same evidence is asked for again before, and comes out.
    """
    async with EvidenceEngine(QUICK, ALL, BLOCKED, LIMITS, workers=2) as engine:
        first, *more = steps
        cancelled = await cancelled_at(first, asyncio.create_task(engine.prepare(one)), *more)
        if goes_on:
            async with asyncio.timeout(300):
                evidence = await engine.prepare(one)
            assert [(shown.name, shown.status) for shown in evidence.artifacts] == [
                (name, "shown") for name in ("a.html", "b.png", "c.docx")
            ]
            assert {"browser", "office", "decoders"} <= set(engine.renderer)
    return cancelled


def leaves_nothing(steps: list[int], *, goes_on: bool) -> None:
    """Cancel evidence at these steps, and look for processes, folders, tasks and errors that nobody saw."""
    before = below()
    with pytest.MonkeyPatch.context() as patch, open_place() as folder:
        patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        with asyncio.Runner(loop_factory=CountingLoop) as runner:
            loop = cast("CountingLoop", runner.get_loop())
            runner.run(disturbed(everything(folder / "task"), steps, goes_on=goes_on))
            assert asyncio.all_tasks(loop) == set()
            runner.run(all_reaped(before))
            gc.collect()
        assert loop.complaints == []
        assert left_of(below() - before) == []
        assert left(folder) == []


STEPS = st.lists(st.integers(1, 12) | st.integers(1, 400), min_size=1, max_size=2)


def at_whatever_step(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of moments, once or twice in one piece of work, as many as there are examples."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        # No smaller example is looked for: each takes seconds, and the first one tells what is wrong.
        tried = settings(max_examples=examples, phases=(Phase.explicit, Phase.generate), database=None)
        given_ = given(steps=STEPS, goes_on=st.booleans())
        return tried(given_(test))

    return decorate


@pytest.fixture(scope="session")
def renderers(browser: Path) -> None:
    """All of them; the test is skipped where one is missing."""
    try:
        find_soffice()
    except MissingTool as error:
        pytest.skip(str(error))


@pytest.mark.long
@pytest.mark.usefixtures("renderers")
@at_whatever_step(30)
def test_cancelled_at_many_moments(steps: list[int], goes_on: bool) -> None:
    """No process, folder, task or error is left. The engine draws the same files again, or closes."""
    leaves_nothing(steps, goes_on=goes_on)
