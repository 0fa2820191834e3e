"""The door to judging from a program: one judge, opened for an event loop or for threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict, TypeVar, Unpack

from beholder.records import NetworkPolicy
from beholder.run.judgement import Judgement
from beholder.run.plan import Plan, plan_judging
from beholder.run.reward import Asked, AsyncJudge, opened
from beholder.run.rollout import Handed
from beholder.run.spec import RunSpec

T = TypeVar("T")


class JudgeOptions(TypedDict, total=False):
    """Of judge, evidence, calls and money: each as `RunSpec` has it, with the same default."""

    judge: str | None
    text_judge: str | None
    visual_judge: str | None
    prompt_file: Path | None
    repeats: int | None
    judge_name: str | None
    base_url: str | None
    api_key_env: str | None
    max_tokens: int | None
    temperature: Decimal | None
    settings: Mapping[str, Any]
    max_connections: int
    max_retries: int
    timeout_s: float
    min_interval_s: float | None
    network: NetworkPolicy
    record: Path | None
    replay: Path | None
    cache_dir: Path | None
    max_output_images: int | None
    max_output_pages: int | None
    max_output_text_chars: int | None
    max_cost: Decimal | None
    price: tuple[Decimal, Decimal] | None
    retry_unscored: bool


def open_judge(
    *,
    protocol: str | Path,
    out_dir: Path,
    say: Callable[[str], object] | None = None,
    **options: Unpack[JudgeOptions],
) -> JudgeOpening:
    """A judge for submissions that come one by one: `async with` gives an `AsyncJudge`, `with` a `SyncJudge`.

    Browser, workers and connections stay warm until it is closed. At most `max_connections` calls are under
    way at a time, and a few more submissions, whose evidence is being made.

    Args:
        protocol: Built-in id or protocol file.
        out_dir: Where every reply that was paid for is kept, with the evidence; it has no default, for what
            lies in a temporary folder is lost. It is for one question and one judge, and held by one process.
            The same task and the same bytes are answered from it without a call, today or next week.
        say: Takes lines for the user, such as the judge's name.
        options: Fields of `RunSpec`: `judge`, `repeats`, `network`, `cache_dir`, `max_connections`, ….

    Raises:
        SpecError: A file or an option is wrong; nothing was sent.
        StoreError: On entering: the out-dir is held by another process, pinned to other inputs, or damaged.
    """
    # Tasks and submissions are handed over one by one.
    spec = RunSpec(tasks=Path(), run_dirs={}, protocol=protocol, out_dir=Path(out_dir), **options)
    return JudgeOpening(plan_judging(spec, protocol), say or (lambda _: None))


class JudgeOpening:
    """A judge that can be opened: by `async with` for the running event loop, by `with` for threads."""

    def __init__(self, plan: Plan, say: Callable[[str], object]) -> None:
        self._plan = plan
        self._say = say
        self._opened: contextlib.AbstractAsyncContextManager[AsyncJudge] | None = None
        self._thread: _LoopThread | None = None

    async def __aenter__(self) -> AsyncJudge:
        if self._opened is not None:
            raise ValueError("the judge is open already; for a second one call open_judge again")
        opening = opened(self._plan, self._say)
        judge = await opening.__aenter__()
        self._opened = opening
        return judge

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is None:
            raise ValueError("the judge is not open")
        opening, self._opened = self._opened, None
        await opening.__aexit__(kind, error, trace)

    def __enter__(self) -> SyncJudge:
        thread = _LoopThread()
        try:
            judge = thread.run(self.__aenter__())
        except BaseException:
            thread.end()
            raise
        self._thread = thread
        return SyncJudge(judge, thread)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is None:
            raise ValueError("the judge is not open")
        thread, self._thread = self._thread, None
        try:
            thread.run(self.__aexit__(kind, error, trace))
        finally:
            thread.end()


class SyncJudge:
    """An open judge, for any number of threads. Made by `with open_judge(…)`; see `AsyncJudge`."""

    def __init__(self, judge: AsyncJudge, thread: _LoopThread) -> None:
        self._judge = judge
        self._thread = thread

    def score(self, task: Asked, submission: Handed) -> Judgement:
        """Judge one submission; see `AsyncJudge.score`."""
        return self._thread.run(self._judge.score(task, submission))

    def score_all(self, pairs: Iterable[tuple[Asked, Handed]]) -> list[Judgement]:
        """Judge many submissions at once, each with its task: what they came to, in order."""
        return self._thread.run(self._judge.score_all(list(pairs)))


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ended = False
        self._handing = threading.Lock()
        # A program that forgets to close the judge must still be able to end.
        self._thread = threading.Thread(target=self._work, name="beholder-judge", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of it; if waiting is interrupted, the work is cancelled.

        Raises:
            ValueError: The loop has ended.
        """
        with self._handing:
            if self._ended:
                work.close()
                raise ValueError("the judge is closed; open it again with open_judge")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def end(self) -> None:
        """Take no more work, and wait for what there is."""
        with self._handing:
            if not self._ended:
                self._ended = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            # Closing that was interrupted is still tidying up.
            left = asyncio.all_tasks(self._loop)
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()
