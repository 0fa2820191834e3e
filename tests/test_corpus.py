"""All the handed files, real and hostile, in one process: what becomes of each, and that nothing else does.

`tests/data/corpus.txt` holds a line a file: where, its name, the outcome, how many pictures, the warnings. An
outcome that differs from what the file's maker noted has its reason there.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import psutil
import pytest

from beholder.evidence.engine import EvidenceEngine
from beholder.records import Evidence, EvidencePolicy
from beholder.run.evidence import general_routing
from beholder.tasks.loose import LooseFile, loose_files
from tests.fakes.evidence import BLOCKED, LIMITS, codes, pixels, png
from tests.fakes.processes import below, left_of

pytestmark = pytest.mark.long

TABLE = Path(__file__).parent / "data" / "corpus.txt"
PORT = "23999"
"""Where some of the hostile files try to connect, in the program that makes them; they are given another."""

POLICY = EvidencePolicy(min_wait_s=Decimal(1), max_wait_s=Decimal(8), video="frames")
GOOD = (
    b"<!doctype html><title>good</title><body style='font:20px Arial'><h1>A good page</h1><img src=good.png>"
)
SECRET = "canary-6f1c: never to be read"
MOST_S = 900.0
"""Wall seconds for one file, with twice a page's time and the good page after it, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is to become of a file."""

    where: str
    name: str
    outcome: str
    pictures: range
    warnings: frozenset[str]
    optional: frozenset[str]


@dataclass
class Seen:
    """What did become of all of them."""

    evidence: dict[str, Evidence] = field(default_factory=dict)
    took_s: dict[str, float] = field(default_factory=dict)
    good: dict[str, str] = field(default_factory=dict)
    connections: list[str] = field(default_factory=list)
    opened: int = 0
    left_running: list[str] = field(default_factory=list)
    before: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)


def table() -> dict[str, Row]:
    """Key `where/name` -> row. Fields are apart by tabs; names are written as Python writes a text."""
    rows = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        where, quoted, outcome, pictures, *rest = line.split("\t")
        name = ast.literal_eval(f"'{quoted}'")
        low, _, high = pictures.partition("-")
        words = rest[0].split() if rest else []
        rows[f"{where}/{name}"] = Row(
            where,
            name,
            outcome,
            range(int(low), int(high or low) + 1),
            frozenset(word for word in words if not word.endswith("?")),
            frozenset(word[:-1] for word in words if word.endswith("?")),
        )
    return rows


# --- the scene ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def canary_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A picture outside of every submission that hostile files try to show."""
    path = tmp_path_factory.mktemp("canary") / "canary.png"
    path.write_bytes(png((64, 64), (255, 0, 255)))
    path.with_suffix(".txt").write_text(SECRET)
    return path


@pytest.fixture(scope="module")
def doors() -> Iterator[tuple[socket.socket, socket.socket]]:
    """TCP and UDP at one port of loopback, whichever is free for both."""
    with contextlib.ExitStack() as kept:
        while True:
            tcp = kept.enter_context(socket.create_server(("127.0.0.1", 0)))
            udp = kept.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            with contextlib.suppress(OSError):
                udp.bind(tcp.getsockname())
                break
        yield tcp, udp


@pytest.fixture(scope="module")
def hostile(
    shared: Path,
    tmp_path_factory: pytest.TempPathFactory,
    canary_file: Path,
    doors: tuple[socket.socket, socket.socket],
) -> Path:
    """The hostile files, made so that they are after the canary, and after the port that is watched."""
    folder = tmp_path_factory.mktemp("corpus") / "hostile"
    program = (shared / "corpus" / "make_hostile.py").read_text()
    for path, ours in (
        ("/usr/share/pixmaps/debian-logo.png", canary_file),
        ("/etc/passwd", canary_file.with_suffix(".txt")),
        (PORT, doors[0].getsockname()[1]),
    ):
        assert path in program
        program = program.replace(path, str(ours))
    made = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"make_hostile.py needs more packages: {made.stderr.splitlines()[-1]}")
    (folder / "MANIFEST.tsv").unlink()
    return folder


