"""One row of an out-dir -> `ItemView`: everything that a reader may ask about one verdict, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beholder.report import numbers, words
from beholder.report.load import INLINE_CHARS, Json, Run, TaskTexts, folder_of, image_paths, url

State = str
"""A key of `words.STATES`."""

MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a protocol's numbers range over, from the summary.

    Attributes:
        ends: Lowest and highest main score; None if the summary does not say.
        pass_at: The pass mark, if there is one.
        criteria: Lowest and highest value by criterion, in the rubric's order.
    """

    ends: tuple[float, float] | None
    pass_at: float | None
    criteria: Mapping[str, tuple[float, float] | None]

    @property
    def digits(self) -> int:
        """Decimals of a main score."""
        return numbers.digits_for(self.ends)

    def main(self, value: float | None, passed: bool | None = None) -> str:
        """A task's or a repeat's main score."""
        return numbers.score(value, self.digits, ends=self.ends or (), pass_at=self.pass_at, passed=passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A code with its meaning and what is known in particular."""

    code: str
    words: str
    detail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureView:
    """A picture as it was sent. `url` is relative to the report, None if the file is gone."""

    url: str | None
    width_px: int
    height_px: int
    caption: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """A verbatim text. `cut` counts the characters that only the file at `url` has."""

    text: str
    url: str
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One line of the score table: a criterion, or a name of the formula (`kind` is `derived` or `main`)."""

    name: str
    kind: str
    scale: str
    cells: tuple[str, ...]
    mean: str


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
    reply: TextView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """A rule checked without a judge."""

    name: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One task of one model.

    Attributes:
        id: Anchor in the page.
        order: (task, model) positions, to sort by.
        state: A key of `words.STATES`.
        score, scale: As text, such as `76.7` of `100`; `score` is a dash where there is no number.
        score_value: The number to sort by; None for what was not scored.
        position: Of the score on its scale, 0 to 100, for a small bar; None without one.
        repeat_scores: A text per repeat asked for, a dash for one without a number.
        spread: What the score rests on, in words, where that is worth saying.
    """

    id: str
    order: tuple[int, int]
    task_id: str
    model: str
    state: State
    reason: Note | None
    score: str
    scale: str
    score_value: float | None
    position: float | None
    repeat_scores: tuple[str, ...]
    spread: str
    route: str
    labels: tuple[tuple[str, str], ...]
    flags: tuple[Note, ...]
    pictures: tuple[PictureView, ...]
    scores: tuple[ScoreRow, ...]
    repeats: tuple[RepeatView, ...]
    warnings: tuple[Note, ...]
    not_shown: tuple[Note, ...]
    files: tuple[Note, ...]
    rules: tuple[RuleView, ...]
    prompt: TextView | None
    identity: tuple[tuple[str, str], ...]

    @property
    def thumbnail(self) -> PictureView | None:
        """The first picture whose file is there."""
        return next((picture for picture in self.pictures if picture.url is not None), None)


def build_item(run: Run, row: Json, scale: Scale, *, id_: str, order: tuple[int, int]) -> ItemView:
    """The view of one row."""
    repeats = row.get("repeats") or []
    evidence = row.get("evidence") or {}
    folder = folder_of(row)
    texts = run.texts.get(folder, TaskTexts())
    state = state_of(row)
    value = row.get("main_score")
    return ItemView(
        id=id_,
        order=order,
        task_id=str(row.get("task_id", "")),
        model=run.name,
        state=state,
        reason=_reason(row),
        score=scale.main(value, row.get("pass")) if state != "absent" else numbers.DASH,
        scale=numbers.plain(scale.ends[1], scale.digits) if scale.ends else "",
        score_value=value if state not in ("absent", "unscored") else None,
        position=_position(value, scale) if state not in ("absent", "unscored") else None,
        repeat_scores=tuple(_repeat_score(repeat, scale) for repeat in repeats),
        spread=_spread(row, state, scale),
        route=str(row.get("route") or ""),
        labels=tuple((str(key), str(text)) for key, text in (row.get("labels") or {}).items()),
        flags=tuple(Note(code=code, words=words.flag(code)) for code in row.get("flags") or []),
        pictures=_pictures(run, row),
        scores=_score_rows(row, repeats, scale),
        repeats=tuple(_repeat(run, folder, texts, repeat, scale) for repeat in repeats),
        warnings=tuple(
            Note(
                code=warning["code"],
                words=words.warning(warning["code"]),
                detail=warning.get("detail") or "",
                source=warning.get("source") or "",
            )
            for warning in evidence.get("warnings") or []
        ),
        not_shown=tuple(
            Note(
                code=piece.get("reason") or "",
                words=words.budget_or(piece.get("reason")),
                detail=piece.get("detail") or "",
                source=piece.get("name") or "",
            )
            for piece in evidence.get("not_shown") or []
        ),
        files=tuple(_file(artifact) for artifact in evidence.get("artifacts") or []),
        rules=tuple(_rule(rule) for rule in row.get("rules") or []),
        prompt=None if texts.prompt is None else _text(texts.prompt, url(run.base, folder, "prompt.txt")),
        identity=_identity(row, repeats),
    )


def state_of(row: Json) -> State:
    """What became of a task or a repeat: a scored one with a pass mark has `passed` or `failed`."""
    outcome = row.get("outcome") or "unscored"
    if outcome != "scored" or row.get("pass") is None:
        return str(outcome)
    return "passed" if row["pass"] else "failed"


def _reason(row: Json) -> Note | None:
    code = row.get("reason")
    if not code:
        return None
    return Note(code=code, words=words.reason(code), detail=_cause(row, code))


def _cause(row: Json, code: str) -> str:
    """What is known of a reason in particular: a repeat's `detail`, a task's `main_score_error`."""
    text = str(row.get("detail") or row.get("main_score_error") or "")
    return "" if text == code else text.removeprefix(f"{code}: ")


def _position(value: float | None, scale: Scale) -> float | None:
    if value is None or scale.ends is None or scale.ends[0] == scale.ends[1]:
        return None
    low, high = scale.ends
    return min(100.0, max(0.0, 100 * (value - low) / (high - low)))


def _repeat_score(repeat: Json, scale: Scale) -> str:
    if repeat.get("outcome") != "scored":
        return numbers.DASH
    return scale.main((repeat.get("derived") or {}).get(MAIN), repeat.get("pass"))


def _spread(row: Json, state: State, scale: Scale) -> str:
    scored, requested = row.get("n_scored"), row.get("n_requested")
    if state == "absent":
        value = row.get("main_score")
        return "left out of the mean" if value is None else f"counts as {scale.main(value)}"
    if not requested or scored is None or state == "unscored":
        return ""
    if scored < requested:
        return f"rests on {scored} of {requested} repeats"
    return "" if requested == 1 else f"rests on {requested} repeats"


def _pictures(run: Run, row: Json) -> tuple[PictureView, ...]:
    images = (row.get("evidence") or {}).get("images") or []
    safe = set(image_paths(row)) - run.missing
    return tuple(
        PictureView(
            url=url(run.base, image["path"]) if image.get("path") in safe else None,
            width_px=int(image.get("width_px") or 0),
            height_px=int(image.get("height_px") or 0),
            caption=_caption(number, image),
            sha256=image.get("sha256") or "",
        )
        for number, image in enumerate(images, 1)
    )


def _caption(number: int, image: Json) -> str:
    pieces = [f"Image {number}"]
    if image.get("source"):
        pieces.append(str(image["source"]))
    if image.get("page") is not None:
        of = f" of {image['pages']}" if image.get("pages") is not None else ""
        pieces.append(f"page {image['page']}{of}")
    if image.get("part") is not None:
        of = f" of {image['parts']}" if image.get("parts") is not None else ""
        pieces.append("overview" if image["part"] == 0 else f"part {image['part']}{of}")
    return " · ".join(pieces)


def _score_rows(row: Json, repeats: Sequence[Json], scale: Scale) -> tuple[ScoreRow, ...]:
    """Criteria in the rubric's order, then the formula's names, `main` last; a gap is a dash."""
    scores, derived = row.get("scores") or {}, row.get("derived") or {}
    criteria = _names(scale.criteria, scores, *(repeat.get("scores") or {} for repeat in repeats))
    formula = _names(derived, *(repeat.get("derived") or {} for repeat in repeats))
    if not any(repeat.get("outcome") == "scored" for repeat in repeats):
        return ()
    rows = [
        ScoreRow(
            name=key,
            kind="criterion",
            scale=numbers.span(scale.criteria.get(key)),
            cells=tuple(_value((repeat.get("scores") or {}).get(key)) for repeat in repeats),
            mean=_value(scores.get(key), scale.criteria.get(key)),
        )
        for key in criteria
    ]
    rows += [
        ScoreRow(
            name=key,
            kind="derived",
            scale="",
            cells=tuple(_value((repeat.get("derived") or {}).get(key)) for repeat in repeats),
            mean=_value(derived.get(key)),
        )
        for key in formula
        if key != MAIN
    ]
    rows.append(
        ScoreRow(
            name="score",
            kind=MAIN,
            scale=numbers.span(scale.ends),
            cells=tuple(_repeat_score(repeat, scale) for repeat in repeats),
            mean=scale.main(row.get("main_score"), row.get("pass")),
        )
    )
    return tuple(rows)


def _names(*sources: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(key for source in sources for key in source))


def _value(value: float | bool | None, ends: tuple[float, float] | None = None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return numbers.plain(value, 2, marks=ends or ())


def _repeat(run: Run, folder: str, texts: TaskTexts, repeat: Json, scale: Scale) -> RepeatView:
    number = int(repeat.get("repeat") or 0)
    reply = texts.replies.get(number)
    return RepeatView(
        number=number,
        state=state_of(repeat),
        score=_repeat_score(repeat, scale),
        reason=_reason(repeat),
        rationale=repeat.get("rationale") or "",
        flags=tuple(Note(code=code, words=words.flag(code)) for code in repeat.get("flags") or []),
        repairs=tuple(map(str, repeat.get("repairs") or [])),
        stop_reason=repeat.get("stop_reason") or "",
        reply=None if reply is None else _text(reply, url(run.base, folder, f"reply-{number}.txt")),
    )


def _text(text: str, link: str) -> TextView:
    return TextView(text=text[:INLINE_CHARS], url=link, cut=max(0, len(text) - INLINE_CHARS))


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
        ", ".join(f"{key} = {value}" for key, value in args.items())
        if isinstance(args, Mapping)
        else str(args)
    )
    return RuleView(
        name=f"{rule.get('type', '')} {named}".strip(),
        outcome=str(rule.get("outcome") or "").replace("_", " "),
        detail=str(rule.get("detail") or ""),
    )


def _identity(row: Json, repeats: Sequence[Json]) -> tuple[tuple[str, str], ...]:
    judge = row.get("judge") or {}
    facts = [
        ("judge", judge.get("model")),
        ("served as", ", ".join(judge.get("served") or [])),
        ("question sha256", row.get("question_sha256")),
        ("evidence policy sha256", row.get("evidence_sha256")),
        ("formula sha256", row.get("formula_sha256")),
    ]
    prompts = dict.fromkeys(repeat.get("prompt_sha256") for repeat in repeats)
    facts += [("prompt sha256", digest) for digest in prompts]
    return tuple((label, str(value)) for label, value in facts if value)
