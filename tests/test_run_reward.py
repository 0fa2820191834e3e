"""A judge that stays open: what `score` gives, what is asked and paid, what happens when things end early."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import beholder
from beholder.errors import RendererFailed
from beholder.evidence.files import read_artifact
from beholder.run.open_judge import JudgeOpening, JudgeOptions
from beholder.run.rollout import RolloutSource, pin_rollout
from beholder.store import ledger_copy
from tests.fakes.evidence import png
from tests.fakes.judge_server import Answer, JudgeServer, rule
from tests.fakes.runs import environment, gis_reply, rows_of

GOOD = rule(text=gis_reply())
TASK = {"task_id": "a", "level": "Level1", "prompt": "Map a."}
MAP = {"map.png": png()}


class GatedServer(JudgeServer):
    """A server that answers nobody until its gate is opened."""

    def __init__(self) -> None:
        super().__init__([GOOD])
        self.gate = threading.Event()

    def __enter__(self) -> GatedServer:
        self.start()
        return self

    def stop(self) -> None:
        """Let nobody wait for the gate any more."""
        self.gate.set()
        super().stop()

    async def _write(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        await asyncio.to_thread(self.gate.wait)
        return await super()._write(writer, answer)


def other(number: int) -> Mapping[str, bytes]:
    """A submission that differs from those of other numbers."""
    return {"map.png": png((64 + number, 48), "teal")}


def opening(folder: Path, url: str, **options: Any) -> JudgeOpening:
    """A judge at a local server, which asks once a submission."""
    return beholder.open_judge(
        **{
            "protocol": "gis-bench",
            "judge": "openai-compatible/judge-1",
            "base_url": f"{url}/v1",
            "out_dir": folder / "rewards",
            "repeats": 1,
            "min_interval_s": 0,
            "max_retries": 0,
            **options,
        }
    )


def scripted(folder: Path, lines: Sequence[Mapping[str, Any]], **options: Any) -> JudgeOpening:
    """A judge by script."""
    script = folder / "replies.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return opening(folder, "http://unused", judge=f"scripted/{script}", base_url=None, **options)


def program(folder: Path, server: JudgeServer, *lines: str) -> subprocess.Popen[bytes]:
    """A process of its own that opens a judge and does this."""
    root = str(Path(__file__).parents[1])
    code = [
        "import sys",
        "from pathlib import Path",
        "from tests.test_run_reward import MAP, TASK, opening, other",
        "with opening(Path(sys.argv[1]), sys.argv[2]) as judge:",
        *(f"    {line}" for line in lines),
    ]
    return subprocess.Popen(
        [sys.executable, "-c", "\n".join(code), folder, server.url], cwd=root, stderr=subprocess.DEVNULL,
        env=environment(PYTHONPATH=root),
    )  # fmt: skip


async def seen(server: JudgeServer, count: int) -> None:
    """Wait until so many requests have arrived, while the loop goes on."""
    await asyncio.to_thread(server.wait_for_requests, count)


def without_names(row: Mapping[str, Any]) -> Any:
    """A row but for what it is called and where its files lie."""
    text = json.dumps({name: value for name, value in row.items() if name != "model"})
    return json.loads(text.replace(row["folder"], "HERE"))


# --- the same as a run --------------------------------------------------------------------------

SUBMISSIONS: Mapping[str, Mapping[str, bytes]] = {
    "good": MAP,
    "two": {"map.png": png(), "notes.txt": b"words", "sub/other.png": png(colour="blue")},
    "empty": {"map.png": b""},
    "corrupt": {"map.png": png()[:60]},
    "other kind": {"map.png": b"%PDF-1.4"},
    "unsupported": {"map.xyz": b"?"},
    "missing": {},
}
REPLIES = st.one_of(
    st.tuples(*(st.integers(0, most) for most in (20, 25, 22, 15, 15, 5, 10))).map(
        lambda values: {"reply": gis_reply(values)}
    ),
    st.sampled_from([{"reply": "I see a map."}, {"error": "timeout"}, {"reply": gis_reply(total_raw=1)}]),
)


@settings(max_examples=3)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(SUBMISSIONS)), st.tuples(REPLIES, REPLIES)), min_size=1, max_size=7
    )
)
def test_both_doors_give_equal_rows(cases: list[tuple[str, tuple[Any, Any]]]) -> None:
    """Scores, criteria, reasons, evidence, flags: whatever is handed in and whatever the judge says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks = [{**TASK, "task_id": str(at), "kind": kind} for at, (kind, _) in enumerate(cases)]
        (folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks), "utf-8")
        lines = [
            {"task_id": str(at), "repeat": repeat, **reply}
            for at, (_, replies) in enumerate(cases)
            for repeat, reply in enumerate(replies, start=1)
        ]
        (folder / "run").mkdir()
        for at, (kind, _) in enumerate(cases):
            for file, data in SUBMISSIONS[kind].items():
                path = folder / "run" / str(at) / "artifacts" / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        with scripted(folder, lines, repeats=2) as judge:
            named = judge.score_all((task, SUBMISSIONS[task["kind"]]) for task in tasks)
            lying = judge.score_all((task, folder / "run" / task["task_id"]) for task in tasks)
        beholder.judge_run(
            beholder.RunSpec(
                tasks=folder / "tasks.jsonl",
                run_dirs={"m": folder / "run"},
                out_dir=folder / "o",
                protocol="gis-bench",
                judge=f"scripted/{folder / 'replies.jsonl'}",
                repeats=2,
                min_interval_s=0,
                max_retries=0,
            )
        )
        rows = [without_names(row) for row in rows_of(folder / "o")]
        assert [without_names(one.row) for one in named] == rows
        assert [without_names(one.row) for one in lying] == rows
        for one, row in zip(named, rows, strict=True):
            assert (one.task_id, one.outcome, one.reason) == (row["task_id"], row["outcome"], row["reason"])
            assert (one.score, one.passed, one.criteria) == (row["main_score"], row["pass"], row["scores"])
            assert (one.score is None) == (one.outcome == "unscored")
            assert all(path.is_file() for path in one.pictures)


