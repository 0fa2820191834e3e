"""Summaries: counts that add up, means with coverage and bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.protocols import load_protocol
from beholder.summary import Scale, TaskFigures, figures, summarize, summarize_jointly

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
