"""Reading a submission's files without being led out of its folder or into a device."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from beholder.errors import BrokenArtifact, RendererFailed, RenderError
from beholder.records import MAX_ARTIFACT_BYTES, Artifact, Submission

_OURS = frozenset(
    (
        errno.EACCES,
        errno.EPERM,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.EIO,
        errno.ESTALE,
        errno.EINTR,
    )
)
"""What a file cannot be read for without any fault of its own: rights, handles, memory, the disk."""

Belongs = Callable[[tuple[str, ...]], bool]
"""Whether a file at these parts of a path below the root, links followed, may be read."""


def read_below(
    root: Path, name: str, *, limit: int = MAX_ARTIFACT_BYTES, belongs: Belongs | None = None
) -> bytes:
    """The bytes of `root/name`, reached from `root` one folder at a time.

    A link is followed only where it ends below `root`. The second walk takes no link at all
    (`O_NOFOLLOW`), so that swapping one in between the check and the reading fails.

    Args:
        root: A folder; may itself be reached by links.
        name: A POSIX path relative to it, without `..`.
        limit: Bytes read at most.
        belongs: Of the files below `root`, those that may be read; all if left out.

    Raises:
        BrokenArtifact: `unsafe_path`, `missing` or `too_large`.
        RendererFailed: We lack the rights, or the system fails.
    """
    top = os.path.realpath(root)
    try:
        real = os.path.realpath(Path(top, name), strict=True)
    except OSError as error:
        raise _translated(error, name) from None
    parts = Path(os.path.relpath(real, top)).parts
    if os.pardir in parts or not parts:
        raise BrokenArtifact("leads out of the submission's folder", slug="unsafe_path", concerns=name)
    if belongs is not None and not belongs(parts):
        raise BrokenArtifact("belongs to another submission", slug="unsafe_path", concerns=name)
    try:
        return _read_regular(_open_below(top, parts, name), name, limit)
    except OSError as error:
        raise _translated(error, name) from None


def _translated(error: OSError, name: str) -> RenderError:
    """Whose fault it is that a file cannot be had."""
    said = f"cannot be read: {error.strerror or error}"
    if error.errno in _OURS:
        return RendererFailed(said, concerns=name)
    # What else there is: no such file, a loop of links, a device, a folder that has become a link meanwhile.
    slug = "missing" if error.errno == errno.ENOENT else "unsafe_path"
    return BrokenArtifact(said, slug=slug, concerns=name)


def _open_below(top: str, parts: tuple[str, ...], name: str) -> int:
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = os.open(part, flags, dir_fd=folder)
            os.close(folder)
            folder = inner
        if not stat.S_ISREG(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            raise BrokenArtifact("is not a regular file", slug="unsafe_path", concerns=name)
        # O_NONBLOCK: should a pipe take the file's place now, opening it must not wait for a writer.
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def _read_regular(handle: int, name: str, limit: int) -> bytes:
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BrokenArtifact("is not a regular file", slug="unsafe_path", concerns=name)
        if status.st_size > limit:
            raise BrokenArtifact(
                f"has {status.st_size} bytes, more than {limit}", slug="too_large", concerns=name
            )
        return file.read(status.st_size + 1)


def own_files(submission: Submission) -> Belongs | None:
    """Which files below the root are the submission's own; None: all of them.

    In a flat run directory these are its artifacts, and what lies in folders that are no submissions: a page
    saved from a browser keeps its files in one. Reads the disk.
    """
    if not submission.flat or submission.root is None:
        return None
    top = Path(os.path.realpath(submission.root))
    own = {Path(os.path.relpath(os.path.realpath(one.path), top)).parts for one in submission.artifacts}

    def belongs(parts: tuple[str, ...]) -> bool:
        folder = top / parts[0]
        is_submission = os.path.lexists(folder / "artifacts") or os.path.lexists(folder / "response.txt")
        return parts in own or (len(parts) > 1 and not is_submission)

    return belongs


def path_below(artifact: Artifact, root: Path | None) -> tuple[Path, str]:
    """(folder, POSIX name below it) that an artifact is read by: the submission's root, else its own folder.

    Raises:
        BrokenArtifact: `unsafe_path`: it does not lie below the root.
    """
    if root is None:
        return artifact.path.parent, artifact.path.name
    try:
        return root, artifact.path.absolute().relative_to(root.absolute()).as_posix()
    except ValueError:
        raise BrokenArtifact(
            "does not lie in the submission's folder", slug="unsafe_path", concerns=artifact.name
        ) from None


def read_artifact(artifact: Artifact, root: Path | None) -> bytes:
    """The artifact's bytes, which are those its digest was taken of.

    Raises:
        BrokenArtifact: Its problem if it has one; `unsafe_path`, `missing`, `too_large`, `empty`.
        RendererFailed: We cannot read it, or it has changed since the submission was read.
    """
    if artifact.problem == "unreadable":
        raise RendererFailed(f"cannot be read: {artifact.problem_detail}", concerns=artifact.name)
    if artifact.problem is not None:
        raise BrokenArtifact(artifact.problem_detail, slug=artifact.problem, concerns=artifact.name)
    data = read_below(*path_below(artifact, root))
    if artifact.sha256 and hashlib.sha256(data).hexdigest() != artifact.sha256:
        raise RendererFailed("the file has changed since the submission was read", concerns=artifact.name)
    if not data:
        raise BrokenArtifact("the file has 0 bytes", slug="empty", concerns=artifact.name)
    return data
