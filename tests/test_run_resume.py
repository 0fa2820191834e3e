"""What a second run of the same command, or nearly the same, does."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import (
    command,
    environment,
    gis_reply,
    gis_run,
    judge_command,
    picture,
    read_until,
    rows_of,
    run,
    summary_of,
)

GOOD = rule(text=gis_reply())


def page_run(folder: Path) -> None:
    """A task whose page shows a picture that lies beside it."""
    gis_run(folder, ["a"])
    (folder / "run/a.png").unlink()
    root = folder / "run/a/artifacts"
    picture(root / "map.png", "red", (300, 200))
    (root / "index.html").write_text("<h1>Map</h1><img src='map.png'>")


@pytest.mark.long
def test_a_changed_picture_beside_a_page_is_another_submission(tmp_path: Path) -> None:
    """The old verdict does not stand beside the new picture: it is asked again."""
    page_run(tmp_path)
    with JudgeServer([GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1)
        run(line)
        first = rows_of(tmp_path / "o")[0]["evidence"]["images"][0]["sha256"]
        picture(tmp_path / "run/a/artifacts/map.png", "blue", (300, 200))
        run(line)
        assert len(server.requests) == 2
    assert rows_of(tmp_path / "o")[0]["evidence"]["images"][0]["sha256"] != first


@pytest.mark.long
def test_files_that_change_places_are_another_submission(tmp_path: Path) -> None:
    """Two pictures of a page with each other's names: the same digests, another page."""
    page_run(tmp_path)
    root = tmp_path / "run/a/artifacts"
    picture(root / "other.png", "blue", (300, 200))
    with JudgeServer([GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1)
        run(line)
        red, blue = ((root / name).read_bytes() for name in ("map.png", "other.png"))
        (root / "map.png").write_bytes(blue)
        (root / "other.png").write_bytes(red)
        run(line)
        assert len(server.requests) == 2


@pytest.mark.parametrize("change", ["changed", "added"])
@pytest.mark.long
def test_a_flat_pages_folder_of_assets_is_a_part_of_it(tmp_path: Path, change: str) -> None:
    """What a page draws on beside itself is listed; another picture, or the one it lacked, is judged anew."""
    gis_run(tmp_path, ["a"])
    (tmp_path / "run/a.png").unlink()
    (tmp_path / "run/a.html").write_text("<h1>Map</h1><img src='a_files/map.png'>")
    if change == "changed":
        picture(tmp_path / "run/a_files/map.png", "red", (300, 200))
    with JudgeServer([GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1)
        run(line)
        before = rows_of(tmp_path / "o")
        run(line)
        assert len(server.requests) == 1
        assert rows_of(tmp_path / "o") == before
        again = run(command("rescore", "--out-dir", tmp_path / "o", "--to", tmp_path / "r", "--pass-at", 70))
        picture(tmp_path / "run/a_files/map.png", "blue", (300, 200))
        dry = run([*line, "--dry-run", "--json"])
        run(line)
        assert len(server.requests) == 2
    assert again.returncode == 0, again.stderr
    assert json.loads(dry.stdout)["calls"] == 1
    names = [
        ["a.html", "a_files/map.png"] if change == "changed" else ["a.html"],
        ["a.html", "a_files/map.png"],
    ]
    rows = [before[0], rows_of(tmp_path / "o")[0]]
    assert [[one["name"] for one in row["evidence"]["artifacts"]] for row in rows] == names
    assert rows[0]["evidence"]["images"][0]["sha256"] != rows[1]["evidence"]["images"][0]["sha256"]
    listed = rows[1]["evidence"]["artifacts"][1]
    assert (listed["status"], listed["detail"]) == ("not_shown", "loaded by a.html")
    assert listed["size_bytes"] == (tmp_path / "run/a_files/map.png").stat().st_size


@pytest.mark.parametrize(
    "change",
    [
        "artifact",
        *(pytest.param(other, marks=pytest.mark.long) for other in ("text", "nothing", "more tasks")),
    ],
)
def test_after_a_change_the_rows_are_those_of_a_fresh_run(tmp_path: Path, change: str) -> None:
    """Whatever changed in files or tasks, resuming gives what starting anew would."""
    gis_run(tmp_path, ["a", "b"])
    with JudgeServer([rule(contains="Map b.", text=gis_reply((20, 1, 2, 3, 15, 5, 10))), GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "resumed", server.url))
        if change == "artifact":
            picture(tmp_path / "run/b.png", "teal", (70, 50))
        elif change == "text":
            gis_run(tmp_path, ["a", "b"], prompt="Another map.")
        elif change == "more tasks":
            gis_run(tmp_path, ["a", "b", "c"])
        before = len(server.requests)
        run(judge_command(tmp_path, tmp_path / "resumed", server.url))
        due = {"artifact": 3, "text": 6, "more tasks": 3, "nothing": 0}[change]
        assert len(server.requests) - before == due
        run(judge_command(tmp_path, tmp_path / "fresh", server.url))
    resumed, fresh = (tmp_path / name / "judge_results.jsonl" for name in ("resumed", "fresh"))
    assert resumed.read_bytes() == fresh.read_bytes()


@pytest.mark.long
def test_only_unscored_repeats_are_asked_again_when_told(tmp_path: Path) -> None:
    """Bad replies, once retried with good ones, give the numbers of a run that was good from the start."""
    gis_run(tmp_path, ["a", "b"])
    bad = rule(call=[1, 4], text="I would say 80.")
    with JudgeServer([bad, GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--max-connections", 1)
        run(line)
        assert sum(row["n_scored"] for row in rows_of(tmp_path / "o")) == 4
        run(line)
        assert len(server.requests) == 6
        run([*line, "--retry-unscored"])
        assert len(server.requests) == 8
        run(judge_command(tmp_path, tmp_path / "straight", server.url))
    retried, straight = (tmp_path / name / "judge_results.jsonl" for name in ("o", "straight"))
    assert retried.read_bytes() == straight.read_bytes()


def test_an_interrupted_resume_keeps_the_scores_that_were_there(tmp_path: Path) -> None:
    """Tasks that were judged before stay scored in the rows, although the second run came to none of them."""
    tasks = [f"t{n}" for n in range(6)]
    gis_run(tmp_path, tasks)
    with JudgeServer([rule(call=7, held=True, text=gis_reply()), GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1))
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 2, "--max-connections", 1)
        process = subprocess.Popen(
            line, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        server.wait_for_requests(7)
        process.send_signal(signal.SIGINT)
        read_until("Press Ctrl-C again", process)
        server.release()
        process.communicate(timeout=300)
        assert process.returncode == 130
    rows = rows_of(tmp_path / "o")
    assert [row["outcome"] for row in rows] == ["scored"] * 6
    assert {row["repeats"][1]["reason"] for row in rows} >= {"cancelled"}
    assert "evidence_policies_differ" not in {w["code"] for w in summary_of(tmp_path / "o")["warnings"]}


@pytest.mark.long
def test_a_stored_picture_that_is_gone_is_drawn_again(tmp_path: Path) -> None:
    """A new repeat does not fail for a file that was deleted from the out-dir."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1))
        next((tmp_path / "o").rglob("image-1.png")).unlink()
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 2))
    assert done.returncode == 0
    assert rows_of(tmp_path / "o")[0]["n_scored"] == 2


@pytest.mark.parametrize(
    "record",
    ["torn {", *(pytest.param(other, marks=pytest.mark.long) for other in ("{}", '{"evidence": {}}'))],
)
def test_a_damaged_evidence_record_is_made_anew(tmp_path: Path, record: str) -> None:
    """It neither ends the run nor is believed."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url))
        next((tmp_path / "o").rglob("prepared_output_evidence.json")).write_text(record)
        done = run(judge_command(tmp_path, tmp_path / "o", server.url))
        assert len(server.requests) == 3
    assert done.returncode == 0
    assert rows_of(tmp_path / "o")[0]["main_score"] == 86


@pytest.mark.parametrize("out", ["run", "run/a", "."])
def test_results_are_never_written_among_submissions(tmp_path: Path, out: str) -> None:
    """An out-dir in or around a run directory is refused, with --force too, and nothing is moved."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        for more in ([], ["--force"]):
            done = run(judge_command(tmp_path, tmp_path / out, server.url, *more))
            assert done.returncode == 2
            assert "apart from the submissions" in done.stderr
        assert server.requests == []
    assert (tmp_path / "run/a.png").is_file()


@pytest.mark.long
def test_force_archives_results_only(tmp_path: Path) -> None:
    """A folder that holds something else is left alone; a used out-dir is archived and asked anew."""
    gis_run(tmp_path, ["a"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("mine")
    with JudgeServer([GOOD]) as server:
        refused = run(judge_command(tmp_path, tmp_path / "mine", server.url, "--force"))
        assert (refused.returncode, (tmp_path / "mine/thesis.txt").read_text()) == (2, "mine")
        run(judge_command(tmp_path, tmp_path / "o", server.url))
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--force"))
        assert len(server.requests) == 6
    assert len(list((tmp_path / "o/archive").glob("*/judge_results.jsonl"))) == 1


def test_a_file_in_the_out_dirs_place_is_said(tmp_path: Path) -> None:
    """Exit 2, and what to choose instead."""
    gis_run(tmp_path, ["a"])
    (tmp_path / "afile").write_text("x")
    with JudgeServer([GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "afile", server.url))
    assert done.returncode == 2
    assert "choose a folder" in done.stderr


@pytest.mark.long
def test_one_model_and_several_do_not_share_an_out_dir(tmp_path: Path) -> None:
    """A joint run over a single one, and the reverse, would mix rows: both are refused."""
    gis_run(tmp_path, ["a"])
    several = [f"--run-dir=two={tmp_path / 'run'}"]
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "one", server.url))
        assert run([*judge_command(tmp_path, tmp_path / "one", server.url), *several]).returncode == 2
        run([*judge_command(tmp_path, tmp_path / "joint", server.url), *several])
        assert run(judge_command(tmp_path, tmp_path / "joint", server.url)).returncode == 2


@pytest.mark.parametrize("name", ["../x", "/tmp/x", ".", "..", "judge_summary.json", "a/b", ""])
def test_a_models_name_is_a_plain_folder_name(tmp_path: Path, name: str) -> None:
    """It never leads out of the out-dir, nor onto one of its files."""
    file, run_dir = gis_run(tmp_path, ["a"])
    line = command(
        "judge-run", "--tasks", file, "--run-dir", f"{name}={run_dir}", "--out-dir", tmp_path / "o",
        "--protocol", "gis-bench", "--judge", "scripted/none.jsonl",
    )  # fmt: skip
    assert run(line).returncode == 2


def test_a_looping_link_in_a_run_directory_is_one_submissions_problem(tmp_path: Path) -> None:
    """It ends no run; a task of its name is absent."""
    gis_run(tmp_path, ["a", "loop"])
    (tmp_path / "run/loop.png").unlink()
    (tmp_path / "run/loop.png").symlink_to("loop.png")
    with JudgeServer([GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url))
    assert done.returncode == 0
    assert [row["outcome"] for row in rows_of(tmp_path / "o")] == ["scored", "absent"]


def test_a_folder_of_assets_beside_a_file_does_not_hide_it(tmp_path: Path) -> None:
    """a.png with a folder a/ that is no submission is still a's submission."""
    gis_run(tmp_path, ["a"])
    (tmp_path / "run/a").mkdir()
    (tmp_path / "run/a/metadata.json").write_text("{}")
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url))
    assert rows_of(tmp_path / "o")[0]["outcome"] == "scored"


@pytest.mark.parametrize(
    "flags",
    [
        ["--timeout", "nan"],
        ["--min-interval", "inf"],
        ["--max-cost", "-1"],
        ["--network", "block,allow"],
        ["--temperature", "-1"],
        ["--repeats", "0"],
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_a_document(tmp_path: Path, flags: list[str]) -> None:
    """Exit 2 before any call; --json gives the error as JSON."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--json", *flags))
        assert server.requests == []
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]


def test_a_dry_run_by_environment_is_a_dry_run(tmp_path: Path) -> None:
    """BEHOLDER_DRY_RUN=1 counts and asks nobody."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url), env=environment(BEHOLDER_DRY_RUN="1"))
        assert server.requests == []


def test_a_servers_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """An error message with escape sequences is shown with them written out."""
    gis_run(tmp_path, ["a"])
    hostile = rule(status=400, body={"error": {"message": "bad \x1b]0;pwn\x07 \x1b[2J image"}})
    with JudgeServer([hostile]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1))
    assert "\x1b" not in done.stderr + done.stdout
    assert "\x07" not in done.stderr
    assert "image" in done.stderr
