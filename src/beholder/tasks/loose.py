"""Files that nobody asked for in a task file: each is a submission of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from beholder.errors import TaskError
from beholder.records import Submission
from beholder.tasks.submissions import pin_file, walk_files


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseFile:
    """One file that is to be shown; it is read when it is opened.

    Attributes:
        path: As it is reached from the path given.
        name: For people: the file's name, or the folder's name and the path below it.
        root: The folder given, or the one that a file given alone lies in.
        alone: Given by itself.
    """

    path: Path
    name: str
    root: Path
    alone: bool

    def open(self) -> Submission:
        """The file as a submission, pinned.

        Of a folder that was given, a page may load everything. Of the folder around a file that was given
        alone, it may load what lies in further folders, as a page saved by a browser does, and no file that
        lies beside it: those are somebody else's, as in a flat run directory.
        """
        within = self.path.relative_to(self.root).as_posix()
        artifact = pin_file(self.path, within, self.root)
        return Submission(task_id=self.name, model="", root=self.root, artifacts=(artifact,), flat=self.alone)


def loose_files(paths: Sequence[Path]) -> Iterator[LooseFile]:
    """The files of a mix of files and folders, in the order given; those of a folder by name.

    Of a folder, what is hidden is left out. A link that is named is not followed to a folder: it may have
    come from a pattern such as `downloads/*`.

    Raises:
        TaskError: There is no such file or folder, or a folder cannot be listed.
    """
    for path in paths:
        top = Path(os.path.abspath(path))  # noqa: PTH100 - without following a link: it is judged as one
        if not os.path.lexists(top):
            raise TaskError(f"{path}: no such file or folder", slug="no_such_file", concerns=str(path))
        if top.is_symlink() or not top.is_dir():
            yield LooseFile(path=top, name=top.name, root=top.parent, alone=True)
            continue
        root = top.resolve()
        try:
            for file in walk_files(root):
                below = file.relative_to(root)
                if not any(part.startswith(".") for part in below.parts):
                    yield LooseFile(path=file, name=f"{top.name}/{below.as_posix()}", root=root, alone=False)
        except OSError as error:
            reason = error.strerror or "cannot be listed"
            raise TaskError(f"{error.filename or path}: {reason}", concerns=str(path)) from None