@pytest.fixture(scope="module")
def seen(
    shared: Path,
    hostile: Path,
    canary_file: Path,
    doors: tuple[socket.socket, socket.socket],
    tmp_path_factory: pytest.TempPathFactory,
) -> Seen:
    """Everything, one file after the other, in one engine; after each a good page."""
    good = tmp_path_factory.mktemp("good")
    (good / "good.html").write_bytes(GOOD)
    (good / "good.png").write_bytes(png())
    (page,) = (one for one in loose_files([good]) if one.name.endswith(".html"))
    handout = [one for one in loose_files([shared / "corpus" / "handout"]) if "MANIFEST" not in one.name]
    found = Seen(before=everything(hostile.parent))
    with opens(canary_file, canary_file.with_suffix(".txt")) as count:
        asyncio.run(_show_all(found, [*loose_files([hostile]), *handout], page, *doors))
        found.opened = count()
    found.after = everything(hostile.parent)
    return found


async def _show_all(
    seen: Seen, files: list[LooseFile], page: LooseFile, tcp: socket.socket, udp: socket.socket
) -> None:
    ran: set[psutil.Process] = set()
    async with (
        listener(seen.connections, tcp, udp),
        EvidenceEngine(POLICY, general_routing(), BLOCKED, LIMITS) as engine,
    ):
        seen.good["before"] = picture_of(await engine.prepare(page.open()))
        for file in files:
            began = time.monotonic()
            seen.evidence[file.name] = await engine.prepare(file.open())
            seen.good[file.name] = picture_of(await engine.prepare(page.open()))
            seen.took_s[file.name] = time.monotonic() - began
            ran |= below()
    seen.left_running += left_of(ran)


def picture_of(evidence: Evidence) -> str:
    return f"{evidence.status} {[one.sha256 for one in evidence.pictures]} {sorted(codes(evidence))}"


@contextlib.asynccontextmanager
async def listener(connections: list[str], tcp: socket.socket, udp: socket.socket) -> AsyncIterator[None]:
    """TCP and UDP at the port that hostile files call; whoever comes is noted."""

    class Datagrams(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            connections.append(f"udp {addr} {data[:20]!r}")

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(f"tcp {writer.get_extra_info('peername')}")
        writer.close()

    server = await asyncio.start_server(accept, sock=tcp)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Datagrams, sock=udp)
    try:
        yield
        await asyncio.sleep(0.5)
    finally:
        transport.close()
        server.close()


