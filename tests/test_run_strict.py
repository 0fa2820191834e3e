"""Runs with two routes: text and what can be seen each have a judge of their own, and neither stands in."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from beholder.errors import ConfigError, MissingTool, StoreError, TaskError
from beholder.run.conductor import judge_run
from beholder.run.estimate import estimate_run
from beholder.run.rescore import rescore
from beholder.run.spec import RunSpec
from tests.fakes.claw import LISTED, RUBRIC, claw_run, claw_task
from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import command, environment, rows_of, run, summary_of

OVERALL = json.dumps({"overall": 7, "reason": "most of it is there"})
GOOD = rule(text=OVERALL)


def png(colour: str = "red") -> bytes:
    """A small picture that is not flat."""
    image = Image.new("RGB", (64, 48), colour)
    image.paste("black", (5, 5, 32, 24))
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def judged(
    folder: Path, tasks: list[dict[str, Any]], handed_in: Any, server: JudgeServer, **more: Any
) -> dict[str, dict[str, Any]]:
    """The rows by task of a run with two local judges."""
    file, run_dir = claw_run(folder, tasks, handed_in)
    settings: dict[str, Any] = {
        "text_judge": "text-judge-1",
        "visual_judge": "visual-judge-1",
        "base_url": f"{server.url}/v1",
        **more,
    }
    judge_run(RunSpec(tasks=file, run_dirs={"demo_run": run_dir}, out_dir=folder / "o", **settings))
    return {row["task_id"]: row for row in rows_of(folder / "o")}


def test_the_published_command_lines_work_as_they_stand(tmp_path: Path) -> None:
    """No --protocol, judges by bare names at one address, the out-dir's files and folders as published."""
    file, run_dir = claw_run(
        tmp_path,
        [claw_task("t-text"), claw_task("t-seen")],
        {
            "t-text": {"response.txt": "North, South and West; West grew most.", "report.md": "# Report"},
            "t-seen": {"response.txt": "See the chart.", "chart.PNG": png(), "notes.md": "never shown"},
        },
    )
    checked = run(command("validate-run", "--tasks", file, "--run-dir", run_dir))
    assert checked.returncode == 0, checked.stdout
    with JudgeServer([GOOD]) as server:
        done = run(
            command(
                "judge-run", "--tasks", file, "--run-dir", run_dir, "--out-dir", tmp_path / "judge_demo",
                "--base-url", f"{server.url}/v1",
                "--text-judge-model", "claude-sonnet-4-6", "--visual-judge-model", "claude-sonnet-4-6",
            ),
            env=environment(DMX_API_KEY="sk-dmx"),
        )  # fmt: skip
        texts = {"Report" in request.texts[0]: request for request in server.requests}
        assert len(server.requests) == 2
        assert "sk-dmx" not in str([request.headers for request in server.requests])  # another host's key
    assert done.returncode == 0, done.stderr
    out = tmp_path / "judge_demo"
    for name in ("judge_results.jsonl", "judge_summary.json", "REPORT_EVALUATION.md"):
        assert (out / name).stat().st_size > 0
    assert (out / "t-text" / "semantic_sonnet_text_judge" / "prepared_output_evidence.json").is_file()
    assert (out / "t-seen" / "semantic_sonnet_visual_judge" / "prepared_output_evidence.json").is_file()
    assert (len(texts[True].images), len(texts[False].images)) == (0, 1)
    assert "never shown" not in texts[False].texts[0]
    assert [(row["route"], row["main_score"]) for row in rows_of(out)] == [("text", 0.7), ("visual", 0.7)]
    groups = summary_of(out)["groups"]
    assert {"big_class", "subclass_id"} <= groups.keys()


