"""What makes a call the same call, and a submission the same one: by it, what is stored is used again."""

from __future__ import annotations

from beholder.records import Evidence, Submission
from beholder.rows import artifact_digests, text_sha256
from beholder.run.plan import Plan
from beholder.run.seat import Seat
from beholder.store import CallKey


def call_keys(
    plan: Plan, seat: Seat, submission: Submission, evidence: Evidence, evidence_sha256: str, prompt: str
) -> list[CallKey]:
    """The identity of each repeat's call."""
    return [
        CallKey(
            model=submission.model,
            task_id=submission.task_id,
            artifacts=artifact_digests(evidence.artifacts),
            question_sha256=plan.pins.question_sha256,
            evidence_sha256=evidence_sha256,
            prompt_sha256=text_sha256(prompt),
            judge=seat.identity,
            repeat=repeat,
        )
        for repeat in range(1, plan.protocol.repeats.n + 1)
    ]


def submission_sha256(submission: Submission) -> str:
    """Digest of a submission's files by name and content."""
    parts = [f"{a.name}\0{a.sha256}\0{a.problem or ''}" for a in submission.artifacts]
    return text_sha256("\n".join([*parts, text_sha256(submission.response or "")]))
