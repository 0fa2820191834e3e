"""Lines of keys in TOML files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.protocols.places import key_lines, line_of

KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True) | st.sampled_from(
    ['"a b"', "'x.y'", '"q\\"uote"', '"\\u00e9"', '"#"', "'[k]'"]
)
SCALARS = st.sampled_from(
    ["1", "-2.5", "true", '"text # no comment"', "'lit]eral'", '"""many\nlines ]\n"""', "'''a\n'b' }'''",
     '"a \\" b"', "1979-05-27", '""', '"""q""""', "0x1F"]
)  # fmt: skip
SPACE = st.sampled_from(["", " ", "  ", "\n", " # note, [x] = 1\n"])


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> str:
    """A TOML value, perhaps over several lines."""
    if depth == 0 or draw(st.booleans()):
        return draw(SCALARS)
    if draw(st.booleans()):
        items = draw(st.lists(values(depth=depth - 1), max_size=3))
        return "[" + ",".join(f"{draw(SPACE)}{item}{draw(SPACE)}" for item in items) + draw(SPACE) + "]"
    keys = draw(st.lists(KEYS, max_size=2, unique=True))
    return "{ " + ", ".join(f"{key} = {draw(values(depth=0))}" for key in keys) + " }"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Pairs, tables, lists of tables, comments and blank lines."""
    lines: list[str] = []
    for header in [
        "",
        *draw(st.lists(st.sampled_from(["[t]", "[[l]]", "[ t.u ]", "[[l]]", "[l.in]"]), max_size=4)),
    ]:
        lines += [header] if header else []
        for key in draw(st.lists(KEYS, max_size=3, unique=True)):
            dotted = draw(st.booleans()) and not header
            lines.append(
                f"{key}{'.z' if dotted else ''} = {draw(values())}{draw(st.sampled_from(['', ' # c']))}"
            )
        lines.append(draw(st.sampled_from(["", "# [no] = table", "\t"])))
    return "\n".join(lines)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every place in a document."""
    found = {path} if path else set()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found |= paths(item, (*path, key))
    return found


@given(documents())
def test_every_key_and_element_of_a_valid_file_has_a_line(text: str) -> None:
    """The places found are exactly those that the TOML library finds."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # a key or a table twice
    lines = key_lines(text)
    assert set(lines) == paths(document)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


def test_lines_are_those_that_a_person_counts() -> None:
    """Of headers, keys, nested tables and elements of lists over several lines."""
    text = '# note\na = 1\n\n[[c]]\nkey = """\nx\n"""\n'
    text += 'bands = [\n  { from = 0 },\n  { from = 1 },\n]\n[[c]]\nkey = "z"\n'
    lines = key_lines(text)
    assert lines["a",] == 2
    assert (lines["c", 0], lines["c", 1]) == (4, 12)
    assert (lines["c", 0, "bands", 1], lines["c", 0, "bands", 1, "from"], lines["c", 1, "key"]) == (
        10,
        10,
        13,
    )


@pytest.mark.parametrize(("path", "line"), [(("c", 1, "max"), 12), (("title",), None), ((), None)])
def test_what_is_not_there_is_placed_where_it_belongs(path: tuple[str | int, ...], line: int | None) -> None:
    """A key that is missing is told at its table; one of the top has no line."""
    text = "# note\na = 1\n\n[[c]]\nkey = 1\n\n\n\n\n\n\n[[c]]\nkey = 2\n"
    assert line_of(path, key_lines(text)) == line
