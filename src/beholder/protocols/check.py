"""A protocol file's text -> its parts and everything that is wrong with it, each mistake with its place.

Parts are checked one by one, so that a mistake in one hides none in another: a wrong criterion is told
beside a formula that names an unknown one. A file that is no TOML is read on without the broken line.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter, ValidationError

from beholder.protocols.formula import problems_of, weight_problem
from beholder.protocols.places import Place, key_lines, line_of
from beholder.protocols.schema import (
    AbsentSection,
    FileCriterion,
    FileNode,
    PromptSection,
    ProtocolFile,
    keys_of,
)
from beholder.records import (
    TABLE_FIELDS,
    TABLE_PREFIXES,
    Criterion,
    EvidencePolicy,
    JudgeDefaults,
    PerTask,
    Repeats,
    ResultTable,
    Routing,
    ScoreNode,
)

MAX_BROKEN_LINES = 20
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong with a protocol file.

    Attributes:
        path: Where in the document; empty for the whole of it.
        message: What is wrong, and what to do.
        line: 1-based; None where no line can be named.
        slug: A code, where a program may want to know this one.
        follows: It may be nothing but a consequence of a line that could not be read.
    """

    path: Place
    message: str
    line: int | None = None
    slug: str | None = None
    follows: bool = False

    @property
    def words(self) -> str:
        """Place and message, without the line."""
        place = ".".join(map(str, self.path))
        return f"{place}: {self.message}" if place else self.message

    def __str__(self) -> str:
        return self.words if self.line is None else f"line {self.line}: {self.words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What could be made of a protocol file: whole only if nothing was found."""

    raw: Mapping[str, Any]
    shape: ProtocolFile | None
    criteria: tuple[Criterion, ...]
    nodes: Mapping[str, ScoreNode]


def check_text(text: str) -> tuple[Parts, list[Finding]]:
    """The parts of a protocol file and every mistake in it, in the order of the file."""
    raw, readable, findings = _read_toml(text)
    parts, more = check_document(raw)
    if findings:
        more = [finding for finding in more if not finding.follows]
    lines = key_lines(readable)
    placed = [replace(finding, line=line_of(finding.path, lines)) for finding in more]
    return parts, sorted([*findings, *placed], key=lambda finding: finding.line or 0)


def _read_toml(text: str) -> tuple[dict[str, Any], str, list[Finding]]:
    """(document, the text it was read from, what is no TOML): broken lines are left out one by one."""
    lines = text.split("\n")
    findings: list[Finding] = []
    dropped: list[int] = []
    while True:
        readable = "\n".join(lines)
        try:
            return tomllib.loads(readable, parse_float=Decimal), readable, findings
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"^(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
            number = int(found[2]) if found else len(lines)
            what = (found[1] if found else str(error)).rstrip(".")
        except (ValueError, ArithmeticError, RecursionError):
            # Not a matter of grammar: a number of thousands of digits, brackets nested by the thousand.
            message = "a number in it is too long, or it is nested too deeply; write it shorter"
            return {}, "", [Finding(path=(), message=message, slug="toml")]
        # A bracket or quotation mark that is open makes each line after it look broken: told once.
        torn = bool(dropped) and not any(line.strip() for line in lines[dropped[-1] : number - 1])
        if not torn:
            message = f"not valid TOML: {what[0].lower()}{what[1:]}"
            findings.append(Finding(path=(), message=message, line=number, slug="toml"))
        if torn or number > len(lines) or not lines[number - 1].strip() or len(dropped) >= MAX_BROKEN_LINES:
            return {}, "", findings
        dropped.append(number)
        lines[number - 1] = ""


def check_document(raw: Mapping[str, Any]) -> tuple[Parts, list[Finding]]:
    """The parts of a protocol as data, and every mistake in them."""
    findings: list[Finding] = []
    shape: ProtocolFile | None = None
    try:
        shape = ProtocolFile.model_validate(raw)
    except ValidationError as error:
        findings += _shape_findings(error, raw)
    criteria = _good_criteria(raw.get("criteria"))
    findings += criteria_findings(tuple(c for _, c in criteria), [at for at, _ in criteria])
    nodes, wrong = _good_nodes(raw.get("score"))
    findings += _score_findings(raw, nodes, wrong, tuple(c for _, c in criteria))
    findings += _section_findings(raw)
    rationale = raw.get("rationale", "reason")
    if isinstance(rationale, str) and not rationale.strip():
        message = "is empty; name the reply's key for the judge's words, such as \"reason\""
        findings.append(Finding(path=("rationale",), message=message))
    if raw.get("reply") == "lines":
        findings += _unreadable_lines(criteria)
    if rationale in {c.key for _, c in criteria}:
        findings.append(
            Finding(path=("rationale",), message=f"{rationale!r} is a criterion's key too; choose another")
        )
    return Parts(raw=raw, shape=shape, criteria=tuple(c for _, c in criteria), nodes=nodes), findings


