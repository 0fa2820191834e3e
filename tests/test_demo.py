"""`beholder demo`, as a newcomer runs it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.runs import command, environment, rows_of, run, summary_of

ATLAS, MERIDIAN = "atlas-small-demo", "meridian-large-demo"


def test_the_demo_shows_absent_unscored_and_low_scores_apart(tmp_path: Path) -> None:
    """Ten maps, real pictures, made-up replies that say so in every row, summary and table."""
    out = tmp_path / "demo"
    done = run(command("demo", "--out-dir", out), cwd=tmp_path, env=environment(HOME=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert "Scripted replies" in done.stdout
    assert f"Report: {out / 'report.html'}" in done.stdout
    rows = {(row["model"], row["task_id"]): row for name in (ATLAS, MERIDIAN) for row in rows_of(out / name)}
    assert len(rows) == 10
    assert all(row["judge"]["scripted"] for row in rows.values())
    expected = {
        (ATLAS, "london-boroughs"): ("scored", None, True),
        (ATLAS, "us-unemployment"): ("scored", None, False),
        (ATLAS, "pacific-earthquakes"): ("scored", None, False),
        (ATLAS, "austin-airports"): ("scored", None, False),
        (MERIDIAN, "london-boroughs"): ("scored", None, True),
        (MERIDIAN, "us-unemployment"): ("scored", None, True),
        (MERIDIAN, "pacific-earthquakes"): ("scored", None, True),
        (MERIDIAN, "austin-airports"): ("unscored", "blocked_resources", None),
        (MERIDIAN, "south-america-rain"): ("absent", "missing", False),
    }
    assert {
        key: (rows[key]["outcome"], rows[key]["reason"], rows[key]["pass"]) for key in expected
    } == expected
    assert rows[ATLAS, "south-america-rain"]["outcome"] == "unscored"
    assert rows[ATLAS, "us-unemployment"]["main_score"] == 0
    codes = {key: {w["code"] for w in row["evidence"]["warnings"]} for key, row in rows.items()}
    assert "blank_capture" in codes[ATLAS, "us-unemployment"]
    assert "script_error" in codes[ATLAS, "pacific-earthquakes"]
    assert rows[MERIDIAN, "us-unemployment"]["n_scored"] == 2
    for row in rows.values():
        for image in row["evidence"]["images"]:
            assert (out / row["model"] / image["path"]).stat().st_size > 1000
    joint = summary_of(out)
    assert joint["scripted"] is True
    assert joint["models"][ATLAS]["mean"] == 38.5
    assert joint["common"]["tasks"] == 3
    assert "Scripted" in (out / "report.html").read_text("utf-8")
    assert "cripted" in (out / "REPORT_EVALUATION.md").read_text("utf-8")
    assert json.loads((out / ATLAS / "manifest.json").read_text())["judge"]["scripted"] is True


def test_the_demo_again_makes_no_call_and_the_same_rows(tmp_path: Path) -> None:
    """Resumed from the ledger: byte for byte the same."""
    out = tmp_path / "demo"
    before = [
        run(command("demo", "--out-dir", out)).returncode,
        (out / ATLAS / "judge_results.jsonl").read_bytes(),
    ]
    after = [
        run(command("demo", "--out-dir", out)).returncode,
        (out / ATLAS / "judge_results.jsonl").read_bytes(),
    ]
    assert before == after
    assert json.loads((out / ATLAS / "run.json").read_text())["calls"]["made"] == 0
