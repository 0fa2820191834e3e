"""Files that begin as they should and may be broken further on: decoded as a run decodes them, fenced.

Documents and videos only. Pictures are decoded where their content is compared with their suffix, texts are
what they are, and a page is drawn by a browser or not at all, which is what a run is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType

from beholder.errors import BrokenArtifact
from beholder.evidence import office, packages, pdf, video
from beholder.evidence.files import read_artifact
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.renderers import KINDS
from beholder.evidence.workers import WorkerPool
from beholder.records import Artifact, EvidencePolicy, MediaLimits, Submission
from beholder.validation.records import Level

_SMALL = MediaLimits(shrink_pixels=250_000)
"""Nobody looks at what is drawn: only whether it can be."""

_DAMAGE = {"damaged_pages", "damaged_frames"}
_LOOKS: Mapping[str, tuple[str, str, type]] = {
    "office": (office.MODULE, "check_office", packages.OfficeFile),
    "pdf": (pdf.__name__, pdf.render_pdf.__name__, Shown),
    "video": (video.__name__, video.render_video.__name__, Shown),
}
"""Kind -> module and function that a worker runs, and what it gives for a file that is whole.

Of a PDF the pages that a run would show are drawn, of a video every frame is decoded, as far as a run goes
through it. An office file is opened, not laid out."""


@dataclass(slots=True)
class Decoders:
    """Workers that decode, each kind started with the first file that needs it; a context manager. Blocks.

    Attributes:
        policy: How many pages and frames of a file a run would show.
    """

    policy: EvidencePolicy
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

    def problem(self, submission: Submission, artifact: Artifact) -> tuple[str, str, Level] | None:
        """(kind, detail, level) of what is wrong with a file; None if nothing is, or no decoder is for it.

        A file of which a part can be shown is judged by that part, so its damage is a note.

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
                policy=replace(self.policy, layout="single", video="frames"),
                limits=_SMALL,
                budget=self.policy.images,
            )
            pool = self._pools.setdefault(module, WorkerPool((module,), 1))
            shown: object = self._runner.run(pool.run(module, function, job, result))
        except BrokenArtifact as error:
            return error.slug, str(error), "problem"
        damage = [one.detail for one in getattr(shown, "warnings", ()) if one.code in _DAMAGE]
        return ("damaged", f"{'; '.join(damage)}; a run judges the rest", "note") if damage else None
