"""Verdicts -> score by the protocol's formula, in exact rational arithmetic.

Every number here is a `Fraction`; rounding happens only where a formula says `round`, and numbers become
JSON only in `number`. The mean of repeats is therefore the same in any order, to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from statistics import median

from beholder.records import Criterion, Formula, Repeats, ScoreNode, Value, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatScore:
    """One scored repeat.

    Attributes:
        scores: Each criterion's value.
        derived: Every name of the formula.
        passed: Whether this repeat alone reaches `pass_at`; None without a pass mark.
        flags: What the comparison with the judge's own totals showed.
    """

    scores: Mapping[str, Value]
    derived: Mapping[str, Fraction]
    passed: bool | None
    flags: tuple[str, ...] = ()

    @property
    def main(self) -> Fraction:
        """The repeat's score."""
        return self.derived["main"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScore:
    """All repeats of a task, reduced. `main` is None where the task is unscored.

    Attributes:
        reason: Why it is unscored, where the reduction itself decides (`no_majority`); else None.
        scores, derived: Means over the scored repeats; empty where the task is unscored.
        flags: `partial_coverage`, `repeats_disagree`.
    """

    main: Fraction | None
    passed: bool | None
    n_scored: int
    reason: str | None = None
    scores: Mapping[str, Fraction] = field(default_factory=dict)
    derived: Mapping[str, Fraction] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def score_verdict(verdict: Verdict, criteria: Sequence[Criterion], formula: Formula) -> RepeatScore:
    """The formula applied to one verdict, with flags where the judge's own totals differ."""
    derived = evaluate(formula, {key: exact(value) for key, value in verdict.scores.items()}, criteria)
    passed = reaches(derived["main"], formula.pass_at)
    return RepeatScore(
        scores=verdict.scores,
        derived=derived,
        passed=passed,
        flags=_compare_claims(verdict.claims, derived, passed),
    )


def evaluate(
    formula: Formula, values: Mapping[str, Fraction], criteria: Sequence[Criterion]
) -> dict[str, Fraction]:
    """Every name of the formula, in the formula's order.

    Args:
        values: A value per criterion.
        criteria: For the ranges that `weighted` scales by: sum of w (v - min)/(max - min) over sum of w.
    """
    ranges = _ranges(formula, criteria)
    known = dict(values)
    for name, node in formula.nodes.items():
        known[name] = _node_value(node, known, ranges)
    return {name: known[name] for name in formula.nodes}


def score_range(formula: Formula, criteria: Sequence[Criterion]) -> tuple[Fraction, Fraction]:
    """The ends of the scale of `main`, by interval arithmetic over the criteria's own scales.

    Where a name uses a criterion twice, in opposite senses, the ends may lie outside what is attainable.
    """
    return _ranges(formula, criteria)["main"]


def reduce_repeats(
    repeats: Sequence[RepeatScore | None], rule: Repeats, formula: Formula, *, n_requested: int
) -> TaskScore:
    """One score of all repeats.

    Args:
        repeats: In the order asked; None where a repeat is unscored.
        rule: `mean`, `median`, or `majority`: a value that more than half of the repeats asked for gave.
        n_requested: Repeats asked for, unscored ones included.
    """
    scored = [repeat for repeat in repeats if repeat is not None]
    flags = []
    if 0 < len(scored) < n_requested:
        flags.append("partial_coverage")
    if len({repeat.main for repeat in scored}) > 1:
        flags.append("repeats_disagree")
    means = {
        key: _mean([exact(r.scores[key]) for r in scored]) for key in (scored[0].scores if scored else ())
    }
    derived = {
        name: _mean([r.derived[name] for r in scored]) for name in (scored[0].derived if scored else ())
    }
    main: Fraction | None = None
    reason = None
    if len(scored) >= max(rule.min_scored, 1):
        values = [repeat.main for repeat in scored]
        if rule.reduce == "mean":
            main = _mean(values)
        elif rule.reduce == "median":
            main = Fraction(median(values))
        else:
            value, votes = Counter(values).most_common(1)[0]
            if 2 * votes > n_requested:
                main = value
            else:
                reason = "no_majority"
    if main is not None:
        derived["main"] = main
    return TaskScore(
        main=main,
        passed=None if main is None else reaches(main, formula.pass_at),
        n_scored=len(scored),
        reason=reason,
        scores=means if main is not None else {},
        derived=derived if main is not None else {},
        flags=tuple(flags),
    )


def reaches(value: Fraction, pass_at: Decimal | None) -> bool | None:
    """Whether an unrounded value is at least the pass mark; None without one."""
    return None if pass_at is None else value >= Fraction(pass_at)


def exact(value: Value) -> Fraction:
    """A judged value as a fraction; true is 1, false 0."""
    return Fraction(value)


def number(value: Fraction | None) -> int | float | None:
    """A fraction as a JSON number: whole ones as int, others as the nearest float."""
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else float(value)


def value_number(value: Value) -> bool | int | float:
    """A judged value as JSON, its kind kept."""
    return float(value) if isinstance(value, Decimal) else value


def _node_value(
    node: ScoreNode, known: Mapping[str, Fraction], ranges: Mapping[str, tuple[Fraction, Fraction]]
) -> Fraction:
    if node.sum is not None:
        return sum((known[name] for name in node.sum), Fraction(0))
    if node.mean is not None:
        return _mean([known[name] for name in node.mean])
    if node.min is not None:
        return min(known[name] for name in node.min)
    if node.max is not None:
        return max(known[name] for name in node.max)
    if node.weighted is not None:
        total = Fraction(0)
        for name, weight in node.weighted.items():
            low, high = ranges[name]
            share = (known[name] - low) / (high - low) if high != low else Fraction(0)
            total += Fraction(weight) * share
        return total / sum(Fraction(weight) for weight in node.weighted.values())
    if node.scale is None or node.from_ is None or node.to is None:
        raise ValueError("a node has one of sum, mean, min, max, weighted, scale")
    (a, b), (c, d) = (tuple(map(Fraction, pair)) for pair in (node.from_, node.to))
    value = c + (known[node.scale] - a) * (d - c) / (b - a)
    if node.round is None:
        return value
    return Fraction(round(value) if node.round == "half-even" else (value + Fraction(1, 2)).__floor__())


def _ranges(formula: Formula, criteria: Sequence[Criterion]) -> dict[str, tuple[Fraction, Fraction]]:
    """(low, high) of every criterion and name. Each node is monotone in what it uses, so ends map to ends."""
    ranges = {c.key: (Fraction(c.min), Fraction(c.max)) for c in criteria}
    for name, node in formula.nodes.items():
        ends = [
            _node_value(node, {key: pair[side] for key, pair in ranges.items()}, ranges) for side in (0, 1)
        ]
        ranges[name] = (min(ends), max(ends))
    return ranges


def _compare_claims(
    claims: Mapping[str, Value | None], derived: Mapping[str, Fraction], passed: bool | None
) -> tuple[str, ...]:
    """Flags for the reply's own totals and verdict, which are recomputed and never believed."""
    flags = set()
    for key, claimed in claims.items():
        if key == "pass":
            if passed is not None and isinstance(claimed, bool) and claimed != passed:
                flags.add("pass_mismatch")
        elif key not in derived:
            flags.add("extra_keys")
        elif claimed is not None and not _agrees(claimed, derived[key]):
            flags.add("total_mismatch")
    return tuple(sorted(flags))


def _agrees(claimed: Value, computed: Fraction) -> bool:
    """Equal to the digits that the judge wrote: 0.33 for 1/3 is no disagreement, 0.34 is."""
    if isinstance(claimed, bool):
        return False
    exponent = Decimal(claimed).as_tuple().exponent
    if not isinstance(exponent, int) or not -50 < Decimal(claimed).adjusted() + 1 < 50 or exponent < -50:
        return False  # no total of a rubric; as a fraction it could have a million digits
    unit = Fraction(10) ** min(exponent, 0)
    slack = unit / 2 if computed.denominator != 1 else Fraction(0)
    return abs(Fraction(claimed) - computed) <= slack


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
