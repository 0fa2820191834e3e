"""Folders for programs and workers: each goes with its owner, or with the next process if that was killed.

Whoever makes one holds a lock on it (`flock`), which the kernel lets go of when the process ends, however it
ends. A folder of this name that nobody holds has been left behind.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from beholder.errors import RendererFailed
from beholder.fenced import PROGRAM_USER, WORKER_USER

try:
    import fcntl
except ImportError:  # Windows: nothing tells there whether a folder is in use
    _LOCKS = False
else:
    _LOCKS = True

PREFIX = "beholder-fenced-"

YOUNG_S = 60.0
"""A folder is not yet locked in the moment that it is made."""

REMOVALS = 20
REMOVE_AGAIN_S = 0.05
"""A process that has been killed may come to the end of a system call that makes a file."""

_held: dict[Path, int] = {}
"""Our own folders, and the handle that locks each."""


def make_folder(kind: str, owner: int | None) -> Path:
    """A new folder that only the program's user and root may enter.

    Args:
        kind: One word for people who come across it.
        owner: The user whose it is; None: ourselves.

    Raises:
        RendererFailed: There is no room for one.
    """
    _sweep_once(tempfile.gettempdir())
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
    except OSError as error:
        raise RendererFailed(f"no folder for temporary files: {error}") from error
    try:
        if _LOCKS:
            _held[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            # On a file system without locks nobody gets one, so that nobody removes a folder that was left.
            with contextlib.suppress(OSError):
                fcntl.flock(_held[folder], fcntl.LOCK_EX | fcntl.LOCK_NB)
        hand_over(folder, owner)
    except OSError as error:
        remove_folder(folder)
        raise RendererFailed(f"no folder for temporary files: {error}") from error
    return folder


def remove_folder(folder: Path) -> None:
    """Remove such a folder with all that is in it, also what a program that was killed just now adds."""
    for _ in range(REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(REMOVE_AGAIN_S)
    handle = _held.pop(folder, None)
    if handle is not None:
        os.close(handle)


def hand_over(path: Path, owner: int | None) -> None:
    """Give a file, or a folder with all that is in it, to the program's user; None: keep it."""
    if owner is None:
        return
    os.chown(path, owner, owner, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), owner, owner, follow_symlinks=False)


@functools.cache
def _sweep_once(place: str) -> None:
    sweep(Path(place))


def sweep(place: Path) -> None:
    """Remove what killed processes have left in `place`; what is in use, young or somebody else's stays."""
    if not _LOCKS:
        return
    own = {os.geteuid(), *((PROGRAM_USER, WORKER_USER) if os.geteuid() == 0 else ())}
    with contextlib.suppress(OSError):
        for folder in sorted(place.glob(f"{PREFIX}*")):
            with contextlib.suppress(OSError):
                _remove_if_left(folder, own)


def _remove_if_left(folder: Path, owners: set[int]) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if found.st_uid not in owners or not stat.S_ISDIR(found.st_mode):
            return
        if time.time() - found.st_mtime < YOUNG_S:
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)
