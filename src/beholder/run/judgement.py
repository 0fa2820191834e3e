"""What one submission came to, for a program: a row, read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.records import OutcomeKind
from beholder.rows import rationale_of
from beholder.run.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one submission came to.

    Attributes:
        task_id: The task.
        rollout: What tells submissions of one task apart: the first 32 digits of a digest of their files'
            names and contents. The ledger and `row` have it as `model`.
        outcome: `scored`; `absent`: the submission's own fault; `unscored`: ours, or the judge's.
        reason: The code of what was wrong; None if it is scored. `detail` says it in words.
        score: `main_score` of the row: the exact score as the nearest number. Of an absent submission the
            minimum, or None where the protocol leaves such out. None if it is unscored.
        passed: Whether it reaches the protocol's pass mark; None without one, and if it is unscored.
        criteria: Each criterion's mean over the scored repeats; empty unless it is scored.
        rationale: The judge's words.
        pictures: What the judge saw.
        calls: Answers that were received for this; 0 if the ledger had them all.
        cost_usd: Of these; None if a price is unknown.
        row: Everything: the fields of a row of `judge_results.jsonl`.
    """

    task_id: str
    rollout: str
    outcome: OutcomeKind
    reason: str | None
    detail: str
    score: int | float | None
    passed: bool | None
    criteria: Mapping[str, int | float]
    rationale: str
    pictures: tuple[Path, ...]
    calls: int
    cost_usd: Decimal | None
    row: Mapping[str, Any] = field(repr=False)


def judgement_of(row: Mapping[str, Any], out_dir: Path, progress: Progress) -> Judgement:
    """A row, with what was asked and paid for it by the counters of its own."""
    return Judgement(
        task_id=row["task_id"],
        rollout=row["model"],
        outcome=row["outcome"],
        reason=row["reason"],
        detail=row["main_score_error"] or "",
        score=row["main_score"],
        passed=row["pass"],
        criteria=row["scores"],
        rationale=rationale_of(row),
        pictures=tuple(out_dir / picture["path"] for picture in row["evidence"]["images"]),
        calls=progress.calls,
        cost_usd=None if progress.unpriced else progress.cost_usd,
        row=row,
    )
