"""A task's question, ready to be sent as often as it is asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from beholder.judges import Judge, Prepared
from beholder.records import Evidence
from beholder.run.media import loaded


class Question:
    """A task's question, encoded when the first repeat needs it and let go of after the last.

    Whoever asks is inside `async with`. Pictures and videos of evidence that was stored before are read from
    disk here, and only if a call is due.
    """

    def __init__(self, judge: Judge, prompt: str, evidence: Evidence, folder: Path) -> None:
        self._judge = judge
        self._prompt = prompt
        self._evidence = evidence
        self._folder = folder
        self._lock = asyncio.Lock()
        self._users = 0
        self._prepared: Prepared | None = None

    async def __aenter__(self) -> None:
        self._users += 1

    async def __aexit__(self, *exc_info: object) -> None:
        self._users -= 1
        if not self._users and self._prepared is not None:
            prepared, self._prepared = self._prepared, None
            await self._judge.release(prepared)

    async def prepared(self) -> Prepared:
        """The encoded question; made once.

        Raises:
            JudgeRejected: A picture is not what was recorded.
        """
        async with self._lock:
            if self._prepared is None:
                self._prepared = await asyncio.to_thread(self._prepare)
            return self._prepared

    def _prepare(self) -> Prepared:
        return self._judge.prepare(
            self._prompt,
            [loaded(picture, self._folder) for picture in self._evidence.pictures],
            [loaded(video, self._folder) for video in self._evidence.videos],
        )
