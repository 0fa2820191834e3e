"""Folders of programs and workers: whose they are, and that none outlives its owner for long."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import RendererFailed
from beholder.fenced import PROGRAM_USER
from beholder.fenced.folders import PREFIX, YOUNG_S, make_folder, remove_folder, sweep

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")

_MAKER = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from beholder.fenced.folders import make_folder
folder = make_folder("test", None)
(folder / "profile").mkdir()
(folder / "profile" / "file").write_text("x")
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def maker(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with a folder, and that folder, an hour old."""
    process = subprocess.Popen(
        [sys.executable, "-c", _MAKER, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    age(folder)
    return process, folder


def age(folder: Path) -> None:
    """Let a folder be older than those that nobody may touch yet."""
    os.utime(folder, (0, folder.stat().st_mtime - 2 * YOUNG_S))


def test_what_a_killed_process_left_is_removed(place: Path) -> None:
    """A folder in use stays, whatever its age; once its owner is killed, the next one takes it away."""
    process, folder = maker(place)
    with process:
        sweep(place)
        assert (folder / "profile" / "file").exists()
        process.send_signal(signal.SIGKILL)
    assert folder.exists()
    sweep(place)
    assert not folder.exists()


def test_our_own_and_young_ones_stay(place: Path) -> None:
    """What this process holds stays, and so does a folder that may just be being made."""
    own = make_folder("test", None)
    age(own)
    young = place / f"{PREFIX}young"
    young.mkdir()
    sweep(place)
    assert own.exists()
    assert young.exists()
    remove_folder(own)
    assert not own.exists()


def test_links_and_files_are_not_followed(place: Path) -> None:
    """A link or a file with such a name leads nowhere, and what it names is untouched."""
    precious = place / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    age(precious)
    (place / f"{PREFIX}link").symlink_to(precious, target_is_directory=True)
    (place / f"{PREFIX}file").write_text("x")
    sweep(place)
    assert (precious / "file").exists()
    assert (place / f"{PREFIX}link").is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root has others' folders")
@pytest.mark.parametrize(("user", "stays"), [(12_345, True), (PROGRAM_USER, False)])
def test_other_peoples_folders_stay(place: Path, user: int, *, stays: bool) -> None:
    """Root removes what belongs to root or to the users that our programs run as, and nobody else's."""
    folder = place / f"{PREFIX}other"
    folder.mkdir()
    os.chown(folder, user, user)
    age(folder)
    sweep(place)
    assert folder.exists() is stays


def test_no_room_is_our_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no folder can be made, the renderer fails, and no submission pays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(RendererFailed, match="no folder"):
        make_folder("test", None)


def test_a_file_system_without_locks_takes_nothing_away(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders can be made there all the same, and none that somebody may be using is removed."""
    import fcntl

    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    folder = make_folder("test", None)
    age(folder)
    sweep(place)
    assert folder.exists()
    remove_folder(folder)
    assert not folder.exists()


def test_a_folder_that_cannot_be_handed_over_goes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed half-way leaves neither a folder nor a handle."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    opened: list[int] = []
    real = os.open

    def noted(*what: Any, **how: Any) -> int:
        opened.append(real(*what, **how))
        return opened[-1]

    monkeypatch.setattr(os, "chown", refuse)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", noted)
        with pytest.raises(RendererFailed, match="no folder"):
            make_folder("test", PROGRAM_USER)
    assert list(place.iterdir()) == []
    assert opened
    for handle in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


def test_what_is_added_while_it_is_removed_goes_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was killed may make its last file while its folder is being removed."""
    folder = make_folder("test", None)
    removals: list[str] = []
    remove = shutil.rmtree

    def interrupted(path: Path, **how: Any) -> None:
        remove(path, **how)
        removals.append(str(path))
        if len(removals) == 1:
            path.mkdir()
            (path / "last").write_text("x")

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    remove_folder(folder)
    assert removals == [str(folder)] * 2
    assert not folder.exists()
