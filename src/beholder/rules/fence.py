"""Rules that read files, in workers: what a hostile file does to a reader ends with it.

A worker that takes too long for a rule is ended, and one that dies takes that rule with it: `error`. The
rules behind it are decided by the next one. A submission has workers of its own, for a reader that one has
taken over must not decide about another.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, TypeVar, cast

from beholder.errors import RenderError
from beholder.fenced.inside import Call
from beholder.fenced.limits import Limits
from beholder.fenced.worker import Worker, WorkerLost, start_worker
from beholder.rules import look
from beholder.rules.files import GivenUp
from beholder.rules.look import Found
from beholder.rules.readers import is_document

START_S = 60.0
"""For a worker to begin, on a machine that is busy rendering."""

RULE_S = 60.0
"""For one rule over all its files."""

LOOK_S = 0.2
"""How often it is looked whether anybody still wants to know."""

_T = TypeVar("_T")

_LIMITS = Limits(cpu_s=1800, address_bytes=3 * 2**30, file_bytes=0, handles=256)
_TURN = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Tasks are judged many at a time, and readers are hungry."""

_TEXTS = (look.__name__,)
_DOCUMENTS = (*_TEXTS, "docx", "docx.opc.exceptions", "pptx", "pptx.exc", "pypdfium2", "python_calamine")
"""What a worker loads; it opens no file afterwards. Documents' libraries take thrice the time of the rest."""

_FOUND = cast("type[Found]", Found)
_DOCUMENT_FORMATS = ("pdf", "docx", "pptx", "xlsx")


class FencedReader:
    """Looks at files for the rules of one submission; a context manager.

    Blocks, also while as many others are at it as there are cores. Its workers are spoken to in an event loop
    of its own; from async code, use it in a thread.

    Args:
        stop: Set by another thread: nobody wants to know any more, and what is not decided is given up.
    """

    def __init__(self, stop: threading.Event | None = None) -> None:
        self._stop = stop or threading.Event()
        self._runner: asyncio.Runner | None = None
        self._workers: dict[tuple[str, ...], Worker] = {}
        self._left_s = RULE_S

    def __enter__(self) -> FencedReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is None:
            return
        try:
            for worker in self._workers.values():
                self._runner.run(worker.aclose())
        finally:
            self._runner.close()
            _TURN.release()

    def begin_rule(self) -> None:
        """Give the looks that follow a rule's time, all together."""
        self._left_s = RULE_S

    def look(self, kind: str, args: Mapping[str, Any], suffix: str, data: bytes) -> Found:
        """What a rule finds in a file.

        Raises:
            GivenUp: The reader has hung or broken down, or does not start.
        """
        modules = _DOCUMENTS if is_document(data) or args.get("as") in _DOCUMENT_FORMATS else _TEXTS
        plain = suffix.encode("utf-8", "replace").decode("utf-8")
        given = {"rule": json.dumps([kind, args]), "suffix": plain, "data": data}
        return self._call(modules, look.look.__name__, given)

    def search(self, args: Mapping[str, Any], text: str) -> Found:
        """What `text_contains` finds in a text.

        Raises:
            GivenUp: As `look`.
        """
        given = {"args": json.dumps(args), "data": text.encode("utf-8", "surrogatepass")}
        return self._call(_TEXTS, look.search.__name__, given)

    def _call(self, modules: tuple[str, ...], function: str, given: Mapping[str, Any]) -> Found:
        if self._runner is None:
            while not _TURN.acquire(timeout=LOOK_S):
                self._check_wanted()
            self._runner = asyncio.Runner()
        call = Call(module=look.__name__, function=function, arguments=given)
        try:
            worker = self._workers.get(modules)
            if worker is None:
                worker = self._runner.run(self._wanted(start_worker(modules, _LIMITS, within_s=START_S)))
                self._workers[modules] = worker
            began = time.monotonic()
            try:
                return self._runner.run(self._wanted(worker.call(call, _FOUND, within_s=self._left_s)))
            finally:
                self._left_s -= time.monotonic() - began
                if not worker.usable:
                    del self._workers[modules]
                    self._runner.run(worker.aclose())
        except WorkerLost as error:
            if error.hung:
                raise GivenUp(f"could not be checked within {RULE_S:g} s") from None
            raise GivenUp(
                f"could not be checked: the reader broke down on it ({error}; out of memory, perhaps)"
            ) from None
        except RenderError as error:
            raise GivenUp(f"could not be checked: {error}") from None

    async def _wanted(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What comes of work, which is cancelled if nobody wants to know any more."""
        running = asyncio.ensure_future(work)
        try:
            while not running.done():
                self._check_wanted()
                await asyncio.wait([running], timeout=LOOK_S)
            return running.result()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def _check_wanted(self) -> None:
        if self._stop.is_set():
            raise GivenUp("was given up, for the run was ended")