def test_a_tasks_own_rubric_rules_and_response_are_the_same_too(tmp_path: Path) -> None:
    """`enterprise-claw`, by the text judge: a folder with a response, the same by name, and the run."""
    rubric = [{"key": "clear", "question": "Is it clear?", "max": 4, "weight": 1}]
    rules = {"rule_based": [{"type": "text_contains", "in": "response.txt", "all": ["Done"]}]}
    task = {"task_id": "t", "agent_prompt": "Do it.", "semantic_rubric": rubric, "evaluation": rules}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n", "utf-8")
    files = {"response.txt": "Done.", "artifacts/a.md": "# A", "metadata.json": "{}"}
    for name, text in files.items():
        path = tmp_path / "run" / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    replies = [{"reply": {"clear": 3, "reason": "short"}}]
    with scripted(tmp_path, replies, protocol="enterprise-claw") as judge:
        named = judge.score(task, files)
        lying = judge.score(task, tmp_path / "run" / "t")
    judged = f"scripted/{tmp_path / 'replies.jsonl'}"
    beholder.judge_run(
        beholder.RunSpec(
            tasks=tmp_path / "tasks.jsonl",
            run_dirs={"m": tmp_path / "run"},
            out_dir=tmp_path / "o",
            judge=judged,
            repeats=1,
        )
    )
    (row,) = rows_of(tmp_path / "o")
    assert (row["main_score"], row["route"], row["rules"][0]["outcome"]) == (0.75, "text", "passed")
    assert without_names(named.row) == without_names(lying.row) == without_names(row)
    assert (named.score, named.rationale, lying.calls) == (0.75, "short", 0)


def test_a_page_is_drawn_with_its_own_files_only(tmp_path: Path) -> None:
    """By name and as a folder it looks the same; given as a file it is alone, whatever lies beside it."""
    page = "<link rel=stylesheet href=own/style.css><h1>Concert</h1><p>3 May, 8 pm"
    files = {"index.html": page, "own/style.css": "body { background: teal; font: 40px serif }"}
    site = tmp_path / "site"
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, "utf-8")
    reply: dict[str, Any] = {
        "layout_integrity": 0.9,
        "typography_hierarchy": 0.7,
        "color_harmony": 0.8,
        "whitespace": 0.7,
    }
    reply |= {"content_richness": 0.6, "query_fulfillment": 0.9, "premium_assets": 0.4, "reason": "calm"}
    task = {"task_id": "a", "query": "a concert"}
    with scripted(tmp_path, [{"reply": reply}], protocol="web-page") as judge:
        named, lying, alone, bare = judge.score_all(
            [(task, files), (task, site), (task, site / "index.html"), (task, {"index.html": page})]
        )
    looks = [one.row["evidence"]["images"][0]["sha256"] for one in (named, lying, alone, bare)]
    assert looks[0] == looks[1] != looks[2] == looks[3]
    assert named.rollout == lying.rollout != alone.rollout == bare.rollout
    assert (named.score, sum(one.calls for one in (named, lying, alone, bare))) == (0.68, 2)


