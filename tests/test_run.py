"""Whole runs of the command, against a local server that speaks the vendors' shape."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import time
from collections.abc import Callable
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


def test_tasks_and_submissions_become_a_report(tmp_path: Path) -> None:
    """Rows in task order, a summary that adds up, tables, reports, and exit 0."""
    gis_run(tmp_path)
    with JudgeServer([GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url))
        assert len(server.requests) == 9
    assert (done.returncode, done.stderr.count("Judge: openai-compatible/judge-1")) == (0, 1), done.stderr
    rows, summary = rows_of(tmp_path / "o"), summary_of(tmp_path / "o")
    assert [row["task_id"] for row in rows] == ["a", "b", "c"]
    assert [row["main_score"] for row in rows] == [86, 86, 86]
    assert (summary["scored"], summary["coverage"], summary["mean"]) == (3, 1, 86)
    for name in (
        "REPORT_EVALUATION.md",
        "report.html",
        "run.json",
        "ledger.sqlite",
        "gis_results.csv",
        "gis_results.xlsx",
    ):
        assert (tmp_path / "o" / name).stat().st_size > 0


@pytest.mark.parametrize("judge", ["anthropic/claude-sonnet-4-6", "openai/gpt-5", "google/gemini-2.5-pro"])
def test_each_vendors_shape_runs_to_a_score(tmp_path: Path, judge: str) -> None:
    """At a foreign address, with the version in it or not, and with no key but the one that is named."""
    file, run_dir = gis_run(tmp_path, ["a"])
    with JudgeServer([GOOD]) as server:
        for number, url in enumerate([f"{server.url}/v1", server.url]):
            if judge.startswith("openai/") and not url.endswith("/v1"):
                continue  # OpenAI's address is written with its version
            line = command(
                "judge-run", "--tasks", file, "--run-dir", run_dir, "--out-dir", tmp_path / f"o{number}",
                "--protocol", "gis-bench", "--judge", judge, "--base-url", url, "--min-interval", 0,
                "--api-key-env", "OWN_KEY", "--repeats", 1,
            )  # fmt: skip
            done = run(line, env=environment(OWN_KEY="sk-own", ANTHROPIC_API_KEY="sk-vendor"))
            assert done.returncode == 0, done.stderr
            assert rows_of(tmp_path / f"o{number}")[0]["main_score"] == 86
        assert "sk-vendor" not in str([request.headers for request in server.requests])
        assert all("sk-own" in str(request.headers) for request in server.requests)


@pytest.mark.long
def test_repeats_are_asked_each_and_never_again(tmp_path: Path) -> None:
    """Five repeats, five answers; the same command makes no call; seven repeats make two more."""
    gis_run(tmp_path, ["a"])
    replies = [gis_reply((20, 25, 0, 10 + 5 * (n % 3), 15, 5, n)) for n in (0, 5, 10, 0, 5, 10, 0)]
    out = tmp_path / "o"
    with JudgeServer([rule(call=n, text=text) for n, text in enumerate(replies, start=1)]) as server:
        counts, lists = [], []
        for repeats in (5, 5, 7):
            run(judge_command(tmp_path, out, server.url, "--repeats", repeats, "--max-connections", 1))
            counts.append(len(server.requests))
            lists.append([r["derived"]["total_raw"] for r in rows_of(out)[0]["repeats"]])
    assert counts == [5, 5, 7]
    assert (
        lists[0]
        == lists[1]
        == [
            sum(
                json.loads(text)[k]
                for k in (
                    "exists",
                    "accuracy",
                    "requirement",
                    "completeness",
                    "spatial_location",
                    "geometry_validity",
                    "numeric_match",
                )
            )
            for text in replies[:5]
        ]
    )
    assert lists[2][:5] == lists[0]
    assert json.loads((out / "run.json").read_text())["calls"]["reused"] == 5


def test_a_cut_reply_keeps_its_evidence_and_its_cost(tmp_path: Path) -> None:
    """Unscored as truncated, with raw text, stop reason, tokens, served model and the cap in force."""
    gis_run(tmp_path, ["a", "b"])
    usage = {"input_tokens": 900, "output_tokens": 1024, "cached_input_tokens": 0}
    cut = rule(contains="Map a.", text='{"exists": 20, "accuracy": 2', stop_reason="length", usage=usage)
    empty = rule(contains="Map b.", text="", stop_reason="length", usage=usage)
    out = tmp_path / "o"
    with JudgeServer([cut, empty]) as server:
        done = run(judge_command(tmp_path, out, server.url, "--repeats", 1))
    rows = rows_of(out)
    assert done.returncode == 3
    assert [(row["outcome"], row["reason"], row["main_score"]) for row in rows] == [
        ("unscored", "truncated", None)
    ] * 2
    assert rows[0]["repeats"][0]["stop_reason"] == "length"
    assert rows[0]["judge"]["served"] == ["judge-1"]
    assert (out / rows[0]["folder"] / "reply-1.txt").read_text() == '{"exists": 20, "accuracy": 2'
    record = json.loads((out / "run.json").read_text())
    assert record["tokens"] == {"input": 1800, "output": 2048}
    assert record["cost_usd"] is None
    assert json.loads((out / "manifest.json").read_text())["judge"]["max_tokens"] == 1024


def test_the_picture_that_is_stored_is_the_picture_that_is_sent(tmp_path: Path) -> None:
    """The hash in the request, on disk, in the row and of the artifact itself are one."""
    gis_run(tmp_path)
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1))
        sent = {image.sha256 for request in server.requests for image in request.images}
    rows = rows_of(tmp_path / "o")
    stored = {
        hashlib.sha256((tmp_path / "o" / i["path"]).read_bytes()).hexdigest()
        for r in rows
        for i in r["evidence"]["images"]
    }
    named = {image["sha256"] for row in rows for image in row["evidence"]["images"]}
    files = {hashlib.sha256((tmp_path / "run" / f"{n}.png").read_bytes()).hexdigest() for n in "abc"}
    assert sent == stored == named == files


def test_swapped_evidence_is_never_sent(tmp_path: Path) -> None:
    """Stored pictures whose bytes are others end the call before it is made."""
    gis_run(tmp_path, ["a", "b"])
    out = tmp_path / "o"
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, out, server.url, "--repeats", 1))
        images = [out / row["evidence"]["images"][0]["path"] for row in rows_of(out)]
        first, second = images[0].read_bytes(), images[1].read_bytes()
        images[0].write_bytes(second)
        images[1].write_bytes(first)
        done = run(judge_command(tmp_path, out, server.url, "--repeats", 2))
        assert len(server.requests) == 2
    assert done.returncode == 0  # each has one scored repeat
    assert [row["repeats"][1]["reason"] for row in rows_of(out)] == ["rejected"] * 2


def test_a_tasks_text_arrives_unchanged_in_the_prompt(tmp_path: Path) -> None:
    """Whatever it holds, it is put in once and never looked at again."""
    texts = [
        "{level} {0} %s $HOME \\n",
        'Reply {"exists": 20}',
        "\\frac{1}{2}",
        "x" * 20_000,
        "",
        "{prompt}{media}",
    ]
    names = [f"t{number}" for number in range(len(texts))]
    gis_run(tmp_path, names)
    rows = [
        {"task_id": name, "level": "Level1", "prompt": text} for name, text in zip(names, texts, strict=True)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1))
        sent = {request.texts[0] for request in server.requests}
        assert {tuple(request.roles) for request in server.requests} == {("user",)}
    assert len(sent) == len(texts)
    for name, text in zip(names, texts, strict=True):
        wanted = f"Task (Level1):\n{text}\n\nAttached:\nimage 1: {name}.png\n"
        assert sum(wanted in prompt for prompt in sent) == 1


def test_a_users_wording_is_sent_byte_for_byte(tmp_path: Path) -> None:
    """JSON braces of a published prompt are not doubled, filled in or escaped."""
    gis_run(tmp_path, ["a"])
    wording = (
        '채점하세요. [태스크 Level {level}]\r\n{prompt}\r\n{"exists":정수,"pass":불리언} {unknown} {{x}}'
    )
    (tmp_path / "own.txt").write_bytes(wording.encode())
    with JudgeServer([GOOD]) as server:
        run(
            judge_command(
                tmp_path, tmp_path / "o", server.url, "--repeats", 1, "--prompt-file", tmp_path / "own.txt"
            )
        )
        (request,) = server.requests
    assert request.texts == [wording.replace("{level}", "Level1").replace("{prompt}", "Map a.")]


def test_another_question_or_judge_is_refused_in_a_used_out_dir(tmp_path: Path) -> None:
    """The message names what differs; no call is made and the rows stay."""
    gis_run(tmp_path, ["a"])
    out = tmp_path / "o"
    (tmp_path / "own.txt").write_text("{level} {prompt} another question")
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, out, server.url))
        rows = (out / "judge_results.jsonl").read_bytes()
        question = run(judge_command(tmp_path, out, server.url, "--prompt-file", tmp_path / "own.txt"))
        judge = run(judge_command(tmp_path, out, server.url, "--temperature", 1))
        assert len(server.requests) == 3
    assert (question.returncode, judge.returncode) == (2, 2)
    assert "question_sha256" in question.stderr
    assert "judge" in judge.stderr
    assert (out / "judge_results.jsonl").read_bytes() == rows


def test_blank_broken_and_missing_are_three_things(tmp_path: Path) -> None:
    """A white page is judged with a warning; corrupt and missing files are absent, worth the minimum."""
    gis_run(tmp_path, ["white", "corrupt", "missing"])
    (tmp_path / "run" / "white.png").unlink()
    (tmp_path / "run" / "white.html").write_text("<!doctype html><title>t</title>")
    (tmp_path / "run" / "corrupt.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (tmp_path / "run" / "missing.png").unlink()
    zero = rule(text=gis_reply((0,) * 7))
    with JudgeServer([zero]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1))
    white, corrupt, missing = rows_of(tmp_path / "o")
    assert done.returncode == 0
    assert (white["outcome"], white["main_score"]) == ("scored", 0)
    assert "blank_capture" in {warning["code"] for warning in white["evidence"]["warnings"]}
    assert (corrupt["outcome"], corrupt["reason"], corrupt["main_score"], corrupt["pass"]) == (
        "absent",
        "corrupt",
        0,
        False,
    )
    assert (missing["outcome"], missing["reason"], missing["scores"]) == ("absent", "missing", {})
    assert summary_of(tmp_path / "o")["absent"] == {"corrupt": 1, "missing": 1}


def test_an_outside_host_needs_the_users_word(tmp_path: Path) -> None:
    """Without --network it is unscored and says which flag; with `block` it is judged with a warning."""
    gis_run(tmp_path, ["cdn"])
    (tmp_path / "run" / "cdn.png").unlink()
    (tmp_path / "run" / "cdn.html").write_text(
        "<h1>Map</h1><script src='https://cdn.example.com/leaflet.js'></script>"
    )
    out = tmp_path / "o"
    with JudgeServer([GOOD]) as server:
        first = run(judge_command(tmp_path, out, server.url))
        row = rows_of(out)[0]
        assert (first.returncode, row["reason"], len(server.requests)) == (3, "blocked_resources", 0)
        assert "--network" in row["main_score_error"]
        assert "cdn.example.com" in row["main_score_error"]
        second = run(judge_command(tmp_path, out, server.url, "--network", "block"))
    judged = rows_of(out)[0]
    assert (second.returncode, judged["outcome"]) == (0, "scored")
    assert judged["evidence_sha256"] != row["evidence_sha256"]
    assert judged["evidence"]["warnings"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("good", 0), ("below", 100), ("some_unscored", 3), ("wrong_key", 1), ("no_tasks", 2), ("bad_config", 2)],
)
def test_exit_codes_speak(tmp_path: Path, name: str, code: int) -> None:
    """Six outcomes, told apart by exit code and message; the counts add up in each."""
    tasks = [f"t{n}" for n in range(6)]
    gis_run(tmp_path, tasks)
    rules = {
        "some_unscored": [rule(contains="Map t3.", text="no"), GOOD],
        "wrong_key": [rule(status=401, body={"error": {"message": "bad key"}})],
    }
    more = {"below": ["--fail-under", 99], "bad_config": ["--network", "http://x"]}.get(name, [])
    if name == "no_tasks":
        (tmp_path / "tasks.jsonl").write_text("")
    with JudgeServer(rules.get(name, [GOOD])) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, *more))
        requests = len(server.requests)
    assert done.returncode == code, done.stderr
    if code == 2:
        assert (requests, done.stderr.startswith("Error: ")) == (0, True)
        return
    summary = summary_of(tmp_path / "o")
    assert summary["planned"] == 6 == summary["scored"] + sum(summary["unscored"].values())
    if name == "some_unscored":
        assert sum(summary["unscored"].values()) == 1
        assert summary["mean_bounds"][0] < summary["mean"] < summary["mean_bounds"][1]
    if name == "wrong_key":
        assert requests <= 3
        assert "bad key" in done.stderr
        assert summary["mean"] is None


def test_a_mended_key_goes_on_where_the_wrong_one_stopped(tmp_path: Path) -> None:
    """Calls that a wrong key ended are open, so the same command asks them."""
    gis_run(tmp_path)
    out = tmp_path / "o"
    with JudgeServer([rule(status=401, times=1, body={"error": {"message": "bad key"}}), GOOD]) as server:
        assert run(judge_command(tmp_path, out, server.url, "--max-connections", 1)).returncode == 1
        done = run(judge_command(tmp_path, out, server.url))
    assert done.returncode == 0
    assert summary_of(out)["scored"] == 3


def test_a_call_that_failed_for_good_is_asked_again_only_if_told(tmp_path: Path) -> None:
    """A finished run makes no call; --retry-unscored does."""
    gis_run(tmp_path, ["a"])
    out = tmp_path / "o"
    with JudgeServer([rule(status=400, times=3, body={"error": {"message": "no"}}), GOOD]) as server:
        first = run(judge_command(tmp_path, out, server.url))
        again = run(judge_command(tmp_path, out, server.url))
        assert (first.returncode, again.returncode, len(server.requests)) == (3, 3, 3)
        told = run(judge_command(tmp_path, out, server.url, "--retry-unscored"))
        assert (told.returncode, len(server.requests)) == (0, 6)
    assert rows_of(out)[0]["main_score"] == 86


def test_ctrl_c_keeps_what_arrives_and_the_rest_goes_on_later(tmp_path: Path) -> None:
    """Exit 130, nothing lost; the resumed run's rows are those of an undisturbed one."""
    gis_run(tmp_path, [f"t{n}" for n in range(8)])
    with JudgeServer([rule(call={"from": 5}, held=True, text=gis_reply()), GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--max-connections", 2)
        process = subprocess.Popen(
            line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment()
        )
        server.wait_for_requests(6)
        process.send_signal(signal.SIGINT)
        read_until("Press Ctrl-C again", process)
        server.release()
        _, errors = process.communicate(timeout=300)
        assert (process.returncode, "run the same command again" in errors) == (130, True), errors
        assert len(server.requests) == 6
        assert run(line).returncode == 0
        assert len(server.requests) == 24
        run(judge_command(tmp_path, tmp_path / "undisturbed", server.url))
    assert (tmp_path / "o/judge_results.jsonl").read_bytes() == (
        tmp_path / "undisturbed/judge_results.jsonl"
    ).read_bytes()


def test_ctrl_c_twice_ends_at_once(tmp_path: Path) -> None:
    """The second signal does not wait for a call under way; it is told as possibly billed and asked again."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([rule(times=1, fault="hang"), GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1)
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment())
        server.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        said = read_until("Press Ctrl-C again", process)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 130
        assert "Traceback" not in said + errors
        again = run(line)
    assert again.returncode == 0
    assert "possibly billed" in again.stderr


def test_sigterm_ends_like_ctrl_c(tmp_path: Path) -> None:
    """What is under way is waited for, and the run can be resumed."""
    gis_run(tmp_path, ["a", "b", "c", "d"])
    with JudgeServer([rule(call=2, held=True, text=gis_reply()), GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--max-connections", 1)
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment())
        server.wait_for_requests(2)
        process.send_signal(signal.SIGTERM)
        read_until("Press Ctrl-C again", process)
        server.release()
        process.communicate(timeout=300)
        assert process.returncode == 130
        asked = len(server.requests)
    stored = sum(r["outcome"] == "scored" for row in rows_of(tmp_path / "o") for r in row["repeats"])
    assert stored == asked == 2


def kill_and_resume(folder: Path, server: JudgeServer, until: Callable[[], object]) -> int:
    """Kill a run with SIGKILL when `until` returns, tear its last row, resume; the calls in all."""
    line = judge_command(folder, folder / "o", server.url, "--max-connections", 3)
    process = subprocess.Popen(line, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment())
    until()
    process.kill()
    process.wait()
    rows = folder / "o" / "judge_results.jsonl"
    if rows.exists():
        rows.write_bytes(rows.read_bytes()[:-50])
    assert run(line).returncode == 0
    return len(server.requests)


@pytest.mark.parametrize("calls", [8, *(pytest.param(other, marks=pytest.mark.long) for other in (1, 17))])
def test_kill_9_loses_no_paid_reply_and_repeats_only_those_in_flight(tmp_path: Path, calls: int) -> None:
    """18 calls at 3 connections: a resumed run repeats at most 3, and its rows equal an undisturbed run's."""
    gis_run(tmp_path, [f"t{n}" for n in range(6)])
    with JudgeServer([rule(text=gis_reply(), delay_s=0.1)]) as server:
        total = kill_and_resume(tmp_path, server, lambda: server.wait_for_requests(calls))
        assert 18 <= total <= 21
        run(judge_command(tmp_path, tmp_path / "undisturbed", server.url))
    assert (tmp_path / "o/judge_results.jsonl").read_bytes() == (
        tmp_path / "undisturbed/judge_results.jsonl"
    ).read_bytes()


@pytest.mark.long
def test_fifty_kills_at_random_instants(tmp_path: Path) -> None:
    """No paid reply lost, none repeated but those in flight, equal rows, whenever the kill comes."""
    import random

    chance = random.Random(1)
    undisturbed = None
    for round_number in range(50):
        folder = tmp_path / str(round_number)
        gis_run(folder, [f"t{n}" for n in range(6)])
        with JudgeServer([rule(text=gis_reply(), delay_s=0.05)]) as server:
            after_s = chance.uniform(0.2, 1.6)
            total = kill_and_resume(folder, server, lambda seconds=after_s: time.sleep(seconds))
            assert 18 <= total <= 21
        rows = (folder / "o/judge_results.jsonl").read_bytes()
        undisturbed = undisturbed or rows
        assert rows == undisturbed


def test_several_models_have_an_out_dir_each_and_a_joint_report(tmp_path: Path) -> None:
    """O/NAME for each, and in O the joint summary with the common tasks."""
    file, _ = gis_run(tmp_path / "one")
    gis_run(tmp_path / "two", ["a", "b"])
    with JudgeServer([GOOD]) as server:
        done = run(
            command(
                "judge-run",
                "--tasks",
                file,
                "--run-dir",
                f"first={tmp_path}/one/run",
                "--run-dir",
                f"second={tmp_path}/two/run",
                "--out-dir",
                tmp_path / "o",
                "--protocol",
                "gis-bench",
                "--judge",
                "openai-compatible/judge-1",
                "--base-url",
                f"{server.url}/v1",
                "--min-interval",
                0,
                "--repeats",
                1,
                "--json",
            )
        )
    joint = json.loads(done.stdout)
    assert joint == json.loads((tmp_path / "o/judge_summary.json").read_text())
    assert {name: one["mean"] for name, one in joint["models"].items()} == {
        "first": 86,
        "second": pytest.approx(172 / 3),
    }
    assert joint["common"]["tasks"] == 3
    assert (tmp_path / "o/report.html").exists()
    assert [row["outcome"] for row in rows_of(tmp_path / "o/second")] == ["scored", "scored", "absent"]


def test_a_living_run_keeps_others_out(tmp_path: Path) -> None:
    """A second run on the same out-dir ends at once with a plain message."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([rule(fault="hang")]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1)
        first = subprocess.Popen(
            line, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment()
        )
        try:
            server.wait_for_requests(1)
            second = run(line)
        finally:
            first.kill()
            first.wait()
    assert second.returncode == 1
    assert "another run" in second.stderr


def test_the_piped_log_has_no_control_characters_and_stdout_only_json(tmp_path: Path) -> None:
    """With --json stdout is one document; nothing moves the cursor."""
    gis_run(tmp_path)
    with JudgeServer([GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--json"), env=environment(LC_ALL="C"))
    assert json.loads(done.stdout)["scored"] == 3
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stderr


def test_large_pictures_are_stored_once_and_rows_hold_no_pixels(tmp_path: Path) -> None:
    """Three repeats share one image file, and no row holds base64."""
    gis_run(tmp_path, ["a"])
    picture(tmp_path / "run" / "a.png", "green", (600, 400))
    with JudgeServer([GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url))
    assert len(list((tmp_path / "o").rglob("image-*"))) == 1
    assert "base64" not in (tmp_path / "o/judge_results.jsonl").read_text()
