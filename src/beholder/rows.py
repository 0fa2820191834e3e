"""A row of `judge_results.jsonl`: made of a task, its evidence, its replies and the formula, nothing else.

No time, attempt or cost enters a row, so that a resumed run, an undisturbed one and a rebuilt one write the
same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from beholder.errors import ReplyError
from beholder.records import ArtifactEvidence, Evidence, JudgeSpec, Protocol, Reply, Submission, Task, Verdict
from beholder.scoring import (
    RepeatScore,
    TaskScore,
    number,
    reduce_repeats,
    score_range,
    score_verdict,
    value_number,
)
from beholder.verdicts import parse_verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatResult:
    """One repeat as it ended: scored (`verdict` and `score`), or not (`reason` and `detail`)."""

    repeat: int
    reply: Reply | None
    reply_sha256: str | None
    verdict: Verdict | None = None
    score: RepeatScore | None = None
    reason: str | None = None
    detail: str = ""
    flags: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def read_reply(reply: Reply, repeat: int, protocol: Protocol) -> RepeatResult:
    """A repeat of its reply: parsed strictly, scored by the formula; what cannot be used has its reason."""
    digest = text_sha256(reply.text)
    try:
        verdict = parse_verdict(
            reply.text,
            protocol.criteria,
            form=protocol.reply,
            rationale_key=protocol.rationale,
            stop_reason=reply.stop_reason,
        )
    except ReplyError as error:
        return RepeatResult(
            repeat=repeat,
            reply=reply,
            reply_sha256=digest,
            reason=error.slug,
            detail=str(error),
            flags=error.flags,
            repairs=error.repairs,
        )
    return RepeatResult(
        repeat=repeat,
        reply=reply,
        reply_sha256=digest,
        verdict=verdict,
        score=score_verdict(verdict, protocol.criteria, protocol.score),
        flags=verdict.flags,
        repairs=verdict.repairs,
    )


def failed_repeat(repeat: int, reason: str, detail: str) -> RepeatResult:
    """A repeat whose call ended without a reply."""
    return RepeatResult(repeat=repeat, reply=None, reply_sha256=None, reason=reason, detail=detail)


def artifact_digests(artifacts: Sequence[ArtifactEvidence]) -> tuple[str, ...]:
    """What of the files identifies a call, `<sha256> <name>` each, by name.

    Of all files, for a page is drawn with its own beside it; with names, for two that change places make
    another page.
    """
    return tuple(f"{one.sha256} {one.name}" for one in sorted(artifacts, key=lambda one: one.name))


def text_sha256(text: str) -> str:
    """sha256 of a text's UTF-8 bytes; a lone surrogate, which a judge's JSON may hold, counts as it is."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """The hashes that stand in every row."""

    question_sha256: str
    formula_sha256: str


def build_row(
    *,
    task: Task,
    submission: Submission,
    evidence: Evidence,
    evidence_sha256: str,
    folder: str,
    protocol: Protocol,
    pins: Pins,
    judge: JudgeSpec,
    prompt_sha256: str | None,
    repeats: Sequence[RepeatResult],
    n_requested: int,
    rules: Sequence[Mapping[str, Any]] = (),
    criteria: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The row of a task, JSON-ready, with the fields of the contract in its order.

    Args:
        folder: The task's folder below the out-dir, POSIX; image paths are given below the out-dir too.
        repeats: One for each repeat asked for; empty where there was nothing to judge.
        n_requested: Repeats that the run asks for.
        rules: What was checked without a judge; no part of any score.
        criteria: The task's own, as data; None where the protocol's hold for every task.
    """
    reduced = reduce_repeats(
        [repeat.score for repeat in repeats], protocol.repeats, protocol.score, n_requested=n_requested
    )
    outcome, reason, main = _outcome(evidence, protocol, repeats, reduced)
    passed = reduced.passed
    if outcome == "absent":
        passed = None if main is None or protocol.score.pass_at is None else False
    served = sorted({r.reply.served_model for r in repeats if r.reply and r.reply.served_model})
    return {
        "task_id": task.id,
        "model": submission.model,
        "protocol": protocol.id,
        "question_sha256": pins.question_sha256,
        "evidence_sha256": evidence_sha256,
        "formula_sha256": pins.formula_sha256,
        "judge": {"model": judge.model, "served": served, "scripted": judge.scripted},
        "route": evidence.route,
        "outcome": outcome,
        "reason": reason,
        "main_score": number(main),
        "main_score_error": _error(outcome, reason, evidence, repeats),
        "pass": passed,
        "scores": {key: number(value) for key, value in reduced.scores.items()},
        "derived": {key: number(value) for key, value in reduced.derived.items()},
        "n_scored": reduced.n_scored,
        "n_requested": n_requested,
        "repeats": [_repeat_row(repeat, prompt_sha256) for repeat in repeats],
        "evidence": _evidence_row(evidence, folder),
        "rules": [dict(rule) for rule in rules],
        "flags": _flags(reduced, repeats),
        "labels": dict(task.labels),
        "folder": folder,
        "criteria": None if criteria is None else [dict(criterion) for criterion in criteria],
    }