@contextlib.contextmanager
def opens(*paths: Path) -> Iterator[Callable[[], int]]:
    """How often any process has opened or read one of the files, told by the kernel (inotify)."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if handle < 0:
        pytest.skip("no inotify here")
    in_access, in_open, event_bytes = 0x1, 0x20, 16
    try:
        for path in paths:
            assert libc.inotify_add_watch(handle, os.fsencode(path), in_access | in_open) >= 0

        def count() -> int:
            try:
                return len(os.read(handle, 65536)) // event_bytes
            except BlockingIOError:
                return 0

        yield count
    finally:
        os.close(handle)


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# --- what is to hold ----------------------------------------------------------------------------


def test_every_file_comes_to_its_outcome(seen: Seen) -> None:
    """Each file has the outcome, the pictures and the warnings that its line in the table says."""
    wrong = []
    rows = table()
    for name, evidence in seen.evidence.items():
        record = evidence.artifacts[0]
        outcome = evidence.status if evidence.status == "ok" else f"{evidence.status}:{evidence.reason}"
        if evidence.status == "ok":
            outcome = record.status
        row = rows.get(name)
        found = f"{outcome}\t{len(evidence.pictures)}\t{' '.join(sorted(codes(evidence)))}"
        if row is None:
            wrong.append(f"{name!r} is not in the table: {found}")
        elif (
            outcome not in row.outcome.split("|")
            or len(evidence.pictures) not in row.pictures
            or not row.warnings <= codes(evidence) <= row.warnings | row.optional
        ):
            wrong.append(f"{name!r}: {found} ({evidence.detail or record.detail})")
    wrong += [
        f"{name!r} is in the table and not among the files" for name in rows.keys() - seen.evidence.keys()
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_whatever_is_not_shown_says_why(seen: Seen) -> None:
    """Every file without pictures or text has a cause in words."""
    for name, evidence in seen.evidence.items():
        record = evidence.artifacts[0]
        if record.status != "shown":
            assert record.reason, name
            assert record.detail, name
        else:
            assert evidence.pictures or evidence.texts or evidence.videos, name


def test_the_good_page_is_never_hurt(seen: Seen) -> None:
    """After every file a good page comes out as before, to the byte."""
    before = seen.good["before"]
    assert before.startswith("ok")
    assert {name for name, picture in seen.good.items() if picture != before} == set()


def test_nobody_is_reached(seen: Seen) -> None:
    """The listener, on TCP and UDP, has not one visitor."""
    assert seen.connections == []


def test_no_local_file_is_read(seen: Seen) -> None:
    """No process has opened the canary files, and no text shows their content."""
    assert seen.opened == 0
    for name, evidence in seen.evidence.items():
        assert all(SECRET not in text for _, text in evidence.texts), name


def test_nothing_is_left(seen: Seen) -> None:
    """No process outlives the engine, and no file has appeared or gone beside the artifacts."""
    assert seen.left_running == []
    assert seen.after == seen.before


def test_all_of_it_is_bounded(seen: Seen) -> None:
    """No file takes longer than twice a page's time and what it takes to find the blame."""
    assert {name: round(took) for name, took in seen.took_s.items() if took > MOST_S} == {}


def test_limits_of_the_judge(seen: Seen) -> None:
    """Whatever is sent fits the judge: edges, bytes, and nothing that it would shrink by itself."""
    for name, evidence in seen.evidence.items():
        assert len(evidence.pictures) <= POLICY.images, name
        for one in evidence.pictures:
            assert max(one.width_px, one.height_px) <= LIMITS.shrink_edge_px, name
            assert one.width_px * one.height_px <= LIMITS.shrink_pixels, name
            assert pixels(one).size == (one.width_px, one.height_px), name
        assert sum(len(text) for _, text in evidence.texts) <= POLICY.text_chars, name


# --- what some of them have to look like --------------------------------------------------------


def colours(evidence: Evidence) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = set()
    for one in evidence.pictures:
        counted = pixels(one).getcolors(maxcolors=2**24) or []
        found |= {colour for _, colour in counted}
    return found


def near(colour: tuple[int, int, int]) -> Callable[[Evidence], bool]:
    """Whether a colour, or one hardly different, occurs."""

    def check(evidence: Evidence) -> bool:
        return any(
            all(abs(a - b) <= 12 for a, b in zip(seen_colour, colour, strict=True))
            for seen_colour in colours(evidence)
        )

    return check


def none_of(colour: tuple[int, int, int]) -> Callable[[Evidence], bool]:
    return lambda evidence: not near(colour)(evidence)


def sized(*size: int) -> Callable[[Evidence], bool]:
    return lambda evidence: (evidence.pictures[0].width_px, evidence.pictures[0].height_px) == size


def text_is(part: str) -> Callable[[Evidence], bool]:
    return lambda evidence: part in evidence.texts[0][1]


def pages(shown: int, of: int) -> Callable[[Evidence], bool]:
    def check(evidence: Evidence) -> bool:
        numbers = {(one.page, one.pages) for one in evidence.pictures}
        return len(numbers) == shown and {in_all for _, in_all in numbers} == {of}

    return check


