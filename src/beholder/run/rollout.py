"""One submission as a program hands it in: a folder, a file, or its files by name.

A folder is read as in a run directory, `artifacts/**` and `response.txt`; one that has neither is its files.
Files by name are read as the folder that they would make. A file is judged alone, whatever lies beside it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from beholder.errors import BrokenArtifact
from beholder.evidence.files import read_below
from beholder.fenced.folders import make_folder, remove_folder
from beholder.records import MAX_ARTIFACT_BYTES, Artifact, Submission, Task
from beholder.run.identity import submission_sha256
from beholder.tasks import open_folder
from beholder.tasks.submissions import MAX_ARTIFACTS, MAX_RESPONSE_BYTES, is_submission, pin_file

Handed = os.PathLike[str] | Mapping[str, bytes | str]
"""A folder or a file, or what is in each file, by name. No bare text, which may be a path or a page."""

RESPONSE, ARTIFACTS = "response.txt", "artifacts/"
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 2000
WORD_CHARACTERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A submission, pinned before anything is done with it.

    Attributes:
        submission: `model` is `word`; where `files` are to be written first, no path of it is there yet.
        files: Contents, or the file to copy, by the artifact's name.
        word: What tells submissions of one task apart: of the digest of all names and contents.
    """

    submission: Submission
    files: Mapping[str, bytes | Path] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """Its name in the ledger, in rows and on disk."""
        return self.submission.model


class RolloutSource:
    """Where one task finds one rollout, which is written to disk when it is opened."""

    def __init__(self, rollout: Rollout) -> None:
        self._rollout = rollout
        self._folder: Path | None = None
        self._closed = False
        self._at_work = threading.Lock()

    @property
    def model(self) -> str:
        """The rollout's word."""
        return self._rollout.word

    def open(self, _: Task) -> Submission:
        """The submission, its files in place until `close`.

        Raises:
            RendererFailed, OSError: There is no room for them.
            ValueError: It is closed.
        """
        submission = self._rollout.submission
        if not self._rollout.files:
            return submission
        # Who was cancelled closes it while this may still be at it, or not have begun, in a thread.
        with self._at_work:
            if self._closed:
                raise ValueError("the submission is closed")
            return self._placed(submission)

    def _placed(self, submission: Submission) -> Submission:
        root = self._folder = make_folder("rollout", None)
        for name, content in self._rollout.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else _read(content))
        placed = tuple(
            one if one.problem else replace(one, path=root / one.name) for one in submission.artifacts
        )
        return replace(submission, root=root, artifacts=placed)

    def close(self) -> None:
        """Remove what was written, once it has been; nothing is written any more."""
        with self._at_work:
            self._closed = True
            if self._folder is not None:
                remove_folder(self._folder)
                self._folder = None


def _read(path: Path) -> bytes:
    """What a file holds now: if it is no longer what was pinned, whoever reads its copy finds that out."""
    try:
        return read_below(path.parent, path.name)
    except BrokenArtifact as error:
        raise OSError(f"{path}: has changed since it was handed in: {error}") from None


def pin_rollout(task_id: str, handed: Handed) -> Rollout:
    """A submission as it is now. What is wrong with it is a problem of its artifacts, and never raised.

    Raises:
        TypeError: It is no path and no mapping of names to contents.
    """
    if isinstance(handed, Mapping):
        rollout = _of_files(task_id, _encoded(handed))
    elif isinstance(handed, os.PathLike):
        rollout = _of_path(task_id, Path(os.path.abspath(handed)))  # noqa: PTH100 - a link stays a link
    else:
        raise TypeError(
            f"a submission is a Path, or a mapping of file names to contents, not {type(handed).__name__}; "
            'a page goes by a name, such as {"index.html": text}'
        )
    word = submission_sha256(rollout.submission)[:WORD_CHARACTERS]
    return replace(rollout, submission=replace(rollout.submission, model=word))


