"""Hashes of files against a list of them.

Two forms: lines as `sha256sum` writes them (`<64 hex digits>  path`), and JSON, `{path: digest}` or
`{"files": [{"path": …, "sha256": …}]}`. Paths are relative to the list's own folder.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from beholder.detection.jsonfile import strict_loads
from beholder.errors import SpecError

_DIGEST = re.compile("[0-9a-fA-F]{64}")
_LINE = re.compile(r"\\?([0-9a-fA-F]{64}) [ *](.+)")


def load_inventory(path: Path) -> dict[str, str]:
    """Path -> digest in lower case.

    Raises:
        SpecError: `bad_inventory`, `unreadable`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}", slug="unreadable", concerns=str(path)) from None
    except UnicodeError:
        raise _bad(path, "no UTF-8") from None
    found = _from_json(path, text) if text.lstrip().startswith(("{", "[")) else _from_lines(path, text)
    if not found:
        raise _bad(path, "lists no file")
    return found


def _from_lines(path: Path, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise _bad(path, f"line {number}: expected `<sha256>  path`")
        if found.setdefault(match[2], match[1].lower()) != match[1].lower():
            raise _bad(path, f"line {number}: {match[2]!r} is listed with two digests")
    return found


def _from_json(path: Path, text: str) -> dict[str, str]:
    try:
        value = strict_loads(text)
    except ValueError as error:
        raise _bad(path, f"no JSON: {error}") from None
    rows: Any = value.get("files", value) if isinstance(value, dict) else value
    if isinstance(rows, dict):
        rows = [{"path": name, "sha256": digest} for name, digest in rows.items()]
    found: dict[str, str] = {}
    for row in rows if isinstance(rows, list) else [None]:
        name, digest = (row.get("path"), row.get("sha256")) if isinstance(row, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise _bad(path, f"expected paths with their sha256, not {row!r:.80}")
        if found.setdefault(name, digest.lower()) != digest.lower():
            raise _bad(path, f"{name!r} is listed with two digests")
    return found


def verify_inventory(path: Path) -> dict[str, Any]:
    """Check every file that the list names.

    Returns:
        `files`, how many are listed; `changed` and `missing`, their paths.

    Raises:
        SpecError: `bad_inventory`, also for a path that leaves the list's folder; `unreadable`.
    """
    listed = load_inventory(path)
    root = path.resolve().parent
    changed, missing = [], []
    for name, digest in sorted(listed.items()):
        try:
            file = (root / name).resolve()
            inside, exists = file.is_relative_to(root), file.is_file()
        except (OSError, ValueError, RuntimeError):  # too long, a NUL, half a surrogate, links in a circle
            raise _bad(path, f"{name!r:.80} can be no file's path") from None
        if not inside:
            raise _bad(path, f"{name!r} lies outside of its folder")
        if not exists:
            missing.append(name)
        elif file_sha256(file) != digest:
            changed.append(name)
    return {"files": len(listed), "changed": changed, "missing": missing}


def file_sha256(file: Path) -> str:
    """Digest of a file's bytes.

    Raises:
        SpecError: `unreadable`.
    """
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}", slug="unreadable", concerns=str(file)) from None


def _bad(path: Path, what: str) -> SpecError:
    return SpecError(f"{path}: {what}", slug="bad_inventory", concerns=str(path))
