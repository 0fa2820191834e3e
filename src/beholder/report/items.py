"""One row of an out-dir -> `ItemView`: everything that a reader may ask about one verdict, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from beholder.report import numbers, words
from beholder.report.figures import Note, Scale
from beholder.report.load import Json, Run
from beholder.report.media import PictureView, VideoView, pictures_of, videos_of
from beholder.report.repeats import (
    RepeatView,
    ScoreRow,
    State,
    reason_of,
    repeat_score,
    repeats_of,
    score_rows,
    state_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """A rule checked without a judge. `outcome` is a code: `passed, failed, not_supported, error`."""

    name: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One task of one model.

    Attributes:
        order: (task, model) positions, to sort by.
        state: A key of `words.STATES`.
        score, scale: As text, such as `76.7` of `100`; `score` is a dash where there is no number.
        score_value: The number to sort by; None for what was not scored.
        repeat_scores: A text per repeat asked for, a dash for one without a number.
        spread: Largest less smallest score of the repeats; None with fewer than two.
        rests_on: What the score rests on, in words, where that is worth saying.
    """

    order: tuple[int, int]
    task_id: str
    model: str
    state: State
    reason: Note | None
    score: str
    scale: str
    score_value: float | None
    repeat_scores: tuple[str, ...]
    spread: float | None
    rests_on: str
    route: str
    labels: tuple[tuple[str, str], ...]
    flags: tuple[Note, ...]
    pictures: tuple[PictureView, ...]
    videos: tuple[VideoView, ...]
    scores: tuple[ScoreRow, ...]
    repeats: tuple[RepeatView, ...]
    warnings: tuple[Note, ...]
    not_shown: tuple[Note, ...]
    files: tuple[Note, ...]
    rules: tuple[RuleView, ...]
    identity: tuple[tuple[str, str], ...]

    @property
    def thumbnail(self) -> PictureView | None:
        """The first picture whose file is there."""
        return next((picture for picture in self.pictures if picture.url is not None), None)


def build_item(run: Run, row: Json, scale: Scale, *, order: tuple[int, int]) -> ItemView:
    """The view of one row."""
    evidence = row.get("evidence") or {}
    state = state_of(row)
    value = row.get("main_score")
    return ItemView(
        order=order,
        task_id=str(row.get("task_id", "")),
        model=run.name,
        state=state,
        reason=reason_of(row),
        score=scale.main(value, row.get("pass")) if state != "absent" else numbers.DASH,
        scale=numbers.plain(scale.ends[1], scale.digits) if scale.ends else "",
        score_value=value if state not in ("absent", "unscored") else None,
        repeat_scores=tuple(repeat_score(repeat, scale) for repeat in row.get("repeats") or []),
        spread=spread_of(row),
        rests_on=_rests_on(row, state, scale),
        route=str(row.get("route") or ""),
        labels=tuple((str(key), str(text)) for key, text in (row.get("labels") or {}).items()),
        flags=tuple(Note(code=code, words=words.flag(code)) for code in row.get("flags") or []),
        pictures=pictures_of(run, row),
        videos=videos_of(run, row),
        scores=score_rows(row, scale),
        repeats=repeats_of(row, scale),
        warnings=tuple(_warning(warning) for warning in evidence.get("warnings") or []),
        not_shown=tuple(_not_shown(piece) for piece in evidence.get("not_shown") or []),
        files=tuple(_file(artifact) for artifact in evidence.get("artifacts") or []),
        rules=tuple(_rule(rule) for rule in row.get("rules") or []),
        identity=_identity(row),
    )


def repeat_values(row: Json) -> list[float]:
    """The scores of the scored repeats."""
    derived = (repeat.get("derived") or {} for repeat in row.get("repeats") or [])
    return [one["main"] for one in derived if isinstance(one.get("main"), int | float)]


def spread_of(row: Json) -> float | None:
    """Largest less smallest score of the repeats; None with fewer than two."""
    values = repeat_values(row)
    return max(values) - min(values) if len(values) > 1 else None


def _rests_on(row: Json, state: State, scale: Scale) -> str:
    scored, requested = row.get("n_scored"), row.get("n_requested")
    if state == "absent":
        value = row.get("main_score")
        return "left out of the mean" if value is None else f"counts as {scale.main(value)}"
    if not requested or scored is None or state == "unscored":
        return ""
    if scored < requested:
        return f"rests on {scored} of {requested} repeats"
    return "" if requested == 1 else f"rests on {requested} repeats"


def _warning(warning: Json) -> Note:
    code = str(warning.get("code") or "")
    return Note(
        code=code,
        words=words.warning(code),
        detail=warning.get("detail") or "",
        source=warning.get("source") or "",
    )


def _not_shown(piece: Json) -> Note:
    return Note(
        code=piece.get("reason") or "",
        words=words.budget_or(piece.get("reason")),
        detail=piece.get("detail") or "",
        source=piece.get("name") or "",
    )


def _file(artifact: Json) -> Note:
    status = str(artifact.get("status") or "").replace("_", " ")
    code = artifact.get("reason") or ""
    why = words.budget_or(code) if status == "not shown" else words.reason(code)
    facts = [artifact.get("kind") or "", numbers.size(artifact.get("size_bytes"))]
    return Note(
        code=code,
        words=": ".join(text for text in (status, why) if text),
        detail=artifact.get("detail") or "",
        source=" · ".join([str(artifact.get("name") or ""), *(fact for fact in facts if fact)]),
    )


def _rule(rule: Json) -> RuleView:
    args = rule.get("args") or {}
    named = (
        ", ".join(f"{key} = {_argument(value)}" for key, value in args.items())
        if isinstance(args, Mapping)
        else str(args)
    )
    return RuleView(
        name=f"{rule.get('type', '')} {named}".strip(),
        outcome=str(rule.get("outcome") or ""),
        detail=str(rule.get("detail") or ""),
    )


def _argument(value: object) -> str:
    return (
        ", ".join(map(str, value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )


def _identity(row: Json) -> tuple[tuple[str, str], ...]:
    judge = row.get("judge") or {}
    facts = [
        ("judge", judge.get("model")),
        ("served as", ", ".join(judge.get("served") or [])),
        ("question sha256", row.get("question_sha256")),
        ("evidence policy sha256", row.get("evidence_sha256")),
        ("formula sha256", row.get("formula_sha256")),
    ]
    prompts = dict.fromkeys(repeat.get("prompt_sha256") for repeat in row.get("repeats") or [])
    facts += [("prompt sha256", digest) for digest in prompts]
    return tuple((label, str(value)) for label, value in facts if value)