def test_each_route_goes_to_its_own_judge(tmp_path: Path) -> None:
    """Only text: the text judge; a visual file among text: the visual one; the row names which it was."""
    handed_in = {
        "a": {"response.txt": "", "report.md": "# All three regions"},
        "b": {"response.txt": "done", "report.md": "# Text", "chart.PNG": png()},
        "f": {"response.txt": "North, South, West."},
    }
    with JudgeServer([GOOD]) as server:
        rows = judged(tmp_path, [claw_task(name) for name in "abf"], handed_in, server)
        models = {request.model: len(request.images) for request in server.requests}
    assert {name: row["route"] for name, row in rows.items()} == {"a": "text", "b": "visual", "f": "text"}
    assert rows["a"]["judge"]["model"] == "openai-compatible/text-judge-1"
    assert rows["b"]["judge"]["model"] == "openai-compatible/visual-judge-1"
    assert models == {"text-judge-1": 0, "visual-judge-1": 1}
    prompt = (tmp_path / "o" / rows["b"]["folder"] / "prompt.txt").read_text("utf-8")
    assert "image 1: chart.PNG" in prompt
    assert "# Text" not in prompt
    assert "no response text is shown here" in prompt
    assert "North, South, West." in (tmp_path / "o" / rows["f"]["folder"] / "prompt.txt").read_text("utf-8")
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text("utf-8"))
    assert manifest["pins"]["judge"]["model"] == "openai-compatible/visual-judge-1"
    assert manifest["pins"]["text_judge"]["model"] == "openai-compatible/text-judge-1"
    summary = summary_of(tmp_path / "o")
    assert summary["judge"]["model"] == "openai-compatible/text-judge-1, openai-compatible/visual-judge-1"
    assert "served_models_differ" not in {warning["code"] for warning in summary["warnings"]}


def _missing(*_: object) -> Path:
    raise MissingTool("it is not installed: apt-get install it")


@pytest.mark.parametrize(
    ("name", "content", "finder"),
    [
        ("page.html", "<p>Report</p>", "beholder.evidence.pages.find_browser"),
        ("slides.pptx", b"PK\x03\x04", "beholder.evidence.soffice.find_soffice"),
    ],
)
def test_text_never_stands_in_for_what_cannot_be_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | str, finder: str
) -> None:
    """Without the program that draws it, the main score is empty, the cause is told, and nobody is asked."""
    if name.endswith(".pptx"):
        from pptx import Presentation

        data = io.BytesIO()
        deck = Presentation()
        deck.slides.add_slide(deck.slide_layouts[0])
        deck.save(data)
        content = data.getvalue()
    monkeypatch.setattr(finder, _missing)
    handed_in = {"c": {"response.txt": "All three regions, in words.", "report.md": "# Text", name: content}}
    with JudgeServer([GOOD]) as server:
        rows = judged(tmp_path, [claw_task("c")], handed_in, server)
        assert server.requests == []
    row = rows["c"]
    assert (row["route"], row["outcome"], row["main_score"]) == ("visual", "unscored", None)
    assert row["main_score_error"].startswith("missing_tool: it is not installed")
    folder = tmp_path / "o" / "c" / "semantic_visual-judge-1_visual_judge"
    evidence = json.loads((folder / "prepared_output_evidence.json").read_text("utf-8"))["evidence"]
    assert evidence["reason"] == "missing_tool"


def test_a_failed_visual_judge_leaves_the_main_score_empty(tmp_path: Path) -> None:
    """The text judge is not asked in its place."""
    handed_in = {"c": {"response.txt": "words", "report.md": "# Text", "chart.png": png()}}
    with JudgeServer([rule(status=400)]) as server:
        row = judged(tmp_path, [claw_task("c")], handed_in, server, max_retries=0)["c"]
        assert {request.model for request in server.requests} == {"visual-judge-1"}
    assert (row["outcome"], row["reason"], row["main_score"]) == ("unscored", "rejected", None)
    assert row["main_score_error"]


def test_kinds_outside_the_lists_and_excluded_names_are_listed(tmp_path: Path) -> None:
    """Unknown kinds are unsupported; a deliverable with an excluded name is dropped and named as such."""
    handed_in = {
        "e": dict.fromkeys(("clip.mp4", "anim.gif", "app.vue", "LICENSE"), b"x"),
        "g": {"crop_yield_report.pdf": b"%PDF-1.7", "ocr/page1.png": png()},
        "n": {},
    }
    with JudgeServer([GOOD]) as server:
        rows = judged(tmp_path, [claw_task(name) for name in "egn"], handed_in, server)
        assert server.requests == []
    found = {
        name: (row["outcome"], row["reason"], row["main_score"], row["pass"]) for name, row in rows.items()
    }
    assert found["e"] == ("absent", "unsupported", None, None)
    assert found["g"] == ("absent", "unsupported", None, None)
    assert found["n"] == ("absent", "missing", None, None)
    hidden = {item["name"]: item["reason"] for item in rows["e"]["evidence"]["not_shown"]}
    assert hidden == dict.fromkeys(["clip.mp4", "anim.gif", "app.vue", "LICENSE"], "unsupported")
    excluded = {item["name"]: item["detail"] for item in rows["g"]["evidence"]["not_shown"]}
    assert "crop*" in excluded["crop_yield_report.pdf"]
    assert "ocr/" in excluded["ocr/page1.png"]
    assert rows["g"]["main_score_error"].startswith("unsupported: the protocol excludes every file")
    summary = summary_of(tmp_path / "o")
    assert (summary["mean"], summary["mean_bounds"]) == (None, [0, 0])


