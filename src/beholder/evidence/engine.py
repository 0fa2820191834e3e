"""The engine: submissions in, evidence out. Renderers are started with the first file that needs them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from beholder.errors import BrokenArtifact, MissingTool, RenderError
from beholder.evidence.allot import fair_shares
from beholder.evidence.cache import EvidenceCache
from beholder.evidence.egress import Dialler, Resolver, dial, resolve
from beholder.evidence.files import read_artifact
from beholder.evidence.kinds import Job, Shown, in_thread
from beholder.evidence.pictures import fit_request
from beholder.evidence.record import open_record
from beholder.evidence.renderers import KINDS, Renderers, fence_gaps
from beholder.evidence.select import Selection, select_artifacts
from beholder.evidence.share import cut_pictures, cut_texts
from beholder.evidence.slots import default_workers
from beholder.evidence.text import SPARE_CHARS
from beholder.evidence.visible import visible_text
from beholder.records import (
    Artifact,
    ArtifactEvidence,
    Evidence,
    EvidencePolicy,
    MediaLimits,
    NetworkPolicy,
    Routing,
    Submission,
    Warning_,
)

AT_A_TIME = 4
"""Files of one submission that are worked on at a time."""

RESPONSE_NAME = "response.txt"


@dataclass(frozen=True, slots=True)
class _Result:
    """What became of one artifact."""

    record: ArtifactEvidence
    shown: Shown = field(default_factory=Shown)
    renderer: Mapping[str, Any] = field(default_factory=dict)


class EvidenceEngine:
    """Makes evidence; an async context manager.

    Args:
        policy, routing, network: The protocol's rules and the user's word on the network.
        limits: What the judge takes.
        texts: Which of the submission's own texts (`response`, `artifacts`) the prompt has a place for beside
            pictures. The text judge is always shown both.
        workers: Processes that decode; also for how many pages are open at a time (`slots`); None: by the
            processors.
        cache_dir: Where rendered results are kept for other runs.
        record, replay: A folder that keeps what the outside answers to pages, or that is all they get of it.
        browser_path, soffice_path: The browser and LibreOffice to use instead of those that are found.
        resolver, dialler: How outside hosts are looked up and reached; replaced in tests.

    Attributes:
        renderer: Name, sandbox and fonts of what has drawn so far; empty before the first file.

    Raises:
        ConfigError: A folder for cache or record that cannot be used.
    """

    def __init__(
        self,
        policy: EvidencePolicy,
        routing: Routing,
        network: NetworkPolicy,
        limits: MediaLimits,
        *,
        texts: Collection[str] = (),
        workers: int | None = None,
        cache_dir: Path | None = None,
        record: Path | None = None,
        replay: Path | None = None,
        browser_path: str | None = None,
        soffice_path: str | None = None,
        resolver: Resolver = resolve,
        dialler: Dialler = dial,
    ) -> None:
        workers = default_workers() if workers is None else workers
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self._policy = policy
        self._routing = routing
        self._network = network
        self._limits = limits
        self._texts = frozenset(texts)
        folder = replay if replay is not None else record
        self._renderers = Renderers(
            workers,
            network,
            record=open_record(folder, replay=replay is not None) if folder is not None else None,
            cache=EvidenceCache(cache_dir) if cache_dir is not None else None,
            browser_path=browser_path,
            soffice_path=soffice_path,
            resolver=resolver,
            dialler=dialler,
        )
        self.renderer: dict[str, Any] = {}

    async def __aenter__(self) -> EvidenceEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._renderers.aclose()

    @property
    def cache_problem(self) -> str:
        """Why something could not be kept in `cache_dir`, in words; empty if all went well."""
        return self._renderers.cache_problem

    # --- one submission -------------------------------------------------------------------------

    async def prepare(self, submission: Submission) -> Evidence:
        """The evidence of a submission, its pictures with their bytes.

        What the submission is to blame for is `absent`, what we are to blame for `unscored`; neither raises.
        With several artifacts chosen, one that can be shown is enough.
        """
        submission = _with_plain_names(submission)
        selection = select_artifacts(submission, self._routing, texts_beside="artifacts" in self._texts)
        if selection.route == "none":
            return _nothing(selection)
        if selection.route == "text":
            results = await self._show_all(submission, selection.chosen, "text")
            response = await self._response(submission)
            return await self._assemble(selection, results, response)
        results = await self._show_all(submission, selection.chosen, None)
        results += await self._show_all(submission, selection.beside, "text")
        response = await self._response(submission)
        if response is not None and self._routing.kind == "strict":
            detail = "the visual judge is shown images only"
            record = replace(response.record, status="not_shown", reason="not_selected", detail=detail)
            response = _Result(record)
        elif "response" not in self._texts:
            response = None
        return await self._assemble(selection, results, response)

    async def _show_all(
        self, submission: Submission, chosen: Sequence[Artifact], kind: str | None
    ) -> list[_Result]:
        """What becomes of each artifact, in order; pictures within the budget, shared fairly.

        Args:
            kind: Of all of them; None: by their suffixes.
        """
        budget = self._policy.images
        if self._limits.images is not None:
            budget = min(budget, self._limits.images)
        results: dict[int, _Result] = {}
        places = asyncio.Semaphore(AT_A_TIME)
        most = max(1, budget - len(chosen) + 1)

        async def work(at: int, artifact: Artifact) -> None:
            async with places:
                of_kind = kind or KINDS.get(artifact.suffix, "")
                if kind is None and at >= budget:
                    record = _record(artifact, of_kind, "not_shown", "budget", "no picture is left for it")
                    results[at] = _Result(record)
                    return
                results[at] = await self._artifact(submission, artifact, of_kind, most)

        async with asyncio.TaskGroup() as group:
            for at, artifact in enumerate(chosen):
                group.create_task(work(at, artifact))
        ordered = [results[at] for at in range(len(chosen))]
        # Once all are there: cut as they come in, what is left would depend on which was ready first.
        shares = fair_shares([len(result.shown.pictures) for result in ordered], budget)
        return [
            replace(result, shown=cut_pictures(result.shown, share, result.record.name))
            for result, share in zip(ordered, shares, strict=True)
        ]

    async def _assemble(
        self, selection: Selection, results: list[_Result], response: _Result | None
    ) -> Evidence:
        everything = [*([response] if response is not None else []), *results]
        artifacts = (*(result.record for result in everything), *selection.not_shown)
        pictures = tuple(picture for result in everything for picture in result.shown.pictures)
        videos = tuple(video for result in everything for video in result.shown.videos)
        told = [(text, result.record) for result in everything for text in result.shown.texts]
        texts, cuts = cut_texts(
            [text for text, _ in told],
            self._policy.text_chars,
            [record.facts.get("characters", len(text)) for (_, text), record in told],
        )
        warnings = [warning for result in everything for warning in result.shown.warnings]
        warnings += cuts
        status: Literal["ok", "absent", "unscored"] = "ok"
        reason, detail = None, ""
        failed = [result.record for result in results if result.record.status == "unscored"]
        broken = [result.record for result in results if result.record.status == "absent"]
        nothing = not (pictures or videos) if selection.route == "visual" else not texts
        if failed:
            # A judge that saw half of it through our fault would charge the submission for it.
            status, reason, detail = "unscored", failed[0].reason, failed[0].detail
        elif nothing and broken:
            status, reason, detail = "absent", broken[0].reason, broken[0].detail
        else:
            try:
                pictures, more = await in_thread("", fit_request, pictures, self._limits)
                warnings += more
            except RenderError as error:
                status, reason, detail, pictures = "unscored", error.slug, str(error), ()
        renderer = {name: value for result in results for name, value in result.renderer.items()}
        self.renderer |= renderer
        if gaps := fence_gaps(renderer):
            warnings.append(Warning_(code="sandbox_off", detail=gaps))
        return Evidence(
            status=status,
            route=selection.route,
            reason=reason,
            detail=detail,
            artifacts=artifacts,
            pictures=pictures,
            texts=texts if status == "ok" else (),
            videos=videos if status == "ok" else (),
            warnings=tuple(warnings),
            renderer=renderer,
        )

    async def _response(self, submission: Submission) -> _Result | None:
        """The response text, if there is one."""
        words = submission.response or ""
        if not words.strip():
            return None
        keep = self._policy.text_chars + SPARE_CHARS
        return await in_thread(RESPONSE_NAME, _response_shown, words, keep)

    # --- one artifact ---------------------------------------------------------------------------

    async def _artifact(self, submission: Submission, artifact: Artifact, kind: str, room: int) -> _Result:
        try:
            data = await in_thread(artifact.name, read_artifact, artifact, submission.root)
            job = Job(
                name=artifact.name,
                suffix=artifact.suffix,
                data=data,
                policy=self._policy,
                limits=self._limits,
                budget=room,
            )
            rendered = await self._renderers.show(job, kind, submission, artifact)
        except BrokenArtifact as error:
            return _Result(_record(artifact, kind, "absent", error.slug, str(error)))
        except (MissingTool, RenderError) as error:
            return _Result(_record(artifact, kind, "unscored", error.slug, str(error)))
        shown = rendered.shown
        if shown.blocked_hosts:
            detail = _blocked_detail(shown.blocked_hosts, self._network)
            record = _record(artifact, kind, "unscored", "blocked_resources", detail, shown.facts)
        else:
            record = _record(artifact, kind, "shown", None, "", shown.facts)
        if artifact.name == RESPONSE_NAME:
            # The prompt's place for the response is found by this name, which is the response's alone.
            shown = replace(shown, texts=tuple((f"artifacts/{name}", text) for name, text in shown.texts))
        return _Result(record, shown, rendered.renderer)


def _record(
    artifact: Artifact,
    kind: str,
    status: Literal["shown", "absent", "unscored", "not_shown"],
    reason: str | None,
    detail: str,
    facts: Any = None,
) -> ArtifactEvidence:
    return ArtifactEvidence(
        name=artifact.name,
        sha256=artifact.sha256,
        size_bytes=artifact.size_bytes,
        kind=kind,
        status=status,
        reason=reason,
        detail=detail,
        facts=facts or {},
    )


def _with_plain_names(submission: Submission) -> Submission:
    """The submission with names that can be written as UTF-8: a file system holds bytes that are none."""
    named = [one.name.encode("utf-8", "backslashreplace").decode() for one in submission.artifacts]
    artifacts = (replace(one, name=name) for one, name in zip(submission.artifacts, named, strict=True))
    return replace(submission, artifacts=tuple(artifacts))


def _response_shown(words: str, keep: int) -> _Result:
    """The response text as evidence, as a text file of its own would be shown.

    Args:
        keep: Characters held; the others are counted.
    """
    data = words.encode("utf-8", "surrogatepass")
    text, made_visible = visible_text(words[:keep])
    record = ArtifactEvidence(
        name=RESPONSE_NAME,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        kind="text",
        status="shown",
        facts={"characters": len(text) + len(words[keep:]), "made_visible": made_visible},
    )
    return _Result(record, Shown(texts=((RESPONSE_NAME, text),)))


def _blocked_detail(hosts: tuple[str, ...], network: NetworkPolicy) -> str:
    named = ", ".join(hosts)
    if network.given:
        return f"asks for {named}, which did not answer or is not allowed; the protocol takes no such page"
    return (
        f"asks for {named}; allow with --network allow or --network {','.join(hosts)}, or say --network block"
    )


def _nothing(selection: Selection) -> Evidence:
    return Evidence(
        status="absent",
        route="none",
        reason=selection.reason,
        detail=selection.detail,
        artifacts=selection.not_shown,
    )
