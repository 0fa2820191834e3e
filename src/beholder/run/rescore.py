"""The stored replies of an out-dir under another formula: no call, no rendering, no network.

Everything comes from the out-dir: rows tell what was shown and asked, the ledger holds the replies. The new
out-dir stands alone, with a ledger of its own: it can be resumed, extended and re-scored in its turn. Of the
old one nothing is opened for writing; its ledger is copied first and read from the copy.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import beholder
from beholder.errors import ConfigError, ProtocolError, StoreError
from beholder.protocols import formula_sha256, load_protocol, question_sha256
from beholder.records import (
    ArtifactEvidence,
    Criterion,
    Evidence,
    JudgeSpec,
    Picture,
    Protocol,
    Submission,
    Task,
    Warning_,
)
from beholder.report import write_joint_reports, write_reports, write_table
from beholder.rows import (
    Pins,
    RepeatResult,
    artifact_digests,
    build_row,
    failed_repeat,
    read_reply,
    text_sha256,
)
from beholder.run.finish import machine_record, protocol_record
from beholder.store import CallKey, Ledger, OutDir, joint_models, read_json, read_rows
from beholder.store.outdir import write_json
from beholder.summary import TaskFigures, figures_of, summarize, summarize_jointly

Json = Mapping[str, Any]

MARK_DIGITS = 15
"""Digits that a pass mark may have: what JSON's numbers keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What re-scoring came to.

    Attributes:
        summary: `judge_summary.json` of the new out-dir: of the one model, or the joint one.
        models: Each model's own summary.
        reused: Stored replies that were read again.
    """

    out_dir: Path
    report: Path
    summary: Json
    models: Mapping[str, Json]
    reused: int

    @property
    def unscored(self) -> int:
        """Tasks without a score, over all models."""
        return sum(sum(summary["unscored"].values()) for summary in self.models.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """One model's out-dir, and the protocol that its replies are read by now."""

    path: Path
    manifest: Json
    protocol: Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    summary: dict[str, Any]
    figures: list[TaskFigures]
    reused: int


def rescore(
    out_dir: Path,
    to: Path,
    *,
    protocol: str | Path | None = None,
    prompt_file: Path | None = None,
    pass_at: Decimal | None = None,
) -> Rescored:
    """Score the replies of `out_dir` again and write the result to `to`.

    Args:
        out_dir: One model's out-dir, or the joint one of several. Not touched.
        to: A new or empty folder.
        protocol: With the new formula; None takes the one that the replies were asked by.
        prompt_file: The wording that was asked, where the run had one of the user's own.
        pass_at: Another pass mark.

    Raises:
        SpecError: The protocol is wrong or gone, `to` or `pass_at` cannot be used, or a wording is named
            without its protocol.
        StoreError: The question changed, or, where none is named, the run's own protocol did (`pinned`); or
            the out-dir is damaged.
    """
    if prompt_file is not None and protocol is None:
        raise ConfigError(
            "--prompt-file: name the protocol too, with --protocol; without it, question and wording are "
            "those of the run",
            concerns="--prompt-file",
        )
    _check_pass_at(pass_at)
    _check_target(out_dir, to)
    names = joint_models(out_dir)
    sources = {name: _source(out_dir / name, protocol, prompt_file, pass_at) for name in (names or [""])}
    with _new_folder(to) as folder:
        done = {name: _rescore_model(source, folder / name) for name, source in sources.items()}
        models = {one.summary["model"]: one.summary for one in done.values()}
        summary: Json = next(iter(models.values()))
        if names:
            figures = {one.summary["model"]: one.figures for one in done.values()}
            summary = summarize_jointly(models, figures, next(iter(sources.values())).protocol)
            write_json(folder / "judge_summary.json", summary)
            write_joint_reports(folder, {name: folder / name for name in names})
    return Rescored(
        out_dir=to,
        report=to / "report.html",
        summary=summary,
        models=models,
        reused=sum(one.reused for one in done.values()),
    )


def _check_pass_at(pass_at: Decimal | None) -> None:
    """A pass mark must be one that JSON can hold and a person would write."""
    if pass_at is None:
        return
    digits = len(pass_at.as_tuple().digits)
    if not pass_at.is_finite() or digits > MARK_DIGITS or not -MARK_DIGITS < pass_at.adjusted() < MARK_DIGITS:
        raise ConfigError(
            f"--pass-at {pass_at}: use a number of at most {MARK_DIGITS} digits, below 1e{MARK_DIGITS}",
            concerns="--pass-at",
        )


def _check_target(out_dir: Path, to: Path) -> None:
    here, there = out_dir.resolve(), to.resolve()
    if here == there or there.is_relative_to(here) or here.is_relative_to(there):
        raise ConfigError(
            f"--to {to}: choose a folder outside {out_dir}, which stays as it is", concerns="--to"
        )
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ConfigError(f"--to {to}: there is something already; choose a new folder", concerns="--to")


