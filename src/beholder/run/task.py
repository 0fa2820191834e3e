"""One submission, from its files to its row. Here, and only here, exceptions become outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from beholder.errors import JudgeError, JudgeRejected, SpecError, StoreError
from beholder.evidence import from_manifest, to_manifest
from beholder.judges import (
    CallContext,
    Endpoint,
    Judge,
    Prepared,
    RetryPolicy,
    ask_with_retries,
    render_prompt,
)
from beholder.records import Evidence, Picture, Reply, Submission, Task
from beholder.rows import (
    RepeatResult,
    artifact_digests,
    build_row,
    failed_repeat,
    read_reply,
    text_sha256,
)
from beholder.run.attempts import AttemptRecord
from beholder.run.budget import Budget
from beholder.run.plan import Plan
from beholder.run.progress import Progress
from beholder.run.stop import Stop
from beholder.store import CallKey, OutDir, task_folder
from beholder.tasks import RunDirectory


class EvidenceSource(Interface):
    """What makes evidence of a submission."""

    async def prepare(self, submission: Submission) -> Evidence:
        """The evidence, its pictures with their bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskJudge:
    """All that judging one submission needs; shared by every task of a model."""

    plan: Plan
    out: OutDir
    submissions: RunDirectory
    engine: EvidenceSource
    judge: Judge
    endpoint: Endpoint
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
        evidence, evidence_sha256 = await self._evidence(submission)
        if evidence.status != "ok":
            return self._row(task, submission, evidence, evidence_sha256)
        prompt = render_prompt(
            self.plan.protocol.prompt.template,
            self.plan.protocol.prompt.placeholders,
            task.fields,
            evidence,
        )
        await asyncio.to_thread(self.out.write_text, task.id, self.plan.judge_folder, "prompt.txt", prompt)
        prompt_sha256 = text_sha256(prompt)
        question = _Question(self.judge, prompt, evidence.pictures, self._folder(task))
        keys = call_keys(self.plan, submission, evidence, evidence_sha256, prompt)
        repeats = await _gather([self._repeat(key, question) for key in keys])
        told = {f"reply-{repeat.repeat}.txt" for repeat in repeats if repeat.reply is not None}
        await asyncio.to_thread(self.out.drop_stale, task.id, self.plan.judge_folder, told)
        return self._row(task, submission, evidence, evidence_sha256, prompt_sha256, repeats)

    def _unjudged_row(self, task: Task, reason: str, detail: str) -> dict[str, Any]:
        submission = Submission(task_id=task.id, model=self.submissions.model, root=None)
        evidence = Evidence(status="unscored", route="none", reason=reason, detail=detail)
        return self._row(task, submission, evidence, self.plan.evidence_sha256)

    def _folder(self, task: Task) -> Path:
        return self.out.folder(task.id, self.plan.judge_folder)

    async def _evidence(self, submission: Submission) -> tuple[Evidence, str]:
        """(evidence, the policy hash it was made under): stored evidence if it is of these very files."""
        digest = submission_sha256(submission)
        stored = await asyncio.to_thread(self.out.read_evidence, submission.task_id, self.plan.judge_folder)
        if stored is not None and stored.get("submission_sha256") == digest:
            made_under = str(stored.get("evidence_sha256"))
            kept = made_under == self.plan.evidence_sha256 or self.out.ledger.has_reply(
                submission.task_id, made_under
            )
            evidence = self._stored(submission, stored) if kept else None
            if evidence is not None:
                return evidence, made_under
        if self.stop.is_set:
            ended = Evidence(
                status="unscored",
                route="none",
                reason=self.stop.slug,
                detail="the run ended before this task",
            )
            return ended, self.plan.evidence_sha256
        evidence = await self.engine.prepare(submission)
        pictures = tuple(
            replace(picture, path=f"image-{number}{_SUFFIXES[picture.media_type]}")
            for number, picture in enumerate(evidence.pictures, start=1)
        )
        evidence = replace(evidence, pictures=pictures)
        record = {
            "submission_sha256": digest,
            "evidence_sha256": self.plan.evidence_sha256,
            "evidence": to_manifest(evidence),
        }
        await asyncio.to_thread(
            self.out.write_evidence,
            submission.task_id,
            self.plan.judge_folder,
            record,
            {picture.path: picture.data for picture in pictures},
        )
        return evidence, self.plan.evidence_sha256

    def _stored(self, submission: Submission, record: Mapping[str, Any]) -> Evidence | None:
        """Stored evidence that is of use; None if it is damaged, or failed on our side and may work now."""
        try:
            evidence = from_manifest(record["evidence"])
        except (KeyError, TypeError, ValueError):
            return None
        folder = self.out.folder(submission.task_id, self.plan.judge_folder)
        whole = all((folder / picture.path).is_file() for picture in evidence.pictures)
        return evidence if whole and evidence.status != "unscored" else None

    async def _repeat(self, key: CallKey, question: _Question) -> RepeatResult:
        """One repeat: from the ledger if it was asked before, else asked now."""
        stored = self.out.ledger.find(key)
        if stored is not None and stored.reply is not None:
            known = await self._read(key, stored.reply)
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
                    worst_usd=self.plan.worst_cost(prepared.prompt, len(prepared.pictures)),
                    price=self.plan.spec.price,
                    progress=self.progress,
                )
                reply = await ask_with_retries(
                    self.judge, prepared, call, endpoint=self.endpoint, policy=self.retry, log=log
                )
        except JudgeError as error:
            if isinstance(error, JudgeRejected) and error.stops_run:
                # The call stays open: it is asked once the key, the quota or the model's name is mended.
                self.stop.set("budget" if error.slug == "budget" else "futile", str(error))
            else:
                await self.out.ledger.call_failed(key, error)
            self.progress.failed(error)
            return failed_repeat(key.repeat, error.slug, str(error))
        return await self._read(key, reply)

    async def _read(self, key: CallKey, reply: Reply) -> RepeatResult:
        """A reply, parsed and scored, and stored where a person finds it."""
        await asyncio.to_thread(
            self.out.write_text, key.task_id, self.plan.judge_folder, f"reply-{key.repeat}.txt", reply.text
        )
        return read_reply(reply, key.repeat, self.plan.protocol)

    def _row(
        self,
        task: Task,
        submission: Submission,
        evidence: Evidence,
        evidence_sha256: str,
        prompt_sha256: str | None = None,
        repeats: Sequence[RepeatResult] = (),
    ) -> dict[str, Any]:
        return build_row(
            task=task,
            submission=submission,
            evidence=evidence,
            evidence_sha256=evidence_sha256,
            folder=f"{task_folder(task.id)}/{self.plan.judge_folder}",
            protocol=self.plan.protocol,
            pins=self.plan.pins,
            judge=self.plan.judge,
            prompt_sha256=prompt_sha256,
            repeats=repeats,
            n_requested=self.plan.protocol.repeats.n,
        )


