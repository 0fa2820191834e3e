"""`report --cluster` and `report --human` on out-dirs as a run leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import beholder
from beholder.demo import demo_spec
from beholder.run.conductor import judge_run
from tests.fakes.runs import command, run, summary_of


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's joint out-dir."""
    out = tmp_path_factory.mktemp("demo") / "o"
    with demo_spec(out) as spec:
        judge_run(spec)
    return out


def without_intervals(value: Any) -> Any:
    """A document without what clusters may change."""
    if isinstance(value, dict):
        return {
            key: without_intervals(one)
            for key, one in value.items()
            if "ci95" not in key and key not in {"ci_method", "ci_reason", "cluster", "accuracy"}
        }
    return [without_intervals(one) for one in value] if isinstance(value, list) else value


def test_clusters_change_intervals_of_all_summaries_and_nothing_else(demo: Path) -> None:
    """Of each model, of the joint one, on the common tasks; the schema still fits."""
    before = summary_of(demo)
    label = next(iter(next(iter(before["models"].values()))["groups"]))
    unknown = run(command("report", demo, "--cluster", "no such"))
    assert (unknown.returncode, summary_of(demo)) == (2, before)
    done = run(command("report", demo, "--cluster", label))
    assert done.returncode == 0, done.stderr
    after = summary_of(demo)
    assert without_intervals(after) == without_intervals(before)
    schema = json.loads((Path(beholder.__file__).parent / "schemas" / "summary.schema.json").read_text())
    for name, model in after["models"].items():
        assert model["cluster"]["column"] == label
        assert model["ci95"] != before["models"][name]["ci95"]
        assert summary_of(demo / name) == model
        Draft202012Validator(schema).validate(model)
    Draft202012Validator(schema).validate(after)


def test_ratings_become_a_file_beside_each_report(demo: Path, tmp_path: Path) -> None:
    """`human_agreement.json` in each model's out-dir; ratings that cannot be read change nothing."""
    rows = [json.loads(line) for line in next(demo.glob("*/judge_results.jsonl")).read_text().splitlines()]
    ratings = tmp_path / "h.csv"
    ratings.write_text("task_id,pass\n" + "".join(f"{one['task_id']},yes\n" for one in rows))
    done = run(command("report", demo, "--human", ratings))
    assert done.returncode == 0, done.stderr
    for name in summary_of(demo)["models"]:
        found = json.loads((demo / name / "human_agreement.json").read_text())
        assert found["model"] == name
        assert found["columns"]["pass"]["n"] > 0
    refused = run(command("report", demo, "--human", tmp_path / "none.csv"))
    assert refused.returncode == 2
