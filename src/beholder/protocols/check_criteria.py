"""What is wrong with criteria that have the shape of such: keys, scales, values, bands."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from beholder.protocols.finding import Finding
from beholder.protocols.places import Place
from beholder.records import Criterion


def criteria_findings(
    criteria: tuple[Criterion, ...], positions: list[int] | None = None
) -> Iterator[Finding]:
    """What is wrong with criteria that have the shape of such."""
    at = positions if positions is not None else list(range(len(criteria)))
    if not criteria:
        message = "there is none; add one, such as [[criteria]] with key, question, min and max"
        yield Finding(path=("criteria",), message=message, follows=True)
    # Equal to the eye is equal: a judge would not tell the two spellings of an accent apart.
    keys = [unicodedata.normalize("NFC", criterion.key) for criterion in criteria]
    for key, count in Counter(keys).items():
        if count > 1:
            last = max(at[n] for n, other in enumerate(keys) if other == key)
            message = f"criterion {key!r}: given {count} times; give each criterion a key of its own"
            yield Finding(path=("criteria", last, "key"), message=message)
    for position, criterion in zip(at, criteria, strict=True):
        for name, message in _criterion_problems(criterion):
            path: Place = ("criteria", position, name) if name else ("criteria", position)
            yield Finding(path=path, message=f"criterion {criterion.key!r}: {message}")


def _criterion_problems(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """(key it stands under, sentence)."""
    if not criterion.key.strip() or criterion.key != criterion.key.strip():
        yield "key", "a key has no blanks around it, and is not empty"
    if any(sign == '"' or not sign.isprintable() for sign in criterion.key):
        yield "key", "a key is one line of letters and signs, without quotation marks; the reply repeats it"
    if criterion.key in {"main", "pass", "pass_at"}:
        yield "key", "this name is taken by [score]; choose another"
    if not (is_sensible(criterion.min) and is_sensible(criterion.max)):
        yield "max", "min and max must be finite and of a sensible size"
        return
    if criterion.min >= criterion.max:
        yield "max", f"min {criterion.min} is not below max {criterion.max}; exchange or correct them"
    if criterion.type == "bool" and not (criterion.min == 0 and criterion.max == 1):
        yield "type", "a bool runs from 0 to 1; leave min and max out"
    if criterion.type == "int":
        for name, value in (("min", criterion.min), ("max", criterion.max)):
            if value != value.to_integral_value():
                yield name, f'{name} {value} is no whole number; round it, or say type = "float"'
    if criterion.allowed == ():
        yield "allowed", "allows no value at all; name some, or leave it out"
    for value in criterion.allowed or ():
        if not is_sensible(value):
            yield "allowed", f"allowed value {value} must be finite and of a sensible size"
            continue
        if criterion.type != "float" and value != value.to_integral_value():
            yield "allowed", f'allowed value {value} is no whole number; round it, or say type = "float"'
        if not criterion.min <= value <= criterion.max:
            yield (
                "allowed",
                f"allowed value {value} is outside {criterion.min} to {criterion.max}; correct one of them",
            )
    if criterion.weight is not None and not (is_sensible(criterion.weight) and criterion.weight >= 0):
        yield "weight", f"weight {criterion.weight} is below 0, or of no sensible size"
    for band in criterion.bands:
        if (band.below is None) == (band.to is None):
            yield "bands", "a band ends either below a value or at one: give one of below, to"
        if not all(is_sensible(end) for end in (band.start, band.below, band.to) if end is not None):
            yield "bands", "the ends of a band must be finite and of a sensible size"
    yield from _band_problems(criterion)


def _band_problems(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """Bands that are no stretch of the scale, or lie over one another; gaps are the author's to leave."""
    ended = [
        (band.start, end)
        for band in criterion.bands
        for end in (band.below, band.to)
        if end is not None and is_sensible(band.start) and is_sensible(end)
    ]
    found: list[tuple[Decimal, Decimal]] = []
    for start, end in ended:
        if start > end:
            yield "bands", f"the band from {start} ends at {end}, before it begins; exchange or correct them"
        elif not (criterion.min <= start and end <= criterion.max):
            scale = f"{criterion.min} to {criterion.max}"
            yield "bands", f"the band from {start} to {end} is not within {scale}; correct one of them"
        else:
            found.append((start, end))
    found.sort()
    for (start, end), (after, _) in pairwise(found):
        if after < end:
            message = f"the bands from {start} and from {after} lie over one another; end the first earlier"
            yield "bands", message


def is_sensible(number: Decimal) -> bool:
    """Whether a number can stand on a scale: 1e400 is a valid decimal and no float."""
    return number.is_finite() and abs(number.adjusted()) <= 50


def unreadable_lines(criteria: Sequence[tuple[int, Criterion]]) -> Iterator[Finding]:
    """A line `KEY: value` ends its key at the first colon or equals sign."""
    for at, criterion in criteria:
        if set(criterion.key) & set(":：="):
            message = (
                f"criterion {criterion.key!r}: in a reply of lines a key has no colon and no equals sign"
            )
            yield Finding(path=("criteria", at, "key"), message=message)