class _Question:
    """A task's question, encoded when the first repeat needs it and dropped after the last.

    Pictures of evidence that was stored before are read from disk here, and only if a call is due.
    """

    def __init__(self, judge: Judge, prompt: str, pictures: Sequence[Picture], folder: Path) -> None:
        self._judge = judge
        self._prompt = prompt
        self._pictures = pictures
        self._folder = folder
        self._lock = asyncio.Lock()
        self._users = 0
        self._prepared: Prepared | None = None

    async def __aenter__(self) -> None:
        self._users += 1

    async def __aexit__(self, *exc_info: object) -> None:
        self._users -= 1
        if not self._users:
            self._prepared = None

    async def prepared(self) -> Prepared:
        """The encoded question; made once. Raises JudgeRejected if a picture is not what was recorded."""
        async with self._lock:
            if self._prepared is None:
                self._prepared = await asyncio.to_thread(self._prepare)
            return self._prepared

    def _prepare(self) -> Prepared:
        return self._judge.prepare(
            self._prompt, [_loaded(picture, self._folder) for picture in self._pictures]
        )


_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


def _loaded(picture: Picture, folder: Path) -> Picture:
    """A picture with its bytes. What cannot be read stays empty, and the judge refuses to send it."""
    if picture.data:
        return picture
    try:
        return replace(picture, data=(folder / picture.path).read_bytes())
    except OSError:
        return picture


def call_keys(
    plan: Plan, submission: Submission, evidence: Evidence, evidence_sha256: str, prompt: str
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
            judge=plan.judge_identity,
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
