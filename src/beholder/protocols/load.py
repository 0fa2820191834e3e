"""Protocol files -> `Protocol`."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from beholder.errors import ProtocolError
from beholder.protocols.formula import problems_of, resolve_formula
from beholder.protocols.schema import FileCriterion, FileNode, ProtocolFile
from beholder.protocols.template import BUILT_IN_PLACEHOLDERS, compose_template, unfilled_placeholders
from beholder.records import (
    TABLE_FIELDS,
    TABLE_PREFIXES,
    Criterion,
    Formula,
    Prompt,
    Protocol,
    ResultTable,
    ScoreNode,
)

_CRITERIA: TypeAdapter[tuple[Criterion, ...]] = TypeAdapter(tuple[FileCriterion, ...])
_SCORE: TypeAdapter[dict[str, ScoreNode | Decimal]] = TypeAdapter(dict[str, FileNode | Decimal])
_BUILT_IN = resources.files("beholder.protocols") / "builtin"


def builtin_ids() -> list[str]:
    """Ids of the built-in protocols, sorted, such as `gis-bench/1`."""
    names = sorted(entry.name for entry in _BUILT_IN.iterdir() if entry.name.endswith(".toml"))
    return [name.removesuffix(".toml").replace("@", "/") for name in names]


def load_protocol(ref: str | Path, *, prompt_file: str | Path | None = None) -> Protocol:
    """The protocol of a built-in id (`gis-bench/1` or `gis-bench`) or of a TOML file.

    Args:
        ref: Id or path; a string with a dot or a path separator that is no id is taken as a path.
        prompt_file: The user's own wording, used byte for byte in place of the protocol's.

    Raises:
        ProtocolError: The file is missing or wrong; the message lists every problem found.
    """
    name, text, folder = _read_source(ref)
    try:
        raw = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"{name}: not valid TOML: {error}", concerns=name) from None
    try:
        shape = ProtocolFile.model_validate(raw)
    except ValidationError as error:
        # A table in [score] is tried as a node and as the number of pass_at; only the first is meant.
        found = [
            item for item in error.errors() if item["type"] != "decimal_type" or "score" not in item["loc"]
        ]
        raise _refused(name, [_sentence(item) for item in found]) from None
    problems = [*_criteria_problems(shape.criteria), *_policy_problems(shape)]
    if shape.rationale in {criterion.key for criterion in shape.criteria}:
        problems.append(f"rationale: {shape.rationale!r} is a criterion's key too; choose another")
    score = _formula(shape.score, shape.criteria, problems)
    if problems:
        raise _refused(name, problems)
    return Protocol(
        id=shape.id,
        title=shape.title,
        reply=shape.reply,
        rationale=shape.rationale,
        prompt=_prompt(shape, name, folder, prompt_file),
        judge=shape.judge,
        repeats=shape.repeats,
        routing=replace(
            shape.routing,
            visual=tuple(suffix.lower() for suffix in shape.routing.visual),
            text=tuple(suffix.lower() for suffix in shape.routing.text),
        ),
        evidence=shape.evidence,
        absent=shape.absent.policy,
        criteria=shape.criteria,
        score=score,
        source=name,
        group_by=shape.group_by,
        table=shape.table,
    )


def parse_criteria(raw: Any, name: str) -> tuple[Criterion, ...]:
    """Criteria from JSON-like data, checked as in a protocol file.

    Raises:
        ProtocolError: Every problem found.
    """
    try:
        criteria = _CRITERIA.validate_python(raw)
    except ValidationError as error:
        raise _refused(name, [_sentence(item) for item in error.errors()]) from None
    problems = list(_criteria_problems(criteria))
    if problems:
        raise _refused(name, problems)
    return criteria


def parse_score(raw: Any, criteria: tuple[Criterion, ...], name: str) -> Formula:
    """A formula from JSON-like data, checked as in a protocol file.

    Raises:
        ProtocolError: Every problem found.
    """
    try:
        nodes = _SCORE.validate_python(raw)
    except ValidationError as error:
        raise _refused(name, _score_sentences(error)) from None
    problems: list[str] = []
    formula = _formula(nodes, criteria, problems)
    if problems:
        raise _refused(name, problems)
    return formula


def _formula(
    score: Mapping[str, ScoreNode | Decimal], criteria: tuple[Criterion, ...], problems: list[str]
) -> Formula:
    """The formula; what is wrong with it is added to `problems`, and it is empty then."""
    nodes = {key: node for key, node in score.items() if isinstance(node, ScoreNode)}
    found = [*_numbers_in_score(score), *problems_of(nodes, criteria)]
    problems += found
    pass_at = score.get("pass_at")
    return resolve_formula({} if found else nodes, pass_at if isinstance(pass_at, Decimal) else None)


def protocol_text(ref: str | Path) -> str:
    """A protocol's file, as it stands."""
    return _read_source(ref)[1]


