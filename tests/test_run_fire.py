"""Runs under fire: rate limits, hangs, bad items, a full disk, memory, and chaos."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from PIL import Image

from tests.fakes.judge_server import JudgeServer, Rule, SeenRequest, rule
from tests.fakes.processes import command_line, left_of
from tests.fakes.runs import environment, gis_reply, gis_run, judge_command, rows_of, run, summary_of

GOOD = rule(text=gis_reply())


def times_of(server: JudgeServer) -> list[float]:
    return [request.time_s for request in server.requests]


def test_a_rate_limit_pauses_everybody_and_costs_nothing(tmp_path: Path) -> None:
    """After a 429 nobody asks until its Retry-After is over; all are scored, attempts are counted."""
    gis_run(tmp_path, [f"t{n}" for n in range(6)])
    with JudgeServer(
        [
            rule(
                call=[4], status=429, headers={"retry-after": "3"}, body={"error": {"message": "slow down"}}
            ),
            rule(call=[8], status=529, body={"error": {"message": "overloaded"}}),
            rule(text=gis_reply(), delay_s=0.05),
        ]
    ) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--max-connections", 6))
        times = times_of(server)
    assert done.returncode == 0, done.stderr
    assert summary_of(tmp_path / "o")["scored"] == 6
    assert len(times) == 20
    # Calls that were on their way when the 429 came are allowed; then there is a gap of three seconds, less
    # what the last of them took on its way.
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert max(gaps[3:]) >= 1.5
    assert json.loads((tmp_path / "o/run.json").read_text())["calls"]["retried"] == 2


def test_a_rate_limit_for_ever_ends_and_says_so(tmp_path: Path) -> None:
    """Unscored as rate_limited, exit 3, everything else kept."""
    gis_run(tmp_path, ["a", "b"])
    limited = rule(
        contains="Map b.", status=429, headers={"retry-after": "0.1"}, body={"error": {"message": "no"}}
    )
    with JudgeServer([limited, GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--max-retries", 2, "--repeats", 1))
    a, b = rows_of(tmp_path / "o")
    assert done.returncode == 3
    assert (a["outcome"], b["outcome"], b["reason"]) == ("scored", "unscored", "rate_limited")


def test_there_is_exactly_one_retry_layer(tmp_path: Path) -> None:
    """Two retries are three requests, and three attempts in the record."""
    gis_run(tmp_path, ["a"])
    with JudgeServer([rule(status=500, body={"error": {"message": "down"}})]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1, "--max-retries", 2))
        assert len(server.requests) == 3
    assert json.loads((tmp_path / "o/run.json").read_text())["calls"]["made"] == 3
    assert rows_of(tmp_path / "o")[0]["reason"] == "unavailable"


@pytest.mark.parametrize(
    "connections", [6, *(pytest.param(other, marks=pytest.mark.long) for other in (1, 50))]
)
def test_hangs_and_stalls_end_by_the_timeout(tmp_path: Path, connections: int) -> None:
    """A call that is never answered and one that stalls in its body are asked again; nothing deadlocks.

    On a busy machine a good answer may be late, too: it is asked again and counted like the two.
    """
    gis_run(tmp_path, [f"t{n}" for n in range(6)])
    rules = [rule(call=4, fault="hang"), rule(call=7, fault="stall"), GOOD]
    with JudgeServer(rules) as server:
        line = judge_command(
            tmp_path, tmp_path / "o", server.url, "--max-connections", connections, "--timeout", 3
        )
        done = run(line)
        asked = len(server.requests)
    assert done.returncode == 0
    assert summary_of(tmp_path / "o")["scored"] == 6
    calls = json.loads((tmp_path / "o/run.json").read_text())["calls"]
    assert 20 <= asked <= calls["made"] == 18 + calls["retried"]
    assert 2 <= calls["possibly_billed"] <= calls["retried"]


@pytest.mark.long
def test_a_late_answer_is_no_second_verdict(tmp_path: Path) -> None:
    """What arrives after the timeout is not counted; the attempt stands as possibly billed."""
    gis_run(tmp_path, ["a"])
    late = rule(call=1, text=gis_reply((0,) * 7), delay_s=4)
    with JudgeServer([late, GOOD]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1, "--timeout", 3))
    assert [r["derived"]["main"] for r in rows_of(tmp_path / "o")[0]["repeats"]] == [86]


def test_one_bad_item_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    """Each has its own true cause, the good ones are scored, and the counts add up."""
    names = ["zero", "text", "throws", "dangling", "경로 #1 with blanks", "html200", "good"]
    gis_run(tmp_path, names)
    runs = tmp_path / "run"
    (runs / "zero.png").write_bytes(b"")
    (runs / "text.png").write_text("just text")
    (runs / "throws.png").unlink()
    (runs / "throws.html").write_text("<h1>Map</h1><script>undefinedFunction()</script>")
    (runs / "dangling.png").unlink()
    (runs / "dangling.png").symlink_to("nowhere.png")
    page = rule(
        contains="Map html200.", raw="<html>502 Bad Gateway</html>", headers={"content-type": "text/html"}
    )
    with JudgeServer([page, GOOD]) as server:
        done = run(judge_command(tmp_path, tmp_path / "o", server.url, "--repeats", 1, "--max-retries", 0))
    found = {row["task_id"]: (row["outcome"], row["reason"]) for row in rows_of(tmp_path / "o")}
    assert found == {
        "zero": ("absent", "empty"),
        "text": ("absent", "wrong_type"),
        "throws": ("scored", None),
        "dangling": ("absent", "missing"),
        "경로 #1 with blanks": ("scored", None),
        "html200": ("unscored", "unavailable"),
        "good": ("scored", None),
    }
    summary = summary_of(tmp_path / "o")
    assert done.returncode == 3
    assert summary["planned"] == summary["scored"] + sum(summary["absent"].values()) + sum(
        summary["unscored"].values()
    )


def test_a_changed_served_model_is_flagged(tmp_path: Path) -> None:
    """Both names stand in the summary, with a warning."""
    gis_run(tmp_path, ["a", "b"])
    second = rule(contains="Map b.", text=gis_reply(), served_model="judge-2026-02")
    with JudgeServer([second, rule(text=gis_reply(), served_model="judge-2026-01")]) as server:
        run(judge_command(tmp_path, tmp_path / "o", server.url))
    summary = summary_of(tmp_path / "o")
    assert summary["judge"]["served"] == ["judge-2026-01", "judge-2026-02"]
    assert "served_models_differ" in {warning["code"] for warning in summary["warnings"]}


@pytest.mark.long
def test_resumed_and_retried_runs_give_the_numbers_of_a_straight_one(tmp_path: Path) -> None:
    """Four bad replies of 18: straight, resumed and repeated runs are byte for byte the same."""
    tasks = [f"t{n}" for n in range(6)]
    gis_run(tmp_path, tasks)
    bad = [rule(contains=f"Map t{n}.", text="I cannot say.") for n in (1, 4)]
    with JudgeServer([*bad, rule(text=gis_reply(), delay_s=0.05)]) as server:
        straight, broken = tmp_path / "straight", tmp_path / "broken"
        run(judge_command(tmp_path, straight, server.url))
        first = (
            (straight / "judge_results.jsonl").read_bytes(),
            (straight / "judge_summary.json").read_bytes(),
        )
        run(judge_command(tmp_path, straight, server.url))
        assert first == (
            (straight / "judge_results.jsonl").read_bytes(),
            (straight / "judge_summary.json").read_bytes(),
        )
        process = subprocess.Popen(
            judge_command(tmp_path, broken, server.url), env=environment(), stderr=subprocess.DEVNULL
        )
        server.wait_for_requests(18 + 7)
        process.kill()
        process.wait()
        run(judge_command(tmp_path, broken, server.url))
    assert (broken / "judge_results.jsonl").read_bytes() == first[0]


def test_nothing_is_left_running_after_a_kill(tmp_path: Path) -> None:
    """SIGKILL in the middle of rendering leaves no browser behind."""
    gis_run(tmp_path, ["a"])
    (tmp_path / "run/a.png").unlink()
    (tmp_path / "run/a.html").write_text("<script>for(;;);</script>")
    with JudgeServer([GOOD]) as server:
        process = subprocess.Popen(
            judge_command(tmp_path, tmp_path / "o", server.url), env=environment(), stderr=subprocess.DEVNULL
        )
        parent = psutil.Process(process.pid)
        deadline = time.monotonic() + 300
        children: list[psutil.Process] = []
        while not any("--type=renderer" in command_line(one) for one in children):
            assert time.monotonic() < deadline
            time.sleep(0.05)
            children = parent.children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert left_of(children) == []


def test_a_full_disk_ends_the_run_plainly_and_the_ledger_opens(tmp_path: Path) -> None:
    """A file size limit stands for the full disk: one sentence, exit 1; the same command goes on later."""
    gis_run(tmp_path, [f"t{n}" for n in range(4)])
    with JudgeServer([rule(text=gis_reply(reason="x" * 20_000))]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url)
        code = (
            "import resource, signal, sys, os\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))\n"
            f"sys.argv = {line[2:]!r}\n"
            "from beholder.cli import main\nmain()"
        )
        full = run([sys.executable, "-c", code])
        assert full.returncode == 1, full.stderr
        assert "Traceback" not in full.stderr
        assert "disk" in full.stderr
        again = run(line)
    assert again.returncode == 0, again.stderr
    assert summary_of(tmp_path / "o")["scored"] == 4


@pytest.mark.long
def test_many_large_pictures_stay_within_bounded_memory(tmp_path: Path) -> None:
    """300 artifacts of 3 MB, three repeats each: below 400 MB, each image stored once."""
    tasks = [f"t{n}" for n in range(300)]
    gis_run(tmp_path, tasks)
    chance = random.Random(0)
    noise = Image.frombytes("RGB", (1000, 1000), chance.randbytes(3_000_000))
    for number, name in enumerate(tasks):
        noise.putpixel((0, 0), (number % 256, number // 256, 7))
        noise.save(tmp_path / "run" / f"{name}.png", compress_level=0)
    with JudgeServer([GOOD], light=True) as server:
        process = subprocess.Popen(
            judge_command(tmp_path, tmp_path / "o", server.url, "--max-connections", 8),
            env=environment(),
            stderr=subprocess.DEVNULL,
        )
        peak = 0
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                peak = max(peak, watched.memory_info().rss)
            time.sleep(0.05)
        assert len(server.requests) == 900
    assert process.returncode == 0
    assert peak < 400e6
    size = sum(path.stat().st_size for path in (tmp_path / "o").rglob("*") if path.is_file())
    assert size < 1.15 * 300 * 3_000_000


def good_text(request: SeenRequest) -> str:
    """The good answer to a task, by its number."""
    number = int(request.texts[0].partition("Map t")[2].partition(".")[0])
    return gis_reply((20, number % 31, number % 29, number % 21, 15, 5, 10))


class CalmServer(JudgeServer):
    """Answers each task well."""

    def _pick(self, request: SeenRequest) -> Rule:
        return rule(text=good_text(request))


class ChaosServer(JudgeServer):
    """Answers at random well, late, cut, refused, 429, 500 or not at all; a task's good answer is its own."""

    def __init__(self, seed: int) -> None:
        super().__init__([])
        self.chance = random.Random(seed)

    def _pick(self, request: SeenRequest) -> Rule:
        good = good_text(request)
        draw = self.chance.random()
        faults: list[tuple[float, Rule]] = [
            (0.02, rule(text=good, delay_s=0.2)),
            (0.04, rule(fault="cut", text=good)),
            (0.06, rule(status=429, headers={"retry-after": "0.05"}, body={"error": {"message": "slow"}})),
            (0.09, rule(status=500, body={"error": {"message": "down"}})),
            (0.10, rule(fault="reset")),
            (0.103, rule(fault="hang")),
            (0.11, rule(text="I'm sorry, I can't help with that.")),
        ]
        return next((answer for limit, answer in faults if draw < limit), rule(text=good))


