"""What stored replies are read by: the protocol of a run, or another one that asks the same question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from beholder.errors import ProtocolError, StoreError
from beholder.protocols import formula_sha256, load_protocol, question_sha256
from beholder.records import Criterion, Protocol
from beholder.rows import Pins
from beholder.run.finish import protocol_record
from beholder.store import json_number, read_json

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One model's out-dir, and the protocol that its replies are read by now."""

    path: Path
    manifest: Json
    protocol: Protocol


def load_source(
    path: Path, ref: str | Path | None, prompt_file: Path | None, pass_at: Decimal | None
) -> Source:
    """An out-dir whose question is that of the protocol. Raises StoreError (`pinned`) if it is not."""
    manifest = read_json(path / "manifest.json")
    if manifest is None or "protocol" not in manifest:
        raise StoreError(
            f"{path}: no manifest.json of a finished run; is it an out-dir of judge-run?", slug="no_results"
        )
    asked = manifest["protocol"]
    own = ref is None
    protocol = _load_own(path, asked) if ref is None else load_protocol(ref, prompt_file=prompt_file)
    n = int(asked["repeats"]["n"])
    if protocol.repeats.min_scored > n:
        raise ProtocolError(
            f"{protocol.source}: min_scored = {protocol.repeats.min_scored}, and {path} was asked for {n} a "
            "task: none could be scored; lower it, or ask again with --repeats",
            concerns=protocol.source,
        )
    protocol = replace(protocol, repeats=replace(protocol.repeats, n=n))
    if own and "rescored" in manifest:
        # The pass mark may have been a flag's.
        mark = None if asked["pass_at"] is None else Decimal(str(asked["pass_at"]))
        protocol = replace(protocol, score=replace(protocol.score, pass_at=mark))
    differing = _differences(asked, protocol)
    if own and formula_sha256(protocol) != asked["formula_sha256"]:
        differing += _formula_differences(asked, protocol)
    if differing:
        listed = "".join(f"\n  - {line}" for line in differing)
        message = (
            f"{path}: {protocol.source} is not what the run was scored by; it was edited, or is another "
            f"file now:{listed}\nTo score by it as it is, or by another, name it with --protocol; "
            "only the formula may differ"
            if own
            else f"{path}: its replies answer another question than {protocol.source} asks:{listed}\n"
            "Only the formula may change: [score], weights, reduce, min_scored, [absent]. A new question "
            "needs new replies: judge-run with another --out-dir"
        )
        raise StoreError(message, slug="pinned", concerns=str(path))
    score = protocol.score if pass_at is None else replace(protocol.score, pass_at=pass_at)
    return Source(path=path, manifest=manifest, protocol=replace(protocol, score=score))


def _load_own(path: Path, asked: Json) -> Protocol:
    """The protocol that the run names, with the wording that was asked."""
    try:
        protocol = load_protocol(str(asked["source"]))
    except ProtocolError as error:
        if error.slug != "unknown_protocol":
            raise
        raise ProtocolError(
            f"{path}: its protocol {asked['source']} is not there now; name it with --protocol",
            slug=error.slug,
            concerns=str(asked["source"]),
        ) from None
    source = asked["prompt_source"]
    if source in {protocol.prompt.source, "prompt.text", "criteria"}:
        return protocol  # the protocol's own wording was asked
    # It was a file of the user's own: nobody named another, so it is what was asked, wherever it is now.
    return replace(protocol, prompt=replace(protocol.prompt, sha256=asked["prompt_sha256"], source=source))


def _formula_differences(asked: Json, protocol: Protocol) -> list[str]:
    """In what the protocol's formula is not the one that the run was scored by, in words."""
    hashes = Pins(question_sha256=question_sha256(protocol), formula_sha256=formula_sha256(protocol))
    now = json.loads(json.dumps(protocol_record(protocol, hashes), default=json_number))
    pairs = [(name, asked[name], now[name]) for name in ("absent", "pass_at")]
    for part in ("repeats", "score"):
        names = dict.fromkeys((*asked[part], *now[part]))
        pairs += [(f"{part}.{name}", asked[part].get(name), now[part].get(name)) for name in names]
    weights = {item["key"]: item["weight"] for item in now["criteria"]}
    pairs += [
        (f"weight of {item['key']!r}", item["weight"], weights.get(item["key"])) for item in asked["criteria"]
    ]
    found = [f"{name}: was {before!r}, now {after!r}" for name, before, after in pairs if before != after]
    return found or ["the formula"]


def _differences(asked: Json, protocol: Protocol) -> list[str]:
    """In what the protocol's question is not the one that was asked, in words; empty if it is."""
    if question_sha256(protocol) == asked["question_sha256"]:
        return []
    found = []
    before = {item["key"]: _question_part(item) for item in asked["criteria"]}
    now = {criterion.key: _question_part(_plain(criterion)) for criterion in protocol.criteria}
    found += [f"criterion {key!r} was not asked" for key in now if key not in before]
    found += [f"criterion {key!r} was asked and is gone" for key in before if key not in now]
    for key in before.keys() & now.keys():
        parts = [name for name in before[key] if before[key][name] != now[key].get(name)]
        found += [
            f"criterion {key!r}, {name}: asked {before[key][name]!r}, now {now[key].get(name)!r}"
            for name in parts
        ]
    if not found and list(before) != list(now):
        found.append("the order of the criteria")
    if asked["prompt_sha256"] != protocol.prompt.sha256:
        found.append(
            f"the prompt's wording: asked {asked['prompt_source']} ({asked['prompt_sha256'][:12]}…), now "
            f"{protocol.prompt.source} ({protocol.prompt.sha256[:12]}…); if the run had --prompt-file, "
            "name it again"
        )
    return found or [f"the reply form: now {protocol.reply!r}"]


def _question_part(criterion: Json) -> dict[str, Any]:
    """What of a criterion is asked: all but its weight."""
    return {key: value for key, value in criterion.items() if key != "weight"}


def _plain(criterion: Criterion) -> dict[str, Any]:
    """A criterion as the manifest has it."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(criterion), default=json_number))
    return plain
