"""Numbers -> text whose rounding cannot lie.

A printed number never lands on, or beyond, a mark that the number itself does not reach: 99.96 of 100 is
"99.96", a 59.97 that failed at 60 is "59.97", three cents in a thousand calls are not "$0.00". What is
unknown prints as a dash, never as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

DASH = "–"
Number = int | float | Decimal

# Wide enough to hold any finite float written out in full.
_CONTEXT = Context(prec=700, rounding=ROUND_HALF_EVEN)


def exact(value: Number) -> Decimal:
    """`value` as it is written in decimal; a float by its shortest form, so 0.1 is one tenth.

    Raises:
        ValueError: It is not finite.
    """
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise ValueError(f"{value} is no number to print")
    return number


def fixed(value: Number | None, digits: int, *, marks: Iterable[Number] = ()) -> str:
    """`value` with `digits` decimals, or with as many more as keep it on its own side of every mark.

    A number below, at or above a mark prints as below, at or above it.
    """
    if value is None:
        return DASH
    number = exact(value)
    sides = [(mark, _sign(number - mark)) for mark in map(exact, marks)]
    rounded = number
    for places in range(digits, max(digits, _places(number)) + 1):
        rounded = number.quantize(Decimal(1).scaleb(-places), context=_CONTEXT)
        if all(_sign(rounded - mark) == side for mark, side in sides):
            break
    return f"{rounded + 0:f}" if rounded else f"{abs(rounded):f}"


def plain(value: Number | None, digits: int, *, marks: Iterable[Number] = ()) -> str:
    """As `fixed`, but a whole number goes without decimals."""
    if value is None:
        return DASH
    number = exact(value)
    return fixed(number, 0 if number == number.to_integral_value() else digits, marks=marks)


def score(
    value: Number | None,
    digits: int,
    *,
    ends: Sequence[Number] = (),
    pass_at: Number | None = None,
    passed: bool | None = None,
) -> str:
    """A task's score, on the side of `pass_at` that `passed` tells.

    A pass is decided by exact fractions; where the number in the file lost the difference, the text says
    `<60` or `≥60` rather than contradict the verdict.
    """
    if value is None:
        return DASH
    if pass_at is None:
        return plain(value, digits, marks=ends)
    if passed is not None and passed is not (exact(value) >= exact(pass_at)):
        return f"{'≥' if passed else '<'}{plain(pass_at, digits)}"
    return plain(value, digits, marks=(*ends, pass_at))


def interval(pair: Sequence[Number] | None, digits: int, *, ends: Sequence[Number] = ()) -> str:
    """`[low, high]`, with decimals enough that an interval of some width does not look like a point."""
    if pair is None:
        return DASH
    low, high = pair
    for places in range(digits, max(digits, _places(exact(low)), _places(exact(high))) + 1):
        texts = fixed(low, places, marks=ends), fixed(high, places, marks=ends)
        if texts[0] != texts[1] or exact(low) == exact(high):
            break
    return f"[{texts[0]}, {texts[1]}]"


def span(ends: Sequence[Number] | None) -> str:
    """A scale's two ends, `0–100`; empty without a scale."""
    return f"{plain(ends[0], 2)}–{plain(ends[1], 2)}" if ends else ""


def percent(share: Number | None) -> str:
    """A share in [0, 1] as per cent; 0% and 100% are none and all, nothing near them."""
    if share is None:
        return DASH
    return f"{plain(exact(share) * 100, 1, marks=(0, 100))}%"


def percent_interval(pair: Sequence[Number] | None) -> str:
    """`[low%, high%]` of two shares."""
    if pair is None:
        return DASH
    inner = interval([exact(end) * 100 for end in pair], 0, ends=(0, 100))
    return f"{inner[:-1]}%]"


def p_value(p: Number | None) -> str:
    """A p-value with three decimals, below 0.001 as `<0.001`; 0.05 and 1 are these and nothing near them."""
    if p is None:
        return DASH
    return "<0.001" if exact(p) < Decimal("0.001") else fixed(p, 3, marks=(Decimal("0.05"), 1))


def signed(value: Number | None, digits: int) -> str:
    """A difference with its sign; +0.0 and -0.0 are never what is not 0, and 0 has no sign."""
    text = fixed(value, digits, marks=(0,))
    return f"+{text}" if value is not None and value > 0 else text


def detectable(value: Number | None, ends: Sequence[Number] | None) -> str:
    """A smallest difference that could be seen; one that the scale does not have is none at all."""
    if value is not None and ends and exact(value) > exact(ends[1]) - exact(ends[0]):
        return "none on this scale"
    return fixed(value, digits_for(ends), marks=(0,))


def money(usd: Number | None) -> str:
    """US dollars to the cent; a smaller sum with two figures that count; unknown is a dash."""
    if usd is None:
        return DASH
    number = exact(usd)
    cents = Decimal("0.01")
    if not number or abs(number) >= cents:
        return f"${number.quantize(cents, context=_CONTEXT):,f}"
    return f"${number.quantize(Decimal(1).scaleb(number.adjusted() - 1), context=_CONTEXT):f}"


def count(n: int | None) -> str:
    """A count with thousands set apart."""
    return DASH if n is None else f"{n:,}"


def plural(n: int, noun: str, nouns: str | None = None) -> str:
    """`1 task`, `2 tasks`."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def size(n_bytes: int | None) -> str:
    """Bytes in the unit a person would use, 1 kB = 1000 B."""
    if n_bytes is None:
        return DASH
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= factor:
            return f"{fixed(Decimal(n_bytes) / factor, 1)} {unit}"
    return f"{n_bytes} B"


def duration(seconds: Number | None) -> str:
    """`4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds is None:
        return DASH
    if seconds < 60:
        return f"{fixed(seconds, 1, marks=(60,))} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def digits_for(ends: Sequence[Number] | None) -> int:
    """Decimals for a score on this scale: three figures or so, 61.2 of 100, 6.12 of 10, 0.612 of 1."""
    if ends is None:
        return 1
    width = abs(exact(ends[1]) - exact(ends[0]))
    return 1 if width > 10 else 2 if width > 1 else 3


def _places(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _sign(number: Decimal) -> int:
    return (number > 0) - (number < 0)
