"""One budget for a submission's files."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.kinds import Shown
from beholder.evidence.pictures import make_picture
from beholder.evidence.share import cut_pictures, cut_texts
from beholder.records import Picture


def pictures(count: int, *, frames: bool = False) -> tuple[Picture, ...]:
    """That many pictures, which differ in their bytes."""
    made = [make_picture(bytes([at]), "image/png", (1, 1), "a") for at in range(count)]
    return tuple(replace(one, time_s=float(at)) if frames else one for at, one in enumerate(made))


@given(count=st.integers(1, 20), steps=st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_first_pictures_stay(count: int, steps: list[int]) -> None:
    """Cut once or several times, the first pictures stay, in order, and it is said how many."""
    shown = Shown(pictures=pictures(count))
    for step in steps:
        shown = cut_pictures(shown, step, "a")
    least = min([count, *steps])
    assert shown.pictures == pictures(count)[:least]
    if least < count:
        assert shown.warnings[-1].code == "truncated"


def test_frames_keep_their_ends() -> None:
    """Of a video's frames the first and the last stay, and those evenly between; of one, the last."""
    shown = Shown(pictures=pictures(9, frames=True))
    assert [one.time_s for one in cut_pictures(shown, 3, "a").pictures] == [0.0, 4.0, 8.0]
    assert [one.time_s for one in cut_pictures(shown, 1, "a").pictures] == [8.0]
    assert cut_pictures(shown, 9, "a") is shown


def test_texts_share_characters() -> None:
    """A short text stays whole, long ones share the rest, in their order, and each cut is told."""
    texts = [("a.md", "x" * 100), ("b.md", "short"), ("c.md", "y" * 100)]
    kept, warnings = cut_texts(texts, 45, [100, 5, 1_000_000])
    assert [(name, len(text)) for name, text in kept] == [("a.md", 20), ("b.md", 5), ("c.md", 20)]
    assert [(one.source, one.detail) for one in warnings] == [
        ("a.md", "20 of 100 characters are shown"),
        ("c.md", "20 of 1000000 characters are shown"),
    ]
    assert cut_texts(texts, 1000, [100, 5, 100]) == (tuple(texts), ())