# --- asked and paid once ------------------------------------------------------------------------


def test_equal_submissions_are_asked_about_once(tmp_path: Path) -> None:
    """At the same time, one after the other, in another form, after a restart; another byte is another."""
    (tmp_path / "map.png").write_bytes(MAP["map.png"])
    with JudgeServer([GOOD]) as server:
        with opening(tmp_path, server.url, repeats=3) as judge:
            found = judge.score_all([(TASK, MAP)] * 5)
            assert [one.score for one in found] == [86] * 5
            assert sum(one.calls for one in found) == len(server.requests) == 3
            again = judge.score(TASK, tmp_path / "map.png")
            assert (again.calls, again.cost_usd, again.rollout) == (0, Decimal(0), found[0].rollout)
            assert judge.score(TASK, other(1)).calls == 3
            assert judge.score({**TASK, "task_id": "b"}, MAP).calls == 3
            assert judge.score({**TASK, "prompt": "Another map."}, MAP).calls == 3
        with opening(tmp_path, server.url, repeats=3) as judge:
            assert judge.score(TASK, MAP).calls == 0
        with opening(tmp_path, server.url, repeats=4) as judge:
            assert judge.score(TASK, MAP).calls == 1
        assert len(server.requests) == 13


def test_who_has_swapped_the_contents_of_two_files_has_another_submission(tmp_path: Path) -> None:
    """The same bytes under other names are shown otherwise, so no reply of the one is the other's."""
    one, two = png(colour="red"), png((50, 40), "blue")
    with JudgeServer([GOOD]) as server, opening(tmp_path, server.url) as judge:
        first = judge.score(TASK, {"map.png": one, "z.png": two})
        second = judge.score(TASK, {"map.png": two, "z.png": one})
    assert first.rollout != second.rollout
    assert (first.calls, second.calls) == (1, 1)


def test_a_killed_process_loses_no_reply(tmp_path: Path) -> None:
    """What was answered is not asked again; what was in flight is named and asked once more."""
    with JudgeServer([rule(call=2, fault="hang"), GOOD]) as server:
        loop = program(tmp_path, server, "judge.score(TASK, MAP)", "judge.score(TASK, other(1))")
        server.wait_for_requests(2)
        loop.send_signal(signal.SIGKILL)
        loop.wait(60)
        told: list[str] = []
        with opening(tmp_path, server.url, say=told.append) as judge:
            assert judge.score(TASK, MAP).calls == 0
            assert judge.score(TASK, other(1)).calls == 1
    assert len(server.requests) == 3
    assert any("1 call was under way" in line for line in told)


def test_many_at_once_stay_within_the_bound(tmp_path: Path) -> None:
    """Never more calls at a time than connections, from any number of threads; each has its own result."""
    slow = rule(text=gis_reply(), delay_s=0.02)
    with (
        JudgeServer([slow]) as server,
        opening(tmp_path, server.url, max_connections=4) as judge,
        ThreadPoolExecutor(12) as threads,
    ):
        found = list(threads.map(lambda at: judge.score(TASK, other(at)), range(24)))
    assert [one.row["evidence"]["images"][0]["width_px"] for one in found] == list(range(64, 88))
    assert len({one.rollout for one in found}) == len(server.requests) == 24
    assert server.in_flight_peak <= 4


# --- whose fault --------------------------------------------------------------------------------