def _of_path(task_id: str, path: Path) -> Rollout:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Rollout(submission=Submission(task_id=task_id, model="", root=None))
    except OSError as error:
        broken = _unusable(path.name, "unreadable", error.strerror or "cannot be opened")
        return Rollout(submission=Submission(task_id=task_id, model="", root=None, artifacts=(broken,)))
    if os.path.isdir(path):  # noqa: PTH112 - a folder behind one that may not be searched is none, and no error
        bare = not is_submission(path)
        return Rollout(submission=open_folder(path, within=path.parent, task_id=task_id, model="", bare=bare))
    artifact = pin_file(path, path.name, path.parent)
    submission = Submission(task_id=task_id, model="", root=path.parent, artifacts=(artifact,))
    return Rollout(submission=submission, files={} if artifact.problem else {artifact.name: artifact.path})


def _encoded(files: Mapping[str, bytes | str]) -> dict[str, bytes]:
    found = {}
    for name, content in files.items():
        if not isinstance(name, str) or not isinstance(content, bytes | str):
            raise TypeError(
                f"a submission's files are bytes or text by name, not {type(content).__name__} by {name!r}"
            )
        # Half a surrogate pair, which a model's JSON may hold, is a text that no file can hold as it is.
        found[name] = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return found


def _of_files(task_id: str, files: Mapping[str, bytes]) -> Rollout:
    laid_out = any(name == RESPONSE or name.startswith(ARTIFACTS) for name in files)
    response = None
    if laid_out:
        if RESPONSE in files:
            response = files[RESPONSE][:MAX_RESPONSE_BYTES].decode("utf-8-sig", "replace")
        files = {
            name.removeprefix(ARTIFACTS): data for name, data in files.items() if name.startswith(ARTIFACTS)
        }
    if len(files) > MAX_ARTIFACTS:
        artifacts = [_unusable("artifacts", "too_large", f"more than {MAX_ARTIFACTS} files")]
        contents: dict[str, bytes] = {}
    else:
        folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
        pinned = [(_pinned(name, files[name], folders), files[name]) for name in _once(files)]
        artifacts = [artifact for artifact, _ in pinned]
        contents = {artifact.name: data for artifact, data in pinned if artifact.problem is None}
    return Rollout(
        submission=Submission(
            task_id=task_id, model="", root=None, artifacts=tuple(artifacts), response=response
        ),
        files=contents,
    )


def _once(files: Mapping[str, bytes]) -> list[str]:
    """The names in the order in which a folder of these files is walked; of two for one file, the last."""
    return sorted({_plain(name): name for name in files}.values(), key=_walked)


def _pinned(name: str, data: bytes, folders: Collection[str]) -> Artifact:
    """One of the files, with the problem that forbids to use it."""
    plain = _plain(name)
    if wrong := _wrong(name):
        return _unusable(name, "unsafe_path", wrong)
    if plain in folders:
        return _unusable(plain, "unsafe_path", "a folder has this name, too")
    if len(data) > MAX_ARTIFACT_BYTES:
        limit = MAX_ARTIFACT_BYTES // 2**20
        return _unusable(plain, "too_large", f"{len(data)} bytes; the limit is {limit} MiB", len(data))
    digest = hashlib.sha256(data).hexdigest()
    return Artifact(name=plain, path=Path(plain), sha256=digest, size_bytes=len(data))


def _plain(name: str) -> str:
    """`./a//b` as `a/b`."""
    return str(PurePosixPath(name))


def _walked(name: str) -> tuple[tuple[bool, str], ...]:
    """The files of a folder before its folders, each by name."""
    parts = PurePosixPath(name).parts
    return tuple((at < len(parts), part) for at, part in enumerate(parts, start=1))


def _wrong(name: str) -> str:
    """Why a name is none of a file below the submission's folder; empty if it is one."""
    path = PurePosixPath(name)
    try:
        parts = [part.encode() for part in path.parts]
    except UnicodeEncodeError:
        return "the name holds half of a character"
    if not parts or path.is_absolute() or ".." in path.parts or name.endswith("/"):
        return "the name leads out of the submission's folder, or names no file"
    if "\0" in name or Path(name).drive or os.sep in name.replace("/", ""):
        return "the name holds a character that no file's name has"
    if max(map(len, parts)) > MAX_NAME_BYTES or len(name.encode()) > MAX_PATH_BYTES:
        return "the name is too long for a file's"
    return ""


def _unusable(name: str, problem: str, detail: str, size: int = 0) -> Artifact:
    return Artifact(
        name=name, path=Path(), sha256="", size_bytes=size, problem=problem, problem_detail=detail
    )
