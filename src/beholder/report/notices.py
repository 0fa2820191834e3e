"""What a reader should know before believing the figures: warnings of summaries, rows and manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from beholder.report import numbers, words
from beholder.report.load import Json, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningView:
    """Something to know before believing the figures; `details` are (model or empty, text)."""

    code: str
    words: str
    details: tuple[tuple[str, str], ...] = ()


def judge_of(run: Run) -> Json:
    """What the summary says of the judge."""
    return run.summary.get("judge") or {}


def warnings_of(runs: Sequence[Run], joint: Json) -> tuple[WarningView, ...]:
    """The summaries' warnings and those that rows and manifests imply, one view per code."""
    own_words = {
        (warning.get("code"), f"{run.name}: {warning.get('detail')}")
        for run in runs
        for warning in run.summary.get("warnings") or []
    }
    told = [
        ("", warning)
        for warning in joint.get("warnings") or []
        if (warning.get("code"), warning.get("detail")) not in own_words
    ]
    for run in runs:
        who = run.name if len(runs) > 1 else ""
        own = list(run.summary.get("warnings") or [])
        codes = {warning.get("code") for warning in own}
        own += [warning for warning in _implied_warnings(run) if warning["code"] not in codes]
        told += [(who, warning) for warning in own]
    details: dict[str, list[tuple[str, str]]] = {}
    for who, warning in told:
        detail = (who, str(warning.get("detail") or ""))
        details.setdefault(str(warning.get("code") or ""), []).append(detail)
    return tuple(
        WarningView(
            code=code,
            words=_sentence(words.warning(code)),
            details=tuple(detail for detail in dict.fromkeys(known) if any(detail)),
        )
        for code, known in details.items()
        if code != "scripted"  # has a banner of its own
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _implied_warnings(run: Run) -> list[Json]:
    """What rows and manifest tell that a reader of the mean should know."""
    warnings: list[Json] = []
    scored = [row for row in run.rows if row.get("outcome") == "scored"]
    partial = sum(1 for row in scored if (row.get("n_scored") or 0) < (row.get("n_requested") or 0))
    if partial:
        detail = f"{partial} of {numbers.plural(len(scored), 'scored task')}"
        warnings.append({"code": "partial_coverage", "detail": detail})
    served = judge_of(run).get("served") or []
    if len(served) > 1:
        warnings.append({"code": "served_models_differ", "detail": ", ".join(served)})
    if (run.manifest.get("renderer") or {}).get("sandbox") in (False, "off"):
        warnings.append({"code": "sandbox_off"})
    codes = [
        {warning.get("code") for warning in (row.get("evidence") or {}).get("warnings") or []}
        for row in scored
    ]
    degraded = Counter(code for per_row in codes for code in per_row if code)
    if degraded:
        detail = "; ".join(
            f"{words.warning(code)} ({numbers.plural(n, 'task')})" for code, n in sorted(degraded.items())
        )
        warnings.append({"code": "evidence_warnings", "detail": detail})
    return warnings
