"""One submission, from its files to its row. Here, and only here, exceptions become outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar
from typing import Protocol as Interface

from beholder.errors import JudgeError, JudgeRejected, SpecError, StoreError
from beholder.evidence.manifest import from_manifest, to_manifest
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
from beholder.records import Evidence, Picture, Protocol, Reply, Route, Submission, Task, Video
from beholder.rows import (
    RepeatResult,
    artifact_digests,
    build_row,
    failed_repeat,
    read_reply,
    text_sha256,
)
from beholder.run.attempts import AttemptRecord
from beholder.run.beside import list_beside, same_beside
from beholder.run.budget import Budget
from beholder.run.placed import only_placed
from beholder.run.plan import Plan
from beholder.run.progress import Progress
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
        try:
            return await self._judge(task)
        except (StoreError, SpecError):
            raise
        except Exception as error:  # noqa: BLE001 - the one boundary: a fault met here must not end other tasks
            return self._unjudged_row(task, "render_failed", f"{type(error).__name__}: {error}")

    async def _judge(self, task: Task) -> dict[str, Any]:
        submission = await asyncio.to_thread(self.submissions.open, task)
        case = self._case(task, submission)
        evidence, evidence_sha256 = await self._evidence(case)
        rules = await asyncio.to_thread(rule_rows, case.protocol, task, submission)
        if evidence.status != "ok":
            return self._row(case, evidence, evidence_sha256, rules=rules)
        template = case.protocol.prompt
        fields = prompt_fields(case.protocol, task)
        prompt = render_prompt(template.template, template.placeholders, fields, evidence)
        await asyncio.to_thread(self.out.write_text, task.id, case.folder, "prompt.txt", prompt)
        question = _Question(case.desk.judge, prompt, evidence, self._folder(case))
        keys = call_keys(self.plan, case.desk.seat, submission, evidence, evidence_sha256, prompt)
        repeats = await _gather([self._repeat(case, key, question) for key in keys])
        told = {f"reply-{repeat.repeat}.txt" for repeat in repeats if repeat.reply is not None}
        await asyncio.to_thread(self.out.drop_stale, task.id, case.folder, told)
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
        evidence = only_placed(prepared, case.protocol.prompt.placeholders)
        pictures = tuple(
            replace(picture, path=f"image-{number}{_SUFFIXES[picture.media_type]}")
            for number, picture in enumerate(evidence.pictures, start=1)
        )
        videos = tuple(
            replace(video, path=f"video-{number}{_SUFFIXES.get(video.media_type, '.bin')}")
            for number, video in enumerate(evidence.videos, start=1)
        )
        evidence = replace(evidence, pictures=pictures, videos=videos)
        media: tuple[Picture | Video, ...] = (*pictures, *videos)
        record = {
            "submission_sha256": digest,
            "evidence_sha256": self.plan.evidence_sha256,
            "evidence": to_manifest(evidence),
        }
        await asyncio.to_thread(
            self.out.write_evidence,
            submission.task_id,
            case.folder,
            record,
            {one.path: one.data for one in media},
        )
        return evidence, self.plan.evidence_sha256

    def _stored(self, case: _Case, record: Mapping[str, Any]) -> Evidence | None:
        """Stored evidence that is of use; None if it is damaged, or failed on our side and may work now."""
        try:
            evidence = from_manifest(record["evidence"])
        except (KeyError, TypeError, ValueError):
            return None
        folder = self._folder(case)
        media: tuple[Picture | Video, ...] = (*evidence.pictures, *evidence.videos)
        whole = all((folder / one.path).is_file() for one in media)
        return evidence if whole and evidence.status != "unscored" else None

    async def _repeat(self, case: _Case, key: CallKey, question: _Question) -> RepeatResult:
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
        await asyncio.to_thread(
            self.out.write_text, key.task_id, case.folder, f"reply-{key.repeat}.txt", reply.text
        )
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


class _Question:
    """A task's question, encoded when the first repeat needs it and let go of after the last.

    Pictures and videos of evidence that was stored before are read from disk here, and only if a call is due.
    """

    def __init__(self, judge: Judge, prompt: str, evidence: Evidence, folder: Path) -> None:
        self._judge = judge
        self._prompt = prompt
        self._evidence = evidence
        self._folder = folder
        self._lock = asyncio.Lock()
        self._users = 0
        self._prepared: Prepared | None = None

    async def __aenter__(self) -> None:
        self._users += 1

    async def __aexit__(self, *exc_info: object) -> None:
        self._users -= 1
        if not self._users and self._prepared is not None:
            prepared, self._prepared = self._prepared, None
            await self._judge.release(prepared)

    async def prepared(self) -> Prepared:
        """The encoded question; made once. Raises JudgeRejected if a picture is not what was recorded."""
        async with self._lock:
            if self._prepared is None:
                self._prepared = await asyncio.to_thread(self._prepare)
            return self._prepared

    def _prepare(self) -> Prepared:
        return self._judge.prepare(
            self._prompt,
            [_loaded(picture, self._folder) for picture in self._evidence.pictures],
            [_loaded(video, self._folder) for video in self._evidence.videos],
        )


_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/mpeg": ".mpg",
}

_Media = TypeVar("_Media", Picture, Video)


def _loaded(one: _Media, folder: Path) -> _Media:
    """A picture or video with its bytes. What cannot be read stays empty, and the judge does not send it."""
    if one.data:
        return one
    try:
        return replace(one, data=(folder / one.path).read_bytes())
    except OSError:
        return one


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


async def _gather(repeats: Sequence[Any]) -> list[RepeatResult]:
    """All repeats; if one raises, the others are cancelled before it is passed on."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(repeat) for repeat in repeats]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in running]
