"""The manifest: strict JSON, and back to the same evidence."""

from __future__ import annotations

import json

from beholder.evidence.manifest import from_manifest, to_manifest
from beholder.records import ArtifactEvidence, Evidence, Picture, Warning_

EVIDENCE = Evidence(
    status="ok",
    route="visual",
    artifacts=(
        ArtifactEvidence(
            name="a.html",
            sha256="ab",
            size_bytes=3,
            kind="html",
            status="shown",
            facts={"outside_hosts": ["b.example", "a.example"], "viewport": [1280, 800]},
        ),
        ArtifactEvidence(
            name="b.png",
            sha256="",
            size_bytes=0,
            kind="image",
            status="absent",
            reason="empty",
            detail="0 bytes",
        ),
    ),
    pictures=(
        Picture(
            sha256="cd",
            media_type="image/png",
            width_px=10,
            height_px=20,
            size_bytes=4,
            source="a.html",
            part=1,
            parts=2,
            transforms=("cut",),
            path="images/01.png",
            data=b"data",
        ),
    ),
    texts=(("c.txt", "words"),),
    warnings=(Warning_(code="script_error", detail="x", source="a.html"),),
    renderer={"browser": "x/1", "fonts": {"count": 3}},
)


def test_round_trip() -> None:
    """Evidence written as JSON and read back is the same, but for the pictures' bytes."""
    written = json.dumps(to_manifest(EVIDENCE), allow_nan=False)
    back = from_manifest(json.loads(written))
    assert back == EVIDENCE
    assert back.pictures[0].data == b""
    assert back.pictures[0].path == "images/01.png"


def test_no_bytes_in_it() -> None:
    """The manifest holds no picture's bytes."""
    assert "data" not in to_manifest(EVIDENCE)["pictures"][0]
