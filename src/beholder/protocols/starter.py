"""The commented file that a protocol of one's own begins with, and the schema that editors check it by."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

from beholder.errors import ProtocolError
from beholder.protocols.schema import SCHEMA_ID, protocol_json_schema

SCHEMA_FILE = "protocol.schema.json"
"""Written beside the starter, which names it in its first line."""


def write_starter(name: str, path: Path | None = None) -> Path:
    """Write a starter protocol, `NAME.toml` in the current folder if no path is given.

    Its schema is written beside it; one that is there already is brought up to this version.

    Raises:
        ProtocolError: The name is none, or the file is there already.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        plain = re.sub(r"(/[0-9]+|\.toml)$", "", name.lower())
        like = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
        rule = "a protocol's name has lower-case letters, digits and hyphens only"
        raise ProtocolError(f"{name!r}: {rule}{f', such as {like}' if like else ''}")
    target = path or Path(f"{name}.toml")
    template = (resources.files("beholder.protocols") / "starter.toml").read_text("utf-8")
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(template.replace("NAME", name))
        schema = target.parent / SCHEMA_FILE
        if not schema.exists() or SCHEMA_ID in schema.read_text("utf-8", "replace"):
            schema.write_text(schema_text(), encoding="utf-8")
    except FileExistsError:
        raise ProtocolError(f"{target}: is there already; choose another name or --out") from None
    except OSError as error:
        hint = f"; make the folder {target.parent} first" if not target.parent.is_dir() else ""
        raise ProtocolError(f"{target}: {error.strerror or error}{hint}") from None
    return target


def schema_text() -> str:
    """The JSON Schema as a file."""
    return json.dumps(protocol_json_schema(), ensure_ascii=False, indent=1) + "\n"
