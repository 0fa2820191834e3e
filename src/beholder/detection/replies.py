"""A model's raw reply -> detections, strictly.

Strict JSON after stripping, or the same in exactly one fence (three backticks, or three backticks and
`json` in any case); a list of detections, or an object with such a list under `detections`. Prose around
it, a cut reply, trailing text, Python literals and other fences make the reply invalid: repairing it would
be guessing at boxes. An empty list is a valid answer: nothing is there.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

_FENCED = re.compile(r"```(?:json\b)?(.*)```", re.ASCII | re.DOTALL | re.IGNORECASE)


class Detection(msgspec.Struct, gc=False):
    """One box as a file has it: its class and four numbers, whose meaning the box format tells."""

    label: str = msgspec.field(name="class")
    bbox: tuple[float, float, float, float]


class _Wrapped(msgspec.Struct, gc=False):
    detections: list[Detection]


_list_decoder = msgspec.json.Decoder(list[Detection])
_object_decoder = msgspec.json.Decoder(_Wrapped)


def parse_response(text: str) -> list[Detection] | None:
    """The detections of a raw reply; None if it is malformed."""
    body = text.strip()
    if body.startswith("```"):
        fenced = _FENCED.fullmatch(body)
        if fenced is None:
            return None
        body = fenced[1].strip()
    try:
        if body.startswith("["):
            return _list_decoder.decode(body)
        if body.startswith("{"):
            return _object_decoder.decode(body).detections
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # The typed decoder also refuses what the rules allow, such as a value given twice of which only
        # the last is good; the slow reader decides.
        return _parse_slowly(body)
    return None


def _parse_slowly(body: str) -> list[Detection] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return read_detections(value.get("detections") if isinstance(value, dict) else value)


def read_detections(value: Any) -> list[Detection] | None:
    """A parsed JSON value as detections; None unless every single one is well formed."""
    if not isinstance(value, list):
        return None
    found = []
    for item in value:
        numbers = _four_numbers(item.get("bbox")) if isinstance(item, dict) else None
        if numbers is None or not isinstance(item.get("class"), str):
            return None
        found.append(Detection(item["class"], numbers))
    return found


def _four_numbers(value: Any) -> tuple[float, float, float, float] | None:
    """Exactly four finite JSON numbers; bool, numeric text and null are none."""
    if not isinstance(value, list) or len(value) != 4:
        return None
    numbers = [finite_number(item) for item in value]
    a, b, c, d = numbers
    if a is None or b is None or c is None or d is None:
        return None
    return a, b, c, d


def finite_number(value: Any) -> float | None:
    """A JSON number as float64; None for anything else, and for what float64 cannot hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
