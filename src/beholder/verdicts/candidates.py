"""The objects of a reply that speak of criteria, and what each says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from beholder.records import Criterion
from beholder.verdicts.keys import Keys, fold_key
from beholder.verdicts.objects import Array, Member, Node, Object, Scalar
from beholder.verdicts.replies import Question
from beholder.verdicts.scan import Found, Scan
from beholder.verdicts.values import Reading, read_value

WRAPPERS = frozenset(
    {"answer", "arguments", "assessment", "evaluation", "grade", "grades", "judgement", "judgment", "output"}
    | {"rating", "ratings", "response", "result", "results", "score", "scores", "scoring", "verdict"}
)
"""Names under which a whole verdict is taken one level down; under any other it may be someone else's."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that speaks of criteria.

    Attributes:
        root: The outermost object around it; itself, mostly.
        readings: Per criterion named in it.
        ended: The criteria whose value is followed by a comma or bracket everywhere.
        repairs: How keys had to be mended.
        wrapped: It is the inside of another object.
        trusted: It is not wrapped, or wrapped once and under one of `WRAPPERS`.
        fragment: It may be a piece of an object that could not be read.
    """

    object: Object
    root: Object
    readings: dict[str, Reading]
    ended: frozenset[str]
    repairs: tuple[str, ...]
    wrapped: bool
    trusted: bool
    fragment: bool

    @property
    def has_blanks(self) -> bool:
        """Whether something of the answer format was left standing."""
        return any(reading.placeholder for reading in self.readings.values())

    @property
    def is_template(self) -> bool:
        """Whether it gives not one value, only blanks to be filled in."""
        empty = all(r.placeholder or r.reason == "missing_key" for r in self.readings.values())
        return self.has_blanks and empty and self.root.state != "cut"


def find_candidates(scan: Scan, question: Question) -> list[Candidate]:
    """Every object of the reply that speaks of criteria, in order."""
    criteria = {criterion.key: criterion for criterion in question.criteria}
    found = (
        (_candidate(one, holder, place, question.keys, criteria), place)
        for one in scan.objects
        for holder, place in _holders(one.object, question.keys)
    )
    # Beside a verdict, words on each criterion are no second one.
    return [
        candidate
        for candidate, place in found
        if not place.beside or any(reading.value is not None for reading in candidate.readings.values())
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in an outermost object a holder of criteria was found; `beside`: that object is one, too."""

    wrapped: bool
    trusted: bool
    beside: bool = False


def _holders(root: Object, keys: Keys) -> Iterator[tuple[Object, _Place]]:
    """The objects that name a criterion: `root`, or else the outermost such ones inside it.

    With `root` also those in it where a whole verdict would be taken from: they must say the same.
    """
    pending: list[tuple[Node, _Place]] = [(root, _Place(wrapped=False, trusted=True))]
    while pending:
        node, place = pending.pop()
        if isinstance(node, Scalar):
            continue
        inside = _Place(wrapped=True, trusted=False)
        if isinstance(node, Array):
            pending.extend((item, inside) for item in reversed(node.items))
        elif _names_criterion(node, keys):
            yield node, place
            if node is root:
                yield from _beside(root, keys)
        else:
            for member in reversed(node.members):
                trusted = node is root and fold_key(member.key) in WRAPPERS
                pending.append((member.value, _Place(wrapped=True, trusted=True) if trusted else inside))


def _beside(root: Object, keys: Keys) -> Iterator[tuple[Object, _Place]]:
    for member in root.members:
        named = fold_key(member.key) in WRAPPERS and keys.match(member.key) is None
        if named and isinstance(member.value, Object) and _names_criterion(member.value, keys):
            yield member.value, _Place(wrapped=True, trusted=True, beside=True)


def _names_criterion(node: Object, keys: Keys) -> bool:
    if any(keys.match(member.key) for member in node.members):
        return True
    if node.pending is None:
        return False
    return keys.match(node.pending) is not None or (node.state == "cut" and keys.may_begin(node.pending))


def _candidate(
    found: Found, holder: Object, place: _Place, keys: Keys, criteria: dict[str, Criterion]
) -> Candidate:
    named: dict[str, list[Member]] = {}
    repairs: list[str] = []
    for member in holder.members:
        name = keys.match(member.key)
        if name is None:
            continue
        named.setdefault(name, []).append(member)
        if member.key != name:
            repairs.append("key_form")
    return Candidate(
        object=holder,
        root=found.object,
        readings={name: _read_members(members, criteria[name]) for name, members in named.items()},
        ended=frozenset(name for name, members in named.items() if all(member.ended for member in members)),
        repairs=tuple(repairs),
        wrapped=place.wrapped,
        trusted=place.trusted,
        fragment=found.fragment,
    )


def _read_members(members: list[Member], criterion: Criterion) -> Reading:
    """What all members of one name say; `ambiguous` if they differ."""
    readings = [_read_node(member.value, criterion) for member in members]
    if len({reading.identity for reading in readings}) > 1:
        said = ", ".join(reading.text for reading in readings[:3])
        return Reading(reason="ambiguous", text=f"given more than once: {said}")
    return readings[0]


def _read_node(node: Node, criterion: Criterion) -> Reading:
    if isinstance(node, Scalar):
        return read_value(node.text, criterion, quoted=node.quoted)
    if isinstance(node, Array):
        reason = "out_of_range" if node.items else "missing_key"
        return Reading(reason=reason, text="a list")
    # A JSON schema repeated as it was given: {"exists": {"type": "integer", "minimum": 0}}.
    schema = any(member.key == "type" and isinstance(member.value, Scalar) for member in node.members)
    empty = schema or not node.members
    return Reading(reason="missing_key" if empty else "out_of_range", text="an object", placeholder=schema)
