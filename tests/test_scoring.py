"""Exact scores."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.protocols import load_protocol, parse_criteria, parse_score
from beholder.records import Formula, Repeats, ScoreNode, Verdict
from beholder.replies import score_replies
from beholder.scoring import RepeatScore, evaluate, number, reduce_repeats, score_range, score_verdict

GIS = load_protocol("gis-bench")
WEB = load_protocol("web-page")
GIS_BEST = (20, 30, 30, 20, 15, 5, 10)


def gis_verdict(*values: int, **claims: object) -> Verdict:
    keys = [criterion.key for criterion in GIS.criteria]
    return Verdict(scores=dict(zip(keys, values, strict=True)), claims=claims)  # type: ignore[arg-type]


def repeat(main: Fraction | int) -> RepeatScore:
    return RepeatScore(scores={}, derived={"main": Fraction(main)}, passed=None)


def reduced(values: list[int | None], rule: Repeats) -> object:
    repeats = [None if value is None else repeat(value) for value in values]
    return reduce_repeats(repeats, rule, Formula(nodes={}), n_requested=len(values)).main


def test_the_gis_formula_is_the_sum_of_seven_over_130_rounded_half_to_even() -> None:
    """20 + 28 + 15 + 5 + 10 = 78 of 130 is exactly 60; 79 is 60.77, which rounds to 61."""
    assert score_verdict(gis_verdict(20, 28, 0, 0, 15, 5, 10), GIS.criteria, GIS.score).main == 60
    assert score_verdict(gis_verdict(20, 29, 0, 0, 15, 5, 10), GIS.criteria, GIS.score).main == 61
    assert score_range(GIS.score, GIS.criteria) == (0, 100)
    assert score_verdict(gis_verdict(*GIS_BEST), GIS.criteria, GIS.score).derived["total_raw"] == 130


def test_rounding_half_goes_to_the_even_number_or_up_as_the_formula_says() -> None:
    """59.5 is 60 either way; 60.5 is 60 half-even and 61 half-up."""
    for raw, even, up in ((119, 60, 60), (121, 60, 61)):
        for rule, expected in (("half-even", even), ("half-up", up)):
            node = ScoreNode(
                scale="q",
                from_=(Decimal(0), Decimal(200)),
                to=(Decimal(0), Decimal(100)),
                round=rule,  # type: ignore[arg-type]
            )
            formula = Formula(nodes={"main": node})
            criteria = parse_criteria([{"key": "q", "min": 0, "max": 200}], "test")
            assert evaluate(formula, {"q": Fraction(raw)}, criteria)["main"] == expected


def test_a_pass_needs_the_unrounded_mean() -> None:
    """59.75 does not pass at 60, although it would round to it."""
    scores = [
        score_verdict(gis_verdict(20, value, 0, 0, 15, 5, 10), GIS.criteria, GIS.score)
        for value in (29, 28, 27, 27)
    ]
    result = reduce_repeats(scores, GIS.repeats, GIS.score, n_requested=4)
    assert result.main == Fraction(239, 4)
    assert result.passed is False


def test_the_web_formula_is_no_flat_mean_of_seven() -> None:
    """Five ones and two zeros: (1 + 0 + 0) / 3."""
    values = dict.fromkeys([c.key for c in WEB.criteria], Decimal(1))
    values |= {"query_fulfillment": Decimal(0), "premium_assets": Decimal(0)}
    score = score_verdict(Verdict(scores=values), WEB.criteria, WEB.score)
    assert score.main == Fraction(1, 3)
    assert score.derived["visual"] == 1


def test_decimals_are_never_binary_floats() -> None:
    """Three times 0.6 is exactly 0.6 on average, so it passes at 0.6."""
    reply = json.dumps({c.key: 0.6 for c in WEB.criteria} | {"reason": "r"})
    assert score_replies([reply] * 3, WEB, pass_at=Decimal("0.6"))["pass"] is True


def test_weighted_scales_each_name_by_its_own_range() -> None:
    """(2 (3 - 1)/(5 - 1) + 1 (10 - 0)/(10 - 0)) / 3 = 2/3."""
    criteria = parse_criteria([{"key": "a", "min": 1, "max": 5}, {"key": "b", "min": 0, "max": 10}], "test")
    formula = parse_score({"main": {"weighted": {"a": 2, "b": 1}}}, criteria, "test")
    assert evaluate(formula, {"a": Fraction(3), "b": Fraction(10)}, criteria)["main"] == Fraction(2, 3)
    assert score_range(formula, criteria) == (0, 1)


def test_a_falling_scale_has_its_range_the_right_way_round() -> None:
    """A penalty of 0 to 4 that maps onto 1 to 0 is worth 0 at the least."""
    criteria = parse_criteria([{"key": "faults", "min": 0, "max": 4}], "test")
    formula = parse_score({"main": {"scale": "faults", "from": [0, 4], "to": [1, 0]}}, criteria, "test")
    assert score_range(formula, criteria) == (0, 1)
    assert evaluate(formula, {"faults": Fraction(1)}, criteria)["main"] == Fraction(3, 4)


def test_a_majority_is_more_than_half_of_the_repeats_asked_for() -> None:
    """Two equal of three asked for are one, whatever the third is; one of two is none."""
    rule = Repeats(n=3, reduce="majority")
    assert reduced([1, 1, None], rule) == 1
    assert reduced([1, 0, None], rule) is None
    assert reduced([1, 1, 0, 0], rule) is None
    assert reduced([0, 1, 1], rule) == 1


def test_fewer_scored_repeats_than_the_minimum_leave_the_task_unscored() -> None:
    """One of three is not enough where two are the minimum."""
    assert reduced([50, None, None], Repeats(n=3, min_scored=2)) is None
    assert reduced([50, 60, None], Repeats(n=3, min_scored=2)) == 55


def test_nothing_scored_is_no_number() -> None:
    """All repeats unscored: no mean, no criterion, no pass."""
    result = reduce_repeats([None, None], Repeats(n=2), GIS.score, n_requested=2)
    assert (result.main, result.passed, dict(result.scores), result.n_scored) == (None, None, {}, 0)


@pytest.mark.parametrize(
    ("claims", "flags"),
    [
        ({"total_raw": 130, "total_normalized": 100, "pass": True}, ()),
        ({"total_raw": 131}, ("total_mismatch",)),
        ({"pass": False}, ("pass_mismatch",)),
        ({"bonus": 5}, ("extra_keys",)),
        ({"total_raw": None, "pass": None}, ()),
        ({"total_raw": Decimal("1E+999999")}, ("total_mismatch",)),
    ],
)
def test_the_judges_own_totals_are_compared_and_never_believed(
    claims: dict[str, object], flags: tuple[str, ...]
) -> None:
    """The score stays the recomputed one, whatever the reply claims."""
    score = score_verdict(gis_verdict(*GIS_BEST, **claims), GIS.criteria, GIS.score)
    assert score.main == 100
    assert score.flags == flags


def test_a_claim_rounded_by_the_judge_is_no_mismatch() -> None:
    """0.33 is 1/3 to two digits; 0.34 is not."""
    criteria = parse_criteria([{"key": k, "max": 1, "type": "float"} for k in "abc"], "test")
    formula = parse_score({"total": {"mean": ["a", "b", "c"]}, "main": {"mean": ["total"]}}, criteria, "test")
    for claim, flags in ((Decimal("0.33"), ()), (Decimal("0.34"), ("total_mismatch",))):
        verdict = Verdict(scores={"a": 1, "b": 0, "c": 0}, claims={"total": claim})
        assert score_verdict(verdict, criteria, formula).flags == flags


@given(st.lists(st.decimals(0, 1, places=3), min_size=2, max_size=5))
def test_the_order_of_repeats_does_not_matter_to_the_last_bit(values: list[Decimal]) -> None:
    """Every order of the same values gives the same JSON number."""
    rule = Repeats(n=len(values))
    means = {
        number(
            reduce_repeats([repeat(Fraction(v)) for v in order], rule, GIS.score, n_requested=len(order)).main
        )
        for order in itertools.islice(itertools.permutations(values), 24)
    }
    assert len(means) == 1


@given(st.lists(st.integers(0, 20), min_size=7, max_size=7))
def test_every_score_lies_within_the_range_of_its_formula(values: list[int]) -> None:
    """What any verdict gives is between the formula's least and greatest value."""
    low, high = score_range(GIS.score, GIS.criteria)
    clipped = [min(value, int(c.max)) for value, c in zip(values, GIS.criteria, strict=True)]
    assert low <= score_verdict(gis_verdict(*clipped), GIS.criteria, GIS.score).main <= high


