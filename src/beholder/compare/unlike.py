"""What makes runs no fair pair: another question, formula, judge or task text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beholder.compare.load import RunRows

Json = Mapping[str, Any]

SHOWN_TASKS = 5
_JUDGE_SETTINGS = ("max_tokens", "temperature", "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """One way in which two runs differ.

    Attributes:
        code: `question`, `formula`, `judge`, `task_text`, `task_texts_unknown`, `served_models`, `base_url`,
            `script`, `evidence_policy`.
        refuses: Whether numbers may not stand side by side for it, unless the user says so.
        tasks: Ids of the tasks concerned; empty where it is all of them.
    """

    code: str
    detail: str
    refuses: bool
    tasks: tuple[str, ...] = ()


def unlike(first: RunRows, second: RunRows) -> list[Unlike]:
    """Every way in which two runs differ, what refuses first."""
    found = [
        *_protocols(first, second),
        *_judges(first, second),
        *_texts(first, second),
        *_served(first, second),
        *_evidence(first, second),
    ]
    return sorted(found, key=lambda one: not one.refuses)


def _protocols(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    ids = [sorted({str(row["protocol"]) for row in run.rows}) for run in (first, second)]
    if all(ids) and ids[0] != ids[1]:
        yield Unlike(
            code="question",
            detail=f"another protocol: {first.name} was judged by {', '.join(ids[0])}, {second.name} by "
            f"{', '.join(ids[1])}; compare runs of one protocol",
            refuses=True,
        )
    else:
        yield from _question(first, second)
        yield from _formula(first, second)


def _question(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    hashes = [_hashes(run, "question_sha256") for run in (first, second)]
    if hashes[0] == hashes[1] or not all(hashes):
        return
    a, b = (run.manifest.get("protocol") or {} for run in (first, second))
    changed = ["the prompt's wording"] if a.get("prompt_sha256") != b.get("prompt_sha256") else []
    if a.get("criteria") != b.get("criteria"):
        changed.append(_criteria(a.get("criteria") or (), b.get("criteria") or ()))
    if a.get("reply") != b.get("reply"):
        changed.append("the reply's form")
    yield Unlike(
        code="question",
        detail=f"another question ({', '.join(changed) or 'question_sha256'}): {first.name} was asked "
        f"{_short(hashes[0])}, {second.name} {_short(hashes[1])}; judge both with one protocol file",
        refuses=True,
    )


def _criteria(a: Sequence[Json], b: Sequence[Json]) -> str:
    """The criteria that differ, by key; those of one run only too."""
    own = [{one["key"]: {**one, "weight": None} for one in criteria} for criteria in (a, b)]
    keys = [key for key in dict.fromkeys([*own[0], *own[1]]) if own[0].get(key) != own[1].get(key)]
    more = f" and {len(keys) - SHOWN_TASKS} more" if len(keys) > SHOWN_TASKS else ""
    return f"the criteria {', '.join(keys[:SHOWN_TASKS])}{more}" if keys else "the criteria's order"


def _formula(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    hashes = [_hashes(run, "formula_sha256") for run in (first, second)]
    if hashes[0] == hashes[1] or not all(hashes):
        return
    changed = _changes(*(run.manifest.get("protocol") or {} for run in (first, second)))
    yield Unlike(
        code="formula",
        detail=f"another formula ({', '.join(changed) or 'formula_sha256'}): {first.name} was scored by "
        f"{_short(hashes[0])}, {second.name} by {_short(hashes[1])}; `beholder rescore` with --protocol or "
        "--pass-at scores one as the other, without any call",
        refuses=True,
    )


def _changes(a: Json, b: Json) -> list[str]:
    """What two formulas differ in, in words."""
    repeats = [protocol.get("repeats") or {} for protocol in (a, b)]
    said = {
        "the pass mark": (a.get("pass_at"), b.get("pass_at")),
        "what an absent submission counts": (a.get("absent"), b.get("absent")),
        "how repeats become one": (repeats[0].get("reduce"), repeats[1].get("reduce")),
        "repeats needed for a score": (repeats[0].get("min_scored"), repeats[1].get("min_scored")),
    }
    changed = [
        f"{words}, {_or_none(one)} against {_or_none(other)}"
        for words, (one, other) in said.items()
        if one != other
    ]
    weights = [[one.get("weight") for one in protocol.get("criteria") or ()] for protocol in (a, b)]
    changed += ["the score's formula"] if a.get("score") != b.get("score") else []
    return changed + (["the criteria's weights"] if weights[0] != weights[1] else [])


def _or_none(value: Any) -> str:
    return "none" if value is None else str(value)


def _judges(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    """Each route's judge: of what can be seen, and of texts where that is another one."""
    for route in ("judge", "text_judge"):
        judges = [_judge_of(run, route) for run in (first, second)]
        if all(judges):
            yield from _judge(first, second, *judges)