@pytest.mark.long
def test_chaos_and_twenty_kills_change_no_number(tmp_path: Path) -> None:
    """2,000 tasks x 3 repeats under random faults and kills: every call is accounted for.

    Wherever all three repeats were answered well, the row equals the one of an undisturbed run; no reply that
    arrived is lost, and requests the server saw are attempts in the ledger.
    """
    tasks = [f"t{n}" for n in range(2000)]
    gis_run(tmp_path, tasks)
    chance = random.Random(7)
    out = tmp_path / "o"
    with ChaosServer(11) as server:
        line = judge_command(
            tmp_path, out, server.url, "--max-connections", 32, "--timeout", 10, "--max-retries", 8
        )
        for _ in range(20):
            process = subprocess.Popen(
                line, env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=chance.uniform(1.5, 4))
            process.kill()
            process.wait()
        last = subprocess.run(
            line, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False
        )
        seen = len(server.requests)
    assert last.returncode in {0, 3}, last.stderr
    rows = rows_of(out)
    assert len(rows) == 2000
    with contextlib.closing(sqlite3.connect(out / "ledger.sqlite")) as db:
        states = Counter(state for (state,) in db.execute("SELECT state FROM attempts"))
        calls = Counter(state for (state,) in db.execute("SELECT state FROM calls"))
        replied = "SELECT call FROM attempts WHERE state = 'replied' GROUP BY call HAVING count(*) > 1"
        doubled = db.execute(replied).fetchall()
    db.close()
    assert calls["open"] == 0
    assert calls.total() == 6000
    assert doubled == []
    assert "sent" not in states
    # An intent whose request never left is the only attempt the server did not see.
    assert seen <= states.total() <= seen + states["lost"]
    with CalmServer() as calm:
        undisturbed = tmp_path / "undisturbed"
        run(judge_command(tmp_path, undisturbed, calm.url, "--max-connections", 32))
    expected = {row["task_id"]: row for row in rows_of(undisturbed)}
    whole = [row for row in rows if row["n_scored"] == 3]
    assert len(whole) > 1500
    assert all(row == expected[row["task_id"]] for row in whole)
    reasons = Counter(r["reason"] for row in rows for r in row["repeats"] if r["reason"])
    assert set(reasons) <= {"refused", "timeout", "unavailable", "rate_limited"}


