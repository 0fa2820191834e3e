"""One submission, from its files to its row. Here, and only here, exceptions become outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from beholder.errors import JudgeError, JudgeRejected, SpecError, StoreError
from beholder.evidence.manifest import from_manifest, to_manifest
from beholder.fenced.threads import to_its_end
from beholder.judges import (
    CallContext,
    Endpoint,
    Judge,
    Prepared,
    RetryPolicy,
    ask_with_retries,
    render_prompt,
)
from beholder.protocols import criterion_record, prompt_fields
from beholder.records import Evidence, Protocol, Reply, Route, Submission, Task
from beholder.rows import (
    RepeatResult,
    build_row,
    failed_repeat,
    read_reply,
    text_sha256,
)
from beholder.run.attempts import AttemptRecord
from beholder.run.beside import list_beside, same_beside
from beholder.run.budget import Budget
from beholder.run.identity import call_keys, submission_sha256
from beholder.run.media import media_of, with_paths
from beholder.run.placed import only_placed
from beholder.run.plan import Plan
from beholder.run.progress import Progress
from beholder.run.question import Question
from beholder.run.rules import rule_rows
from beholder.run.seat import Seat
from beholder.run.stop import Stop
from beholder.store import CallKey, OutDir, task_folder


class EvidenceSource(Interface):
    """What makes evidence of a submission."""

    async def prepare(self, submission: Submission) -> Evidence:
        """The evidence, its pictures with their bytes."""


class SubmissionSource(Interface):
    """Where one model's submissions are."""

    @property
    def model(self) -> str:
        """The name that they are reported under."""

    def open(self, task: Task) -> Submission:
        """The submission for a task; without artifacts and response if there is none. Reads the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A seat with its judge, ready to be asked, and the limiter of the judge's address."""

    seat: Seat
    judge: Judge
    endpoint: Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One submission with all that it is judged by.

    Attributes:
        protocol: As it holds for this task.
    """

    task: Task
    submission: Submission
    protocol: Protocol
    desk: Desk

    @property
    def folder(self) -> str:
        """The name of the judge's folder below the task's."""
        return self.desk.seat.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskJudge:
    """All that judging one submission needs; shared by every task of a model."""

    plan: Plan
    out: OutDir
    submissions: SubmissionSource
    engine: EvidenceSource
    desks: Mapping[Route, Desk]
    retry: RetryPolicy
    budget: Budget
    stop: Stop
    progress: Progress

    async def judge_task(self, task: Task) -> dict[str, Any]:
        """The row of a task.

        Raises:
            StoreError, SpecError: What concerns the whole run. Nothing else: whatever goes wrong with one
                submission is that submission's outcome.
        """
        # A task of its own: a TaskGroup that fails leaves its task counted as cancelled, up to Python 3.12.
        working = asyncio.create_task(self._judge(task))
        try:
            return await working
        except (StoreError, SpecError):
            raise
        except Exception as error:  # the one boundary: a fault met here must not end other tasks
            running = asyncio.current_task()
            if running is not None and running.cancelling():
                # What failed while all was being ended is no outcome, and does not let the run go on.
                raise asyncio.CancelledError from error
            return self._unjudged_row(task, "render_failed", f"{type(error).__name__}: {error}")

    async def _judge(self, task: Task) -> dict[str, Any]:
        submission = await asyncio.to_thread(self.submissions.open, task)
        case = self._case(task, submission)
        evidence, evidence_sha256 = await self._evidence(case)
        rules = await rule_rows(case.protocol, task, submission)
        if evidence.status != "ok":
            return self._row(case, evidence, evidence_sha256, rules=rules)
        template = case.protocol.prompt
        fields = prompt_fields(case.protocol, task)
        prompt = render_prompt(template.template, template.placeholders, fields, evidence)
        await to_its_end(self.out.write_text, task.id, case.folder, "prompt.txt", prompt)
        question = Question(case.desk.judge, prompt, evidence, self._folder(case))
        keys = call_keys(self.plan, case.desk.seat, submission, evidence, evidence_sha256, prompt)
        repeats = await _gather([self._repeat(case, key, question) for key in keys])
        told = {f"reply-{repeat.repeat}.txt" for repeat in repeats if repeat.reply is not None}
        await to_its_end(self.out.drop_stale, task.id, case.folder, told)
        return self._row(case, evidence, evidence_sha256, text_sha256(prompt), repeats, rules)

    def _case(self, task: Task, submission: Submission) -> _Case:
        desk = self.desks[self.plan.seat_for(submission).route]
        return _Case(task=task, submission=submission, protocol=self.plan.protocol_for(task), desk=desk)

    def _unjudged_row(self, task: Task, reason: str, detail: str) -> dict[str, Any]:
        submission = Submission(task_id=task.id, model=self.submissions.model, root=None)
        evidence = Evidence(status="unscored", route="none", reason=reason, detail=detail)
        return self._row(self._case(task, submission), evidence, self.plan.evidence_sha256)

    def _folder(self, case: _Case) -> Path:
        return self.out.folder(case.task.id, case.folder)

    async def _evidence(self, case: _Case) -> tuple[Evidence, str]:
        """(evidence, the policy hash it was made under): stored evidence if it is of these very files."""
        submission = case.submission
        digest = submission_sha256(submission)
        stored = await asyncio.to_thread(self.out.read_evidence, submission.task_id, case.folder)
        if stored is not None and stored.get("submission_sha256") == digest:
            made_under = str(stored.get("evidence_sha256"))
            kept = made_under == self.plan.evidence_sha256 or self.out.ledger.has_reply(
                submission.task_id, submission.model, made_under
            )
            evidence = self._stored(case, stored) if kept else None
            if evidence is not None and await asyncio.to_thread(same_beside, submission, evidence):
                return evidence, made_under
        if self.stop.is_set:
            ended = Evidence(
                status="unscored",
                route="none",
                reason=self.stop.slug,
                detail="the run ended before this task",
            )
            return ended, self.plan.evidence_sha256
        prepared = list_beside(await self.engine.prepare(submission))
        evidence = with_paths(only_placed(prepared, case.protocol.prompt.placeholders))
        record = {
            "submission_sha256": digest,
            "evidence_sha256": self.plan.evidence_sha256,
            "evidence": to_manifest(evidence),
        }
        await to_its_end(
            self.out.write_evidence,
            submission.task_id,
            case.folder,
            record,
            {one.path: one.data for one in media_of(evidence)},
        )
        return evidence, self.plan.evidence_sha256

    def _stored(self, case: _Case, record: Mapping[str, Any]) -> Evidence | None:
        """Stored evidence that is of use; None if it is damaged, or failed on our side and may work now."""
        try:
            evidence = from_manifest(record["evidence"])
        except (KeyError, TypeError, ValueError):
            return None
        folder = self._folder(case)
        whole = all((folder / one.path).is_file() for one in media_of(evidence))
        return evidence if whole and evidence.status != "unscored" else None

    async def _repeat(self, case: _Case, key: CallKey, question: Question) -> RepeatResult:
        """One repeat: from the ledger if it was asked before, else asked now."""
        stored = self.out.ledger.find(key)
        if stored is not None and stored.reply is not None:
            known = await self._read(case, key, stored.reply)
            if known.score is not None or not self.plan.spec.retry_unscored or self.stop.is_set:
                self.progress.reused()
                return known
        elif stored is not None and stored.state == "failed" and not self.plan.spec.retry_unscored:
            return failed_repeat(key.repeat, stored.slug or "unavailable", stored.detail)
        if self.stop.is_set:
            return failed_repeat(key.repeat, self.stop.slug, "the run ended before this call")
        try:
            call = CallContext(task_id=key.task_id, model=key.model, repeat=key.repeat)
            async with question:
                prepared = await question.prepared()
                log = AttemptRecord(
                    ledger=self.out.ledger,
                    key=key,
                    request=prepared.request_record,
                    budget=self.budget,
                    worst_usd=self._worst_cost(case, prepared),
                    price=case.desk.seat.price,
                    progress=self.progress,
                )
                try:
                    reply = await ask_with_retries(
                        case.desk.judge,
                        prepared,
                        call,
                        endpoint=case.desk.endpoint,
                        policy=self.retry,
                        log=log,
                    )
                finally:
                    log.close()
        except JudgeError as error:
            if isinstance(error, JudgeRejected) and error.stops_run:
                # The call stays open: it is asked once the key, the quota or the model's name is mended.
                self.stop.set("budget" if error.slug == "budget" else "futile", str(error))
            else:
                await self.out.ledger.call_failed(key, error)
            self.progress.failed(error)
            return failed_repeat(key.repeat, error.slug, str(error))
        return await self._read(case, key, reply)

    def _worst_cost(self, case: _Case, prepared: Prepared) -> Decimal:
        """What one attempt can cost at the most, in USD; 0 where no limit is to be kept."""
        if self.plan.spec.max_cost is None:
            return Decimal(0)
        return case.desk.seat.worst_cost(prepared.prompt, len(prepared.pictures), prepared.videos)

    async def _read(self, case: _Case, key: CallKey, reply: Reply) -> RepeatResult:
        """A reply, parsed and scored, and stored where a person finds it."""
        await to_its_end(self.out.write_text, key.task_id, case.folder, f"reply-{key.repeat}.txt", reply.text)
        return read_reply(reply, key.repeat, case.protocol)

    def _row(
        self,
        case: _Case,
        evidence: Evidence,
        evidence_sha256: str,
        prompt_sha256: str | None = None,
        repeats: Sequence[RepeatResult] = (),
        rules: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        own = case.protocol.per_task.criteria is not None
        return build_row(
            task=case.task,
            submission=case.submission,
            evidence=evidence,
            evidence_sha256=evidence_sha256,
            folder=f"{task_folder(case.task.id)}/{case.folder}",
            protocol=case.protocol,
            pins=self.plan.pins,
            judge=case.desk.seat.judge,
            prompt_sha256=prompt_sha256,
            repeats=repeats,
            n_requested=case.protocol.repeats.n,
            rules=rules,
            criteria=[criterion_record(one) for one in case.protocol.criteria] if own else None,
        )


async def _gather(repeats: Sequence[Coroutine[Any, Any, RepeatResult]]) -> list[RepeatResult]:
    """All repeats; if one raises, the others are cancelled before it is passed on."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(repeat) for repeat in repeats]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in running]
