"""One out-dir: who may write there, what it is pinned to, and where each file lies."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from beholder.errors import StoreError
from beholder.store.ledger import LEDGER_FILE, Ledger, ledger_copy
from beholder.store.lock import FolderLock
from beholder.store.names import task_folder

EVIDENCE_FILE = "prepared_output_evidence.json"

ANY_MODEL = "*"
"""What an out-dir of rollouts is pinned to instead of a model's name; no run directory can have it."""


class OutDir:
    """An out-dir, held exclusively until `close`.

    Args:
        path: Made if it is absent.
        pins: What must stay the same for stored replies to be of use: the question and the judge. Kept in
            `manifest.json`, and compared with what stands there already.
        force: Archive what is there (`archive/<time>/`) and begin anew.

    Raises:
        StoreError: Another run holds it, it is pinned to other inputs, or it is damaged.
    """

    def __init__(self, path: Path, pins: Mapping[str, Any], *, force: bool = False) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise StoreError(
                f"{path}: is a file; choose a folder as --out-dir", slug="not_an_out_dir", concerns=str(path)
            ) from None
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}", concerns=str(path)) from None
        self._lock = FolderLock(path)
        try:
            if force:
                _archive(path)
            if check_pins(path, pins):
                write_json(path / "manifest.json", {"pins": pins})
            self.ledger = Ledger(path / LEDGER_FILE)
        except BaseException:
            self._lock.release()
            raise

    def folder(self, task_id: str, judge_name: str) -> Path:
        """Where a task's evidence, prompt and replies lie."""
        return self.path / task_folder(task_id) / judge_name

    def read_evidence(self, task_id: str, judge_name: str) -> dict[str, Any] | None:
        """The stored evidence record of a task, or None."""
        return read_json(self.folder(task_id, judge_name) / EVIDENCE_FILE)

    def write_evidence(
        self, task_id: str, judge_name: str, record: Mapping[str, Any], images: Mapping[str, bytes]
    ) -> None:
        """Store images and videos, then the record that names them; what an earlier one named is removed.

        All of it is on the disk before this returns: replies outlive a power cut, so must what they speak of.
        """
        folder = self.folder(task_id, judge_name)
        folder.mkdir(parents=True, exist_ok=True)
        for old in (*folder.glob("image-*"), *folder.glob("video-*")):
            if old.name not in images:
                old.unlink()
        for name, data in images.items():
            _replace(folder / name, [data], durable=True)
        _replace(folder / EVIDENCE_FILE, [_json_bytes(record)], durable=True)

    def write_text(self, task_id: str, judge_name: str, name: str, text: str) -> None:
        """Store a prompt or a reply for people to read, unless the same text is there already."""
        path = self.folder(task_id, judge_name) / name
        data = text.encode("utf-8", "replace")
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, data)

    def drop_stale(self, task_id: str, judge_name: str, told: Collection[str]) -> None:
        """Remove the files of replies that belong to an earlier question; the ledger keeps them."""
        for path in self.folder(task_id, judge_name).glob("reply-*.txt"):
            if path.name not in told:
                path.unlink()

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file of the out-dir, whole or not at all."""
        write_json(self.path / name, value)

    def write_rows(self, rows: Iterable[str]) -> None:
        """Write `judge_results.jsonl` from rows that are JSON already, whole or not at all."""
        _replace(self.path / "judge_results.jsonl", (f"{row}\n".encode("utf-8", "replace") for row in rows))

    def close(self) -> None:
        """Finish writing and let others in."""
        self.ledger.close()
        self._lock.release()


def check_pins(path: Path, pins: Mapping[str, Any]) -> bool:
    """Whether an out-dir has no pins yet.

    Raises:
        StoreError: It has others, or lost them while it holds replies.
    """
    manifest = path / "manifest.json"
    there = read_json(manifest)
    if there is None:
        # Without its pins nobody can tell what the replies in the ledger answer.
        with ledger_copy(path) as ledger:
            lost = manifest.exists() or (ledger is not None and ledger.has_answers())
        if lost:
            raise StoreError(
                f"{manifest}: missing or damaged, and the out-dir holds replies; restore it, or use "
                "--force to archive what is there and begin anew",
                slug="damaged",
                concerns=str(manifest),
            )
        return True
    differing = [name for name, value in pins.items() if there.get("pins", {}).get(name) != value]
    if not differing:
        return False
    listed = "".join(
        f"\n  - {line}"
        for name in differing
        for line in _unlike(name, there.get("pins", {}).get(name), pins[name])
    )
    raise StoreError(
        f"{path}: its replies answer another question or come from another judge:{listed}\n"
        "Use another --out-dir, or --force to archive what is there and begin anew",
        slug="pinned",
        concerns=str(path),
    )


def _unlike(name: str, there: Any, now: Any) -> Iterator[str]:
    """Two pins as lines that name what differs; of a table, the keys that do."""
    if isinstance(there, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*there, *now]):
            if there.get(key) != now.get(key):
                yield from _unlike(f"{name}.{key}", there.get(key), now.get(key))
    else:
        yield f"{name}: there {_shown(there)}, now {_shown(now)}"


def _shown(value: Any) -> str:
    """A pin's value for people; what was left out is none."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file, or None if there is no file or it was cut short."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def joint_models(out_dir: Path) -> list[str]:
    """The models of a joint out-dir, whose out-dirs lie in folders of their names; empty for one model's.

    Raises:
        StoreError: `damaged`: a name is none that a run gives a folder, and could lead out of the out-dir.
    """
    if (out_dir / "judge_results.jsonl").exists():
        return []
    path = out_dir / "judge_summary.json"
    models = (read_json(path) or {}).get("models")
    if not isinstance(models, dict):
        return []
    for name in models:
        if not name or task_folder(name) != name:
            raise StoreError(
                f"{path}: {name!r} is no name of a model's folder; restore the file, or run judge-run again",
                slug="damaged",
                concerns=str(path),
            )
    return list(models)


