"""One bad item takes neither the run nor its group with it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import command, gis_reply, judge_command, picture, rows_of, run, summary_of

HTML_ERROR = {
    "status": 200,
    "raw": "<html><body><h1>502 Bad Gateway</h1></body></html>",
    "headers": {"content-type": "text/html"},
}


def test_each_bad_item_has_its_own_state_and_true_cause(tmp_path: Path) -> None:
    """Good ones are scored, the counts add up, the group keeps its mean, and exit 3 says what is left."""
    files = tmp_path / "run"
    files.mkdir()
    expected = {
        "good": ("scored", None),
        "zero": ("absent", "empty"),
        "text": ("absent", "wrong_type"),
        "throws": ("scored", None),
        "renamed": ("absent", "unsupported"),
        "a b 한글 #1": ("scored", None),
        "dangling": ("absent", "missing"),
        "gateway": ("unscored", "unavailable"),
    }
    for name in ("good", "a b 한글 #1", "gateway"):
        picture(files / f"{name}.png")
    (files / "zero.png").write_bytes(b"")
    (files / "text.png").write_text("I am a picture, trust me.")
    (files / "throws.html").write_text("<h1>Map</h1><script>throw new Error('broken on purpose')</script>")
    (files / "renamed.docx").write_bytes(b"PK\x05\x06" + bytes(18))
    (files / "dangling.png").symlink_to(files / "nothing.png")
    rows = [{"task_id": name, "level": "Level1", "prompt": f"Map {name}."} for name in expected]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rules = [rule(contains="Map gateway.", **HTML_ERROR), rule(text=gis_reply())]
    with JudgeServer(rules) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1, "--max-retries", 0)
        done = run(line)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
    found = rows_of(tmp_path / "o")
    assert {row["task_id"]: (row["outcome"], row["reason"]) for row in found} == expected
    throws = next(row for row in found if row["task_id"] == "throws")
    assert "script_error" in {warning["code"] for warning in throws["evidence"]["warnings"]}
    summary = summary_of(tmp_path / "o")
    counts = (summary["scored"], sum(summary["absent"].values()), sum(summary["unscored"].values()))
    assert counts == (3, 4, 1)
    assert sum(counts) == summary["planned"] == len(expected)
    group = summary["groups"]["level"]["Level1"]
    assert (group["planned"], group["scored"], group["mean"]) == (8, 3, 3 * 86 / 7)


def test_a_folder_without_any_tasks_submission_is_told(tmp_path: Path) -> None:
    """Who names the folder above the models' hears what lies there; with one submission nothing is said."""
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"task_id": "a", "level": "L", "prompt": "Map."}))
    picture(tmp_path / "run" / "atlas" / "a.png")
    (tmp_path / "run" / "atlas" / "b.txt").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "replies.jsonl").write_text(json.dumps({"error": "timeout"}))
    line = ["--tasks", tmp_path / "tasks.jsonl", "--judge", f"scripted/{tmp_path / 'replies.jsonl'}"]
    line += ["--protocol", "gis-bench", "--max-retries", 0]
    said = {
        name: run(
            command("judge-run", *line, "--run-dir", tmp_path / name, "--out-dir", tmp_path / f"out{at}")
        ).stderr
        for at, name in enumerate(("run", "empty", "run/atlas"))
    }
    assert (
        "run: nothing there is named after a task, such as 'a'; it holds atlas/. A --run-dir" in said["run"]
    )
    assert "it is empty" in said["empty"]
    assert "named after" not in said["run/atlas"]


def test_the_terminal_says_why_a_task_is_unscored(tmp_path: Path) -> None:
    """With a task and what to do, once for each reason; what failed in calls is told as such."""
    rows = [{"task_id": name, "level": "L", "prompt": f"Map {name}."} for name in ("a", "b", "c")]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("a", "b"):
        path = tmp_path / "run" / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    picture(tmp_path / "run" / "c.png")
    (tmp_path / "replies.jsonl").write_text(json.dumps({"error": "rejected"}))
    line = ["--tasks", tmp_path / "tasks.jsonl", "--judge", f"scripted/{tmp_path / 'replies.jsonl'}"]
    line += ["--protocol", "gis-bench", "--run-dir", tmp_path / "run", "--out-dir", tmp_path / "out"]
    done = run(command("judge-run", *line))
    assert done.returncode == 3, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("Unscored")]
    assert len(told) == 1
    assert told[0].startswith("Unscored, such as '")
    assert "missing_tool: nothing here decodes image/heic; give the picture as PNG or JPEG" in told[0]
    assert "With --retry-unscored the same command asks again" in done.stderr
    (tmp_path / "run" / "c.png").unlink()
    assert "--retry-unscored" not in run(command("judge-run", *line)).stderr
