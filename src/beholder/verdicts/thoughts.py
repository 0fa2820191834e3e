"""Thinking that a server left in the answer: where it begins and ends. It is never read for values."""

from __future__ import annotations

import re
from itertools import islice

MAX_TAGS = 10_000
"""Tags looked at in one reply, at most."""

_NAMES = "think|thinking|thought|thoughts|antthinking|reasoning|reflection|analysis|scratchpad"
_SYNONYMS = {"thinking": "think", "thought": "think", "thoughts": "think"}

TAG_PATTERN = (
    # The first look-ahead is for speed alone: most angle brackets are no tag.
    r"<(?=[/ \t]{0,8}+[a-zA-Z])[ \t]{0,4}(?P<close>/?)[ \t]{0,4}(?:\w{1,20}:)?"
    rf"(?P<name>(?i:{_NAMES}))(?:[ \t\n][^<>]{{0,80}})?>"
    r"|\[(?P<close2>/?)(?P<name2>THINK|think)\]"
    r"|◁(?P<close3>/?)(?P<name3>think)▷"
    r"|<\|(?P<edge4>begin|end)_of_(?P<name4>thought)\|>"
    r"|<\|channel\|>\s{0,4}(?P<channel>analysis|commentary|final)"
    r"|<\|(?P<turn>end|start)\|>"
)
"""Of the models we know; the last two lines are the channels of OpenAI's open models."""

TAG = re.compile(TAG_PATTERN)

_Kind = tuple[str, bool]


def tag_kind(tag: re.Match[str]) -> _Kind | None:
    """The tag's family and whether it opens; None for one that says nothing about thinking."""
    if tag["turn"]:
        return None
    if channel := tag["channel"]:
        return "channel", channel != "final"
    name = (tag["name"] or tag["name2"] or tag["name3"] or tag["name4"]).casefold()
    closes = tag["close"] or tag["close2"] or tag["close3"] or tag["edge4"] == "end"
    return _SYNONYMS.get(name, name), not closes


def end_of_thought(text: str, opening: re.Match[str], family: str) -> int | None:
    """Index after the tag that closes the thought, tags of the same family nested; None if none does."""
    depth = 1
    for tag in islice(TAG.finditer(text, opening.end()), MAX_TAGS):
        if family == "channel":
            if tag["turn"] or tag["channel"]:
                return tag.end() if tag["turn"] or tag["channel"] == "final" else tag.start()
            continue
        kind = tag_kind(tag)
        if kind and kind[0] == family:
            depth += 1 if kind[1] else -1
            if depth == 0:
                return tag.end()
    return None
