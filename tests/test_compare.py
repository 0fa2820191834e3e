"""Runs side by side: common tasks, flips first, and what may not be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from beholder.compare import RunRows, compare_runs, load_runs
from beholder.errors import ConfigError
from tests.fakes import outdir
from tests.fakes.outdir import repeat, row
from tests.fakes.runs import command, gis_reply, gis_run, run

Values = tuple[int, int, int, int]
PASS, FAIL, LOW = (30, 20, 10, 10), (20, 20, 10, 9), (10, 10, 5, 5)
JUDGE = {"model": "openai/judge-1", "base_url": None, "max_tokens": 1024, "temperature": 0, "settings": {}}


def rows_of(model: str, values: Sequence[Values | None], **labels: Sequence[str]) -> list[dict[str, Any]]:
    """A task per value; None: the judge failed."""
    found = []
    for at, one in enumerate(values):
        own = {label: column[at] for label, column in labels.items()}
        if one is None:
            failed = [repeat(1, None, reason="timeout")]
            more = {"outcome": "unscored", "reason": "timeout", "main_score_error": "timeout: no answer"}
            found.append(row(f"t{at}", model, failed, labels=own, **more))
        else:
            found.append(row(f"t{at}", model, [repeat(1, one, rationale="ok")], labels=own))
    return found


def manifest(texts: Mapping[str, str] | None = None, **judge: Any) -> dict[str, Any]:
    """What a comparison reads of a manifest."""
    tasks = {"sha256": "x", "texts": dict(texts)} if texts is not None else {"sha256": "x"}
    return {"judge": {**JUDGE, "scripted": False, **judge}, "tasks": tasks}


def held(name: str, rows: list[dict[str, Any]], **more: Any) -> RunRows:
    """A run from memory."""
    return RunRows(
        name=name, rows=rows, summary=outdir.summary(name, rows), manifest=more.get("manifest", manifest())
    )


def pair_of(first: RunRows, second: RunRows, **options: Any) -> dict[str, Any]:
    document = compare_runs({first.name: first, second.name: second}, **options).document
    json.dumps(document, allow_nan=False)
    return document["pairs"][0]


# Six tasks: a tie, a flip each way, one missing, two that change without a flip.
A = held("A", rows_of("A", [PASS, PASS, FAIL, PASS, LOW, LOW]))
B = held("B", rows_of("B", [PASS, FAIL, PASS, None, FAIL, (10, 10, 5, 6)]))


def test_flips_come_first_then_what_is_missing_with_its_cause() -> None:
    """Two flips, larger difference first; the missing one tells the judge's failure; ties last."""
    items = pair_of(A, B)["items"]
    assert [(item["task_id"], item["kind"]) for item in items] == [
        ("t1", "flip"),
        ("t2", "flip"),
        ("t3", "missing"),
        ("t4", "changed"),
        ("t5", "changed"),
        ("t0", "equal"),
    ]
    missing = items[2]
    assert missing["difference"] is None
    assert missing["b"]["reason"] == "timeout"
    assert missing["b"]["detail"] == "timeout: no answer"
    assert missing["a"]["main_score"] == 70
    assert items[0]["b"]["folder"].startswith("t1/")


def test_means_stand_over_common_tasks_beside_each_runs_own() -> None:
    """A's own mean is over six tasks, the common one over the five that B has a number for."""
    pair = pair_of(A, B)
    assert pair["means"]["own"] == {"a": pytest.approx(329 / 6), "b": pytest.approx(289 / 5)}
    assert pair["means"]["common"] == {"a": pytest.approx(259 / 5), "b": pytest.approx(289 / 5)}
    assert pair["tasks"] == {"planned_by_both": 6, "common": 5, "only_a": 0, "only_b": 0}
    assert pair["difference"]["mean"] == pytest.approx(30 / 5)
    assert pair["difference"]["better"] == {"a": 1, "b": 3, "equal": 1}


