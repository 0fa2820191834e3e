"""What lies in a run directory, and which task it belongs to."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from beholder.validation.records import Problem

_SYSTEM_FILES = {"thumbs.db", "desktop.ini", "__macosx"}


def is_system_file(name: str) -> bool:
    """Whether a name is one that systems leave behind: hidden files, previews."""
    return name.startswith(".") or name.lower() in _SYSTEM_FILES


@dataclass(slots=True)
class Names:
    """What lies in a run directory, and what of it a task has claimed.

    Attributes:
        folders, files: By the name that a task is looked up by: of a file its stem.
        near: Entries by their name without regard to case, leading zeros and a decimal point.
    """

    folders: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)
    near: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, run_dir: Path) -> Names:
        """What lies in a folder."""
        names = cls()
        for entry in sorted(os.scandir(run_dir), key=lambda entry: entry.name):
            name = unicodedata.normalize("NFC", entry.name)
            if is_system_file(name):
                continue
            if entry.is_dir():
                names.folders[name] = entry.name
                names.near.setdefault(_loose(name), []).append(f"{entry.name}/")
            else:
                stem, dot, _ = name.rpartition(".")
                names.files.setdefault(stem if dot else name, []).append(entry.name)
                names.near.setdefault(_loose(stem if dot else name), []).append(entry.name)
        return names

    def claim(self, task_id: str) -> list[str]:
        """Every entry that could be this task's, the one that is taken first."""
        found: list[str] = []
        for name in dict.fromkeys((unicodedata.normalize("NFC", task_id), quote(task_id, safe=""))):
            found += [self.folders[name] + "/"] if name in self.folders else []
            found += self.files.get(name, [])
        self.claimed.update(entry.rstrip("/") for entry in found)
        return found

    def like(self, task_id: str) -> str | None:
        """An entry that differs from the task's name only in case, zeros or a decimal point."""
        found = self.near.get(_loose(task_id), ())
        return next((entry for entry in found if entry.rstrip("/") not in self.claimed), None)

    def unclaimed(self) -> Iterator[Problem]:
        """What no task asked for."""
        entries = [*(f"{entry}/" for entry in self.folders.values())]
        entries += [entry for files in self.files.values() for entry in files]
        for entry in sorted(entries):
            if entry.rstrip("/") not in self.claimed:
                yield Problem(
                    kind="unexpected", task_id=None, path=entry, detail="no task asks for it; it is left out"
                )


def _loose(name: str) -> str:
    return name.strip().casefold().removesuffix(".0").lstrip("0")
