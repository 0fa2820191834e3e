"""What a protocol file says, checked and resolved: the question, the evidence policy, the formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

CriterionType = Literal["int", "float", "bool"]
ReplyForm = Literal["json", "lines"]
Reduction = Literal["mean", "median", "majority"]
Layout = Literal["single", "tiles", "overview+tiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """What a stretch of a criterion's scale means: from `start` up to `below` (open) or `to` (closed)."""

    start: Decimal
    text: str
    below: Decimal | None = None
    to: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One line of a rubric.

    Attributes:
        key: The reply's key.
        question: What the judge is asked; may be empty where the user's own prompt asks it.
        min, max: The scale, both ends included.
        type: `int` takes whole numbers only, `bool` true and false (worth 1 and 0 in a formula).
        allowed: The only values taken, where the scale has steps.
        weight: For `weighted` over per-task criteria; no part of the question.
    """

    key: str
    question: str = ""
    min: Decimal = Decimal(0)
    max: Decimal = Decimal(1)
    type: CriterionType = "int"
    allowed: tuple[Decimal, ...] | None = None
    bands: tuple[Band, ...] = ()
    weight: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreNode:
    """One name of `[score]`. Exactly one of `sum, mean, min, max, weighted, scale` is set.

    `scale` maps `from_` onto `to` linearly; `round` then gives a whole number.
    """

    sum: tuple[str, ...] | None = None
    mean: tuple[str, ...] | None = None
    min: tuple[str, ...] | None = None
    max: tuple[str, ...] | None = None
    weighted: Mapping[str, Decimal] | None = None
    scale: str | None = None
    from_: tuple[Decimal, Decimal] | None = None
    to: tuple[Decimal, Decimal] | None = None
    round: Literal["half-even", "half-up"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """`[score]`: named nodes, each over criteria or other names; `main` is the score.

    Attributes:
        nodes: In the order of evaluation: a node comes after those it uses.
        pass_at: A task passes if its reduced, unrounded main value is at least this.
    """

    nodes: Mapping[str, ScoreNode]
    pass_at: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The question's text.

    Attributes:
        placeholders: Task columns and built-in ones that occur in the template and are replaced.
        sha256: Of the template's UTF-8 bytes as they are in the user's file.
        source: Where it came from, for messages.
    """

    template: str
    placeholders: tuple[str, ...]
    sha256: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeDefaults:
    """`[judge]` of a protocol; flags win."""

    model: str | None = None
    text_model: str | None = None
    visual_model: str | None = None
    max_tokens: int = 1024
    temperature: Decimal | None = None
    min_interval_s: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """`[repeats]`: how often a judge is asked, and how the answers become one."""

    n: int = 1
    min_scored: int = 1
    reduce: Reduction = "mean"


SHOWN_SUFFIXES = (
    ".html",
    ".htm",
    ".pdf",
    ".pptx",
    ".ppt",
    ".pptm",
    ".odp",
    ".docx",
    ".doc",
    ".docm",
    ".odt",
    ".rtf",
    ".xlsx",
    ".xls",
    ".xlsm",
    ".ods",
    ".svg",
    ".png",
    ".jpg",
    ".jpeg",
    ".webp",
    ".avif",
    ".gif",
    ".tif",
    ".tiff",
    ".bmp",
    ".mp4",
    ".webm",
    ".mov",
)
"""Suffixes of what a judge can be shown, best first: what a protocol looks at that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """`[routing]`: which files are looked at, and by whom.

    Attributes:
        kind: `visual`: always the visual judge. `strict`: any visual file, else the text judge, never back.
        visual, text: Suffixes, lower case with their dot, best first.
        exclude: Patterns of names never looked at; every file they drop is listed.
        select: `first`: the best one file by suffix order; `all`: each of them.
    """

    kind: Literal["visual", "strict"] = "visual"
    visual: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: Literal["first", "all"] = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePolicy:
    """`[evidence]`: how artifacts become pictures.

    Attributes:
        viewport: Width and height of the page in CSS pixels.
        min_wait_s: Page time before the capture, at least.
        max_wait_s: Wall time of a page's load and settling, at most.
        layout: One picture, tiles, or a shrunk overview before the tiles (tiles only where one picture
            would be shrunk by the judge).
        images, pages, text_chars: Budgets per submission (pages: per document).
        degraded: Whether a page with failed requests is judged as it looks.
    """

    viewport: tuple[int, int] = (1280, 800)
    min_wait_s: Decimal = Decimal(0)
    max_wait_s: Decimal = Decimal(25)
    layout: Layout = "overview+tiles"
    images: int = 32
    pages: int = 6
    text_chars: int = 12000
    degraded: Literal["judge", "unscored"] = "judge"
    video: Literal["native", "frames"] = "native"


TABLE_FIELDS = ("task_id", "model", "outcome", "reason", "pass", "main", "rationale", "file_type")
TABLE_PREFIXES = ("column", "criterion", "derived", "repeats")
"""Where a result table's column may come from: a field of the row, or `prefix:NAME`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a protocol's own result table: `name` in the file, `source` as docs/protocols.md lists."""

    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """`[table]`: the result table of a published protocol, written as `<name>.csv` and `<name>.xlsx`."""

    name: str
    columns: tuple[TableColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerTask:
    """`[per_task]`: task columns that say what holds for one task only. Dots lead into nested columns.

    Attributes:
        criteria: The task's own rubric: a text, which is what the protocol's one criterion asks, or a list of
            criteria in place of it, whose score is their `weighted`.
        rules: What is checked of the submission without a judge.
    """

    criteria: str | None = None
    rules: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A whole protocol file, checked and resolved.

    Attributes:
        rationale: The reply's key for the judge's words.
        absent: What an absent submission is worth: the formula's minimum (`zero`), or left out (`exclude`).
        group_by: Columns that the prompt uses and that are labels all the same.
        per_task: Columns of the task that add to the protocol.
        source: The file it came from, for messages.
    """

    id: str
    title: str
    reply: ReplyForm
    rationale: str
    prompt: Prompt
    judge: JudgeDefaults
    repeats: Repeats
    routing: Routing
    evidence: EvidencePolicy
    absent: Literal["zero", "exclude"]
    criteria: tuple[Criterion, ...]
    score: Formula
    source: str
    group_by: tuple[str, ...] = ()
    table: ResultTable | None = None
    per_task: PerTask = PerTask()
