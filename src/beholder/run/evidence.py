"""Files to pictures and texts, without tasks and without a judge: the work of `beholder evidence`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import ConfigError, StoreError, TaskError
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.manifest import to_manifest
from beholder.evidence.renderers import KINDS
from beholder.evidence.slots import default_workers
from beholder.judges import media_limits, parse_model
from beholder.protocols import load_protocol
from beholder.records import (
    ArtifactEvidence,
    Evidence,
    EvidencePolicy,
    JudgeSpec,
    MediaLimits,
    NetworkPolicy,
    Routing,
)
from beholder.run.media import media_of, with_paths
from beholder.run.spec import check_record
from beholder.store import EVIDENCE_FILE, safe_name, write_bytes, write_json
from beholder.tasks.loose import LooseFile, loose_files

INDEX_FILE = "evidence.json"

GENERAL_POLICY = EvidencePolicy(min_wait_s=Decimal(1), video="frames")
"""Where no protocol is named: a second of page time, overview and parts, frames of videos."""

TEXT_SUFFIXES = (
    ".txt", ".md", ".markdown", ".rst", ".log", ".csv", ".tsv", ".json", ".jsonl", ".geojson", ".xml",
    ".yaml", ".yml", ".toml", ".ini", ".cfg", ".py", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".vue", ".css",
    ".scss", ".sql", ".sh", ".bash", ".zsh", ".r", ".jl", ".c", ".h", ".cpp", ".java", ".go", ".rs", ".tex",
)  # fmt: skip
"""What is shown as text where no protocol is named."""

_WRITTEN = ("image-*", "text-*", "video-*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSpec:
    """What `beholder evidence` is asked to do.

    Attributes:
        paths: Files and folders.
        protocol: Whose policy and suffixes hold; None: every kind, by `GENERAL_POLICY`.
        judge: `provider/name`, for its limits only; None: the protocol's, else no limits are known.
        workers: As `EvidenceEngine` takes it.
        cache_dir: Where rendered results are kept for other runs.
        record, replay: A folder that keeps what the outside answers to pages, or that is all they get of it.
    """

    paths: tuple[Path, ...]
    out_dir: Path
    protocol: str | Path | None = None
    judge: str | None = None
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    max_output_images: int | None = None
    max_output_pages: int | None = None
    max_output_text_chars: int | None = None
    workers: int | None = None
    cache_dir: Path | None = None
    record: Path | None = None
    replay: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """What became of one file.

    Attributes:
        file: For people.
        folder: Of what was written, below the out-dir.
        evidence: Its media without their bytes, and with the names that they were written under.
    """

    file: str
    folder: str
    evidence: Evidence

    @property
    def record(self) -> ArtifactEvidence:
        """What became of the artifact itself."""
        return self.evidence.artifacts[0]

    @property
    def status(self) -> str:
        """`shown`, `absent`, `unscored`, or `not_shown`: no kind that is looked at."""
        if self.evidence.status == "unscored":
            return "unscored"
        return self.record.status

    def as_json(self) -> dict[str, Any]:
        """For the index."""
        unscored = self.evidence.status == "unscored"
        return {
            "file": self.file,
            "folder": self.folder,
            "kind": self.record.kind or None,
            "status": self.status,
            "reason": self.evidence.reason if unscored else self.record.reason,
            "detail": self.evidence.detail if unscored else self.record.detail,
            "pictures": [picture.path for picture in self.evidence.pictures],
            "texts": [text_name(at) for at in range(1, len(self.evidence.texts) + 1)],
            "videos": [video.path for video in self.evidence.videos],
            "warnings": [asdict(warning) for warning in self.evidence.warnings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceResult:
    """What `beholder evidence` came to.

    Attributes:
        files: In the order given.
        renderer: What has drawn.
        cache_problem: Why something could not be kept for other runs; empty if all went well.
    """

    out_dir: Path
    files: tuple[FileResult, ...]
    policy: EvidencePolicy
    judge: str | None
    renderer: Mapping[str, Any]
    cache_problem: str = ""

    @property
    def counts(self) -> Mapping[str, int]:
        """Files by status."""
        return Counter(one.status for one in self.files)

    def as_json(self) -> dict[str, Any]:
        """`evidence.json`, and what --json prints."""
        policy = asdict(self.policy)
        return {
            "out_dir": str(self.out_dir),
            "judge": self.judge,
            "policy": {name: _number(value) for name, value in policy.items()},
            "renderer": dict(self.renderer),
            "counts": dict(sorted(self.counts.items())),
            "files": [one.as_json() for one in self.files],
        }


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    policy: EvidencePolicy
    routing: Routing
    judge: str | None
    limits: MediaLimits
    files: tuple[tuple[LooseFile, str], ...]


def prepare_files(
    spec: EvidenceSpec,
    *,
    began: Callable[[int], object] | None = None,
    done: Callable[[FileResult], object] | None = None,
) -> EvidenceResult:
    """Make evidence of every file, each by itself, and write it below the out-dir.

    A file that cannot be shown does not end the others: it has its status and cause.

    Args:
        began: Told how many files there are.
        done: Told of each as it is ready, in whatever order.

    Raises:
        SpecError: A file, folder or flag is wrong; nothing was written.
        StoreError: The out-dir cannot be written to.
    """
    plan = _plan(spec)
    if began is not None:
        began(len(plan.files))
    return asyncio.run(_prepare(spec, plan, done or (lambda _: None)))


def _plan(spec: EvidenceSpec) -> _Plan:
    protocol = load_protocol(spec.protocol) if spec.protocol is not None else None
    policy = protocol.evidence if protocol else GENERAL_POLICY
    judge = spec.judge or (protocol and (protocol.judge.visual_model or protocol.judge.model)) or None
    files = list(loose_files(spec.paths))
    if not files:
        raise TaskError("no file in what was named", slug="no_files")
    _check_apart(spec)
    check_record(spec.network, spec.record, spec.replay)
    return _Plan(
        policy=replace(
            policy,
            images=spec.max_output_images or policy.images,
            pages=spec.max_output_pages or policy.pages,
            text_chars=spec.max_output_text_chars or policy.text_chars,
        ),
        routing=protocol.routing if protocol else general_routing(),
        judge=judge,
        limits=_limits(judge),
        files=tuple(zip(files, folder_names([file.name for file in files]), strict=True)),
    )


def general_routing() -> Routing:
    """Every suffix that something here renders, and texts."""
    return Routing(
        kind="strict",
        visual=tuple(KINDS),
        text=tuple(suffix for suffix in TEXT_SUFFIXES if suffix not in KINDS),
        select="all",
    )


def _limits(judge: str | None) -> MediaLimits:
    if judge is None:
        return MediaLimits()
    # The address of such a judge does not matter here: it is not asked.
    somewhere = "http://localhost" if judge.startswith("openai-compatible/") else None
    provider, name = parse_model(judge, base_url=somewhere)
    return media_limits(JudgeSpec(provider=provider, name=name))


def _check_apart(spec: EvidenceSpec) -> None:
    """What is written must not be among what is read, or the next call would take it for such."""
    out = spec.out_dir.resolve()
    for path in spec.paths:
        given = path.resolve()
        if (path.is_dir() and out.is_relative_to(given)) or given.is_relative_to(out):
            raise ConfigError(
                f"--out-dir {spec.out_dir} and {path} lie in one another; choose an --out-dir apart from the "
                "files",
                concerns="--out-dir",
            )


def folder_names(names: Sequence[str]) -> list[str]:
    """A folder for each file: its own path, safe on any disk; a number where two would be the same.

    Compared without case, since some disks do not tell cases apart.
    """
    taken: set[str] = set()
    found = []
    for name in names:
        folder = "/".join(safe_name(part) for part in name.split("/"))
        numbered, number = folder, 1
        while numbered.lower() in taken:
            number += 1
            numbered = f"{folder}~{number}"
        taken.add(numbered.lower())
        found.append(numbered)
    return found


async def _prepare(spec: EvidenceSpec, plan: _Plan, done: Callable[[FileResult], object]) -> EvidenceResult:
    results: dict[int, FileResult] = {}
    waiting = iter(enumerate(plan.files))
    async with EvidenceEngine(
        plan.policy,
        plan.routing,
        spec.network,
        plan.limits,
        workers=spec.workers,
        cache_dir=spec.cache_dir,
        record=spec.record,
        replay=spec.replay,
    ) as engine:

        async def work() -> None:
            for at, (file, folder) in waiting:
                submission = await asyncio.to_thread(file.open)
                evidence = await engine.prepare(submission)
                kept = await asyncio.to_thread(_write, spec.out_dir / folder, evidence)
                results[at] = FileResult(file=file.name, folder=folder, evidence=kept)
                done(results[at])

        try:
            async with asyncio.TaskGroup() as group:
                # More than can be drawn at a time: office files that wait are converted in one call.
                for _ in range(min(8 * (spec.workers or default_workers()), len(plan.files))):
                    group.create_task(work())
        except* StoreError as errors:
            raise _first(errors) from None
    result = EvidenceResult(
        out_dir=spec.out_dir,
        files=tuple(results[at] for at in range(len(plan.files))),
        policy=plan.policy,
        judge=plan.judge,
        renderer=engine.renderer,
        cache_problem=engine.cache_problem,
    )
    await asyncio.to_thread(write_json, spec.out_dir / INDEX_FILE, result.as_json())
    return result


def _first(group: BaseExceptionGroup[StoreError]) -> StoreError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _write(folder: Path, evidence: Evidence) -> Evidence:
    """Write one file's evidence, in place of what an earlier call wrote; what is returned holds no bytes."""
    named = with_paths(evidence)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in _earlier(folder):
            old.unlink()
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror or error}", slug="disk", concerns=str(folder)) from None
    for one in media_of(named):
        write_bytes(folder / one.path, one.data)
    for at, (_, text) in enumerate(named.texts, start=1):
        write_bytes(folder / text_name(at), text.encode("utf-8", "replace"))
    write_json(folder / EVIDENCE_FILE, to_manifest(named))
    return replace(
        named,
        pictures=tuple(replace(one, data=b"") for one in named.pictures),
        videos=tuple(replace(one, data=b"") for one in named.videos),
    )


def text_name(number: int) -> str:
    """The file of a text, 1-based."""
    return f"text-{number}.txt"


def _earlier(folder: Path) -> Iterator[Path]:
    for pattern in _WRITTEN:
        yield from (path for path in folder.glob(pattern) if path.is_file() or path.is_symlink())
