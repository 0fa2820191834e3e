"""Files known to be good, to find out whose fault a failure is."""

from __future__ import annotations

import base64

from beholder.evidence.kinds import Job
from beholder.evidence.worker import Call
from beholder.records import EvidencePolicy, MediaLimits

IMAGE = "beholder.evidence.image"

_PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAJklEQVR42mP8//8/AzbAxIADsECok/LycCHzhw/x6SBdgpFkVwEAebAJCzoERz8AAAAASUVORK5CYII="
)
"""Eight by eight pixels."""

_DOCUMENT = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]/Contents 4 0 R/Resources<<>>>>endobj
4 0 obj<</Length 22>>stream
1 0 0 rg 9 9 30 30 re f
endstream endobj
trailer<</Root 1 0 R>>
%%EOF
"""
"""One page with a red square."""


def good_call(module: str) -> Call:
    """A call that succeeds if anything of its kind does."""
    function, suffix, data = {
        "beholder.evidence.pdf": ("render_pdf", ".pdf", _DOCUMENT),
        "beholder.evidence.text": ("read_text", ".txt", b"good"),
    }.get(module, ("render_image", ".png", _PICTURE))
    if suffix == ".png":
        module = IMAGE
    job = Job(
        name=f"good{suffix}",
        suffix=suffix,
        data=data,
        policy=EvidencePolicy(),
        limits=MediaLimits(),
        budget=1,
    )
    return Call(module=module, function=function, job=job)
