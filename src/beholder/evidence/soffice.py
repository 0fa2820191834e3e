"""LibreOffice, many files a call: start-up costs several times what a page of text does.

Files that wait are converted by one call of `soffice --convert-to`, a few calls side by side, each with a
profile of its own behind the fence. A call writes one output after the other, in the order of its inputs;
that is how a hang or a crash is told from slow work, and whose it is:

    out/ has 0000.pdf 0001.pdf and nothing new within a file's time, or the process died
        -> 0002 is tried again alone, 0003 and later go into another call

A file that fails alone, too, while a document known to be good is converted, is broken; if the good one
fails, LibreOffice is. A persistent office that is spoken to over a socket would save the start-up as well,
but dies of one bad file and takes the others along.

    soffice_find      where the program is
    soffice_profile   its settings
    soffice_run       the program behind its fence, watched while it runs
    soffice_call      one call: folder, profile, inputs, what has come out
    soffice_batch     which files go together
    soffice           who waits for what, and whose fault a failure is
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.slots import Slots, processors
from beholder.evidence.soffice_batch import BATCH, Conversion, Item, next_batch
from beholder.evidence.soffice_call import CallResult, Office, Target
from beholder.evidence.soffice_find import find_soffice
from beholder.fenced.programs import best_fence
from beholder.fenced.threads import to_its_end

GATHER_S = 0.02
"""What the first file waits for company, and again as long as there comes some."""

MOST_GATHERS = 10
"""So often at most, however many files still come."""

DEADLINE_S = 60.0
"""CPU seconds for one file, which a busy machine does not shorten. The slowest honest ones take a third."""

AGAIN = 3
"""Calls that may end before a file's turn comes, until it is tried alone."""

_GOOD: dict[Target, tuple[str, bytes]] = {
    "pdf": (".rtf", b"{\\rtf1 good}"),
    "ods": (".csv", b"good,1\n"),
}
"""What is converted to find out whose fault a failure is: suffix and content."""


