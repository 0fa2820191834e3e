"""A protocol as plain data, for people and programs that want to see what is in force."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import Any

from beholder.protocols.hashes import formula_sha256, question_sha256
from beholder.records import Protocol


def describe_protocol(protocol: Protocol) -> dict[str, Any]:
    """The resolved protocol, JSON-ready: decimals as numbers, unset keys left out, hashes added."""
    described: dict[str, Any] = _plain(asdict(protocol))
    described["hashes"] = {
        "question_sha256": question_sha256(protocol),
        "formula_sha256": formula_sha256(protocol),
    }
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.rstrip("_"): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return plain_number(value)
    return value


def plain_number(value: Decimal) -> int | float:
    """A decimal as JSON has it: a whole one without a point."""
    return int(value) if value == value.to_integral_value() else float(value)
