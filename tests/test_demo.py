"""`beholder demo`, as a newcomer runs it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from beholder.demo import EXAMPLES
from tests.fakes.runs import command, environment, rows_of, run, summary_of

ATLAS, MERIDIAN = "atlas-small-demo", "meridian-large-demo"

# (outcome, reason, main score) by model's first word and task; null where there is no number.
EXPECTED: dict[str, dict[tuple[str, str], tuple[str, str | None, float | None]]] = {
    "web-page": {
        ("loom", "bakery"): ("scored", None, 0.135),
        ("loom", "tree-conference"): ("scored", None, 0.329),
        ("loom", "clock-museum"): ("scored", None, 0.479),
        ("loom", "tide-board"): ("absent", "empty", 0),
        ("garnet", "bakery"): ("scored", None, 0.898),
        ("garnet", "tree-conference"): ("scored", None, 0.855),
        ("garnet", "clock-museum"): ("unscored", "refused", None),
        ("garnet", "tide-board"): ("scored", None, 0.726),
    },
    "math-media": {
        ("chalk", "garden-fence"): ("scored", None, 1),
        ("chalk", "two-trains"): ("absent", "missing", 0),
        ("chalk", "quadratic-roots"): ("scored", None, 0),
        ("chalk", "clock-hands"): ("absent", "corrupt", 0),
        ("chalk", "unit-fractions"): ("scored", None, 1),
        ("chalk", "telescope"): ("unscored", "no_majority", None),
        ("slate", "garden-fence"): ("scored", None, 1),
        ("slate", "two-trains"): ("unscored", "truncated", None),
        ("slate", "quadratic-roots"): ("scored", None, 1),
        ("slate", "clock-hands"): ("scored", None, 1),
        ("slate", "unit-fractions"): ("scored", None, 0),
        ("slate", "telescope"): ("scored", None, 1),
    },
    "enterprise-claw": {
        ("clerk", "sales-deck"): ("scored", None, 0.163),
        ("clerk", "fair-budget"): ("scored", None, 0.033),
        ("clerk", "delay-letter"): ("scored", None, 0.275),
        ("clerk", "travel-policy"): ("absent", "corrupt", None),
        ("clerk", "meeting-minutes"): ("scored", None, 0.375),
        ("clerk", "stock-count"): ("scored", None, 0.25),
        ("clerk", "team-chart"): ("scored", None, 0.2),
        ("bureau", "sales-deck"): ("scored", None, 0.938),
        ("bureau", "fair-budget"): ("scored", None, 0.94),
        ("bureau", "delay-letter"): ("scored", None, 0.85),
        ("bureau", "travel-policy"): ("scored", None, 0.892),
        ("bureau", "meeting-minutes"): ("scored", None, 0.925),
        ("bureau", "stock-count"): ("unscored", "refused", None),
        ("bureau", "team-chart"): ("scored", None, 0.975),
    },
}


# (repairs, flags of rows, reasons of repeats) that each demo shows, at least.
SHOWN: dict[str, tuple[set[str], set[str], set[str]]] = {
    "web-page": (
        {"trailing_comma", "closed_after_criteria"},
        {"repaired", "repeats_disagree", "total_mismatch", "truncated_after_criteria"},
        {"refused"},
    ),
    "math-media": (
        {"full_width", "line_marks"},
        {"repaired", "repeats_disagree", "partial_coverage"},
        {"truncated"},
    ),
    "enterprise-claw": (
        {"trailing_comma", "quoted_bool"},
        {"repaired", "repeats_disagree"},
        {"refused"},
    ),
}


def run_demo(name: str, folder: Path) -> Path:
    """The out-dir of a demo that was run in a fresh folder, without a word about where."""
    done = run(command("demo", "--protocol", f"{name}/1"), cwd=folder, env=environment(HOME=str(folder)))
    assert done.returncode == 0, done.stderr
    assert "Scripted replies" in done.stdout
    return folder / f"beholder-demo-{name}"


def all_rows(out: Path, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (row["model"].partition("-")[0], row["task_id"]): row
        for model in EXAMPLES[name].models
        for row in rows_of(out / model)
    }


def test_the_demo_shows_absent_unscored_and_low_scores_apart(tmp_path: Path) -> None:
    """Ten maps, real pictures, replies that say everywhere that they are made up; no call a second time."""
    done = run(command("demo"), cwd=tmp_path, env=environment(HOME=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert "Scripted replies" in done.stdout
    assert "Report: beholder-demo/report.html" in done.stdout
    out = tmp_path / "beholder-demo"
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
    check_again("gis-bench", out)


def check_rows(name: str, out: Path) -> None:
    """Scored, absent and unscored apart, each picture there, and made up in every place."""
    found = all_rows(out, name)
    assert {
        key: (row["outcome"], row["reason"], row["main_score"] and round(row["main_score"], 3))
        for key, row in found.items()
    } == EXPECTED[name]
    unscored = Counter(row["reason"] for row in found.values() if row["outcome"] == "unscored")
    assert unscored == EXAMPLES[name].unscored
    for row in found.values():
        assert row["judge"]["scripted"] is True
        for image in row["evidence"]["images"]:
            with Image.open(out / row["model"] / image["path"]) as picture:
                assert picture.size == (image["width_px"], image["height_px"])
    repairs, flags, reasons = SHOWN[name]
    repeats = [repeat for row in found.values() for repeat in row["repeats"]]
    assert repairs <= {repair for repeat in repeats for repair in repeat["repairs"]}
    assert flags <= {flag for row in found.values() for flag in row["flags"]}
    assert reasons <= {repeat["reason"] for repeat in repeats}
    assert summary_of(out)["scripted"] is True
    for pattern in ("REPORT_EVALUATION.md", "report.html"):
        reports = list(out.rglob(pattern))
        assert len(reports) == 3
        assert all("cripted" in report.read_text("utf-8") for report in reports)


def check_again(name: str, out: Path) -> None:
    """Resumed from the ledger: no call, the same exit code, byte for byte the same rows."""
    files = [out / model / "judge_results.jsonl" for model in EXAMPLES[name].models]
    before = [file.read_bytes() for file in files]
    done = run(command("demo", "--protocol", name, "--out-dir", out))
    assert done.returncode == 0, done.stderr
    assert [file.read_bytes() for file in files] == before
    for file in files:
        assert json.loads((file.parent / "run.json").read_text())["calls"]["made"] == 0


# One test a protocol, so that processes that share the tests do not each make the same run.


@pytest.mark.long
def test_pages_of_three_levels_of_quality(tmp_path: Path) -> None:
    """web-page: rows as the samples are made for, and apart in score; a second run makes no call."""
    out = run_demo("web-page", tmp_path)
    check_rows("web-page", out)
    check_again("web-page", out)


def test_mathematics_in_pictures_and_videos(tmp_path: Path) -> None:
    """math-media: rows as the samples are made for; videos to their last frame; no call a second time."""
    out = run_demo("math-media", tmp_path)
    check_rows("math-media", out)
    row = all_rows(out, "math-media")["chalk", "unit-fractions"]
    gold = []
    for image in row["evidence"]["images"]:
        with Image.open(out / row["model"] / image["path"]) as picture:
            # The frame around the answer: more red than blue, as nothing else in that place.
            place = picture.convert("RGB").crop((40, 430, 260, 500)).resize((55, 18))
            gold.append(sum(red - blue > 60 for red, _, blue in place.get_flattened_data()) > 20)
    assert gold == [False] * 15 + [True]
    groups = summary_of(out)["models"]["slate-large-demo"]["groups"]
    assert set(groups["subtask"]) == {"GSM8K-style", "MATH-500-style", "AIME-style", "OmniMath-style"}
    check_again("math-media", out)


def test_office_work_on_two_routes_with_rules_beside_it(tmp_path: Path) -> None:
    """enterprise-claw: rows as the samples are made for; text goes without pictures; no call a second time.

    Each type of rule passes somewhere, most fail somewhere, too.
    """
    out = run_demo("enterprise-claw", tmp_path)
    check_rows("enterprise-claw", out)
    rows = all_rows(out, "enterprise-claw")
    texts = {task for (_, task), row in rows.items() if row["route"] == "text"}
    assert texts == {"meeting-minutes", "stock-count"}
    for (_, task), row in rows.items():
        if row["outcome"] != "absent":
            assert bool(row["evidence"]["images"]) == (task not in texts)
    seen: dict[str, set[str]] = {}
    for row in rows.values():
        for rule in row["rules"]:
            seen.setdefault(rule["type"], set()).add(rule["outcome"])
    assert seen == {
        "file_exists": {"passed"},
        "text_contains": {"passed", "failed"},
        "valid": {"passed", "failed"},
        "table_has": {"passed", "failed"},
        "pages": {"passed", "failed", "not_supported"},
    }
    assert rows["bureau", "delay-letter"]["scores"].keys() == {"overall"}
    assert rows["bureau", "sales-deck"]["scores"].keys() == {"chart", "finding", "next_steps", "design"}
    dropped = {(one["name"], one["reason"]) for one in rows["bureau", "fair-budget"]["evidence"]["not_shown"]}
    assert ("verify_temp/recalculated.txt", "excluded") in dropped
    groups = summary_of(out)["models"]["bureau-large-demo"]["groups"]
    assert {"big_class", "subclass_id"} <= groups.keys()
    check_again("enterprise-claw", out)


def test_a_protocol_without_samples_is_refused(tmp_path: Path) -> None:
    """The message names those that have some."""
    done = run(command("demo", "--protocol", "posters"), cwd=tmp_path)
    assert done.returncode == 2
    assert "no samples ship for it" in done.stderr
    assert all(name in done.stderr for name in EXAMPLES)
    assert list(tmp_path.iterdir()) == []
