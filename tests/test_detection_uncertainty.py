"""Intervals and paired tests, against loops over resampled images."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from beholder.detection import replicates as replicates_module
from beholder.detection.pools import leave_one_out, make_pools, task_figures
from beholder.detection.read import load_gold, load_predictions
from beholder.detection.replicates import (
    cells,
    gold_matrix,
    model_matrix,
    population,
    products,
    task_names,
    unfold_gold,
    unfold_model,
)
from beholder.detection.scoring import summarize, tally_models
from beholder.detection.uncertainty import bootstrap, interval_leaf
from beholder.errors import SpecError
from beholder.stats.bootstrap import intervals, moments, resampling_counts
from tests.test_detection_scoring import DOMAINS, answer_bytes, generated, gold_bytes, shuffled

THRESHOLDS = (0.5, 0.3)


def study(seed: int = 0, n: int = 30, **kwargs: Any) -> Any:
    gold_data, models = generated(seed, n, **kwargs)
    gold = load_gold(gold_data)
    loaded = [load_predictions(data, gold, name=m) for m, data in models.items()]
    return gold, loaded, tally_models(gold, loaded, THRESHOLDS)


def resampled(gold_data: bytes, answers: bytes, draw: list[int]) -> tuple[bytes, bytes]:
    """Files in which image k is the k-th image drawn."""
    files = []
    for data in (gold_data, answers):
        rows = [json.loads(line) for line in data.splitlines()]
        files.append(
            "".join(json.dumps(rows[k] | {"image_id": f"r{at:04d}"}) + "\n" for at, k in enumerate(draw))
        )
    return files[0].encode(), files[1].encode()


def figures_of(block: dict[str, Any]) -> dict[str, Any]:
    parts = {"micro": block["micro"], "macro": block["macro"], "macro_gold": block["macro_gold"]}
    parts |= {f"class {name}": one for name, one in block["per_class"].items()}
    parts |= {f"domain {name}": one for name, one in block["domain_micro"].items()}
    return {f"{part} {key}": one[key] for part, one in parts.items() for key in ("precision", "recall", "f2")}


def test_replicates_equal_scoring_the_resampled_files() -> None:
    """Every figure of every task, by matrix product and by scoring files in which images stand as drawn."""
    gold_data, models = generated(4, 25)
    gold = load_gold(gold_data)
    # only fully valid answers, so that the resampled file has the same images
    answers = models["m"].replace(b'"detections": null', b'"detections": []')
    model = load_predictions(answers, gold, name="m")
    (tally,) = tally_models(gold, [model], THRESHOLDS)
    people = population(model.valid, np.arange(len(gold)))
    weights = resampling_counts(np.random.default_rng([9, 0]), 25, 12)
    first, second = products(
        [gold_matrix(tally, people, gold.n_boxes == 0), model_matrix(tally, people)],
        resampling_counts,
        (9, 0),
        25,
        12,
    )
    in_gold, negatives = unfold_gold(first, tally)
    sums = unfold_model(second, tally)
    pools = make_pools(tally.classes, DOMAINS, 2)
    for r in range(12):
        draw = [k for k in range(25) for _ in range(int(weights[k, r]))]
        new_gold, new_answers = resampled(gold_data, answers, draw)
        again = load_gold(new_gold)
        loaded = [load_predictions(new_answers, again, name="m")]
        summary = summarize(again, loaded, tally_models(again, loaded, THRESHOLDS), domains=DOMAINS)
        scope = summary["models"]["m"]["scopes"]["valid"]
        assert scope["negative_fp_images"] == sums.alarms[1 + r]
        assert scope["n_negative"] == negatives[1 + r]
        blocks = {"classification": scope["classification"], **scope["localisation"]}
        for task in task_names(tally):
            found = task_figures(*sums.tasks[task], in_gold[task], pools)[:, :, 1 + r]
            places = [
                " ".join(p).replace("per_class", "class").replace("domain_micro", "domain")
                for p in pools.names
            ]
            expected = figures_of(blocks[task])
            for at, place in enumerate([*places, "macro", "macro_gold"]):
                for k, key in enumerate(("precision", "recall", "f2")):
                    value = expected.get(f"{place} {key}")
                    got = found[k, at]
                    assert (value is None and np.isnan(got)) or got == pytest.approx(value, abs=1e-12), place


def test_column_zero_is_the_data_itself() -> None:
    """The estimates that intervals compare with are the summary's figures."""
    gold, models, tallies = study()
    summary = summarize(gold, models, tallies, domains=DOMAINS)
    people = population(models[0].valid, np.arange(len(gold)))
    matrices = [gold_matrix(tallies[0], people, gold.n_boxes == 0), model_matrix(tallies[0], people)]
    first, second = products(matrices, resampling_counts, (0, 0), people.n, 3)
    in_gold, _ = unfold_gold(first, tallies[0])
    found = task_figures(
        *unfold_model(second, tallies[0]).tasks["0.3"],
        in_gold["0.3"],
        make_pools(tallies[0].classes, DOMAINS, 2),
    )
    block = summary["models"]["m"]["scopes"]["valid"]["localisation"]["0.3"]
    assert found[2, -3, 0] == pytest.approx(block["micro"]["f2"], abs=1e-15)
    assert found[1, -2, 0] == pytest.approx(block["macro"]["recall"], abs=1e-15)


