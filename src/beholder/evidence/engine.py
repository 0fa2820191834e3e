"""The engine: submissions in, evidence out; one browser for all of them, started with the first page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from beholder.errors import BrokenArtifact, MissingTool, RendererFailed, RenderError
from beholder.evidence.browser import DEAD_PROXY, Browser, find_browser, fonts_fingerprint, launch
from beholder.evidence.cdp import ConnectionLost
from beholder.evidence.egress import Dialler, Egress, Resolver, dial, resolve
from beholder.evidence.files import own_files, path_below, read_artifact
from beholder.evidence.html import check_html, render_html, renders_good_page
from beholder.evidence.image import render_image
from beholder.evidence.kinds import Job, Shown, in_thread
from beholder.evidence.page import PageFailed
from beholder.evidence.pictures import fit_request
from beholder.evidence.select import Selection, select_artifacts
from beholder.evidence.serve import ServedFolder
from beholder.records import (
    Artifact,
    ArtifactEvidence,
    Evidence,
    EvidencePolicy,
    MediaLimits,
    NetworkPolicy,
    Picture,
    Routing,
    Submission,
    Warning_,
)

KINDS = {
    ".html": "html",
    ".htm": "html",
    ".png": "image",
    ".jpg": "image",
    ".jpeg": "image",
    ".webp": "image",
}
"""Suffix -> kind. A kind is a module with a function from `Job` to `Shown`."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What became of one artifact, with its pictures."""

    record: ArtifactEvidence
    pictures: tuple[Picture, ...] = ()
    warnings: tuple[Warning_, ...] = ()


