"""Edits in a byte string: all of them, in their places, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.splices import Splices, tag_end, with_attribute, without_attribute


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=5), st.none() | st.binary(max_size=5)), max_size=8),
    st.randoms(),
)
def test_edits(pieces: list[tuple[bytes, bytes | None]], random: object) -> None:
    """Edits noted in any order give what replacing each piece gives."""
    data, expected, at, edits = b"", b"", 0, []
    for piece, with_ in pieces:
        if with_ is not None:
            edits.append((at, at + len(piece), with_))
        data += piece
        expected += piece if with_ is None else with_
        at += len(piece)
    random.shuffle(edits)  # type: ignore[attr-defined]
    splices = Splices()
    for edit in edits:
        splices.replace(*edit)
    assert splices.apply(data) == expected


def test_insertions() -> None:
    """What is inserted at one place comes in the order of noting, before what replaces that place."""
    splices = Splices()
    splices.insert(1, b"1")
    splices.insert(1, b"2")
    splices.replace(1, 2, b"X")
    assert splices.apply(b"abc") == b"a12Xc"


def test_tags() -> None:
    """A tag ends at its own bracket, not at one in a value; an attribute is set or replaced."""
    assert tag_end(b"x<a b=\"1>2\" c='>'/>y", 1) == 19
    assert with_attribute(b'<row r="1" hidden="0">', b"hidden", b"1") == b'<row hidden="1" r="1">'
    assert with_attribute(b"<a/>", b"x", b"y") == b'<a x="y"/>'
    assert without_attribute(b'<a x="1" xy=\'>\' y="2"/>', b"xy") == b'<a x="1" y="2"/>'
    assert without_attribute(b"<a/>", b"x") == b"<a/>"