def _judge(first: RunRows, second: RunRows, a: Json, b: Json) -> Iterator[Unlike]:
    if a.get("scripted") and b.get("scripted"):
        if (a.get("model"), a.get("script_sha256")) != (b.get("model"), b.get("script_sha256")):
            yield Unlike(
                code="script",
                detail=f"scripted replies of {first.name} and {second.name} come from different files",
                refuses=False,
            )
        a, b = ({key: value for key, value in judge.items() if key != "model"} for judge in (a, b))
    changed = [
        f"{key} {_said(a.get(key))} against {_said(b.get(key))}"
        for key in ("model", *_JUDGE_SETTINGS)
        if key in a and key in b and a[key] != b[key]
    ]
    if changed:
        yield Unlike(
            code="judge",
            detail=f"another judge for {first.name} than for {second.name}: {'; '.join(changed)}",
            refuses=True,
        )
    if "base_url" in a and "base_url" in b and a["base_url"] != b["base_url"]:
        yield Unlike(
            code="base_url",
            detail=f"the judge of {first.name} was asked at {_said(a['base_url'])}, of {second.name} at "
            f"{_said(b['base_url'])}",
            refuses=False,
        )


def _texts(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    records = [run.manifest.get("tasks") or {} for run in (first, second)]
    a, b = (record.get("texts") for record in records)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        changed = tuple(task for task, digest in a.items() if task in b and b[task] != digest)
        if changed:
            more = f" and {len(changed) - SHOWN_TASKS} more" if len(changed) > SHOWN_TASKS else ""
            yield Unlike(
                code="task_text",
                detail=f"{first.name} and {second.name} were asked other texts under the same task id: "
                f"{', '.join(changed[:SHOWN_TASKS])}{more}",
                refuses=True,
                tasks=changed,
            )
    elif records[0].get("sha256") is None or records[0].get("sha256") != records[1].get("sha256"):
        yield Unlike(
            code="task_texts_unknown",
            detail=f"whether {first.name} and {second.name} were asked the same texts is not recorded; run "
            "judge-run again on each out-dir (no call is repeated) to record it",
            refuses=False,
        )


def _served(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    served = [
        sorted({name for row in run.rows for name in row["judge"]["served"]}) for run in (first, second)
    ]
    if all(served) and served[0] != served[1]:
        yield Unlike(
            code="served_models",
            detail=f"the models that answered differ: {', '.join(served[0])} for {first.name}, "
            f"{', '.join(served[1])} for {second.name}",
            refuses=False,
        )


def _evidence(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    hashes = [_hashes(run, "evidence_sha256") for run in (first, second)]
    if all(hashes) and hashes[0] != hashes[1]:
        yield Unlike(
            code="evidence_policy",
            detail=f"pictures of {first.name} and {second.name} were made under different evidence policies",
            refuses=False,
        )


def _judge_of(run: RunRows, route: str) -> Json:
    """The judge's identity, from the manifest, else from the rows; empty where there is none."""
    stored = run.manifest.get(route)
    if isinstance(stored, Mapping):
        return stored
    if route != "judge":
        return {}
    rows = [row["judge"] for row in run.rows[:1]]
    return {"model": rows[0]["model"], "scripted": rows[0]["scripted"]} if rows else {}


def _hashes(run: RunRows, key: str) -> list[str]:
    return sorted({str(row[key]) for row in run.rows})


def _short(hashes: Sequence[str]) -> str:
    return ", ".join(text[:12] for text in hashes)


def _said(value: Any) -> str:
    return "the vendor's default" if value is None else repr(value)