def test_the_paired_test_and_mcnemars_are_over_the_common_tasks() -> None:
    """Differences 0, -11, 11, 29, 1 by scipy's permutation test; one flip each way."""
    pair = pair_of(A, B)
    expected = stats.permutation_test(
        ([0, -11, 11, 29, 1],), lambda x, axis: x.mean(axis=axis), permutation_type="samples"
    )
    assert pair["difference"]["p_value"] == pytest.approx(expected.pvalue)
    assert pair["passes"]["p_value"] == 1
    counts = {key: pair["passes"][key] for key in ("both", "only_a", "only_b", "neither")}
    assert counts == {"both": 1, "only_a": 1, "only_b": 1, "neither": 2}
    low, high = pair["difference"]["ci95"]
    assert low < 6 < high
    assert pair["difference"]["smallest_detectable"]["difference"] > 0


def test_criteria_are_compared_where_both_were_scored() -> None:
    """Each with its own interval, and Holm's correction over all of them."""
    criteria = pair_of(A, B)["criteria"]
    assert criteria["region"]["tasks"] == 5
    assert criteria["region"]["mean"] == pytest.approx((-10 + 10 + 10) / 5)
    assert all(one["p_holm"] >= one["p_value"] for one in criteria.values())


def test_of_three_runs_every_pair_is_tested_and_corrected() -> None:
    """A-B, A-C, B-C; the smallest p-value is multiplied by three."""
    more = [(30, 20, 10, 10)] * 12
    less = [(20, 20, 10, 9)] * 12
    runs = {
        name: held(name, rows_of(name, values))
        for name, values in zip("ABC", (more, less, more), strict=True)
    }
    document = compare_runs(runs).document
    assert [(pair["a"], pair["b"]) for pair in document["pairs"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    values = [pair["difference"]["p_value"] for pair in document["pairs"]]
    assert values[0] == pytest.approx(2 / 2**12)
    assert document["pairs"][0]["difference"]["p_holm"] == pytest.approx(3 * values[0])
    assert document["pairs"][1]["difference"]["p_holm"] == 1
    assert document["pairs"][0]["passes"]["p_holm"] == pytest.approx(3 * 2 / 2**12)


def test_groups_are_compared_by_their_labels() -> None:
    """Each value of a label has its figures; a group of one has a mean and says why there is no interval."""
    levels = ["easy"] * 5 + ["hard"]
    first = held("A", rows_of("A", [PASS] * 5 + [LOW], level=levels))
    second = held("B", rows_of("B", [FAIL] * 5 + [PASS], level=levels))
    groups = pair_of(first, second)["groups"]["level"]
    assert groups["easy"]["difference"]["mean"] == -11
    assert groups["easy"]["passes"]["only_a"] == 5
    alone = groups["hard"]["difference"]
    assert (alone["mean"], alone["ci95"], alone["ci_reason"]) == (40, None, "one task only")
    assert alone["smallest_detectable"]["reason"] == "fewer than two"


def test_clusters_are_the_units_of_interval_and_tests() -> None:
    """Twelve tasks of three sources that agree within: three units, and sign flips over three."""
    source = [name for name in ("x", "y", "z") for _ in range(4)]
    first = held("A", rows_of("A", [LOW] * 12, source=source))
    second = held("B", rows_of("B", [FAIL] * 12, source=source))
    plain, clustered = pair_of(first, second), pair_of(first, second, cluster="source")
    assert plain["difference"]["p_value"] == pytest.approx(2 / 2**12)
    assert clustered["difference"]["p_value"] == pytest.approx(2 / 2**3)
    assert (plain["difference"]["units"], clustered["difference"]["units"]) == (12, 3)
    assert clustered["difference"]["mean"] == plain["difference"]["mean"] == 29
    widths = [one["difference"]["ci95"][1] - one["difference"]["ci95"][0] for one in (plain, clustered)]
    assert widths[1] > widths[0]
    assert clustered["passes"]["test"] == "sign_flip_exact"
    with pytest.raises(ConfigError, match="no such column; there are source"):
        compare_runs({"A": first, "B": second}, cluster="town")


def test_intervals_over_other_units_are_told() -> None:
    """A run whose summary is over clusters, beside differences over tasks."""
    rows = [{**one, "labels": {"source": one["task_id"]}} for one in A.rows]
    summary = {**A.summary, "cluster": {"column": "source", "clusters": 6}}
    first = replace(A, rows=rows, summary=summary)
    told = compare_runs({"A": first, "B": B}).document["warnings"]
    assert [one["runs"] for one in told if one["code"] == "other_clusters"] == [["A"]]
    same = compare_runs({"A": first, "B": B}, cluster="source").document["warnings"]
    assert not any(one["code"] == "other_clusters" for one in same)


def test_swapping_the_runs_turns_everything_round() -> None:
    """Means change sign, intervals turn, p-values stay."""
    there, back = pair_of(A, B), pair_of(B, A)
    assert there["difference"]["mean"] == -back["difference"]["mean"]
    assert there["difference"]["ci95"] == pytest.approx([-v for v in reversed(back["difference"]["ci95"])])
    assert there["difference"]["p_value"] == back["difference"]["p_value"]
    assert there["passes"]["p_value"] == back["passes"]["p_value"]


def test_an_absent_submission_counts_and_a_task_of_one_run_only_is_missing() -> None:
    """Worth the minimum, as its row says; what the other run never planned says so."""
    first = held("A", [*rows_of("A", [PASS]), row("gone", "A", outcome="absent", reason="missing")])
    second = held(
        "B", [*rows_of("B", [PASS]), row("gone", "B", [repeat(1, PASS)]), row("new", "B", [repeat(1, LOW)])]
    )
    pair = pair_of(first, second)
    assert pair["tasks"]["common"] == 2
    items = {item["task_id"]: item for item in pair["items"]}
    assert (items["gone"]["kind"], items["gone"]["difference"]) == ("flip", 70)
    assert (items["new"]["kind"], items["new"]["a"]["reason"]) == ("missing", "not_in_run")


def refused(first: RunRows, second: RunRows) -> str:
    """The refusal's text; with `allow_different` the same stands in the document."""
    runs = {first.name: first, second.name: second}
    with pytest.raises(ConfigError) as caught:
        compare_runs(runs)
    assert caught.value.slug == "unlike"
    allowed = compare_runs(runs, allow_different=True).document
    assert all(one["detail"] in str(caught.value) for one in allowed["differs"])
    assert allowed["differs"]
    return str(caught.value)


def test_another_question_is_refused_with_what_differs() -> None:
    """The wording, by the manifests' protocols."""
    rows = [{**one, "question_sha256": "0" * 64} for one in B.rows]
    first = held(
        "A", list(A.rows), manifest={**manifest(), "protocol": {"prompt_sha256": "1", "reply": "json"}}
    )
    second = held("B", rows, manifest={**manifest(), "protocol": {"prompt_sha256": "2", "reply": "json"}})
    assert "another question (the prompt's wording)" in refused(first, second)


def test_criteria_that_differ_are_named() -> None:
    """Those asked otherwise, and those of one run only; weights are the formula's."""
    keys = [
        [{"key": "region", "max": 30, "weight": 1}, {"key": "symbols", "max": 20}, {"key": "old", "max": 1}],
        [{"key": "region", "max": 30, "weight": 9}, {"key": "symbols", "max": 10}],
    ]
    rows = [{**one, "question_sha256": "0" * 64} for one in B.rows]
    first, second = (
        held(name, own, manifest={**manifest(), "protocol": {"criteria": criteria}})
        for name, own, criteria in zip("AB", (list(A.rows), rows), keys, strict=True)
    )
    assert "another question (the criteria symbols, old)" in refused(first, second)


def test_another_protocol_is_refused_in_one_sentence() -> None:
    """Question and formula differ then as a matter of course."""
    rows = [
        {**one, "protocol": "web-page/1", "question_sha256": "0" * 64, "formula_sha256": "0" * 64}
        for one in B.rows
    ]
    words = refused(A, held("B", rows))
    assert "A was judged by gis-bench/1, B by web-page/1" in words
    assert words.count("\n- ") == 1


def test_another_formula_or_judge_is_refused() -> None:
    """Model and settings, with both values."""
    rows = [{**one, "formula_sha256": "0" * 64} for one in B.rows]
    assert "another formula" in refused(A, held("B", rows))
    weighed = {"criteria": [{"key": "region", "weight": 2}], "absent": "exclude", "pass_at": 70}
    marks = [
        {**manifest(), "protocol": own}
        for own in ({"criteria": [{"key": "region", "weight": 1}], "absent": "zero", "pass_at": 60}, weighed)
    ]
    said = refused(held("A", list(A.rows), manifest=marks[0]), held("B", rows, manifest=marks[1]))
    for words in ("the pass mark, 60 against 70", "zero against exclude", "the criteria's weights"):
        assert words in said
    other = held("B", list(B.rows), manifest=manifest(model="openai/judge-2", temperature=None))
    words = refused(A, other)
    assert "model 'openai/judge-1' against 'openai/judge-2'" in words
    assert "temperature 0 against the vendor's default" in words


def test_the_judge_of_texts_is_compared_too() -> None:
    """Where routes have judges of their own."""
    texts = {**JUDGE, "scripted": False}
    first = held("A", list(A.rows), manifest={**manifest(), "text_judge": texts})
    second = held("B", list(B.rows), manifest={**manifest(), "text_judge": {**texts, "max_tokens": 99}})
    assert "max_tokens 1024 against 99" in refused(first, second)


def test_another_task_text_is_refused_by_task() -> None:
    """The ids of the common tasks whose text differs."""
    first = held("A", list(A.rows), manifest=manifest({"t0": "1", "t1": "2", "old": "3"}))
    second = held("B", list(B.rows), manifest=manifest({"t0": "1", "t1": "other", "new": "4"}))
    assert "other texts under the same task id: t1" in refused(first, second)


def test_other_served_models_addresses_and_policies_warn() -> None:
    """What may matter and need not is told, not refused."""
    rows = [
        {**one, "judge": {**one["judge"], "served": ["judge-1-b"]}, "evidence_sha256": "0" * 64}
        for one in B.rows
    ]
    second = held("B", rows, manifest=manifest(base_url="http://other.example"))
    document = compare_runs({"A": A, "B": second}).document
    assert {one["code"] for one in document["warnings"]} == {"served_models", "evidence_policy", "base_url"}


def test_two_scripts_are_told_and_compared() -> None:
    """Made-up replies of two files are no two judges."""
    first = held("A", list(A.rows), manifest=manifest(model="scripted/a.json", scripted=True))
    second = held("B", list(B.rows), manifest=manifest(model="scripted/b.json", scripted=True))
    document = compare_runs({"A": first, "B": second}).document
    assert "script" in {one["code"] for one in document["warnings"]}


def test_a_table_of_pairs_needs_no_details() -> None:
    """The same differences and passes, with nothing else worked out."""
    whole, short = pair_of(A, B), pair_of(A, B, details=False)
    assert (short["criteria"], short["groups"], short["items"]) == ({}, {}, [])
    assert {**whole, "criteria": {}, "groups": {}, "items": []} == short


def test_one_run_is_no_comparison() -> None:
    """Nor is a run with itself."""
    with pytest.raises(ConfigError, match="two runs"):
        compare_runs({"A": A})


def test_out_dirs_are_called_by_model_or_by_path(tmp_path: Path) -> None:
    """A joint out-dir stands for its models; the same model twice is told apart by where it lies."""
    one = outdir.write(tmp_path / "one", "A", rows_of("A", [PASS]))
    two = outdir.write(tmp_path / "two", "A", rows_of("A", [LOW]))
    assert list(load_runs([one, two])) == [str(one), str(two)]
    joint = tmp_path / "joint"
    for name in ("A", "B"):
        outdir.write(joint / name, name, rows_of(name, [PASS]))
    (joint / "judge_summary.json").write_text(json.dumps({"models": {"A": {}, "B": {}}}))
    assert list(load_runs([joint])) == ["A", "B"]
    with pytest.raises(ConfigError, match="named twice"):
        load_runs([one, tmp_path / "two" / ".." / "one"])


@pytest.mark.long
def test_the_command_compares_two_real_runs_and_refuses_other_texts(tmp_path: Path) -> None:
    """Exit 0 with flips first; other task texts under the same ids exit 2 and name the task."""
    script = tmp_path / "replies.jsonl"
    replies = {name: gis_reply() if name != "b" else gis_reply((0,) * 7) for name in "abc"}
    script.write_text(
        "".join(json.dumps({"task_id": key, "reply": value}) + "\n" for key, value in replies.items())
    )
    outs = []
    for number, prompt in enumerate(("Map it.", "Map it.", "Draw it.")):
        tasks, submissions = gis_run(tmp_path / str(number), prompt=prompt)
        outs.append(tmp_path / f"out{number}")
        done = run(
            command(
                "judge-run", "--protocol", "gis-bench", "--tasks", tasks,
                "--run-dir", f"m{number}={submissions}", "--out-dir", outs[-1],
                "--judge", f"scripted/{script}", "--repeats", 1, "--display", "none",
            )
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    done = run(command("compare", outs[0], outs[1], "--json", "-o", tmp_path / "c.json"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["pairs"][0]["difference"]["mean"] == 0
    assert document["warnings"] == []
    assert json.loads((tmp_path / "c.json").read_text()) == document
    refusal = run(command("compare", outs[0], outs[2], "--json"))
    assert refusal.returncode == 2
    assert json.loads(refusal.stdout)["error"] == "unlike"
    assert "other texts under the same task id: a, b, c" in refusal.stderr
    table = run(command("compare", outs[0], outs[2], "--allow-different"))
    assert table.returncode == 0
    assert "Compared although" in table.stdout


def test_the_terminal_table_greys_nothing_away(tmp_path: Path) -> None:
    """Every kind of item, the means of the common tasks, and no colour in a pipe."""
    paths = [
        outdir.write(tmp_path / name, name, list(held_run.rows)) for name, held_run in (("A", A), ("B", B))
    ]
    done = run(command("compare", *paths))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    flips = [line for line in lines if " flip " in line]
    assert len(flips) == 2
    assert any("missing" in line and "timeout" in line for line in lines)
    assert "51.8 / 57.8" in done.stdout
    own = lines[lines.index(next(line for line in lines if line.startswith("Model"))) + 1 :][:2]
    assert ("A" in own[0] + own[1], "1 timeout" in own[0] + own[1]) == (True, True)
    assert "Scripted replies" in done.stdout


def test_a_narrow_terminal_breaks_no_number() -> None:
    """In 80 columns the pairs' figures are two tables, each with the names."""
    from rich.console import Console

    from beholder.compare.terminal import comparison_tables

    console = Console(width=80)
    with console.capture() as text:
        for part in comparison_tables(compare_runs({"A": A, "B": B}).document, width=80):
            console.print(part)
    said = text.get()
    assert "…" not in said
    assert said.count("A / B ") >= 2
    assert "51.8 / 57.8" in said
    assert "p McNemar" in said


def test_many_pairs_are_one_table_in_the_terminal() -> None:
    """Three pairs with their tasks; of six, where the tasks are to be found."""
    from rich.console import Console

    from beholder.compare.terminal import comparison_tables

    console = Console(width=160)
    for names, listed in (("ABC", 3), ("ABCD", 0)):
        runs = {name: replace(A, name=name) for name in names}
        with console.capture() as text:
            for part in comparison_tables(compare_runs(runs).document):
                console.print(part)
        assert text.get().count("tasks that differ") == listed
        assert ("-o compare.html" in text.get()) is (listed == 0)


def test_runs_without_a_common_task_say_so() -> None:
    """Nothing is compared, and that is no quiet table of dashes."""
    other = held("C", [{**one, "task_id": f"x{one['task_id']}"} for one in rows_of("C", [PASS, FAIL])])
    document = compare_runs({"A": A, "C": other}).document
    told = [one for one in document["warnings"] if one["code"] == "no_common_tasks"]
    assert told[0]["runs"] == ["A", "C"]
    assert "nothing is compared" in told[0]["detail"]
    assert document["pairs"][0]["difference"]["mean"] is None