class OfficeSuite:
    """Converts documents; an async context manager that leaves nothing behind.

    Args:
        path: The program to use instead of the one that is found.
        calls: Calls side by side, and never more than there are processors: each pays its start-up.
        deadline_s: CPU seconds for one file; thrice that by the clock.

    Attributes:
        renderer: Version, fence and profile of what has converted so far; empty before the first file.
    """

    def __init__(
        self, path: str | None = None, *, calls: int = 2, batch: int = BATCH, deadline_s: float = DEADLINE_S
    ) -> None:
        if calls < 1 or batch < 1:
            raise ValueError(f"calls and batch must be at least 1, not {calls} and {batch}")
        self._given = path
        self._calls = min(calls, processors())
        self._batch = batch
        self._deadline_s = deadline_s
        self._slots = Slots(self._calls)
        self._running = 0
        self._waiting: deque[Item] = deque()
        self._dispatcher: asyncio.Task[None] | None = None
        self._tasks: dict[asyncio.Task[None], Sequence[Item]] = {}
        self._open: set[Item] = set()
        self._starting = asyncio.Lock()
        self._office: Office | None = None
        self._info: asyncio.Task[dict[str, Any]] | None = None
        self._broken: RendererFailed | None = None
        self._closed = False
        self.renderer: dict[str, Any] = {}

    async def __aenter__(self) -> OfficeSuite:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End every call with all it has started; the folder goes too."""
        self._closed = True
        tasks = [*self._tasks, *(one for one in (self._dispatcher, self._info) if one is not None)]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
            async with self._starting:
                pass  # what is being started finds the suite closed
        finally:
            # All of them, not only those that wait: a call cancelled before it began has told nobody.
            self._fail(self._open, RendererFailed("the office suite was closed", concerns="office"))
            self._waiting.clear()
            office, self._office = self._office, None
            if office is not None:
                await to_its_end(office.remove)

    # --- one file -------------------------------------------------------------------------------

    async def convert(self, name: str, suffix: str, data: bytes, *, target: Target) -> Conversion:
        """A file converted to `target`.

        Args:
            name: The artifact's, for messages.
            suffix: Of the content's true format; LibreOffice chooses its reader by it.

        Raises:
            MissingTool: There is no LibreOffice.
            BrokenArtifact: `unrenderable` or `corrupt`: it fails twice, the second time alone, and a good
                document does not.
            RendererFailed: A good document fails, too.
        """
        office = await self._start()
        if self._broken is not None:
            raise _same(self._broken, name)
        if self._closed:
            raise RendererFailed("the office suite is closed", concerns=name)
        info = self._ask(office)
        item = Item(name, suffix, data, target, office, asyncio.get_running_loop().create_future())
        self._waiting.append(item)
        self._open.add(item)
        self._wake()
        try:
            conversion = await item.done
        except asyncio.CancelledError:
            self._leave(item)
            raise
        finally:
            self._open.discard(item)
        await asyncio.wait([info])  # unlike the task itself: if we are cancelled, others still wait for it
        if info.cancelled():
            raise RendererFailed("the office suite was closed", concerns=name)
        self.renderer = info.result()
        return conversion

    async def _start(self) -> Office:
        """The program, found by the first who needs it."""
        async with self._starting:
            if self._closed:
                raise RendererFailed("the office suite is closed", concerns="office")
            if self._office is None:
                program = find_soffice(self._given)
                fence = await asyncio.to_thread(best_fence)
                if self._closed:
                    raise RendererFailed("the office suite is closed", concerns="office")
                self._office = Office(program, fence, self._deadline_s)
            return self._office

    def _ask(self, office: Office) -> asyncio.Task[dict[str, Any]]:
        """What the program says of itself, asked while the first files are on their way."""
        # What could not be asked, as on a machine short of memory, is asked again for the next file.
        if self._info is None or (self._info.done() and (self._info.cancelled() or self._info.exception())):
            self._info = asyncio.get_running_loop().create_task(office.info())
        return self._info

    # --- which files go together ----------------------------------------------------------------

    def _wake(self) -> None:
        if self._dispatcher is None or self._dispatcher.done():
            self._dispatcher = asyncio.get_running_loop().create_task(self._dispatch())

    async def _dispatch(self) -> None:
        """Start a call whenever one is free and files wait."""
        seen = 0
        for _ in range(MOST_GATHERS):
            await asyncio.sleep(GATHER_S)
            if len(self._waiting) == seen:
                break
            seen = len(self._waiting)
        while self._waiting:
            free = self._slots.shared()
            await free.acquire()
            batch = next_batch(self._waiting, most=self._batch, parts=self._calls - self._running)
            chosen = set(batch)
            self._waiting = deque(
                item for item in self._waiting if item not in chosen and not item.done.done()
            )
            if not batch:
                free.release()
                continue
            self._running += 1
            self._track(self._convert_batch(batch), batch, free)

    def _track(
        self, work: Coroutine[Any, Any, None], items: Sequence[Item], slot: asyncio.Semaphore | None = None
    ) -> None:
        """Let it run beside; whatever it fails with, those who wait for its files are told.

        Args:
            slot: Released at its end, which may come before it has begun.
        """

        def ended(task: asyncio.Task[None]) -> None:
            del self._tasks[task]
            if slot is not None:
                self._running -= 1
                slot.release()
            error = None if task.cancelled() else task.exception()
            if error is not None:
                for item in items:
                    if not item.done.done():
                        item.done.set_exception(error)

        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = items
        task.add_done_callback(ended)

    def _leave(self, item: Item) -> None:
        """End the call that is at work on a file, unless somebody waits for another file of it."""
        for task, items in self._tasks.items():
            if item in items and all(one.done.done() for one in items):
                task.cancel()

    async def _convert_batch(self, batch: list[Item]) -> None:
        try:
            files = [(one.suffix, one.data) for one in batch]
            result = await batch[0].office.call(
                files, batch[0].target, lambda at, output: _settle(batch[at], Conversion(output))
            )
            again: list[Item] = []
            for at, (item, made) in enumerate(zip(batch, result.made, strict=True)):
                if made:
                    continue
                if result.suspect is not None and at > result.suspect and item.passed_over < AGAIN:
                    item.passed_over += 1
                    again.append(item)
                else:
                    self._track(self._convert_alone(item), [item])
            self._waiting.extendleft(reversed(again))
            if self._waiting:
                self._wake()
        except RendererFailed as error:
            self._fail(batch, error)

    async def _convert_alone(self, item: Item) -> None:
        """The second try, while nothing else runs; then whose fault it is."""
        try:
            async with self._slots.alone():
                if item.done.done():
                    return
                if self._broken is not None:
                    self._fail([item], self._broken)
                    return
                good = _GOOD[item.target]
                # The good one in the same call: where the bad one is refused, that tells at once.
                outputs: dict[int, bytes] = {}
                result = await item.office.call(
                    [(item.suffix, item.data), good], item.target, outputs.__setitem__
                )
                if 0 in outputs:
                    _settle(item, Conversion(outputs[0], retried=True))
                    return
                if 1 not in outputs:
                    proof = await item.office.call([good], item.target, lambda *_: None)
                    if not proof.made[0]:
                        self._give_up(item, proof)
                        return
                if not item.done.done():
                    item.done.set_exception(_blame(item.name, result, self._deadline_s))
        except RendererFailed as error:
            self._fail([item], error)

    def _give_up(self, item: Item, result: CallResult) -> None:
        """A good document fails: so will every other one."""
        how = {"done": "makes nothing of it", "hang": "does not come to an end", "crash": "crashes"}[
            result.end
        ]
        said = f" ({result.said})" if result.said else ""
        self._broken = RendererFailed(
            f"LibreOffice fails on a good document, too: it {how}{said}", concerns="office"
        )
        self._fail([item, *self._waiting], self._broken)
        self._waiting.clear()

    @staticmethod
    def _fail(items: Iterable[Item], error: RendererFailed) -> None:
        for item in items:
            if not item.done.done():
                item.done.set_exception(_same(error, item.name))


def _settle(item: Item, conversion: Conversion) -> None:
    if not item.done.done():
        item.done.set_result(conversion)


def _same(error: RendererFailed, name: str) -> RendererFailed:
    """An error of all files, about one of them."""
    return RendererFailed(str(error), slug=error.slug, concerns=name)


def _blame(name: str, result: CallResult, deadline_s: float) -> BrokenArtifact:
    """What is wrong with a file that fails where a good one does not."""
    if result.end == "done":
        return BrokenArtifact("LibreOffice cannot load it", slug="corrupt", concerns=name)
    how = f"does not come to an end within {deadline_s:g} s of CPU" if result.end == "hang" else "crashes"
    return BrokenArtifact(f"twice: LibreOffice {how} on it", slug="unrenderable", concerns=name)