def test_a_judges_failure_is_none_and_costs_only_its_own_submission(tmp_path: Path) -> None:
    """Unscored, with the reason; it is asked again only if that is said, as in a run."""
    with JudgeServer([rule(call=1, status=500), GOOD]) as server:
        with opening(tmp_path, server.url) as judge:
            failed, good = judge.score(TASK, MAP), judge.score(TASK, other(1))
            again = judge.score(TASK, MAP)
        assert (failed.outcome, failed.score, failed.passed, failed.reason) == (
            "unscored", None, None, "unavailable",
        )  # fmt: skip
        assert (again.outcome, again.score, again.calls) == ("unscored", None, 0)
        assert (good.outcome, good.score) == ("scored", 86)
        assert failed.detail.startswith("unavailable: ")
        with opening(tmp_path, server.url, retry_unscored=True) as judge:
            assert judge.score(TASK, MAP).score == 86
        assert len(server.requests) == 3


def test_a_reply_that_cannot_be_used_is_none(tmp_path: Path) -> None:
    """It was paid for, so it is counted, kept and not asked for again."""
    with scripted(tmp_path, [{"reply": "A fine map."}]) as judge:
        first, second = judge.score(TASK, MAP), judge.score(TASK, MAP)
    assert (first.outcome, first.score, first.reason, first.calls) == ("unscored", None, "invalid_json", 1)
    assert (second.reason, second.calls) == ("invalid_json", 0)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "missing"),
        ({"map.png": b""}, "empty"),
        ({"map.png": png()[:60]}, "corrupt"),
        ({"../map.png": png()}, "unsafe_path"),
        ({"/etc/map.png": png()}, "unsafe_path"),
        ({"a\0.png": png()}, "unsafe_path"),
        ({"\ud800.png": png()}, "unsafe_path"),
        ({f"{'a' * 300}.png": png()}, "unsafe_path"),
        ({"map.png": png(), "map.png/x.txt": b"1"}, "unsafe_path"),
    ],
)
def test_a_submissions_own_fault_is_the_minimum(tmp_path: Path, files: Any, reason: str) -> None:
    """Absent, with the formula's minimum, and nobody is asked."""
    with JudgeServer([GOOD]) as server, opening(tmp_path, server.url) as judge:
        found = judge.score(TASK, files)
        assert (found.outcome, found.reason, found.score, found.passed) == ("absent", reason, 0, False)
        assert (found.calls, server.requests) == (0, [])