def read_rows(out_dir: Path) -> Iterator[dict[str, Any]]:
    """Rows of `judge_results.jsonl`; a torn last line counts as absent.

    Raises:
        StoreError: `no_results`: there is no such file; `damaged`: a line is no JSON object, with its number.
    """
    path = out_dir / "judge_results.jsonl"
    if not path.is_file():
        raise no_results(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line, parse_constant=_no_constant)
            except ValueError as error:
                if not line.endswith(b"\n"):
                    return
                raise _bad_row(path, number, str(error)) from None
            if not isinstance(row, dict):
                raise _bad_row(path, number, "not a JSON object")
            yield row


def no_results(path: Path, slug: str = "no_results") -> StoreError:
    """What is said where a file that a run writes at its end is not there."""
    out_dir = path.parent
    pins = (read_json(out_dir / "manifest.json") or {}).get("pins")
    if isinstance(pins, Mapping) and pins.get("model") == ANY_MODEL:
        why = (
            "is kept by a judge that a program opened (open_judge): replies and evidence, no rows. Let the "
            "program write each Judgement.row as a line of FOLDER/judge_results.jsonl, and export FOLDER"
        )
    else:
        why = f"no {path.name}; is it an out-dir of judge-run?"
    return StoreError(f"{out_dir}: {why}", slug=slug, concerns=str(path))


def _bad_row(path: Path, number: int, cause: str) -> StoreError:
    return StoreError(
        f"{path}:{number}: {cause}; run judge-run again to rebuild it", slug="damaged", concerns=str(path)
    )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Strict JSON, readable, whole or not at all."""
    _replace(path, [_json_bytes(value)])


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False, default=json_number)
    return text.encode("utf-8", "replace") + b"\n"


def json_number(value: object) -> int | float:
    """A decimal, which JSON has no type for, as a number of an out-dir's files.

    Raises:
        TypeError: Anything else, which has no place in them.
    """
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"a {type(value).__name__} is no JSON")


def write_bytes(path: Path, data: bytes) -> None:
    """A file, whole or not at all."""
    _replace(path, [data])


def _replace(path: Path, chunks: Iterable[bytes], *, durable: bool = False) -> None:
    """Write beside, then rename over: a reader or a crash never sees half a file."""
    partial = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        what = f"{error.strerror or error}{'; free space, then run the same command again' if full else ''}"
        raise StoreError(f"{path}: {what}", slug="disk", concerns=str(path)) from None


def _archive(path: Path) -> None:
    """Move what is in an out-dir below `archive/`, so that nothing of it is mixed with what comes."""
    content = [entry for entry in path.iterdir() if entry.name not in {"archive", ".lock"}]
    if not content:
        return
    if not (path / "manifest.json").exists() and not (path / LEDGER_FILE).exists():
        raise StoreError(
            f"{path}: holds something else than results, so --force does not touch it; choose another "
            "--out-dir",
            slug="not_an_out_dir",
            concerns=str(path),
        )
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    target = path / "archive" / stamp
    target.mkdir(parents=True)
    for entry in content:
        shutil.move(entry, target / entry.name)
