"""LibreOffice, many files a call: start-up costs five times what a page of text does.

Files that wait are converted by one call of `soffice --convert-to`, a few calls side by side, each with a
profile of its own behind the fence. A call writes one output after the other, in the order of its inputs;
that is how a hang or a crash is told from slow work, and whose it is:

    out/ has 0000.pdf 0001.pdf and nothing new within a file's time, or the process died
        -> 0002 is tried again alone, 0003 and later go into another call

A file that fails alone, too, while a document known to be good is converted, is broken; if the good one
fails, LibreOffice is. A persistent office that is spoken to over a socket would save the start-up as well,
but dies of one bad file and takes the others along.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal
from xml.sax.saxutils import escape

from beholder.errors import BrokenArtifact, MissingTool, RendererFailed
from beholder.evidence.slots import Slots, processors
from beholder.fenced.folders import hand_over, make_folder, remove_folder
from beholder.fenced.limits import Limits
from beholder.fenced.programs import Fence, best_fence, last_line, start_fenced

Target = Literal["pdf", "sheets", "ods"]
"""What a file becomes: a PDF as printed, a PDF with one page per sheet, a workbook that can be cropped."""

INSTALL = "apt-get install libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui"

BATCH = 16
"""Files of one call, at most: a crash costs those that come after it another call."""

LEAST_SHARE = 4
"""Files worth a call of their own where several calls are free: fewer would pay start-up to save less."""

GATHER_S = 0.02
"""What the first file waits for company."""

DEADLINE_S = 60.0
"""CPU seconds for one file, which a busy machine does not shorten. The slowest honest ones take a third."""

WALL_FACTOR = 3
"""Wall seconds for one file, in deadlines: for what waits for ever and uses no CPU."""

START_S = 30.0
"""Wall seconds that start-up may take beyond the first file's; it takes one."""

POLL_S = 0.05
AGAIN = 3
"""Calls that may end before a file's turn comes, until it is tried alone."""

MOST_OUTPUT_BYTES = 512 * 2**20

RESTART = 81
"""What LibreOffice exits with when a new profile is ready: it wants to be started again."""

_LIMITS = Limits(data_bytes=4 * 2**30, address_bytes=12 * 2**30, file_bytes=MOST_OUTPUT_BYTES, processes=4096)

_FILTERS: dict[Target, tuple[str, str]] = {
    "pdf": ("pdf", ".pdf"),
    "sheets": ('pdf:calc_pdf_Export:{"SinglePageSheets":{"type":"boolean","value":"true"}}', ".pdf"),
    "ods": ("ods:calc8", ".ods"),
}
_GOOD: dict[Target, tuple[str, bytes]] = {
    "pdf": (".rtf", b"{\\rtf1 good}"),
    "sheets": (".csv", b"good,1\n"),
    "ods": (".csv", b"good,1\n"),
}
_FLAGS = ("--headless", "--norestore", "--nologo", "--nodefault", "--nofirststartwizard")

