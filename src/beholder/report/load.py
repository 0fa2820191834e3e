"""The reading half of an out-dir, as far as a report needs it."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from beholder.errors import StoreError
from beholder.store import no_results, read_json, read_rows
from beholder.store.outdir import EVIDENCE_FILE

Json = Mapping[str, Any]

HUMAN_FILE = "human_agreement.json"

_REPLY = re.compile(r"reply-(\d{1,9})\.txt")

INLINE_CHARS = 100_000
"""Longest reply or prompt that goes into the page itself; what is longer is cut, with a link to its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTexts:
    """What was sent and what came back for one task, verbatim.

    Attributes:
        prompt: None if no prompt was sent (or its file is gone).
        replies: By repeat; a repeat whose call failed has none.
        shown: (name, text) of the files that the judge was shown as text.
    """

    prompt: str | None = None
    replies: Mapping[int, str] = field(default_factory=dict)
    shown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StoredTexts(Mapping[str, TaskTexts]):
    """The texts of an out-dir by a row's `folder`, read when they are asked for and not kept."""

    out_dir: Path

    def __getitem__(self, folder: str) -> TaskTexts:
        path = self.out_dir / folder
        try:
            names = sorted(entry.name for entry in os.scandir(path))
        except OSError:
            raise KeyError(folder) from None
        replies = {
            int(match[1]): _read_text(path / name) for name in names if (match := _REPLY.fullmatch(name))
        }
        return TaskTexts(
            prompt=_read_text(path / "prompt.txt") if "prompt.txt" in names else None,
            replies=replies,
            shown=_shown_texts(path / EVIDENCE_FILE) if EVIDENCE_FILE in names else (),
        )

    def __iter__(self) -> Iterator[str]:
        return (folder for row in read_rows(self.out_dir) if (folder := folder_of(row)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One model's out-dir, read; or the same from memory.

    Attributes:
        name: How the model is called in the report.
        rows, summary, manifest, run: The files' content.
        base: Where the out-dir lies as seen from the report: a relative POSIX path, empty if beside it.
        texts: By a row's `folder`.
        sizes: Bytes of each picture and video that rows name, by its path; None: the disk does not have it.
        thumbs: Path of a smaller copy, by the picture's path.
        human: `human_agreement.json`, empty without one.
    """

    name: str
    rows: Sequence[Json]
    summary: Json
    manifest: Json = field(default_factory=dict)
    run: Json = field(default_factory=dict)
    base: str = ""
    texts: Mapping[str, TaskTexts] = field(default_factory=dict)
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    thumbs: Mapping[str, str] = field(default_factory=dict)
    human: Json = field(default_factory=dict)


def load_run(out_dir: Path, *, name: str | None = None, report_dir: Path | None = None) -> Run:
    """An out-dir, for a report that will lie in `report_dir` (default: in the out-dir itself).

    Raises:
        StoreError: The rows or the summary are missing or damaged.
    """
    summary = _read_object(out_dir / "judge_summary.json")
    rows = list(read_rows(out_dir))
    return Run(
        name=name or str(summary.get("model") or out_dir.name),
        rows=rows,
        summary=summary,
        manifest=read_optional(out_dir / "manifest.json"),
        run=read_optional(out_dir / "run.json"),
        base="" if report_dir is None else _relative(out_dir, report_dir),
        texts=StoredTexts(out_dir),
        sizes={path: _size(out_dir / path) for row in rows for path in media_paths(row)},
        human=read_optional(out_dir / HUMAN_FILE),
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
        (str(PurePosixPath(image).parent) for image in media_paths(row) if "/" in image), ""
    )
    return path if is_inside(path) else ""


def media_paths(row: Json) -> list[str]:
    """Paths of pictures and videos below the out-dir, those that would lead out of it left out."""
    evidence = row.get("evidence") or {}
    media = [*(evidence.get("images") or []), *(evidence.get("videos") or [])]
    return [one["path"] for one in media if is_inside(one.get("path") or "")]


def url(*parts: str) -> str:
    """A relative URL of POSIX path parts, every segment encoded.

    A folder that is named `%3Cb%3E` on disk becomes `%253Cb%253E`: a browser decodes once.
    """
    path = "/".join(part for part in parts if part)
    return "/".join(quote(segment, safe="") for segment in path.split("/"))


def is_inside(path: str) -> bool:
    """Whether a relative POSIX path stays below where it starts."""
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")


def _relative(out_dir: Path, report_dir: Path) -> str:
    return Path(os.path.relpath(out_dir.resolve(), report_dir.resolve())).as_posix()


def _size(path: Path) -> int | None:
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a null byte in a name
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _read_text(path: Path) -> str:
    """A file's text without touching its line ends."""
    return path.read_bytes().decode("utf-8", errors="replace")


def _shown_texts(path: Path) -> tuple[tuple[str, str], ...]:
    """The texts of an evidence record; none if it has another shape."""
    record = read_json(path) or {}
    evidence = record.get("evidence")
    # Records of the first versions were the evidence itself.
    texts = (evidence if isinstance(evidence, Mapping) else record).get("texts")
    if not isinstance(texts, list):
        return ()
    return tuple((str(one[0]), str(one[1])) for one in texts if isinstance(one, list) and len(one) == 2)


def _read_object(path: Path) -> Json:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise no_results(path, "not_an_out_dir") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {error}", slug="damaged", concerns=str(path)) from error
    if not isinstance(value, dict):
        raise StoreError(f"{path}: not a JSON object", slug="damaged", concerns=str(path))
    return value
