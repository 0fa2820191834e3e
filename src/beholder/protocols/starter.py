"""The commented file that a protocol of one's own begins with."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from beholder.errors import ProtocolError


def write_starter(name: str, path: Path | None = None) -> Path:
    """Write a starter protocol, `NAME.toml` in the current folder if no path is given.

    Raises:
        ProtocolError: The name is none, or the file is there already.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ProtocolError(f"{name!r}: a protocol's name has lower-case letters, digits and hyphens only")
    target = path or Path(f"{name}.toml")
    template = (resources.files("beholder.protocols") / "starter.toml").read_text("utf-8")
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(template.replace("NAME", name))
    except FileExistsError:
        raise ProtocolError(f"{target}: is there already; choose another name or --out") from None
    except OSError as error:
        raise ProtocolError(f"{target}: {error.strerror or error}") from None
    return target
