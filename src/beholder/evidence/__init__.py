"""Artifact -> evidence: what a person would see, as pictures and texts that a judge takes unchanged.

`engine` conducts; `select` decides what is looked at, `share` and `allot` how much of it; one module a kind
(`html`, `svg`, `image`, `pdf`, `office`, `video`, `text`). Pages are drawn by a browser behind fences
(`pages`, `browser`, `cdp`, `page`, `serve`, `egress`), everything else is decoded in fenced processes
(`workers`, `decode`). `layout` and `pictures` fit what was drawn to the judge; `manifest` writes it down.
"""

from beholder.evidence.browser import find_browser
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.manifest import from_manifest, to_manifest
from beholder.evidence.pages import renderer_info
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
