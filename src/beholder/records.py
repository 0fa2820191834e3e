"""The nouns that cross rooms, as frozen dataclasses. Data only; the work is functions in the rooms.

Numbers that decide a score are `Decimal` or `Fraction`, never binary floats; they become JSON numbers
only where a file is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

CriterionType = Literal["int", "float", "bool"]
ReplyForm = Literal["json", "lines"]
Reduction = Literal["mean", "median", "majority"]
Layout = Literal["single", "tiles", "overview+tiles"]
Route = Literal["visual", "text", "none"]
OutcomeKind = Literal["scored", "unscored", "absent"]

Value = bool | int | Decimal
"""A criterion's value as judged: a bool stays a bool, an int an int."""

MAX_ARTIFACT_BYTES = 256 * 2**20
"""One file of a submission; more is no page or picture a person would open."""


# --- what is asked ------------------------------------------------------------------------------


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


# --- what came in -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One row of the task file.

    Attributes:
        fields: Text of the columns that the prompt's placeholders use, unchanged.
        labels: The other columns, to group by.
        row: 1-based row (or line) in the file, for messages.
    """

    id: str
    fields: Mapping[str, str]
    labels: Mapping[str, str]
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file of a submission, pinned by digest.

    Attributes:
        name: POSIX path below the submission's root, as a person would name the file.
        path: Where it lies.
        sha256: Of its bytes; empty if it could not be read.
        problem: Set if the file itself may not be used: `unsafe_path, too_large, missing`, or `unreadable`
            (we lack the rights, which is not the submission's fault); and why.
    """

    name: str
    path: Path
    sha256: str
    size_bytes: int
    problem: str | None = None
    problem_detail: str = ""

    @property
    def suffix(self) -> str:
        """Lower-case suffix with its dot, or an empty string."""
        return Path(self.name).suffix.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One model's answer to one task.

    Attributes:
        root: The folder a page may load its own files from; None if there is no submission.
        artifacts: In name order.
        response: The response text, or None.
        flat: `root` is shared with other tasks' submissions: of the files directly in it only `artifacts`
            belong to this one.
    """

    task_id: str
    model: str
    root: Path | None
    artifacts: tuple[Artifact, ...] = ()
    response: str | None = None
    flat: bool = False


# --- what a person would see --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    """Which outside hosts a page may reach. Loopback, private and link-local addresses: never.

    Attributes:
        mode: `block`, `allow`, or `hosts` with the listed names (a leading dot takes subdomains too).
        given: Whether the user said so; if not, a page that asks for an outside host is not judged.
    """

    mode: Literal["block", "allow", "hosts"] = "block"
    hosts: tuple[str, ...] = ()
    given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """What one judge takes, from the limits table in `judges`. None: no limit is known.

    Attributes:
        media_types: Accepted as they are; anything else is converted.
        image_bytes: Bytes of one image after base64.
        edge_px: Longest edge; `edge_px_many` holds if a request has more than `many_images` images.
        shrink_edge_px, shrink_pixels: Above either the judge shrinks the image by itself.
        images: Images in one request.
        request_bytes: Bytes of the whole request.
        video_types: Video types that it takes as they are; none: it is shown frames.
        video_bytes: Bytes of one video, by whatever way it is sent.
        video_s: Longest video.
    """

    media_types: tuple[str, ...] = ("image/png", "image/jpeg", "image/webp")
    image_bytes: int | None = None
    edge_px: int | None = None
    edge_px_many: int | None = None
    many_images: int | None = None
    shrink_edge_px: int | None = None
    shrink_pixels: int | None = None
    images: int | None = None
    request_bytes: int | None = None
    video_types: tuple[str, ...] = ()
    video_bytes: int | None = None
    video_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warning_:  # noqa: N801 - `Warning` is a builtin
    """Something a reader of the score should know about the evidence.

    Attributes:
        code: Such as `blank_capture, page_not_settled, script_error, external_resource_failed,
            blocked_resource, downscaled`.
        detail: For people: the host, the message, the factor.
        source: The artifact's name.
    """

    code: str
    detail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One image as it is sent to a judge.

    Attributes:
        data: The file's bytes; empty in a manifest that was read back, where `path` tells where they lie.
        source: The artifact's name.
        page: 1-based page, of `pages`; None for what has no pages. Sheets of a workbook count as pages.
        sheet: The name of the sheet, where the page is one.
        time_s: Seconds from the start, where the picture is a frame of a video or an animation.
        part: 1-based piece of a cut picture, of `parts`; 0 is the overview; None if it is whole.
        transforms: What was done to the pixels since decoding or capture, in order, for people.
        path: Below the task's evidence folder, once stored.
    """

    sha256: str
    media_type: str
    width_px: int
    height_px: int
    size_bytes: int
    source: str
    page: int | None = None
    pages: int | None = None
    part: int | None = None
    parts: int | None = None
    transforms: tuple[str, ...] = ()
    path: str = ""
    sheet: str | None = None
    time_s: float | None = None
    data: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """One video as it is sent to a judge that takes video.

    Attributes:
        data: The file's bytes; empty in a manifest that was read back, where `path` tells where they lie.
        source: The artifact's name.
        duration_s: By its own frames, not by its header alone.
        fps: Frames a second of the file; None where it does not say.
        path: Below the task's evidence folder, once stored.
    """

    sha256: str
    media_type: str
    size_bytes: int
    source: str
    width_px: int
    height_px: int
    duration_s: float
    fps: float | None = None
    path: str = ""
    data: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactEvidence:
    """What became of one file.

    Attributes:
        kind: `html, image, …`, or an empty string where no kind was decided.
        status: `shown`; `absent` (its own fault); `unscored` (ours); `not_shown` (not looked at).
        reason: A code of the contract's table, or `excluded, not_selected, unsupported, budget`.
        detail: The cause, for people.
        facts: What was recorded of the rendering: waits, hosts asked for, pages, files served.
    """

    name: str
    sha256: str
    size_bytes: int
    kind: str
    status: Literal["shown", "absent", "unscored", "not_shown"]
    reason: str | None = None
    detail: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a person would see of a submission; stored as `prepared_output_evidence.json`.

    Attributes:
        status: `ok`: there is something to judge; else the outcome, with `reason` and `detail`.
        pictures: In the order they are sent.
        videos: After the pictures; only for a judge that takes video, where the protocol wants it so.
        texts: (name, text) shown on the text route, within the budget.
        renderer: Names and versions of what drew it, and whether the browser's sandbox was on.
    """

    status: Literal["ok", "absent", "unscored"]
    route: Route
    reason: str | None = None
    detail: str = ""
    artifacts: tuple[ArtifactEvidence, ...] = ()
    pictures: tuple[Picture, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    videos: tuple[Video, ...] = ()
    warnings: tuple[Warning_, ...] = ()
    renderer: Mapping[str, Any] = field(default_factory=dict)


# --- what can be checked without a judge --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry of a task's `evaluation.rule_based`, checked for its form.

    Attributes:
        type: As written; empty where the entry has none.
        args: The entry's other members, as written.
        problem: Why it cannot be checked: `not_supported` (no rule that is known) or `error` (a known type
            with wrong arguments); with `detail` in words.
    """

    type: str
    args: Mapping[str, Any] = field(default_factory=dict)
    problem: Literal["not_supported", "error"] | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """What became of a rule. No part of any score.

    Attributes:
        detail: What was found, for people.
    """

    type: str
    args: Mapping[str, Any]
    outcome: Literal["passed", "failed", "not_supported", "error"]
    detail: str = ""


