"""Which files of a submission are looked at, and by whom; every other one is listed with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from beholder.records import Artifact, ArtifactEvidence, Route, Routing, Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What routing decided.

    Attributes:
        route: `none` if there is nothing of a kind that the protocol looks at.
        chosen: The files to show, in the order they are sent.
        beside: Text files that the visual judge is told of, too.
        not_shown: The others, each with `excluded`, `not_selected` or `unsupported`.
        reason: With route `none`: `missing` (no file at all) or `unsupported`.
    """

    route: Route
    chosen: tuple[Artifact, ...] = ()
    beside: tuple[Artifact, ...] = ()
    not_shown: tuple[ArtifactEvidence, ...] = ()
    reason: str | None = None

    @property
    def detail(self) -> str:
        """The reason in words, empty where there is none: what is excluded may be what was asked for."""
        if self.reason is None:
            return ""
        excluded = [one.name for one in self.not_shown if one.reason == "excluded"]
        named = ", ".join(excluded[:5]) + (f" and {len(excluded) - 5} more" if len(excluded) > 5 else "")
        if self.reason == "missing":
            return "no file at all"
        if excluded and len(excluded) == len(self.not_shown):
            return f"the protocol excludes every file that was handed in: {named}"
        other = "no file of a kind the protocol looks at"
        return f"{other}; it excludes {named}" if excluded else other


def is_excluded(name: str, patterns: Iterable[str]) -> str | None:
    """The first pattern that drops a name, or None.

    A pattern that ends in `/` drops a folder wherever it stands; any other is a shell pattern, tried
    against the whole path and against the last part of it. Case does not count.
    """
    path = PurePosixPath(name.lower())
    for pattern in patterns:
        wanted = pattern.lower()
        if wanted.endswith("/"):
            folder = tuple(wanted.strip("/").split("/"))
            parents = path.parts[:-1]
            if any(parents[at : at + len(folder)] == folder for at in range(len(parents))):
                return pattern
        elif fnmatchcase(str(path), wanted) or fnmatchcase(path.name, wanted):
            return pattern
    return None


def select_artifacts(submission: Submission, routing: Routing, *, texts_beside: bool = False) -> Selection:
    """What of the submission is shown.

    Args:
        submission, routing: The files, and the protocol's rules for them.
        texts_beside: Text files are shown beside the pictures, too: the prompt has a place for them. Never
            where routing is strict.

    Exclusion comes first. On the strict route one visual file takes the whole submission to the visual
    judge, else the text judge has it, never back. `first` takes the best by the order of the suffixes,
    then `index.*`, the shortest path, the name. A response text is text on the strict route. A folder that
    may not be used is chosen, so that reading it tells why.
    """
    dropped: list[ArtifactEvidence] = []
    left: list[Artifact] = []
    has_words = routing.kind == "strict" and bool((submission.response or "").strip())
    folder = _unusable_folder(submission)
    if folder is not None and not has_words:
        # What it hides might be of any kind: that it may not be used is the cause of everything else.
        return Selection(route="visual", chosen=(folder,))
    for artifact in submission.artifacts:
        pattern = is_excluded(artifact.name, routing.exclude)
        if pattern is None:
            left.append(artifact)
        else:
            dropped.append(_listed(artifact, "excluded", f"the protocol excludes {pattern!r}"))
    visual = [artifact for artifact in left if artifact.suffix in routing.visual]
    text = [artifact for artifact in left if artifact.suffix in routing.text]
    route: Route
    if visual:
        route, chosen, order = "visual", visual, routing.visual
    elif has_words or (routing.kind == "strict" and text):
        route, chosen, order = "text", text, routing.text
    else:
        route, chosen, order = "none", [], ()
    ranked = sorted(chosen, key=lambda artifact: _rank(artifact, order))
    if routing.select == "first" and route == "visual":
        ranked = ranked[:1]
    beside: list[Artifact] = []
    if texts_beside and route == "visual" and routing.kind == "visual":
        beside = sorted(text, key=lambda artifact: _rank(artifact, routing.text))
    shown = {id(artifact) for artifact in (*ranked, *beside)}
    for artifact in left:
        if id(artifact) in shown:
            continue
        known = artifact.suffix in routing.visual or artifact.suffix in routing.text
        if artifact is folder:
            dropped.append(_listed(artifact, "unsupported", artifact.problem_detail))
        elif not known:
            detail = f"the protocol looks at no {artifact.suffix or 'file without a suffix'}"
            dropped.append(_listed(artifact, "unsupported", detail))
        elif artifact.suffix in order:
            dropped.append(_listed(artifact, "not_selected", f"{ranked[0].name} comes first"))
        else:
            dropped.append(_listed(artifact, "not_selected", f"the {route} judge is not shown this kind"))
    reason = None
    if route == "none":
        reason = "unsupported" if submission.artifacts else "missing"
    return Selection(
        route=route, chosen=tuple(ranked), beside=tuple(beside), not_shown=tuple(dropped), reason=reason
    )


def _rank(artifact: Artifact, order: tuple[str, ...]) -> tuple[int, bool, int, int, str]:
    path = PurePosixPath(artifact.name)
    is_index = path.stem.lower() == "index"
    return order.index(artifact.suffix), not is_index, len(path.parts), len(artifact.name), artifact.name


def _unusable_folder(submission: Submission) -> Artifact | None:
    """The submission's folder itself, where it leads out or may not be read and so stands for all in it."""
    if len(submission.artifacts) != 1:
        return None
    (artifact,) = submission.artifacts
    stands_for_all = submission.root is None or artifact.path == submission.root
    return artifact if artifact.name == "artifacts" and artifact.problem and stands_for_all else None


def _listed(artifact: Artifact, reason: str, detail: str) -> ArtifactEvidence:
    return ArtifactEvidence(
        name=artifact.name,
        sha256=artifact.sha256,
        size_bytes=artifact.size_bytes,
        kind="",
        status="not_shown",
        reason=reason,
        detail=detail,
    )
