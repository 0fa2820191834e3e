"""Never run, only type-checked: the public API as a user's code sees it."""

from decimal import Decimal
from pathlib import Path

import beholder

run = beholder.RunSpec(
    tasks=Path("tasks.jsonl"),
    run_dirs={"atlas": Path("runs/atlas")},
    out_dir=Path("out"),
    protocol="gis-bench",
    judge="anthropic/claude-sonnet-4-6",
    temperature=Decimal(0),
    network=beholder.NetworkPolicy(mode="hosts", hosts=("unpkg.com",), given=True),
)
result: beholder.RunResult = beholder.judge_run(run, display="plain", say=print)
report: Path = result.report
protocol: beholder.Protocol = beholder.load_protocol("gis-bench")
tasks: list[beholder.Task] = beholder.load_tasks(
    "tasks.csv", placeholders=["prompt"], columns={"task_id": "No."}
)
verdict: beholder.Verdict = beholder.parse_verdict("{}", protocol.criteria)
outcome: object = beholder.parse_reply("{}", protocol, stop_reason="max_tokens")["outcome"]
score: object = beholder.score_replies(["{}", None], protocol, pass_at=Decimal("0.6"))["score"]
pages: list[Path] = beholder.write_reports(Path("out"))
