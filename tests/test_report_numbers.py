"""Printed numbers stay on the right side of every mark, and the unknown is never a 0."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.report import numbers

finite = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


def test_a_number_rounds_half_to_even() -> None:
    """Rounding is the plain decimal one where no mark is near."""
    assert [numbers.fixed(value, 1) for value in (61.25, 61.35, 61.249, -0.04, 0)] == [
        "61.2",
        "61.4",
        "61.2",
        "0.0",
        "0.0",
    ]


@pytest.mark.parametrize(
    ("value", "passed", "text"),
    [
        (59.97, False, "59.97"),
        (59.999, False, "59.999"),
        (60, True, "60"),
        (60.04, True, "60.04"),
        (76.66666666666667, True, "76.7"),
        (99.96, True, "99.96"),
        (100, True, "100"),
        (0.04, False, "0.04"),
        (0, False, "0"),
    ],
)
def test_a_score_never_rounds_onto_the_pass_mark_or_an_end(value: float, passed: bool, text: str) -> None:
    """A failed 59.97 is not "60", and 99.96 is not "100"."""
    assert numbers.score(value, 1, ends=(0, 100), pass_at=60, passed=passed) == text


def test_a_verdict_by_exact_fractions_is_not_contradicted_by_the_binary_number() -> None:
    """Where the file's number lost the difference to the mark, the text still tells the side."""
    assert numbers.score(60.0, 1, pass_at=60, passed=False) == "<60"
    assert numbers.score(59.99999999999999, 1, pass_at=60, passed=True) == "≥60"


def test_the_unknown_is_a_dash() -> None:
    """None prints as a dash everywhere, never as 0."""
    printed = [
        numbers.fixed(None, 1),
        numbers.plain(None, 1),
        numbers.score(None, 1, pass_at=60),
        numbers.interval(None, 1),
        numbers.percent(None),
        numbers.percent_interval(None),
        numbers.money(None),
        numbers.count(None),
        numbers.size(None),
        numbers.duration(None),
    ]
    assert printed == ["–"] * len(printed)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1, "100%"),
        (0.9996, "99.96%"),
        (0.99999, "99.999%"),
        (0, "0%"),
        (0.0004, "0.04%"),
        (0.8, "80%"),
        (2 / 3, "66.7%"),
    ],
)
def test_all_and_none_are_the_only_100_and_0_per_cent(share: float, text: str) -> None:
    """99.96 % is not printed as 100 %."""
    assert numbers.percent(share) == text


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ((49.3, 66.51), "[49.3, 66.5]"),
        ((61.21, 61.24), "[61.21, 61.24]"),
        ((61.2, 61.2), "[61.2, 61.2]"),
        ((0.01, 99.99), "[0.01, 99.99]"),
    ],
)
def test_an_interval_of_some_width_does_not_look_like_a_point(pair: tuple[float, float], text: str) -> None:
    """Decimals are added until the two ends differ."""
    assert numbers.interval(pair, 1, ends=(0, 100)) == text


def test_per_cent_intervals_carry_one_sign() -> None:
    """An interval of shares is written as `[37, 77%]`."""
    assert numbers.percent_interval((0.3666, 0.7666)) == "[37, 77%]"
    assert numbers.percent_interval((0.996, 1)) == "[99.6, 100%]"


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0, "$0.00"), (0.0042, "$0.0042"), (0.00004216, "$0.000042"), (12.5, "$12.50"), (1234.567, "$1,234.57")],
)
def test_a_small_cost_is_not_free(usd: float, text: str) -> None:
    """Only 0 prints as `$0.00`."""
    assert numbers.money(usd) == text


def test_sizes_and_durations_have_units() -> None:
    """Bytes and seconds are written in the unit a person would use."""
    assert [numbers.size(n) for n in (12, 48_211, 1_200_300, 3 * 10**9)] == [
        "12 B",
        "48.2 kB",
        "1.2 MB",
        "3.0 GB",
    ]
    assert [numbers.duration(s) for s in (4.25, 200, 7500)] == ["4.2 s", "3 min 20 s", "2 h 5 min"]
    assert [numbers.plural(n, "task") for n in (0, 1, 1200)] == ["0 tasks", "1 task", "1,200 tasks"]


@pytest.mark.parametrize(
    ("ends", "digits"), [(None, 1), ((0, 100), 1), ((0, 10), 2), ((0, 1), 3), ((-1, 1), 2)]
)
def test_decimals_follow_the_scale(ends: tuple[float, float] | None, digits: int) -> None:
    """A scale from 0 to 1 shows three decimals, one to 100 shows one."""
    assert numbers.digits_for(ends) == digits


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN")])
def test_no_number_is_refused(value: float) -> None:
    """NaN and infinity cannot be printed as a number."""
    with pytest.raises(ValueError, match="no number"):
        numbers.fixed(value, 1)


@given(value=finite, mark=finite, digits=st.integers(0, 3))
def test_a_printed_number_is_on_its_own_side_of_a_mark(value: float, mark: float, digits: int) -> None:
    """Below stays below, at stays at, above stays above; and the text is near the number."""
    text = numbers.fixed(value, digits, marks=[mark])
    exact, printed, at = Decimal(str(value)), Decimal(text), Decimal(str(mark))
    assert (exact > at) - (exact < at) == (printed > at) - (printed < at)
    assert abs(printed - exact) <= Decimal(5).scaleb(-digits - 1)


@given(share=st.floats(0, 1))
def test_a_share_prints_as_0_or_100_only_if_it_is(share: float) -> None:
    """The two ends of per cent are exact."""
    assert (numbers.percent(share) == "100%") == (share == 1)
    assert (Decimal(numbers.percent(share)[:-1]) == 0) == (share == 0)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (None, "–"),
        (1, "1.000"),
        (0.99996, "0.99996"),
        (0.04996, "0.04996"),
        (0.05, "0.050"),
        (0.0500001, "0.0500001"),
        (0.2187, "0.219"),
        (0.001, "0.001"),
        (0.00099, "<0.001"),
        (1e-300, "<0.001"),
    ],
)
def test_a_p_value_is_on_its_side_of_a_twentieth_and_never_0(p: float | None, text: str) -> None:
    """Nor is one that is not 1 printed as 1."""
    assert numbers.p_value(p) == text


@given(st.floats(1e-300, 1))
def test_p_values_print_below_or_above_a_twentieth_as_they_are(p: float) -> None:
    """What is read agrees with what was found."""
    text = numbers.p_value(p)
    shown = Decimal(text.lstrip("<"))
    assert (shown < Decimal("0.05")) == (Decimal(str(p)) < Decimal("0.05"))
    assert (shown == 1) == (p == 1)
    assert shown > 0


@given(st.floats(-100, 100, allow_subnormal=False), st.integers(0, 2))
def test_a_difference_has_the_sign_it_has(value: float, digits: int) -> None:
    """Plus, minus or nothing; what prints as 0 is 0."""
    text = numbers.signed(value, digits)
    assert text.startswith("+") == (value > 0)
    assert text.startswith("-") == (value < 0)
    assert (Decimal(text) == 0) == (value == 0)


def test_a_minute_is_not_reached_by_rounding() -> None:
    """59.96 s is less than 60 s."""
    assert numbers.duration(59.96) == "59.96 s"
