"""The repeats of a row: what the judge gave each time, and the table of scores by repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from beholder.report import numbers, words
from beholder.report.figures import Note, Scale
from beholder.report.load import Json

State = str
"""A key of `words.STATES`."""

MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One line of the score table: a criterion, or a name of the formula (`kind` is `derived` or `main`).

    Attributes:
        value: The mean as a number, to subtract from another model's; None where there is none.
    """

    name: str
    kind: str
    scale: str
    cells: tuple[str, ...]
    mean: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatView:
    """One asking of the judge."""

    number: int
    state: State
    score: str
    reason: Note | None
    rationale: str
    flags: tuple[Note, ...]
    repairs: tuple[str, ...]
    stop_reason: str


def state_of(row: Json) -> State:
    """What became of a task or a repeat: a scored one with a pass mark has `passed` or `failed`."""
    outcome = row.get("outcome") or "unscored"
    if outcome != "scored" or row.get("pass") is None:
        return str(outcome)
    return "passed" if row["pass"] else "failed"


def reason_of(row: Json) -> Note | None:
    """Why a task or a repeat has no score, with what is known in particular."""
    code = row.get("reason")
    if not code:
        return None
    return Note(code=code, words=words.reason(code), detail=_cause(row, code))


def repeat_score(repeat: Json, scale: Scale) -> str:
    """A repeat's score as text, a dash if it has none."""
    if repeat.get("outcome") != "scored":
        return numbers.DASH
    return scale.main((repeat.get("derived") or {}).get(MAIN), repeat.get("pass"))


def repeats_of(row: Json, scale: Scale) -> tuple[RepeatView, ...]:
    """Every repeat, in order."""
    return tuple(
        RepeatView(
            number=int(repeat.get("repeat") or 0),
            state=state_of(repeat),
            score=repeat_score(repeat, scale),
            reason=reason_of(repeat),
            rationale=repeat.get("rationale") or "",
            flags=tuple(Note(code=code, words=words.flag(code)) for code in repeat.get("flags") or []),
            repairs=tuple(map(str, repeat.get("repairs") or [])),
            stop_reason=repeat.get("stop_reason") or "",
        )
        for repeat in row.get("repeats") or []
    )


def score_rows(row: Json, scale: Scale) -> tuple[ScoreRow, ...]:
    """Criteria in the rubric's order, then the formula's names, `main` last; a gap is a dash."""
    repeats = row.get("repeats") or []
    if not any(repeat.get("outcome") == "scored" for repeat in repeats):
        return ()
    scores, derived = row.get("scores") or {}, row.get("derived") or {}
    ends = scale.criteria if row.get("criteria") is None else _own_ends(row["criteria"])
    criteria = _names(ends, scores, *(repeat.get("scores") or {} for repeat in repeats))
    formula = _names(derived, *(repeat.get("derived") or {} for repeat in repeats))
    rows = [_score_row(key, "criterion", scores, repeats, "scores", ends.get(key)) for key in criteria]
    rows += [_score_row(key, "derived", derived, repeats, "derived") for key in formula if key != MAIN]
    rows.append(
        ScoreRow(
            name="score",
            kind=MAIN,
            scale=numbers.span(scale.ends),
            cells=tuple(repeat_score(repeat, scale) for repeat in repeats),
            mean=scale.main(row.get("main_score"), row.get("pass")),
            value=row.get("main_score"),
        )
    )
    return tuple(rows)


def _own_ends(criteria: Sequence[Json]) -> dict[str, tuple[float, float] | None]:
    """The scales of a task's own criteria, which stand in place of the protocol's."""
    return {str(one["key"]): (one["min"], one["max"]) for one in criteria}


def _score_row(
    key: str,
    kind: str,
    means: Json,
    repeats: Sequence[Json],
    member: str,
    ends: tuple[float, float] | None = None,
) -> ScoreRow:
    mean = means.get(key)
    return ScoreRow(
        name=key,
        kind=kind,
        scale=numbers.span(ends),
        cells=tuple(_value((repeat.get(member) or {}).get(key)) for repeat in repeats),
        mean=_value(mean, ends),
        value=None if mean is None else float(mean),
    )


def _names(*sources: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(key for source in sources for key in source))


@lru_cache(maxsize=2**15, typed=True)  # true, 1 and 1.0 are equal and are not the same
def _value(value: float | bool | None, ends: tuple[float, float] | None = None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return numbers.plain(value, 2, marks=ends or ())


def _cause(row: Json, code: str) -> str:
    """What is known of a reason in particular: a repeat's `detail`, a task's `main_score_error`."""
    text = str(row.get("detail") or row.get("main_score_error") or "")
    return "" if text == code else text.removeprefix(f"{code}: ")
