"""The shape of a protocol file: what is no key, no number, no list; and the parts that have theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import TypeAdapter, ValidationError

from beholder.protocols.finding import Finding
from beholder.protocols.places import Place
from beholder.protocols.schema import FileCriterion, FileNode, keys_of
from beholder.records import Criterion, ScoreNode

_CRITERION: TypeAdapter[Criterion] = TypeAdapter(FileCriterion)
_NODE: TypeAdapter[ScoreNode] = TypeAdapter(FileNode)
_FIXES = {
    "decimal_parsing": "write a number, such as 10",
    "decimal_type": "write a number, such as 10",
    "int_parsing": "write a whole number, such as 3",
    "int_from_float": "write a whole number, such as 3",
    "int_type": "write a whole number, such as 3",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "string_type": 'write a text in quotation marks, such as "…"',
    "tuple_type": "write a list in brackets, such as [1, 2]",
    "dict_type": "write a table, such as { name = 1 }",
    "dataclass_type": "write a table, such as { key = … }",
    "model_type": "write a table, such as { key = … }",
    "model_attributes_type": "write a table, such as { key = … }",
}


def shape_findings(error: ValidationError, raw: Mapping[str, Any]) -> Iterator[Finding]:
    """What is wrong with the shape of a whole file."""
    for item in error.errors():
        # A table in [score] is tried as a node and as the number of pass_at; only one is meant.
        if item["loc"][0] == "score" and len(item["loc"]) > 1:
            value = raw["score"].get(item["loc"][1]) if isinstance(raw.get("score"), Mapping) else None
            if isinstance(value, Mapping) == (item["loc"][-1] == "decimal"):
                continue
        yield shape_finding(item)


def shape_finding(item: Any, prefix: Place = ()) -> Finding:
    """One of pydantic's findings, in the file's words."""
    spelled = {"schema_version": "schema", "start": "from", "from_": "from"}
    skipped = {"ScoreNode", "decimal", "function-before[rename(), ScoreNode]"}
    path = (
        *prefix,
        *(
            part if isinstance(part, int) else spelled.get(part, part)
            for part in item["loc"]
            if part not in skipped
        ),
    )
    kind = item["type"]
    if kind in {"unexpected_keyword_argument", "extra_forbidden"}:
        return Finding(path=path, message=_unknown_key(path))
    if kind in {"missing", "missing_argument", "missing_keyword_only_argument"}:
        return Finding(path=path, message="is missing; add it", follows=True)
    if kind == "string_pattern_mismatch":
        fix = (
            'write lower-case letters, digits and hyphens, a slash and a number, such as "my-review/1"'
            if path == ("id",)
            else "write 64 hexadecimal digits in lower case"
        )
        return Finding(path=path, message=f"{item['input']!r} has another form; {fix}")
    if path == ("criteria",) and kind == "tuple_type":
        return Finding(
            path=path, message="is no list; begin each criterion with [[criteria]], in two brackets"
        )
    message = f"{item['msg'][0].lower()}{item['msg'][1:]}"
    if kind in {"dataclass_type", "model_type", "model_attributes_type"}:
        message = "is no table"
    fix = _FIXES.get(kind, "")
    return Finding(path=path, message=f"{message}; {fix}" if fix else message)


def _unknown_key(path: Place) -> str:
    known = keys_of(path[:-1])
    near = get_close_matches(str(path[-1]), known, n=1)
    if near:
        return f"no such key; did you mean {near[0]}?"
    return f"no such key; remove it, for the keys here are {', '.join(known)}" if known else "no such key"


# --- parts that have their shape ------------------------------------------------------------------


def good_criteria(raw: Any) -> list[tuple[int, Criterion]]:
    """(position, criterion) of those that have the shape of one."""
    found = []
    for at, item in enumerate(raw if isinstance(raw, list | tuple) else ()):
        try:
            found.append((at, _CRITERION.validate_python(item)))
        except ValidationError:
            # A key is known even if the rest is wrong, or [score] would be blamed for naming it.
            key = item.get("key") if isinstance(item, Mapping) else None
            if isinstance(key, str):
                found.append((at, Criterion(key=key)))
    return found


def good_nodes(raw: Any) -> tuple[dict[str, ScoreNode], set[str]]:
    """The nodes that have the shape of one, and the names of the others."""
    nodes, wrong = {}, set()
    for name, value in raw.items() if isinstance(raw, Mapping) else ():
        if isinstance(value, Mapping):
            try:
                nodes[name] = _NODE.validate_python(value)
            except ValidationError:
                wrong.add(name)
    return nodes, wrong


def good_part(kind: Any, raw: Mapping[str, Any], name: str) -> Any:
    """A section, where it is there and has its shape; what is wrong with its shape is told elsewhere."""
    if name not in raw:
        return None
    try:
        return TypeAdapter(kind).validate_python(raw[name])
    except ValidationError:
        return None
