"""LibreOffice in batches: whose fault a failure is, in bounded time, with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

from beholder.errors import BrokenArtifact, MissingTool, RendererFailed
from beholder.evidence import soffice_run
from beholder.evidence.soffice import OfficeSuite
from beholder.evidence.soffice_batch import Conversion
from beholder.evidence.soffice_call import CallResult, Office
from beholder.evidence.soffice_find import find_soffice
from beholder.evidence.soffice_profile import profile_xml
from tests.fakes.office import open_place
from tests.fakes.processes import left_of, named

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what runs")

FOREVER = str(10**9 + secrets.randbelow(10**9))
"""Seconds that a fake sleeps: nobody else's program does, nor that of another run of these tests."""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that other users may enter, and in it `tmp`, where the suite keeps its own."""
    with open_place() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        yield folder


def fake(folder: Path, body: str) -> str:
    """A program in LibreOffice's place; `$out` is its output folder, `$@` its inputs, FOREVER long."""
    program = folder / "soffice"
    head = (
        '#!/bin/sh\n[ "$1" = --version ] && { echo "LibreOffice 0.0 fake"; exit 0; }\n'
        'while [ "$1" != --outdir ]; do shift; done\nout="$2"; shift 2\n'
        'ok() { printf "%%PDF-1.4\\n%%%%EOF\\n" > "$out/$(basename "${1%.*}").pdf"; }\n'
    )
    program.write_text(head + body.replace("FOREVER", FOREVER))
    program.chmod(0o755)
    return str(program)


def left(folder: Path) -> list[Path]:
    return list((folder / "tmp").iterdir())


async def convert(path: str, files: dict[str, bytes], **options: object) -> dict[str, object]:
    async with OfficeSuite(path, **options) as suite:  # type: ignore[arg-type]
        # Once it has been found, all files come at the same time.
        await asyncio.gather(suite._start(), return_exceptions=True)
        made = await asyncio.gather(
            *(suite.convert(name, ".rtf", data, target="pdf") for name, data in files.items()),
            return_exceptions=True,
        )
    return dict(zip(files, made, strict=True))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands over")
def test_no_traps_for_root(place: Path) -> None:
    """A program that was taken over plants no link that root follows, and nothing beside its own folder."""
    victim = place / "victim"
    victim.write_text("ours")
    program = fake(
        place,
        f"ln -sf {victim} said; ln -sf {victim} stderr; echo x > ../planted && exit 1\n"
        'for one; do ok "$one"; done; [ -e again ] || { touch again; exit 81; }\n',
    )
    made = asyncio.run(convert(program, {"a": b"{\\rtf1 x}", "b": b"{\\rtf1 y}"}))
    assert all(isinstance(one, Conversion) for one in made.values())
    assert victim.read_text() == "ours"
    assert not left(place)