@contextlib.contextmanager
def _new_folder(to: Path) -> Iterator[Path]:
    """A folder that gets its name only once everything is in it."""
    partial = to.with_name(f".{to.name[:100]}.{os.getpid()}.part")
    try:
        partial.mkdir(parents=True)
        yield partial
        with contextlib.suppress(FileNotFoundError):
            to.rmdir()  # an empty folder, which Windows would not replace
        partial.replace(to)
    except OSError as error:
        raise StoreError(f"{to}: {error.strerror or error}", slug="disk", concerns=str(to)) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


# --- what the replies are read by -----------------------------------------------------------------


def _source(path: Path, ref: str | Path | None, prompt_file: Path | None, pass_at: Decimal | None) -> _Source:
    """An out-dir whose question is that of the protocol. Raises StoreError (`pinned`) if it is not."""
    manifest = read_json(path / "manifest.json")
    if manifest is None or "protocol" not in manifest:
        raise StoreError(
            f"{path}: no manifest.json of a finished run; is it an out-dir of judge-run?", slug="no_results"
        )
    asked = manifest["protocol"]
    own = ref is None
    protocol = _load_own(path, asked) if ref is None else load_protocol(ref, prompt_file=prompt_file)
    n = int(asked["repeats"]["n"])
    repeats = replace(protocol.repeats, n=n, min_scored=min(protocol.repeats.min_scored, n))
    protocol = replace(protocol, repeats=repeats)
    if own and "rescored" in manifest:
        # The pass mark may have been a flag's.
        mark = None if asked["pass_at"] is None else Decimal(str(asked["pass_at"]))
        protocol = replace(protocol, score=replace(protocol.score, pass_at=mark))
    differing = _differences(asked, protocol)
    if own and formula_sha256(protocol) != asked["formula_sha256"]:
        differing += _formula_differences(asked, protocol)
    if differing:
        listed = "".join(f"\n  - {line}" for line in differing)
        message = (
            f"{path}: {protocol.source} is not what the run was scored by; it was edited, or is another "
            f"file now:{listed}\nTo score by it as it is, or by another, name it with --protocol; "
            "only the formula may differ"
            if own
            else f"{path}: its replies answer another question than {protocol.source} asks:{listed}\n"
            "Only the formula may change: [score], weights, reduce, min_scored, [absent]. A new question "
            "needs new replies: judge-run with another --out-dir"
        )
        raise StoreError(message, slug="pinned", concerns=str(path))
    score = protocol.score if pass_at is None else replace(protocol.score, pass_at=pass_at)
    return _Source(path=path, manifest=manifest, protocol=replace(protocol, score=score))


def _load_own(path: Path, asked: Json) -> Protocol:
    """The protocol that the run names, with the wording that was asked."""
    try:
        protocol = load_protocol(str(asked["source"]))
    except ProtocolError as error:
        if error.slug != "unknown_protocol":
            raise
        raise ProtocolError(
            f"{path}: its protocol {asked['source']} is not there now; name it with --protocol",
            slug=error.slug,
            concerns=str(asked["source"]),
        ) from None
    source = asked["prompt_source"]
    if source in {protocol.prompt.source, "prompt.text", "criteria"}:
        return protocol  # the protocol's own wording was asked
    # It was a file of the user's own: nobody named another, so it is what was asked, wherever it is now.
    return replace(protocol, prompt=replace(protocol.prompt, sha256=asked["prompt_sha256"], source=source))


def _formula_differences(asked: Json, protocol: Protocol) -> list[str]:
    """In what the protocol's formula is not the one that the run was scored by, in words."""
    hashes = Pins(question_sha256=question_sha256(protocol), formula_sha256=formula_sha256(protocol))
    now = json.loads(json.dumps(protocol_record(protocol, hashes), default=_json_number))
    pairs = [(name, asked[name], now[name]) for name in ("absent", "pass_at")]
    for part in ("repeats", "score"):
        names = dict.fromkeys((*asked[part], *now[part]))
        pairs += [(f"{part}.{name}", asked[part].get(name), now[part].get(name)) for name in names]
    weights = {item["key"]: item["weight"] for item in now["criteria"]}
    pairs += [
        (f"weight of {item['key']!r}", item["weight"], weights.get(item["key"])) for item in asked["criteria"]
    ]
    found = [f"{name}: was {before!r}, now {after!r}" for name, before, after in pairs if before != after]
    return found or ["the formula"]


def _differences(asked: Json, protocol: Protocol) -> list[str]:
    """In what the protocol's question is not the one that was asked, in words; empty if it is."""
    if question_sha256(protocol) == asked["question_sha256"]:
        return []
    found = []
    before = {item["key"]: _question_part(item) for item in asked["criteria"]}
    now = {criterion.key: _question_part(_plain(criterion)) for criterion in protocol.criteria}
    found += [f"criterion {key!r} was not asked" for key in now if key not in before]
    found += [f"criterion {key!r} was asked and is gone" for key in before if key not in now]
    for key in before.keys() & now.keys():
        parts = [name for name in before[key] if before[key][name] != now[key].get(name)]
        found += [
            f"criterion {key!r}, {name}: asked {before[key][name]!r}, now {now[key].get(name)!r}"
            for name in parts
        ]
    if not found and list(before) != list(now):
        found.append("the order of the criteria")
    if asked["prompt_sha256"] != protocol.prompt.sha256:
        found.append(
            f"the prompt's wording: asked {asked['prompt_source']} ({asked['prompt_sha256'][:12]}…), now "
            f"{protocol.prompt.source} ({protocol.prompt.sha256[:12]}…); if the run had --prompt-file, "
            "name it again"
        )
    return found or [f"the reply form: now {protocol.reply!r}"]


