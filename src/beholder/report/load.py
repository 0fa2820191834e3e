"""The reading half of an out-dir, as far as a report needs it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn
from urllib.parse import quote

from beholder.errors import StoreError

Json = Mapping[str, Any]

INLINE_CHARS = 100_000
"""Longest reply or prompt that goes into the page itself; what is longer is cut, with a link to its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTexts:
    """What was sent and what came back for one task, verbatim.

    Attributes:
        prompt: None if no prompt was sent (or its file is gone).
        replies: By repeat; a repeat whose call failed has none.
    """

    prompt: str | None = None
    replies: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One model's out-dir, read; or the same from memory.

    Attributes:
        name: How the model is called in the report.
        rows, summary, manifest, run: The files' content.
        base: Where the out-dir lies as seen from the report: a relative POSIX path, empty if beside it.
        texts: By a row's `folder`.
        missing: Pictures that rows name and the disk does not have.
    """

    name: str
    rows: Sequence[Json]
    summary: Json
    manifest: Json = field(default_factory=dict)
    run: Json = field(default_factory=dict)
    base: str = ""
    texts: Mapping[str, TaskTexts] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()


def load_run(out_dir: Path, *, name: str | None = None, report_dir: Path | None = None) -> Run:
    """An out-dir, for a report that will lie in `report_dir` (default: in the out-dir itself).

    Raises:
        StoreError: The rows or the summary are missing or damaged.
    """
    rows = _read_rows(out_dir / "judge_results.jsonl")
    summary = _read_object(out_dir / "judge_summary.json")
    return Run(
        name=name or str(summary.get("model") or out_dir.name),
        rows=rows,
        summary=summary,
        manifest=read_optional(out_dir / "manifest.json"),
        run=read_optional(out_dir / "run.json"),
        base="" if report_dir is None else _relative(out_dir, report_dir),
        texts={folder: _read_texts(out_dir, folder, row) for row in rows if (folder := folder_of(row))},
        missing=frozenset(
            path for row in rows for path in image_paths(row) if not (out_dir / path).is_file()
        ),
    )


def read_optional(path: Path) -> Json:
    """A JSON object, empty if the file is not there.

    Raises:
        StoreError: The file is there and damaged.
    """
    return _read_object(path) if path.exists() else {}


def folder_of(row: Json) -> str:
    """The task's folder below the out-dir, as POSIX path; empty if it has none inside the out-dir."""
    path = row.get("folder") or next(
        (str(PurePosixPath(image).parent) for image in image_paths(row) if "/" in image), ""
    )
    return path if _is_inside(path) else ""


def image_paths(row: Json) -> list[str]:
    """The pictures' paths below the out-dir, those that would lead out of it left out."""
    images = (row.get("evidence") or {}).get("images") or []
    return [image["path"] for image in images if _is_inside(image.get("path") or "")]


def url(*parts: str) -> str:
    """A relative URL of POSIX path parts, every segment encoded.

    A folder that is named `%3Cb%3E` on disk becomes `%253Cb%253E`: a browser decodes once.
    """
    path = "/".join(part for part in parts if part)
    return "/".join(quote(segment, safe="") for segment in path.split("/"))


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts


def _relative(out_dir: Path, report_dir: Path) -> str:
    return Path(os.path.relpath(out_dir.resolve(), report_dir.resolve())).as_posix()


def _read_texts(out_dir: Path, folder: str, row: Json) -> TaskTexts:
    replies = {
        number: text
        for repeat in row.get("repeats") or []
        if (number := repeat.get("repeat")) is not None
        and (text := _read_text(out_dir / folder / f"reply-{number}.txt")) is not None
    }
    return TaskTexts(prompt=_read_text(out_dir / folder / "prompt.txt"), replies=replies)


def _read_text(path: Path) -> str | None:
    """A file's text without touching its line ends; None if it is not there."""
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _read_rows(path: Path) -> list[Json]:
    lines = _read_required(path).split("\n")
    return [_parse_object(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _read_object(path: Path) -> Json:
    return _parse_object(_read_required(path), str(path))


def _read_required(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StoreError(f"{path}: not found", slug="not_an_out_dir", concerns=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: cannot be read: {error}", slug="damaged", concerns=str(path)) from error


def _parse_object(text: str, where: str) -> Json:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise StoreError(f"{where}: not valid JSON: {error}", slug="damaged", concerns=where) from error
    if not isinstance(value, dict):
        raise StoreError(f"{where}: not a JSON object", slug="damaged", concerns=where)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
