"""Functions that a worker runs, and some that it should not come back from."""

from __future__ import annotations

import encodings.idna  # noqa: F401 - a name is looked up with it, and no file can be opened then
import os
import resource
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beholder.errors import BrokenArtifact, RendererFailed


@dataclass(frozen=True)
class Box:
    """Something with a name and a size."""

    name: str
    size: int


def describe(data: bytes, pair: tuple[int, str], box: Box) -> dict[str, Any]:
    """What has arrived."""
    return {
        "data": type(data).__name__,
        "pair": [type(pair).__name__, *pair],
        "box": [type(box).__name__, box.name, box.size],
    }


def refuse(broken: bool) -> str:
    """Tells a file's fault, or ours."""
    if broken:
        raise BrokenArtifact("no good", slug="wrong_type")
    raise RendererFailed("no good", slug="missing_tool")


def abort() -> str:
    """Ends as a reader does whose memory is corrupted."""
    os.abort()


def leave() -> str:
    """Ends without a word."""
    os._exit(7)


def fail() -> str:
    """Fails in a way nobody has thought of."""
    raise ZeroDivisionError("unforeseen")


def fill_memory() -> str:
    """Takes memory until there is no more."""
    held = []
    while True:
        held.append(bytes(256 * 1024 * 1024))  # asked for and not written to: the machine keeps its own


def hang() -> str:
    """Never comes to an end, and has started something that does not either."""
    subprocess.Popen(["/bin/sleep", "600"])
    while True:
        pass


def limits() -> dict[str, int]:
    """The limits in force."""
    names = {"core": "CORE", "cpu": "CPU", "address": "AS", "file": "FSIZE", "handles": "NOFILE"}
    return {
        short: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for short, name in names.items()
    }


def look_around(secret: str, port: int) -> dict[str, Any]:
    """Tries what code that has taken a reader over would try."""
    seen: dict[str, Any] = {"environment": dict(os.environ), "user": os.geteuid()}
    seen["read"] = _done(lambda: Path(secret).read_bytes())
    seen["wrote"] = _done(lambda: Path("/var/tmp/beholder-canary").write_text("x"))
    seen["connected"] = _done(lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close())
    seen["new_privileges"] = _done(lambda: os.setuid(0)) if os.geteuid() else False
    return seen


def _done(work: Any) -> bool:
    try:
        work()
    except OSError:
        return False
    return True
