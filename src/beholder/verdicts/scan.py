"""The objects of a reply, and what stands around them; thinking is left out.

Everything between objects is prose, in which quotation marks and lone braces mean nothing. An object that
broke off is remembered: what follows it may still be its inside, and is not trusted then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from beholder.verdicts.keys import Keys
from beholder.verdicts.objects import Object, read_object
from beholder.verdicts.thoughts import TAG_PATTERN, end_of_thought, tag_kind

MAX_MEMBERS = 100_000
"""Members read in one reply, at most: some thousand times what a rubric needs, and a fraction of a second."""

_LANDMARK = re.compile(
    r"(?P<brace>[{｛](?=\s*+(?:[\"'“”‘’„＂}｝,#…]|[^\W\d]|//|/\*|\.\.\.)))|" + TAG_PATTERN, re.IGNORECASE
)


@dataclass(slots=True)
class Found:
    """One outermost object.

    Attributes:
        enclosed: It may lie within an object that broke before it.
    """

    object: Object
    enclosed: bool


@dataclass(slots=True)
class Scan:
    """What was found in a reply.

    Attributes:
        objects: In order; thoughts have none.
        thought: Thinking was left out.
        open_thought: Thinking began and did not end.
        stray_key: After an object that broke, a criterion's name with its colon stands in no object.
        exhausted: The reply holds more members than are read.
        prose: Ranges outside of objects and thoughts, in order.
    """

    objects: list[Found] = field(default_factory=list)
    thought: bool = False
    open_thought: bool = False
    stray_key: bool = False
    exhausted: bool = False
    prose: list[tuple[int, int]] = field(default_factory=list)


def scan_reply(text: str, keys: Keys) -> Scan:
    """Find the outermost objects of a reply in one pass."""
    scan = Scan()
    pos = 0
    left = MAX_MEMBERS
    open_brackets = 0  # of objects that broke, until as many closing ones went by
    broke = False

    def skip_prose(end: int) -> None:
        nonlocal open_brackets
        scan.prose.append((pos, end))
        if open_brackets:
            open_brackets = max(0, open_brackets - text.count("}", pos, end))
        if broke and not scan.stray_key:
            # One character earlier: the mark that ended a broken string may have been meant to open a key.
            scan.stray_key = keys.stray.search(text, max(pos - 1, 0), end) is not None

    while landmark := _LANDMARK.search(text, pos):
        if not landmark["brace"]:
            kind = tag_kind(landmark)
            if kind is None:
                skip_prose(landmark.end())
                pos = landmark.end()
                continue
            family, opens = kind
            scan.thought = True
            if not opens:  # its opening tag was swallowed: everything so far is thought
                scan = Scan(thought=True)
                pos, open_brackets, broke = landmark.end(), 0, False
                continue
            skip_prose(landmark.start())
            end = end_of_thought(text, landmark, family)
            if end is None:
                scan.open_thought = True
                scan.stray_key = scan.stray_key or keys.stray.search(text, landmark.end()) is not None
                return scan
            pos = end
            continue
        skip_prose(landmark.start())
        found, pos, count = read_object(text, landmark.start(), left)
        left -= count
        scan.objects.append(Found(found, enclosed=open_brackets > 0))
        if left <= 0:
            scan.exhausted = True
            return scan
        if found.state == "cut":
            return scan
        if found.state == "broken" and (found.members or "unquoted_key" not in found.repairs):
            broke = True
            open_brackets += found.depth if found.members else 0
    skip_prose(len(text))
    return scan
