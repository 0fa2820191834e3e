"""The ledger's nouns: a call's key, what is known of it, one attempt at it, sums over attempts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from beholder.records import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """What makes a call the same call. Equal keys have equal `identity`."""

    model: str
    task_id: str
    artifacts: tuple[str, ...]
    question_sha256: str
    evidence_sha256: str
    prompt_sha256: str
    judge: Mapping[str, Any]
    repeat: int

    @property
    def text(self) -> str:
        """Canonical JSON."""
        members = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(members, sort_keys=True, separators=(",", ":"))

    @property
    def identity(self) -> str:
        """sha256 of the canonical JSON."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """A call as the ledger knows it; `reply` is set if it was answered, `slug` if it failed for good."""

    state: Literal["open", "replied", "failed"]
    reply: Reply | None = None
    slug: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Handle of an attempt that was sent."""

    id: int
    call_id: int


@dataclass(slots=True)
class Totals:
    """Sums over attempts. `cost_usd` is of those with a known price; `unpriced` counts the others."""

    attempts: int = 0
    replied: int = 0
    failed: int = 0
    retried: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = field(default_factory=Decimal)
    unpriced: int = 0
    possibly_billed: int = 0
