"""LibreOffice running: behind its fence, and watched while it makes one output after the other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from beholder.fenced.limits import Limits
from beholder.fenced.programs import Fence, start_fenced

End = Literal["done", "hang", "crash"]

WALL_FACTOR = 3
"""Wall seconds for one file, in deadlines: for what waits for ever and uses no CPU."""

START_S = 30.0
"""Wall seconds that start-up may take beyond the first file's; it takes one."""

POLL_S = 0.05

MOST_OUTPUT_BYTES = 512 * 2**20

RESTART = 81
"""What LibreOffice exits with when it has only made its profile ready: it wants to be started again."""

LIMITS = Limits(data_bytes=4 * 2**30, address_bytes=12 * 2**30, file_bytes=MOST_OUTPUT_BYTES, processes=4096)

_LINKS_NOWHERE = "http://127.0.0.1:9"


async def listen(fence: Fence, command: Sequence[str], folder: Path, *, within_s: float) -> str:
    """What a short call says; what it has said so far if it takes too long."""
    with tempfile.TemporaryFile() as said:
        fenced = await start_fenced(
            fence, command, folder, limits=LIMITS, stdout=said.fileno(), stderr=said.fileno()
        )
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await fenced.wait()
        finally:
            await fenced.aclose()
        said.seek(0)
        return said.read(4096).decode(errors="replace")


async def watch(
    fence: Fence,
    command: Sequence[str],
    folder: Path,
    wanted: Sequence[Path],
    *,
    written: Callable[[Sequence[int]], Awaitable[None]],
    said: int,
    deadline_s: float,
) -> End:
    """Run the program until it ends, or makes no new output within a file's time.

    Args:
        folder: What it works in.
        wanted: Its outputs, in the order in which it makes them.
        written: Told, as often as it is looked, of the outputs that will not grow any more.
        said: The file that it talks into.
        deadline_s: CPU seconds for one file; `WALL_FACTOR` times that by the clock.

    Raises:
        RendererFailed: It cannot be started.
    """
    limits = replace(LIMITS, cpu_s=int(START_S + deadline_s * (len(wanted) + 1)) + 1)
    clock = asyncio.get_running_loop()
    code = RESTART
    for _ in range(2):  # a profile of an unknown build asks for one more start
        fenced = await start_fenced(
            fence,
            command,
            folder,
            limits=limits,
            # Whatever asks for a proxy all the same gets one that leads nowhere.
            extra={"http_proxy": _LINKS_NOWHERE, "https_proxy": _LINKS_NOWHERE},
            stdout=said,
            stderr=said,
        )
        try:
            start_s = min(START_S, deadline_s)
            made, since, used = 0, clock.time() + start_s, start_s
            pid = fenced.process.pid
            ended = asyncio.ensure_future(fenced.wait())
            try:
                while not ended.done():
                    await asyncio.wait([ended], timeout=POLL_S)
                    there = [at for at, path in enumerate(wanted) if path.exists()]
                    await written(there[:-1])  # it may still be writing the last one
                    if len(there) > made:
                        made, since, used = len(there), clock.time(), _cpu_s(pid)
                    elif not ended.done() and (
                        _cpu_s(pid) - used > deadline_s or clock.time() - since > deadline_s * WALL_FACTOR
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
