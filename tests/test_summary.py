"""Summaries: counts that add up, means with coverage and bounds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import ConfigError
from beholder.protocols import load_protocol
from beholder.summary import Scale, TaskFigures, figures, recluster, summarize, summarize_jointly

GIS = load_protocol("gis-bench")
SCALE = Scale.of(GIS)
HASHES = {"question_sha256": "q", "formula_sha256": "f"}


def task(
    task_id: str,
    main: float | None,
    outcome: str = "scored",
    reason: str | None = None,
    *,
    level: str = "1",
    mains: tuple[float, ...] = (),
) -> TaskFigures:
    return TaskFigures(
        task_id=task_id,
        outcome=outcome,
        reason=reason,
        main=main,
        passed=None if main is None else main >= 60,
        scores={"accuracy": 30.0} if outcome == "scored" else {},
        labels={"level": level},
        repeat_mains=mains,
        repeat_passes=tuple(value >= 60 for value in mains),
        served=("judge-1",),
        evidence_sha256="e",
        warnings=frozenset(),
        flags=frozenset(),
    )


FOUR = [
    task("a", 80.0),
    task("b", 40.0),
    task("c", 0.0, "absent", "missing"),
    task("d", None, "unscored", "refused"),
]


def test_a_mean_stands_with_coverage_and_bounds() -> None:
    """80, 40 and an absent 0 are 40 on average; the unscored one could make it 30 to 55 of four."""
    found = figures(FOUR, SCALE)
    assert found["mean"] == 40
    assert found["coverage"] == 0.75
    assert found["mean_bounds"] == [30, 55]
    assert (found["scored"], found["absent"], found["unscored"]) == (2, {"missing": 1}, {"refused": 1})
    assert found["pass_rate"] == pytest.approx(1 / 3)


def test_criteria_means_are_over_scored_tasks_only() -> None:
    """An absent submission lowers the score, not what was seen of the others."""
    assert figures(FOUR, SCALE)["criteria"]["accuracy"]["mean"] == 30


def test_an_excluded_absence_leaves_the_mean_and_enters_the_bounds() -> None:
    """Both null in the row: the mean is 60 of two, the bounds count it at the minimum."""
    found = figures([*FOUR[:2], replace(FOUR[2], main=None, passed=None)], SCALE)
    assert found["mean"] == 60
    assert found["mean_bounds"] == [40, 40]
    assert found["coverage"] == 1


def test_no_score_at_all_is_null_and_not_zero() -> None:
    """All unscored: no mean, no interval, bounds over the whole scale."""
    found = figures([FOUR[3]], SCALE)
    assert (found["mean"], found["ci95"], found["pass_rate"], found["pass_ci95"]) == (None,) * 4
    assert found["mean_bounds"] == [0, 100]


@given(st.lists(st.sampled_from(FOUR), min_size=1, max_size=20))
def test_counts_add_up_and_the_bounds_hold_the_mean_of_all(tasks: list[TaskFigures]) -> None:
    """planned = scored + absent + unscored; filling any unscored task gives a mean within the bounds."""
    found = figures(tasks, SCALE)
    assert found["planned"] == found["scored"] + sum(found["absent"].values()) + sum(
        found["unscored"].values()
    )
    filled = sum(t.main if t.main is not None else 37.0 for t in tasks) / len(tasks)
    low, high = found["mean_bounds"]
    assert low - 1e-9 <= filled <= high + 1e-9


def test_groups_hold_the_same_figures_by_label() -> None:
    """Each value of a label has its own counts; a label that differs for every task groups nothing."""
    tasks = [task("a", 80.0, level="1"), task("b", 40.0, level="1"), task("c", 60.0, level="2")]
    found = summarize(tasks, GIS, model="m", judge="scripted/x", hashes=HASHES)
    assert {value: group["mean"] for value, group in found["groups"]["level"].items()} == {"1": 60, "2": 60}
    alone = [replace(t, labels={"url": t.task_id}) for t in tasks]
    assert summarize(alone, GIS, model="m", judge="scripted/x", hashes=HASHES)["groups"] == {}


def test_scripted_replies_are_said() -> None:
    """`scripted` stands in the summary and among its warnings."""
    found = summarize(FOUR, GIS, model="m", judge="scripted/x", hashes=HASHES)
    assert found["scripted"] is True
    assert "scripted" in {warning["code"] for warning in found["warnings"]}


def test_repeats_are_described_by_their_spread() -> None:
    """60, 60, 60 and 20, 60, 100: equal means, ranges 0 and 80; the pass flips once."""
    tasks = [task("a", 60.0, mains=(60, 60, 60)), task("b", 60.0, mains=(20, 60, 100))]
    found = summarize(tasks, GIS, model="m", judge="j/x", hashes=HASHES)["repeats"]
    assert (found["range"], found["spread"], found["pass_flips"]) == (40, 20, 1)


def test_models_are_compared_on_the_tasks_that_all_have_a_number_for() -> None:
    """Task d is unscored for one model, so it is no common task."""
    other = [task(name, 50.0) for name in "abcd"]
    tasks = {"one": FOUR, "two": other}
    summaries = {
        name: summarize(own, GIS, model=name, judge="j/x", hashes=HASHES) for name, own in tasks.items()
    }
    joint = summarize_jointly(summaries, tasks, GIS)
    assert joint["common"]["tasks"] == 3
    assert joint["common"]["models"]["two"]["planned"] == 3
    assert joint["models"]["one"]["mean"] == 40


def test_a_mean_has_an_interval_for_any_shape_and_a_reason_where_it_has_none() -> None:
    """All equal: open to both sides; one task: null, and why; of nothing: null, and why."""
    equal = figures([task(name, 60.0) for name in "abcde"], SCALE)
    assert equal["ci95"][0] < 60 < equal["ci95"][1]
    assert (equal["n"], equal["ci_reason"]) == (5, None)
    one = figures([task("a", 60.0)], SCALE)
    assert (one["ci95"], one["ci_reason"]) == (None, "one task with a number")
    nothing = figures([FOUR[3]], SCALE)
    assert nothing["ci_reason"] == "no task with a number"
    assert nothing["criteria"]["accuracy"]["ci_reason"] == "no task with a number"


def test_repeats_are_no_tasks() -> None:
    """The interval of three tasks stays what it is, however often each was judged."""
    once = [task(name, value) for name, value in zip("abc", (40.0, 60.0, 90.0), strict=True)]
    often = [replace(one, repeat_mains=(one.main or 0.0,) * 9) for one in once]
    assert figures(once, SCALE)["ci95"] == figures(often, SCALE)["ci95"]


def test_groups_and_all_are_told_by_the_same_rules() -> None:
    """A group's figures are those of its tasks alone, mean, interval, bounds and criteria."""
    tasks = [task(str(n), float(7 * n % 100), level=str(n % 3)) for n in range(30)] + [
        replace(FOUR[2], task_id="x"),
        replace(FOUR[3], task_id="y"),
    ]
    found = summarize(tasks, GIS, model="m", judge="j/x", hashes=HASHES)["groups"]["level"]
    for level, group in found.items():
        assert group == figures([one for one in tasks if one.labels["level"] == level], SCALE)


