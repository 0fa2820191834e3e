"""What a judge wrote for one criterion -> its value, or the reason why it has none.

One reading or none: nothing is rounded, clamped, rescaled or picked out of words.

| written | on | read as |
| --- | --- | --- |
| `25`, `25.0`, `2.5e1`, `-0.0` | `int`, `float` | the number; zero has no sign |
| `"15"`, `" 15 "`, `１５`, `.71`, `+5` | `int`, `float` | the number, repaired |
| `"25/30"` where 30 is the scale's end (and not 1) | `int`, `float` | 25, repaired |
| `true`, `"TRUE"`, `1`, `"0"` | `bool` | the truth value; all but the first repaired |
| `true` | `int` from 0 to 1 | 1, repaired; on any other scale `out_of_range` |
| `null`, `""`, `[]`, `"n/a"` | any | nothing: `missing_key` |
| `24.5` on `int`; a number off the scale or its steps; `NaN`, `1e999`, `71%`, words | any | `out_of_range` |
| `8-10`, `0,71`, `1/2`, `0 or 20`, `05` and `5.` (a digit or point may be lost) | any | `ambiguous` |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from beholder.records import Criterion, Value
from beholder.verdicts.keys import BLANKS

MAX_NUMBER = 1000
"""Digits of a number and size of its exponent, at most; beyond that no scale is meant."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
_NUMBER = re.compile(r"([+-]?)([0-9]*+)(?:(\.)([0-9]*+))?+(?:[eE]([+-]?[0-9]++))?+")
_SHARE = re.compile(r"([^/]{1,40})/([^/]{1,40})")
_TRUTH = {"true": True, "false": False}
_NOTHING = frozenset({"", "null", "none", "undefined", "nil", "n/a", "na", "-", "--"})
_SEVERAL = re.compile(r"\d[^\d]{1,40}?\d|[/→]|->|,")
_DECIMAL_POINT = re.compile(r"(\d)\.(?=\d)")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, or why there is none.

    Attributes:
        value: None if `reason` is set.
        reason: `missing_key`, `out_of_range` or `ambiguous`.
        text: What was written, to be shown and compared.
        repairs: What was mended to read it.
        placeholder: It is the answer format's blank and not an answer.
    """

    value: Value | None = None
    reason: str | None = None
    text: str = ""
    repairs: tuple[str, ...] = ()
    placeholder: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two readings that say the same."""
        return ("value", self.value) if self.reason is None else (self.reason, self.text)


def read_value(text: str, criterion: Criterion, *, quoted: bool) -> Reading:
    """Read a scalar of an object, or the rest of a line without its marks."""
    plain = plain_forms(text)
    clean = plain.strip(BLANKS)
    shown = clean[:80]
    if clean.casefold() in _NOTHING:
        return Reading(reason="missing_key", text=shown)
    repairs: tuple[str, ...] = () if plain == text else ("full_width",)
    if clean.casefold() in _TRUTH:
        return _from_truth(clean, criterion, repairs, quoted=quoted)
    if quoted:
        repairs += ("quoted_number",)
    number = read_number(clean)
    if isinstance(number, str):
        return Reading(reason=number, text=shown)
    if number is None:
        number = _share_of_maximum(clean, criterion)
        repairs += ("share_of_maximum",)
    if number is None:
        if is_placeholder(clean, criterion):
            undecided = "ambiguous" if _NUMERAL.search(clean) else "missing_key"
            return Reading(reason=undecided, text=shown, placeholder=True)
        several = "%" not in clean and _SEVERAL.search(_DECIMAL_POINT.sub(r"\1", clean[:400]))
        return Reading(reason="ambiguous" if several else "out_of_range", text=shown)
    if clean.startswith("+"):
        repairs += ("plus_sign",)
    if clean.lstrip("+-").startswith("."):
        repairs += ("leading_dot",)
    return on_scale(number, criterion, shown, repairs)


