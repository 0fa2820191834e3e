"""Hidden signs of a text are written out, and what writing needs is left alone."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.visible import visible_text


def test_what_writing_needs_stays() -> None:
    """Joiners in emoji and in Persian, and selectors after what they select, are left alone."""
    for text in ("👩‍💻", "می‌خواهم", "❤️", "☎︎", "क्‍ष", "葛\U000e0100"):
        assert visible_text(text) == (text, {})


def test_joiners_and_selectors_that_hide() -> None:
    """Between Latin letters a joiner draws nothing; a row of selectors is a hidden message."""
    assert visible_text("pass\u200dword\u200c") == ("pass\\u200dword\\u200c", {"U+200C": 1, "U+200D": 1})
    text, found = visible_text("😀" + "\U000e0101\U000e0102" + "\ufe0f\ufe01")
    assert "\U000e0102" not in text
    assert "\ufe01" not in text
    assert sum(found.values()) >= 3


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        ("\0", "\u2400"),
        ("\x1b", "\u241b"),
        ("\x7f", "\u2421"),
        ("\x9b", "\\u009b"),
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\u200b", "\\u200b"),
        ("\ufeff", "\\ufeff"),
        ("\xad", "\\u00ad"),
        ("\u2028", "\\u2028"),
        ("\u3164", "\\u3164"),
        ("\uffff", "\\uffff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_each_becomes(sign: str, shown: str) -> None:
    """A control character has a picture, everything else that hides an escape that Python would read."""
    assert visible_text(f"a{sign}b") == (f"a{shown}b", {f"U+{ord(sign):04X}": 1})


def test_a_text_of_nothing_else_is_quick() -> None:
    """Two hundred thousand hidden signs take no more than so many steps."""
    began = time.process_time()
    text, found = visible_text("\u200d\ufe0f" * 100_000)
    assert time.process_time() - began < 120
    assert found == {"U+200D": 100_000, "U+FE0F": 100_000}
    assert text.isascii()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_nothing_invisible_is_left(text: str) -> None:
    """After it no control character is left, and nothing but suspects has been touched."""
    shown, found = visible_text(text)
    assert not [sign for sign in shown if unicodedata.category(sign) == "Cc" and sign not in "\n\t"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff\xad")
    if not found:
        assert shown == text.replace("\r\n", "\n").replace("\r", "\n")
