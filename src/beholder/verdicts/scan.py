"""The objects of a reply, and what stands around them; thinking is left out.

Everything between objects is prose, in which quotation marks and lone braces mean nothing. An object that
broke off is remembered: what follows it may still be its inside, and is not trusted then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from beholder.verdicts.keys import QUOTES, Keys
from beholder.verdicts.objects import MEMBER_COST, Object, read_object
from beholder.verdicts.thoughts import MAX_TAGS, TAG_PATTERN, end_of_thought, tag_kind

MAX_COST = 6_000 * MEMBER_COST
"""Members read in one reply, at most: some hundred times what a rubric needs, and a fraction of a second."""

_LANDMARK = re.compile(r"(?P<brace>[{｛](?=\s*+(?:[\"'“”‘’„＂}｝,#…]|[^\W\d]|//|/\*|\.\.\.)))|" + TAG_PATTERN)
_GOES_ON = re.compile(
    rf"\.?[0-9０-９]|\s*+[,，]\s*+(?:\.?[0-9０-９]|[{QUOTES}][^{QUOTES}\n]{{1,200}}+[{QUOTES}]\s*+[:：])"
)
_KEY_BEFORE = re.compile(rf"[{QUOTES}]\s*+[:：][\s\[{{{QUOTES}]*+\Z")


@dataclass(slots=True)
class Found:
    """One outermost object.

    Attributes:
        fragment: It may be a piece of another one: an object broke before it, it is the value of a key whose
            own object lost its opening brace, or it goes on behind its closing brace.
    """

    object: Object
    fragment: bool


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
    return _Scanner(text, keys).run()


class _Scanner:
    """Where the pass over one reply stands.

    Attributes:
        open_brackets: Of objects that broke, less the closing ones that went by since.
        broke: Some object broke, so that names in the prose behind it may be its members.
    """

    def __init__(self, text: str, keys: Keys) -> None:
        self.text = text
        self.keys = keys
        self.pos = 0
        self.cost_left = MAX_COST
        self._start_over()

    def _start_over(self) -> None:
        self.scan = Scan()
        self.open_brackets = 0
        self.broke = False

    def run(self) -> Scan:
        """Go from landmark to landmark until the text ends or the rest cannot be read."""
        tags = 0
        while landmark := _LANDMARK.search(self.text, self.pos):
            if landmark["brace"]:
                goes_on = self._object(landmark)
            else:
                tags += 1
                goes_on = self._tag(landmark)
            if tags > MAX_TAGS or self.cost_left <= 0:
                self.scan.exhausted = True
                goes_on = False
            if not goes_on:
                return self.scan
        self._prose(len(self.text))
        return self.scan

    def _prose(self, end: int) -> None:
        """Note the prose up to `end`."""
        self.scan.prose.append((self.pos, end))
        if self.open_brackets:
            self.open_brackets = max(0, self.open_brackets - self.text.count("}", self.pos, end))
        if self.broke and not self.scan.stray_key:
            # One character earlier: the mark that ended a broken string may have been meant to open a key.
            found = self.keys.stray.search(self.text, max(self.pos - 1, 0), end)
            self.scan.stray_key = found is not None
        self.pos = end

    def _object(self, landmark: re.Match[str]) -> bool:
        """Read an object; whether the pass goes on behind it."""
        start = landmark.start()
        self._prose(start)
        found, self.pos, cost = read_object(self.text, start, self.cost_left)
        self.cost_left -= cost
        fragment = (
            self.open_brackets > 0
            or _KEY_BEFORE.search(self.text, max(0, start - 80), start) is not None
            or (found.state == "complete" and _GOES_ON.match(self.text, self.pos) is not None)
        )
        self.scan.objects.append(Found(found, fragment))
        quoted = "unquoted_key" not in found.repairs or self.text.startswith(tuple(QUOTES), self.pos)
        if found.state == "broken" and (found.members or quoted):
            self.broke = True
            self.open_brackets += found.depth if found.members else 0
        return found.state != "cut"

    def _tag(self, tag: re.Match[str]) -> bool:
        """Leave a thought out; whether the pass goes on behind it."""
        kind = tag_kind(tag)
        if kind is None:
            self._prose(tag.end())
            return True
        family, opens = kind
        if not opens:
            # Its opening tag was swallowed, so everything so far is thought.
            self._start_over()
            self.scan.thought = True
            self.pos = tag.end()
            return True
        self._prose(tag.start())
        self.scan.thought = True
        end = end_of_thought(self.text, tag, family)
        if end is None:
            self.scan.open_thought = True
            self.scan.stray_key |= self.keys.stray.search(self.text, tag.end()) is not None
            return False
        self.pos = end
        return True