def _read_source(ref: str | Path) -> tuple[str, str, Any]:
    """(name for messages, text, folder that `prompt.file` is relative to)."""
    if isinstance(ref, str):
        stem = ref if "/" in ref else f"{ref}/1"
        built_in = _BUILT_IN / f"{stem.replace('/', '@')}.toml"
        if "\\" not in ref and ".." not in ref and built_in.is_file():
            return stem, built_in.read_text("utf-8"), _BUILT_IN
    path = Path(ref)
    if not path.is_file():
        known = ", ".join(builtin_ids())
        raise ProtocolError(
            f"no protocol {str(ref)!r}: it is no file, and the built-in ones are {known}",
            slug="unknown_protocol",
            concerns=str(ref),
        )
    try:
        return str(path), path.read_bytes().decode("utf-8-sig"), path.parent
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{path}: not UTF-8 (byte {error.start}): save it as UTF-8") from None


def _prompt(shape: ProtocolFile, name: str, folder: Any, prompt_file: str | Path | None) -> Prompt:
    """The template's bytes, from where the user or the file says, checked against its pin."""
    section = shape.prompt
    if section.text is not None and section.file is not None:
        raise _refused(name, ["prompt: text and file are both given; keep one"])
    if prompt_file is not None:
        source, data = str(prompt_file), _template_bytes(Path(prompt_file), name)
    elif section.file is not None:
        source, data = section.file, _template_bytes(folder / section.file, name)
    elif section.text is not None:
        source, data = "prompt.text", section.text.encode()
    else:
        columns = section.placeholders if section.placeholders is not None else ("prompt",)
        texts = shape.routing.kind == "strict"
        written = compose_template(
            shape.title, columns, shape.criteria, shape.reply, shape.rationale, texts=texts
        )
        source, data = "criteria", written.encode()
    if not data.strip():
        raise ProtocolError(f"{name}: the prompt {source} is empty", concerns=source)
    digest = hashlib.sha256(data).hexdigest()
    if section.sha256 is not None and prompt_file is None and digest != section.sha256:
        raise ProtocolError(
            f"{name}: the prompt {source} has sha256 {digest}, but the protocol pins {section.sha256}: "
            "the wording was changed. Restore it, or give the new wording a new protocol id and pin",
            slug="prompt_pin",
            concerns=source,
        )
    try:
        template = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{source}: not UTF-8 (byte {error.start}): save it as UTF-8") from None
    declared = section.placeholders
    if declared is None:
        declared = ("prompt",) if source == "criteria" else ()
    if source == "criteria":
        built_in = BUILT_IN_PLACEHOLDERS if shape.routing.kind == "strict" else ("media",)
        declared = (*declared, *built_in)
    missing = unfilled_placeholders(template, declared)
    if missing and prompt_file is None:
        raise _refused(name, [f"prompt: the placeholder {{{item}}} does not occur in it" for item in missing])
    used = tuple(item for item in declared if item not in missing)
    return Prompt(template=template, placeholders=used, sha256=digest, source=source)


def _template_bytes(path: Any, name: str) -> bytes:
    try:
        data: bytes = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise ProtocolError(f"{name}: prompt file {path}: {reason}", concerns=str(path)) from None
    return data


def _refused(name: str, problems: list[str]) -> ProtocolError:
    listed = "".join(f"\n  - {problem}" for problem in problems)
    return ProtocolError(
        f"{name}: {len(problems)} problem{'s' * (len(problems) > 1)}:{listed}", concerns=name
    )


def _score_sentences(error: ValidationError) -> list[str]:
    # A table in [score] is tried as a node and as the number of pass_at; only the first is meant.
    found = [e for e in error.errors() if e["type"] != "decimal_type" or "criteria" in e["loc"]]
    return [_sentence(item) for item in found]


