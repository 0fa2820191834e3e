"""What a page draws on beside itself: files of its folder that are no artifacts of the submission.

In a flat run directory a page may have a folder of pictures and styles, as browsers save them. A reader must
see what was looked at, and a page whose styles changed is another page: it is drawn and judged anew.
"""

from __future__ import annotations

from dataclasses import replace

from beholder.evidence.cache_key import digests_of
from beholder.evidence.files import own_files
from beholder.evidence.serve import ServedFolder
from beholder.records import ArtifactEvidence, Evidence, Submission


def list_beside(evidence: Evidence) -> Evidence:
    """Evidence that lists every file its pages have loaded; it is a part of each call's identity then."""
    known = {one.name for one in evidence.artifacts}
    beside = {
        name: ArtifactEvidence(
            name=name,
            sha256=digest,
            size_bytes=page.facts["served_bytes"][name],
            kind="",
            status="not_shown",
            reason="not_selected",
            detail=f"loaded by {page.name}",
        )
        for page in evidence.artifacts
        for name, digest in page.facts.get("served", {}).items()
        if name not in known
    }
    if not beside:
        return evidence
    return replace(evidence, artifacts=(*evidence.artifacts, *(beside[name] for name in sorted(beside))))


def same_beside(submission: Submission, evidence: Evidence) -> bool:
    """Whether the pages of stored evidence would be served now what they were served then. Reads the disk."""
    if not submission.flat:
        return True  # all files below the root are artifacts, whose digests were compared
    belongs = own_files(submission)
    for page in evidence.artifacts:
        served, missing = page.facts.get("served", {}), page.facts.get("missing_files", ())
        if not served and not missing:
            continue
        folder = ServedFolder(root=submission.root, name=page.name, page=b"", belongs=belongs)
        now = digests_of(folder)
        if any(now(name) != digest for name, digest in served.items()) or any(map(now, missing)):
            return False
    return True
