"""Decoders that do what a decoder should not, to be run by a fenced worker."""

from __future__ import annotations

import encodings.idna  # noqa: F401 - a name is looked up with it, and no file can be opened then
import os
import resource
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from beholder.evidence.kinds import Job


def crash(job: Job) -> None:
    """Ends as a decoder does whose memory is corrupted."""
    os.abort()


def leave(job: Job) -> None:
    """Ends without a word."""
    os._exit(0)


def throw(job: Job) -> None:
    """Fails in a way nobody has thought of."""
    raise ZeroDivisionError("nobody has thought of this")


def fill_memory(job: Job) -> None:
    """Takes memory until there is no more."""
    held = []
    while True:
        held.append(bytes(256 * 1024 * 1024))  # asked for and not written to: the machine keeps its own


def hang(job: Job) -> None:
    """Never comes to an end, and has started something that does not either."""
    subprocess.Popen(["/bin/sleep", "600"])
    while True:
        pass


def answer_with_text(job: Job) -> str:
    """Gives something else than was asked for."""
    return "no pictures"


def print_much(job: Job) -> dict[str, Any]:
    """Writes where answers are written."""
    os.write(1, b"\0" * 100_000)
    print("x" * 100_000)
    return {"printed": True}


def limits(job: Job) -> dict[str, Any]:
    """The limits in force."""
    return {"data": resource.getrlimit(resource.RLIMIT_DATA)[0]}


def look_around(job: Job, paths: list[str], port: int) -> dict[str, Any]:
    """Tries what a decoder that has been taken over would try."""
    seen: dict[str, Any] = {"read": [], "wrote": [], "environment": list(os.environ), "user": os.geteuid()}
    for path in paths:
        try:
            Path(path).read_bytes()
            seen["read"].append(path)
        except OSError:
            pass
    for path in ("/var/tmp/beholder-canary", str(Path(paths[0]).parent / "written")):
        try:
            Path(path).write_text("x")
            seen["wrote"].append(path)
        except OSError:
            pass
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            seen["connected"] = True
    except OSError:
        seen["connected"] = False
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "own").write_text("x")
        seen["own_folder"] = True
    seen["fence"] = "none"
    status = Path("/proc/self/status")
    try:
        status.read_text()
    except OSError:
        seen["fence"] = "files"
    return seen
