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


@pytest.fixture(scope="module")
def outs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The out-dir of each further demo, run in a fresh folder without a word about where."""
    folder = tmp_path_factory.mktemp("demos")
    for name in EXPECTED:
        done = run(command("demo", "--protocol", f"{name}/1"), cwd=folder, env=environment(HOME=str(folder)))
        assert done.returncode == 0, done.stderr
        assert "Scripted replies" in done.stdout
    return {name: folder / f"beholder-demo-{name}" for name in EXPECTED}


def all_rows(out: Path, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (row["model"].partition("-")[0], row["task_id"]): row
        for model in EXAMPLES[name].models
        for row in rows_of(out / model)
    }


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """(out-dir, what was printed) of the demo as a newcomer runs it."""
    folder = tmp_path_factory.mktemp("maps")
    done = run(command("demo"), cwd=folder, env=environment(HOME=str(folder)))
    assert done.returncode == 0, done.stderr
    return folder / "beholder-demo", done.stdout


def test_the_demo_shows_absent_unscored_and_low_scores_apart(maps: tuple[Path, str]) -> None:
    """Ten maps, real pictures, made-up replies that say so in every row, summary and table."""
    out, printed = maps
    assert "Scripted replies" in printed
    assert "Report: beholder-demo/report.html" in printed
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


def test_the_demo_again_makes_no_call_and_the_same_rows(maps: tuple[Path, str]) -> None:
    """Resumed from the ledger: byte for byte the same."""
    out, _ = maps
    before = (out / ATLAS / "judge_results.jsonl").read_bytes()
    assert run(command("demo", "--out-dir", out)).returncode == 0
    assert (out / ATLAS / "judge_results.jsonl").read_bytes() == before
    assert json.loads((out / ATLAS / "run.json").read_text())["calls"]["made"] == 0


@pytest.mark.parametrize("name", EXPECTED)
def test_a_protocols_demo_has_the_rows_that_its_samples_are_made_for(
    name: str, outs: dict[str, Path]
) -> None:
    """Scored, absent and unscored apart, each picture there, and made up in every place."""
    found = all_rows(outs[name], name)
    assert {
        key: (row["outcome"], row["reason"], row["main_score"] and round(row["main_score"], 3))
        for key, row in found.items()
    } == EXPECTED[name]
    unscored = Counter(row["reason"] for row in found.values() if row["outcome"] == "unscored")
    assert unscored == EXAMPLES[name].unscored
    for row in found.values():
        assert row["judge"]["scripted"] is True
        for image in row["evidence"]["images"]:
            with Image.open(outs[name] / row["model"] / image["path"]) as picture:
                assert picture.size == (image["width_px"], image["height_px"])
    assert summary_of(outs[name])["scripted"] is True
    for report in outs[name].rglob("REPORT_EVALUATION.md"):
        assert "cripted" in report.read_text("utf-8")
    for report in outs[name].rglob("report.html"):
        assert "Scripted" in report.read_text("utf-8")


@pytest.mark.parametrize("name", EXPECTED)
def test_a_protocols_demo_again_makes_no_call(name: str, outs: dict[str, Path]) -> None:
    """Resumed from the ledger: the same exit code and byte for byte the same rows."""
    files = [outs[name] / model / "judge_results.jsonl" for model in EXAMPLES[name].models]
    before = [file.read_bytes() for file in files]
    done = run(command("demo", "--protocol", name, "--out-dir", outs[name]))
    assert done.returncode == 0, done.stderr
    assert [file.read_bytes() for file in files] == before
    for file in files:
        assert json.loads((file.parent / "run.json").read_text())["calls"]["made"] == 0


def test_replies_of_all_kinds_are_shown(outs: dict[str, Path]) -> None:
    """Over the demos: mended, cut, refused and disagreeing replies, and totals that do not add up."""
    rows = [row for name in EXPECTED for row in all_rows(outs[name], name).values()]
    repeats = [repeat for row in rows for repeat in row["repeats"]]
    assert {"trailing_comma", "quoted_bool", "full_width", "line_marks", "closed_after_criteria"} <= {
        repair for repeat in repeats for repair in repeat["repairs"]
    }
    assert {"refused", "truncated"} <= {repeat["reason"] for repeat in repeats}
    assert {"repaired", "repeats_disagree", "partial_coverage", "total_mismatch"} <= {
        flag for row in rows for flag in row["flags"]
    }


def test_videos_are_shown_to_their_last_frame(outs: dict[str, Path]) -> None:
    """The answer that stands only at the end is in the last picture alone, and its time is told."""
    row = all_rows(outs["math-media"], "math-media")["chalk", "unit-fractions"]
    images = row["evidence"]["images"]
    assert len(images) == 16
    gold = []
    for image in images:
        with Image.open(outs["math-media"] / row["model"] / image["path"]) as picture:
            # The frame around the answer: more red than blue, as nothing else in that place.
            place = picture.convert("RGB").crop((40, 430, 260, 500)).resize((55, 18))
            gold.append(sum(red - blue > 60 for red, _, blue in place.get_flattened_data()) > 20)
    assert gold == [False] * 15 + [True]


def test_office_work_takes_two_routes_and_rules_stand_beside_it(outs: dict[str, Path]) -> None:
    """Text goes without pictures, everything else as pictures; each type of rule passes, most fail, too."""
    rows = all_rows(outs["enterprise-claw"], "enterprise-claw")
    routes = {task: row["route"] for (_, task), row in rows.items()}
    assert {task for task, route in routes.items() if route == "text"} == {"meeting-minutes", "stock-count"}
    assert all(bool(row["evidence"]["images"]) != (row["route"] == "text") for row in rows.values()
               if row["outcome"] != "absent")  # fmt: skip
    assert {"overall"} < {key for row in rows.values() for key in row["scores"]}
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
    dropped = rows["bureau", "fair-budget"]["evidence"]["not_shown"]
    reasons = {(one["name"], one["reason"]) for one in dropped}
    assert ("verify_temp/recalculated.txt", "excluded") in reasons
    groups = summary_of(outs["enterprise-claw"])["models"]["bureau-large-demo"]["groups"]
    assert {"big_class", "subclass_id"} <= groups.keys()
    groups = summary_of(outs["math-media"])["models"]["slate-large-demo"]["groups"]
    assert set(groups["subtask"]) == {"GSM8K-style", "MATH-500-style", "AIME-style", "OmniMath-style"}


def test_a_protocol_without_samples_is_refused(tmp_path: Path) -> None:
    """The message names those that have some."""
    done = run(command("demo", "--protocol", "posters"), cwd=tmp_path)
    assert done.returncode == 2
    assert "no samples ship for it" in done.stderr
    assert all(name in done.stderr for name in EXAMPLES)
    assert list(tmp_path.iterdir()) == []
