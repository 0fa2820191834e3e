"""Replies without a run: one text to one outcome, a list of texts to one result. JSON-ready."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import stdev
from typing import Any

from beholder.errors import ProtocolError, ReplyError
from beholder.protocols import parse_criteria, parse_score
from beholder.records import Criterion, Formula, Protocol, ReplyForm, Verdict
from beholder.scoring import RepeatScore, number, reduce_repeats, score_verdict, value_number
from beholder.verdicts import parse_verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySpec:
    """What a reply is read by, where there is no whole protocol."""

    reply: ReplyForm
    criteria: tuple[Criterion, ...]
    score: Formula | None = None
    rationale: str = "reason"


def load_reply_spec(path: Path) -> ReplySpec:
    """`SPEC.json`: `{"reply_format", "criteria", "score"?}`.

    Raises:
        ProtocolError: It is wrong; the message lists every problem found.
    """
    try:
        raw = json.loads(path.read_text("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        raise ProtocolError(f"{path}: {error.strerror or 'cannot be read'}", concerns=str(path)) from None
    except ValueError as error:
        raise ProtocolError(f"{path}: not JSON: {error}", concerns=str(path)) from None
    if not isinstance(raw, dict) or raw.get("reply_format", "json") not in {"json", "lines"}:
        raise ProtocolError(f'{path}: expected {{"reply_format": "json" or "lines", "criteria": [...]}}')
    form: ReplyForm = raw.get("reply_format", "json")
    criteria = parse_criteria(raw.get("criteria"), str(path))
    score = parse_score(raw["score"], criteria, str(path)) if raw.get("score") else None
    default = "reason" if form == "json" else "EXPLANATION"
    return ReplySpec(reply=form, criteria=criteria, score=score, rationale=str(raw.get("rationale", default)))


def parse_reply(text: str, spec: ReplySpec | Protocol, *, stop_reason: str | None = None) -> dict[str, Any]:
    """`{outcome, reason, about, scores, derived, pass, flags, repairs, rationale}` of one reply."""
    try:
        verdict = _verdict(text, spec, stop_reason)
    except ReplyError as error:
        return {
            "outcome": "unscored",
            "reason": error.slug,
            "about": error.concerns or None,
            "scores": {},
            "derived": {},
            "pass": None,
            "flags": sorted(error.flags),
            "repairs": list(error.repairs),
            "rationale": "",
            "detail": str(error),
        }
    score = None if spec.score is None else score_verdict(verdict, spec.criteria, spec.score)
    flags = {*verdict.flags, *(score.flags if score else _unknown_keys(verdict))}
    return {
        "outcome": "scored",
        "reason": None,
        "about": None,
        "scores": {key: value_number(value) for key, value in verdict.scores.items()},
        "derived": {key: number(value) for key, value in score.derived.items()} if score else {},
        "pass": score.passed if score else None,
        "flags": sorted(flags),
        "repairs": list(verdict.repairs),
        "rationale": verdict.rationale,
    }


def score_replies(
    replies: Sequence[str | None], protocol: Protocol, *, pass_at: Decimal | None = None
) -> dict[str, Any]:
    """One result of all repeats' replies; None where the call failed.

    Args:
        pass_at: A pass mark in place of the protocol's.
    """
    formula = protocol.score if pass_at is None else replace(protocol.score, pass_at=pass_at)
    repeats: list[RepeatScore | None] = []
    reasons: Counter[str] = Counter()
    flags: set[str] = set()
    for text in replies:
        if text is None:
            reasons["unavailable"] += 1
            repeats.append(None)
            continue
        try:
            verdict = _verdict(text, protocol, None)
        except ReplyError as error:
            reasons[error.slug] += 1
            flags.update(error.flags)
            repeats.append(None)
        else:
            score = score_verdict(verdict, protocol.criteria, formula)
            flags.update(verdict.flags, score.flags)
            repeats.append(score)
    reduced = reduce_repeats(repeats, protocol.repeats, formula, n_requested=len(replies))
    flags.update(reduced.flags)
    reason = None
    if reduced.main is None:
        reason = reduced.reason or (reasons.most_common(1)[0][0] if reasons else "empty")
    result: dict[str, Any] = {
        "outcome": "unscored" if reduced.main is None else "scored",
        "reason": reason,
        "score": number(reduced.main),
        "scores": [None if repeat is None else number(repeat.main) for repeat in repeats],
        "pass": reduced.passed,
        **_spread([repeat.main for repeat in repeats if repeat is not None]),
        "n_scored": reduced.n_scored,
        "n_requested": len(replies),
        "derived": {name: number(reduced.derived.get(name)) for name in formula.nodes},
        "criteria": {c.key: number(reduced.scores.get(c.key)) for c in protocol.criteria},
        "flags": sorted(flags),
    }
    if "total_raw" in formula.nodes:
        raw = [None if repeat is None else number(repeat.derived["total_raw"]) for repeat in repeats]
        result |= {"score_raw": number(reduced.derived.get("total_raw")), "scores_raw": raw}
    return result


def _spread(mains: Sequence[Fraction]) -> dict[str, Any]:
    """How far the scored repeats lie apart; the sample deviation needs two."""
    return {
        "std_sample": stdev(map(float, mains)) if len(mains) > 1 else None,
        "min": number(min(mains, default=None)),
        "max": number(max(mains, default=None)),
    }


def _verdict(text: str, spec: ReplySpec | Protocol, stop_reason: str | None) -> Verdict:
    return parse_verdict(
        text, spec.criteria, form=spec.reply, rationale_key=spec.rationale, stop_reason=stop_reason
    )


def _unknown_keys(verdict: Verdict) -> tuple[str, ...]:
    """Without a formula, every member that is neither criterion nor rationale is an extra one."""
    return ("extra_keys",) if verdict.claims else ()