# --- shape ----------------------------------------------------------------------------------------


def _shape_findings(error: ValidationError, raw: Mapping[str, Any]) -> Iterator[Finding]:
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
    fix = _FIXES.get(kind, "")
    return Finding(path=path, message=f"{message}; {fix}" if fix else message)


def _unknown_key(path: Place) -> str:
    known = keys_of(path[:-1])
    near = get_close_matches(str(path[-1]), known, n=1)
    if near:
        return f"no such key; did you mean {near[0]}?"
    return f"no such key; remove it, for the keys here are {', '.join(known)}" if known else "no such key"


# --- criteria and score ---------------------------------------------------------------------------


def _good_criteria(raw: Any) -> list[tuple[int, Criterion]]:
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


def criteria_findings(
    criteria: tuple[Criterion, ...], positions: list[int] | None = None, where: str = "criteria"
) -> Iterator[Finding]:
    """What is wrong with criteria that have the shape of such."""
    at = positions if positions is not None else list(range(len(criteria)))
    if not criteria:
        message = "there is none; add one, such as [[criteria]] with key, question, min and max"
        yield Finding(path=(where,), message=message, follows=True)
    for key, count in Counter(criterion.key for criterion in criteria).items():
        if count > 1:
            last = max(at[n] for n, criterion in enumerate(criteria) if criterion.key == key)
            message = f"criterion {key!r}: given {count} times; give each criterion a key of its own"
            yield Finding(path=(where, last, "key"), message=message)
    for position, criterion in zip(at, criteria, strict=True):
        for name, message in _criterion_problems(criterion):
            path: Place = (where, position, name) if name else (where, position)
            yield Finding(path=path, message=f"criterion {criterion.key!r}: {message}")


