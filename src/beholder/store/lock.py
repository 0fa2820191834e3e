"""An exclusive lock on a folder that a dead process does not hold."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from beholder.errors import StoreError

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[str]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Held from construction until `release` or the end of the process.

    Raises:
        StoreError: Another process that is alive holds it, and the message has its number; or the folder
            cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._file = (folder / ".lock").open("a+", encoding="ascii")
        except OSError as error:
            raise StoreError(
                f"{folder}: cannot be written to: {error.strerror or error}",
                slug="disk",
                concerns=str(folder),
            ) from None
        try:
            _take(self._file)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise StoreError(
                f"{folder}: another run (process {holder}) is writing there; wait for it, or use another "
                "--out-dir",
                slug="locked",
                concerns=str(folder),
            ) from None
        self._file.seek(0)
        self._file.truncate()
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let others in."""
        self._file.close()
