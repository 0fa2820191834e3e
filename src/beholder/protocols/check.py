"""A protocol file's text -> its parts and everything that is wrong with it, each mistake with its place.

Parts are checked one by one, so that a mistake in one hides none in another: a wrong criterion is told
beside a formula that names an unknown one. A file that is no TOML is read on without the broken line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from beholder.protocols.check_criteria import criteria_findings, unreadable_lines
from beholder.protocols.check_score import score_findings
from beholder.protocols.check_sections import section_findings
from beholder.protocols.check_shape import good_criteria, good_nodes, shape_findings
from beholder.protocols.finding import Finding
from beholder.protocols.places import key_lines, line_of
from beholder.protocols.read_toml import read_toml
from beholder.protocols.schema import ProtocolFile
from beholder.records import Criterion, ScoreNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What could be made of a protocol file: whole only if nothing was found."""

    raw: Mapping[str, Any]
    shape: ProtocolFile | None
    criteria: tuple[Criterion, ...]
    nodes: Mapping[str, ScoreNode]


def check_text(text: str) -> tuple[Parts, list[Finding]]:
    """The parts of a protocol file and every mistake in it, in the order of the file."""
    raw, readable, findings = read_toml(text)
    parts, more = check_document(raw)
    if findings:
        more = [finding for finding in more if not finding.follows]
    lines = key_lines(readable)
    placed = [replace(finding, line=line_of(finding.path, lines)) for finding in more]
    return parts, sorted([*findings, *placed], key=lambda finding: finding.line or 0)


def check_document(raw: Mapping[str, Any]) -> tuple[Parts, list[Finding]]:
    """The parts of a protocol as data, and every mistake in them."""
    findings: list[Finding] = []
    shape: ProtocolFile | None = None
    try:
        shape = ProtocolFile.model_validate(raw)
    except ValidationError as error:
        findings += shape_findings(error, raw)
    criteria = good_criteria(raw.get("criteria"))
    findings += criteria_findings(tuple(c for _, c in criteria), [at for at, _ in criteria])
    nodes, wrong = good_nodes(raw.get("score"))
    findings += score_findings(raw, nodes, wrong, tuple(c for _, c in criteria))
    findings += section_findings(raw)
    rationale = raw.get("rationale", "reason")
    if isinstance(rationale, str) and not rationale.strip():
        message = "is empty; name the reply's key for the judge's words, such as \"reason\""
        findings.append(Finding(path=("rationale",), message=message))
    if raw.get("reply") == "lines":
        findings += unreadable_lines(criteria)
    if rationale in [c.key for _, c in criteria]:  # no set: it may be anything that TOML holds
        findings.append(
            Finding(path=("rationale",), message=f"{rationale!r} is a criterion's key too; choose another")
        )
    return Parts(raw=raw, shape=shape, criteria=tuple(c for _, c in criteria), nodes=nodes), findings
