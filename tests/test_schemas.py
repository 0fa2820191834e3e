"""The schemas that ship, against what runs write."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from beholder.compare import compare_runs, load_runs
from beholder.demo import demo_spec
from beholder.human import human_agreement, read_ratings, scales_of
from beholder.run.conductor import judge_run
from beholder.run.rescore import rescore
from tests.fakes.runs import rows_of, summary_of


def schema(name: str) -> Draft202012Validator:
    text = (resources.files("beholder") / "schemas" / f"{name}.schema.json").read_text("utf-8")
    content = json.loads(text)
    Draft202012Validator.check_schema(content)
    return Draft202012Validator(content)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's out-dir: scored, absent and unscored, of two models."""
    out = tmp_path_factory.mktemp("demo") / "o"
    with demo_spec(out) as spec:
        judge_run(spec)
    return out


def rows(out: Path) -> list[dict[str, Any]]:
    return [row for folder in sorted(out.iterdir()) if folder.is_dir() for row in rows_of(folder)]


def test_every_row_and_summary_of_a_run_fits(demo: Path) -> None:
    """All outcomes, one model's summary and the joint one."""
    found = rows(demo)
    assert {row["outcome"] for row in found} == {"scored", "absent", "unscored"}
    for row in found:
        schema("row").validate(row)
    schema("summary").validate(summary_of(demo))
    for folder in demo.iterdir():
        if folder.is_dir():
            schema("summary").validate(summary_of(folder))


def test_what_rescoring_writes_fits_too(demo: Path, tmp_path: Path) -> None:
    """A joint out-dir becomes a joint out-dir, with the same rows where the formula is the same."""
    rescore(demo, tmp_path / "new")
    assert rows(tmp_path / "new") == rows(demo)
    assert (tmp_path / "new" / "report.html").stat().st_size > 0
    for row in rows(tmp_path / "new"):
        schema("row").validate(row)
    schema("summary").validate(summary_of(tmp_path / "new"))


@pytest.mark.parametrize(
    ("outcome", "changes"),
    [
        ("unscored", {"main_score": 0}),
        ("unscored", {"pass": False}),
        ("unscored", {"reason": None}),
        ("absent", {"scores": {"exists": 0}}),
        ("scored", {"main_score": None}),
        ("scored", {"reason": "timeout"}),
        ("scored", {"outcome": "failed"}),
        ("scored", {"question_sha256": "abc"}),
    ],
)
def test_a_row_that_breaks_a_promise_does_not_fit(demo: Path, outcome: str, changes: dict[str, Any]) -> None:
    """No number without a score, no score without a number, no missing reason."""
    row = next(row for row in rows(demo) if row["outcome"] == outcome)
    with pytest.raises(ValidationError):
        schema("row").validate({**row, **changes})


@pytest.mark.parametrize("name", ["coverage", "mean_bounds", "unscored", "ci_method"])
def test_a_summary_without_its_coverage_and_bounds_does_not_fit(demo: Path, name: str) -> None:
    """Neither of one model nor within a joint one."""
    joint = copy.deepcopy(summary_of(demo))
    one = next(iter(joint["models"].values()))
    del one[name]
    for broken in (one, joint):
        with pytest.raises(ValidationError):
            schema("summary").validate(broken)


def test_every_field_of_a_row_stands_in_its_schema(demo: Path) -> None:
    """A field that is added is added to the schema."""
    properties = schema("row").schema["properties"]
    assert {key for row in rows(demo) for key in row} == set(properties)


def test_every_key_of_evidence_stands_in_its_schema(demo: Path) -> None:
    """Pictures with sheet, part and time, videos, files, warnings: no key goes untold."""
    told = schema("row").schema["$defs"]["evidence"]["properties"]
    evidence = [row["evidence"] for row in rows(demo)]
    assert {key for one in evidence for key in one} == set(told)
    for member in ("artifacts", "images", "warnings"):
        keys = {key for one in evidence for item in one[member] for key in item}
        assert keys == set(told[member]["items"]["properties"])
    videos = {
        "path": "t/v.mp4",
        "sha256": "0" * 64,
        "media_type": "video/mp4",
        "size_bytes": 9,
        "width_px": 1,
    }
    row = next(row for row in rows(demo) if row["outcome"] == "scored")
    broken = {**row, "evidence": {**row["evidence"], "videos": [videos]}}
    with pytest.raises(ValidationError, match="duration_s"):
        schema("row").validate(broken)


