"""One file to what is shown of it, by its kind; from the cache where it lies there already.

Pages are drawn by the browser; everything else is decoded in a fenced process. Each of these is started with
the first file that needs it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from beholder.errors import BrokenArtifact, MissingTool, RendererFailed
from beholder.evidence.browser import Browser, find_browser, fonts_fingerprint
from beholder.evidence.cache import EvidenceCache
from beholder.evidence.cache_key import (
    PAGE_KINDS,
    cache_key,
    digests_of,
    library_stamp,
    may_store,
    program_stamp,
)
from beholder.evidence.decode import with_data
from beholder.evidence.egress import Dialler, Egress, Resolver
from beholder.evidence.files import own_files, path_below
from beholder.evidence.html import check_html, render_html
from beholder.evidence.kinds import Job, Shown, in_thread
from beholder.evidence.office import MODULE as OFFICE
from beholder.evidence.office import SUFFIXES as OFFICE_SUFFIXES
from beholder.evidence.office import render_office
from beholder.evidence.pages import PageRenderer
from beholder.evidence.record import Record
from beholder.evidence.serve import ServedFolder
from beholder.evidence.slots import pages_at_a_time
from beholder.evidence.soffice import OfficeSuite
from beholder.evidence.soffice_find import find_soffice
from beholder.evidence.svg import check_svg, render_svg
from beholder.evidence.workers import WorkerPool
from beholder.records import Artifact, NetworkPolicy, Submission

SUFFIXES = {
    "html": (".html", ".htm"),
    "svg": (".svg",),
    "pdf": (".pdf",),
    "image": (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif", ".bmp", ".tif", ".tiff"),
    "office": OFFICE_SUFFIXES,
    "video": (".mp4", ".webm", ".mov"),
}
"""Kind -> suffixes, lower case. What a protocol routes to the text judge is text, whatever its suffix."""

KINDS = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes}

_DECODERS = {
    "image": ("beholder.evidence.image", "render_image"),
    "pdf": ("beholder.evidence.pdf", "render_pdf"),
    "text": ("beholder.evidence.text", "read_text"),
    "video": ("beholder.evidence.video", "render_video"),
}
"""Kind -> module and function that a worker runs."""


_LIBRARIES = ("pillow", "pypdfium2", "charset-normalizer", "opencv-python-headless")

_DrawPage = Callable[..., Awaitable[Shown]]
_PAGES: dict[str, tuple[Callable[[Job], None], _DrawPage]] = {
    "html": (check_html, render_html),
    "svg": (check_svg, render_svg),
}
"""Kind -> what is checked before the browser sees a file, and what draws it."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What is shown of a file.

    Attributes:
        renderer: Names, versions and fences of what had a part in it.
    """

    shown: Shown
    renderer: Mapping[str, Any] = field(default_factory=dict)


class Renderers:
    """All of them, with the cache before them.

    Args:
        workers: Processes that decode, and calls of LibreOffice; pages as `pages_at_a_time` says.
        network: The user's word on the network.
        record: Where answers from outside are kept, or come from.
        cache: Where results are kept, if anywhere.
    """

    def __init__(
        self,
        workers: int,
        network: NetworkPolicy,
        *,
        record: Record | None,
        cache: EvidenceCache | None,
        browser_path: str | None,
        soffice_path: str | None,
        resolver: Resolver,
        dialler: Dialler,
    ) -> None:
        self._network = network
        self._record = record
        self._cache = cache
        self._browser_path = browser_path
        way_out = NetworkPolicy() if record is not None and record.replaying else network
        self._pages = PageRenderer(
            pages_at_a_time(workers), way_out, browser_path=browser_path, resolver=resolver, dialler=dialler
        )
        # One kind of worker for all but videos, whose library is large.
        videos, others = _DECODERS["video"][0], [m for kind, (m, _) in _DECODERS.items() if kind != "video"]
        self._light = WorkerPool((*others, OFFICE), workers)
        self._videos = WorkerPool((videos,), workers)
        self._suite = OfficeSuite(soffice_path, calls=workers)
        self._soffice_path = soffice_path
        self._stamps: dict[str, Mapping[str, Any]] = {}
        self._record_digest: str | None = None

    @property
    def cache_problem(self) -> str:
        """Why something could not be kept for other runs, in words; empty if all went well."""
        return self._cache.problem if self._cache is not None else ""

    async def aclose(self) -> None:
        """End the browser and all processes."""
        async with contextlib.AsyncExitStack() as closing:
            for close in (self._pages.aclose, self._suite.aclose, self._light.aclose, self._videos.aclose):
                closing.push_async_callback(close)

    async def show(self, job: Job, kind: str, submission: Submission, artifact: Artifact) -> Rendered:
        """A file as it is shown.

        Raises:
            BrokenArtifact: The file is at fault.
            RendererFailed, MissingTool: We are.
        """
        if kind in _PAGES:
            return await self._page(job, kind, submission, artifact)
        if kind == "office":
            return await self._kept(job, kind, lambda: self._office(job), _NOTHING_BESIDE)
        if kind not in _DECODERS:
            raise RendererFailed(f"nothing here renders {job.suffix}", slug="missing_tool", concerns=job.name)

        async def make() -> Rendered:
            module, function = _DECODERS[kind]
            pool = self._videos if kind == "video" else self._light
            shown = with_data(await pool.run(module, function, job, Shown), job)
            return Rendered(shown, {"decoders": dict(pool.fence)})

        return await self._kept(job, kind, make, _NOTHING_BESIDE)

    async def _office(self, job: Job) -> Rendered:
        converted = await render_office(self._suite, job, self._light.run)
        try:
            shown = await self._light.run(
                "beholder.evidence.pdf",
                "render_pages",
                replace(job, data=b""),
                Shown,
                data=converted.pdf,
                labels=list(converted.sheets or ()),
            )
        except BrokenArtifact as error:
            # These bytes are LibreOffice's, which draws a good document: what it cannot draw is this one.
            told = f"what LibreOffice makes of it cannot be drawn: {error}"
            raise BrokenArtifact(told, slug="unrenderable", concerns=job.name) from error
        shown = replace(
            shown,
            facts={**converted.facts, **shown.facts},
            warnings=(*converted.warnings, *shown.warnings),
        )
        return Rendered(shown, {**self._suite.renderer, "decoders": dict(self._light.fence)})

    async def _page(self, job: Job, kind: str, submission: Submission, artifact: Artifact) -> Rendered:
        check, draw = _PAGES[kind]
        await in_thread(job.name, check, job)
        root, name = path_below(artifact, submission.root)
        belongs = await asyncio.to_thread(own_files, submission)
        beside = _Beside(lambda: ServedFolder(root=root, name=name, page=job.data, belongs=belongs))

        async def attempt(browser: Browser, egress: Egress | None) -> Shown:
            folder = beside.anew()
            return await draw(browser, job, folder, self._network, egress, record=self._record)

        async def make() -> Rendered:
            shown = await self._pages.show(job.name, attempt)
            return Rendered(shown, dict(self._pages.info))

        return await self._kept(job, kind, make, beside)

    # --- the cache ------------------------------------------------------------------------------

    async def _kept(
        self, job: Job, kind: str, make: Callable[[], Awaitable[Rendered]], beside: _Beside
    ) -> Rendered:
        """The result from the cache, or made now and kept where the same file would give the same again."""
        cache = self._cache
        # A record that is being made must hear of every request.
        if cache is None or (kind in PAGE_KINDS and self._record is not None and not self._record.replaying):
            return await make()
        stamp = await asyncio.to_thread(self._stamp, kind)
        record = await asyncio.to_thread(self._digest_of_record)
        key = cache_key(job, kind, renderer=stamp, network=self._network, record=record)
        found = await in_thread(job.name, cache.get, key, job, beside.digests())
        if found is not None:
            if isinstance(found.result, BrokenArtifact):
                raise found.result
            return Rendered(found.result, found.renderer)
        try:
            rendered = await make()
        except BrokenArtifact as error:
            if may_store(error, self._network, record):
                await in_thread(job.name, cache.put, key, job, error)
            raise
        served, missing = beside.asked()
        if may_store(rendered.shown, self._network, record, len(served) + len(missing)):
            await in_thread(
                job.name, cache.put, key, job, rendered.shown,
                served=served, missing=missing, renderer=rendered.renderer,
            )  # fmt: skip
        return rendered

    def _stamp(self, kind: str) -> Mapping[str, Any]:
        """What would draw this kind; asked once, and nothing is started for it."""
        family = "page" if kind in PAGE_KINDS else kind
        if family not in self._stamps:
            stamp: dict[str, Any] = {"libraries": library_stamp(*_LIBRARIES), "fonts": fonts_fingerprint()}
            if family == "page":
                with contextlib.suppress(MissingTool):
                    stamp["browser"] = program_stamp(find_browser(self._browser_path))
            if kind == "office":
                with contextlib.suppress(MissingTool):
                    stamp["office"] = program_stamp(find_soffice(self._soffice_path))
            self._stamps[family] = stamp
        return self._stamps[family]

    def _digest_of_record(self) -> str:
        if self._record is None or not self._record.replaying:
            return ""
        if self._record_digest is None:
            self._record_digest = self._record.digest()
        return self._record_digest


class _Beside:
    """The files beside a page: what it was served at the last attempt, and what it would be served now."""

    def __init__(self, make: Callable[[], ServedFolder] | None) -> None:
        self._make = make
        self._last: ServedFolder | None = None

    def anew(self) -> ServedFolder:
        """The folder for another attempt."""
        if self._make is None:
            raise TypeError("nothing lies beside this kind of file")
        self._last = self._make()
        return self._last

    def digests(self) -> Callable[[str], str | None] | None:
        """Name -> digest of what would be served now; None where nothing can lie beside."""
        return None if self._make is None else digests_of(self._make())

    def asked(self) -> tuple[dict[str, str], frozenset[str]]:
        """(what was served, what was asked for in vain), until now: a late request's thread may be adding."""
        if self._last is None:
            return {}, frozenset()
        return dict(self._last.served), frozenset(self._last.missing)


_NOTHING_BESIDE = _Beside(None)


def fence_gaps(renderer: Mapping[str, Any]) -> str:
    """What had to do without a fence that belongs around it, in words; empty if nothing had to."""
    gaps = []
    if renderer.get("sandbox") == "off":
        gaps.append(f"pages: {renderer['sandbox_reason']}")
    office = renderer.get("office_fence", {})
    if office.get("network") == "on":
        gaps.append(f"documents: the network is not closed ({office.get('reason', 'unknown why')})")
    decoders = renderer.get("decoders", {})
    if decoders.get("network") == "on" and decoders.get("given_up") != "files and tcp":
        gaps.append("decoders: this system closes neither network nor files to a process")
    return "; ".join(gaps)
