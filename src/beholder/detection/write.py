"""Files that the commands write, and where they may be written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from beholder.errors import SpecError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def strict_json(value: Any) -> str:
    """JSON without NaN, readable in UTF-8; half a surrogate pair, which UTF-8 cannot hold, stays escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def safe_out_dir(out_dir: Path, inputs: Iterable[Path]) -> Path:
    """The folder, made if need be.

    Raises:
        SpecError: `out_dir_is_input`: an input lies in it, and what is published must stay as it is;
            `unwritable`.
    """
    refuse_input_folder(out_dir, inputs)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"{out_dir}: {error.strerror}", slug="unwritable", concerns=str(out_dir)) from None
    return out_dir


def refuse_input_folder(out_dir: Path, inputs: Iterable[Path]) -> None:
    """Nothing is written where an input lies: the folder that its path names, and where a link leads.

    Args:
        inputs: Files, and folders, which are inputs with all that lies in them.

    Raises:
        SpecError: `out_dir_is_input`.
    """
    target = _real(out_dir)
    for file in inputs:
        if target in ({_real(file)} if is_folder(file) else {_real(file).parent, _real(file.parent)}):
            raise SpecError(
                f"{out_dir} holds the input {file.name}; name another folder for the results",
                slug="out_dir_is_input",
                concerns=str(out_dir),
            )


def is_folder(path: Path) -> bool:
    """Also for what can be no path: False."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that is too long
        return False


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # links in a circle; a name that is too long
        return path.absolute()


def write_text(path: Path, text: str) -> Path:
    """A text file in UTF-8 with LF line ends.

    Raises:
        SpecError: `unwritable`.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}", slug="unwritable", concerns=str(path)) from None
    return path
