"""The nouns that cross rooms, as frozen dataclasses. Data only; the work is functions in the rooms.

A file holds the nouns of the room that it is named for; all are imported from `beholder.records`. Numbers
that decide a score are `Decimal` or `Fraction`, never binary floats; they become JSON numbers only where a
file is written.
"""

from __future__ import annotations

from beholder.records.evidence import (
    ArtifactEvidence,
    Evidence,
    MediaLimits,
    NetworkPolicy,
    Picture,
    Route,
    Video,
    Warning_,
)
from beholder.records.judges import (
    JudgeSpec,
    Reply,
    Usage,
)
from beholder.records.protocols import (
    SHOWN_SUFFIXES,
    TABLE_FIELDS,
    TABLE_PREFIXES,
    Band,
    Criterion,
    CriterionType,
    EvidencePolicy,
    Formula,
    JudgeDefaults,
    Layout,
    PerTask,
    Prompt,
    Protocol,
    Reduction,
    Repeats,
    ReplyForm,
    ResultTable,
    Routing,
    ScoreNode,
    TableColumn,
)
from beholder.records.rules import (
    Rule,
    RuleResult,
)
from beholder.records.tasks import (
    MAX_ARTIFACT_BYTES,
    Artifact,
    Submission,
    Task,
)
from beholder.records.verdicts import (
    OutcomeKind,
    Value,
    Verdict,
)

__all__ = [
    "MAX_ARTIFACT_BYTES",
    "SHOWN_SUFFIXES",
    "TABLE_FIELDS",
    "TABLE_PREFIXES",
    "Artifact",
    "ArtifactEvidence",
    "Band",
    "Criterion",
    "CriterionType",
    "Evidence",
    "EvidencePolicy",
    "Formula",
    "JudgeDefaults",
    "JudgeSpec",
    "Layout",
    "MediaLimits",
    "NetworkPolicy",
    "OutcomeKind",
    "PerTask",
    "Picture",
    "Prompt",
    "Protocol",
    "Reduction",
    "Repeats",
    "Reply",
    "ReplyForm",
    "ResultTable",
    "Route",
    "Routing",
    "Rule",
    "RuleResult",
    "ScoreNode",
    "Submission",
    "TableColumn",
    "Task",
    "Usage",
    "Value",
    "Verdict",
    "Video",
    "Warning_",
]
