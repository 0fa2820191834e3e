"""Files and ports that a process keeps, all others given up for good: Linux's Landlock, without a library.

Needs no rights, so that it also holds where the user is no administrator and nothing else can be had.
Source: landlock(7) and the kernel's userspace-api/landlock; numbers from `linux/landlock.h`.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable

# The same on every architecture since the numbers were unified (Linux 5.1).
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_ON_FILES = _EXECUTE | 1 << 1 | _READ_FILE | 1 << 14
"""What a rule for a single file may speak of: run, write, read, truncate."""

_ALL_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1}
_ALL = (1 << 15) - 1
"""Of version 3 and later. What later versions add (device control) is not needed against a decoder."""

_NETWORK_VERSION = 4
_BIND_AND_CONNECT = 0b11


def keep_only(readable: Iterable[str], writable: Iterable[str]) -> str:
    """Give up all other files, and all TCP where the kernel can; what was given up.

    The process must have given up new privileges (`PR_SET_NO_NEW_PRIVS`) before. Files that are open stay so.

    Args:
        readable: Paths below which files may be read; those that do not exist are passed over.
        writable: Paths below which everything may be done.

    Returns:
        `files and tcp`, `files`, or `none`: the kernel cannot.
    """
    if sys.platform != "linux":
        return "none"
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    if version < 1:
        return "none"
    handled = _ALL_BY_VERSION.get(version, _ALL)
    closed = _BIND_AND_CONNECT if version >= _NETWORK_VERSION else 0
    rules = struct.pack("=QQ", handled, closed) if closed else struct.pack("=Q", handled)
    ruleset = libc.syscall(_CREATE, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return "none"
    try:
        for path in readable:
            _allow(libc, ruleset, path, _READ_FILE | _READ_DIR | _EXECUTE)
        for path in writable:
            _allow(libc, ruleset, path, handled)
        done = libc.syscall(_RESTRICT, ruleset, 0) == 0
    finally:
        os.close(ruleset)
    if not done:
        return "none"
    return "files and tcp" if closed else "files"


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            access &= _ON_FILES
        rule = struct.pack("=Qi", access, handle)
        libc.syscall(_ADD, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(handle)
