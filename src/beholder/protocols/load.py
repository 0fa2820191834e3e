"""Protocol files -> `Protocol`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from beholder.errors import ProtocolError
from beholder.protocols.check import check_text
from beholder.protocols.check_criteria import criteria_findings, is_sensible
from beholder.protocols.check_score import node_findings
from beholder.protocols.check_shape import shape_finding
from beholder.protocols.finding import Finding
from beholder.protocols.formula import resolve_formula, weighted_formula
from beholder.protocols.places import Place, key_lines, line_of
from beholder.protocols.schema import FileCriterion, FileScore, ProtocolFile
from beholder.protocols.template import (
    BUILT_IN_PLACEHOLDERS,
    compose_template,
    describe_rubric,
    unfilled_placeholders,
)
from beholder.records import (
    SHOWN_SUFFIXES,
    Criterion,
    Formula,
    Prompt,
    Protocol,
    Routing,
    ScoreNode,
)

_CRITERIA: TypeAdapter[tuple[Criterion, ...]] = TypeAdapter(tuple[FileCriterion, ...])
_SCORE: TypeAdapter[dict[str, ScoreNode | Decimal]] = TypeAdapter(FileScore)
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
        ProtocolError: The file is missing or wrong; the message lists every problem found, by line.
    """
    name, text, folder = _read_source(ref)
    protocol, findings = _resolve(name, text, folder, prompt_file)
    if protocol is None or findings:
        raise _refused(name, findings)
    return protocol


def find_problems(ref: str | Path) -> tuple[Finding, ...]:
    """Everything that is wrong with a protocol file, in its order; empty if it is good.

    Raises:
        ProtocolError: There is no such file, or it is no text.
    """
    name, text, folder = _read_source(ref)
    return tuple(_resolve(name, text, folder, None)[1])


def _resolve(
    name: str, text: str, folder: Any, prompt_file: str | Path | None
) -> tuple[Protocol | None, list[Finding]]:
    parts, findings = check_text(text)
    shape = parts.shape
    if shape is None or not all(is_sensible(end) for c in shape.criteria for end in _numbers_of(c)):
        return None, findings  # a number without measure cannot even be written into a prompt
    prompt, more = _prompt(shape, folder, prompt_file)
    lines = key_lines(text) if more else {}
    findings += [replace(finding, line=line_of(finding.path, lines)) for finding in more]
    if prompt is None or findings:
        return None, findings
    pass_at = shape.score.get("pass_at")
    mark = pass_at if isinstance(pass_at, Decimal) else None
    return Protocol(
        id=shape.id,
        title=shape.title,
        reply=shape.reply,
        rationale=shape.rationale,
        prompt=prompt,
        judge=shape.judge,
        repeats=shape.repeats,
        routing=_routing(shape.routing),
        evidence=shape.evidence,
        absent=shape.absent.policy,
        criteria=shape.criteria,
        score=resolve_formula(parts.nodes, mark) if parts.nodes else weighted_formula(shape.criteria, mark),
        source=name,
        group_by=shape.group_by,
        table=shape.table,
        per_task=shape.per_task,
    ), []


def _numbers_of(criterion: Criterion) -> Iterator[Decimal]:
    yield from (criterion.min, criterion.max, *(criterion.allowed or ()))
    for band in criterion.bands:
        yield from (end for end in (band.start, band.below, band.to) if end is not None)


def parse_criteria(raw: Any, name: str) -> tuple[Criterion, ...]:
    """Criteria from JSON-like data, checked as in a protocol file.

    Raises:
        ProtocolError: Every problem found.
    """
    try:
        criteria = _CRITERIA.validate_python(raw)
    except ValidationError as error:
        raise _refused(name, [shape_finding(item, ("criteria",)) for item in error.errors()]) from None
    findings = list(criteria_findings(criteria))
    if findings:
        raise _refused(name, findings)
    return criteria


def parse_score(raw: Any, criteria: tuple[Criterion, ...], name: str) -> Formula:
    """A formula from JSON-like data, checked as in a protocol file.

    Raises:
        ProtocolError: Every problem found.
    """
    try:
        score = _SCORE.validate_python(raw)
    except ValidationError as error:
        # A table in [score] is tried as a node and as the number of pass_at; only the first is meant.
        found = [e for e in error.errors() if e["type"] != "decimal_type"] or error.errors()
        raise _refused(name, [shape_finding(item, ("score",)) for item in found]) from None
    nodes = {key: node for key, node in score.items() if isinstance(node, ScoreNode)}
    findings = [*_numbers_in_score(score), *node_findings(nodes, criteria)]
    if findings:
        raise _refused(name, findings)
    pass_at = score.get("pass_at")
    return resolve_formula(nodes, pass_at if isinstance(pass_at, Decimal) else None)


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
        beside = path.with_name(f"{path.name}.toml") if path.name else path
        hint = f"; did you mean {beside}?" if beside.is_file() else ""
        raise ProtocolError(
            f"no protocol {str(ref)!r}: it is no file, and the built-in ones are {known}{hint}",
            slug="unknown_protocol",
            concerns=str(ref),
        )
    try:
        return str(path), path.read_bytes().decode("utf-8-sig"), path.parent
    except UnicodeDecodeError as error:
        raise ProtocolError(f"{path}: not UTF-8 (byte {error.start}): save it as UTF-8") from None
    except OSError as error:
        raise ProtocolError(f"{path}: {error.strerror or 'cannot be read'}", concerns=str(path)) from None


