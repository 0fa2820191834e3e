"""Which files a pattern names, and their bytes."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from beholder.records import Artifact, Submission

MOST_NAMED = 5
"""Names that one detail lists."""

MAX_FILE_BYTES = 64 * 2**20
"""A file that is read into memory for a rule; larger ones are not checked."""


class FileFailed(Exception):
    """The file is broken, which is its own fault; the message says how."""


class NotChecked(Exception):
    """The file cannot be checked, and that says nothing against it; the message says why."""


class GivenUp(Exception):
    """A whole rule cannot be decided, whatever its other files say; the message says why."""


def matching(submission: Submission, pattern: str) -> tuple[Artifact, ...]:
    """The submission's files that a pattern names, in name order, whatever the protocol's routing drops."""
    return tuple(one for one in submission.artifacts if matches(one.name, pattern))


def matches(name: str, pattern: str) -> bool:
    """Whether a POSIX pattern names a path: case counts, `*` stays in its folder, `**` is any folders.

    Both are relative to `artifacts/`. `*`, `?` and `[…]` match names that begin with a dot as well.
    """
    wanted = tuple(part for part in pattern.split("/") if part not in ("", "."))
    return _match(tuple(name.split("/")), wanted)


@lru_cache(maxsize=1024)
def _match(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Row by row over the pattern: `reached[n]` tells whether what was read so far can end before part n."""
    reached = [True, *([False] * len(parts))]
    for number, piece in enumerate(wanted, start=1):
        if piece == "**":
            # At the end `**` is everything below, a file at least; before it, any number of folders.
            first = reached.index(True) if True in reached else len(reached)
            start = first + (number == len(wanted))
            reached = [at >= start for at in range(len(reached))]
        else:
            reached = [
                False,
                *(reached[at] and fnmatchcase(part, piece) for at, part in enumerate(parts)),
            ]
    return reached[-1] and bool(wanted)


def is_there(artifact: Artifact) -> bool:
    """Whether a file counts as existing: not a link to nothing or out of the submission's folder."""
    return artifact.problem not in {"missing", "unsafe_path"}


def read_file(artifact: Artifact) -> bytes:
    """A file's bytes, those its digest was taken of: swapping it or a folder above it gains nothing.

    Raises:
        FileFailed: It leads out of its folder, is a link to nothing, or is larger than any artifact may be.
        NotChecked: We lack the rights, it is larger than what is read for a rule, or it has changed.
    """
    if artifact.problem == "unreadable":
        raise NotChecked(f"cannot be read: {artifact.problem_detail}")
    if artifact.problem is not None:
        raise FileFailed(artifact.problem_detail or artifact.problem)
    if artifact.size_bytes > MAX_FILE_BYTES:
        raise NotChecked(f"{artifact.size_bytes} bytes, and at most {MAX_FILE_BYTES} are read for a rule")
    try:
        # O_NONBLOCK: should a pipe have taken the file's place, opening it must not wait for a writer.
        handle = os.open(artifact.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotChecked(f"cannot be read: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise NotChecked("is no regular file any more")
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotChecked(f"cannot be read: {error.strerror or error}") from None
    if hashlib.sha256(data).hexdigest() != artifact.sha256:
        raise NotChecked("has changed since the submission was read")
    return data


def listed(names: Sequence[str]) -> str:
    """Names for a person, the first few of them."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def counted(number: int, what: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
