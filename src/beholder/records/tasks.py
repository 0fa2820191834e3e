"""What came in: tasks, and the submissions that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_ARTIFACT_BYTES = 256 * 2**20
"""One file of a submission; more is no page or picture a person would open."""


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
