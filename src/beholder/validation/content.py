"""What is wrong with files: their content against their names, and the hosts they ask for."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence

from beholder.errors import RenderError
from beholder.evidence.select import Selection, select_artifacts
from beholder.evidence.series import MAX_PIXELS
from beholder.evidence.sniff import sniff
from beholder.records import Artifact, Protocol, Submission, Task
from beholder.validation.decoded import Decoders
from beholder.validation.folder import ARTIFACTS
from beholder.validation.page_hosts import KINDS, outside_hosts
from beholder.validation.records import Level, Problem, problem_of

MAX_SCAN_BYTES = 16 * 2**20
"""Of one file that is searched for outside hosts."""

MAX_SCANNED_FILES = 200
"""Style sheets and scripts of one submission that are searched, beside its pages."""

_ZIP, _OLE = "application/zip", "application/x-ole-storage"
_VIDEO = ("video/mp4", "video/quicktime", "video/webm", "video/x-matroska", "video/x-msvideo")
_IMAGES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"}
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF"}
_CONTENT: Mapping[str, tuple[str, ...]] = {
    ".pdf": ("application/pdf",),
    **dict.fromkeys((".docx", ".pptx", ".xlsx", ".docm", ".pptm", ".xlsm"), (_ZIP, _OLE)),
    **dict.fromkeys((".odt", ".odp", ".ods"), (_ZIP, _OLE)),
    **dict.fromkeys((".doc", ".ppt", ".xls"), (_OLE, _ZIP, "application/rtf")),
    **dict.fromkeys((".mp4", ".mov", ".m4v", ".webm", ".mkv"), _VIDEO),
}  # fmt: skip
_OLD = {".doc", ".ppt", ".xls"}
_TEXT = {*KINDS, ".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".py"}


def artifact_problems(
    task: Task, submission: Submission, folder: str | None, protocol: Protocol | None, decoders: Decoders
) -> Iterator[Problem]:
    """What is wrong with the files that would be looked at, and with any that may not be read."""
    prefix = f"{folder}{ARTIFACTS}/" if folder and submission.root else ""
    good = []
    for artifact in submission.artifacts:
        if artifact.problem is None:
            good.append(artifact)
        else:
            path = f"{prefix}{artifact.name}" if prefix else f"{folder or ''}{artifact.name}"
            yield problem_of(task, artifact.problem, path, artifact.problem_detail)
    looked_at: Sequence[Artifact] = good
    if protocol is not None:
        selection = select_artifacts(submission, protocol.routing)
        looked_at = [artifact for artifact in selection.chosen if artifact.problem is None]
        yield from _excluded_notes(task, selection, prefix)
        if selection.reason == "unsupported" and good:
            detail = _unsupported(selection, (*protocol.routing.visual, *protocol.routing.text))
            yield problem_of(task, "unsupported", prefix or good[0].name, detail)
    for artifact in looked_at:
        if found := _content_problem(artifact) or _decoding_problem(submission, artifact, decoders):
            kind, detail, level = found
            yield problem_of(task, kind, f"{prefix}{artifact.name}", detail, level)


def _unsupported(selection: Selection, kinds: Sequence[str]) -> str:
    """Why nothing of a submission is looked at, and what would be."""
    others = [one.name for one in selection.not_shown if one.reason != "excluded"]
    if not others:
        return f"{selection.detail}; with another name it would be looked at"
    listed = ", ".join(others[:5]) + (" …" if len(others) > 5 else "")
    return f"{selection.detail}; {listed}: it looks at {', '.join(kinds)} only"


def _excluded_notes(task: Task, selection: Selection, prefix: str) -> Iterator[Problem]:
    """By pattern, what the protocol excludes: a main deliverable may be named like a leftover."""
    dropped: dict[str, list[str]] = {}
    for item in selection.not_shown:
        if item.reason == "excluded":
            dropped.setdefault(item.detail, []).append(item.name)
    for why, names in dropped.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        detail = f"{why}: {names[0]}{more} will not be looked at"
        yield problem_of(task, "excluded", f"{prefix}{names[0]}", detail, "note")


def _content_problem(artifact: Artifact) -> tuple[str, str, Level] | None:
    """(kind, detail, level) of what is wrong with a file's content; None if nothing is."""
    if artifact.size_bytes == 0:
        return "empty", "the file has 0 bytes", "problem"
    try:
        with artifact.path.open("rb") as file:
            start = file.read(4096)
            if artifact.suffix in _IMAGES:
                return _image_problem(start + file.read(), artifact.suffix)
    except OSError as error:
        return "unreadable", f"{error.strerror}; make it readable", "problem"
    found = sniff(start)
    if artifact.suffix in _TEXT:
        # UTF-16 has NULs, but says so.
        if found or (b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))):
            return "wrong_type", f"{artifact.suffix} by name, {found or 'no text'} by content", "problem"
        return None
    expected = _CONTENT.get(artifact.suffix)
    if expected is None or found in expected or (artifact.suffix == ".pdf" and b"%PDF-" in start[:1024]):
        return None
    if artifact.suffix in _OLD and not found and b"\0" in start:
        return None  # word processors before 1997 had formats of their own
    what = found or ("something unknown" if b"\0" in start else "text")
    return "wrong_type", f"{artifact.suffix} by name, {what} by content", "problem"