def _criterion_problems(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """(key it stands under, sentence)."""
    if not criterion.key.strip() or criterion.key != criterion.key.strip():
        yield "key", "a key has no blanks around it, and is not empty"
    if any(sign == '"' or not sign.isprintable() for sign in criterion.key):
        yield "key", "a key is one line of letters and signs, without quotation marks; the reply repeats it"
    if criterion.key in {"main", "pass", "pass_at"}:
        yield "key", "this name is taken by [score]; choose another"
    if not (is_sensible(criterion.min) and is_sensible(criterion.max)):
        yield "max", "min and max must be finite and of a sensible size"
        return
    if criterion.min >= criterion.max:
        yield "max", f"min {criterion.min} is not below max {criterion.max}; exchange or correct them"
    if criterion.type == "bool" and not (criterion.min == 0 and criterion.max == 1):
        yield "type", "a bool runs from 0 to 1; leave min and max out"
    if criterion.type == "int":
        for name, value in (("min", criterion.min), ("max", criterion.max)):
            if value != value.to_integral_value():
                yield name, f'{name} {value} is no whole number; round it, or say type = "float"'
    if criterion.allowed == ():
        yield "allowed", "allows no value at all; name some, or leave it out"
    for value in criterion.allowed or ():
        if not is_sensible(value):
            yield "allowed", f"allowed value {value} must be finite and of a sensible size"
            continue
        if criterion.type != "float" and value != value.to_integral_value():
            yield "allowed", f'allowed value {value} is no whole number; round it, or say type = "float"'
        if not criterion.min <= value <= criterion.max:
            yield (
                "allowed",
                f"allowed value {value} is outside {criterion.min} to {criterion.max}; correct one of them",
            )
    if criterion.weight is not None and not (is_sensible(criterion.weight) and criterion.weight >= 0):
        yield "weight", f"weight {criterion.weight} is below 0, or of no sensible size"
    for band in criterion.bands:
        if (band.below is None) == (band.to is None):
            yield "bands", "a band ends either below a value or at one: give one of below, to"
        if not all(is_sensible(end) for end in (band.start, band.below, band.to) if end is not None):
            yield "bands", "the ends of a band must be finite and of a sensible size"
    yield from _band_problems(criterion)


def _band_problems(criterion: Criterion) -> Iterator[tuple[str, str]]:
    """Bands that are no stretch of the scale, or lie over one another; gaps are the author's to leave."""
    ended = [
        (band.start, end)
        for band in criterion.bands
        for end in (band.below, band.to)
        if end is not None and is_sensible(band.start) and is_sensible(end)
    ]
    found: list[tuple[Decimal, Decimal]] = []
    for start, end in ended:
        if start > end:
            yield "bands", f"the band from {start} ends at {end}, before it begins; exchange or correct them"
        elif not (criterion.min <= start and end <= criterion.max):
            scale = f"{criterion.min} to {criterion.max}"
            yield "bands", f"the band from {start} to {end} is not within {scale}; correct one of them"
        else:
            found.append((start, end))
    found.sort()
    for (start, end), (after, _) in pairwise(found):
        if after < end:
            message = f"the bands from {start} and from {after} lie over one another; end the first earlier"
            yield "bands", message


def is_sensible(number: Decimal) -> bool:
    """Whether a number can stand on a scale: 1e400 is a valid decimal and no float."""
    return number.is_finite() and abs(number.adjusted()) <= 50


def _unreadable_lines(criteria: Sequence[tuple[int, Criterion]]) -> Iterator[Finding]:
    """A line `KEY: value` ends its key at the first colon or equals sign."""
    for at, criterion in criteria:
        if set(criterion.key) & set(":：="):
            message = (
                f"criterion {criterion.key!r}: in a reply of lines a key has no colon and no equals sign"
            )
            yield Finding(path=("criteria", at, "key"), message=message)


def _good_nodes(raw: Any) -> tuple[dict[str, ScoreNode], set[str]]:
    """The nodes that have the shape of one, and the names of the others."""
    nodes, wrong = {}, set()
    for name, value in raw.items() if isinstance(raw, Mapping) else ():
        if isinstance(value, Mapping):
            try:
                nodes[name] = _NODE.validate_python(value)
            except ValidationError:
                wrong.add(name)
    return nodes, wrong


def _score_findings(
    raw: Mapping[str, Any],
    nodes: Mapping[str, ScoreNode],
    wrong: set[str],
    criteria: tuple[Criterion, ...],
) -> Iterator[Finding]:
    score = raw.get("score", {})
    if not isinstance(score, Mapping):
        return
    for name, value in score.items():
        if name == "pass_at":
            if not (isinstance(value, int | Decimal) and is_sensible(Decimal(value))):
                message = "must be a number, of a size that a score can have"
                yield Finding(path=("score", "pass_at"), message=message)
        elif isinstance(value, int | Decimal):
            message = "a number is no formula; only pass_at is a number"
            yield Finding(path=("score", name), message=message)
    if not nodes and not wrong and set(score) <= {"pass_at"}:
        if problem := weight_problem(criteria):
            yield Finding(path=("criteria",), message=problem)
        return
    yield from node_findings(nodes, criteria, wrong)


def node_findings(
    nodes: Mapping[str, ScoreNode], criteria: tuple[Criterion, ...], wrong: set[str] | None = None
) -> Iterator[Finding]:
    """What is wrong with a formula whose names have the shape of such."""
    for name, sentence in problems_of(nodes, {c.key for c in criteria}, wrong or set()):
        path: Place = ("score", name) if name else ("score",)
        yield Finding(path=path, message=sentence, follows="neither a criterion" in sentence or name is None)


# --- the other sections ---------------------------------------------------------------------------


def _section_findings(raw: Mapping[str, Any]) -> Iterator[Finding]:
    repeats = _part(Repeats, raw, "repeats")
    if repeats is not None and repeats.n < 1:
        yield Finding(
            path=("repeats", "n"), message=f"{repeats.n} is below 1; a task is judged at least once"
        )
    if repeats is not None and not 1 <= repeats.min_scored <= max(repeats.n, 1):
        message = f"{repeats.min_scored} is not between 1 and n = {repeats.n}"
        yield Finding(path=("repeats", "min_scored"), message=message)
    judge = _part(JudgeDefaults, raw, "judge")
    if judge is not None and judge.max_tokens < 1:
        yield Finding(path=("judge", "max_tokens"), message=f"{judge.max_tokens} is below 1; 1024 is usual")
    if judge is not None and judge.temperature is not None and judge.temperature < 0:
        message = f"{judge.temperature} is below 0; 0 is the least"
        yield Finding(path=("judge", "temperature"), message=message)
    if judge is not None and not 0 <= judge.min_interval_s <= 3600:
        message = f"{judge.min_interval_s} is not within 0 to 3600 seconds"
        yield Finding(path=("judge", "min_interval_s"), message=message)
    yield from _evidence_findings(_part(EvidencePolicy, raw, "evidence"))
    yield from _routing_findings(raw, _part(Routing, raw, "routing"))
    yield from _table_findings(_part(ResultTable, raw, "table"))
    prompt = _part(PromptSection, raw, "prompt")
    if prompt is not None and prompt.text is not None and prompt.file is not None:
        yield Finding(path=("prompt",), message="text and file are both given; keep one")
    yield from _placeholder_findings(prompt.placeholders or () if prompt is not None else ())
    _part(AbsentSection, raw, "absent")
    yield from _per_task_findings(raw, _part(PerTask, raw, "per_task"))


def _part(kind: Any, raw: Mapping[str, Any], name: str) -> Any:
    """A section, where it is there and has its shape; what is wrong with its shape is told elsewhere."""
    if name not in raw:
        return None
    try:
        return TypeAdapter(kind).validate_python(raw[name])
    except ValidationError:
        return None


def _evidence_findings(policy: EvidencePolicy | None) -> Iterator[Finding]:
    if policy is None:
        return
    for name in ("images", "pages", "text_chars"):
        if getattr(policy, name) < 1:
            message = f"{getattr(policy, name)} is below 1; leave it out for the default"
            yield Finding(path=("evidence", name), message=message)
    if min(policy.viewport) < 16 or max(policy.viewport) > 10_000:
        message = f"{list(policy.viewport)} is not within 16 to 10000 px"
        yield Finding(path=("evidence", "viewport"), message=message)
    if not 0 <= policy.min_wait_s <= policy.max_wait_s <= 600:
        message = "0 <= min_wait_s <= max_wait_s <= 600 does not hold"
        yield Finding(path=("evidence", "min_wait_s"), message=message)


def _routing_findings(raw: Mapping[str, Any], routing: Routing | None) -> Iterator[Finding]:
    if routing is None:
        return
    for name in ("visual", "text"):
        for at, suffix in enumerate(getattr(routing, name)):
            if not suffix.startswith("."):
                message = f'suffix {suffix!r} must start with a dot: write ".{suffix.lstrip("*.")}"'
                yield Finding(path=("routing", name, at), message=message)
    given = raw["routing"]
    if ("visual" in given or "text" in given) and not (routing.visual or routing.text):
        message = (
            "neither visual nor text names a suffix, so no file would be looked at; leave both out for all"
        )
        yield Finding(path=("routing",), message=message)
    if routing.kind == "visual" and routing.text:
        message = 'text suffixes are looked at with kind = "strict" only; say so, or leave them out'
        yield Finding(path=("routing", "text"), message=message)


def _table_findings(table: ResultTable | None) -> Iterator[Finding]:
    if table is None:
        return
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,60}", table.name) or table.name.startswith("judge_"):
        message = f"{table.name!r} must be of a-z, 0-9, - and _, and not begin with judge_"
        yield Finding(path=("table", "name"), message=message)
    for at, column in enumerate(table.columns):
        kind, colon, name = column.source.partition(":")
        if not (kind in TABLE_FIELDS if not colon else kind in TABLE_PREFIXES and name):
            known = ", ".join((*TABLE_FIELDS, *(f"{prefix}:NAME" for prefix in TABLE_PREFIXES)))
            message = f"table column {column.name!r}: no source {column.source!r}; the sources are {known}"
            yield Finding(path=("table", "columns", at), message=message)


def _placeholder_findings(names: tuple[str, ...]) -> Iterator[Finding]:
    for at, name in enumerate(names):
        path: Place = ("prompt", "placeholders", at)
        if not name.strip() or set(name) & set("{}"):
            message = f'{name!r} names no column; write the name that stands in braces, such as "prompt"'
            yield Finding(path=path, message=message)
        elif name in names[:at]:
            yield Finding(path=path, message=f"{name!r} is named twice; once is enough")


def _per_task_findings(raw: Mapping[str, Any], per_task: PerTask | None) -> Iterator[Finding]:
    if per_task is None or per_task.criteria is None:
        return
    criteria, score = raw.get("criteria"), raw.get("score", {})
    if isinstance(criteria, list) and len(criteria) != 1:
        message = (
            f"tasks bring their own criteria, and there are {len(criteria)} [[criteria]]; keep one, which is "
            "how a rubric is judged that is a text"
        )
        yield Finding(path=("per_task", "criteria"), message=message)
    if isinstance(score, Mapping) and set(score) - {"pass_at"}:
        message = "tasks bring their own criteria, and their score is weighted; keep only pass_at"
        yield Finding(path=("score",), message=message)
