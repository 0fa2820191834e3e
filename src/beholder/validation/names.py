"""What lies in a run directory, and which task it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from beholder.tasks.submissions import Match, RunDirectory, is_submission
from beholder.validation.page_hosts import KINDS
from beholder.validation.records import Problem

_SYSTEM_FILES = {"thumbs.db", "desktop.ini", "__macosx"}


def is_system_file(name: str) -> bool:
    """Whether a name is one that systems leave behind: hidden files, previews."""
    return name.startswith(".") or name.lower() in _SYSTEM_FILES


@dataclass(slots=True)
class Names:
    """What lies in a run directory, and what of it a task has claimed.

    Attributes:
        pages: Whether a task's file that may need assets was claimed.
    """

    directory: RunDirectory
    claimed: set[Path] = field(default_factory=set)
    pages: bool = False
    _near: dict[str, list[Path]] = field(default_factory=dict)
    _folders: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name, path, is_folder in self.directory.entries():
            if is_folder:
                self._folders.add(path)
            if not is_system_file(path.name):
                self._near.setdefault(_loose(name), []).append(path)

    def claim(self, task_id: str) -> Match:
        """Every entry that could be this task's, as a run matches them."""
        match = self.directory.match(task_id)
        taken = [match.folder] if match.folder else match.files
        self.claimed.update((*taken, *match.others, *match.assets))
        self.pages |= any(KINDS.get(path.suffix.lower()) == "html" for path in match.files)
        return match

    def shown(self, path: Path) -> str:
        """An entry's name, a folder's with a slash."""
        return f"{path.name}/" if path in self._folders else path.name

    def like(self, task_id: str) -> str | None:
        """An entry that differs from the task's name only in case, zeros or a decimal point."""
        found = self._near.get(_loose(task_id), ())
        return next((self.shown(path) for path in found if path not in self.claimed), None)

    def unclaimed(self) -> Iterator[Problem]:
        """What no task asked for. Beside pages, a folder that is no submission holds what they need."""
        left = (path for _, path, _ in self.directory.entries() if path not in self.claimed)
        for path in sorted(left, key=self.shown):
            assets = self.pages and path in self._folders and not is_submission(path)
            if not assets and not is_system_file(path.name):
                detail = "no task asks for it; it is left out"
                yield Problem(kind="unexpected", task_id=None, path=self.shown(path), detail=detail)


def _loose(name: str) -> str:
    return name.strip().casefold().removesuffix(".0").lstrip("0")
