"""The shape of a protocol file: what TOML may hold, checked by pydantic; unknown keys are errors.

Sections that are nouns of `records` as they stand are checked against those very classes; the models
here are only for what the file writes differently (`prompt`, `score`, `absent`).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, with_config

from beholder.records import (
    Band,
    Criterion,
    EvidencePolicy,
    JudgeDefaults,
    Repeats,
    ResultTable,
    Routing,
    ScoreNode,
    TableColumn,
)

for _noun in (
    Band,
    Criterion,
    EvidencePolicy,
    JudgeDefaults,
    Repeats,
    ResultTable,
    Routing,
    ScoreNode,
    TableColumn,
):
    with_config(ConfigDict(extra="forbid"))(_noun)


def _renamed(**names: str) -> BeforeValidator:
    """Accept a key of the file under the noun's attribute name (`from` is no Python name)."""

    def rename(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {names.get(key, key): item for key, item in value.items()}

    return BeforeValidator(rename)


def _renamed_bands(value: Any) -> Any:
    if not isinstance(value, Mapping) or not isinstance(value.get("bands"), list):
        return value
    bands = [
        {("start" if key == "from" else key): item for key, item in band.items()}
        if isinstance(band, Mapping)
        else band
        for band in value["bands"]
    ]
    return {**value, "bands": bands}


FileCriterion = Annotated[Criterion, BeforeValidator(_renamed_bands)]
FileNode = Annotated[ScoreNode, _renamed(**{"from": "from_"})]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PromptSection(_Section):
    """`[prompt]`: a text or a file beside the protocol; neither: it is written from the criteria."""

    text: str | None = None
    file: str | None = None
    placeholders: tuple[str, ...] | None = None
    sha256: Annotated[str | None, Field(pattern=r"^[0-9a-f]{64}$")] = None


class AbsentSection(_Section):
    """`[absent]`."""

    policy: Literal["zero", "exclude"] = "zero"


class ProtocolFile(_Section):
    """A whole file, `schema = 1`."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*/[0-9]+$")]
    title: str
    reply: Literal["json", "lines"] = "json"
    rationale: str = "reason"
    group_by: tuple[str, ...] = ()
    prompt: PromptSection = PromptSection()
    judge: JudgeDefaults = JudgeDefaults()
    repeats: Repeats = Repeats()
    routing: Routing = Routing()
    evidence: EvidencePolicy = EvidencePolicy()
    absent: AbsentSection = AbsentSection()
    criteria: tuple[FileCriterion, ...]
    score: dict[str, FileNode | Decimal]
    table: ResultTable | None = None
