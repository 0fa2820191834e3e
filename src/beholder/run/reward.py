"""Submissions judged one by one, from within a program's own loop, by a judge that stays open.

What a run is made of is opened once, and each submission takes a task's way through it (`run/task.py`): what
comes out is the row that `judge_run` writes for the same task and the same files.

    task, submission -> pinned -> its turn -> evidence -> calls that the ledger does not answer -> Judgement

Equal submissions of one task take turns, so that the second finds the first one's replies in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from beholder.errors import ConfigError, JudgeRejected
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.slots import default_workers
from beholder.fenced.threads import to_its_end
from beholder.judges import RetryPolicy
from beholder.protocols import protocol_for, task_columns
from beholder.records import Route, Task
from beholder.run.budget import Budget, spent_before
from beholder.run.judgement import Judgement, judgement_of
from beholder.run.opening import (
    close_desks,
    engine_for,
    environment,
    halt,
    open_desks,
    places_for,
    refuse_joint,
    say_lost,
)
from beholder.run.plan import Plan
from beholder.run.progress import Progress
from beholder.run.rollout import Handed, Rollout, RolloutSource, pin_rollout
from beholder.run.stop import Stop
from beholder.run.task import Desk, TaskJudge
from beholder.store import ANY_MODEL, OutDir
from beholder.tasks import read_task

Asked = Task | Mapping[str, Any]
"""A task, or its row as a task file has it: `task_id` and the columns that the prompt uses."""


class AsyncJudge:
    """An open judge, for the event loop that it was opened in. Made by `async with open_judge(…)`."""

    def __init__(
        self,
        plan: Plan,
        out: OutDir,
        engine: EvidenceEngine,
        desks: Mapping[Route, Desk],
        budget: Budget,
    ) -> None:
        self._plan = plan
        self._out = out
        self._engine = engine
        self._desks = desks
        self._budget = budget
        self._retry = RetryPolicy(max_retries=plan.spec.max_retries)
        self._stop = Stop()
        self._loop = asyncio.get_running_loop()
        self._places = asyncio.Semaphore(places_for(plan.spec.max_connections))
        # A few at a time: thousands would keep the threads from those whose turn has come.
        self._pinning = asyncio.Semaphore(default_workers())
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._under_way: set[asyncio.Task[Judgement]] = set()
        self._closed = False

    async def score(self, task: Asked, submission: Handed) -> Judgement:
        """Judge one submission.

        Cancelled before its turn has come it is as if it had never been asked for. Once begun it goes on by
        itself, since its calls may be paid for: the ledger gets their replies, and who asks again has them.

        Args:
            task: A task or its row. Its id and its texts are a part of each call's identity.
            submission: A folder, as in a run directory or with nothing but its files; a file, which is judged
                alone; or contents by name, read as the folder that they would make. A path where nothing
                lies is a submission that is missing.

        Raises:
            TaskError, ProtocolError: The task's row is wrong.
            JudgeRejected: The ledger has no answer, and no call can succeed any more: the key, the quota, the
                model's name, or `max_cost`.
            ConfigError: The out-dir lies in the submission's folder.
            StoreError: The disk.
            ValueError: The judge is closed, or open in another event loop.
            TypeError: A submission of no such kind.
        """
        self._check()
        cells = {"task_id": task.id, **task.labels, **task.fields} if isinstance(task, Task) else task
        columns = task_columns(self._plan.protocol)
        if isinstance(submission, os.PathLike):
            self._check_apart(Path(submission))
        asked, begun = read_task(cells, **columns), asyncio.Event()
        running = asyncio.create_task(self._in_turn(asked, submission, begun))
        self._under_way.add(running)
        running.add_done_callback(self._ended)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if not begun.is_set():
                running.cancel()
            raise

    async def score_all(self, pairs: Iterable[tuple[Asked, Handed]]) -> list[Judgement]:
        """Judge many submissions, each with its task: what they came to, in order.

        Raises:
            Exception: What `score` raises for any of them; those that had not begun are not asked then.
        """
        running = [asyncio.ensure_future(self.score(task, submission)) for task, submission in pairs]
        try:
            return list(await asyncio.gather(*running))
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    # --- one submission -------------------------------------------------------------------------

    async def _in_turn(self, task: Task, handed: Handed, begun: asyncio.Event) -> Judgement:
        protocol = protocol_for(self._plan.protocol, task)
        plan = replace(self._plan, tasks=(task,), per_task={task.id: protocol})
        async with self._pinning:
            rollout = await asyncio.to_thread(pin_rollout, task.id, handed)
        turn = self._turns.setdefault((task.id, rollout.word), asyncio.Lock())
        async with turn, self._places:
            begun.set()
            return await self._judge(plan, task, rollout)

    async def _judge(self, plan: Plan, task: Task, rollout: Rollout) -> Judgement:
        source, progress = RolloutSource(rollout), Progress(planned=1)
        judge = TaskJudge(
            plan=plan,
            out=self._out,
            submissions=source,
            engine=self._engine,
            desks={route: _desk_of(rollout, desk) for route, desk in self._desks.items()},
            retry=self._retry,
            budget=self._budget,
            stop=self._stop,
            progress=progress,
        )
        try:
            row = await judge.judge_task(task)
        finally:
            await to_its_end(source.close)
        if row["outcome"] == "unscored" and self._stop.is_set:
            raise self._stopped()
        return judgement_of(row, self._out.path, progress)

    # --- open, stopped, closed ------------------------------------------------------------------

    def _check(self) -> None:
        if self._closed:
            raise ValueError("the judge is closed; open it again with open_judge")
        if asyncio.get_running_loop() is not self._loop:
            raise ValueError("the judge is open in another event loop; for threads say: with open_judge(…)")

    def _check_apart(self, submission: Path) -> None:
        """What is written must not be among what is read, or the next call would take it for such."""
        if self._out.path.resolve().is_relative_to(submission.resolve()):
            raise ConfigError(
                f"{self._out.path} lies in the submission {submission}; choose an out_dir apart from it",
                concerns="out_dir",
            )

    def _stopped(self) -> JudgeRejected:
        return JudgeRejected(
            f"no further call is made: {self._stop.message}. What was paid for is kept in {self._out.path}; "
            "open the judge again once that is mended",
            slug=self._stop.slug,
            stops_run=True,
        )

    def _ended(self, running: asyncio.Task[Judgement]) -> None:
        self._under_way.discard(running)
        if not running.cancelled():
            running.exception()  # nobody may be waiting for it any more

    def halt(self) -> None:
        """Let no call out any more: what is under way ends as soon as its own calls have."""
        self._stop.set("interrupted", "the judge was closed while it was under way")
        halt(self._desks, self._budget)

    async def finish(self) -> None:
        """Take nothing new, and wait for what is under way; if that is cancelled, so is all of it."""
        self._closed = True
        try:
            while self._under_way:
                await asyncio.wait(self._under_way)
        finally:
            for one in (left := set(self._under_way)):
                one.cancel()
            await asyncio.gather(*left, return_exceptions=True)


def _desk_of(rollout: Rollout, desk: Desk) -> Desk:
    """A desk whose evidence, prompt and replies lie in the rollout's own folder."""
    return replace(desk, seat=replace(desk.seat, folder=f"{rollout.word}/{desk.seat.folder}"))


@contextlib.asynccontextmanager
async def opened(plan: Plan, say: Callable[[str], object]) -> AsyncIterator[AsyncJudge]:
    """An open judge. Leaving it waits for what is under way; leaving it by an exception lets no call out."""
    with contextlib.ExitStack() as closing:
        desks = open_desks(plan, environment(plan, say), say)
        refuse_joint(plan.spec.out_dir)
        out = OutDir(plan.spec.out_dir, plan.out_dir_pins(ANY_MODEL))
        closing.callback(out.close)
        say_lost([out], say)
        budget = Budget(limit_usd=plan.spec.max_cost, spent_usd=spent_before(out.ledger, plan))
        async with engine_for(plan) as engine:
            judge = AsyncJudge(plan, out, engine, desks, budget)
            try:
                yield judge
            except BaseException:
                judge.halt()
                raise
            finally:
                try:
                    await judge.finish()
                finally:
                    await close_desks(desks)
        if engine.cache_problem:
            say(f"Not everything could be kept in cache_dir {engine.cache_problem}")