@pytest.mark.parametrize("task", ["classification", "0.5"])
def test_leaving_one_image_out_is_what_recomputing_gives(task: str) -> None:
    """Sparse changes against a dense jackknife, classes that vanish included."""
    gold, models, tallies = study(2, 14)
    people = population(models[0].valid, np.arange(len(gold)))
    pools = make_pools(tallies[0].classes, DOMAINS, 2)
    found = leave_one_out(cells(tallies[0], people, task), people, pools)
    one = cells(tallies[0], people, task)
    n_classes = len(tallies[0].classes)
    dense = []
    for values in (one.matched, one.predicted, one.gold):
        table = np.zeros((n_classes, people.n))
        np.add.at(table, (one.label, one.image), values)
        dense.append(
            np.concatenate(
                [table.sum(axis=1, keepdims=True), table.sum(axis=1, keepdims=True) - table], axis=1
            )
        )
    figures = task_figures(*dense, pools).reshape(-1, people.n + 1)
    expected = moments(figures[:, :1] - figures[:, 1:])
    kept = ~np.isnan(figures[:, 0])
    for name in ("n", "first", "second", "third"):
        got = getattr(found.moments, name)[kept]
        assert got == pytest.approx(getattr(expected, name)[kept], abs=1e-10), name
    headline = figures.reshape(3, -1, people.n + 1)[2][[len(pools.names) - 1, len(pools.names)]]
    assert found.headline == pytest.approx(headline[:, :1] - headline[:, 1:], abs=1e-12, nan_ok=True)