def test_the_handed_cases_of_repeats(shared: Path) -> None:
    """Each handed list of replies gives the expected result, or its stated alternative."""
    cases = json.loads((shared / "cases/aggregate/score-replies.json").read_text("utf-8"))
    assert cases
    for case in cases:
        protocol = GIS if case["protocol"] == "gis" else WEB
        mark = Decimal(str(case["threshold"])) if "threshold" in case else None
        result = score_replies(case["replies"], protocol, pass_at=mark)
        flat = {**result["criteria"], **result["derived"], **result}
        problems = differences(case["expect"], flat)
        if problems and "expect_alt" in case:
            problems = differences(case["expect_alt"], flat)
        assert not problems, (case["id"], problems)


def differences(expect: dict[str, object], result: dict[str, object]) -> list[str]:
    found = []
    for key, value in expect.items():
        if key == "must_not":
            found += [f"{k} is {v}" for k, v in value.items() if result.get(k) == v]  # type: ignore[attr-defined]
        elif key == "flags":
            found += [f"no flag {flag}" for flag in value if flag not in result["flags"]]  # type: ignore[attr-defined, operator]
        elif key != "note" and result.get(key, "absent") != (
            pytest.approx(value, abs=1e-6) if isinstance(value, float) else value
        ):
            found.append(f"{key}: {result.get(key)!r} instead of {value!r}")
    return found
