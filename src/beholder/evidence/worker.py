"""The program of a fenced process that decodes hostile bytes: one job after the other, on pipes.

It loads what it will need, then gives up what it has no use for: the network, the user's rights, files of
any size, memory without end. What still goes wrong in a decoder goes wrong here, and ends with this process.

    parent -> worker   8 bytes of length, then MessagePack of `Call`
    worker -> parent   the same, of `Answer`; the first one says how the fence turned out
"""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from beholder.errors import BrokenArtifact, RenderError
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.landlock import keep_only
from beholder.records import Picture, Video

_Media = TypeVar("_Media", Picture, Video)

DATA_LIMIT_BYTES = 3 * 1024**3
"""Memory of one worker. The largest picture that is not refused by its header takes two thirds of it."""

FILE_LIMIT_BYTES = 1024**3
HANDLES = 256

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_HEADER = struct.Struct(">Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How to begin.

    Attributes:
        modules: Loaded at first; a function `preload` of theirs is called.
        user: The user and group to become under root; None: stay who we are.
    """

    modules: tuple[str, ...]
    user: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One job: `function` of `module`, called with the job and `more` by name."""

    module: str
    function: str
    job: Job
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a call.

    Attributes:
        value: The result as MessagePack, if there is one, without bytes that are the job's own (`with_data`).
        broken, failed: (slug, message) of a `BrokenArtifact`, or of another `RenderError`.
        fault: What no decoder should do: a lack of memory, or an exception nobody has thought of.
    """

    value: bytes = b""
    broken: tuple[str, str] | None = None
    failed: tuple[str, str] | None = None
    fault: str = ""


def main(setup: str) -> None:
    """Serve until the other side closes the pipe."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints must not look like an answer.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    begin = msgspec.json.decode(setup, type=Setup)
    for name in begin.modules:
        preload: Callable[[], None] | None = getattr(importlib.import_module(name), "preload", None)
        if preload is not None:
            preload()
    send(outgoing, Answer(value=_packed(_shut_in(begin.user))))
    while (message := receive(incoming)) is not None:
        send(outgoing, _answer(msgspec.msgpack.decode(message, type=Call)))


def _answer(call: Call) -> Answer:
    try:
        # The names are our own: the parent takes them from its table, never from an artifact.
        work = getattr(sys.modules[call.module], call.function)
        return Answer(value=_packed(_without_data(work(call.job, **call.more), call.job)))
    except BrokenArtifact as error:
        return Answer(broken=(error.slug, str(error)))
    except RenderError as error:
        return Answer(failed=(error.slug, str(error)))
    except MemoryError:
        return Answer(fault="it takes more memory than there is for one file")
    except Exception:  # noqa: BLE001 - the process boundary: the parent finds out whose fault it is
        return Answer(fault=traceback.format_exc(limit=-1).strip().splitlines()[-1])


def _packed(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


def _without_data(value: object, job: Job) -> object:
    """A result that does not send the artifact back to where it came from."""
    if not isinstance(value, Shown):
        return value
    return replace(
        value,
        pictures=tuple(_bare(one, job) for one in value.pictures),
        videos=tuple(_bare(one, job) for one in value.videos),
    )


def _bare(one: _Media, job: Job) -> _Media:
    return replace(one, data=b"") if one.data == job.data else one


def with_data(shown: Shown, job: Job) -> Shown:
    """The result with the artifact's own bytes where they were left out."""
    return replace(
        shown,
        pictures=tuple(one if one.data else replace(one, data=job.data) for one in shown.pictures),
        videos=tuple(one if one.data else replace(one, data=job.data) for one in shown.videos),
    )


def send(pipe: BinaryIO, message: Answer) -> None:
    """Write one message."""
    data = msgspec.msgpack.encode(message)
    pipe.write(_HEADER.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes | None:
    """Read one message; None at the end."""
    header = pipe.read(_HEADER.size)
    return pipe.read(_HEADER.unpack(header)[0]) if len(header) == _HEADER.size else None


def _shut_in(user: int | None) -> dict[str, Any]:
    """Give up rights for good; what could be had of it, for the record."""
    network, kept = "on", "none"
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        spaces = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
        network = "off" if libc.unshare(spaces) == 0 else "on"
        _become(user)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # After that: changing the user takes it back.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        kept = keep_only(_readable(), [os.environ["TMPDIR"]])
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_LIMIT_BYTES),
        (resource.RLIMIT_NOFILE, HANDLES),
        (resource.RLIMIT_DATA, DATA_LIMIT_BYTES),
    ):
        hard = resource.getrlimit(what)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (limit, limit))
    return {"network": network, "user": os.geteuid(), "given_up": kept}


def _readable() -> list[str]:
    """The system's libraries and fonts, Python with its packages, and this one."""
    package = str(Path(__file__).resolve().parents[1])
    system = ["/usr", "/lib", "/lib64", "/bin", "/etc/fonts", "/etc/ld.so.cache", "/dev/null", "/dev/urandom"]
    return [*system, sys.prefix, sys.base_prefix, package]


def _become(user: int | None) -> None:
    if user is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