def test_a_path_is_absent_only_by_its_own_fault(tmp_path: Path) -> None:
    """Nothing there, nothing in it, or a link that leads away."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "map.png").write_bytes(MAP["map.png"])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "map.png").symlink_to(tmp_path / "there" / "map.png")
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "there")
    paths = ["nowhere", "nowhere/map.png", "empty", "in/map.png", "in/folder", "in", "there"]
    with scripted(tmp_path, [{"reply": gis_reply()}]) as judge:
        found = judge.score_all((TASK, tmp_path / path) for path in paths)
    reasons = ["missing", "missing", "missing", "unsafe_path", "unsafe_path", "unsafe_path", None]
    assert [one.reason for one in found] == reasons


def test_where_the_protocol_leaves_absent_ones_out_there_is_no_number(tmp_path: Path) -> None:
    """By the same rule as in a run."""
    text = (Path(beholder.__file__).parent / "protocols" / "starter.toml").read_text("utf-8")
    assert 'policy = "zero"' in text
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace('policy = "zero"', 'policy = "exclude"').replace("NAME", "mine"), "utf-8")
    protocol = beholder.load_protocol(mine)
    task = {"task_id": "a", **dict.fromkeys(protocol.prompt.placeholders, "words")}
    with scripted(tmp_path, [{"reply": "unused"}], protocol=mine) as judge:
        found = judge.score(task, {})
    assert (found.outcome, found.score) == ("absent", None)


# --- ended early --------------------------------------------------------------------------------


def test_cancelling_one_leaves_the_others_and_its_reply(tmp_path: Path) -> None:
    """Its call goes on and is kept: who asks again pays nothing. Others are not touched."""

    async def loop(server: GatedServer) -> None:
        async with opening(tmp_path, server.url) as judge:
            one = asyncio.create_task(judge.score(TASK, MAP))
            two = asyncio.create_task(judge.score(TASK, other(1)))
            await seen(server, 2)
            one.cancel()
            with pytest.raises(asyncio.CancelledError):
                await one
            server.gate.set()
            assert (await judge.score(TASK, MAP)).calls == 0
            assert (await two).score == 86

    with GatedServer() as server:
        asyncio.run(loop(server))
        assert len(server.requests) == 2
    with ledger_copy(tmp_path / "rewards") as ledger:
        assert ledger is not None
        totals = ledger.totals(this_run=False)
    assert (totals.attempts, totals.replied, totals.possibly_billed) == (2, 2, 0)


def test_what_is_cancelled_before_its_turn_is_never_asked(tmp_path: Path) -> None:
    """Here the same submission to another text of the task, which waits for the first."""

    async def loop(server: GatedServer) -> None:
        async with opening(tmp_path, server.url) as judge:
            one = asyncio.create_task(judge.score(TASK, MAP))
            await seen(server, 1)
            two = asyncio.create_task(judge.score({**TASK, "prompt": "Another."}, MAP))
            await asyncio.sleep(0.05)
            two.cancel()
            with pytest.raises(asyncio.CancelledError):
                await two
            server.gate.set()
            assert (await one).score == 86

    with GatedServer() as server:
        asyncio.run(loop(server))
        assert len(server.requests) == 1


def test_closing_waits_for_what_has_begun(tmp_path: Path) -> None:
    """And whoever waits for it gets it."""

    async def loop(server: GatedServer) -> beholder.Judgement:
        async with opening(tmp_path, server.url) as judge:
            one = asyncio.create_task(judge.score(TASK, MAP))
            await seen(server, 1)
            asyncio.get_running_loop().call_later(0.05, server.gate.set)
        assert one.done()
        return await one

    with GatedServer() as server:
        assert asyncio.run(loop(server)).score == 86


def test_an_exception_lets_no_call_out_and_keeps_those_that_are(tmp_path: Path) -> None:
    """Of four submissions and one connection one was asked about: it has its score, and its reply is kept."""

    async def failing(server: GatedServer, running: list[asyncio.Task[beholder.Judgement]]) -> None:
        async with opening(tmp_path, server.url, max_connections=1) as judge:
            running += [asyncio.create_task(judge.score(TASK, other(at))) for at in range(4)]
            await seen(server, 1)
            asyncio.get_running_loop().call_later(0.05, server.gate.set)
            raise KeyError("of the loop")

    async def loop(server: GatedServer) -> list[Any]:
        running: list[asyncio.Task[beholder.Judgement]] = []
        with pytest.raises(KeyError):
            await failing(server, running)
        return await asyncio.gather(*running, return_exceptions=True)

    with GatedServer() as server:
        ends = asyncio.run(loop(server))
        assert len(server.requests) == 1
        assert sorted(type(end).__name__ for end in ends) == ["JudgeRejected"] * 3 + ["Judgement"]
        with opening(tmp_path, server.url) as judge:
            assert sum(judge.score(TASK, other(at)).calls for at in range(4)) == 3


def test_cancelled_while_closing_it_waits_for_nobody(tmp_path: Path) -> None:
    """What was in flight may have been billed: the next one that opens the out-dir is told."""

    async def loop(server: GatedServer) -> None:
        async with opening(tmp_path, server.url) as judge:
            await asyncio.gather(judge.score(TASK, MAP), asyncio.Event().wait())

    async def twice(server: GatedServer) -> None:
        running = asyncio.create_task(loop(server))
        await seen(server, 1)
        running.cancel()
        _, waiting = await asyncio.wait({running}, timeout=0.2)
        assert waiting == {running}
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    told: list[str] = []
    with GatedServer() as server:
        asyncio.run(twice(server))
        server.gate.set()
        with opening(tmp_path, server.url, say=told.append) as judge:
            assert judge.score(TASK, MAP).calls == 1
    assert any("1 call was under way" in line for line in told)


def test_ctrl_c_keeps_the_reply_that_was_under_way(tmp_path: Path) -> None:
    """The threads' door too: the first one waits for it."""
    with GatedServer() as server:
        loop = program(tmp_path, server, "judge.score(TASK, MAP)")
        server.wait_for_requests(1)
        loop.send_signal(signal.SIGINT)
        threading.Timer(0.2, server.gate.set).start()
        assert loop.wait(60) != 0
        with opening(tmp_path, server.url) as judge:
            assert judge.score(TASK, MAP).calls == 0
        assert len(server.requests) == 1


