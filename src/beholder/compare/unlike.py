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
        *_question(first, second),
        *_formula(first, second),
        *_judges(first, second),
        *_texts(first, second),
        *_served(first, second),
        *_evidence(first, second),
    ]
    return sorted(found, key=lambda one: not one.refuses)


def _question(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    hashes = [_hashes(run, "question_sha256") for run in (first, second)]
    if hashes[0] == hashes[1] or not all(hashes):
        return
    parts = {
        "prompt_sha256": "the prompt's wording",
        "criteria": "the criteria",
        "reply": "the reply's form",
        "id": "the protocol",
    }
    protocols = [run.manifest.get("protocol") or {} for run in (first, second)]
    changed = [words for key, words in parts.items() if protocols[0].get(key) != protocols[1].get(key)]
    yield Unlike(
        code="question",
        detail=f"another question ({', '.join(changed) or 'question_sha256'}): {first.name} was asked "
        f"{_short(hashes[0])}, {second.name} {_short(hashes[1])}",
        refuses=True,
    )


def _formula(first: RunRows, second: RunRows) -> Iterator[Unlike]:
    hashes = [_hashes(run, "formula_sha256") for run in (first, second)]
    if hashes[0] == hashes[1] or not all(hashes):
        return
    yield Unlike(
        code="formula",
        detail=f"another formula: {first.name} was scored by {_short(hashes[0])}, {second.name} by "
        f"{_short(hashes[1])}; `beholder rescore` scores one as the other",
        refuses=True,
    )


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