def test_missing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without LibreOffice the message is the line that installs it."""
    with pytest.raises(MissingTool, match="apt-get install libreoffice-writer-nogui"):
        find_soffice(str(place / "none"))
    made = asyncio.run(convert(str(place / "none"), {"a": b"x"}))
    assert isinstance(made["a"], MissingTool)


def test_writes_nothing(place: Path) -> None:
    """A program that exits with 0 and writes nothing fails every file, as our fault, at once."""
    made = asyncio.run(convert(fake(place, "exit 0\n"), {f"{n}.rtf": b"x" for n in range(20)}))
    assert {type(error) for error in made.values()} == {RendererFailed}
    assert "makes nothing of it" in str(made["0.rtf"])
    assert left(place) == []


@linux
def test_sleeps_for_ever(place: Path) -> None:
    """A program that sleeps for ever is ended in bounded time, with what it has started."""
    program = fake(place, "sleep FOREVER & sleep FOREVER\n")

    async def in_time() -> dict[str, object]:
        async with asyncio.timeout(300):
            return await convert(program, {f"{n}.rtf": b"x" for n in range(3)}, deadline_s=0.2)

    made = asyncio.run(in_time())
    assert {type(error) for error in made.values()} == {RendererFailed}
    assert "does not come to an end" in str(made["0.rtf"])
    assert left_of(named(FOREVER)) == []
    assert left(place) == []


HANGS_AT_BAD = 'for f in "$@"; do while grep -q bad "$f"; do while :; do :; done; done; ok "$f"; done\n'
CRASHES_AT_BAD = 'for f in "$@"; do grep -q bad "$f" && kill -9 $$; ok "$f"; done\n'
REFUSES_BAD = 'for f in "$@"; do grep -q bad "$f" || ok "$f"; done\n'


@pytest.mark.parametrize(
    ("body", "slug", "words"),
    [
        (HANGS_AT_BAD, "unrenderable", "does not come to an end"),
        (CRASHES_AT_BAD, "unrenderable", "crashes"),
        (REFUSES_BAD, "corrupt", "cannot load it"),
    ],
)
def test_one_bad_file(place: Path, monkeypatch: pytest.MonkeyPatch, body: str, slug: str, words: str) -> None:
    """One bad file costs itself only: those before and after it in its call are converted."""
    monkeypatch.setattr(soffice_run, "WALL_FACTOR", 200)  # what hangs here uses its CPU seconds up
    files = {f"{n}.rtf": b"bad" if n == 3 else b"good" for n in range(9)}
    made = asyncio.run(convert(fake(place, body), files, deadline_s=0.5, calls=1))
    error = made.pop("3.rtf")
    assert isinstance(error, BrokenArtifact)
    assert (error.slug, error.concerns) == (slug, "3.rtf")
    assert words in str(error)
    assert [one.retried for one in made.values() if isinstance(one, Conversion)] == [False] * 8


def test_second_try(place: Path) -> None:
    """A file that fails in company and not alone is converted, and that is told."""
    body = 'for f in "$@"; do [ $# -gt 2 ] && grep -q shy "$f" || ok "$f"; done\n'
    files = {"a.rtf": b"x", "shy.rtf": b"shy", "c.rtf": b"x"}
    made = asyncio.run(convert(fake(place, body), files, calls=1))
    assert {name: one.retried for name, one in made.items() if isinstance(one, Conversion)} == {
        "a.rtf": False, "shy.rtf": True, "c.rtf": False,
    }  # fmt: skip


def test_no_pdf(place: Path) -> None:
    """An output that is no whole PDF is none, nor is a link to something else."""
    body = 'for f in "$@"; do ln -s /etc/hostname "$out/$(basename "${f%.*}").pdf"; done\n'
    made = asyncio.run(convert(fake(place, body), {"a.rtf": b"x"}))
    assert isinstance(made["a.rtf"], RendererFailed)


def test_batches(place: Path) -> None:
    """Files that wait share calls: forty need few, none of more than the bound."""
    counts = place / "counts"
    counts.touch()
    counts.chmod(0o666)
    program = fake(place, f'echo $# >> {counts}\nfor f in "$@"; do ok "$f"; done\n')
    made = asyncio.run(convert(program, {f"{n}.rtf": b"x" for n in range(40)}, calls=2, batch=16))
    assert all(isinstance(one, Conversion) for one in made.values())
    sizes = [int(line) for line in counts.read_text().split()]
    assert sum(sizes) == 40
    assert max(sizes) <= 16
    assert len(sizes) <= 5


async def there(mark: Path) -> None:
    """Wait until a program has made a file."""
    async with asyncio.timeout(120):
        while not mark.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)


@linux
def test_cancelled(place: Path) -> None:
    """A caller that is cancelled leaves nothing behind, and those who wait in the suite are told."""

    async def leave() -> None:
        mark = place / "marks" / "called"
        mark.parent.mkdir()
        mark.parent.chmod(0o777)
        async with OfficeSuite(fake(place, f"touch {mark}; sleep FOREVER\n")) as suite:
            waiting = asyncio.create_task(suite.convert("a.rtf", ".rtf", b"x", target="pdf"))
            other = asyncio.create_task(suite.convert("b.rtf", ".rtf", b"x", target="pdf"))
            await there(mark)
            waiting.cancel()
            await suite.aclose()
            with pytest.raises(RendererFailed, match="closed"):
                await other
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(leave())
    assert left(place) == []
    assert left_of(named(FOREVER)) == []


def test_handed_on_meanwhile(place: Path) -> None:
    """A file that has been converted is not kept back by those after it in the same call."""
    waits = f"until [ -e {place}/go ]; do sleep 0.05; done"
    program = fake(place, f'ok "$1"; ok "$2"; {waits}; shift 2; for one; do ok "$one"; done\n')

    async def scene() -> None:
        async with OfficeSuite(program, calls=1) as suite:
            await suite._start()
            ones = [
                asyncio.create_task(suite.convert(f"{n}.rtf", ".rtf", b"x", target="pdf")) for n in range(4)
            ]
            done, _ = await asyncio.wait(ones, timeout=300, return_when=asyncio.FIRST_COMPLETED)
            assert done == {ones[0]}
            (place / "go").touch()
            await asyncio.gather(*ones)

    asyncio.run(scene())
    assert left(place) == []


@linux
def test_a_new_profile_costs_no_start(place: Path) -> None:
    """LibreOffice converts at its first start in a profile of ours, and does not ask for another one."""
    try:
        program = find_soffice()
    except MissingTool as error:
        pytest.skip(str(error))
    if not (program.parent / "versionrc").exists():
        pytest.skip("this LibreOffice does not say which build it is")
    starts = place / "starts"
    counting = place / "soffice"
    counting.write_text(f'#!/bin/sh\necho "$1" >> {starts}\nexec {program} "$@"\n')
    counting.chmod(0o755)
    (place / "versionrc").symlink_to(program.parent / "versionrc")
    starts.touch()
    starts.chmod(0o666)
    made = asyncio.run(convert(str(counting), {"a.rtf": b"{\\rtf1 a}", "b.rtf": b"{\\rtf1 b}"}))
    assert [type(one) for one in made.values()] == [Conversion, Conversion]
    (version, profile) = sorted(starts.read_text().split())
    assert (version, profile.partition("=")[0]) == ("--version", "-env:UserInstallation")


def slow_to_start(folder: Path) -> str:
    """A program that, asked for its version, makes a file `asked` and waits for `go`, the first time only."""
    path = Path(fake(folder, 'for one; do ok "$one"; done\n'))
    marks = folder / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    wait = f"[ -e {marks}/asked ] || {{ touch {marks}/asked; until [ -e {marks}/go ]; do sleep 0.05; done; }}"
    path.write_text(path.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{wait}\n"))
    return str(path)


async def asked(folder: Path) -> None:
    """Wait until the slow program has been asked."""
    await there(folder / "marks" / "asked")


def test_cancelled_at_the_start(place: Path) -> None:
    """If the first one who asks leaves while the program starts, the next one still learns its version."""

    async def leave() -> None:
        async with OfficeSuite(slow_to_start(place)) as suite:
            first = asyncio.create_task(suite.convert("a.rtf", ".rtf", b"x", target="pdf"))
            await asked(place)
            first.cancel()
            (place / "marks" / "go").touch()
            await suite.convert("b.rtf", ".rtf", b"x", target="pdf")
            assert suite.renderer["office"] == "LibreOffice 0.0 fake"
            with pytest.raises(asyncio.CancelledError):
                await first

    asyncio.run(leave())
    assert left(place) == []


def test_closed_at_the_start(place: Path) -> None:
    """A suite that is closed while its program starts leaves nothing behind, and converts nothing."""

    async def leave() -> None:
        suite = OfficeSuite(slow_to_start(place))
        first = asyncio.create_task(suite.convert("a.rtf", ".rtf", b"x", target="pdf"))
        await asked(place)
        closing = asyncio.create_task(suite.aclose())
        await asyncio.sleep(0)
        (place / "marks" / "go").touch()
        await closing
        assert left(place) == []
        for waiting in (first, suite.convert("b.rtf", ".rtf", b"x", target="pdf")):
            with pytest.raises(RendererFailed, match="closed"):
                await waiting

    asyncio.run(leave())
    assert left(place) == []


def test_closed_before_a_call_begins(place: Path) -> None:
    """Whoever waits for a call that was ended before its first step is told."""

    async def leave() -> None:
        suite = OfficeSuite(fake(place, "sleep FOREVER\n"))
        waiting = asyncio.create_task(suite.convert("a.rtf", ".rtf", b"x", target="pdf"))
        while not suite._tasks:  # noqa: ASYNC110 - the moment between a task's making and its first step
            await asyncio.sleep(0)
        await suite.aclose()
        done, _ = await asyncio.wait([waiting], timeout=120)
        assert done == {waiting}
        with pytest.raises(RendererFailed, match="closed"):
            await waiting

    asyncio.run(leave())
    assert left(place) == []


def test_whatever_a_call_fails_with(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that nobody has thought of reaches those who wait, who would wait for ever otherwise."""

    async def call(*_: object) -> CallResult:
        raise MemoryError

    monkeypatch.setattr(Office, "call", call)
    made = asyncio.run(convert(fake(place, ""), {"a.rtf": b"x", "b.rtf": b"x"}))
    assert [type(error) for error in made.values()] == [MemoryError, MemoryError]
    assert left(place) == []


def test_suspect() -> None:
    """The first file without an output after the last one with an output is the suspect."""
    assert CallResult((True, False, False), "hang").suspect == 1
    assert CallResult((False, False), "crash").suspect == 0
    assert CallResult((True, False, True, False), "crash").suspect == 3
    assert CallResult((True, True), "crash").suspect is None
    assert CallResult((True, False), "done").suspect is None


def test_profile() -> None:
    """The profile is well-formed and forbids macros and links."""
    tree = etree.fromstring(profile_xml().encode())
    settings = {
        prop.get(f"{{{tree.nsmap['oor']}}}name"): prop.findtext("value") for prop in tree.iter("prop")
    }
    assert settings["DisableMacrosExecution"] == "true"
    assert settings["BlockUntrustedRefererLinks"] == "true"
    assert settings["MacroSecurityLevel"] == "3"


def test_misuse() -> None:
    """No calls, or calls of no files, are a mistake of the caller."""
    for options in ({"calls": 0}, {"batch": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            OfficeSuite(**options)