def test_after_closing_it_says_so(tmp_path: Path) -> None:
    """Whoever has kept it: `ValueError`, sync and async; the same opening can be opened again."""
    judging = scripted(tmp_path, [{"reply": gis_reply()}])
    with judging as judge:
        assert judge.score(TASK, MAP).score == 86
        with (
            pytest.raises(beholder.StoreError, match="another run"),
            scripted(tmp_path, [{"reply": gis_reply()}]),
        ):
            pass
    for ask in (lambda: judge.score(TASK, MAP), lambda: judge.score_all([(TASK, MAP)])):
        with pytest.raises(ValueError, match="closed"):
            ask()

    async def loop() -> None:
        async with judging as judge:
            assert (await judge.score(TASK, MAP)).calls == 0
            with pytest.raises(ValueError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, judge.score(TASK, MAP))
            with pytest.raises(ValueError, match="open already"):
                await judging.__aenter__()
        with pytest.raises(ValueError, match="closed"):
            await judge.score(TASK, MAP)

    asyncio.run(loop())


def test_a_wrong_key_raises_instead_of_giving_none_for_ever(tmp_path: Path) -> None:
    """No further call is made; what the ledger has is given all the same; once mended it goes on."""
    denied = rule(call={"from": 2}, status=401, body={"error": {"message": "bad key"}})
    with JudgeServer([denied, GOOD]) as server:
        with opening(tmp_path, server.url) as judge:
            assert judge.score(TASK, MAP).score == 86
            for number in (1, 2):
                with pytest.raises(beholder.JudgeError, match="no further call is made"):
                    judge.score(TASK, other(number))
            with pytest.raises(beholder.JudgeError):
                judge.score_all([(TASK, other(3)), (TASK, MAP)])
            assert judge.score(TASK, MAP).score == 86
        assert len(server.requests) == 2
    with JudgeServer([GOOD]) as mended, opening(tmp_path / "other", mended.url) as judge:
        assert judge.score(TASK, other(1)).score == 86


def test_the_budget_raises_before_it_is_exceeded(tmp_path: Path) -> None:
    """`max_cost` counts what was spent in this out-dir before, too; costs stand in each result."""
    money = {"max_cost": Decimal("0.05"), "price": (Decimal(0), Decimal(20)), "max_tokens": 1000}
    usage = {"input_tokens": 10, "output_tokens": 1000, "cached_input_tokens": 0}
    with JudgeServer([rule(text=gis_reply(), usage=usage)]) as server:
        with opening(tmp_path, server.url, **money) as judge:
            assert judge.score(TASK, MAP).cost_usd == Decimal("0.02")
        with opening(tmp_path, server.url, **money) as judge:
            assert judge.score(TASK, other(1)).cost_usd == Decimal("0.02")
            with pytest.raises(beholder.JudgeError, match="max-cost") as caught:
                judge.score(TASK, other(2))
            assert caught.value.slug == "budget"
            assert judge.score(TASK, MAP).cost_usd == 0
        assert len(server.requests) == 2


# --- what is refused ----------------------------------------------------------------------------


def test_tasks_are_rows_or_tasks_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    """The same task in either form; without what the prompt needs it is the caller's mistake."""
    (tmp_path / "tasks.jsonl").write_text(json.dumps({**TASK, "source": "x"}) + "\n", "utf-8")
    loose, whole = (
        beholder.load_tasks(tmp_path / "tasks.jsonl", placeholders=names)[0]
        for names in ((), ("level", "prompt"))
    )
    with scripted(tmp_path, [{"reply": gis_reply()}]) as judge:
        found = [judge.score(task, MAP) for task in (loose, whole, {**TASK, "source": "x"})]
        assert [one.calls for one in found] == [1, 0, 0]
        assert found[0].row == found[1].row == found[2].row
        assert found[0].row["labels"] == {"level": "Level1", "source": "x"}
        for wrong in ({"task_id": "a"}, {**TASK, "task_id": None}, {**TASK, "prompt": "\ud800"}):
            with pytest.raises(beholder.SpecError, match="task "):
                judge.score(wrong, MAP)
        for handed in (3, "<h1>A page</h1>", [MAP], {"map.png": 3}, {3: b""}):
            with pytest.raises(TypeError, match="submission"):
                judge.score(TASK, handed)  # type: ignore[arg-type]
        with pytest.raises(beholder.SpecError, match="out_dir"):
            judge.score(TASK, tmp_path)


