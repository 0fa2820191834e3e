"""Evidence as JSON-ready data, and back; the bytes of pictures stay out of it.

{status, route, reason, detail,
 artifacts: [{name, sha256, size_bytes, kind, status, reason, detail, facts}],
 pictures:  [{path, sha256, media_type, width_px, height_px, size_bytes, source, page, pages, part, parts,
              transforms, sheet, time_s}],
 texts: [[name, text]],
 videos: [{path, sha256, media_type, size_bytes, source, width_px, height_px, duration_s, fps}],
 warnings: [{code, detail, source}], renderer: {…}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from beholder.records import ArtifactEvidence, Evidence, Picture, Video, Warning_


def to_manifest(evidence: Evidence) -> dict[str, Any]:
    """The evidence without its pictures' bytes, ready for `json.dump`."""
    return {
        "status": evidence.status,
        "route": evidence.route,
        "reason": evidence.reason,
        "detail": evidence.detail,
        "artifacts": [asdict(artifact) for artifact in evidence.artifacts],
        "pictures": [_without_data(picture) for picture in evidence.pictures],
        "texts": [[name, text] for name, text in evidence.texts],
        "videos": [_without_data(video) for video in evidence.videos],
        "warnings": [asdict(warning) for warning in evidence.warnings],
        "renderer": dict(evidence.renderer),
    }


def from_manifest(manifest: Mapping[str, Any]) -> Evidence:
    """The evidence that `to_manifest` was given; its pictures have a path and no bytes."""
    return Evidence(
        status=manifest["status"],
        route=manifest["route"],
        reason=manifest["reason"],
        detail=manifest["detail"],
        artifacts=tuple(ArtifactEvidence(**artifact) for artifact in manifest["artifacts"]),
        pictures=tuple(
            Picture(**{**picture, "transforms": tuple(picture["transforms"])})
            for picture in manifest["pictures"]
        ),
        texts=tuple((name, text) for name, text in manifest["texts"]),
        videos=tuple(Video(**video) for video in manifest.get("videos", ())),
        warnings=tuple(Warning_(**warning) for warning in manifest["warnings"]),
        renderer=dict(manifest["renderer"]),
    )


def _without_data(one: Picture | Video) -> dict[str, Any]:
    # `asdict` would copy the bytes first.
    values = {field.name: getattr(one, field.name) for field in fields(one) if field.name != "data"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
