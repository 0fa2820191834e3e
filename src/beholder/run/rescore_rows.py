"""Stored rows and their replies, read again: what was shown and asked stays, what it is worth may change."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from beholder.errors import StoreError
from beholder.protocols import parse_criteria, with_criteria
from beholder.records import (
    ArtifactEvidence,
    Evidence,
    JudgeSpec,
    Picture,
    Protocol,
    Submission,
    Task,
    Warning_,
)
from beholder.rows import (
    Pins,
    RepeatResult,
    artifact_digests,
    build_row,
    failed_repeat,
    read_reply,
    text_sha256,
)
from beholder.store import LEDGER_FILE, CallKey, Ledger, copy_ledger_files

Json = Mapping[str, Any]


def copy_ledger(source: Path, target: Path) -> None:
    """Copy the ledger of an out-dir that no run is writing to.

    Raises:
        StoreError: There is none (`no_results`), or a run is under way (`locked`).
    """
    if not (source / LEDGER_FILE).is_file():
        raise StoreError(f"{source}: no {LEDGER_FILE}, so there are no replies", slug="no_results")
    with _unused(source):
        copy_ledger_files(source, target)


@contextlib.contextmanager
def _unused(folder: Path) -> Iterator[None]:
    """Keeps a run from starting there meanwhile. Raises StoreError (`locked`) if one is under way."""
    if sys.platform == "win32" or not (folder / ".lock").is_file():
        yield
        return
    import fcntl

    # Opened for reading only: the lock's file holds the number of its owner, and stays as it is.
    with (folder / ".lock").open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"{folder}: a run is writing there; wait for it", slug="locked", concerns=str(folder)
            ) from None
        yield


def folder_of(row: Json) -> str:
    """The task's folder below the out-dir. Raises StoreError if the row leads out of it."""
    path = PurePosixPath(str(row["folder"]))
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise StoreError(f"row of task {row['task_id']!r}: the folder {row['folder']!r} leads out of it")
    return str(path)


def copy_folder(source: Path, target: Path, folder: str) -> None:
    """Evidence, prompt and replies of a task. Pictures are linked where the disk can: they never change."""
    if not (source / folder).is_dir():
        return  # a task that the run did not come to
    (target / folder).mkdir(parents=True, exist_ok=True)
    for path in (source / folder).iterdir():
        copy = target / folder / path.name
        if path.is_symlink() or not path.is_file() or path.name.endswith(".part"):
            continue
        if path.name.startswith("image-"):
            with contextlib.suppress(OSError):
                os.link(path, copy)
                continue
        shutil.copyfile(path, copy)


def protocol_of(row: Json, protocol: Protocol) -> Protocol:
    """The protocol as it holds for a row: with the task's own criteria, where it had such."""
    if not row.get("criteria"):
        return protocol
    name = f"row of task {row['task_id']!r}"
    return with_criteria(protocol, parse_criteria(row["criteria"], name), name)


def reread(row: Json, repeat: Json, ledger: Ledger, pins: Json, protocol: Protocol) -> RepeatResult:
    """A repeat as it stands, its reply read and scored again.

    Raises:
        StoreError: `damaged`: the ledger does not hold the reply.
    """
    number = int(repeat["repeat"])
    if repeat["reply_sha256"] is None:
        return failed_repeat(number, repeat["reason"], repeat["detail"])
    key = CallKey(
        model=row["model"],
        task_id=row["task_id"],
        artifacts=artifact_digests(_evidence(row).artifacts),
        question_sha256=row["question_sha256"],
        evidence_sha256=row["evidence_sha256"],
        prompt_sha256=repeat["prompt_sha256"],
        judge=pins.get("text_judge", pins["judge"]) if row["route"] == "text" else pins["judge"],
        repeat=number,
    )
    call = ledger.find(key)
    reply = call.reply if call else None
    if reply is None or text_sha256(reply.text) != repeat["reply_sha256"]:
        raise StoreError(
            f"task {row['task_id']!r}, repeat {number}: the ledger does not hold the reply that the row was "
            "made of; run judge-run again to mend the out-dir",
            slug="damaged",
            concerns=row["task_id"],
        )
    return read_reply(reply, number, protocol)


def row_again(row: Json, protocol: Protocol, hashes: Pins, repeats: Sequence[RepeatResult]) -> dict[str, Any]:
    """The row with its repeats as they were read again."""
    provider, _, name = row["judge"]["model"].partition("/")
    prompts = [repeat["prompt_sha256"] for repeat in row["repeats"]]
    return build_row(
        task=Task(id=row["task_id"], fields={}, labels=row["labels"], row=0),
        submission=Submission(task_id=row["task_id"], model=row["model"], root=None),
        evidence=_evidence(row),
        evidence_sha256=row["evidence_sha256"],
        folder=row["folder"],
        protocol=protocol,
        pins=hashes,
        judge=JudgeSpec(provider=provider, name=name),
        prompt_sha256=prompts[0] if prompts else None,
        repeats=repeats,
        n_requested=int(row["n_requested"]),
        rules=row["rules"],
        criteria=row.get("criteria"),
    )


def _evidence(row: Json) -> Evidence:
    """The evidence as far as a row tells of it, which is as far as a row is made of it."""
    found, folder = row["evidence"], row["folder"]
    ok = found["status"] == "ok"
    pictures = [
        Picture(
            media_type="",
            size_bytes=0,
            **{**image, "path": image["path"].removeprefix(f"{folder}/")},
        )
        for image in found["images"]
    ]
    return Evidence(
        status=found["status"],
        route=row["route"],
        reason=None if ok else row["reason"],
        detail="" if ok else _detail(row),
        artifacts=tuple(ArtifactEvidence(**item) for item in found["artifacts"]),
        pictures=tuple(pictures),
        warnings=tuple(Warning_(**item) for item in found["warnings"]),
    )


def _detail(row: Json) -> str:
    """What stands after the reason in a row's `main_score_error`; empty if nothing does."""
    reason, _, detail = str(row["main_score_error"]).partition(": ")
    return detail if reason == row["reason"] else ""
