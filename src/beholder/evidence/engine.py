"""The engine: submissions in, evidence out. Renderers are started with the first file that needs them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from beholder.errors import BrokenArtifact, MissingTool, RendererFailed, RenderError
from beholder.evidence.browser import Browser
from beholder.evidence.egress import Dialler, Egress, Resolver, dial, resolve
from beholder.evidence.files import own_files, path_below, read_artifact
from beholder.evidence.html import check_html, render_html
from beholder.evidence.kinds import Job, Shown, in_thread
from beholder.evidence.pages import PageRenderer
from beholder.evidence.pictures import fit_request
from beholder.evidence.select import Selection, select_artifacts
from beholder.evidence.serve import ServedFolder
from beholder.evidence.share import cut_pictures, cut_texts, picture_shares
from beholder.evidence.svg import check_svg, render_svg
from beholder.evidence.worker import with_data
from beholder.evidence.workers import WorkerPool
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

SUFFIXES = {
    "html": (".html", ".htm"),
    "svg": (".svg",),
    "pdf": (".pdf",),
    "image": (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif", ".bmp", ".tif", ".tiff"),
    "video": (".mp4", ".webm", ".mov"),
}
KINDS = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes}
"""Suffix -> kind. What a protocol routes to the text judge is text, whatever its suffix."""

_WORK = {
    "image": ("beholder.evidence.image", "render_image"),
    "pdf": ("beholder.evidence.pdf", "render_pdf"),
    "text": ("beholder.evidence.text", "read_text"),
    "video": ("beholder.evidence.video", "render_video"),
}
"""Kind -> the function that a worker runs."""

_RenderPage = Callable[[Browser, Job, ServedFolder, NetworkPolicy, Egress | None], Awaitable[Shown]]

_IN_BROWSER: dict[str, tuple[Callable[[Job], None], _RenderPage]] = {
    "html": (check_html, render_html),
    "svg": (check_svg, render_svg),
}
"""Kind -> what is checked before the browser sees a file, and what it draws."""

_POOLS = {"video": ("beholder.evidence.video",)}
_LIGHT = ("beholder.evidence.image", "beholder.evidence.pdf", "beholder.evidence.text")
"""Modules that workers load: one kind of worker for all but videos, whose library is large."""

AT_A_TIME = 4
"""Files of one submission that are worked on at a time."""

RESPONSE_NAME = "response.txt"


@dataclass(frozen=True, slots=True)
class _Result:
    """What became of one artifact."""

    record: ArtifactEvidence
    shown: Shown = field(default_factory=Shown)


class EvidenceEngine:
    """Makes evidence; an async context manager.

    Args:
        policy, routing, network: The protocol's rules and the user's word on the network.
        limits: What the judge takes.
        texts: Which of the submission's own texts (`response`, `artifacts`) the prompt has a place for beside
            pictures. The text judge is always shown both.
        workers: Pages open at a time, and processes that decode.
        browser_path: The browser to use instead of the one that is found.
        resolver, dialler: How outside hosts are looked up and reached; replaced in tests.
    """

    def __init__(
        self,
        policy: EvidencePolicy,
        routing: Routing,
        network: NetworkPolicy,
        limits: MediaLimits,
        *,
        texts: Collection[str] = (),
        workers: int = 2,
        browser_path: str | None = None,
        resolver: Resolver = resolve,
        dialler: Dialler = dial,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self._policy = policy
        self._routing = routing
        self._network = network
        self._limits = limits
        self._texts = frozenset(texts)
        self._pages = PageRenderer(
            workers, network, browser_path=browser_path, resolver=resolver, dialler=dialler
        )
        light = WorkerPool(_LIGHT, workers)
        self._pools = {kind: WorkerPool(modules, workers) for kind, modules in _POOLS.items()}
        self._light = light

    async def __aenter__(self) -> EvidenceEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        async with contextlib.AsyncExitStack() as closing:
            closing.push_async_callback(self._pages.aclose)
            for pool in (self._light, *self._pools.values()):
                closing.push_async_callback(pool.aclose)

    @property
    def renderer(self) -> dict[str, Any]:
        """Name, sandbox and fonts of what has drawn so far; empty before the first file."""
        return self._renderer(KINDS.values())

    def _renderer(self, kinds: Collection[str]) -> dict[str, Any]:
        """What had a part in showing these kinds."""
        info: dict[str, Any] = dict(self._pages.info) if set(kinds) & set(_IN_BROWSER) else {}
        fence = self._light.fence
        if fence and set(kinds) - set(_IN_BROWSER) - {""}:
            info["decoders"] = dict(fence)
        return info

    # --- one submission -------------------------------------------------------------------------

    async def prepare(self, submission: Submission) -> Evidence:
        """The evidence of a submission, its pictures with their bytes.

        What the submission is to blame for is `absent`, what we are to blame for `unscored`; neither raises.
        With several artifacts chosen, one that can be shown is enough.
        """
        selection = select_artifacts(submission, self._routing, texts_beside="artifacts" in self._texts)
        if selection.route == "none":
            return _nothing(selection)
        if selection.route == "text":
            results = await self._show_all(submission, selection.chosen, "text")
            response = _response(submission)
            return await self._assemble(selection, results, response)
        results = await self._show_all(submission, selection.chosen, None)
        results += await self._show_all(submission, selection.beside, "text")
        wanted = self._routing.kind == "visual" and "response" in self._texts
        return await self._assemble(selection, results, _response(submission) if wanted else None)

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
                # At once, so that no more pictures are held than will be sent.
                wants = {done: len(result.shown.pictures) for done, result in results.items()}
                shares = picture_shares(wants, len(chosen), budget)
                for done, result in results.items():
                    shown = cut_pictures(result.shown, shares[done], result.record.name)
                    results[done] = replace(result, shown=shown)

        async with asyncio.TaskGroup() as group:
            for at, artifact in enumerate(chosen):
                group.create_task(work(at, artifact))
        return [results[at] for at in range(len(chosen))]

    async def _assemble(
        self, selection: Selection, results: list[_Result], response: _Result | None
    ) -> Evidence:
        everything = [*([response] if response is not None else []), *results]
        artifacts = (*(result.record for result in everything), *selection.not_shown)
        pictures = tuple(picture for result in everything for picture in result.shown.pictures)
        videos = tuple(video for result in everything for video in result.shown.videos)
        texts, cuts = cut_texts(
            [text for result in everything for text in result.shown.texts], self._policy.text_chars
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
        kinds = {record.kind for record in artifacts if record.status != "not_shown"}
        renderer = self._renderer(kinds)
        if renderer.get("sandbox") == "off":
            warnings.append(Warning_(code="sandbox_off", detail=renderer["sandbox_reason"]))
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

    # --- one artifact ---------------------------------------------------------------------------

    async def _artifact(self, submission: Submission, artifact: Artifact, kind: str, room: int) -> _Result:
        try:
            shown = await self._show(submission, artifact, kind, room)
        except BrokenArtifact as error:
            return _Result(_record(artifact, kind, "absent", error.slug, str(error)))
        except (MissingTool, RenderError) as error:
            return _Result(_record(artifact, kind, "unscored", error.slug, str(error)))
        if shown.blocked_hosts:
            detail = _blocked_detail(shown.blocked_hosts, self._network)
            return _Result(
                _record(artifact, kind, "unscored", "blocked_resources", detail, shown.facts), shown
            )
        return _Result(_record(artifact, kind, "shown", None, "", shown.facts), shown)

    async def _show(self, submission: Submission, artifact: Artifact, kind: str, room: int) -> Shown:
        data = await in_thread(artifact.name, read_artifact, artifact, submission.root)
        job = Job(
            name=artifact.name,
            suffix=artifact.suffix,
            data=data,
            policy=self._policy,
            limits=self._limits,
            budget=room,
        )
        if kind in _IN_BROWSER:
            check, render = _IN_BROWSER[kind]
            await in_thread(job.name, check, job)
            return await self._page(job, submission, artifact, render)
        if kind in _WORK:
            module, function = _WORK[kind]
            pool = self._pools.get(kind, self._light)
            return with_data(await pool.run(module, function, job, Shown), job)
        raise RendererFailed(
            f"nothing here renders {artifact.suffix}", slug="missing_tool", concerns=artifact.name
        )

    async def _page(self, job: Job, submission: Submission, artifact: Artifact, render: _RenderPage) -> Shown:
        root, name = path_below(artifact, submission.root)
        belongs = await asyncio.to_thread(own_files, submission)

        async def attempt(browser: Browser, egress: Egress | None) -> Shown:
            folder = ServedFolder(root=root, name=name, page=job.data, belongs=belongs)
            return await render(browser, job, folder, self._network, egress)

        return await self._pages.show(job.name, attempt)


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


def _response(submission: Submission) -> _Result | None:
    """The response text as evidence, if there is one."""
    words = submission.response or ""
    if not words.strip():
        return None
    data = words.encode("utf-8", "surrogatepass")
    record = ArtifactEvidence(
        name=RESPONSE_NAME,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        kind="text",
        status="shown",
        facts={"characters": len(words)},
    )
    return _Result(record, Shown(texts=((RESPONSE_NAME, words),)))


def _blocked_detail(hosts: tuple[str, ...], network: NetworkPolicy) -> str:
    named = ", ".join(hosts)
    if network.given:
        return f"asks for {named}, which did not answer or is not allowed; the protocol takes no such page"
    return (
        f"asks for {named}; allow with --network allow or --network {','.join(hosts)}, or say --network block"
    )


def _nothing(selection: Selection) -> Evidence:
    detail = "no file at all" if selection.reason == "missing" else "no file of a kind the protocol looks at"
    return Evidence(
        status="absent", route="none", reason=selection.reason, detail=detail, artifacts=selection.not_shown
    )