def test_same_seed_same_bytes_whatever_the_order_and_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, boxes and models in another order, and weights made in smaller pieces, change no byte."""
    import random

    gold_data, models = generated(8, 40)
    gold = load_gold(gold_data)
    loaded = [load_predictions(data, gold, name=m) for m, data in models.items()]
    first = bootstrap(gold, loaded, tally_models(gold, loaded), domains=DOMAINS, replicates=60, seed=3)
    chance = random.Random(0)
    gold = load_gold(shuffled(gold_data, chance))
    loaded = [load_predictions(shuffled(data, chance), gold, name=m) for m, data in reversed(models.items())]
    monkeypatch.setattr(replicates_module, "_CELLS_AT_A_TIME", 400)
    again = bootstrap(gold, loaded, tally_models(gold, loaded), domains=DOMAINS, replicates=60, seed=3)
    assert json.dumps(again, sort_keys=True) == json.dumps(first, sort_keys=True)
    other = bootstrap(gold, loaded, tally_models(gold, loaded), domains=DOMAINS, replicates=60, seed=4)
    assert json.dumps(other, sort_keys=True) != json.dumps(first, sort_keys=True)


def test_a_model_against_its_copy_differs_by_nothing() -> None:
    """Difference 0, p 1, and no interval, for nothing varied."""
    gold_data, models = generated(6, 30)
    gold = load_gold(gold_data)
    loaded = [load_predictions(models["m"], gold, name=name) for name in ("one", "two")]
    found = bootstrap(gold, loaded, tally_models(gold, loaded), replicates=50)["paired"]
    assert {(row["first"], row["second"]) for row in found} == {("one", "two")}
    for row in found:
        assert (row["difference"], row["p"], row["p_holm"]) == (0, 1, 1)
        assert (row["ci95"], row["ci_method"]) == (None, "constant")


def test_a_clearly_better_model_is_told_apart() -> None:
    """A perfect answer against one that misses every other box, in either order of names."""
    gold = {f"i{k}": [("k", [0, 0, 5, 5]), ("q", [9, 9, 15, 15])] for k in range(40)}
    half = {name: boxes if k % 2 else [] for k, (name, boxes) in enumerate(gold.items())}
    read = load_gold(gold_bytes(gold))
    loaded = [
        load_predictions(answer_bytes(a), read, name=n)
        for n, a in (("z", gold), ("half", half))  # type: ignore[arg-type]
    ]
    rows = bootstrap(read, loaded, tally_models(read, loaded, [0.5]), replicates=400)["paired"]
    row = next(row for row in rows if row["task"] == "localisation 0.5" and row["figure"] == "micro F2")
    assert (row["first"], row["second"]) == ("half", "z")
    assert row["difference"] == pytest.approx(5 * 40 / (40 + 4 * 80) - 1)
    assert row["ci95"][1] < 0
    assert row["p"] == pytest.approx(1 / 401)


def leaf(estimate: float, values: list[float], units: int) -> dict[str, Any]:
    found = intervals(np.array([estimate]), np.array([values]), moments(np.zeros((1, 5))))
    return interval_leaf(estimate, found, 0, units)


def test_an_interval_is_never_of_width_zero() -> None:
    """Wilson's where the figure is 0 or 1 and images contribute; else none, and the rule is named."""
    perfect = leaf(1.0, [1.0] * 9, 10)
    assert perfect["ci_method"] == "wilson"
    assert perfect["ci95"] == pytest.approx([1 / (1 + 1.959964**2 / 10), 1.0], abs=1e-6)
    assert (perfect["percentile"], perfect["bca"]) == (None, None)
    assert leaf(0.0, [0.0] * 9, 10)["ci95"][0] == 0
    assert leaf(0.5, [0.5] * 9, 10) == {
        "ci95": None,
        "ci_method": "constant",
        "percentile": None,
        "bca": None,
        "undefined_replicates": 0,
    }
    assert leaf(1.0, [1.0] * 9, 0)["ci_method"] == "constant"
    undefined = leaf(float("nan"), [float("nan")] * 9, 0)
    assert (undefined["ci95"], undefined["ci_method"], undefined["undefined_replicates"]) == (
        None,
        "undefined",
        9,
    )


def test_a_mean_that_only_rounding_moves_has_no_interval() -> None:
    """Seven classes, a tenth each: the mean is a tenth in every replicate, whatever the sums round to."""
    gold = {f"i{k:02d}": [("abcdefg"[k % 7], [0, 0, 10, 10])] for k in range(21)}
    answers = {
        name: [(boxes[0][0], [50 * k, 0, 50 * k + 10, 10]) for k in range(10)] for name, boxes in gold.items()
    }
    read = load_gold(gold_bytes(gold))
    loaded = [load_predictions(answer_bytes(answers), read, name=name) for name in "mn"]  # type: ignore[arg-type]
    tallies = tally_models(read, loaded, [0.5])
    found = bootstrap(read, loaded, tallies, replicates=300, beta="0.3")
    for place in ("micro", "macro", "macro_gold"):
        block = found["models"]["m"]["valid"]["localisation"]["0.5"][place]
        assert {block[key]["ci_method"] for key in ("precision", "f0.3")} == {"constant"}
        assert block["recall"]["ci_method"] == ("wilson" if place == "micro" else "constant")
    assert all((row["difference"], row["ci95"], row["p"]) == (0.0, None, 1.0) for row in found["paired"])