def test_equal_means_are_not_equal_quality() -> None:
    """60, 60, 60 against 20, 60, 100 and 58, 60, 62: spread, flips, agreement and what lies near the mark."""
    tasks = [
        task("steady", 60.0, mains=(60, 60, 60)),
        task("wild", 60.0, mains=(20, 60, 100)),
        task("near", 60.0, mains=(58, 60, 62)),
        task("far", 95.0, mains=(95, 96, 94)),
    ]
    found = summarize(tasks, GIS, model="m", judge="j/x", hashes=HASHES)["repeats"]
    assert found["pass_flips"] == 2
    assert found["pass_flip_share"] == 0.5
    assert 0 < found["pass_flip_ci95"][0] < 0.5 < found["pass_flip_ci95"][1] < 1
    assert [one["task_id"] for one in found["widest"]["tasks"]] == ["wild", "near", "far"]
    assert found["widest"]["tasks"][0]["spread"] == 40
    assert {one["task_id"] for one in found["near_threshold"]["tasks"]} == {"steady", "wild", "near"}
    assert found["within_sd"] == pytest.approx(((0 + 1600 + 4 + 1) / 4) ** 0.5)
    assert found["icc1_ci95"][0] < found["icc1"] < found["icc1_ci95"][1]
    assert "ICC(1)" in found["icc_method"]
    needed = {one["half_width"]: one["repeats"] for one in found["needed"]["half_width"]}
    assert needed[5.0] == 62  # (1.96 * 20.03 / 5)², upwards


def test_a_judge_that_never_differs_has_no_spread_to_tell() -> None:
    """Equal repeats: agreement 1 without an interval, and near is what lies within 2 % of the scale."""
    tasks = [task("a", 61.0, mains=(61, 61)), task("b", 80.0, mains=(80, 80))]
    found = summarize(tasks, GIS, model="m", judge="j/x", hashes=HASHES)["repeats"]
    assert (found["icc1"], found["icc1_ci95"]) == (1, None)
    assert found["icc_reason"] is not None
    assert [one["task_id"] for one in found["near_threshold"]["tasks"]] == ["a"]


def test_right_or_wrong_is_not_near_the_mark_unless_repeats_differ() -> None:
    """A pass at 1 of 0 and 1 lies on the mark; where no repeat differs nothing could carry it over."""
    sure = [task("a", 1.0, mains=(1, 1, 1)), task("b", 0.0, mains=(0, 0, 0))]
    found = summarize(sure, MATH, model="m", judge="j/x", hashes=HASHES)["repeats"]["near_threshold"]
    assert (found["count"], found["tasks"]) == (0, [])
    assert "end of the scale" in found["method"]
    split = [*sure, task("c", 1.0, mains=(1, 0, 1))]
    found = summarize(split, MATH, model="m", judge="j/x", hashes=HASHES)["repeats"]["near_threshold"]
    assert "c" in {one["task_id"] for one in found["tasks"]}