LOOKS: dict[str, list[Callable[[Evidence], bool]]] = {
    "lazy.html": [near((0, 255, 0))],  # revealed by scrolling
    "webgl.html": [near((255, 0, 0))],
    "tall_40000.html": [near((255, 0, 0)), near((0, 0, 255))],
    "script.svg": [none_of((255, 0, 255))],
    "passwd.html": [none_of((255, 0, 255))],
    "external_image_file.docx": [none_of((255, 0, 255))],
    "nosize.svg": [near((255, 99, 71))],
    "novb.svg": [near((0, 128, 128)), lambda evidence: evidence.pictures[0].width_px > 300],
    "huge.svg": [near((0, 128, 0))],
    "grey16.png": [lambda evidence: len(colours(evidence)) > 200],
    "cmyk.jpg": [near((255, 0, 0))],
    "exif6.jpg": [
        sized(100, 200),
        lambda evidence: pixels(evidence.pictures[0]).getpixel((50, 30))[0] > 200,
        lambda evidence: pixels(evidence.pictures[0]).getpixel((50, 30))[1] < 60,
    ],
    "black_on_clear.png": [near((255, 255, 255)), near((0, 0, 0))],
    "transparent.png": [near((255, 255, 255)), none_of((0, 0, 0))],
    "png_named.jpg": [lambda evidence: evidence.pictures[0].media_type == "image/png"],
    "pages_3000.pdf": [pages(6, 3000)],
    "encrypted_owner.pdf": [pages(2, 2)],
    "nul.txt": [text_is("a\u2400b\ufffd\ufffda")],
    "ansi.txt": [text_is("\u241b[31mred\u241b[0m \\u202etxt.exe\\u202c \\u200b")],
    "long.txt": [lambda evidence: len(evidence.texts[0][1]) == POLICY.text_chars],
}


@pytest.mark.parametrize("name", LOOKS)
def test_it_looks_right(seen: Seen, name: str) -> None:
    """What makes this file special is there to be seen, and what must not be is not."""
    evidence = seen.evidence[f"hostile/{name}"]
    assert [at for at, check in enumerate(LOOKS[name]) if not check(evidence)] == []


def test_hidden_sheets_are_named(seen: Seen) -> None:
    """A workbook's hidden sheets are told by name in the record and not shown."""
    told = str(seen.evidence["hostile/hidden_sheets.xlsx"].warnings)
    assert "Secret" in told
    assert "Very" in told


# --- repeatable ---------------------------------------------------------------------------------

STEADY = [
    *("mk_test_blog.html", "pj_firefox_logo.svg", "po_project-header.svg", "mk_test_llm.jpg"),
    *("pi_pil_sample_cmyk.jpg", "pi_mode_16bit.png", "pi_hopper_orientation_3.webp", "px_just-two-mice.mp4"),
    *("pj_basicapi.pdf", "pf_habibi-rotated.pdf", "pf_annotated_pdf.pdf", "pj_SimFang-variant.pdf"),
    *(
        "mk_test.docx",
        "po_with_japanese.pptx",
        "px_cht-charts.pptx",
        "po_WithThreeCharts.xlsx",
        "mk_test.xls",
    ),
]
"""Some of each kind."""


async def _hashes(files: list[LooseFile], workers: int) -> dict[str, list[str]]:
    """What is shown of each; a page that had not settled says so and is left out."""
    patient = replace(POLICY, max_wait_s=Decimal(120))
    async with EvidenceEngine(patient, general_routing(), BLOCKED, LIMITS, workers=workers) as engine:
        found = await asyncio.gather(*(engine.prepare(file.open()) for file in files))
    return {
        file.name: [one.sha256 for one in evidence.pictures]
        for file, evidence in zip(files, found, strict=True)
        if "page_not_settled" not in codes(evidence)
    }


def test_workers_do_not_matter(shared: Path) -> None:
    """With 1, 2 and 8 workers, three times each, every file gives the same pictures to the byte."""
    files = list(loose_files([shared / "corpus" / "handout" / name for name in STEADY]))
    first = asyncio.run(_hashes(files, 1))
    assert len(first) == len(STEADY)
    assert all(first.values())
    for workers in (1, 2, 8) * 3:
        again = asyncio.run(_hashes(files, workers))
        assert {name: again[name] for name in again if again[name] != first[name]} == {}, workers
        assert len(again) >= len(STEADY) - 1
