"""The shape of a protocol file: what TOML may hold, checked by pydantic; unknown keys are errors.

Sections that are nouns of `records` as they stand are checked against those very classes; the models
here are only for what the file writes differently (`prompt`, `score`, `absent`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, with_config

from beholder.records import (
    Band,
    Criterion,
    EvidencePolicy,
    JudgeDefaults,
    PerTask,
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
    PerTask,
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
    per_task: PerTask = PerTask()
    criteria: tuple[FileCriterion, ...]
    score: dict[str, FileNode | Decimal] = {}
    table: ResultTable | None = None


_SECTIONS: Mapping[str, Any] = {
    "prompt": PromptSection,
    "judge": JudgeDefaults,
    "repeats": Repeats,
    "routing": Routing,
    "evidence": EvidencePolicy,
    "absent": AbsentSection,
    "per_task": PerTask,
    "criteria": Criterion,
    "bands": Band,
    "score": ScoreNode,
    "table": ResultTable,
    "columns": TableColumn,
}
SCHEMA_ID = "beholder/protocol/1"
_SPELLED = {"start": "from", "from_": "from", "schema_version": "schema"}


def keys_of(path: Sequence[str | int]) -> list[str]:
    """The keys that may stand at a place of the file, such as `("criteria", 0)`; empty where any may."""
    names = [part for part in path if isinstance(part, str)]
    if names == ["score"]:
        return []
    section = ProtocolFile if not names else _SECTIONS.get("score" if names[0] == "score" else names[-1])
    if section is None:
        return []
    found = section.model_fields if isinstance(section, type(BaseModel)) else section.__dataclass_fields__
    return [_SPELLED.get(name, name) for name in found]


def protocol_json_schema() -> dict[str, Any]:
    """The JSON Schema of a protocol file, for editors; made from the declarations that check it."""
    schema: dict[str, Any] = _plain_schema(ProtocolFile.model_json_schema(by_alias=True))
    nouns = {kind.__name__: kind for kind in _SECTIONS.values()}
    schema["$defs"] = {name: _in_file_words(part, nouns[name]) for name, part in schema["$defs"].items()}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "A protocol of beholder",
        "description": "What a judge is asked, what it is shown, and how its answers become one score.",
    }
    return {**head, **{name: part for name, part in schema.items() if name not in head}}


def _plain_schema(part: Any) -> Any:
    """Without what TOML has not: numbers as text, null; and without titles, which only repeat the keys."""
    if isinstance(part, list):
        return [_plain_schema(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {
        name: _plain_schema(item) for name, item in part.items() if name != "title" or isinstance(item, dict)
    }
    if "anyOf" in kept:
        number = {"type": "number"} in kept["anyOf"]
        choices = [
            item
            for item in kept["anyOf"]
            if item != {"type": "null"} and not (number and item.get("type") == "string")
        ]
        kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        if len(choices) == 1:
            del kept["anyOf"]
    if kept.get("type") == "number" and isinstance(kept.get("default"), str):
        kept["default"] = float(kept["default"])
    if "default" in kept and (kept["default"] is None or isinstance(kept["default"], dict)):
        del kept["default"]  # a table's defaults stand at its keys
    return kept


def _in_file_words(part: dict[str, Any], noun: Any) -> dict[str, Any]:
    """A section's schema with the keys as the file spells them and the words of the noun's docstring."""
    words = _attribute_words(noun.__doc__ or "")
    properties = {
        _SPELLED.get(name, name): ({"description": words[name]} if name in words else {}) | item
        for name, item in part.get("properties", {}).items()
    }
    required = [_SPELLED.get(name, name) for name in part.get("required", [])]
    first_line = (noun.__doc__ or "").split("\n")[0]
    return {
        **part,
        "description": first_line,
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _attribute_words(docstring: str) -> dict[str, str]:
    """What a docstring's `Attributes:` say, by name; `min, max: …` is of both."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in docstring.partition("Attributes:")[2].splitlines():
        begins = re.match(r" {8}([a-z_0-9]+(?:, [a-z_0-9]+)*): (.*)", line)
        if begins:
            names = begins[1].split(", ")
            found |= dict.fromkeys(names, begins[2])
        elif names and line.strip():
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found