def test_an_out_dir_is_for_one_question_one_judge_and_no_run(tmp_path: Path) -> None:
    """Replies of another judge, or of a run, are nobody's rewards, and the other way round."""
    with scripted(tmp_path, [{"reply": gis_reply()}]) as judge:
        judge.score(TASK, MAP)
    with pytest.raises(beholder.StoreError, match="another judge"), scripted(tmp_path, [{"reply": "x"}]):
        pass
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n", "utf-8")
    (tmp_path / "run").mkdir()
    spec = beholder.RunSpec(
        tasks=tmp_path / "tasks.jsonl",
        run_dirs={"m": tmp_path / "run"},
        out_dir=tmp_path / "rewards",
        protocol="gis-bench",
        judge=f"scripted/{tmp_path / 'replies.jsonl'}",
    )
    with pytest.raises(beholder.StoreError, match="model: there"):
        beholder.judge_run(spec)


def test_options_are_those_of_a_run_but_for_tasks_and_folders(tmp_path: Path) -> None:
    """A new field of `RunSpec` is an option, or named here; an unknown one is a mistake."""
    own = {"protocol", "out_dir"}
    of_a_run = {"tasks", "run_dirs", "columns", "limit", "task_ids", "force"}
    assert JudgeOptions.__optional_keys__ == set(beholder.RunSpec.__dataclass_fields__) - own - of_a_run
    with pytest.raises(TypeError, match="colour"):
        opening(tmp_path, "http://unused", colour="red")
    with pytest.raises(beholder.SpecError, match="no_such"):
        opening(tmp_path, "http://unused", protocol="no_such")
    assert not (tmp_path / "rewards").exists()


# --- files by name ------------------------------------------------------------------------------

PARTS = st.text(st.sampled_from("ab.~é"), min_size=1, max_size=3).filter(lambda part: part not in {".", ".."})
NAMES = st.lists(PARTS, min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(NAMES, st.binary(max_size=3), max_size=6))
def test_files_by_name_are_the_folder_that_they_would_make(files: dict[str, bytes]) -> None:
    """The same artifacts in the same order, the same rollout, the same bytes on disk."""
    for name in [*files]:
        if any(other.startswith(f"{name}/") for other in files):
            del files[name]
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        named, lying = pin_rollout("t", files), pin_rollout("t", Path(folder))
    assert named.word == lying.word
    told = [[(a.name, a.sha256, a.size_bytes) for a in one.submission.artifacts] for one in (named, lying)]
    assert told[0] == told[1]


@given(
    st.dictionaries(
        st.text(max_size=6) | NAMES | st.sampled_from(["../x", "/x", "a/../../x"]), st.binary(max_size=2)
    )
)
def test_no_name_leads_out_of_the_folder(files: dict[str, bytes]) -> None:
    """Whatever a model calls its files: usable ones lie below the root as they were handed in, no others."""
    source = RolloutSource(pin_rollout("t", files))
    try:
        placed = source.open(beholder.Task(id="t", fields={}, labels={}, row=1))
        usable = [one for one in placed.artifacts if one.problem is None]
        for one in usable:
            assert placed.root is not None
            assert one.path.resolve().is_relative_to(placed.root.resolve())
            assert one.path.read_bytes() in files.values()
        if placed.root is not None:
            assert sum(path.is_file() for path in placed.root.rglob("*")) == len(usable)
    finally:
        source.close()
    assert placed.root is None or not placed.root.exists()


def test_a_file_that_changes_before_its_turn_is_not_judged_as_another(tmp_path: Path) -> None:
    """What was pinned is what counts: other bytes are our failure, no score under the first one's name."""
    path = tmp_path / "map.png"
    path.write_bytes(MAP["map.png"])
    source, again = RolloutSource(pin_rollout("t", path)), RolloutSource(pin_rollout("t", path))
    path.write_bytes(other(1)["map.png"])
    placed = source.open(beholder.Task(id="t", fields={}, labels={}, row=1))
    (artifact,) = placed.artifacts
    with pytest.raises(RendererFailed, match="changed"):
        read_artifact(artifact, placed.root)
    source.close()
    path.unlink()
    with pytest.raises(OSError, match="changed"):
        again.open(beholder.Task(id="t", fields={}, labels={}, row=1))
    again.close()
