"""Files: nothing outside the folder, no device, no changed bytes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.files import read_artifact, read_below
from tests.fakes.evidence import artifact


def slug(root: Path, name: str, **options: int) -> str:
    with pytest.raises(BrokenArtifact) as caught:
        read_below(root, name, **options)
    return caught.value.slug


def test_reads_a_file(tmp_path: Path) -> None:
    """A regular file is read, whatever its name is made of."""
    for name in ("a.html", "with space.html", "new\nline.html", "q?a=1#h.html", "-rf.html", "文.html"):
        (tmp_path / name).write_bytes(b"x")
        assert read_below(tmp_path, name) == b"x"


def test_links(tmp_path: Path) -> None:
    """A link is followed within the folder and refused where it leads out of it, in circles or nowhere."""
    root = tmp_path / "in"
    (root / "deep").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "deep" / "real").write_bytes(b"fine")
    (root / "inner").symlink_to("deep/real")
    (root / "folder").symlink_to("deep")
    (root / "out").symlink_to("../secret")
    (root / "etc").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("nowhere")
    assert read_below(root, "inner") == b"fine"
    assert read_below(root, "folder/real") == b"fine"
    assert [slug(root, name) for name in ("out", "etc/passwd", "../secret", "loop")] == ["unsafe_path"] * 4
    assert slug(root, "dangling") == "missing"


def test_root_behind_a_link(tmp_path: Path) -> None:
    """The folder itself may be reached by a link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to("real")
    assert read_below(tmp_path / "link", "a") == b"a"


def test_no_regular_file(tmp_path: Path) -> None:
    """A pipe is refused at once instead of waiting for a writer; a folder and a device are refused too."""
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    names = ("pipe.png", "folder.png", "zero.png")
    assert [slug(tmp_path, name) for name in names] == ["unsafe_path"] * 3


def test_size_limit(tmp_path: Path) -> None:
    """A file above the limit is too large and is not read."""
    (tmp_path / "a").write_bytes(b"12345")
    assert read_below(tmp_path, "a", limit=5) == b"12345"
    assert slug(tmp_path, "a", limit=4) == "too_large"


def test_pinned_bytes(tmp_path: Path) -> None:
    """What has changed since the digest was taken is not judged, and is not the submission's fault."""
    (tmp_path / "a.png").write_bytes(b"first")
    pinned = artifact(tmp_path, "a.png")
    assert read_artifact(pinned, tmp_path) == b"first"
    (tmp_path / "a.png").write_bytes(b"other")
    with pytest.raises(RendererFailed, match="changed"):
        read_artifact(pinned, tmp_path)


def test_known_problem_decides(tmp_path: Path) -> None:
    """A problem that was found before decides without the file being opened."""
    with pytest.raises(BrokenArtifact, match="said so") as caught:
        read_artifact(artifact(tmp_path, "a.png", problem="too_large", problem_detail="said so"), tmp_path)
    assert caught.value.slug == "too_large"


def test_outside_the_root(tmp_path: Path) -> None:
    """An artifact that does not lie below the submission's folder is refused."""
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "root").mkdir()
    with pytest.raises(BrokenArtifact) as caught:
        read_artifact(artifact(tmp_path, "a.png"), tmp_path / "root")
    assert caught.value.slug == "unsafe_path"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_disk_that_fails_is_our_fault() -> None:
    """A file that is there, and that the system cannot read, is no fault of the submission's."""
    with pytest.raises(RendererFailed, match="Input/output"):
        read_below(Path("/proc/self"), "mem")


def test_too_many_open_files_are_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a handle left, or without the right, nothing is said of the file."""
    (tmp_path / "a.png").write_bytes(b"x")
    for code in (errno.EMFILE, errno.EACCES):

        def refuse(*_: object, code: int = code, **__: object) -> int:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            with pytest.raises(RendererFailed):
                read_below(tmp_path, "a.png")
    assert read_below(tmp_path, "a.png") == b"x"


def test_names_that_are_none(tmp_path: Path) -> None:
    """A name too long for the disk, or one below a file, is the submission's."""
    (tmp_path / "a").write_bytes(b"x")
    assert slug(tmp_path, "n" * 5000) == "unsafe_path"
    assert slug(tmp_path, "a/b") == "unsafe_path"
    assert slug(tmp_path / "nowhere", "a") == "missing"
