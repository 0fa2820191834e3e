"""The engine: whose fault it is, what is asked of whom, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from beholder.errors import MissingTool
from beholder.evidence.browser import Browser, find_browser, fonts_fingerprint, launch
from beholder.evidence.cdp import Connection
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.kinds import Job
from beholder.evidence.pages import renderer_info
from beholder.evidence.renderers import Renderers
from beholder.evidence.serve import ServedFolder
from beholder.fenced.folders import make_folder
from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy, Routing, Submission, Task
from beholder.tasks import RunDirectory
from tests.fakes.evidence import (
    BLOCKED,
    LIMITS,
    PAGES,
    artifact,
    encoded,
    pixels,
    png,
    prepare,
    submission,
)
from tests.fakes.processes import below_with, command_line, kernel_status, left_of
from tests.fakes.web import canary

ALL = replace(PAGES, select="all")
GOOD = "<!doctype html><h1>good</h1>"
SLOW = GOOD + "<script>const n=Date.now();for(let i=0;i<3e8;i++);</script>"
"""Busy for some tenths of a second."""


@pytest.fixture
def browser() -> Path:
    """The browser of this machine; the test is skipped where there is none."""
    try:
        return find_browser()
    except MissingTool as error:
        pytest.skip(str(error))


def browsers() -> set[psutil.Process]:
    """Processes of browsers that we have started, renderers and all."""
    found = below_with("beholder-fenced-browser-")
    for process in list(found):
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= set(process.children(recursive=True))
    return found


async def seen_at_work(before: set[psutil.Process], within_s: float = 120.0) -> set[psutil.Process]:
    """The browser's processes, as soon as one of them is a renderer."""
    async with asyncio.timeout(within_s):
        while True:
            found = browsers() - before
            if any("--type=renderer" in command_line(one) for one in found):
                return found
            await asyncio.sleep(0.05)


def test_images_start_no_browser(tmp_path: Path) -> None:
    """Pictures need no browser: they are made although there is none."""
    one = submission(tmp_path / "a", {"a.png": png()})
    (shown,) = prepare(one, engine={"browser_path": "/nonexistent/browser"})
    assert shown.status == "ok"
    assert "browser" not in shown.renderer


def test_missing_browser_is_our_fault(tmp_path: Path) -> None:
    """Without a browser a page is unscored with the line that installs one, and never absent."""
    one = submission(tmp_path / "a", {"a.html": GOOD})
    (shown,) = prepare(one, engine={"browser_path": "/nonexistent/browser"})
    assert (shown.status, shown.reason) == ("unscored", "missing_tool")
    assert "install" in shown.detail


def test_a_browser_that_does_not_start(tmp_path: Path) -> None:
    """A browser that ends at once is our fault, and its last words are told."""
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\necho no display today >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    tmp_path.chmod(0o755)
    one = submission(tmp_path / "a", {"a.html": GOOD})
    (shown,) = prepare(one, engine={"browser_path": str(broken)})
    assert (shown.status, shown.reason) == ("unscored", "render_failed")
    assert "does not start" in shown.detail


