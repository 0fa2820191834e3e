"""Judging that is cancelled at whatever moment: no reply that came is lost, and what opens again goes on."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from psutil import Process

from beholder.errors import BeholderError
from beholder.evidence.engine import EvidenceEngine
from beholder.judges import CallContext, connect_judge
from beholder.judges.uploads import FileStore, Upload
from beholder.records import JudgeSpec, Video
from beholder.run import conductor
from beholder.run.plan import plan_run
from beholder.run.rollout import RolloutSource, pin_rollout
from beholder.run.spec import RunSpec
from beholder.store import ledger_copy
from beholder.store.ledger import Totals
from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.office import open_place
from tests.fakes.processes import below, left_of
from tests.fakes.runs import gis_reply, gis_run, rows_of
from tests.fakes.steps import CountingLoop, all_reaped, cancelled_at
from tests.test_run_reward import MAP, TASK, opening, other, scripted

GOOD = rule(text=gis_reply(), delay_s=0.02)
STEPS = st.lists(st.integers(1, 12) | st.integers(1, 250), min_size=1, max_size=2)


def at_whatever_step(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of moments, once or twice in one piece of work, as many as there are examples."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        # No smaller example is looked for: each takes seconds, and the first one tells what is wrong.
        tried = settings(max_examples=examples, phases=(Phase.explicit, Phase.generate), database=None)
        return tried(given(steps=STEPS)(test))

    return decorate


def totals(out: Path) -> Totals:
    """What a ledger has, which must open; nothing if there is none yet."""
    with ledger_copy(out) as ledger:
        return Totals() if ledger is None else ledger.totals(this_run=False)


def accounted(out: Path, server: JudgeServer) -> None:
    """Each request that went out is in the ledger, with its reply or as one that may have been billed."""
    found = totals(out)
    assert found.replied + found.possibly_billed >= len(server.requests)
    assert found.failed == 0


def leaves_nothing(scene: Callable[[Path], Any]) -> None:
    """Run it in a loop of its own, and look for processes, folders, tasks and errors that nobody saw."""
    before = below()
    with pytest.MonkeyPatch.context() as patch, open_place() as folder:
        patch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        (folder / "work").mkdir()
        with asyncio.Runner(loop_factory=CountingLoop) as runner:
            loop = cast("CountingLoop", runner.get_loop())
            runner.run(scene(folder / "work"))
            assert asyncio.all_tasks(loop) == set()
            runner.run(all_reaped(before))
            gc.collect()
        assert loop.complaints == []
        assert left_of(below() - before) == []
        assert list((folder / "tmp").iterdir()) == []


# --- a judge that stays open --------------------------------------------------------------------


def scoring_is_cancelled(steps: list[int]) -> None:
    """Cancel one of two scores at these steps; the judge stays open."""

    async def scene(folder: Path) -> None:
        with JudgeServer([GOOD]) as server:
            async with opening(folder, server.url) as judge:
                beside = asyncio.create_task(judge.score(TASK, other(1)))
                first, *more = steps
                cancelled = await cancelled_at(first, asyncio.create_task(judge.score(TASK, MAP)), *more)
                assert (await beside).score == 86
                assert (await judge.score(TASK, MAP)).score == 86
            # Whether it had begun when it was cancelled or not: each is asked about once.
            assert len(server.requests) == 2, cancelled
            found = totals(folder / "rewards")
            assert (found.attempts, found.replied) == (2, 2)

    leaves_nothing(scene)


@pytest.mark.long
@at_whatever_step(30)
def test_scoring_cancelled_at_many_moments(steps: list[int]) -> None:
    """No reply is lost, none is paid twice, and nothing is left; others and the judge go on."""
    scoring_is_cancelled(steps)


def the_judge_is_cancelled(steps: list[int]) -> None:
    """Cancel all that a program does with a judge, from opening to closing it."""

    async def program(folder: Path, server: JudgeServer) -> None:
        async with opening(folder, server.url) as judge:
            await judge.score_all([(TASK, MAP), (TASK, other(1))])

    async def scene(folder: Path) -> None:
        with JudgeServer([GOOD]) as server:
            first, *more = steps
            await cancelled_at(first, asyncio.create_task(program(folder, server)), *more)
            asked = len(server.requests)
            found = totals(folder / "rewards")
            # What was sent is not known to be lost before the ledger is opened again.
            assert found.replied <= asked <= found.attempts
            async with opening(folder, server.url) as judge:
                both = await judge.score_all([(TASK, MAP), (TASK, other(1))])
            assert [one.score for one in both] == [86, 86]
            assert sum(one.calls for one in both) == 2 - found.replied
            accounted(folder / "rewards", server)

    leaves_nothing(scene)


@pytest.mark.long
@at_whatever_step(30)
def test_a_judge_cancelled_at_many_moments(steps: list[int]) -> None:
    """Its out-dir opens again, replies that came are kept, and only what has none is asked again."""
    the_judge_is_cancelled(steps)


# --- a run --------------------------------------------------------------------------------------


def a_run_is_cancelled(steps: list[int]) -> None:
    """Cancel a run, as a second Ctrl-C does, and go on with it."""

    async def scene(folder: Path) -> None:
        tasks, run_dir = gis_run(folder, ["a", "b"])
        with JudgeServer([GOOD]) as server:
            spec = RunSpec(
                tasks=tasks,
                run_dirs={"m": run_dir},
                out_dir=folder / "out",
                protocol="gis-bench",
                judge="openai-compatible/judge-1",
                base_url=f"{server.url}/v1",
                repeats=2,
                min_interval_s=0,
                max_retries=0,
            )

            async def go() -> Any:
                return await conductor._run(plan_run(spec), "none", lambda _: None)

            first, *more = steps
            await cancelled_at(first, asyncio.create_task(go()), *more)
            found = totals(folder / "out")
            assert found.replied <= len(server.requests) <= found.attempts
            result = await go()
            assert (result.unscored, result.stopped) == (0, None)
            assert [row["main_score"] for row in rows_of(folder / "out")] == [86, 86]
            again = totals(folder / "out")
            assert again.replied == 4
            accounted(folder / "out", server)

    leaves_nothing(scene)


@pytest.mark.long
@at_whatever_step(30)
def test_a_run_cancelled_at_many_moments(steps: list[int]) -> None:
    """It goes on where it was: replies that came are kept, and nothing is left of the first one."""
    a_run_is_cancelled(steps)


# --- one by one ---------------------------------------------------------------------------------


def test_what_fails_while_it_is_ended_is_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in tidying up after a cancellation does not undo it: the work is cancelled, and has no row."""
    begun = asyncio.Event()

    async def prepare(*_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("tidying up failed")

    monkeypatch.setattr(EvidenceEngine, "prepare", prepare)

    async def scene() -> None:
        async with scripted(tmp_path, [{"reply": gis_reply()}]) as judge:
            score = asyncio.create_task(judge.score(TASK, MAP))
            await begun.wait()
            (running,) = judge._under_way
            running.cancel()
            await asyncio.wait([running, score])
            assert running.cancelled()

    asyncio.run(scene())


def test_a_submission_closed_while_it_is_written_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing waits until it has been written, and nothing is written after it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writing, go = threading.Event(), threading.Event()
    write = Path.write_bytes

    def slow(path: Path, data: bytes) -> int:
        writing.set()
        go.wait(60)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", slow)
    source = RolloutSource(pin_rollout("a", {"a.png": b"x"}))
    opened = threading.Thread(target=lambda: source.open(cast("Any", None)))
    closed = threading.Thread(target=source.close)
    opened.start()
    assert writing.wait(60)
    closed.start()
    closed.join(0.1)
    go.set()
    opened.join(60)
    closed.join(60)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        source.open(cast("Any", None))
    assert list(tmp_path.iterdir()) == []


def test_a_deletion_that_was_cancelled_is_tried_again() -> None:
    """A video in the vendor's store keeps its name until it has been deleted."""
    deleted: list[str] = []
    waits = asyncio.Event()

    class Files:
        async def delete(self, *, name: str) -> None:
            if not deleted:
                deleted.append("tried")
                await waits.wait()
            deleted.append(name)

    async def scene() -> None:
        store = FileStore(
            files=cast("Any", Files()), host="h", timeout_s=1, errors=(), translate=cast("Any", BeholderError)
        )
        video = Video(
            sha256="", media_type="video/mp4", width_px=1, height_px=1, size_bytes=1, duration_s=1, source="a"
        )
        upload = Upload(video, name="files/a", uri="https://h/a")
        deleting = asyncio.create_task(store.delete(upload))
        await asyncio.sleep(0)
        deleting.cancel()
        await asyncio.wait([deleting])
        assert (upload.name, upload.uri) == ("files/a", None)
        await store.delete(upload)
        assert upload.name is None

    asyncio.run(scene())
    assert deleted == ["tried", "files/a"]


def test_connections_close_though_closing_is_cancelled() -> None:
    """At whatever step: no socket to the judge stays open."""

    async def scene(server: JudgeServer) -> None:
        port = int(server.url.rpartition(":")[2])

        def sockets() -> int:
            return sum(bool(one.raddr) and one.raddr.port == port for one in Process().net_connections())

        for step in range(1, 7):
            spec = JudgeSpec(provider="openai-compatible", name="judge-1", base_url=f"{server.url}/v1")
            judge = connect_judge(spec, api_key=None)
            call = CallContext(task_id="a", model="m", repeat=1)
            question = judge.prepare("Map a.", [])
            await asyncio.gather(judge.ask(question, call), judge.ask(question, call))
            assert sockets() > 0
            await cancelled_at(step, asyncio.create_task(judge.aclose()))
            async with asyncio.timeout(60):
                while sockets():  # noqa: ASYNC110 - the loop closes them
                    await asyncio.sleep(0.01)

    with JudgeServer([GOOD]) as server, asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(scene(server))