def _question_part(criterion: Json) -> dict[str, Any]:
    """What of a criterion is asked: all but its weight."""
    return {key: value for key, value in criterion.items() if key != "weight"}


def _plain(criterion: Criterion) -> dict[str, Any]:
    """A criterion as the manifest has it."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(criterion), default=_json_number))
    return plain


def _json_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


# --- one model ------------------------------------------------------------------------------------


def _rescore_model(source: _Source, target: Path) -> _Done:
    started, clock = datetime.now(UTC), time.monotonic()
    target.mkdir(exist_ok=True)
    protocol = source.protocol
    pins = {**source.manifest["pins"], "protocol": protocol.id}
    write_json(target / "manifest.json", {"pins": pins})
    _copy_ledger(source.path, target)
    hashes = Pins(question_sha256=question_sha256(protocol), formula_sha256=formula_sha256(protocol))
    lines, figures, reused = [], [], 0
    out = OutDir(target, pins)
    try:
        for row in read_rows(source.path):
            _copy_folder(source.path, target, _folder(row))
            repeats = [_reread(row, repeat, out.ledger, pins, protocol) for repeat in row["repeats"]]
            reused += sum(repeat.reply is not None for repeat in repeats)
            new = _row(row, protocol, hashes, repeats)
            lines.append(json.dumps(new, ensure_ascii=False, allow_nan=False))
            figures.append(figures_of(new))
        out.write_rows(lines)
        summary = summarize(
            figures,
            protocol,
            model=pins["model"],
            judge=pins["judge"]["model"],
            hashes=asdict(hashes),
        )
        note = f"stored replies of {source.path.name} under this formula; no call was made"
        summary["warnings"].append({"code": "rescored", "detail": note})
        summary["cost_usd"] = 0.0
        out.write_json("judge_summary.json", summary)
        out.write_json("manifest.json", _manifest(source, pins, hashes))
        out.write_json("run.json", _run_record(source, started, time.monotonic() - clock, reused))
        if protocol.table is not None:
            write_table(protocol.table, target)
        write_reports(target)
    finally:
        out.close()
    return _Done(summary=summary, figures=figures, reused=reused)


def _copy_ledger(source: Path, target: Path) -> None:
    """The ledger's files, with what a killed run left in the write-ahead log."""
    if not (source / "ledger.sqlite").is_file():
        raise StoreError(f"{source}: no ledger.sqlite, so there are no replies", slug="no_results")
    with _unused(source):
        for name in ("ledger.sqlite", "ledger.sqlite-wal"):
            if (source / name).is_file():
                shutil.copyfile(source / name, target / name)


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


def _folder(row: Json) -> str:
    """The task's folder below the out-dir. Raises StoreError if the row leads out of it."""
    path = PurePosixPath(str(row["folder"]))
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise StoreError(f"row of task {row['task_id']!r}: the folder {row['folder']!r} leads out of it")
    return str(path)


def _copy_folder(source: Path, target: Path, folder: str) -> None:
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


def _reread(row: Json, repeat: Json, ledger: Ledger, pins: Json, protocol: Protocol) -> RepeatResult:
    """A repeat as it stands, its reply read and scored again."""
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
        judge=pins["judge"],
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


def _row(row: Json, protocol: Protocol, hashes: Pins, repeats: Sequence[RepeatResult]) -> dict[str, Any]:
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


def _manifest(source: _Source, pins: Json, hashes: Pins) -> dict[str, Any]:
    protocol, before = source.protocol, source.manifest["protocol"]
    return {
        **source.manifest,
        "beholder": beholder.__version__,
        "pins": pins,
        "protocol": {**before, **protocol_record(protocol, hashes)},
        "rescored": {
            "from": source.path.name,
            "beholder": source.manifest["beholder"],
            "protocol": before["id"],
            "formula_sha256": before["formula_sha256"],
        },
    }


def _run_record(source: _Source, started: datetime, seconds: float, reused: int) -> dict[str, Any]:
    return {
        "schema": 1,
        "started": started.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "stopped": None,
        "message": "",
        "rescored_from": source.path.name,
        "calls": {
            "made": 0,
            "answered": 0,
            "failed": 0,
            "retried": 0,
            "reused": reused,
            "possibly_billed": 0,
        },
        "tokens": {"input": 0, "output": 0},
        "cost_usd": 0.0,
        "known_cost_usd": 0.0,
        "unpriced_calls": 0,
        "machine": machine_record(),
    }
