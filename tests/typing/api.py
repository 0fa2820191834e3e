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
seen: beholder.EvidenceResult = beholder.prepare_files(
    beholder.EvidenceSpec(paths=(Path("page.html"),), out_dir=Path("seen"))
)
judging = beholder.open_judge(
    protocol="web-page",
    out_dir=Path("rewards"),
    judge="openai/gpt-5",
    repeats=2,
    max_cost=Decimal(5),
    say=print,
)


def rewards(judge: beholder.SyncJudge, pages: list[str]) -> list[int | float | None]:
    """From threads, or a loop that is not async."""
    pairs = [(tasks[0], {"index.html": page}) for page in pages]
    return [one.score for one in judge.score_all(pairs)]


async def reward(judge: beholder.AsyncJudge) -> beholder.Judgement:
    """In an event loop."""
    return await judge.score({"task_id": "a", "query": "a page"}, Path("page.html"))


async def loop() -> None:
    """Either way of opening."""
    async with judging as judge:
        found: beholder.Judgement = await reward(judge)
    with judging as threaded:
        print(found.score, rewards(threaded, ["<h1>"]))
