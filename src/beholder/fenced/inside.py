"""What runs inside a worker, which reads hostile bytes: one call after the other, on pipes.

It loads what it will need, then gives up what it has no use for: the network, the user's rights, files of
any size, memory without end. What still goes wrong in a reader goes wrong here, and ends with this process.

    parent -> worker   8 bytes of length, then MessagePack of `Call`
    worker -> parent   the same, of `Answer`; the first one says how the fence turned out
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, get_type_hints

import msgspec

from beholder.errors import BrokenArtifact, RenderError
from beholder.fenced.landlock import keep_only
from beholder.fenced.limits import Limits, keep_to

HEADER = struct.Struct(">Q")
"""A message's length."""

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How to begin.

    Attributes:
        modules: Loaded at first; a function `preload` of theirs is called.
        limits: Set at last.
        user: The user and group to become under root; None: stay who we are.
    """

    modules: tuple[str, ...]
    limits: Limits
    user: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a function in one of the modules that were loaded.

    Attributes:
        arguments: By name, of types that MessagePack has or dataclasses of these; the function's own
            annotations say which.
    """

    module: str
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Received:
    """A `Call` whose arguments are read when the function is known."""

    module: str
    function: str
    arguments: dict[str, msgspec.Raw]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a call.

    Attributes:
        value: The result as MessagePack, if there is one.
        broken, failed: (slug, message) of a `BrokenArtifact`, or of another `RenderError`.
        fault: What no reader should do: a lack of memory, or an exception nobody has thought of.
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
    reader = msgspec.msgpack.Decoder(_Received)
    _send(outgoing, Answer(value=msgspec.msgpack.encode(_shut_in(begin))))
    while (message := _receive(incoming)) is not None:
        _send(outgoing, _answer(reader.decode(message)))


def _answer(call: _Received) -> Answer:
    try:
        # The names are our own: the parent takes them from its table, never from an artifact.
        work = getattr(sys.modules[call.module], call.function)
        types = get_type_hints(work)
        given = {name: msgspec.msgpack.decode(raw, type=types[name]) for name, raw in call.arguments.items()}
        return Answer(value=msgspec.msgpack.encode(work(**given)))
    except BrokenArtifact as error:
        return Answer(broken=(error.slug, str(error)))
    except RenderError as error:
        return Answer(failed=(error.slug, str(error)))
    except MemoryError:
        return Answer(fault="it takes more memory than there is for one file")
    except Exception:  # noqa: BLE001 - the process boundary: the parent finds out whose fault it is
        return Answer(fault=traceback.format_exc(limit=-1).strip().splitlines()[-1])


def _send(pipe: BinaryIO, message: Answer) -> None:
    data = msgspec.msgpack.encode(message)
    pipe.write(HEADER.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: BinaryIO) -> bytes | None:
    """One message; None at the end."""
    header = pipe.read(HEADER.size)
    return pipe.read(HEADER.unpack(header)[0]) if len(header) == HEADER.size else None


def _shut_in(setup: Setup) -> dict[str, Any]:
    """Give up rights for good; what could be had of it, for the record."""
    network, kept = "on", "none"
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        spaces = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
        network = "off" if libc.unshare(spaces) == 0 else "on"
        _become(setup.user)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # After that: changing the user takes it back.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        kept = keep_only(_readable(), [os.environ["TMPDIR"]])
    keep_to(setup.limits)
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
