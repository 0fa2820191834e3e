"""`--dry-run`: what a run would ask and cost, without asking, rendering or writing anything."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from beholder.evidence.manifest import from_manifest
from beholder.evidence.select import select_artifacts
from beholder.judges import render_prompt, rough_tokens
from beholder.judges.prompt import RESPONSE_NAME
from beholder.protocols import prompt_fields
from beholder.records import Evidence, Picture, Protocol, Submission, Usage
from beholder.rows import read_reply
from beholder.run.beside import same_beside
from beholder.run.identity import call_keys, submission_sha256
from beholder.run.placed import only_placed
from beholder.run.plan import Plan, plan_run
from beholder.run.seat import Seat
from beholder.run.spec import RunSpec
from beholder.store import CallKey, Ledger, check_pins, ledger_copy, read_json, task_folder
from beholder.store.outdir import EVIDENCE_FILE

PAGE_PX = (1280, 2400)
"""A page that was not drawn yet is taken to be three screens long."""

REPLY_TOKENS = 300
"""A reply of the built-in protocols has fewer; the cap is the worst case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would do.

    Attributes:
        items: Task and model pairs.
        to_judge: Those that have something to look at, as far as names tell.
        calls: Still to be made; `reused` are in the ledger already.
        images: In the calls to be made.
        input_tokens, output_tokens: Rough.
        cost_usd: Rough; None: the price is unknown.
        worst_cost_usd: If every reply filled the token cap.
    """

    judge: str
    items: int
    to_judge: int
    calls: int
    reused: int
    images: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    worst_cost_usd: Decimal | None


def estimate_run(spec: RunSpec) -> Estimate:
    """Count a run.

    Raises:
        SpecError: The user's files or flags are wrong.
    """
    plan = plan_run(spec)
    to_judge = calls = reused = images = tokens = replies = 0
    cost: Decimal | None = Decimal(0)
    worst: Decimal | None = Decimal(0)
    for submissions in plan.models:
        out = spec.out_dir if len(plan.models) == 1 else spec.out_dir / submissions.model
        if not spec.force:
            check_pins(out, plan.out_dir_pins(submissions.model))
        with ledger_copy(out) as ledger:
            for task in plan.tasks:
                submission = submissions.open(task)
                seat, protocol = plan.seat_for(submission), plan.protocol_for(task)
                evidence, made_under = _evidence(plan, seat, submission, out)
                evidence = only_placed(evidence, protocol.prompt.placeholders)
                if not (evidence.pictures or evidence.videos or evidence.texts):
                    continue
                to_judge += 1
                template, fields = protocol.prompt, prompt_fields(protocol, task)
                prompt = render_prompt(template.template, template.placeholders, fields, evidence)
                keys = call_keys(plan, seat, submission, evidence, made_under, prompt)
                known = None if spec.force else ledger
                due = sum(_is_due(plan, known, key, protocol) for key in keys)
                reused += len(keys) - due
                calls += due
                images += due * len(evidence.pictures)
                tokens_in = due * rough_tokens(seat.judge, prompt, evidence.pictures, evidence.videos)
                tokens_out = due * min(REPLY_TOKENS, seat.judge.max_tokens)
                most_out = due * seat.judge.max_tokens
                tokens, replies = tokens + tokens_in, replies + tokens_out
                cost = _plus(cost, seat.cost(Usage(input_tokens=tokens_in, output_tokens=tokens_out)))
                worst = _plus(worst, seat.cost(Usage(input_tokens=tokens_in, output_tokens=most_out)))
    return Estimate(
        judge=", ".join(dict.fromkeys(seat.judge.model for seat in plan.seats.values())),
        items=len(plan.tasks) * len(plan.models),
        to_judge=to_judge,
        calls=calls,
        reused=reused,
        images=images,
        input_tokens=tokens,
        output_tokens=replies,
        cost_usd=cost,
        worst_cost_usd=worst,
    )


def _plus(total: Decimal | None, cost: Decimal | None) -> Decimal | None:
    """A sum that is unknown once a part of it is."""
    return None if total is None or cost is None else total + cost


def _is_due(plan: Plan, ledger: Ledger | None, key: CallKey, protocol: Protocol) -> bool:
    """Whether a call would be made."""
    stored = ledger.find(key) if ledger is not None else None
    if stored is None or stored.state == "open":
        return True
    if not plan.spec.retry_unscored:
        return False
    return stored.reply is None or read_reply(stored.reply, key.repeat, protocol).score is None


def _evidence(plan: Plan, seat: Seat, submission: Submission, out: Path) -> tuple[Evidence, str]:
    """(evidence, policy hash): stored of these very files by an earlier run, else guessed by their names."""
    stored = read_json(out / task_folder(submission.task_id) / seat.folder / EVIDENCE_FILE)
    if stored is not None and stored.get("submission_sha256") == submission_sha256(submission):
        evidence = from_manifest(stored["evidence"])
        if same_beside(submission, evidence):
            return evidence, str(stored["evidence_sha256"])
    if seat.route == "text":
        guessed = Evidence(status="ok", route="text", texts=_guessed_texts(plan, submission))
    else:
        guessed = Evidence(status="ok", route="visual", pictures=_guessed_pictures(plan, submission))
    return guessed, plan.evidence_sha256


def _guessed_texts(plan: Plan, submission: Submission) -> tuple[tuple[str, str], ...]:
    """As many characters as will be shown, by whose they are; which ones does not matter to a count."""
    sizes = [(RESPONSE_NAME, len(submission.response or ""))]
    chosen = select_artifacts(submission, plan.protocol.routing).chosen
    sizes += [(artifact.name, artifact.size_bytes) for artifact in chosen]
    left = plan.protocol.evidence.text_chars
    texts = []
    for name, size in sizes:
        if shown := min(size, left):
            texts.append((name, "x" * shown))
            left -= shown
    return tuple(texts)


def _guessed_pictures(plan: Plan, submission: Submission) -> tuple[Picture, ...]:
    chosen = select_artifacts(submission, plan.protocol.routing).chosen
    width, height = PAGE_PX
    shrunk = plan.limits.shrink_edge_px
    tiles = -(-height // shrunk) if shrunk and plan.protocol.evidence.layout != "single" else 1
    parts = tiles + (1 if tiles > 1 and plan.protocol.evidence.layout == "overview+tiles" else 0)
    count = min(parts, plan.protocol.evidence.images)
    return tuple(
        Picture(
            sha256="",
            media_type="image/png",
            width_px=width,
            height_px=height // tiles,
            size_bytes=0,
            source=artifact.name,
        )
        for artifact in chosen
        for _ in range(count)
    )