def _routing(routing: Routing) -> Routing:
    """Suffixes in lower case; without any, every kind that can be shown."""
    if not routing.visual and not routing.text:
        return replace(routing, visual=SHOWN_SUFFIXES)
    return replace(
        routing,
        visual=tuple(suffix.lower() for suffix in routing.visual),
        text=tuple(suffix.lower() for suffix in routing.text),
    )


def _prompt(
    shape: ProtocolFile, folder: Any, prompt_file: str | Path | None
) -> tuple[Prompt | None, list[Finding]]:
    """The template's bytes, from where the user or the file says, checked against its pin."""
    section = shape.prompt
    place: Place = ()
    try:
        if prompt_file is not None:
            source, data = str(prompt_file), Path(prompt_file).read_bytes()
        elif section.file is not None:
            place, source, data = ("prompt", "file"), section.file, (folder / section.file).read_bytes()
        elif section.text is not None:
            place, source, data = ("prompt", "text"), "prompt.text", section.text.encode()
        else:
            source, data = "criteria", _composed(shape).encode()
    except OSError as error:
        wanted = section.file if prompt_file is None else prompt_file
        message = f"prompt file {wanted}: {error.strerror or 'cannot be read'}"
        return None, [Finding(path=("prompt", "file") if prompt_file is None else (), message=message)]
    if not data.strip():
        return None, [Finding(path=place, message=f"the prompt {source} is empty; write the question")]
    findings = []
    digest = hashlib.sha256(data).hexdigest()
    if section.sha256 is not None and prompt_file is None and digest != section.sha256:
        message = (
            f"the prompt {source} has sha256 {digest}, but the protocol pins {section.sha256}: "
            "the wording was changed. Restore it, or give the new wording a new protocol id and pin"
        )
        findings.append(Finding(path=("prompt", "sha256"), message=message, slug="prompt_pin"))
    try:
        template = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{source}: not UTF-8 (byte {error.start}): save it as UTF-8"
        return None, [*findings, Finding(path=place, message=message)]
    # A wording that takes the place of a written one has the same columns and lists to fill in.
    declared = _declared(shape, composed=section.file is None and section.text is None)
    missing = unfilled_placeholders(template, declared)
    if prompt_file is None:
        findings += [
            Finding(
                path=("prompt", "placeholders"),
                message=f"the placeholder {{{item}}} does not occur in the prompt; write it where it "
                "belongs, or take it off the list",
            )
            for item in missing
        ]
    used = tuple(item for item in declared if item not in missing)
    return Prompt(template=template, placeholders=used, sha256=digest, source=source), findings


def _columns(shape: ProtocolFile) -> Sequence[str]:
    """Task columns that a prompt written from criteria shows."""
    given = shape.prompt.placeholders
    columns = given if given is not None else ("prompt",)
    return [name for name in columns if name not in {*BUILT_IN_PLACEHOLDERS, shape.per_task.criteria}]


def _composed(shape: ProtocolFile) -> str:
    own = shape.per_task.criteria
    rubric = f"{{{own}}}" if own else describe_rubric(shape.criteria, shape.reply, shape.rationale)
    return compose_template(shape.title, _columns(shape), rubric, texts=shape.routing.kind == "strict")


def _declared(shape: ProtocolFile, *, composed: bool) -> tuple[str, ...]:
    """Placeholders that the template should have."""
    if not composed:
        return shape.prompt.placeholders or ()
    built_in = BUILT_IN_PLACEHOLDERS if shape.routing.kind == "strict" else ("media",)
    own = (shape.per_task.criteria,) if shape.per_task.criteria else ()
    return (*_columns(shape), *built_in, *own)


def _numbers_in_score(score: Mapping[str, ScoreNode | Decimal]) -> list[Finding]:
    """Numbers of `[score]` that are no pass mark, or none that a score could have."""
    found = []
    for key, value in score.items():
        if key == "pass_at" and not (isinstance(value, Decimal) and is_sensible(value)):
            message = "must be a number, of a size that a score can have"
            found.append(Finding(path=("score", key), message=message))
        elif key != "pass_at" and isinstance(value, Decimal):
            message = "a number is no formula; only pass_at is a number"
            found.append(Finding(path=("score", key), message=message))
    return found


def _refused(name: str, findings: Sequence[Finding]) -> ProtocolError:
    slug = findings[0].slug if len(findings) == 1 else None
    listed = "".join(f"\n  - {finding}" for finding in findings)
    return ProtocolError(
        f"{name}: {len(findings)} problem{'s' * (len(findings) > 1)}:{listed}", slug=slug, concerns=name
    )
