"""The three hashes that say when numbers may be compared.

    question_sha256   the template's bytes, criteria without weights, reply form: new question, new replies
    evidence_sha256   routing and evidence policy in force, network mode and the judge's limits included
    formula_sha256    score, weights, reduction, absent policy: a new formula re-scores stored replies

Each is the sha256 of canonical JSON (sorted keys, no blanks, UTF-8) in which a number is its shortest
plain decimal text, so that 10 and 10.0 are the same question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from decimal import Decimal
from typing import Any

from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy, Protocol, Routing


def question_sha256(protocol: Protocol) -> str:
    """Hash of what the judge is asked."""
    return digest(
        {
            "template_sha256": protocol.prompt.sha256,
            "criteria": [
                {key: value for key, value in asdict(criterion).items() if key != "weight"}
                for criterion in protocol.criteria
            ],
            "reply": protocol.reply,
            # A task's own criteria stand in its prompt, whose hash is part of each call's identity.
            **({"per_task": protocol.per_task.criteria} if protocol.per_task.criteria else {}),
        }
    )


def evidence_sha256(
    routing: Routing,
    policy: EvidencePolicy,
    network: NetworkPolicy,
    limits: MediaLimits,
    replay: str = "",
) -> str:
    """Hash of how artifacts become what the judge is shown.

    Args:
        replay: Digest of the record that answers from outside come from; empty: they come from there.
    """
    parts = {"routing": routing, "policy": policy, "network": network, "limits": limits}
    return digest({**parts, "replay": replay} if replay else parts)


def formula_sha256(protocol: Protocol) -> str:
    """Hash of how verdicts become a score."""
    return digest(
        {
            "score": protocol.score,
            "weights": {c.key: c.weight for c in protocol.criteria if c.weight is not None},
            "ranges": {c.key: [c.min, c.max] for c in protocol.criteria},
            "reduce": protocol.repeats.reduce,
            "min_scored": protocol.repeats.min_scored,
            "absent": protocol.absent,
        }
    )


def digest(value: Any) -> str:
    """sha256 of a value's canonical JSON, as lower-case hex."""
    text = json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float | Decimal):
        number = Decimal(str(value))
        return "0" if number == 0 else format(number.normalize(), "f")
    raise TypeError(f"a {type(value).__name__} has no canonical form")
