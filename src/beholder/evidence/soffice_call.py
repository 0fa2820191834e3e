"""One call of LibreOffice: its folder and profile, the program behind the fence, and what it has made.

The profile of a call that came to its end serves the next one; what a killed office leaves in its own would
trouble it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from beholder.errors import RendererFailed
from beholder.evidence.soffice_profile import PROFILE_POLICY, write_profile
from beholder.evidence.soffice_run import MOST_OUTPUT_BYTES, START_S, End, listen, watch
from beholder.fenced.folders import hand_over, make_folder, remove_folder
from beholder.fenced.programs import Fence, last_line
from beholder.fenced.threads import to_its_end

Target = Literal["pdf", "ods"]
"""What a file becomes: a PDF, which has one page for a sheet, or a workbook that can be cropped."""

_FILTERS: dict[Target, tuple[str, str]] = {
    "pdf": ("pdf", ".pdf"),
    "ods": ("ods:calc8", ".ods"),
}
_FLAGS = ("--headless", "--norestore", "--nologo", "--nodefault", "--nofirststartwizard")

_HEADS: dict[Target, tuple[bytes, bytes]] = {
    "pdf": (b"%PDF-", b"%%EOF"),
    "ods": (b"PK\x03\x04", b"PK\x05\x06"),
}


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended: for each input, in order, whether it has become a whole output."""

    made: tuple[bool, ...]
    end: End
    said: str = ""

    @property
    def suspect(self) -> int | None:
        """The file that a call hung or crashed at; None if it came to its end."""
        if self.end == "done":
            return None
        finished = [at for at, made in enumerate(self.made) if made]
        suspect = finished[-1] + 1 if finished else 0
        return suspect if suspect < len(self.made) else None


@dataclass(slots=True)
class Office:
    """A program that is there, and the folder it works in.

    Attributes:
        fence: How it is started.
        deadline_s: CPU seconds for one file; thrice that by the clock.
        root: Ours, so that the program cannot put anything in the place of what is laid out for it there.
    """

    program: Path
    fence: Fence
    deadline_s: float
    root: Path = field(init=False)
    _profiles: list[Path] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.root = make_folder("office", None)
        self.root.chmod(0o711)

    def remove(self) -> None:
        """Remove the folder with all that is in it. Blocks; no call may be left."""
        remove_folder(self.root)

    async def info(self) -> dict[str, Any]:
        """Version, fence and profile, for the manifest. Starts the program."""
        folder = self._folder("version")
        hand_over(folder, self.fence.owner)
        command = [str(self.program), "--version"]
        said = await listen(self.fence, command, folder, within_s=min(START_S, self.deadline_s))
        found = re.match(r"\s*(LibreOffice[^\n]*)", said)
        return {
            "office": found.group(1).strip() if found else "unknown",
            "office_profile": PROFILE_POLICY,
            "office_fence": self.fence.info(),
        }

    def _folder(self, name: str) -> Path:
        """A new folder in ours, to be handed over once what it needs is in it."""
        folder = self.root / f"{name}-{next(self._numbers)}"
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise RendererFailed(f"no folder for LibreOffice: {error}", concerns="office") from error
        return folder

    async def call(
        self, files: Sequence[tuple[str, bytes]], target: Target, ready: Callable[[int, bytes], object]
    ) -> CallResult:
        """One run of the program over (suffix, data), in a profile of its own.

        Args:
            ready: Handed each whole output, with its input's place, while the program is at the next one.

        Raises:
            RendererFailed: It cannot be started, or there is no room for its files.
        """
        folder = self._folder("call")
        used = [folder]
        try:
            new = not self._profiles
            profile = self._folder("profile") if new else self._profiles.pop()
            used.append(profile)
            inputs = await to_its_end(self._lay_out, folder, files, profile if new else None)
            filter_, suffix = _FILTERS[target]
            command = [
                str(self.program),
                f"-env:UserInstallation={profile.as_uri()}",
                *_FLAGS,
                "--convert-to",
                filter_,
                "--outdir",
                str(folder / "out"),
                *map(str, inputs),
            ]
            wanted = [folder / "out" / f"{path.stem}{suffix}" for path in inputs]
            made = [False] * len(wanted)
            unread = set(range(len(wanted)))

            async def hand_on(written: Iterable[int]) -> None:
                for at in sorted(unread.intersection(written)):
                    unread.discard(at)
                    output = await asyncio.to_thread(_read_output, wanted[at], target)
                    if output is not None:
                        made[at] = True
                        ready(at, output)

            with tempfile.TemporaryFile() as said:
                end = await watch(
                    self.fence,
                    command,
                    folder,
                    wanted,
                    written=hand_on,
                    said=said.fileno(),
                    deadline_s=self.deadline_s,
                )
                last = last_line(said)
            await hand_on(tuple(unread))
            if end == "done":
                self._profiles.append(profile)
                used.remove(profile)
            return CallResult(tuple(made), end, last)
        except OSError as error:
            raise RendererFailed(f"files for LibreOffice: {error}", concerns="office") from error
        finally:
            await to_its_end(_remove, used)

    def _lay_out(self, folder: Path, files: Sequence[tuple[str, bytes]], profile: Path | None) -> list[Path]:
        """Inputs with names of our own: an output is named for its input, without the suffix.

        Args:
            profile: A new one, whose settings are written.
        """
        if profile is not None:
            write_profile(profile, self.program)
            hand_over(profile, self.fence.owner)
        paths = [folder / f"{at:04d}{suffix}" for at, (suffix, _) in enumerate(files)]
        for path, (_, data) in zip(paths, files, strict=True):
            path.write_bytes(data)
        (folder / "out").mkdir()
        hand_over(folder, self.fence.owner)
        return paths


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _read_output(path: Path, target: Target) -> bytes | None:
    """The output if it is there and whole; its pages are counted by whoever draws them."""
    try:
        # The folder is the program's own: a link in it must not lead us elsewhere.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            data = file.read(MOST_OUTPUT_BYTES + 1)
        except OSError:
            return None
    head, tail = _HEADS[target]
    whole = data.startswith(head) and tail in data[-1024:] and len(data) <= MOST_OUTPUT_BYTES
    return data if whole else None