_COMMON = "/org.openoffice.Office.Common"
_SETTINGS: tuple[tuple[str, str, str], ...] = (
    ("/org.openoffice.Setup/Office", "ooSetupInstCompleted", "true"),
    ("/org.openoffice.Setup/L10N", "ooLocale", "en-US"),
    # In a profile that no version has used yet, each call draws a hundred test pictures first: 0.7 s of 1.0.
    ("/org.openoffice.Setup/Product", "ooSetupLastVersion", "999.0"),
    (f"{_COMMON}/Misc", "FirstRun", "false"),
    (f"{_COMMON}/Misc", "CrashReport", "false"),
    (f"{_COMMON}/Misc", "ShowTipOfTheDay", "false"),
    (f"{_COMMON}/Misc", "UseOpenCL", "false"),
    # No macro runs, whoever has signed it.
    (f"{_COMMON}/Security/Scripting", "MacroSecurityLevel", "3"),
    (f"{_COMMON}/Security/Scripting", "DisableMacrosExecution", "true"),
    # No linked picture, section or sheet is read, from the network or from the disk.
    (f"{_COMMON}/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("/org.openoffice.Office.Writer/Content/Update", "Link", "2"),
    ("/org.openoffice.Office.Calc/Content/Update", "Link", "2"),
    # Cells show what was saved with them; those without a value are computed whatever stands here.
    ("/org.openoffice.Office.Calc/Formula/Load", "OOXMLRecalcMode", "1"),
    ("/org.openoffice.Office.Calc/Formula/Load", "ODFRecalcMode", "1"),
    ("/org.openoffice.Office.Recovery/RecoveryInfo", "Enabled", "false"),
    ("/org.openoffice.Office.Recovery/AutoSave", "Enabled", "false"),
    ("/org.openoffice.Office.Update/Update", "Enabled", "false"),
    ("/org.openoffice.Office.Java/VirtualMachine", "Enable", "false"),
)
PROFILE_POLICY = "no macros, no links, no updates, no Java, no recovery"

_LINKS_NOWHERE = "http://127.0.0.1:9"


def profile_xml() -> str:
    """The private profile's settings, as LibreOffice reads them (`registrymodifications.xcu`)."""
    items = "\n".join(
        f'<item oor:path="{escape(path)}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{escape(value)}</value></prop></item>"
        for path, name, value in _SETTINGS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
        'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
        f"{items}\n</oor:items>\n"
    )


def find_soffice(path: str | None = None) -> Path:
    """The program to start: `path`, else LibreOffice's own place in the system.

    Raises:
        MissingTool: There is none; the message is the line that installs it.
    """
    if path is not None:
        if not os.access(path, os.X_OK):
            raise MissingTool(f"there is no LibreOffice at {path}; install it: {INSTALL}", concerns="office")
        return _binary(Path(path))
    candidates = [shutil.which("soffice"), shutil.which("libreoffice")]
    if sys.platform == "darwin":
        candidates.append("/Applications/LibreOffice.app/Contents/MacOS/soffice")
    candidates += [str(place) for place in sorted(Path("/opt").glob("libreoffice*/program/soffice"))[::-1]]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return _binary(Path(candidate))
    hint = INSTALL if sys.platform == "linux" else "https://www.libreoffice.org/download/"
    raise MissingTool(f"no LibreOffice to convert documents with: {hint}", concerns="office")


def _binary(path: Path) -> Path:
    """The program itself, where the command is a script that waits for it."""
    binary = path.resolve().with_name("soffice.bin")
    return binary if os.access(binary, os.X_OK) else path


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a file became.

    Attributes:
        retried: It failed once, in company, and was converted alone.
    """

    data: bytes = field(repr=False)
    retried: bool = False


@dataclass(slots=True, eq=False)
class _Item:
    name: str
    suffix: str
    data: bytes
    target: Target
    done: asyncio.Future[Conversion]
    passed_over: int = 0


@dataclass(frozen=True, slots=True)
class _Result:
    """How a call ended: outputs in the order of inputs, None where there is none."""

    outputs: tuple[bytes | None, ...]
    end: Literal["done", "hang", "crash"]
    said: str = ""

    @property
    def suspect(self) -> int | None:
        """The file that a call hung or crashed at; None if it came to its end."""
        if self.end == "done":
            return None
        finished = [at for at, output in enumerate(self.outputs) if output is not None]
        suspect = finished[-1] + 1 if finished else 0
        return suspect if suspect < len(self.outputs) else None


class OfficeSuite:
    """Converts documents; an async context manager that leaves nothing behind.

    Args:
        path: The program to use instead of the one that is found.
        calls: Calls side by side, and never more than there are processors: each pays its start-up.
        deadline_s: CPU seconds for one file; thrice that by the clock.

    Attributes:
        renderer: Version, fence and profile of what has converted so far; empty before the first file.
    """

    def __init__(
        self, path: str | None = None, *, calls: int = 2, batch: int = BATCH, deadline_s: float = DEADLINE_S
    ) -> None:
        if calls < 1 or batch < 1:
            raise ValueError(f"calls and batch must be at least 1, not {calls} and {batch}")
        self._given = path
        self._calls = min(calls, processors())
        self._batch = batch
        self._deadline_s = deadline_s
        self._slots = Slots(self._calls)
        self._running = 0
        self._waiting: deque[_Item] = deque()
        self._dispatcher: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._profiles: list[Path] = []
        self._numbers = 0
        self._starting = asyncio.Lock()
        self._program: Path | None = None
        self._fence = Fence()
        self._root: Path | None = None
        self._broken: RendererFailed | None = None
        self._closed = False
        self.renderer: dict[str, Any] = {}

    async def __aenter__(self) -> OfficeSuite:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End every call with all it has started; the folder goes too."""
        self._closed = True
        tasks = [*self._tasks, *([self._dispatcher] if self._dispatcher else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fail(self._waiting, RendererFailed("the office suite was closed", concerns="office"))
        self._waiting.clear()
        if self._root is not None:
            root, self._root = self._root, None
            await asyncio.to_thread(remove_folder, root)

    # --- one file -------------------------------------------------------------------------------

    async def convert(self, name: str, suffix: str, data: bytes, *, target: Target) -> Conversion:
        """A file converted to `target`.

        Args:
            name: The artifact's, for messages.
            suffix: Of the content's true format; LibreOffice chooses its reader by it.

        Raises:
            MissingTool: There is no LibreOffice.
            BrokenArtifact: `unrenderable` or `corrupt`: it fails twice, the second time alone, and a good
                document does not.
            RendererFailed: A good document fails, too.
        """
        await self._start()
        if self._broken is not None:
            raise _same(self._broken, name)
        if self._closed:
            raise RendererFailed("the office suite is closed", concerns=name)
        item = _Item(name, suffix, data, target, asyncio.get_running_loop().create_future())
        self._waiting.append(item)
        self._wake()
        return await item.done

    async def _start(self) -> None:
        async with self._starting:
            if self._program is not None:
                return
            program = find_soffice(self._given)
            self._fence = await asyncio.to_thread(best_fence)
            # Ours, so that the program cannot put anything in the place of what is laid out for it there.
            self._root = make_folder("office", None)
            self._root.chmod(0o711)
            self._program = program
            version = await self._version(program)
            self.renderer = {
                "office": version,
                "office_profile": PROFILE_POLICY,
                "office_fence": self._fence.info(),
            }

    async def _version(self, program: Path) -> str:
        """What the program says it is."""
        said = await self._run([str(program), "--version"], self._folder("version"), within_s=START_S)
        found = re.match(r"\s*(LibreOffice[^\n]*)", said)
        return found.group(1).strip() if found else "unknown"

    async def _run(self, command: Sequence[str], folder: Path, *, within_s: float) -> str:
        """The standard output of a short program; what it has said so far if it takes too long."""
        hand_over(folder, self._fence.owner)
        with tempfile.TemporaryFile() as said:
            fenced = await start_fenced(
                self._fence, command, folder, limits=_LIMITS, stdout=said.fileno(), stderr=said.fileno()
            )
            try:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(fenced.wait(), min(within_s, self._deadline_s))
            finally:
                await fenced.aclose()
            said.seek(0)
            return said.read(4096).decode(errors="replace")

    def _folder(self, name: str) -> Path:
        """A new folder in ours, to be handed over once what it needs is in it."""
        if self._root is None:
            raise RendererFailed("the office suite is closed", concerns="office")
        self._numbers += 1
        folder = self._root / f"{name}-{self._numbers}"
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise RendererFailed(f"no folder for LibreOffice: {error}", concerns="office") from error
        return folder

    # --- which files go together ----------------------------------------------------------------

    def _wake(self) -> None:
        if self._dispatcher is None or self._dispatcher.done():
            self._dispatcher = asyncio.get_running_loop().create_task(self._dispatch())

    async def _dispatch(self) -> None:
        """Start a call whenever one is free and files wait."""
        await asyncio.sleep(GATHER_S)
        while self._waiting:
            free = self._slots.shared()
            await free.acquire()
            batch = self._next_batch()
            if not batch:
                free.release()
                continue
            self._running += 1
            self._track(self._convert_batch(batch, free))

    def _track(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _next_batch(self) -> list[_Item]:
        """The oldest file and others with the same target: a fair share where several calls are free."""
        waiting = [item for item in self._waiting if not item.done.done()]
        if not waiting:
            self._waiting.clear()
            return []
        target = waiting[0].target
        same = [item for item in waiting if item.target == target]
        others = len({item.target for item in waiting}) - 1
        parts = max(1, self._calls - self._running - others)
        share = max(LEAST_SHARE, -(-len(same) // parts))
        batch = same[: min(share, self._batch)]
        chosen = set(map(id, batch))
        self._waiting = deque(item for item in waiting if id(item) not in chosen)
        return batch

    async def _convert_batch(self, batch: list[_Item], slot: asyncio.Semaphore) -> None:
        try:
            try:
                result = await self._call([(one.suffix, one.data) for one in batch], batch[0].target)
            finally:
                self._running -= 1
                slot.release()
            again: list[_Item] = []
            for at, (item, output) in enumerate(zip(batch, result.outputs, strict=True)):
                if output is not None:
                    _settle(item, Conversion(output))
                elif result.suspect is not None and at > result.suspect and item.passed_over < AGAIN:
                    item.passed_over += 1
                    again.append(item)
                else:
                    self._track(self._convert_alone(item))
            self._waiting.extendleft(reversed(again))
            if self._waiting:
                self._wake()
        except RendererFailed as error:
            self._fail(batch, error)
        except asyncio.CancelledError:
            self._fail(batch, RendererFailed("the office suite was closed", concerns="office"))
            raise

    async def _convert_alone(self, item: _Item) -> None:
        """The second try, while nothing else runs; then whose fault it is."""
        try:
            async with self._slots.alone():
                if item.done.done():
                    return
                if self._broken is not None:
                    self._fail([item], self._broken)
                    return
                good = _GOOD[item.target]
                # The good one in the same call: where the bad one is refused, that tells at once.
                result = await self._call([(item.suffix, item.data), good], item.target)
                output, proof = result.outputs
                if output is not None:
                    _settle(item, Conversion(output, retried=True))
                    return
                if proof is None:
                    second = await self._call([good], item.target)
                    proof = second.outputs[0]
                    if proof is None:
                        self._give_up(item, second)
                        return
                if not item.done.done():
                    item.done.set_exception(_blame(item.name, result, self._deadline_s))
        except RendererFailed as error:
            self._fail([item], error)
        except asyncio.CancelledError:
            self._fail([item], RendererFailed("the office suite was closed", concerns="office"))
            raise

    def _give_up(self, item: _Item, result: _Result) -> None:
        """A good document fails: so will every other one."""
        how = {"done": "makes nothing of it", "hang": "does not come to an end", "crash": "crashes"}[
            result.end
        ]
        said = f" ({result.said})" if result.said else ""
        self._broken = RendererFailed(
            f"LibreOffice fails on a good document, too: it {how}{said}", concerns="office"
        )
        self._fail([item, *self._waiting], self._broken)
        self._waiting.clear()

    @staticmethod
    def _fail(items: Iterable[_Item], error: RendererFailed) -> None:
        for item in items:
            if not item.done.done():
                item.done.set_exception(_same(error, item.name))

    # --- one call -------------------------------------------------------------------------------

    async def _call(self, files: Sequence[tuple[str, bytes]], target: Target) -> _Result:
        """One run of the program over (suffix, data), in a profile of its own."""
        if self._program is None:
            raise RendererFailed("the office suite has not started", concerns="office")
        folder = self._folder("call")
        try:
            profile = self._profiles.pop() if self._profiles else await asyncio.to_thread(self._new_profile)
            inputs = await asyncio.to_thread(self._lay_out, folder, files)
            filter_, suffix = _FILTERS[target]
            command = [
                str(self._program),
                f"-env:UserInstallation={profile.as_uri()}",
                *_FLAGS,
                "--convert-to",
                filter_,
                "--outdir",
                str(folder / "out"),
                *map(str, inputs),
            ]
            wanted = [folder / "out" / f"{path.stem}{suffix}" for path in inputs]
            with tempfile.TemporaryFile() as said:
                end = await self._watch(command, folder, wanted, said.fileno())
                last = last_line(said)
            outputs = await asyncio.to_thread(lambda: tuple(_read_output(path, target) for path in wanted))
            if end == "done":
                self._profiles.append(profile)
            else:
                # What a killed office leaves in its profile would trouble the next one.
                await asyncio.to_thread(shutil.rmtree, profile, ignore_errors=True)
            return _Result(outputs, end, last)
        except OSError as error:
            raise RendererFailed(f"files for LibreOffice: {error}", concerns="office") from error
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _new_profile(self) -> Path:
        profile = self._folder("profile")
        (profile / "user").mkdir()
        (profile / "user" / "registrymodifications.xcu").write_text(profile_xml(), encoding="utf-8")
        hand_over(profile, self._fence.owner)
        return profile

    def _lay_out(self, folder: Path, files: Sequence[tuple[str, bytes]]) -> list[Path]:
        """Inputs with names of our own: an output is named for its input, without the suffix."""
        paths = [folder / f"{at:04d}{suffix}" for at, (suffix, _) in enumerate(files)]
        for path, (_, data) in zip(paths, files, strict=True):
            path.write_bytes(data)
        (folder / "out").mkdir()
        hand_over(folder, self._fence.owner)
        return paths

    async def _watch(
        self, command: Sequence[str], folder: Path, wanted: Sequence[Path], said: int
    ) -> Literal["done", "hang", "crash"]:
        """Run the program until it ends, or makes no new output within a file's time."""
        limits = replace(_LIMITS, cpu_s=int(START_S + self._deadline_s * (len(wanted) + 1)) + 1)
        clock = asyncio.get_running_loop()
        code = RESTART
        for _ in range(2):  # a new profile asks for one more start
            fenced = await start_fenced(
                self._fence,
                command,
                folder,
                limits=limits,
                # Whatever asks for a proxy all the same gets one that leads nowhere.
                extra={"http_proxy": _LINKS_NOWHERE, "https_proxy": _LINKS_NOWHERE},
                stdout=said,
                stderr=said,
            )
            try:
                start_s = min(START_S, self._deadline_s)
                made, since, used = 0, clock.time() + start_s, start_s
                pid = fenced.process.pid
                ended = asyncio.ensure_future(fenced.wait())
                try:
                    while not ended.done():
                        await asyncio.wait([ended], timeout=POLL_S)
                        now = sum(path.exists() for path in wanted)
                        if now > made:
                            made, since, used = now, clock.time(), _cpu_s(pid)
                        elif not ended.done() and (
                            _cpu_s(pid) - used > self._deadline_s
                            or clock.time() - since > self._deadline_s * WALL_FACTOR
                        ):
                            return "hang"
                finally:
                    ended.cancel()
                code = ended.result()
            finally:
                await fenced.aclose()
            if code != RESTART:
                break
        return "done" if code == 0 else "crash"


def _cpu_s(pid: int) -> float:
    """CPU seconds that a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, UnicodeError):
        return 0.0


def _settle(item: _Item, conversion: Conversion) -> None:
    if not item.done.done():
        item.done.set_result(conversion)


def _same(error: RendererFailed, name: str) -> RendererFailed:
    """An error of all files, about one of them."""
    return RendererFailed(str(error), slug=error.slug, concerns=name)


def _blame(name: str, result: _Result, deadline_s: float) -> BrokenArtifact:
    """What is wrong with a file that fails where a good one does not."""
    if result.end == "done":
        return BrokenArtifact("LibreOffice cannot load it", slug="corrupt", concerns=name)
    how = f"does not come to an end within {deadline_s:g} s of CPU" if result.end == "hang" else "crashes"
    return BrokenArtifact(f"twice: LibreOffice {how} on it", slug="unrenderable", concerns=name)


_HEADS: dict[Target, tuple[bytes, bytes]] = {
    "pdf": (b"%PDF-", b"%%EOF"),
    "sheets": (b"%PDF-", b"%%EOF"),
    "ods": (b"PK\x03\x04", b"PK\x05\x06"),
}


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
