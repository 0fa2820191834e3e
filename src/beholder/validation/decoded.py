"""Files that begin as they should and may be broken further on: decoded as a run decodes them, fenced.

Documents and videos only. Pictures are decoded where their content is compared with their suffix, texts are
what they are, and a page is drawn by a browser or not at all, which is what a run is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType

from beholder.errors import BrokenArtifact
from beholder.evidence import office, packages, pdf, video
from beholder.evidence.files import read_artifact
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.renderers import KINDS
from beholder.evidence.workers import WorkerPool
from beholder.records import Artifact, EvidencePolicy, MediaLimits, Submission

_POLICY = EvidencePolicy(images=1, pages=1, video="frames")
_LOOKS: Mapping[str, tuple[str, str, type]] = {
    "office": (office.MODULE, "check_office", packages.OfficeFile),
    "pdf": (pdf.__name__, pdf.render_pdf.__name__, Shown),
    "video": (video.__name__, video.render_video.__name__, Shown),
}
"""Kind -> module and function that a worker runs, and what it gives for a file that is whole.

Of a PDF the first page is drawn, of a video every frame decoded. An office file is opened, not laid out."""


@dataclass(slots=True)
class Decoders:
    """Workers that decode, each kind started with the first file that needs it; a context manager. Blocks."""

    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    _pools: dict[str, WorkerPool] = field(default_factory=dict)

    def __enter__(self) -> Decoders:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for pool in self._pools.values():
                self._runner.run(pool.aclose())
        finally:
            self._runner.close()

    def problem(self, submission: Submission, artifact: Artifact) -> tuple[str, str] | None:
        """(slug, detail) of what is wrong with a file; None if nothing is, or no decoder is for it.

        Raises:
            RenderError: It could not be checked, through no fault of its own.
        """
        look = _LOOKS.get(KINDS.get(artifact.suffix, ""))
        if look is None:
            return None
        module, function, result = look
        try:
            job = Job(
                name=artifact.name,
                suffix=artifact.suffix,
                data=read_artifact(artifact, submission.root),
                policy=_POLICY,
                limits=MediaLimits(),
                budget=1,
            )
            pool = self._pools.setdefault(module, WorkerPool((module,), 1))
            self._runner.run(pool.run(module, function, job, result))
        except BrokenArtifact as error:
            return error.slug, str(error)
        return None