@pytest.fixture(scope="module")
def compared(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The demo's two models, and people's ratings by two raters with a blank."""
    ratings = tmp_path_factory.mktemp("ratings") / "people.csv"
    lines = ["task_id,rater,pass,exists,notes"]
    for at, task in enumerate(dict.fromkeys(row["task_id"] for row in rows(demo))):
        lines += [f"{task},ann,{at % 2},20,x", f"{task},bob,{'' if at else 1},{20 * (at % 2)},"]
    ratings.write_text("\n".join(lines), encoding="utf-8")
    runs = load_runs([demo])
    return {
        **compare_runs(runs).document,
        "human": {
            name: human_agreement(
                read_ratings(ratings, scales_of(run.summary), has_pass=True), run.rows, run.summary
            )
            for name, run in runs.items()
        },
    }


def test_a_comparison_fits_its_schema(compared: dict[str, Any]) -> None:
    """With and without an interval, with ratings beside it; each agreement fits the schema of its file."""
    schema("comparison").validate(compared)
    for agreement in compared["human"].values():
        schema("human_agreement").validate(agreement)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("pairs", 0, "difference", "p_value"), 1.2),
        (("pairs", 0, "items", 0, "kind"), "flipped"),
        (("pairs", 0, "items", 0, "difference"), None),
        (("pairs",), []),
        (("models",), None),
        (("warnings",), [{"code": "x"}]),
    ],
)
def test_a_comparison_that_breaks_a_promise_does_not_fit(
    compared: dict[str, Any], path: tuple[Any, ...], value: Any
) -> None:
    """A flip has a difference, a p-value is a share, a warning says of which runs."""
    broken = copy.deepcopy(compared)
    place: Any = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValidationError):
        schema("comparison").validate(broken)


def test_an_undefined_figure_says_why(compared: dict[str, Any]) -> None:
    """No value, then no interval, and a reason."""
    agreement = copy.deepcopy(next(iter(compared["human"].values())))
    agreement["columns"]["pass"]["kappa"].update(value=None, ci95=None, reason=None)
    with pytest.raises(ValidationError):
        schema("human_agreement").validate(agreement)


def members(content: dict[str, Any], part: dict[str, Any]) -> set[str]:
    """The members that a part of a schema names, those of what it refers to included."""
    found = set(part.get("properties", ()))
    if "$ref" in part:
        found |= members(content, content["$defs"][part["$ref"].rsplit("/", 1)[1]])
    return found.union(*(members(content, one) for one in part.get("allOf", ())))


def test_the_schema_knows_every_member_of_a_summary(demo: Path) -> None:
    """Of a model's, of its repeats, criteria and groups, and of the joint one; with what it cost."""
    content = dict(schema("summary").schema)
    one, joint, figures = (content["$defs"][name] for name in ("one", "joint", "figures"))
    written = summary_of(demo)
    assert written.keys() <= members(content, joint)
    assert {"title", "score_range", "pass_at"} <= written.keys()
    for folder in (found for found in demo.iterdir() if (found / "judge_summary.json").is_file()):
        summary = summary_of(folder)
        assert summary.keys() <= members(content, one)
        assert {"title", "cost_usd"} <= summary.keys()
        assert summary["repeats"].keys() <= one["allOf"][1]["properties"]["repeats"]["properties"].keys()
        for criterion in summary["criteria"].values():
            known = figures["properties"]["criteria"]["additionalProperties"]["properties"]
            assert criterion.keys() <= known.keys()
        for values in summary["groups"].values():
            for group in values.values():
                assert group.keys() <= members(content, figures)
