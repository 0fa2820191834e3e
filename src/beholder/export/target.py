"""Where an export may be written, and how: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from beholder.errors import ConfigError, StoreError

_OWN_FILES = {
    "judge_results.jsonl",
    "judge_summary.json",
    "manifest.json",
    "prepared_output_evidence.json",
    "run.json",
}
_OUT_DIR_SIGNS = ("judge_results.jsonl", "judge_summary.json", "ledger.sqlite")


def write_whole(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a file that appears whole or not at all.

    Raises:
        ConfigError: A target that cannot be written: a folder, in none, or something that an out-dir holds.
        StoreError: The file cannot be written.
    """
    if target.is_dir():
        raise ConfigError(f"-o {target}: is a folder; name a file in it", concerns="-o")
    _check_target(target)
    partial = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            write(file)
        partial.replace(target)
    except OSError as error:
        raise StoreError(f"{target}: {error.strerror or error}", slug="disk", concerns=str(target)) from None
    finally:
        partial.unlink(missing_ok=True)


def _check_target(target: Path) -> None:
    """Nothing that an out-dir holds is overwritten: its tables have names that only their protocol knows."""
    if target.name.lower() in _OWN_FILES:
        raise ConfigError(f"-o {target}: that is the name of an out-dir's own file", concerns="-o")
    if not target.parent.is_dir():
        raise ConfigError(f"-o {target}: there is no folder {target.parent}; make it first", concerns="-o")
    folder = target.parent.resolve()
    inside = any((above / name).exists() for above in (folder, *folder.parents) for name in _OUT_DIR_SIGNS)
    if inside and os.path.lexists(target):
        raise ConfigError(
            f"-o {target}: it lies in an out-dir and is there already; choose another name, or a folder "
            "outside",
            concerns="-o",
        )
