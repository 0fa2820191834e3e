"""A run directory -> one `Submission` per task, every file pinned by digest.

    run directory    R/<task_id>/response.txt, R/<task_id>/artifacts/**
    flat directory   R/<task_id>.<ext>

A name on disk matches an id if they are equal, equal after Unicode composition (macOS decomposes names),
or if the name is the id percent-encoded, which is how an id that is no file name is stored.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from beholder.errors import TaskError
from beholder.records import MAX_ARTIFACT_BYTES, Artifact, Submission, Task

MAX_ARTIFACTS = 5000
MAX_RESPONSE_BYTES = 8 * 2**20
MAX_NAME_BYTES = 250
"""Of an id as a name on disk: file systems take 255, and a flat directory's file has a suffix, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What in a run directory is named after a task.

    Attributes:
        folder: The folder that is the submission; None where it is files, or there is none.
        files: The files that are, by name; empty where a folder is.
        others: Files and folders of that name that are left out.
        assets: Folders with what the files need: they are no submissions of their own.
    """

    folder: Path | None
    files: tuple[Path, ...]
    others: tuple[Path, ...]
    assets: tuple[Path, ...]


class RunDirectory:
    """One model's submissions. The folder is listed once; files are read when a task is opened.

    Args:
        path: The folder.
        model: The name it is reported under.

    Raises:
        TaskError: There is no such folder.
    """

    def __init__(self, path: str | Path, model: str) -> None:
        self.model = model
        self._folders: dict[str, Path] = {}
        self._files: dict[str, list[Path]] = {}
        try:
            self.path = Path(path).resolve()
            entries = sorted(os.scandir(self.path), key=lambda entry: entry.name)
        except (OSError, RuntimeError) as error:  # the latter for a loop of links
            reason = getattr(error, "strerror", None) or "cannot be read, a loop of links perhaps"
            raise TaskError(f"run directory {path}: {reason}", concerns=str(path)) from None
        for entry in entries:
            name = unicodedata.normalize("NFC", entry.name)
            if is_folder(entry):
                self._folders[name] = Path(entry.path)
            else:
                stem, dot, _ = name.rpartition(".")
                self._files.setdefault(stem if dot else name, []).append(Path(entry.path))

    def match(self, task_id: str) -> Match:
        """What is named after a task. Beside a file of that name, a folder may hold the file's assets."""
        folder: Path | None = None
        files: tuple[Path, ...] = ()
        others: list[Path] = []
        assets: list[Path] = []
        for name in names_on_disk(task_id):
            here, beside = self._folders.get(name), self._files.get(name, [])
            if here is not None and beside and not is_submission(here):
                assets.append(here)
                here = None
            if folder is None and not files:
                folder, files = here, () if here else tuple(beside)
                others += beside if here else []
            else:
                others += [here, *beside] if here else beside
        return Match(folder=folder, files=files, others=tuple(others), assets=tuple(assets))

    def entries(self) -> Iterator[tuple[str, Path, bool]]:
        """Everything there: the name that a task is looked up by, the path, whether it is a folder."""
        for name, folder in self._folders.items():
            yield name, folder, True
        for name, files in self._files.items():
            for file in files:
                yield name, file, False

    def open(self, task: Task) -> Submission:
        """The submission for a task; without artifacts and response if there is none."""
        match = self.match(task.id)
        if match.folder is not None:
            return open_folder(match.folder, within=self.path, task_id=task.id, model=self.model)
        if match.files:
            artifacts = tuple(pin_file(path, path.name, self.path) for path in match.files)
            return Submission(
                task_id=task.id, model=self.model, root=self.path, artifacts=artifacts, flat=True
            )
        return Submission(task_id=task.id, model=self.model, root=None)


def names_on_disk(task_id: str) -> tuple[str, ...]:
    """The names that a file or folder of a task may have, suffixes aside, the better one first."""
    composed = unicodedata.normalize("NFC", task_id)
    return tuple(dict.fromkeys((composed, quote(task_id, safe="", errors="surrogatepass"))))


def no_name_on_disk(task_id: str) -> str:
    """Why no submission can be named after an id, as it stands or percent-encoded; empty if one can."""
    names = [name for name in names_on_disk(task_id) if "/" not in name and "\0" not in name]
    if all(name in {".", ".."} for name in names):
        return "is a folder's name for itself or for the one above it"
    if min(len(name.encode("utf-8", "surrogatepass")) for name in names) > MAX_NAME_BYTES:
        return f"has over {MAX_NAME_BYTES} bytes as a name on disk, percent-encoded where it is no file name"
    return ""


