"""Artifact -> evidence: what a person would see of a submission, as pictures a judge takes unchanged.

`engine` conducts; `select` decides what is looked at; one module a kind (`html`, `image`); `browser`, `cdp`,
`page`, `serve` and `egress` are the browser and its fences; `layout` and `pictures` fit what was drawn to the
judge; `manifest` writes it down.
"""

from beholder.evidence.browser import find_browser
from beholder.evidence.engine import EvidenceEngine, renderer_info
from beholder.evidence.manifest import from_manifest, to_manifest
from beholder.evidence.select import Selection, select_artifacts

__all__ = [
    "EvidenceEngine",
    "Selection",
    "find_browser",
    "from_manifest",
    "renderer_info",
    "select_artifacts",
    "to_manifest",
]