class EvidenceEngine:
    """Makes evidence; an async context manager.

    Args:
        policy, routing, network: The protocol's rules and the user's word on the network.
        limits: What the judge takes.
        workers: Pages open at a time.
        browser_path: The browser to use instead of the one that is found.
        resolver, dialler: How outside hosts are looked up and reached; replaced in tests.

    Attributes:
        renderer: Name, sandbox and fonts of what has drawn so far; empty before the first page.
    """

    def __init__(
        self,
        policy: EvidencePolicy,
        routing: Routing,
        network: NetworkPolicy,
        limits: MediaLimits,
        *,
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
        self._browser_path = browser_path
        self._resolver = resolver
        self._dialler = dialler
        self._slots = _Slots(workers)
        self._starting = asyncio.Lock()
        self._browser: Browser | None = None
        self._egress: Egress | None = None
        self.renderer: dict[str, Any] = {}

    async def __aenter__(self) -> EvidenceEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        egress, self._egress = self._egress, None
        try:
            await self._close_browser()
        finally:
            if egress is not None:
                await egress.__aexit__()

    async def _close_browser(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.aclose()

    # --- one submission -------------------------------------------------------------------------

    async def prepare(self, submission: Submission) -> Evidence:
        """The evidence of a submission, its pictures with their bytes.

        What the submission is to blame for is `absent`, what we are to blame for `unscored`; neither raises.
        With several artifacts chosen, one that can be shown is enough.
        """
        selection = select_artifacts(submission, self._routing)
        if selection.route != "visual":
            return _without_pictures(selection)
        budget = self._policy.images
        if self._limits.images is not None:
            budget = min(budget, self._limits.images)
        results: list[_Result] = []
        for at, artifact in enumerate(selection.chosen):
            # Each artifact still to come keeps one picture.
            later = len(selection.chosen) - at - 1
            room = max(1, budget - later) if budget else 0
            result = await self._artifact(submission, artifact, room)
            budget -= len(result.pictures)
            results.append(result)
        return await self._assemble(selection, results)

    async def _assemble(self, selection: Selection, results: list[_Result]) -> Evidence:
        artifacts = (*(result.record for result in results), *selection.not_shown)
        warnings = [warning for result in results for warning in result.warnings]
        pictures = tuple(picture for result in results for picture in result.pictures)
        status: Literal["ok", "absent", "unscored"] = "ok"
        reason, detail = None, ""
        failed = [result.record for result in results if result.record.status == "unscored"]
        broken = [result.record for result in results if result.record.status == "absent"]
        if failed:
            # A judge that saw half of it through our fault would charge the submission for it.
            status, reason, detail = "unscored", failed[0].reason, failed[0].detail
        elif not pictures and broken:
            status, reason, detail = "absent", broken[0].reason, broken[0].detail
        else:
            try:
                pictures, more = await in_thread("", fit_request, pictures, self._limits)
                warnings += more
            except RenderError as error:
                status, reason, detail, pictures = "unscored", error.slug, str(error), ()
        if self.renderer.get("sandbox") == "off" and any(record.kind == "html" for record in artifacts):
            warnings.append(Warning_(code="sandbox_off", detail=self.renderer["sandbox_reason"]))
        return Evidence(
            status=status,
            route="visual",
            reason=reason,
            detail=detail,
            artifacts=artifacts,
            pictures=pictures,
            warnings=tuple(warnings),
            renderer=dict(self.renderer),
        )

    # --- one artifact ---------------------------------------------------------------------------

    async def _artifact(self, submission: Submission, artifact: Artifact, room: int) -> _Result:
        kind = KINDS.get(artifact.suffix, "")
        if room < 1:
            return _Result(_record(artifact, kind, "not_shown", "budget", "no picture is left for it"))
        try:
            shown = await self._show(submission, artifact, kind, room)
        except BrokenArtifact as error:
            return _Result(_record(artifact, kind, "absent", error.slug, str(error)))
        except (MissingTool, RenderError) as error:
            return _Result(_record(artifact, kind, "unscored", error.slug, str(error)))
        if shown.blocked_hosts:
            detail = _blocked_detail(shown.blocked_hosts, self._network)
            record = _record(artifact, kind, "unscored", "blocked_resources", detail, shown.facts)
            return _Result(record, shown.pictures, shown.warnings)
        return _Result(
            _record(artifact, kind, "shown", None, "", shown.facts), shown.pictures, shown.warnings
        )

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
        if kind == "image":
            return await in_thread(job.name, render_image, job)
        if kind == "html":
            check_html(job)
            return await self._page(job, submission, artifact)
        raise RendererFailed(
            f"nothing here renders {artifact.suffix}", slug="missing_tool", concerns=artifact.name
        )

    async def _page(self, job: Job, submission: Submission, artifact: Artifact) -> Shown:
        """A page's pictures: tried twice, the second time alone, then the blame is found.

        The second try and the good page have a new browser each: a page may have upset the one before.
        """
        root, name = path_below(artifact, submission.root)
        belongs = await asyncio.to_thread(own_files, submission)

        async def attempt() -> Shown:
            browser = await self._open_browser()
            folder = ServedFolder(root=root, name=name, page=job.data, belongs=belongs)
            return await render_html(browser, job, folder, self._network, self._egress)

        try:
            async with self._slots.shared():
                return await attempt()
        except (PageFailed, ConnectionLost):
            pass  # perhaps another page took the browser down: this one gets a second try, alone
        async with self._slots.alone():
            await self._close_browser()
            try:
                return await attempt()
            except (PageFailed, ConnectionLost) as error:
                failure = str(error)
            await self._close_browser()
            if await renders_good_page(self._open_browser):
                raise BrokenArtifact(f"twice: {failure}", slug="unrenderable", concerns=job.name)
        raise RendererFailed(f"a good page fails too: {failure}", concerns=job.name)

    async def _open_browser(self) -> Browser:
        """The browser, started if there is none or it has ended.

        Raises:
            MissingTool: There is none on this machine.
            RendererFailed: It does not start, or the proxy before it.
        """
        async with self._starting:
            if self._browser is not None and not self._browser.lost:
                return self._browser
            await self._close_browser()
            path = find_browser(self._browser_path)
            proxy = DEAD_PROXY
            if self._network.mode != "block":
                if self._egress is None:
                    egress = Egress(self._network, resolver=self._resolver, dialler=self._dialler)
                    try:
                        self._egress = await egress.__aenter__()
                    except OSError as error:
                        raise RendererFailed(
                            f"no proxy for the browser: {error}", concerns="browser"
                        ) from error
                proxy = self._egress.url
            self._browser = await launch(path, proxy=proxy)
            fonts = await asyncio.to_thread(fonts_fingerprint)
            self.renderer = {**self._browser.info(), "fonts": fonts}
            return self._browser


@dataclass
class _Slots:
    """At most `count` pages at a time; `alone` waits until it has all the slots."""

    count: int
    _free: asyncio.Semaphore = field(init=False)
    _taking_all: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.count)

    def shared(self) -> asyncio.Semaphore:
        return self._free

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        taken = 0
        async with self._taking_all:
            try:
                while taken < self.count:
                    await self._free.acquire()
                    taken += 1
                yield
            finally:
                for _ in range(taken):
                    self._free.release()


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


def _blocked_detail(hosts: tuple[str, ...], network: NetworkPolicy) -> str:
    named = ", ".join(hosts)
    if network.given:
        return f"asks for {named}, which did not answer or is not allowed; the protocol takes no such page"
    return (
        f"asks for {named}; allow with --network allow or --network {','.join(hosts)}, or say --network block"
    )


def _without_pictures(selection: Selection) -> Evidence:
    if selection.route == "text":
        # Without its text a judge would mark the submission for what we have not shown.
        return Evidence(
            status="unscored",
            route="text",
            reason="missing_tool",
            detail="this version prepares pictures and pages only, no text",
            artifacts=selection.not_shown,
        )
    detail = "no file at all" if selection.reason == "missing" else "no file of a kind the protocol looks at"
    return Evidence(
        status="absent", route="none", reason=selection.reason, detail=detail, artifacts=selection.not_shown
    )


async def renderer_info(browser_path: str | None = None) -> dict[str, Any]:
    """What would render pages here: path, version, sandbox and why, fonts. Starts the browser for a moment.

    Raises:
        MissingTool: There is no browser.
        RendererFailed: It does not start.
    """
    path = find_browser(browser_path)
    browser = await launch(path)
    try:
        fonts = await asyncio.to_thread(fonts_fingerprint)
        return {"path": str(path), **browser.info(), "fonts": fonts}
    finally:
        await browser.aclose()
