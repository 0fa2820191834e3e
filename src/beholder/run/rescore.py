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
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import beholder
from beholder.errors import ConfigError, StoreError
from beholder.protocols import formula_sha256, question_sha256
from beholder.report import write_joint_reports, write_reports, write_table
from beholder.rows import Pins
from beholder.run.finish import judges_named, machine_record, protocol_record
from beholder.run.rescore_rows import copy_folder, copy_ledger, folder_of, protocol_of, reread, row_again
from beholder.run.rescore_source import Source, load_source
from beholder.store import OutDir, joint_models, read_rows
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
    sources = {name: load_source(out_dir / name, protocol, prompt_file, pass_at) for name in (names or [""])}
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


def _rescore_model(source: Source, target: Path) -> _Done:
    started, clock = datetime.now(UTC), time.monotonic()
    target.mkdir(exist_ok=True)
    protocol = source.protocol
    pins = {**source.manifest["pins"], "protocol": protocol.id}
    write_json(target / "manifest.json", {"pins": pins})
    copy_ledger(source.path, target)
    hashes = Pins(question_sha256=question_sha256(protocol), formula_sha256=formula_sha256(protocol))
    lines, figures, reused = [], [], 0
    out = OutDir(target, pins)
    try:
        for row in read_rows(source.path):
            copy_folder(source.path, target, folder_of(row))
            own = protocol_of(row, protocol)
            repeats = [reread(row, repeat, out.ledger, pins, own) for repeat in row["repeats"]]
            reused += sum(repeat.reply is not None for repeat in repeats)
            new = row_again(row, own, hashes, repeats)
            lines.append(json.dumps(new, ensure_ascii=False, allow_nan=False))
            figures.append(figures_of(new))
        out.write_rows(lines)
        summary = summarize(
            figures,
            protocol,
            model=pins["model"],
            judge=judges_named(figures) or pins["judge"]["model"],
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


def _manifest(source: Source, pins: Json, hashes: Pins) -> dict[str, Any]:
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


def _run_record(source: Source, started: datetime, seconds: float, reused: int) -> dict[str, Any]:
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