def test_without_repeats_everything_is_null_and_says_why() -> None:
    """One judgement each: no spread, no agreement, no flips."""
    found = summarize([task("a", 61.0, mains=(61,))], GIS, model="m", judge="j/x", hashes=HASHES)["repeats"]
    assert (found["spread"], found["icc1"], found["pass_flips"], found["pass_flip_share"]) == (None,) * 4
    assert found["icc_reason"] == "no task with two scored repeats"
    assert found["needed"] == {"half_width": [], "reliability": []}


def test_clusters_widen_intervals_and_change_nothing_else() -> None:
    """Ten tasks of each of four sources: means stay, intervals are over four."""
    tasks = [
        replace(task(f"{source}{n}", 50.0 + 12 * at), labels={"source": source})
        for at, source in enumerate("abcd")
        for n in range(10)
    ]
    plain = summarize(tasks, GIS, model="m", judge="j/x", hashes=HASHES)
    found = recluster(plain, tasks, "source")
    assert found["mean"] == plain["mean"]
    assert found["cluster"] == {"column": "source", "clusters": 4}
    assert found["ci95"][1] - found["ci95"][0] > 2 * (plain["ci95"][1] - plain["ci95"][0])
    assert found["pass_ci95"][1] - found["pass_ci95"][0] > plain["pass_ci95"][1] - plain["pass_ci95"][0]
    assert found["groups"]["source"]["a"]["ci_reason"] == "one cluster with a number"
    assert "source" in found["ci_method"]
    with pytest.raises(ConfigError, match="no such column; there are source"):
        recluster(plain, tasks, "town")


MATH = load_protocol("math-media")


def solution(task_id: str, process: float, final: float, subtask: str = "algebra") -> TaskFigures:
    scores = {"INTERMEDIATE_CORRECT": process, "FINAL_CORRECT": final, "ACTION_REFLECTION": 0.0}
    return replace(
        task(task_id, float(final > 0.5)), scores=scores, passed=final > 0.5, labels={"subtask": subtask}
    )


def test_accuracy_is_a_share_with_wilsons_interval_overall_and_by_subtask() -> None:
    """Two of three right and one absent: 2 of 4; the unscored one is in the bounds only."""
    tasks = [
        solution("a", 1, 1),
        solution("b", 0, 1, "geometry"),
        solution("c", 1, 0),
        replace(FOUR[2], labels={"subtask": "geometry"}),
        replace(FOUR[3], labels={"subtask": "geometry"}),
    ]
    found = summarize(tasks, MATH, model="m", judge="j/x", hashes=HASHES)
    assert found["accuracy"] == {
        "correct": 2,
        "n": 4,
        "share": 0.5,
        "ci95": pytest.approx([0.15, 0.85], abs=1e-3),
        "bounds": [0.4, 0.6],
    }
    assert found["groups"]["subtask"]["geometry"]["accuracy"]["share"] == 0.5
    assert found["groups"]["subtask"]["algebra"]["accuracy"]["n"] == 2
    assert figures([task("a", 60.0)], SCALE)["accuracy"] is None


def test_a_signal_of_the_process_stands_against_the_final_answer() -> None:
    """Right steps with a wrong end, and the other way round; an even split of repeats is counted apart."""
    tasks = [
        *(solution(f"a{n}", 1, 1) for n in range(5)),
        *(solution(f"b{n}", 0, 0) for n in range(3)),
        *(solution(f"c{n}", 1, 0) for n in range(2)),
        solution("d", 0, 2 / 3),
        solution("e", 0.5, 1),
    ]
    found = summarize(tasks, MATH, model="m", judge="j/x", hashes=HASHES)["crosstabs"]
    table = next(
        one for one in found if (one["rows"], one["columns"]) == ("INTERMEDIATE_CORRECT", "FINAL_CORRECT")
    )
    assert table["table"] == {"0": {"0": 3, "1": 1}, "1": {"0": 2, "1": 5}}
    assert (table["n"], table["split"]) == (11, 1)
    assert table["agreement"] == pytest.approx(8 / 11)
    assert table["given"]["1"]["share"] == pytest.approx(5 / 7)
    assert table["given"]["0"]["n"] == 4
    assert len(found) == 3
    assert summarize(FOUR, GIS, model="m", judge="j/x", hashes=HASHES)["crosstabs"] == []


@given(st.lists(st.sampled_from(FOUR), min_size=1, max_size=12))
def test_a_summary_is_strict_json(tasks: list[TaskFigures]) -> None:
    """No NaN, no infinity, whatever is missing."""
    json.dumps(summarize(tasks, GIS, model="m", judge="j/x", hashes=HASHES), allow_nan=False)
