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
from beholder.records import Criterion, Evidence, NetworkPolicy, Protocol, Reply, Submission, Task, Verdict
from beholder.replies import parse_reply, score_replies
from beholder.report import write_reports
from beholder.run import RunResult, RunSpec, judge_run
from beholder.tasks import load_tasks
from beholder.verdicts import parse_verdict

__version__ = "0.1.0"

__all__ = [
    "BeholderError",
    "Criterion",
    "Evidence",
    "JudgeError",
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
    "Task",
    "Verdict",
    "__version__",
    "judge_run",
    "load_protocol",
    "load_tasks",
    "parse_reply",
    "parse_verdict",
    "score_replies",
    "write_reports",
]
