"""What tasks bring of their own, and strict routing, as `validate-run` tells it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from beholder.protocols import load_protocol, task_columns
from beholder.run.rules import rules_of
from beholder.tasks import load_tasks
from beholder.validation import validate_run
from tests.fakes.claw import claw_run, claw_task
from tests.fakes.runs import command, run

CLAW = load_protocol("enterprise-claw")


def test_malformed_rubrics_and_rules_are_told_by_row_with_the_fix(tmp_path: Path) -> None:
    """Wrong arguments are problems; a rule of an unknown type is a note, for it is never passed."""
    tasks = [
        claw_task("a", [{"key": "x", "maxx": 4}]),
        claw_task("b", evaluation={"rule_based": [{"type": "pages"}, {"type": "smells_nice"}, 7]}),
        claw_task("c", ""),
        claw_task("d"),
    ]
    words = {"response.txt": "words"}
    file, run_dir = claw_run(tmp_path, tasks, dict.fromkeys("abcd", words))
    found = validate_run(file, run_dir, protocol=CLAW)
    told = [(problem.kind, problem.task_id, problem.detail) for problem in found.problems]
    assert [(kind, task) for kind, task, _ in told] == [
        ("rubric", "a"), ("rules", "b"), ("rules", "b"), ("rubric", "c"),
    ]  # fmt: skip
    assert "row 1, task 'a', semantic_rubric" in told[0][2]
    assert "criteria.0.maxx: no such key; did you mean max?" in told[0][2]
    assert told[1][2].startswith("row 2, evaluation.rule_based, rule 1 (pages):")
    assert "row 3, semantic_rubric" in told[3][2]
    assert [(note.kind, note.task_id) for note in found.notes] == [("rules", "b")]


def test_a_type_that_no_rule_has_is_noted_once(tmp_path: Path) -> None:
    """Once for each such type, with how many rows have it; the rows themselves keep it."""
    rules = {"rule_based": [{"type": "smells_nice"}, {"type": "smells_nice"}]}
    tasks = [claw_task(f"t{at}", evaluation=rules) for at in range(7)]
    tasks.append(claw_task("last", evaluation={"rule_based": [{"type": "is_round"}]}))
    file, run_dir = claw_run(tmp_path, tasks, {one["task_id"]: {"response.txt": "words"} for one in tasks})
    first, second = validate_run(file, run_dir, protocol=CLAW).notes
    assert first.detail.startswith(
        "7 rows (1, 2, 3, 4, 5, …), evaluation.rule_based: no rule is of type 'smells"
    )
    assert second.detail.startswith("row 8, evaluation.rule_based: no rule is of type 'is_round'; the types")
    assert all(
        rule.problem for task in load_tasks(file, **task_columns(CLAW)) for rule in rules_of(CLAW, task)
    )


@pytest.mark.parametrize("odd", ["x", 5, [], [{"type": "pages", "glob": "*"}], '{"rule_based": [', False])
def test_an_evaluation_that_is_no_object_has_no_silent_rules(tmp_path: Path, odd: object) -> None:
    """Rules that cannot be found where they should be are told, in the row as well, and never passed."""
    file, run_dir = claw_run(tmp_path, [claw_task("a", evaluation=odd)], {"a": {"response.txt": "words"}})
    found = validate_run(file, run_dir, protocol=CLAW)
    (problem,) = found.problems
    assert (problem.kind, problem.task_id) == ("rules", "a")
    assert 'the rules are no list of objects, each with a "type"' in problem.detail
    (task,) = load_tasks(file, **task_columns(CLAW))
    (rule,) = rules_of(CLAW, task)
    assert (rule.problem, rule.args) == ("not_supported", {"value": {"evaluation": odd}})


@pytest.mark.parametrize("nothing", [None, {}, "", {"rule_based": None}, {"rule_based": []}, '{"more": 1}'])
def test_a_task_without_rules_is_good(tmp_path: Path, nothing: object) -> None:
    """Rules may be left out, in whatever way a pipeline writes that."""
    file, run_dir = claw_run(tmp_path, [claw_task("a", evaluation=nothing)], {"a": {"response.txt": "words"}})
    assert not validate_run(file, run_dir, protocol=CLAW).problems


@pytest.mark.parametrize(
    ("rubric", "words"),
    [
        (True, "is true, which asks nothing; write a text"),
        ("null", "is null, which asks nothing"),
        (" NaN ", "is NaN, which asks nothing"),
        (["a", "b"], "criteria.1: is no table; write a table"),
        ("None of the figures is invented.", ""),
    ],
)
def test_a_rubric_that_asks_nothing_is_told(tmp_path: Path, rubric: object, words: str) -> None:
    """What a program writes for an empty cell is no question to pay for."""
    file, run_dir = claw_run(tmp_path, [claw_task("a", rubric)], {"a": {"response.txt": "words"}})
    told = [problem.detail for problem in validate_run(file, run_dir, protocol=CLAW).problems]
    assert len(told) == bool(words)
    assert words in "".join(told)


def test_the_command_tells_the_protocol_by_the_tasks(tmp_path: Path) -> None:
    """Without --protocol, rubrics are checked where the tasks have them; exit 2."""
    file, run_dir = claw_run(tmp_path, [claw_task("a", {"x": 1})], {"a": {"response.txt": "words"}})
    done = run(command("validate-run", "--tasks", file, "--run-dir", run_dir, "--json"))
    assert done.returncode == 2
    assert json.loads(done.stdout)["counts"] == {"rubric": 1}


def test_a_response_alone_is_good_and_a_folder_without_artifacts_is_told(tmp_path: Path) -> None:
    """Both parts of a submission are asked for, be they empty."""
    file, run_dir = claw_run(
        tmp_path, [claw_task("a"), claw_task("b")], {key: {"response.txt": "w"} for key in "ab"}
    )
    shutil.rmtree(run_dir / "b" / "artifacts")
    found = validate_run(file, run_dir, protocol=CLAW)
    assert [(problem.kind, problem.task_id) for problem in found.problems] == [("no_artifacts", "b")]


def test_files_that_the_protocol_excludes_are_noted(tmp_path: Path) -> None:
    """A deliverable that is named like a leftover is seen before anything is paid for."""
    files: dict[str, bytes | str | None] = {
        "response.txt": "w",
        "crop_yield_report.pdf": b"%PDF-1.7",
        "venv/a.py": "x",
        "venv/b.py": "x",
    }
    file, run_dir = claw_run(tmp_path, [claw_task("a")], {"a": files})
    notes = [note.detail for note in validate_run(file, run_dir, protocol=CLAW).notes]
    assert any("'crop*': crop_yield_report.pdf will not be looked at" in note for note in notes)
    assert any("'venv/': venv/a.py and 1 more" in note for note in notes)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["crop_a.pdf"], "excludes every file that was handed in: crop_a.pdf; with another name it would be"),
        (["crop_a.pdf", "b.vue"], "it excludes crop_a.pdf; b.vue: it looks at .html,"),
        (["b.vue"], "no file of a kind the protocol looks at; b.vue: it looks at .html,"),
    ],
)
def test_why_nothing_is_looked_at_is_told_rightly(tmp_path: Path, names: list[str], words: str) -> None:
    """An excluded PDF is not called a kind that nobody looks at."""
    file, run_dir = claw_run(
        tmp_path, [claw_task("a")], {"a": {"response.txt": "", **dict.fromkeys(names, "x")}}
    )
    (problem,) = validate_run(file, run_dir, protocol=CLAW).problems
    assert problem.kind == "unsupported"
    assert words in problem.detail


@pytest.mark.parametrize(
    ("copy", "differs"),
    [
        ({}, False),
        ({"evaluation": {"rule_based": [{"glob": "*", "type": "file_exists"}]}}, False),
        ({"evaluation": {"rule_based": []}}, True),
        ({"semantic_rubric": "Another one."}, True),
    ],
)
def test_a_copy_of_the_task_is_compared_with_its_row(
    tmp_path: Path, copy: dict[str, object], differs: bool
) -> None:
    """Also its nested members, whatever their order."""
    task = claw_task("a")
    file, run_dir = claw_run(tmp_path, [task], {"a": {"response.txt": "w"}})
    (run_dir / "a" / "task.json").write_text(json.dumps({**task, **copy}))
    kinds = {problem.kind for problem in validate_run(file, run_dir, protocol=CLAW).problems}
    assert kinds == ({"task_differs"} if differs else set())