def open_folder(folder: Path, *, within: Path, task_id: str, model: str, bare: bool = False) -> Submission:
    """The submission that a folder is: `artifacts/**` and `response.txt`.

    Args:
        folder: Where it lies.
        within: The folder that a link must not lead out of.
        task_id, model: Whose it is.
        bare: The folder's own files are the artifacts, and there is no response.
    """
    root = folder if bare else folder / "artifacts"

    def unusable(problem: str, detail: str) -> Submission:
        """A submission whose folder as a whole may not be used, as its one artifact."""
        broken = Artifact(
            name="artifacts", path=root, sha256="", size_bytes=0, problem=problem, problem_detail=detail
        )
        return Submission(task_id=task_id, model=model, root=None, artifacts=(broken,))

    try:
        if not inside(folder, within) or (root.is_symlink() and not bare and not inside(root, folder)):
            return unusable("unsafe_path", "the folder is a link that leads out of the folder that holds it")
        artifacts = []
        if root.is_dir():
            paths = list(itertools.islice(walk_files(root), MAX_ARTIFACTS + 1))
            if len(paths) > MAX_ARTIFACTS:
                return unusable("too_large", f"more than {MAX_ARTIFACTS} files")
            artifacts = [pin_file(path, path.relative_to(root).as_posix(), root) for path in paths]
        response = None if bare else _response(folder / "response.txt", folder)
    except OSError as error:
        # A folder without the right to search it: one submission's problem, not the run's.
        return unusable("unreadable", f"the folder cannot be read: {error.strerror or error}")
    return Submission(task_id=task_id, model=model, root=root, artifacts=tuple(artifacts), response=response)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder or a link to one; a link that leads to itself is none."""
    try:
        return entry.is_dir(follow_symlinks=True)
    except OSError:
        return False


def is_submission(folder: Path) -> bool:
    """Whether a folder is a task's; one without artifacts/ and response.txt may hold a page's assets."""
    return os.path.lexists(folder / "artifacts") or os.path.lexists(folder / "response.txt")


def walk_files(root: Path) -> Iterator[Path]:
    """Files below a folder in name order; links to folders are not followed."""
    for folder, names, files in os.walk(root, followlinks=False, onerror=_raise):
        names.sort()
        links = [name for name in names if (Path(folder) / name).is_symlink()]
        for name in sorted([*files, *links]):
            yield Path(folder) / name


def _raise(error: OSError) -> None:
    """A folder that cannot be listed is no empty folder."""
    raise error


def pin_file(path: Path, name: str, root: Path) -> Artifact:
    """A file with its digest, or with the problem that forbids to use it."""

    def unusable(problem: str, detail: str, size: int = 0) -> Artifact:
        return Artifact(
            name=name, path=path, sha256="", size_bytes=size, problem=problem, problem_detail=detail
        )

    try:
        if path.is_symlink() and not inside(path, root):
            return unusable("unsafe_path", "a link that leads out of the submission's folder")
        resolved = path.resolve(strict=True) if path.is_symlink() else path
        # O_NONBLOCK: opening a FIFO without a writer would wait for ever.
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return unusable("missing", "a link to nothing")
    except PermissionError as error:  # asking further what it is would be refused, too
        return unusable("unreadable", error.strerror or "cannot be opened")
    except OSError as error:
        kind = "unsafe_path" if not path.is_file() else "unreadable"
        return unusable(kind, error.strerror or "cannot be opened")
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)  # a folder could not even be made a file object
        return unusable("unsafe_path", "no regular file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MAX_ARTIFACT_BYTES:
            limit = MAX_ARTIFACT_BYTES // 2**20
            return unusable("too_large", f"{status.st_size} bytes; the limit is {limit} MiB", status.st_size)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Artifact(name=name, path=resolved, sha256=digest, size_bytes=status.st_size)


def _response(path: Path, folder: Path) -> str | None:
    """The response text; bytes that are no UTF-8 are shown as replacement characters."""
    if not path.is_file() or not inside(path, folder):
        return None
    with path.open("rb") as file:
        return file.read(MAX_RESPONSE_BYTES).decode("utf-8-sig", "replace")


def inside(path: Path, root: Path) -> bool:
    """Whether a path, its links followed, lies below a folder."""
    try:
        resolved = path.resolve()
        # What is resolved is no link any more but in a loop, which newer versions of Python leave in silence.
        return not resolved.is_symlink() and resolved.is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a loop of links
        return False
