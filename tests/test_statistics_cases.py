"""Handed cases of figures over several outputs: accuracies, shares, means, normalisation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beholder.protocols import load_protocol, parse_criteria, parse_score
from beholder.records import Protocol
from beholder.replies import ReplySpec, parse_reply, score_replies
from beholder.summary import Scale, TaskFigures, figures, reaches_share, summarize

HASHES = {"question_sha256": "q", "formula_sha256": "f"}


def output(name: str, result: Mapping[str, Any]) -> TaskFigures:
    """A judged output, as its row would tell."""
    return TaskFigures(
        task_id=name,
        outcome=result["outcome"],
        reason=result["reason"],
        main=result["score"],
        passed=result["pass"],
        scores=result["criteria"] if result["outcome"] == "scored" else {},
        labels={},
        repeat_mains=tuple(score for score in result["scores"] if score is not None),
        repeat_passes=(),
        served=(),
        evidence_sha256="e",
        warnings=frozenset(),
        flags=frozenset(result["flags"]),
    )


def math_figures(case: Mapping[str, Any], protocol: Protocol) -> dict[str, Any]:
    """What the case asks for, of a summary over its outputs."""
    results = [score_replies(replies, protocol) for replies in case["replies"]]
    tasks = [output(f"o{number}", result) for number, result in enumerate(results)]
    summary = summarize(tasks, protocol, model="m", judge="j/x", hashes=HASHES)
    accuracy = summary["accuracy"]
    flags = {flag for result in results for flag in result["flags"]}
    flags |= {"partial_coverage" for warning in summary["warnings"] if warning["code"] == "unscored"}
    share = reaches_share(accuracy["correct"], accuracy["n"], Decimal(str(case.get("threshold", 0))))
    return {
        "accuracy": accuracy["share"],
        "n_judged": accuracy["n"],
        "n_outputs": summary["planned"],
        "bounds": accuracy["bounds"],
        "wilson95": accuracy["ci95"],
        "ci_not_degenerate": accuracy["ci95"][0] < accuracy["ci95"][1],
        "pass": share["pass"],
        "warn": share["warning"],
        "flags": flags,
        "per_output": [
            {
                "final_votes": result["scores"],
                "final": result["score"],
                "agreement": result["criteria"]["FINAL_CORRECT"],
                "n_scored": result["n_scored"],
                "n_requested": result["n_requested"],
            }
            for result in results
        ],
    }


def generic_figures(case: Mapping[str, Any]) -> dict[str, Any]:
    """Means of one criterion over repeats, or one value on other scales."""
    criteria = parse_criteria(case["criteria"], "case")
    key = criteria[0].key
    spec = ReplySpec(reply="json", criteria=criteria)
    replies = [parse_reply(reply, spec) for reply in case["replies"]]
    scored = [reply["scores"][key] for reply in replies if reply["outcome"] == "scored"]
    tasks = [
        TaskFigures(
            task_id=str(at),
            outcome=reply["outcome"],
            reason=reply["reason"],
            main=reply["scores"].get(key),
            passed=None,
            scores=reply["scores"],
            labels={},
            repeat_mains=(),
            repeat_passes=(),
            served=(),
            evidence_sha256="e",
            warnings=frozenset(),
            flags=frozenset(),
        )
        for at, reply in enumerate(replies)
    ]
    ends = [int(end) for end in (criteria[0].min, criteria[0].max)]
    scale = Scale(low=float(ends[0]), high=float(ends[1]), pass_at=None, criteria={})
    found = figures(tasks, scale)
    text = json.dumps(found, allow_nan=False)
    share = parse_score(
        {
            "fraction": {"scale": key, "from": ends, "to": [0, 1]},
            "of_max": {"scale": key, "from": [0, ends[1]], "to": [0, 1]},
            "main": {"mean": ["fraction"]},
        },
        criteria,
        "case",
    )
    more = parse_reply(case["replies"][0], ReplySpec(reply="json", criteria=criteria, score=share))["derived"]
    result = {
        "mean": found["mean"],
        "mean_repr": repr(found["mean"]),
        "n_scored": found["scored"],
        "n_requested": found["planned"],
        "min": min(scored, default=None),
        "max": max(scored, default=None),
        "strict_json": "NaN" not in text,
        "fraction_of_range": more.get("fraction"),
        "fraction_of_max": more.get("of_max"),
    }
    if "normalize" in case:
        for name, rule in (("exact", None), ("half_even", "half-even"), ("half_up", "half-up")):
            node = {
                "scale": key,
                "from": [0, case["normalize"]["from_max"]],
                "to": [0, case["normalize"]["to"]],
            }
            formula = parse_score({"main": {**node, **({"round": rule} if rule else {})}}, criteria, "case")
            one = ReplySpec(reply="json", criteria=criteria, score=formula)
            result[name] = parse_reply(case["replies"][0], one)["derived"]["main"]
        result["python_float_round"] = round(result["exact"])
    return result


def differs(expected: Any, found: Any) -> bool:
    """Whether a figure is not the one expected: numbers to 1e-6, Wilson's limits to 1e-3."""
    if isinstance(expected, Mapping):
        return any(differs(value, found[key]) for key, value in expected.items())
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return len(expected) != len(found) or any(map(differs, expected, found))
    if isinstance(expected, float):
        return found is None or abs(expected - found) > 1e-6
    return bool(expected != found)


def problems(expect: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    told = []
    for key, value in expect.items():
        if key == "flags":
            told += [f"no flag {flag}" for flag in value if flag not in found["flags"]]
        elif key == "wilson95":
            told += [] if found[key] == pytest.approx(value, abs=1e-3) else [f"{key}: {found[key]}"]
        elif key != "note" and differs(value, found[key]):
            told.append(f"{key}: {found[key]!r} instead of {value!r}")
    return told


def test_the_handed_cases_of_figures(shared: Path) -> None:
    """Each gives what is expected, or its stated alternative."""
    cases = json.loads((shared / "cases/aggregate/statistics.json").read_text("utf-8"))
    protocol = load_protocol("math-media")
    checked = 0
    for case in cases:
        if "items" in case:
            continue  # raters: tests/test_human.py
        found = math_figures(case, protocol) if case["protocol"] == "math" else generic_figures(case)
        assert not problems(case["expect"], found), (case["id"], problems(case["expect"], found))
        checked += 1
    assert checked >= 10


def test_a_share_that_only_all_can_reach_is_told() -> None:
    """0.67 of three is three; of a hundred it is 67, exactly."""
    assert reaches_share(2, 3, Decimal("0.67")) == {
        "pass": False,
        "needed": 3,
        "warning": "threshold_only_reachable_by_all",
    }
    assert reaches_share(67, 100, Decimal("0.67")) == {"pass": True, "needed": 67, "warning": None}
    assert reaches_share(3, 3, Decimal(1))["warning"] is None
    assert reaches_share(0, 0, Decimal("0.5"))["pass"] is False
