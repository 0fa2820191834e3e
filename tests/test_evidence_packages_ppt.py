"""Hidden slides of binary presentations, found as PowerPoint finds its slides."""

from __future__ import annotations

import io
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import olefile
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation

from beholder.errors import BrokenArtifact, MissingTool
from beholder.evidence import packages_ppt
from beholder.evidence.packages import check_office
from beholder.evidence.packages_ppt import hidden_slides
from beholder.evidence.soffice_find import find_soffice
from tests.fakes.office import job

SECTOR = 512
NEW_PROFILE = 81
"""LibreOffice's exit code for: the profile has just been made, start again."""


def record(kind: int, content: bytes, instance: int = 0) -> bytes:
    return struct.pack("<HHI", instance << 4, kind, len(content)) + content


def slide(*, hidden: bool) -> bytes:
    info = struct.pack("<IIBBH4x", 0, 0, 0, 0, 0x0001 | 0x0004 * hidden)
    return record(1006, record(1007, bytes(24)) + record(1017, info))


def presentation(*saves: Sequence[bool]) -> tuple[bytes, bytes]:
    """(`PowerPoint Document`, `Current User`) of a file whose slides were saved anew, each time changed."""
    stream, edit_at = b"", 0
    for save in saves:
        places = [len(stream)]
        entries = b"".join(record(1011, struct.pack("<I16x", 2 + at)) for at in range(len(save)))
        masters = record(4080, record(1011, struct.pack("<I16x", 99)), instance=1)
        stream += record(1000, record(1001, bytes(40)) + masters + record(4080, entries))
        for hidden in save:
            places.append(len(stream))
            stream += slide(hidden=hidden)
        directory_at = len(stream)
        head = len(places) << 20 | 1
        stream += record(6002, struct.pack(f"<I{len(places)}I", head, *places))
        before, edit_at = edit_at, len(stream)
        stream += record(4085, struct.pack("<IIIIIII", 0, 0, before, directory_at, 1, 0, 0))
    return stream, record(4086, struct.pack("<III", 20, 0xE391C05F, edit_at))


def ole(streams: dict[str, bytes]) -> bytes:
    """A compound file of version 3 with these streams ([MS-CFB]); long enough, each, not to be a mini one."""
    full = {name: data.ljust(4096, b"\0") for name, data in streams.items()}
    table, body, starts = [0xFFFFFFFD, 0xFFFFFFFE], b"", []
    for data in full.values():
        count = -(-len(data) // SECTOR)
        starts.append(len(table))
        table += [*range(len(table) + 1, len(table) + count), 0xFFFFFFFE]
        body += data.ljust(count * SECTOR, b"\0")
    none = 0xFFFFFFFF

    def entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
        text = name.encode("utf-16-le") + b"\0\0"
        links = struct.pack("<HBBIII36xIQ", len(text), kind, 1, none, right, child, start, size)
        return text.ljust(64, b"\0") + links

    rows = [entry("Root Entry", 5, none, 1, 0xFFFFFFFE, 0)]
    for at, ((name, data), start) in enumerate(zip(full.items(), starts, strict=True), start=1):
        rows.append(entry(name, 2, at + 1 if at < len(full) else none, none, start, len(data)))
    folder = b"".join(rows).ljust(SECTOR, b"\0")
    fat = struct.pack(f"<{len(table)}I", *table).ljust(SECTOR, b"\xff")
    assert len(folder) == len(fat) == SECTOR
    head = struct.pack("<8s16xHHHHH6xIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6,
                       0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0)  # fmt: skip
    return head.ljust(SECTOR, b"\xff") + fat + folder + body


def ppt(*saves: Sequence[bool]) -> bytes:
    stream, user = presentation(*saves)
    return ole({"PowerPoint Document": stream, "Current User": user})


def test_hidden_slides_are_told() -> None:
    """How many of how many, as for the newer formats; none is no warning; all of them leave nothing."""
    (told,) = check_office(job("a.ppt", ppt([False, True, True, False]))).warnings
    assert told.code == "hidden_slides"
    assert told.detail.startswith("2 of 4 slides are hidden")
    assert check_office(job("a.ppt", ppt([False, False]))).warnings == ()
    with pytest.raises(BrokenArtifact, match=r"all of its slides \(2\) are hidden") as caught:
        check_office(job("a.ppt", ppt([True, True])))
    assert caught.value.slug == "empty"


def test_what_was_saved_last_holds() -> None:
    """A quick save leaves older slides in the file, which are none of the presentation any more."""
    assert hidden_slides(*presentation([True, True, True], [False, True])) == (1, 2)


def test_a_file_that_does_not_tell_is_only_not_told_about() -> None:
    """Where the way to the slides is broken nothing is guessed, and nothing is held against the file."""
    stream, user = presentation([True, False])
    assert hidden_slides(stream, b"") is None
    assert hidden_slides(stream[:100], user) is None
    assert hidden_slides(b"", user) is None
    other = ole({"PowerPoint Document": stream, "Other": b""})
    assert check_office(job("a.ppt", other)).warnings == ()


def test_edits_in_a_circle_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that names itself as the one before it is given up."""
    monkeypatch.setattr(packages_ppt, "MOST_STEPS", 2000)
    stream, user = presentation([True])
    (edit_at,) = struct.unpack_from("<I", user, 16)
    looped = stream[: edit_at + 16] + struct.pack("<I", edit_at) + stream[edit_at + 20 :]
    assert hidden_slides(looped, user) is None


@given(st.data())
def test_damage(data: st.DataObject) -> None:
    """Whatever stands in the streams, there is an answer of the right form or none."""
    stream, user = presentation([True, False], [False, True, False])
    damaged = bytearray(stream)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.sampled_from([0, 1, 16, 255]))
    found = hidden_slides(bytes(damaged), user)
    assert found is None or 0 <= found[0] <= found[1]


@pytest.mark.long
def test_a_presentation_that_libreoffice_wrote(tmp_path: Path) -> None:
    """The same flag stands where another program puts it."""
    try:
        program = find_soffice()
    except MissingTool as error:
        pytest.skip(str(error))
    deck = Presentation()
    for at in range(4):
        new = deck.slides.add_slide(deck.slide_layouts[5])
        if at % 2:
            new._element.set("show", "0")
    deck.save(str(tmp_path / "a.pptx"))
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    command = [
        str(program),
        profile,
        "--headless",
        "--convert-to",
        "ppt",
        "--outdir",
        str(tmp_path),
        "a.pptx",
    ]
    for _ in range(3):
        if subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode != NEW_PROFILE:
            break
    data = (tmp_path / "a.ppt").read_bytes()
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        assert file.exists("PowerPoint Document")
    (told,) = check_office(job("a.ppt", data)).warnings
    assert told.detail.startswith("2 of 4 slides are hidden")
