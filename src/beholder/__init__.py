"""How good are the pictures, pages and documents that models make? Numbers that can be trusted.

import beholder

run = beholder.RunSpec(
    tasks=Path("tasks.jsonl"),
    run_dirs={"atlas": Path("runs/atlas")},
    out_dir=Path("out"),
    protocol="gis-bench",
    judge="anthropic/claude-sonnet-4-6",
)
result = beholder.judge_run(run)
print(result.summary["mean"], result.summary["coverage"], result.report)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beholder.errors import (
        BeholderError,
        JudgeError,
        MissingTool,
        RenderError,
        ReplyError,
        SpecError,
        StoreError,
    )
    from beholder.protocols import load_protocol
    from beholder.records import (
        Criterion,
        Evidence,
        NetworkPolicy,
        Protocol,
        Reply,
        Submission,
        Task,
        Verdict,
    )
    from beholder.replies import parse_reply, score_replies
    from beholder.report import write_reports
    from beholder.run.conductor import RunResult, judge_run
    from beholder.run.evidence import EvidenceResult, EvidenceSpec, prepare_files
    from beholder.run.judgement import Judgement
    from beholder.run.open_judge import SyncJudge, open_judge
    from beholder.run.reward import AsyncJudge
    from beholder.run.spec import RunSpec
    from beholder.tasks import load_tasks
    from beholder.verdicts import parse_verdict

__version__ = "0.1.0"

__all__ = [
    "AsyncJudge",
    "BeholderError",
    "Criterion",
    "Evidence",
    "EvidenceResult",
    "EvidenceSpec",
    "JudgeError",
    "Judgement",
    "MissingTool",
    "NetworkPolicy",
    "Protocol",
    "RenderError",
    "Reply",
    "ReplyError",
    "RunResult",
    "RunSpec",
    "SpecError",
    "StoreError",
    "Submission",
    "SyncJudge",
    "Task",
    "Verdict",
    "__version__",
    "judge_run",
    "load_protocol",
    "load_tasks",
    "open_judge",
    "parse_reply",
    "parse_verdict",
    "prepare_files",
    "score_replies",
    "write_reports",
]

_HOMES = {
    "AsyncJudge": "beholder.run.reward",
    "BeholderError": "beholder.errors",
    "Criterion": "beholder.records",
    "Evidence": "beholder.records",
    "EvidenceResult": "beholder.run.evidence",
    "EvidenceSpec": "beholder.run.evidence",
    "JudgeError": "beholder.errors",
    "Judgement": "beholder.run.judgement",
    "MissingTool": "beholder.errors",
    "NetworkPolicy": "beholder.records",
    "Protocol": "beholder.records",
    "RenderError": "beholder.errors",
    "Reply": "beholder.records",
    "ReplyError": "beholder.errors",
    "RunResult": "beholder.run.conductor",
    "RunSpec": "beholder.run.spec",
    "SpecError": "beholder.errors",
    "StoreError": "beholder.errors",
    "Submission": "beholder.records",
    "SyncJudge": "beholder.run.open_judge",
    "Task": "beholder.records",
    "Verdict": "beholder.records",
    "judge_run": "beholder.run.conductor",
    "load_protocol": "beholder.protocols",
    "load_tasks": "beholder.tasks",
    "open_judge": "beholder.run.open_judge",
    "parse_reply": "beholder.replies",
    "parse_verdict": "beholder.verdicts",
    "prepare_files": "beholder.run.evidence",
    "score_replies": "beholder.replies",
    "write_reports": "beholder.report",
}
"""Where each public name is. It is loaded when asked for: a process that decodes pictures needs no judge."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'beholder' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
