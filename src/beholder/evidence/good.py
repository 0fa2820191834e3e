"""Files known to be good, to find out whose fault a failure is."""

from __future__ import annotations

import base64

from beholder.evidence.kinds import Job
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


_VIDEO = base64.b64decode(
    "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAJAEU2bdLpNu4tTq4QVSalmU6yBoU27i1OrhBZU"
    "rmtTrIHYTbuMU6uEElTDZ1OsggEbTbuMU6uEHFO7a1OsggIq7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmsirXsYMPQkBNgI1M"
    "YXZmNjIuMTIuMTAxV0GNTGF2ZjYyLjEyLjEwMUSJiECPQAAAAAAAFlSua76uAQAAAAAAADXXgQFzxYjYZBDcGIRjAZyBACK1nIN1"
    "bmSIgQCGhVZfVlA4g4EBI+ODhB3NZQDghrCBILqBIBJUw2fYc3OgY8CAZ8iaRaOHRU5DT0RFUkSHjUxhdmY2Mi4xMi4xMDFzc7Jj"
    "wItjxYjYZBDcGIRjAWfIoUWjiERVUkFUSU9ORIeTMDA6MDA6MDEuMDAwMDAwMDAwAB9DtnVArOeBAKPTgQAAgDAEAJ0BKiAAIAAA"
    "RwiFhYiFhIgBohAYKNAfwBBn5Mg34q1usVoyMFxhfgD+//8wImv//syhmIf9Hwvfc1q/psF8zZ//p4n//IsXP6eJZ4Cj0oEB9ACx"
    "AwABEA0QAMA5wErgP4A84L6A/gDrfnTF9OLGU/ruABc/xSCJra0H//HZZ//uIySa9PW8oICdiTqbHxNfReQYFjFnNztBM//HaZ/7"
    "iAAcU7trkbuPs4EAt4r3gQHxggF48IED"
)
"""Two frames of 32 by 32 pixels."""


def good_job(module: str) -> tuple[str, str, Job]:
    """(module, function, job) that succeed if anything of the module's kind does."""
    function, suffix, data = {
        "beholder.evidence.pdf": ("render_pdf", ".pdf", _DOCUMENT),
        "beholder.evidence.video": ("render_video", ".webm", _VIDEO),
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
    return module, function, job
