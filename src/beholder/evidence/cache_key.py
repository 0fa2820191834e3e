"""What a rendered result depends on, as one digest; and which results may be kept at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from beholder.errors import BrokenArtifact, RenderError
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.serve import ORIGIN, ServedFolder
from beholder.records import NetworkPolicy

EVIDENCE_VERSION = 9
"""Of everything in this room that turns a file into pictures and texts: one more with each change that could
give another picture, text, fact or warning. It makes everything that was stored before a miss."""

PAGE_KINDS = frozenset(("html", "svg"))
"""Drawn by the browser: they see the network policy, files beside them and their own name."""

_ONLY_FOR = {
    "viewport": PAGE_KINDS,
    "min_wait_s": PAGE_KINDS,
    "max_wait_s": PAGE_KINDS,
    "degraded": PAGE_KINDS,
    "text_chars": frozenset(("text",)),
    "video": frozenset(("video",)),
}
"""Members of the evidence policy that only these kinds look at; every other member counts for every kind."""

_ASSETS_AT_MOST = 2000
"""Files of a page's own folder that are checked on a look-up; a page that asks for more is not stored."""

_LASTING = frozenset(("empty", "corrupt", "encrypted", "wrong_type", "too_large"))
"""Faults that are in the bytes themselves. `unrenderable` may have been the machine's bad moment."""

_PASSING = frozenset(("page_not_settled",))


def cache_key(
    job: Job, kind: str, *, renderer: Mapping[str, Any], network: NetworkPolicy, record: str = ""
) -> str:
    """The digest of what a result depends on, but for files of a page's own folder.

    Args:
        renderer: What draws this kind, as `program_stamp`, `library_stamp` and the fonts' fingerprint tell.
            Must be known before anything is started, so that a run that finds everything here starts nothing.
        record: Digest of the record that outside answers come from (`--replay`); empty without one.
    """
    is_page = kind in PAGE_KINDS
    policy = {
        # 3 and 3.0 seconds are the same wait.
        name: str(value.normalize()) if isinstance(value, Decimal) else value
        for name, value in asdict(job.policy).items()
        if name not in _ONLY_FOR or kind in _ONLY_FOR[name]
    }
    parts = {
        "version": EVIDENCE_VERSION,
        "content": hashlib.sha256(job.data).hexdigest(),
        "kind": kind,
        "suffix": job.suffix,
        # A script can read the address it was loaded from.
        "name": os.fsencode(job.name).hex() if is_page else "",
        "policy": policy,
        "limits": asdict(job.limits),
        "budget": job.budget,
        "network": asdict(network) if is_page else None,
        "record": record if is_page else "",
        "renderer": renderer,
    }
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def may_store(result: Shown | BrokenArtifact, network: NetworkPolicy, record: str, assets: int = 0) -> bool:
    """Whether the same file would give the same result again.

    Not if the page had not settled, if it was shown answers of the outside world that no record holds, or if
    nobody had decided on the network; of failures, those that lie in the bytes.

    Args:
        assets: How many files of its own folder a page asked for.
    """
    if isinstance(result, BrokenArtifact):
        return result.slug in _LASTING
    if result.blocked_hosts or assets > _ASSETS_AT_MOST:
        return False
    if any(warning.code in _PASSING for warning in result.warnings):
        return False
    reached_out = bool(result.facts.get("outside_hosts")) and network.mode != "block"
    return bool(record) or not reached_out


def digests_of(folder: ServedFolder) -> Callable[[str], str | None]:
    """What a page would be served of its own folder now: name -> sha256, or None where it gets nothing.

    Give it a folder of its own (`ServedFolder` counts what it serves).
    """

    def digest(name: str) -> str | None:
        try:
            answer = folder.answer(f"{ORIGIN}/{quote(name, errors='surrogateescape')}")
        except RenderError:
            return "unreadable"  # equals no digest, so that the page is rendered, and finds out for itself
        return hashlib.sha256(answer.body).hexdigest() if answer.status == 200 else None

    return digest


def program_stamp(path: Path) -> dict[str, Any]:
    """What tells one build of a program from another without starting it; empty if there is none."""
    real = path.resolve()
    try:
        status = real.stat()
    except OSError:
        return {}
    return {"path": str(real), "size": status.st_size, "changed_ns": status.st_mtime_ns}


def library_stamp(*names: str) -> dict[str, str]:
    """Distribution -> version, of those that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
