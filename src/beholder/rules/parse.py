"""What a task's `evaluation.rule_based` says -> rules, each with what is wrong with it.

Never an exception: a rule that makes no sense is `error` in the row, one of an unknown kind `not_supported`.
A task may come from somebody else's pipeline, and its main score needs none of this.

    [{"type": "file_exists", "glob": "report.*", "min_count": 1, "max_count": 2},
     {"type": "text_contains", "in": "**/*.md", "all": ["Sources"], "ignore_case": true},
     {"type": "valid", "glob": "data.json", "as": "json"},
     {"type": "table_has", "glob": "*.xlsx", "columns": ["year"], "sheets": ["Sales"], "min_rows": 12},
     {"type": "pages", "glob": "*.pdf", "min": 2, "max": 10}]
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from beholder.records import Rule

FORMATS = ("json", "csv", "xlsx", "pdf", "docx", "pptx", "html")
RESPONSE = "response.txt"
MAX_COUNT = 10**9

Check = Callable[[Any], str | None]
"""What is wrong with a value, or None."""


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a text that is not blank"


def _texts(value: Any) -> str | None:
    good = isinstance(value, list) and value and not any(map(_text, value))
    return None if good else "must be a list of texts, at least one, none of them blank"


def _glob(value: Any) -> str | None:
    if _text(value):
        return _text(value)
    if value.startswith("/") or "\\" in value or ".." in value.split("/"):
        return 'must be a pattern below artifacts/, with "/" between folders and without ".."'
    return None


def _count(value: Any) -> str | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return None if good else f"must be a whole number from 0 to {MAX_COUNT}"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _format(value: Any) -> str | None:
    return None if isinstance(value, str) and value in FORMATS else f"must be one of {', '.join(FORMATS)}"


def _regex(value: Any) -> str | None:
    if _text(value):
        return _text(value)
    import regex

    try:
        regex.compile(value, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
        return f"is no regular expression: {error or type(error).__name__}"
    return None


ARGS: Mapping[str, Mapping[str, Check]] = {
    "file_exists": {"glob": _glob, "min_count": _count, "max_count": _count},
    "text_contains": {"in": _glob, "all": _texts, "any": _texts, "regex": _regex, "ignore_case": _flag},
    "valid": {"glob": _glob, "as": _format},
    "table_has": {"glob": _glob, "columns": _texts, "sheets": _texts, "min_rows": _count},
    "pages": {"glob": _glob, "min": _count, "max": _count},
}
"""Each type's arguments."""

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "file_exists": ("glob",),
    "text_contains": ("in",),
    "valid": ("glob", "as"),
    "table_has": ("glob",),
    "pages": ("glob",),
}
ONE_OF: Mapping[str, tuple[str, ...]] = {"text_contains": ("all", "any", "regex")}
SOME_OF: Mapping[str, tuple[str, ...]] = {
    "table_has": ("columns", "sheets", "min_rows"),
    "pages": ("min", "max"),
}
RANGES: Mapping[str, tuple[str, str, int]] = {
    # (least, most, the least where it is left out)
    "file_exists": ("min_count", "max_count", 1),
    "pages": ("min", "max", 0),
}
RULE_TYPES = tuple(ARGS)


def parse_rules(value: Any) -> tuple[Rule, ...]:
    """The rules of a task, in their order; never raises.

    Args:
        value: What stands in the task's `evaluation.rule_based`: the list itself, or its JSON text (a cell
            of a table). None and empty text or list: there are no rules.

    Returns:
        A rule per entry. Those with a `problem` are reported as such by `check_rules`; anything else than a
        list is one rule that is `not_supported`.
    """
    if isinstance(value, str):
        if not value.strip():
            return ()
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            return (Rule(type="", problem="error", detail=f"the rules are no JSON: {_plain(str(error))}"),)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        return (_unknown("", {"value": value}, 'the rules are no list of objects, each with a "type"'),)
    return tuple(_parse_rule(entry) for entry in value)


def _parse_rule(entry: Any) -> Rule:
    if not isinstance(entry, Mapping):
        return _unknown("", {"value": entry}, 'a rule is an object with a "type"')
    kind = entry.get("type")
    args = {str(name): item for name, item in entry.items() if name != "type"}
    if not isinstance(kind, str) or kind not in ARGS:
        name = kind if isinstance(kind, str) else ""
        return _unknown(name, args, f"the types that can be checked are {', '.join(RULE_TYPES)}")
    wrong = _wrong_args(kind, args)
    clean = _json_ready(args)
    if wrong:
        return Rule(type=kind, args=clean, problem="error", detail=_plain("; ".join(wrong)))
    return Rule(type=kind, args=clean)


def _unknown(kind: str, args: Mapping[str, Any], detail: str) -> Rule:
    return Rule(type=_plain(kind), args=_json_ready(args), problem="not_supported", detail=detail)


def _wrong_args(kind: str, args: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a rule's arguments."""
    known = ARGS[kind]
    wrong = [f'"{name}" is missing' for name in REQUIRED[kind] if name not in args]
    wrong += [
        f'"{name}" is no argument of {kind}; they are {", ".join(known)}'
        for name in args
        if name not in known
    ]
    for name, check in known.items():
        problem = check(args[name]) if name in args else None
        if problem:
            wrong.append(f'"{name}" {problem}')
    one_of, some_of = ONE_OF.get(kind, ()), SOME_OF.get(kind, ())
    if one_of and sum(name in args for name in one_of) != 1:
        wrong.append(f"give exactly one of {', '.join(one_of)}")
    if some_of and not any(name in args for name in some_of):
        wrong.append(f"give at least one of {', '.join(some_of)}")
    if kind in RANGES and not wrong:
        least, most, otherwise = RANGES[kind]
        if most in args and args[most] < args.get(least, otherwise):
            wrong.append(f'"{most}" {args[most]} is below "{least}" {args.get(least, otherwise)}')
    return wrong


def _json_ready(value: Any, depth: int = 0) -> Any:
    """The value as strict JSON can hold it: finite numbers, text that is Unicode, bounded depth."""
    if depth > 20:
        return "…"
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, Mapping):
        return {_plain(str(name)): _json_ready(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(hex(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _plain(str(value))


def _plain(text: str) -> str:
    """Text without lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