def test_a_reader_that_leaves_does_not_end_the_run(tmp_path: Path) -> None:
    """`2>&1 | head -1`: the first line is shown, the run goes on and its exit code is its own."""
    gis_run(tmp_path, ["a", "b"])
    with JudgeServer([rule(contains="Map b.", text="no"), GOOD]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url)
        shell = 'set -o pipefail; "$@" 2>&1 | head -1; exit ${PIPESTATUS[0]}'
        done = run(["bash", "-c", shell, "bash", *line])
    assert done.returncode == 3
    assert done.stdout.count("\n") == 1
    assert summary_of(tmp_path / "o")["scored"] == 1


def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    """Done of total, unscored so far, rate, time left and cost, on a real terminal."""
    import pty

    gis_run(tmp_path, [f"t{n}" for n in range(6)])
    with JudgeServer([rule(text=gis_reply(), delay_s=0.2)]) as server:
        line = judge_command(tmp_path, tmp_path / "o", server.url, "--max-connections", 2)
        master, slave = pty.openpty()
        process = subprocess.Popen(
            line, stdout=slave, stderr=slave, env=environment(TERM="xterm", COLUMNS="120"), close_fds=True
        )
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal closes when the run ends
            while piece := os.read(master, 65536):
                shown += piece
        os.close(master)
        assert process.wait() == 0
    text = shown.decode("utf-8", "replace")
    for word in ("/6", "unscored", "/s", "left", "price unknown"):
        assert word in text


def test_a_log_says_what_is_waited_for() -> None:
    """Calls under way, or evidence, in the line that a log gets now and then."""
    from beholder.records import Reply
    from beholder.run.progress import Progress

    progress = Progress(planned=3)
    assert "preparing evidence" in progress.line()
    progress.asked()
    progress.asked()
    assert "waiting for 2 calls" in progress.line()
    progress.attempted(Reply(text=""))
    assert "waiting for 1 call" in progress.line()