def test_a_tasks_own_criteria_make_its_prompt_its_scale_and_its_score(tmp_path: Path) -> None:
    """Weights are exact and no part of the question: another weight is another score of the same reply."""
    reply = json.dumps({"complete": 3, "clear": True, "reason": "fine"})
    tasks = [claw_task("t", LISTED)]
    handed_in = {"t": {"response.txt": "North, South, West."}}
    with JudgeServer([rule(text=reply)]) as server:
        row = judged(tmp_path, tasks, handed_in, server)["t"]
        assert row["main_score"] == 0.8125  # (3 * 3/4 + 1 * 1) / 4
        assert row["scores"] == {"complete": 3, "clear": 1}
        assert [one["key"] for one in row["criteria"]] == ["complete", "clear"]
        prompt = server.requests[0].texts[0]
        assert "- complete (whole number from 0 to 4): Are all regions named?" in prompt
        assert "weight" not in prompt
        lighter = [{**LISTED[0], "weight": 1}, LISTED[1]]
        again = judged(tmp_path, [claw_task("t", lighter)], handed_in, server)["t"]
        assert (again["main_score"], len(server.requests)) == (0.875, 1)
        asked = [{**LISTED[0], "question": "Are all four regions named?"}, LISTED[1]]
        judged(tmp_path, [claw_task("t", asked)], handed_in, server)
        assert len(server.requests) == 2


def test_rules_stand_beside_the_score_and_never_in_it(tmp_path: Path) -> None:
    """Passed, failed, unknown and malformed rules are in the row; the score is the judge's alone."""
    rules = [
        {"type": "file_exists", "glob": "report.*"},
        {"type": "text_contains", "in": "response.txt", "all": ["Atlantis"]},
        {"type": "looks_nice"},
        {"type": "pages"},
    ]
    tasks = [claw_task("t", evaluation={"rule_based": rules}), claw_task("none", evaluation={})]
    handed_in = {"t": {"response.txt": "words", "report.md": "# R"}, "none": {"response.txt": "words"}}
    with JudgeServer([GOOD]) as server:
        rows = judged(tmp_path, tasks, handed_in, server)
    assert [rule["outcome"] for rule in rows["t"]["rules"]] == ["passed", "failed", "not_supported", "error"]
    assert (rows["t"]["main_score"], rows["none"]["rules"], rows["none"]["main_score"]) == (0.7, [], 0.7)
    assert "evaluation" not in rows["t"]["labels"]


def test_a_rescored_run_keeps_criteria_rules_and_both_judges(tmp_path: Path) -> None:
    """From rows and ledger alone, and the same rows where the formula is the same."""
    handed_in = {"a": {"response.txt": "words"}, "b": {"response.txt": "", "c.png": png()}}
    reply = json.dumps({"complete": 4, "clear": False, "overall": 6, "reason": "fine"})
    with JudgeServer([rule(text=reply)]) as server:
        rows = judged(tmp_path, [claw_task("a", LISTED), claw_task("b")], handed_in, server)
    rescore(tmp_path / "o", tmp_path / "new")
    assert rows_of(tmp_path / "new") == list(rows.values())
    strict = rescore(tmp_path / "o", tmp_path / "strict", pass_at=Decimal("0.7"))
    assert strict.reused == 2
    assert [row["pass"] for row in rows_of(tmp_path / "strict")] == [True, False]


