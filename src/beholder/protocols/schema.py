"""The shape of a protocol file: what TOML may hold, checked by pydantic; unknown keys are errors.

Sections that are nouns of `records` as they stand are checked against those very classes; the models
here are only for what the file writes differently (`prompt`, `score`, `absent`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

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


def _is_number(hint: Any) -> bool:
    """Whether a field holds numbers: one, several, or one by name."""
    if get_origin(hint) in {Mapping, dict}:
        return _is_number(get_args(hint)[1])
    return hint in {int, Decimal} or any(map(_is_number, get_args(hint)))


def _numbers_of(noun: Any) -> frozenset[str]:
    return frozenset(name for name, hint in get_type_hints(noun).items() if _is_number(hint))


def _no_number(value: Any) -> Any:
    """The value, its texts and truth values made such that no number is read out of them.

    `max = "10"` would be taken for 10, and `n = true` for 1, which an editor that goes by the schema calls
    mistakes.
    """
    if isinstance(value, Mapping):
        return {key: _no_number(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_no_number(item) for item in value]
    return f"{value!r} in quotation marks" if isinstance(value, str | bool) else value


def _read(noun: Any, **names: str) -> BeforeValidator:
    """Take a file's keys for the noun's attributes (`from` is no Python name), only numbers for numbers."""
    numbers = _numbers_of(noun)

    def rename(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        spelled = {names.get(key, key): item for key, item in value.items()}
        return {key: _no_number(item) if key in numbers else item for key, item in spelled.items()}

    return BeforeValidator(rename)


def _bands(value: Any) -> Any:
    """A criterion's bands, read as `_read` reads them; pydantic checks the rest."""
    if not isinstance(value, Mapping) or not isinstance(value.get("bands"), list):
        return value
    return {**value, "bands": [_BAND.func(band) for band in value["bands"]]}


_BAND: Any = _read(Band, **{"from": "start"})
FileCriterion = Annotated[Criterion, _read(Criterion), BeforeValidator(_bands)]
FileNode = Annotated[ScoreNode, _read(ScoreNode, **{"from": "from_"})]


def _pass_mark(value: Any) -> Any:
    """`[score]`, whose one number is read from a number only."""
    if not isinstance(value, Mapping):
        return value
    return {key: item if isinstance(item, Mapping) else _no_number(item) for key, item in value.items()}


FileScore = Annotated[dict[str, FileNode | Decimal], BeforeValidator(_pass_mark)]


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
    judge: Annotated[JudgeDefaults, _read(JudgeDefaults)] = JudgeDefaults()
    repeats: Annotated[Repeats, _read(Repeats)] = Repeats()
    routing: Routing = Routing()
    evidence: Annotated[EvidencePolicy, _read(EvidencePolicy)] = EvidencePolicy()
    absent: AbsentSection = AbsentSection()
    per_task: PerTask = PerTask()
    criteria: tuple[FileCriterion, ...]
    score: FileScore = {}
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
    text = inspect.getdoc(noun) or ""  # a newer Python takes the indent off by itself
    words = _attribute_words(text)
    properties = {
        _SPELLED.get(name, name): ({"description": words[name]} if name in words else {}) | item
        for name, item in part.get("properties", {}).items()
    }
    required = [_SPELLED.get(name, name) for name in part.get("required", [])]
    first_line = text.split("\n")[0]
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
        begins = re.match(r" {4}([a-z_0-9]+(?:, [a-z_0-9]+)*): (.*)", line)
        if begins:
            names = begins[1].split(", ")
            found |= dict.fromkeys(names, begins[2])
        elif names and line.strip():
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found