def on_scale(number: Decimal, criterion: Criterion, shown: str, repairs: tuple[str, ...]) -> Reading:
    """The number as the criterion's value, if it is one."""
    outside = Reading(reason="out_of_range", text=shown)
    if not criterion.min <= number <= criterion.max:
        return outside
    if criterion.allowed is not None and number not in criterion.allowed:
        return outside
    if criterion.type == "float":
        return Reading(number, None, shown, repairs)
    if number != number.to_integral_value():
        return outside
    if criterion.type == "int":
        return Reading(int(number), None, shown, repairs)
    if number not in {0, 1}:
        return outside
    return Reading(bool(number), None, shown, (*repairs, "number_for_bool"))


def read_number(clean: str) -> Decimal | str | None:
    """A decimal number; a reason if it is one that cannot be used as it stands; None if it is no number.

    Never a binary float, and never larger than can be computed with: `1e999999999` is `out_of_range`.
    """
    if len(clean) > MAX_NUMBER:
        return "out_of_range" if _NUMBER.fullmatch(clean) else None
    match = _NUMBER.fullmatch(clean)
    if not match or not (match[2] or match[4]):
        return "out_of_range" if clean.lstrip("+-").casefold() in {"nan", "inf", "infinity"} else None
    _, whole, point, fraction, exponent = match.groups(default="")
    if (point and not fraction) or (len(whole) > 1 and whole.startswith("0")):
        return "ambiguous"
    if not (whole + fraction).strip("0"):
        return Decimal(0)
    if abs(int(exponent or "0")) > MAX_NUMBER:
        return "out_of_range"
    number = Decimal(clean)
    # 2E+1 is 20, and is written so from here on.
    return Decimal(int(number)) if exponent and number == number.to_integral_value() else number


def read_claim(text: str) -> Value | None:
    """A member that is no criterion: whole numbers as `int`, others as `Decimal`, truth values; else None."""
    clean = plain_forms(text).strip(BLANKS)
    if clean.casefold() in _TRUTH:
        return _TRUTH[clean.casefold()]
    number = read_number(clean)
    if not isinstance(number, Decimal):
        return None
    return int(number) if number == number.to_integral_value() else number


def plain_forms(text: str) -> str:
    """The text with full-width forms as their ASCII ones, and the minus sign as a hyphen."""
    return text if text.isascii() else text.translate(_FULL_WIDTH)


def _from_truth(clean: str, criterion: Criterion, repairs: tuple[str, ...], *, quoted: bool) -> Reading:
    if quoted:
        repairs += ("quoted_bool",)
    elif not clean.islower():
        repairs += ("python_literals",)
    truth = _TRUTH[clean.casefold()]
    if criterion.type == "bool":
        return Reading(truth, None, clean, repairs)
    if criterion.type == "int" and criterion.min == 0 and criterion.max == 1:
        return on_scale(Decimal(truth), criterion, clean, (*repairs, "bool_for_number"))
    return Reading(reason="out_of_range", text=clean)


def _share_of_maximum(clean: str, criterion: Criterion) -> Decimal | None:
    """25 of `25/30` where 30 is the scale's end. Out of 1 it may as well be the quotient."""
    match = _SHARE.fullmatch(clean)
    if not match or criterion.max <= 1:
        return None
    number, whole = (read_number(part.strip(BLANKS)) for part in match.groups())
    return number if isinstance(number, Decimal) and whole == criterion.max else None


# --- the rest of a line -------------------------------------------------------------------------

_PAIRS = frozenset({"<>", "[]", "()", "{}", '""', "''", "“”"})
_EXPLAINED = re.compile(
    r"([+-]?[0-9.]*[0-9])(?:\s*[(（\[]|\s+[-–—]+\s|\s*[,;，；。]|\.\s|\s*//|\s+#)(.*)", re.DOTALL
)
_SECOND_THOUGHT = re.compile(
    r"[\d→=%/]|->|\b(?:or|zero|half|actually|instead|changed|revised|corrected|rather|wait)\b"
    r"|\b(?:maybe|i mean|make that|sorry|correction)\b|或|또는|または"
)