def test_another_text_judge_is_refused_in_a_used_out_dir(tmp_path: Path) -> None:
    """Both judges are pinned."""
    handed_in = {"a": {"response.txt": "words"}}
    with JudgeServer([GOOD]) as server:
        judged(tmp_path, [claw_task("a")], handed_in, server)
        with pytest.raises(StoreError, match="text_judge"):
            judged(tmp_path, [claw_task("a")], handed_in, server, text_judge="another")
        judged(tmp_path, [claw_task("a")], handed_in, server)
        assert len(server.requests) == 1


def test_what_is_wrong_with_a_rubric_is_told_before_any_call(tmp_path: Path) -> None:
    """By row, with every mistake of every rubric."""
    wrong = [
        claw_task("a", [{"key": "x", "maxx": 3}, {"key": "reason"}]),
        claw_task("b", [{"key": "x", "weight": 1}, {"key": "y"}]),
        claw_task("c", {"complete": 1}),
        claw_task("d", " "),
        claw_task("e", '[{"key": "x"'),
        claw_task("f", []),
    ]
    file, run_dir = claw_run(tmp_path, wrong, {"a": {"response.txt": "words"}})
    (tmp_path / "none.jsonl").write_text('{"reply": {"overall": 1, "reason": ""}}\n')
    spec = RunSpec(
        tasks=file,
        run_dirs={"m": run_dir},
        out_dir=tmp_path / "o",
        judge=f"scripted/{tmp_path / 'none.jsonl'}",
    )
    with pytest.raises(TaskError) as caught:
        judge_run(spec)
    told = str(caught.value)
    for piece in (
        "row 1, task 'a', semantic_rubric", "maxx: no such key; did you mean max?",
        "row 2, task 'b'", "'y' without a weight beside others that have one",
        "row 3, task 'c'", "is a table",
        "row 4, task 'd'", "is empty",
        "row 5, task 'e'", "is no JSON",
        "row 6, task 'f'", "there is none",
    ):  # fmt: skip
        assert piece in told
    assert not (tmp_path / "o").exists()


def test_a_rubric_in_a_spreadsheet_is_a_text_or_a_list_in_its_cell(tmp_path: Path) -> None:
    """CSV: the list as JSON text; the rules in a column with the dotted name; our names by --columns."""
    from beholder.run.plan import plan_run

    file = tmp_path / "tasks.csv"
    cell = json.dumps(LISTED).replace('"', '""')
    file.write_text(
        "No,agent_prompt,rubric,evaluation.rule_based\n"
        f'1,Write,"{cell}","[{{""type"": ""file_exists"", ""glob"": ""*""}}]"\n2,Write,{RUBRIC},\n',
        encoding="utf-8",
    )
    (tmp_path / "r" / "1").mkdir(parents=True)
    spec = RunSpec(
        tasks=file,
        run_dirs={"m": tmp_path / "r"},
        out_dir=tmp_path / "o",
        columns={"task_id": "No", "semantic_rubric": "rubric"},
    )
    plan = plan_run(spec)
    assert plan.protocol.id == "enterprise-claw/1"
    assert [[c.key for c in plan.per_task[name].criteria] for name in "12"] == [
        ["complete", "clear"],
        ["overall"],
    ]
    assert plan.per_task["2"].criteria[0].question == RUBRIC
    assert plan.tasks[0].fields["evaluation.rule_based"].startswith("[{")
    assert (plan.tasks[0].labels, plan.tasks[1].fields.get("evaluation.rule_based", "")) == ({}, "")


def test_nested_names_are_mapped_too(tmp_path: Path) -> None:
    """`--columns agent_prompt=task.prompt` leads into a table of the row."""
    from beholder.run.plan import plan_run

    rows = [{"id": 7, "task": {"prompt": "Write.", "rubric": RUBRIC}, "evaluation": {"rule_based": []}}]
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(rows))
    (tmp_path / "r").mkdir()
    columns = {"task_id": "id", "agent_prompt": "task.prompt", "semantic_rubric": "task.rubric"}
    plan = plan_run(
        RunSpec(tasks=file, run_dirs={"m": tmp_path / "r"}, out_dir=tmp_path / "o", columns=columns)
    )
    assert (plan.tasks[0].id, plan.tasks[0].fields["agent_prompt"]) == ("7", "Write.")
    assert plan.tasks[0].labels == {}