@pytest.mark.parametrize("seed", range(4))
def test_no_interval_misses_its_figure_by_rounding(seed: int) -> None:
    """A limit within a billionth of the published figure is that figure."""
    gold, models, tallies = study(seed, 12)
    summary = summarize(gold, models, tallies, domains=DOMAINS, beta="0.7")
    found = bootstrap(gold, models, tallies, domains=DOMAINS, replicates=120, seed=seed, beta="0.7")
    seen = 0
    for name, scopes in found["models"].items():
        for scope, tree in scopes.items():
            figures = summary["models"][name]["scopes"][scope]
            for task in ("classification", *tree["localisation"]):
                is_iou = task != "classification"
                leaves = tree["localisation"][task] if is_iou else tree[task]
                numbers = figures["localisation"][task] if is_iou else figures[task]
                for place in ("micro", "macro", "macro_gold"):
                    for key, one in leaves[place].items():
                        for limit in one["ci95"] or []:
                            assert limit == numbers[place][key] or abs(limit - numbers[place][key]) > 1e-12
                            seen += 1
    assert seen > 50


def test_undefined_replicates_are_counted() -> None:
    """A class on one of six images is missing from about a third of the replicates."""
    gold = {f"i{k}": [("k", [0, 0, 5, 5])] for k in range(5)} | {"z": [("rare", [0, 0, 5, 5])]}
    read = load_gold(gold_bytes(gold))
    loaded = [load_predictions(answer_bytes(dict(gold)), read, name="m")]
    tree = bootstrap(read, loaded, tally_models(read, loaded, [0.5]), replicates=600)["models"]["m"]["valid"]
    rare = tree["localisation"]["0.5"]["per_class"]["rare"]["f2"]
    assert 0.25 < rare["undefined_replicates"] / 600 < 0.42
    assert rare["ci_method"] == "wilson"


@pytest.mark.parametrize(("replicates", "seed"), [(1, 0), (-5, 0), (10, -1)])
def test_settings_that_make_no_sense_are_refused(replicates: int, seed: int) -> None:
    """Two replicates at least, seeds from 0."""
    gold, models, tallies = study(0, 5)
    with pytest.raises(SpecError) as caught:
        bootstrap(gold, models, tallies, replicates=replicates, seed=seed)
    assert caught.value.slug == "bad_bootstrap"


def test_models_without_a_common_image_have_no_pairs() -> None:
    """The scope common is empty and has no tree."""
    gold = {"a": [("k", [0, 0, 5, 5])], "b": [("k", [0, 0, 5, 5])]}
    read = load_gold(gold_bytes(gold))
    loaded = [load_predictions(answer_bytes({i: gold[i]}), read, name=i) for i in gold]  # type: ignore[arg-type]
    found = bootstrap(read, loaded, tally_models(read, loaded), replicates=20)
    assert found["paired"] == []
    assert found["models"]["a"]["common"] == {}
    assert found["models"]["a"]["valid"]["localisation"]["0.5"]["micro"]["f2"]["ci_method"] == "wilson"


def test_intervals_cover_about_as_often_as_they_say() -> None:
    """Recall of 0.7 from 60 images, 120 studies: 95% intervals cover in 88% to 100% of them."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(120):
        gold = {f"i{k}": [("k", [0, 0, 5, 5])] for k in range(60)}
        answers = {name: boxes if rng.random() < 0.7 else [] for name, boxes in gold.items()}
        read = load_gold(gold_bytes(gold))
        loaded = [load_predictions(answer_bytes(answers), read, name="m")]  # type: ignore[arg-type]
        tree = bootstrap(read, loaded, tally_models(read, loaded, [0.5]), replicates=200)["models"]["m"][
            "valid"
        ]
        low, high = tree["localisation"]["0.5"]["micro"]["recall"]["ci95"]
        covered += low <= 0.7 <= high
    assert 0.88 * 120 <= covered <= 120


def test_nothing_anywhere_has_no_figures_and_no_crash() -> None:
    """Two negative images, a model that says nothing: null everywhere, an interval for the false alarms."""
    read = load_gold(gold_bytes({"a": [], "b": []}))
    loaded = [load_predictions(answer_bytes({"a": [], "b": []}), read, name=name) for name in "mn"]
    found = bootstrap(read, loaded, tally_models(read, loaded), domains=DOMAINS, replicates=20)
    tree = found["models"]["m"]["valid"]
    assert tree["classification"]["micro"]["f2"]["ci_method"] == "undefined"
    assert tree["negative_fpr"]["ci_method"] == "wilson"
    assert all((row["difference"], row["p"], row["p_holm"]) == (None, None, None) for row in found["paired"])
