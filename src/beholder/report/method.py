"""Summary, manifest and run record -> the lines that say how the figures came about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beholder.report import numbers
from beholder.report.load import Json, Run
from beholder.report.notices import judge_of
from beholder.report.ranking import cost_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A line of the method: one value, or one per model where they differ (`who` names the model)."""

    label: str
    values: tuple[tuple[str, str], ...]


def method_of(runs: Sequence[Run]) -> tuple[Fact, ...]:
    """One line per fact: a value, or one per model where they differ."""
    per_run = {run.name: _facts(run) for run in runs}
    facts = []
    for label in dict.fromkeys(label for own in per_run.values() for label in own):
        values = {name: own[label] for name, own in per_run.items() if own.get(label)}
        if not values:
            continue
        shared = len(values) == len(runs) and len(set(values.values())) == 1
        pairs = (("", next(iter(values.values()))),) if shared else tuple(values.items())
        facts.append(Fact(label=label, values=pairs if len(runs) > 1 else (("", pairs[0][1]),)))
    return tuple(facts)


def _facts(run: Run) -> dict[str, str]:
    """The method's lines for one run; an empty value is left out."""
    summary, manifest, record = run.summary, run.manifest, run.run
    renderer = dict(manifest.get("renderer") or {})
    sandbox = renderer.pop("sandbox", None)
    calls, tokens = record.get("calls") or {}, record.get("tokens") or {}
    policies = [str(digest) for digest in summary.get("evidence_sha256") or []]
    facts = {
        "Protocol": str(summary.get("protocol") or ""),
        "Question sha256": str(summary.get("question_sha256") or ""),
        "Evidence policy sha256": ", ".join(policies),
        "Formula sha256": str(summary.get("formula_sha256") or ""),
        "Judge": str(judge_of(run).get("model") or ""),
        "Served as": ", ".join(judge_of(run).get("served") or []),
        "Judge settings": _settings(manifest.get("judge") or {}),
        "Repeats": _repeats(summary),
        "Interval": str(summary.get("ci_method") or ""),
        "Renderer": _flat(renderer),
        "Browser sandbox": {True: "on", False: "off", None: ""}.get(sandbox, str(sandbox)),
        "beholder": str(manifest.get("beholder") or ""),
        "Started": str(record.get("started") or ""),
        "Ended": str(record.get("ended") or ""),
        "Duration": numbers.duration(record["seconds"]) if record.get("seconds") is not None else "",
        "Calls": ", ".join(
            f"{numbers.count(n)} {name.replace('_', ' ')}" for name, n in calls.items() if isinstance(n, int)
        ),
        "Tokens": ", ".join(
            f"{numbers.count(n)} {name.replace('_', ' ')}" for name, n in tokens.items() if isinstance(n, int)
        ),
        "Cost": numbers.money(cost_of(run)) if cost_of(run) is not None else "",
    }
    return {label: text for label, text in facts.items() if text}


def _settings(judge: Json) -> str:
    """What was asked of the judge; a temperature that was left to the vendor says so."""
    told = {key: value for key, value in judge.items() if key not in ("model", "served", "scripted")}
    if "temperature" in told and told["temperature"] is None:
        told["temperature"] = "of the vendor's default"
    return _flat(told)


def _flat(mapping: Mapping[str, Any]) -> str:
    """`chromium 132.0, fonts 69`: a small mapping in one line, nested ones in brackets, unknown left out."""
    return ", ".join(_flat_pair(key, value) for key, value in mapping.items() if not _is_void(value))


def _flat_pair(key: str, value: object) -> str:
    if isinstance(value, Mapping):
        return f"{key} ({_flat(value)})"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"{key} {' '.join(map(str, value))}"
    return f"{key} {value}"


def _is_void(value: object) -> bool:
    return value is None or value in ("", [], {})


def _repeats(summary: Json) -> str:
    """How often each task was judged, and how far the repeats are apart."""
    repeats = summary.get("repeats") or {}
    n, spread, flips = repeats.get("n"), repeats.get("spread"), repeats.get("pass_flips")
    if not n:
        return ""
    parts = [str(n)]
    if isinstance(spread, int | float):
        parts.append(f"spread {numbers.fixed(spread, 1)}")
    if isinstance(flips, int):
        parts.append(numbers.plural(flips, "task flips", "tasks flip") + " between pass and fail")
    return ", ".join(parts)
