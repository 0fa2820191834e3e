"""Which frames stand for a moving picture, and how it is said."""

from __future__ import annotations

from collections.abc import Sequence

MAX_FRAMES = 16
"""Frames of one video or animation.

One every second or two of a short clip; a judge pays for each as for a page, and gets no further by more.
"""


def spread(count: int, most: int) -> tuple[int, ...]:
    """At most `most` of the numbers below `count`, evenly: the first and the last, and between them.

    With `most` = 1 it is the last: what a clip comes to is at its end. Rising, without repeats; empty where
    there is nothing to choose from.
    """
    if count <= 0 or most <= 0:
        return ()
    if most == 1:
        return (count - 1,)
    steps = min(count, most) - 1
    if not steps:
        return (0,)
    # Rounded to the nearest in whole numbers, so that no machine's floats decide.
    return tuple((2 * at * (count - 1) + steps) // (2 * steps) for at in range(steps + 1))


def sampled_words(shown: Sequence[float], in_all: str) -> str:
    """What is said of frames at `shown` seconds, of `in_all`, such as `215 frames`."""
    number = f"{len(shown)} of {in_all} {'is' if len(shown) == 1 else 'are'} shown"
    return f"{number}, at {', '.join(f'{second:.2f}' for second in shown)} s"