# --- what the judge said ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge: a model with its settings. Holds no key, only the name of the variable that has it.

    Attributes:
        provider: `anthropic, openai, google, openai-compatible, scripted`.
        name: The model's name for that provider (the file, for `scripted`).
        settings: Further vendor settings from `-M key=value`.
    """

    provider: str
    name: str
    max_tokens: int = 1024
    temperature: Decimal | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    timeout_s: float = 120.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """`provider/name`, as the user writes it; of a script only the file's name, wherever it lies."""
        return f"{self.provider}/{Path(self.name).name if self.scripted else self.name}"

    @property
    def scripted(self) -> bool:
        """Whether its replies are made up."""
        return self.provider == "scripted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one answer as the vendor counts them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, verbatim.

    Attributes:
        stop_reason: The vendor's own word (`end_turn`, `length`, `SAFETY`, …), or None.
        served_model: The model the vendor says it used.
        cost_usd: By the price list; None where the price is unknown, never 0 for that.
        sent: The settings that really went out (`temperature` may have been dropped on the way).
    """

    text: str
    stop_reason: str | None = None
    served_model: str | None = None
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    request_id: str | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A reply, parsed.

    Attributes:
        scores: Every criterion of the rubric, in its order.
        rationale: The judge's words.
        flags: Of the contract's list, those that can be told from the reply alone.
        repairs: What was mended to read it.
        claims: The reply's other top-level members: numbers as `int` or `Decimal`, booleans, anything
            else as None. The judge's own totals are here, to be compared, never believed.
    """

    scores: Mapping[str, Value]
    rationale: str = ""
    flags: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    claims: Mapping[str, Value | None] = field(default_factory=dict)