def test_no_place_for_a_browser(tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder for the browser, or a port for the proxy, a page is unscored, never an error."""
    one = submission(tmp_path / "a", {"a.html": GOOD})
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        (shown,) = prepare(one)
    assert (shown.status, shown.reason) == ("unscored", "render_failed")

    async def no_port(*_: Any, **__: Any) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "no port")

    monkeypatch.setattr(asyncio, "start_server", no_port)
    (shown,) = prepare(one, network=NetworkPolicy(mode="allow", given=True))
    assert (shown.status, shown.reason) == ("unscored", "render_failed")
    assert "no port" in shown.detail


def test_fonts_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of fonts that does not come is no list, and no error."""
    broken = tmp_path / "fc-list"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fonts_fingerprint() == {}


def test_each_bad_file_has_its_own_cause(tmp_path: Path, browser: Path) -> None:
    """Bad files are absent, each with its true cause, and do not touch the good ones beside them."""
    html = "x.html"
    cases: dict[str, tuple[str, bytes | str]] = {
        "empty": ("x.png", b""),
        "wrong_type": ("x.png", "just a text"),
        "corrupt": ("x.png", png((200, 200))[:200]),
        "wrong_type html": (html, b"PK\x03\x04 a zip"),
        "wrong_type pdf": (html, b"%PDF-1.7"),
        "wrong_type image": (html, png()),
        "empty html": (html, b""),
        "ok": (html, "<h1>throws</h1><script>throw Error('x')</script>"),
        "ok blanks": ("한글 #1 ?.html", GOOD),
        "ok capitals": ("X.PNG", png()),
    }
    submissions = [
        submission(tmp_path / str(at), {name: data}) for at, (name, data) in enumerate(cases.values())
    ]
    for case, shown in zip(cases, prepare(*submissions), strict=True):
        wanted = case.split()[0]
        assert (shown.reason or shown.status) == wanted, case
        assert shown.status == ("ok" if wanted == "ok" else "absent")


def test_unsafe_paths(tmp_path: Path) -> None:
    """A link out of the folder, a dangling one, a pipe and a folder are absent and cost no time."""
    (tmp_path / "secret.png").write_bytes(png())
    root = tmp_path / "a"
    root.mkdir()
    (root / "out.png").symlink_to("../secret.png")
    (root / "gone.png").symlink_to("nowhere.png")
    (root / "folder.png").mkdir()
    os.mkfifo(root / "pipe.png")
    names = ("out.png", "gone.png", "folder.png", "pipe.png")
    ones = [
        Submission(task_id=name, model="m", root=root, artifacts=(artifact(root, name),)) for name in names
    ]
    began = time.monotonic()
    shown = prepare(*ones)
    assert time.monotonic() - began < 120
    assert [one.reason for one in shown] == ["unsafe_path", "missing", "unsafe_path", "unsafe_path"]
    assert {one.status for one in shown} == {"absent"}


def test_no_submission() -> None:
    """Without any file the submission is absent as missing."""
    (shown,) = prepare(Submission(task_id="t", model="m", root=None))
    assert (shown.status, shown.route, shown.reason) == ("absent", "none", "missing")


def test_flat_pages_load_no_other_submission(tmp_path: Path, browser: Path) -> None:
    """In a flat run directory a page loads its own files and those in plain folders, no other task's."""
    other = [
        "b.png",
        "link.png",
        "b.html",
        "c/artifacts/x.png",
        "c/response.txt",
        "d/response.txt",
        "in/link.png",
    ]
    own = ["a.png", "a_files/x.png", "a_files/deep/y.png"]
    page = GOOD + "".join(f"<img src='{name}'>" for name in (*own, *other))
    files: dict[str, bytes | str] = {name: png() for name in (*own, *other) if "link" not in name}
    run = tmp_path / "run"
    (run / "in").mkdir(parents=True)
    (run / "link.png").symlink_to("b.png")
    (run / "in" / "link.png").symlink_to("../b.png")
    one = submission(run, {**files, "a.html": page}, show=["a.html", "a.png"])
    flat, whole = prepare(replace(one, flat=True), one)
    facts = flat.artifacts[0].facts
    assert facts["served"] == {name: hashlib.sha256(png()).hexdigest() for name in own}
    assert facts["missing_files"] == sorted(other)
    assert set(whole.artifacts[0].facts["served"]) == {*own, *other}


def test_a_flat_run_directory_is_known(tmp_path: Path) -> None:
    """Submissions in the same folder say so; one with a folder of its own does not."""
    (tmp_path / "b" / "artifacts").mkdir(parents=True)
    (tmp_path / "a.html").write_text(GOOD)
    directory = RunDirectory(tmp_path, "m")
    tasks = [Task(id=name, fields={}, labels={}, row=1) for name in ("a", "b", "c")]
    assert [directory.open(task).flat for task in tasks] == [True, False, False]


def test_changed_file_is_not_judged(tmp_path: Path) -> None:
    """The bytes judged are the bytes that were pinned, or there is no judgement."""
    one = submission(tmp_path / "a", {"a.png": png()})
    (tmp_path / "a" / "a.png").write_bytes(png(colour="blue"))
    (shown,) = prepare(one)
    assert (shown.status, shown.reason) == ("unscored", "render_failed")
    assert shown.pictures == ()


def test_several_artifacts(tmp_path: Path) -> None:
    """With `all` each file is shown in suffix order, a broken one is listed, and the rest is judged."""
    one = submission(tmp_path / "a", {"b.png": png(), "a.png": b"", "c.txt": "words", "d.mp4": "x"})
    (shown,) = prepare(one, routing=ALL)
    assert shown.status == "ok"
    assert {item.name: (item.status, item.reason) for item in shown.artifacts} == {
        "a.png": ("absent", "empty"),
        "b.png": ("shown", None),
        "c.txt": ("not_shown", "not_selected"),
        "d.mp4": ("not_shown", "unsupported"),
    }
    assert [picture.source for picture in shown.pictures] == ["b.png"]


def test_budget_over_several_artifacts(tmp_path: Path) -> None:
    """A long picture leaves one place for each file after it; what finds none is listed."""
    long = png((1000, 9000))
    one = submission(tmp_path / "a", {"a.png": long, "b.png": png(), "c.png": png(), "d.png": png()})
    (shown,) = prepare(one, routing=ALL, images=5)
    assert [picture.source for picture in shown.pictures] == ["a.png", "a.png", "b.png", "c.png", "d.png"]
    (tight,) = prepare(one, routing=ALL, images=2)
    assert len(tight.pictures) == 2
    assert {item.name: item.reason for item in tight.artifacts if item.status == "not_shown"} == {
        "c.png": "budget",
        "d.png": "budget",
    }


def test_evidence_too_large(tmp_path: Path) -> None:
    """What cannot be made to fit the judge is unscored before any call, and no picture leaves."""
    one = submission(tmp_path / "a", {"a.png": png((500, 500))})
    (shown,) = prepare(one, limits=MediaLimits(image_bytes=40))
    assert (shown.status, shown.reason, shown.pictures) == ("unscored", "evidence_too_large", ())


def test_many_large_pictures(tmp_path: Path) -> None:
    """Twenty-five pictures of 2100 px in one request leave within the smaller edge for many pictures."""

    data = encoded(Image.linear_gradient("L").resize((2100, 2100)), "PNG")
    one = submission(tmp_path / "a", {f"{n:02}.png": data for n in range(25)})
    limits = replace(LIMITS, shrink_edge_px=None, shrink_pixels=None)
    (shown,) = prepare(one, routing=ALL, limits=limits)
    assert len(shown.pictures) == 25
    assert {max(pixels(picture).size) for picture in shown.pictures} == {2000}


HANGS = {
    "busy": "<h1>x</h1><script>while(true){}</script>",
    "alerts": "<h1>x</h1><script>for(;;)alert(1)</script>",
}


def test_hanging_pages(tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that hangs twice while a good page renders is absent; the pages beside it are shown."""
    bodies = {**HANGS, "good": GOOD}
    show = Renderers.show

    async def patient(self: Renderers, job: Job, *others: Any) -> Any:
        if job.data == GOOD.encode():  # it needs no second, but on a busy machine
            job = replace(job, policy=replace(job.policy, max_wait_s=Decimal(120)))
        return await show(self, job, *others)

    monkeypatch.setattr(Renderers, "show", patient)
    ones = [submission(tmp_path / name, {"a.html": body}) for name, body in bodies.items()]
    shown = dict(zip(bodies, prepare(*ones, max_wait_s=1), strict=True))
    for name in HANGS:
        assert (shown[name].status, shown[name].reason) == ("absent", "unrenderable"), name
    assert shown["good"].status == "ok"


def test_a_killed_browser_is_nobodys_fault(tmp_path: Path, browser: Path) -> None:
    """If the browser dies under a page, the page is tried again in a new one."""

    async def scene() -> str:
        policy = EvidencePolicy()
        async with EvidenceEngine(policy, PAGES, BLOCKED, LIMITS) as engine:
            first = await engine.prepare(submission(tmp_path / "a", {"a.html": GOOD}))
            assert first.status == "ok"
            for process in browsers():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            return (await engine.prepare(submission(tmp_path / "b", {"a.html": GOOD}))).status

    assert asyncio.run(scene()) == "ok"


def stop(processes: set[psutil.Process]) -> None:
    """Let processes stand still."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()


async def stopped(path: Path, **options: Any) -> Browser:
    """A browser that has been started and then stopped: it is there, and answers nothing."""
    started = await launch(path, **options)
    os.killpg(started.running.process.pid, signal.SIGSTOP)
    return started


def test_a_stopped_browser(tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that stands still is ended in bounded time, in the midst of a page or before one."""
    asked: list[str] = []
    answer = ServedFolder.answer

    def noted(self: ServedFolder, url: str) -> Any:
        asked.append(url)
        return answer(self, url)

    def patience(seconds: float) -> None:
        for name in ("browser.SETUP_S", "webshot.CAPTURE_S", "webshot.GRACE_S"):
            monkeypatch.setattr(f"beholder.evidence.{name}", seconds)

    def stopped_now(processes: set[psutil.Process]) -> None:
        stop(processes)
        patience(2.0)  # as little as a browser has that stands still, and none that is at work

    async def launched(path: Path, **options: Any) -> Browser:
        patience(120.0)
        return await launch(path, **options)

    monkeypatch.setattr(ServedFolder, "answer", noted)
    monkeypatch.setattr("beholder.evidence.pages.launch", launched)

    async def scene() -> list[str]:
        statuses = []
        async with EvidenceEngine(EvidencePolicy(max_wait_s=Decimal(2)), PAGES, BLOCKED, LIMITS) as engine:
            before = browsers()
            for name in ("first", "midst", "after"):
                asked.clear()
                one = asyncio.create_task(engine.prepare(submission(tmp_path / name, {"a.html": SLOW})))
                if name == "midst":
                    while not asked:  # noqa: ASYNC110 - told by another thread
                        await asyncio.sleep(0.005)
                    stopped_now(browsers() - before)
                statuses.append((await one).status)
                if name == "midst":
                    stopped_now(browsers() - before)
        return statuses

    async def in_time() -> list[str]:
        async with asyncio.timeout(400):
            return await scene()

    assert asyncio.run(in_time()) == ["ok"] * 3


def test_no_browser_answers(tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If every browser stands still, the good page's too, it is our fault; the next page is shown."""

    async def scene() -> list[tuple[str, str | None]]:
        async with EvidenceEngine(EvidencePolicy(), PAGES, BLOCKED, LIMITS) as engine:
            with monkeypatch.context() as patch:
                patch.setattr("beholder.evidence.pages.launch", stopped)
                patch.setattr("beholder.evidence.browser.SETUP_S", 1.0)  # for those that are stopped alone
                stuck = await engine.prepare(submission(tmp_path / "a", {"a.html": GOOD}))
            good = await engine.prepare(submission(tmp_path / "b", {"a.html": GOOD}))
            return [(shown.status, shown.reason) for shown in (stuck, good)]

    async def in_time() -> list[tuple[str, str | None]]:
        async with asyncio.timeout(400):
            return await scene()

    assert asyncio.run(in_time()) == [("unscored", "render_failed"), ("ok", None)]


def test_nothing_left_running(tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the engine is done, or is cancelled in the midst of a page, its browser and folder are gone."""
    before = browsers()
    folders: list[Path] = []

    def noted(kind: str, owner: int | None) -> Path:
        folders.append(make_folder(kind, owner))
        return folders[-1]

    monkeypatch.setattr("beholder.evidence.browser.make_folder", noted)
    prepare(submission(tmp_path / "a", {"a.html": GOOD}))
    seen: set[psutil.Process] = set()

    async def scene() -> None:
        async with EvidenceEngine(EvidencePolicy(), PAGES, BLOCKED, LIMITS) as engine:
            busy = asyncio.create_task(engine.prepare(submission(tmp_path / "b", {"a.html": HANGS["busy"]})))
            seen.update(await seen_at_work(before))
            busy.cancel()
            await asyncio.gather(busy, return_exceptions=True)

    asyncio.run(scene())
    assert seen
    assert left_of(seen | (browsers() - before)) == []
    assert len(folders) >= 2
    assert not [folder for folder in folders if folder.exists()]


def test_cancelled_in_the_moment_of_the_answer(
    tmp_path: Path, browser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation that comes together with the new browser's first answer ends the work all the same."""
    working: list[asyncio.Task[Any]] = []
    take = Connection._take

    def taken(self: Connection, message: dict[str, Any]) -> None:
        take(self, message)
        monkeypatch.setattr(Connection, "_take", take)
        working[0].cancel()

    monkeypatch.setattr(Connection, "_take", taken)

    async def scene() -> None:
        async with EvidenceEngine(EvidencePolicy(), PAGES, BLOCKED, LIMITS) as engine:
            one = submission(tmp_path / "a", {"a.html": HANGS["busy"]})
            working.append(asyncio.create_task(engine.prepare(one)))
            await asyncio.wait(working, timeout=300)
            assert working[0].cancelled()

    before = browsers()
    asyncio.run(scene())
    assert left_of(browsers() - before) == []


def test_a_killed_process_leaves_no_browser(tmp_path: Path, browser: Path) -> None:
    """If this process is killed outright, the browser ends with it."""
    before = browsers()
    code = (
        "import asyncio\n"
        "from beholder.evidence.browser import find_browser, launch\n"
        "async def main():\n"
        "    await launch(find_browser())\n"
        "    print('up', flush=True)\n"
        "    await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        started = browsers() - before
        assert started
        process.kill()
    assert left_of(started) == []


def test_sandbox(browser: Path) -> None:
    """As root the browser runs as another user, in its sandbox; the record tells."""
    info = asyncio.run(renderer_info())
    assert info["sandbox"] in {"on", "off"}
    if os.geteuid() == 0:
        assert info["sandbox_reason"].startswith("run as root")
    assert info["path"] == str(browser)
    assert set(info["fonts"]) in ({"count", "sha256"}, set())


def test_renderers_are_sandboxed(tmp_path: Path, browser: Path) -> None:
    """With the sandbox on, no process of the browser is root's and renderers run under seccomp."""

    async def scene() -> list[tuple[str, str]]:
        before = browsers()
        async with EvidenceEngine(EvidencePolicy(), PAGES, BLOCKED, LIMITS) as engine:
            await engine.prepare(submission(tmp_path / "a", {"a.html": GOOD}))
            if engine.renderer["sandbox"] == "off":
                pytest.skip(engine.renderer["sandbox_reason"])
            busy = submission(tmp_path / "b", {"a.html": HANGS["busy"]})
            working = asyncio.create_task(engine.prepare(busy))  # so that there is a renderer to look at
            states: list[tuple[str, str]] = []
            deadline = time.monotonic() + 120
            # A renderer that has just been started shuts itself in first.
            while not shut_in(states) and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
                states = looked_at(browsers() - before)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            return states

    states = asyncio.run(scene())
    assert shut_in(states)
    for line, status in states:
        assert "Uid:\t0\t" not in status
        assert "--no-sandbox" not in line


def looked_at(processes: set[psutil.Process]) -> list[tuple[str, str]]:
    """Command line and kernel's status of the processes that were there while both were read."""
    seen = [(command_line(one), kernel_status(one), command_line(one)) for one in processes]
    return [(line, status) for line, status, still in seen if line and status and line == still]


def shut_in(states: list[tuple[str, str]]) -> bool:
    """Whether there is a renderer, and each is under a filter on its system calls."""
    renderers = [status for line, status in states if "--type=renderer" in line]
    return bool(renderers) and all("Seccomp:\t2" in status for status in renderers)


def test_canary_counts() -> None:
    """The listener that the pages must not reach does count who comes."""

    async def scene() -> int:
        async with canary() as listener:
            _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            async with asyncio.timeout(60):
                while not listener.connections:  # noqa: ASYNC110 - it counts in this very loop
                    await asyncio.sleep(0.01)
            writer.close()
            return listener.connections

    assert asyncio.run(scene()) == 1


def test_misuse() -> None:
    """An engine without workers is a mistake of the caller."""
    with pytest.raises(ValueError, match="workers"):
        EvidenceEngine(EvidencePolicy(), Routing(), NetworkPolicy(), MediaLimits(), workers=0)


STRICT = Routing(kind="strict", visual=(".png",), text=(".md", ".txt"), select="all")


def test_text_route(tmp_path: Path) -> None:
    """Without a visual file the response comes first, then text files; a broken one is told and not fatal."""
    one = submission(tmp_path / "a", {"b.md": "# Notes", "a.txt": png()})
    (shown,) = prepare(replace(one, response="Done."), routing=STRICT)
    assert (shown.status, shown.route) == ("ok", "text")
    assert shown.texts == (("response.txt", "Done."), ("b.md", "# Notes"))
    assert {record.name: (record.status, record.reason) for record in shown.artifacts} == {
        "response.txt": ("shown", None),
        "b.md": ("shown", None),
        "a.txt": ("absent", "wrong_type"),
    }


def test_a_file_named_like_the_response(tmp_path: Path) -> None:
    """A text file named as the response is told from it."""
    one = submission(tmp_path / "a", {"response.txt": "From the folder."})
    (shown,) = prepare(replace(one, response="Done."), routing=STRICT)
    assert shown.texts == (("response.txt", "Done."), ("artifacts/response.txt", "From the folder."))


def test_only_broken_texts(tmp_path: Path) -> None:
    """A submission whose only text file is none is absent with its cause."""
    (shown,) = prepare(submission(tmp_path / "a", {"a.txt": png()}), routing=STRICT)
    assert (shown.status, shown.reason, shown.route) == ("absent", "wrong_type", "text")


def test_strict_visual_route_shows_pictures_only(tmp_path: Path) -> None:
    """With a visual file nothing but pictures is shown, and the texts are listed with the reason."""
    one = submission(tmp_path / "a", {"a.png": png(), "b.md": "# Notes"})
    (shown,) = prepare(replace(one, response="Done."), routing=STRICT, engine={"texts": ["response"]})
    assert (shown.status, shown.route, shown.texts, len(shown.pictures)) == ("ok", "visual", (), 1)
    listed = {record.name: record.reason for record in shown.artifacts if record.status == "not_shown"}
    assert listed == {"response.txt": "not_selected", "b.md": "not_selected"}


@pytest.mark.parametrize("texts", [(), ("response",), ("artifacts",), ("response", "artifacts")])
def test_texts_beside_pictures(tmp_path: Path, texts: tuple[str, ...]) -> None:
    """Where one judge sees all, texts are shown beside pictures only if the prompt has a place for them."""
    routing = replace(STRICT, kind="visual")
    one = submission(tmp_path / "a", {"a.png": png(), "b.md": "# Notes"})
    (shown,) = prepare(replace(one, response="Done."), routing=routing, engine={"texts": texts})
    names = {"response": "response.txt", "artifacts": "b.md"}
    assert [name for name, _ in shown.texts] == [names[text] for text in texts]
    assert len(shown.pictures) == 1


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    """A file whose name is no UTF-8 is shown like any other, under a name that can be written."""
    name = os.fsdecode(b"bad\xff.md")
    try:
        one = submission(tmp_path / "a", {name: "# Notes"})
    except OSError as error:
        pytest.skip(f"this file system takes no such name: {error}")
    (shown,) = prepare(one, routing=STRICT)
    assert (shown.status, shown.texts) == ("ok", (("bad\\udcff.md", "# Notes"),))
    assert [artifact.name for artifact in shown.artifacts] == ["bad\\udcff.md"]


def test_what_is_cut_does_not_depend_on_what_was_ready_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long each file takes, the same pictures stay, and each cut is told once."""
    gif = [Image.new("RGB", (64, 64), (40 * at, 255 - 40 * at, 90)) for at in range(6)]
    frames = io.BytesIO()
    gif[0].save(frames, "GIF", save_all=True, append_images=gif[1:], duration=100)
    routing = replace(STRICT, visual=(".gif",))
    one = submission(tmp_path / "a", {f"{name}.gif": frames.getvalue() for name in "abc"})
    slow = {"a": 0.0, "b": 0.3, "c": 0.6}
    show = Renderers.show

    def seen() -> tuple[Any, ...]:
        (shown,) = prepare(one, routing=routing, images=7)
        kept = [(picture.source, picture.sha256, picture.time_s) for picture in shown.pictures]
        return kept, [warning for warning in shown.warnings if warning.code == "truncated"]

    async def late(self: Renderers, job: Any, *others: Any) -> Any:
        rendered = await show(self, job, *others)
        await asyncio.sleep(slow[job.name[0]])
        return rendered

    monkeypatch.setattr(Renderers, "show", late)
    first = seen()
    slow = {"a": 0.6, "b": 0.3, "c": 0.0}
    assert seen() == first
    assert len(first[0]) == 7
    assert [warning.source for warning in first[1]] == ["a.gif", "b.gif", "c.gif"]