def _sentence(item: Any) -> str:
    """One of pydantic's findings, in the file's words."""
    spelled = {"schema_version": "schema", "start": "from", "from_": "from"}
    skipped = {"ScoreNode", "decimal", "function-before[rename(), ScoreNode]"}
    parts = [spelled.get(str(part), str(part)) for part in item["loc"] if str(part) not in skipped]
    where = ".".join(parts) or "file"
    if item["type"] in {"unexpected_keyword_argument", "extra_forbidden"}:
        return f"{where}: no such key"
    return f"{where}: {item['msg'][0].lower()}{item['msg'][1:]}"


def _is_sensible(number: Decimal) -> bool:
    """Whether a number can stand on a scale: 1e400 is a valid decimal and no float."""
    return number.is_finite() and abs(number.adjusted()) <= 50


def _numbers_in_score(score: Mapping[str, ScoreNode | Decimal]) -> Iterator[str]:
    for key, value in score.items():
        if key == "pass_at" and not (isinstance(value, Decimal) and _is_sensible(value)):
            yield "score.pass_at: must be a number, of a size that a score can have"
        elif key != "pass_at" and isinstance(value, Decimal):
            yield f"score.{key}: a number is no formula; only pass_at is a number"


def _criteria_problems(criteria: tuple[Criterion, ...]) -> Iterator[str]:
    if not criteria:
        yield "criteria: there is none; add one, such as [[criteria]] with key, question, min and max"
    for key, count in Counter(criterion.key for criterion in criteria).items():
        if count > 1:
            yield f"criterion {key!r}: given {count} times"
    for criterion in criteria:
        where = f"criterion {criterion.key!r}"
        if not criterion.key.strip() or criterion.key != criterion.key.strip():
            yield f"{where}: a key has no blanks around it"
        if criterion.key in {"main", "pass", "pass_at"}:
            yield f"{where}: this name is taken by [score]"
        if not (_is_sensible(criterion.min) and _is_sensible(criterion.max)):
            yield f"{where}: min and max must be finite and of a sensible size"
            continue
        if criterion.min >= criterion.max:
            yield f"{where}: min {criterion.min} is not below max {criterion.max}"
        if criterion.type == "bool" and not (criterion.min == 0 and criterion.max == 1):
            yield f"{where}: a bool runs from 0 to 1; leave min and max out"
        for value in criterion.allowed or ():
            if not criterion.min <= value <= criterion.max:
                yield f"{where}: allowed value {value} is outside {criterion.min} to {criterion.max}"
        if criterion.weight is not None and criterion.weight < 0:
            yield f"{where}: weight {criterion.weight} is below 0"
        for band in criterion.bands:
            if (band.below is None) == (band.to is None):
                yield f"{where}: a band ends either below a value or at one: give one of below, to"


def _table_problems(table: ResultTable | None) -> Iterator[str]:
    if table is None:
        return
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,60}", table.name) or table.name.startswith("judge_"):
        yield f"table.name: {table.name!r} must be of a-z, 0-9, - and _, and not begin with judge_"
    for column in table.columns:
        kind, colon, name = column.source.partition(":")
        if not (kind in TABLE_FIELDS if not colon else kind in TABLE_PREFIXES and name):
            yield f"table column {column.name!r}: no source {column.source!r} (see docs/protocols.md)"


def _policy_problems(shape: ProtocolFile) -> Iterator[str]:
    if shape.repeats.n < 1:
        yield f"repeats.n: {shape.repeats.n} is below 1"
    if not 1 <= shape.repeats.min_scored <= shape.repeats.n:
        yield f"repeats.min_scored: {shape.repeats.min_scored} is not between 1 and n = {shape.repeats.n}"
    if shape.judge.max_tokens < 1:
        yield f"judge.max_tokens: {shape.judge.max_tokens} is below 1"
    for name in ("images", "pages", "text_chars"):
        if getattr(shape.evidence, name) < 1:
            yield f"evidence.{name}: {getattr(shape.evidence, name)} is below 1"
    if min(shape.evidence.viewport) < 16 or max(shape.evidence.viewport) > 10_000:
        yield f"evidence.viewport: {list(shape.evidence.viewport)} is not within 16 to 10000 px"
    if not 0 <= shape.evidence.min_wait_s <= shape.evidence.max_wait_s <= 600:
        yield "evidence: 0 <= min_wait_s <= max_wait_s <= 600 does not hold"
    if not shape.routing.visual and not shape.routing.text:
        yield "routing: neither visual nor text names a suffix, so no file would be looked at"
    yield from _table_problems(shape.table)
    for suffix in (*shape.routing.visual, *shape.routing.text):
        if not suffix.startswith("."):
            yield f"routing: suffix {suffix!r} must start with a dot"
