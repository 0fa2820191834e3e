"""`evidence.allot`: fair shares of a budget, and where a text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.allot import cut_note, cut_text, fair_shares

WANTS = st.lists(st.integers(min_value=0, max_value=60), max_size=12)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"


@pytest.mark.parametrize(
    ("wants", "budget", "shares"),
    [
        ([], 5, []),
        ([3, 100, 100], 13, [3, 5, 5]),
        ([100, 3, 100], 14, [6, 3, 5]),  # the odd one goes to the first that wants more
        ([1, 1, 1], 2, [1, 1, 0]),
        ([40, 2], 6, [4, 2]),
        ([5, 5], 0, [0, 0]),
        ([5, 5], -3, [0, 0]),
        ([7], 100, [7]),
    ],
)
def test_worked_examples(wants: list[int], budget: int, shares: list[int]) -> None:
    """Small wants are met whole, the rest is even, and a remainder goes to the first in order."""
    assert fair_shares(wants, budget) == shares


def test_a_negative_want_is_misuse() -> None:
    """Nobody wants less than nothing."""
    with pytest.raises(ValueError, match="at least 0"):
        fair_shares([1, -1], 5)


@given(WANTS, st.integers(min_value=-5, max_value=400))
def test_shares_are_fair(wants: list[int], budget: int) -> None:
    """Nobody gets more than it wants, nothing is wasted, and who is short has as much as anyone, but one."""
    shares = fair_shares(wants, budget)
    assert all(0 <= share <= want for share, want in zip(shares, wants, strict=True))
    assert sum(shares) == min(max(0, budget), sum(wants))
    short = [share for share, want in zip(shares, wants, strict=True) if share < want]
    if short:
        assert max(shares) <= min(short) + 1
        # Among those that are short the earlier ones are never worse off.
        assert short == sorted(short, reverse=True)


@given(WANTS, st.integers(min_value=0, max_value=400), st.data())
def test_the_order_moves_a_remainder_only(wants: list[int], budget: int, data: st.DataObject) -> None:
    """In another order each want gets the same share, but for one that a remainder makes."""
    order = data.draw(st.permutations(range(len(wants))))
    before = fair_shares(wants, budget)
    after = fair_shares([wants[at] for at in order], budget)
    assert all(abs(before[at] - share) <= 1 for at, share in zip(order, after, strict=True))


@given(st.text(), st.integers(min_value=0, max_value=80))
def test_a_cut_is_a_prefix_and_adds_up(text: str, chars: int) -> None:
    """What is kept is the text's beginning within the limit, and what is left out is counted exactly."""
    kept, left_out = cut_text(text, chars)
    assert text.startswith(kept)
    assert len(kept) <= chars
    assert len(kept) + left_out == len(text)
    if len(text) <= chars:
        assert left_out == 0


@pytest.mark.parametrize(
    "sign", [FAMILY, FLAG, "e\u0301", "\r\n", "\U0001f44d\U0001f3fd", "\u1100\u1161\u11a8", "न\u0940"]
)
@pytest.mark.parametrize("letters", range(25, 40))
def test_no_sign_is_torn(sign: str, letters: int) -> None:
    """A sign of several code points is shown whole or not at all."""
    kept, _ = cut_text(("x" + sign) * 30, letters)
    rest = kept.replace("x" + sign, "")
    assert rest in {"", "x"}
    assert len(kept) > letters - len(sign) - 1


def test_a_row_of_flags_is_cut_between_two() -> None:
    """Flags are counted in pairs from the first one."""
    assert cut_text(FLAG * 10, 7) == (FLAG * 3, 14)


def test_it_prefers_the_end_of_a_line_then_of_a_word() -> None:
    """Near the limit a line's end wins over a word's, and a word's over none."""
    assert cut_text("a" * 95 + "\nb c d e f g", 100)[0] == "a" * 95 + "\n"
    assert cut_text("a" * 95 + " bcdefghij", 100)[0] == "a" * 95 + " "
    assert cut_text("a" * 200, 100)[0] == "a" * 100
    assert cut_text("a" * 100 + " b", 100)[0] == "a" * 100


def test_little_is_given_up_for_a_line() -> None:
    """A line that ended long before the limit does not shorten the text to it."""
    kept, _ = cut_text("a" * 10 + "\n" + "b" * 200, 100)
    assert len(kept) == 100


@pytest.mark.parametrize("limit", [10, 64, 65, 5000])
def test_a_tower_of_marks_is_cut_all_the_same(limit: int) -> None:
    """One letter below thousands of marks neither empties a text nor makes a cut slow."""
    kept, left_out = cut_text("x" + "\u0301" * 100_000, limit)
    assert len(kept) in {0, limit}
    assert (limit <= 64) == (not kept)
    assert left_out == 100_001 - len(kept)


def test_what_is_said_of_a_cut() -> None:
    """The note tells what is shown and what there is."""
    assert cut_note(12000, 50000) == "12000 of 50000 characters are shown"