def test_a_dry_run_counts_both_routes(tmp_path: Path) -> None:
    """Calls of text cases have no images; each judge has its own price."""
    handed_in = {"a": {"response.txt": "words"}, "b": {"response.txt": "", "c.png": png()}}
    file, run_dir = claw_run(tmp_path, [claw_task("a"), claw_task("b")], handed_in)
    estimate = estimate_run(
        RunSpec(
            tasks=file,
            run_dirs={"m": run_dir},
            out_dir=tmp_path / "o",
            text_judge="anthropic/claude-haiku-4-5",
            visual_judge="anthropic/claude-sonnet-4-6",
        )
    )
    assert (estimate.items, estimate.to_judge, estimate.calls) == (2, 2, 2)
    assert estimate.judge == "anthropic/claude-sonnet-4-6, anthropic/claude-haiku-4-5"
    assert estimate.images >= 1
    assert estimate.cost_usd is not None


def test_a_text_judge_without_a_text_route_is_refused(tmp_path: Path) -> None:
    """The flag would have no effect."""
    spec = RunSpec(
        tasks=tmp_path / "t", run_dirs={}, out_dir=tmp_path / "o", protocol="gis-bench", text_judge="openai/x"
    )
    with pytest.raises(ConfigError, match="no text route"):
        judge_run(spec)


@pytest.mark.parametrize(
    ("wording", "outcome", "seen"),
    [
        ("Grade it.", "unscored", None),
        ("Grade it. {response}", "scored", ["response.txt"]),
        ("Grade it. {artifacts}", "scored", ["notes.md"]),
        ("Grade it. {response} {artifacts}", "scored", ["response.txt", "notes.md"]),
    ],
)
def test_a_wording_without_a_place_for_texts_is_never_asked_about_nothing(
    tmp_path: Path, wording: str, outcome: str, seen: list[str] | None
) -> None:
    """What the prompt has no place for is listed as not shown; with no text left no question is sent."""
    words = {"response.txt": "my words", "notes.md": "my notes"}
    tasks, run_dir = claw_run(tmp_path, [claw_task("a")], {"a": words})
    (tmp_path / "w.txt").write_text(wording)
    with JudgeServer([rule(text='{"overall": 5, "reason": "ok"}')]) as server:
        spec = RunSpec(
            tasks=tasks, run_dirs={"m": run_dir}, out_dir=tmp_path / "o", prompt_file=tmp_path / "w.txt",
            judge="judge-1", base_url=f"{server.url}/v1",
        )  # fmt: skip
        promised = estimate_run(spec)
        judge_run(spec)
        sent = [request.texts[0] for request in server.requests]
    assert (promised.to_judge, promised.calls) == (len(sent), len(sent))
    (row,) = rows_of(tmp_path / "o")
    assert row["outcome"] == outcome
    shown = [one["name"] for one in row["evidence"]["artifacts"] if one["status"] == "shown"]
    assert shown == (seen or [])
    assert {one["name"] for one in row["evidence"]["not_shown"]} == {"response.txt", "notes.md"} - set(shown)
    if seen is None:
        assert (sent, row["reason"], row["main_score"]) == ([], "rejected", None)
        assert "{response} and {artifacts}" in row["main_score_error"]
    else:
        assert [("my words" in sent[0]), ("my notes" in sent[0])] == [
            "response.txt" in seen, "notes.md" in seen,
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.jsonl", None, "No such file"),
        ("t.jsonl", "{", "not JSON"),
        ("t.txt", "x", "are read from .jsonl"),
    ],
)
def test_a_task_file_that_cannot_be_read_says_so_before_asking_for_a_protocol(
    tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    """Its columns are not the trouble."""
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(TaskError, match=words):
        judge_run(RunSpec(tasks=tmp_path / name, run_dirs={}, out_dir=tmp_path / "o"))


def test_tasks_that_tell_no_protocol_need_its_name(tmp_path: Path) -> None:
    """The message lists the built-in ones."""
    (tmp_path / "t.csv").write_text("task_id,prompt\na,x\n")
    with pytest.raises(ConfigError, match="enterprise-claw/1, gis-bench/1"):
        judge_run(RunSpec(tasks=tmp_path / "t.csv", run_dirs={}, out_dir=tmp_path / "o"))