def _decoding_problem(
    submission: Submission, artifact: Artifact, decoders: Decoders
) -> tuple[str, str, Level] | None:
    """What a decoder finds wrong with a file whose first bytes are right."""
    try:
        return decoders.problem(submission, artifact)
    except RenderError as error:
        return "not_checked", f"could not be decoded here, which says nothing against it: {error}", "note"


def _image_problem(data: bytes, suffix: str) -> tuple[str, str, Level] | None:
    from PIL import Image, UnidentifiedImageError

    media_type = sniff(data)
    if not media_type.startswith("image/"):
        what = media_type or "text or something unknown"
        return "wrong_type", f"{suffix} by name, {what} by content", "problem"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # oddities of metadata
            image = Image.open(io.BytesIO(data))
            if image.width * image.height > MAX_PIXELS:
                return "too_large", f"more than {MAX_PIXELS} pixels by its header", "problem"
            image.load()
    except Image.DecompressionBombError:
        return "too_large", f"more than {MAX_PIXELS} pixels by its header", "problem"
    except UnidentifiedImageError:
        return "corrupt", "the picture's header cannot be read", "problem"
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, OverflowError) as error:
        # What Pillow's decoders raise for damaged files.
        return "corrupt", f"cannot be decoded: {error}", "problem"
    expected = _FORMATS.get(suffix)
    if expected is not None and image.format not in {expected, "MPO"}:
        return "other_format", f"{image.format} by content; it is judged as that", "note"
    return None


def hosts_of(submission: Submission, protocol: Protocol | None) -> dict[str, str]:
    """Outside hosts that a submission's pages name, with those of the files beside them."""
    if protocol is None:
        chosen: Sequence[Artifact] = submission.artifacts
    else:
        chosen = select_artifacts(submission, protocol.routing).chosen
    if not any(KINDS.get(artifact.suffix) == "html" for artifact in chosen):
        return {}
    pages = [artifact for artifact in chosen if artifact.suffix in KINDS]
    beside = [a for a in submission.artifacts if a.suffix in {".css", ".js", ".mjs"} and a not in pages]
    found: dict[str, str] = {}
    for artifact in (*pages, *beside[:MAX_SCANNED_FILES]):
        if artifact.problem is not None:
            continue
        try:
            with artifact.path.open("rb") as file:
                data = file.read(MAX_SCAN_BYTES)
        except OSError:
            continue  # told among the artifact's problems
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
        for host, way in outside_hosts(data.decode(encoding, "replace"), KINDS[artifact.suffix]).items():
            found.setdefault(host, f"{way} in {artifact.name}")
    return found