def read_line_value(rest: str, criterion: Criterion) -> Reading:
    """Read what follows the colon of a line: a value, bare or in marks or set off from its reasons."""
    marked = plain_forms(rest).strip(BLANKS)
    bare = strip_marks(marked, criterion)
    repairs: tuple[str, ...] = () if marked == rest.strip(BLANKS) else ("full_width",)
    whole = read_value(bare, criterion, quoted=False)
    if whole.reason is None:
        repairs += () if bare == marked else ("marks_around_value",)
        return replace(whole, repairs=whole.repairs + repairs)
    if is_placeholder(marked.strip("*_` "), criterion):
        return replace(whole, placeholder=True)
    explained = _EXPLAINED.fullmatch(bare)
    if explained and not _SECOND_THOUGHT.search(explained[2].casefold()):
        value = read_value(explained[1], criterion, quoted=False)
        if value.reason is None:
            return replace(value, repairs=(*value.repairs, *repairs, "explained_value"))
    return whole


def numerals_on_scale(text: str, criterion: Criterion) -> set[Value | None]:
    """The criterion's values that stand somewhere in the text as numerals of their own."""
    numerals = _NUMERAL.findall(text[:MAX_NUMBER])
    readings = [on_scale(Decimal(numeral), criterion, numeral, ()) for numeral in numerals]
    return {reading.value for reading in readings if reading.reason is None}


def strip_marks(text: str, criterion: Criterion) -> str:
    """The text without the Markdown, brackets, quotation marks and full stop around it."""
    text = text.strip(BLANKS).rstrip("|,;").strip(BLANKS)
    if text.endswith(".") and (criterion.type != "float" or "." in text[:-1]):
        text = text[:-1]
    text = text.lstrip("*_` ").rstrip("*_` ")
    for _ in range(3):  # "**<1>**" is as deep as it gets
        if len(text) > 2 and (text[0] + text[-1]) in _PAIRS:
            text = text[1:-1].strip("*_` ")
    return text


# --- the blanks of an answer format -------------------------------------------------------------

_BRACKETED = re.compile(r"[<\[{(].{1,120}[>\]})]", re.DOTALL)
_NAMED_BLANK = re.compile(r"<[^<>]{1,120}>|\{[^{}]{1,120}\}")
_NUMERAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_TYPE_WORD = re.compile(
    r"\b(?:integer|int|number|num|float|decimal|boolean|bool|score|value|digit|entero|entier|nombre|zahl|ganzzahl)\b"
    r"|정수|숫자|실수|점수|整数|整數|数字|数值|分数|小数|得分|布尔值|整数值|数値|点数"
)
_JOINT = re.compile(
    r"\b(?:or|to|and|between|from|a|an|the|of|one|only|either|inclusive|points?|in|o|ou|oder|bis|y|et|und)\b"
    r"|또는|혹은|이나|이하|이상|사이|중|하나|부터|까지|의|점|或者|或|到|至|之间|之間|以内|的|分|または|から|まで|の"
    r"|[\s|/~\-–—,，、:;<>\[\]{}()…*`\"']|\.\.+"
)
_BLANKS_WITHOUT_SCALE = frozenset({"...", "…", "?", "true/false", "true|false", "true or false"})


def is_placeholder(text: str, criterion: Criterion) -> bool:
    """Whether `text` is the blank of an answer format: `<0 or 1>`, `0~30 정수`, `int`; never a bare value.

    Its numbers must all be ends or steps of the criterion's own scale, and nothing else may be said.
    """
    clean = text[:200].strip(BLANKS).casefold()
    if len(text) > 200 or not clean:
        return False
    if clean in _BLANKS_WITHOUT_SCALE:
        return True
    bracketed = _BRACKETED.fullmatch(clean)
    numbers = {Decimal(numeral) for numeral in _NUMERAL.findall(clean)}
    if not numbers.issubset({criterion.min, criterion.max, *(criterion.allowed or ())}):
        return False
    words = _NUMERAL.sub(" ", clean)
    untyped = _TYPE_WORD.sub(" ", words)
    rest = _JOINT.sub("", untyped)
    if not numbers and _NAMED_BLANK.fullmatch(clean):
        return clean[1:-1].strip(BLANKS) not in _TRUTH
    if rest:
        return False
    if untyped != words:
        return len(numbers) != 1
    # A bare `25/30` or `0/1` is how people write a share; three numbers, or brackets, are a list of choices.
    return len(numbers) > 1 and (bool(bracketed) or len(numbers) > 2 or "/" not in clean)
