"""What a reply says, once it is parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

OutcomeKind = Literal["scored", "unscored", "absent"]

Value = bool | int | Decimal
"""A criterion's value as judged: a bool stays a bool, an int an int."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A reply, parsed.

    Attributes:
        scores: Every criterion of the rubric, in its order.
        rationale: The judge's words.
        flags: Of the contract's list, those that can be told from the reply alone.
        repairs: What was mended to read it.
        claims: The reply's other top-level members: numbers as `int` or `Decimal`, booleans, anything
            else as None. The judge's own totals are here, to be compared, never believed.
    """

    scores: Mapping[str, Value]
    rationale: str = ""
    flags: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    claims: Mapping[str, Value | None] = field(default_factory=dict)
