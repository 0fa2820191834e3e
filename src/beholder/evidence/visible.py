"""What a reader of a text would not see, written out."""

from __future__ import annotations

import re
import unicodedata

_BLANK_SIGNS = "\u034f\u115f\u3164\uffa0\u180b-\u180f\u17b4\u17b5\u2028\u2029"
"""Letters and marks that draw nothing, and separators that no line end is made of."""

_JOINERS = ("\u200c", "\u200d")

_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u070f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\ufe00-\ufe0f"
    "\U000110bd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff{_BLANK_SIGNS}]"
)
"""Everything that may have to be written out; `_is_hidden` decides on what has a use of its own."""


def visible_text(text: str) -> tuple[str, dict[str, int]]:
    r"""(the text with hidden signs written out, how many there were of each).

    Control characters become their pictures (U+241B for escape), since `\x1b` may stand in source code
    as it is; everything else its escape (`\u202e`). Joiners and variation selectors stay where writing needs
    them: in joined emoji, in Arabic and Indic words, after an ideograph. Tabs stay, and every line end
    becomes LF.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found: dict[str, int] = {}

    def shown(match: re.Match[str]) -> str:
        sign = match[0]
        if not _is_hidden(text, match.start(), sign):
            return sign
        name = f"U+{ord(sign):04X}"
        found[name] = found.get(name, 0) + 1
        return _picture(sign)

    return _SUSPECT.sub(shown, text), dict(sorted(found.items()))


def _picture(sign: str) -> str:
    code = ord(sign)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_hidden(text: str, at: int, sign: str) -> bool:
    """Whether a suspect sign does nothing that a reader would see."""
    before = text[at - 1] if at else ""
    if sign in _JOINERS:
        # An emoji may have a selector between itself and the joiner.
        base = text[at - 2 : at - 1] if _is_selector(before) else before
        return not (_takes_joiners(base) and _takes_joiners(text[at + 1 : at + 2]))
    if "\ufe00" <= sign <= "\ufe0f":
        return not before or before.isspace() or before in _JOINERS or _is_selector(before)
    if "\U000e0100" <= sign <= "\U000e01ef":
        return not _is_ideograph(before)
    # Signs such as the Arabic year's or the Syriac abbreviation's are drawn, although they are called format.
    return sign not in "\u070f\U000110bd"


def _takes_joiners(sign: str) -> bool:
    """Letters and marks from Arabic on, and emoji; no Latin, Greek or Cyrillic, and no selector."""
    if sign < "\u0600" or _is_selector(sign):
        return False
    return unicodedata.category(sign)[0] in "LMS"


def _is_selector(sign: str) -> bool:
    return "\ufe00" <= sign <= "\ufe0f" or "\U000e0100" <= sign <= "\U000e01ef"


def _is_ideograph(sign: str) -> bool:
    return (
        "\u3400" <= sign <= "\u9fff" or "\uf900" <= sign <= "\ufaff" or "\U00020000" <= sign <= "\U0003ffff"
    )
