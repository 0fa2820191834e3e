"""Submissions on disk, and an engine for them, in one call."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from PIL import Image

from beholder.evidence.engine import EvidenceEngine
from beholder.records import (
    Artifact,
    Evidence,
    EvidencePolicy,
    MediaLimits,
    NetworkPolicy,
    Picture,
    Routing,
    Submission,
)

PAGES = Routing(visual=(".html", ".htm", ".png", ".jpg", ".jpeg", ".webp"), text=(".txt",))
BLOCKED = NetworkPolicy(mode="block", given=True)

LIMITS = MediaLimits(
    image_bytes=10_000_000,
    edge_px=8000,
    edge_px_many=2000,
    many_images=20,
    shrink_edge_px=1568,
    shrink_pixels=1568 * 28 * 28,
    images=100,
    request_bytes=32_000_000,
)


def artifact(root: Path, name: str, **changes: Any) -> Artifact:
    """A file below `root`, pinned if it is a regular one."""
    path = root / name
    data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    digest = hashlib.sha256(data).hexdigest() if data else ""
    values = {"name": name, "path": path, "sha256": digest, "size_bytes": len(data), **changes}
    return Artifact(**values)


def submission(root: Path, files: Mapping[str, bytes | str], *, show: list[str] | None = None) -> Submission:
    """A submission of these files; only `show` are its artifacts, the others lie beside them."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    names = sorted(files) if show is None else show
    return Submission(
        task_id=root.name, model="m", root=root, artifacts=tuple(artifact(root, name) for name in names)
    )


def prepare(*submissions: Submission, **options: Any) -> list[Evidence]:
    """Their evidence, all from one engine."""
    return asyncio.run(prepare_all(*submissions, **options))


async def prepare_all(
    *submissions: Submission,
    network: NetworkPolicy = BLOCKED,
    limits: MediaLimits = LIMITS,
    routing: Routing = PAGES,
    workers: int = 2,
    engine: Mapping[str, Any] | None = None,
    **policy: Any,
) -> list[Evidence]:
    """The same in a running loop."""
    rules = EvidencePolicy(**{"min_wait_s": Decimal(1), "max_wait_s": Decimal(120), **policy})
    async with EvidenceEngine(rules, routing, network, limits, workers=workers, **(engine or {})) as running:
        return await asyncio.gather(*(running.prepare(one) for one in submissions))


def codes(evidence: Evidence) -> set[str]:
    """The codes of its warnings."""
    return {warning.code for warning in evidence.warnings}


def pixels(picture: Picture) -> Image.Image:
    """The decoded picture."""
    return Image.open(io.BytesIO(picture.data)).convert("RGB")


def png(size: tuple[int, int] = (40, 30), colour: Any = "red", mode: str = "RGB") -> bytes:
    """A PNG of two colours: `colour` with a black corner, so that it is not blank."""
    image = Image.new(mode, size, colour)
    if mode in {"RGB", "RGBA"} and min(size) >= 4:
        image.paste((0, 0, 0) if mode == "RGB" else (0, 0, 0, 255), (0, 0, size[0] // 2, size[1] // 2))
    return encoded(image, "PNG")


def encoded(image: Image.Image, format_: str, **options: Any) -> bytes:
    """The bytes of an image file."""
    out = io.BytesIO()
    image.save(out, format_, **options)
    return out.getvalue()
