"""Sharing one budget between several files, and cutting a text where its share ends. Pure functions."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_LOOK_BACK = 200
"""Characters given up at most, and never more than a tenth of the share, so that a cut text ends with a
line or a word."""

_MARKS_AT_MOST = 64
"""A cut steps back over this many signs that belong to the one before. A longer stack of marks is no writing
and is cut wherever the share ends, so that no text can make a cut slow or empty."""

_ZWJ = "\u200d"
_JOINS_BEFORE = frozenset((_ZWJ, "\u200c", "\ufe0e", "\ufe0f", "\u20e3"))


def fair_shares(wants: Sequence[int], budget: int) -> list[int]:
    """How much of a budget each gets: nobody more than it wants, otherwise as even as whole numbers allow.

    Small wants are met whole and what they leave goes to the others; a remainder goes one each to the first
    in order. The same wants in the same order give the same shares.

    Args:
        wants: Pictures, pages or characters, each at least 0.
        budget: What there is; below 0 counts as 0.

    Returns:
        One share a want, in the order of the wants; in all the lesser of budget and wants.

    Source: max-min fairness ("water filling"), Bertsekas and Gallager, Data Networks, section 6.5.2.
    """
    if any(want < 0 for want in wants):
        raise ValueError("a want is at least 0")
    shares = [0] * len(wants)
    left = max(0, budget)
    waiting = sorted(range(len(wants)), key=lambda at: wants[at])
    while waiting and wants[waiting[0]] <= left // len(waiting):
        at = waiting.pop(0)
        shares[at] = wants[at]
        left -= wants[at]
    if waiting:
        # Each of these wants more than an even share, so at least one more: the remainder finds takers.
        even, remainder = divmod(left, len(waiting))
        for place, at in enumerate(sorted(waiting)):
            shares[at] = even + (place < remainder)
    return shares


def cut_text(text: str, chars: int) -> tuple[str, int]:
    """The beginning of a text, at most `chars` characters, and how many characters are left out.

    The cut falls after a line, else after a word, if one ends near the limit; never within a sign that is
    written with several code points (marks, joined emoji, flags, syllables, CR LF, surrogates), as long as
    the sign has fewer than 64 of them.

    Returns:
        (text, left out): the text is a prefix of what was given; both lengths add up to its length.
    """
    if chars < 0:
        raise ValueError("characters to keep are at least 0")
    if len(text) <= chars:
        return text, 0
    end = _word_end(text, chars)
    return text[:end], len(text) - end


def cut_note(shown: int, in_all: int) -> str:
    """What is said of a cut text, in words that stand outside of the quoted text itself."""
    return f"{shown} of {in_all} characters are shown"


def _word_end(text: str, limit: int) -> int:
    """Where to cut at or before the limit; after a line's or a word's end if one is near."""
    least = limit - min(_LOOK_BACK, limit // 10)
    line = text.rfind("\n", least, limit)
    if line >= 0 and not _belongs_to_the_one_before(text, line + 1):
        return line + 1
    if text[limit].isspace() and not _belongs_to_the_one_before(text, limit):
        return limit
    for at in range(limit, least, -1):
        # A mark may sit on the space itself.
        if text[at - 1].isspace() and not _belongs_to_the_one_before(text, at):
            return at
    return _sign_end(text, limit)


def _sign_end(text: str, limit: int) -> int:
    """The last place at or before the limit where a sign begins."""
    for at in range(limit, max(0, limit - _MARKS_AT_MOST), -1):
        if not _belongs_to_the_one_before(text, at):
            return at
    return 0 if limit <= _MARKS_AT_MOST else limit


def _belongs_to_the_one_before(text: str, at: int) -> bool:
    """Whether the character at a place continues the sign before it.

    The rules of Unicode's UAX 29 that matter for what people write: CR LF, marks, joiners, skin tones, tags,
    flags (pairs of regional letters, counted from the first of the row), Hangul syllables of single letters.
    """
    if not 0 < at < len(text):
        return False
    before, sign = text[at - 1], text[at]
    code = ord(sign)
    if sign in _JOINS_BEFORE or before == _ZWJ:
        return True
    if before == "\r":
        return sign == "\n"
    if 0xDC00 <= code <= 0xDFFF:
        return 0xD800 <= ord(before) <= 0xDBFF
    if 0x1F1E6 <= code <= 0x1F1FF:
        return _regional_before(text, at) % 2 == 1
    if 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:
        return True
    if 0x1160 <= code <= 0x11FF:  # vowels and final consonants; a leading one begins a syllable
        return 0x1100 <= ord(before) <= 0x11FF or 0xAC00 <= ord(before) <= 0xD7A3
    return unicodedata.category(sign) in {"Mn", "Me", "Mc"}


def _regional_before(text: str, at: int) -> int:
    count = 0
    while count < _MARKS_AT_MOST and at > count and 0x1F1E6 <= ord(text[at - count - 1]) <= 0x1F1FF:
        count += 1
    return count