def rationale_of(row: Mapping[str, Any]) -> str:
    """The rationale of the scored repeat nearest the mean, the first on a tie; empty without one."""
    scored = [repeat for repeat in row["repeats"] if repeat["outcome"] == "scored"]
    if not scored:
        return ""
    mean = Fraction(sum(Fraction(repeat["derived"]["main"]) for repeat in scored), len(scored))
    nearest = min(scored, key=lambda repeat: abs(Fraction(repeat["derived"]["main"]) - mean))
    return str(nearest["rationale"])


def _outcome(
    evidence: Evidence, protocol: Protocol, repeats: Sequence[RepeatResult], reduced: TaskScore
) -> tuple[str, str | None, Fraction | None]:
    """(outcome, reason, main score) by the contract's table of failures."""
    if evidence.status == "absent":
        worth = score_range(protocol.score, protocol.criteria)[0] if protocol.absent == "zero" else None
        return "absent", evidence.reason, worth
    if evidence.status == "unscored":
        return "unscored", evidence.reason, None
    if reduced.main is not None:
        return "scored", None, reduced.main
    if reduced.reason is not None:
        return "unscored", reduced.reason, None
    reasons = Counter(repeat.reason for repeat in repeats if repeat.reason)
    # The most frequent cause; the first one where several are as frequent.
    return "unscored", (reasons.most_common(1)[0][0] if reasons else "cancelled"), None


def _error(
    outcome: str, reason: str | None, evidence: Evidence, repeats: Sequence[RepeatResult]
) -> str | None:
    """Why there is no judged score, in words."""
    if outcome == "scored":
        return None
    detail = evidence.detail
    if evidence.status == "ok":
        detail = next((r.detail for r in repeats if r.reason == reason and r.detail), "")
    return f"{reason}: {detail}" if detail else reason


def _repeat_row(result: RepeatResult, prompt_sha256: str | None) -> dict[str, Any]:
    score = result.score
    flags = {*result.flags, *(score.flags if score else ())}
    return {
        "repeat": result.repeat,
        "outcome": "scored" if score else "unscored",
        "reason": result.reason,
        "scores": {key: value_number(value) for key, value in score.scores.items()} if score else {},
        "derived": {key: number(value) for key, value in score.derived.items()} if score else {},
        "pass": score.passed if score else None,
        "rationale": encodable(result.verdict.rationale) if result.verdict else "",
        "flags": sorted(flags),
        "repairs": list(result.repairs),
        "reply_sha256": result.reply_sha256,
        "stop_reason": result.reply.stop_reason if result.reply else None,
        "prompt_sha256": prompt_sha256,
        "detail": encodable(result.detail),
    }


def _evidence_row(evidence: Evidence, folder: str) -> dict[str, Any]:
    hidden = [item for item in evidence.artifacts if item.status == "not_shown"]
    return {
        "status": evidence.status,
        "artifacts": [
            {
                "name": encodable(item.name),
                "sha256": item.sha256,
                "size_bytes": item.size_bytes,
                "kind": item.kind,
                "status": item.status,
                "reason": item.reason,
                "detail": encodable(item.detail),
            }
            for item in evidence.artifacts
        ],
        "images": [
            {
                "path": f"{folder}/{picture.path}",
                "sha256": picture.sha256,
                "width_px": picture.width_px,
                "height_px": picture.height_px,
                "source": encodable(picture.source),
                "page": picture.page,
                "pages": picture.pages,
                "part": picture.part,
                "parts": picture.parts,
                "sheet": None if picture.sheet is None else encodable(picture.sheet),
                "time_s": picture.time_s,
            }
            for picture in evidence.pictures
        ],
        "videos": [
            {
                "path": f"{folder}/{video.path}",
                "sha256": video.sha256,
                "media_type": video.media_type,
                "size_bytes": video.size_bytes,
                "width_px": video.width_px,
                "height_px": video.height_px,
                "duration_s": video.duration_s,
                "fps": video.fps,
                "source": encodable(video.source),
            }
            for video in evidence.videos
        ],
        "not_shown": [
            {"name": encodable(item.name), "reason": item.reason, "detail": encodable(item.detail)}
            for item in hidden
        ],
        "warnings": [
            {"code": item.code, "detail": encodable(item.detail), "source": encodable(item.source)}
            for item in evidence.warnings
        ],
    }


def _flags(reduced: TaskScore, repeats: Sequence[RepeatResult]) -> list[str]:
    """Flags over repeats, and those of any repeat."""
    flags = set(reduced.flags)
    for repeat in repeats:
        flags.update(repeat.flags)
        if repeat.score:
            flags.update(repeat.score.flags)
    if len({r.reply.served_model for r in repeats if r.reply and r.reply.served_model}) > 1:
        flags.add("served_models_differ")
    return sorted(flags)


def encodable(text: str) -> str:
    """Text with lone surrogates replaced, so that it can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
