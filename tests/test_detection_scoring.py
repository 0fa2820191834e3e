"""The scorer against a slow one that follows the rules box by box, on generated files."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beholder.detection.read import load_gold, load_predictions
from beholder.detection.scoring import score
from beholder.errors import SpecError

CLASSES = ["a", "b", "c", "é", "e\u0301"]
DOMAINS = {"a": "x", "b": "x", "c": "y"}


# --- the slow scorer: no arrays, no shortcuts ---------------------------------------------------


def slow_iou(g: list[float], p: list[float]) -> float:
    if not (g[2] > g[0] and g[3] > g[1] and p[2] > p[0] and p[3] > p[1]):
        return 0.0
    width, height = min(g[2], p[2]) - max(g[0], p[0]), min(g[3], p[3]) - max(g[1], p[1])
    if width <= 0 or height <= 0:
        return 0.0
    inter = width * height
    return inter / (((g[2] - g[0]) * (g[3] - g[1]) + (p[2] - p[0]) * (p[3] - p[1])) - inter)


def slow_maximum(reach: list[set[int]]) -> int:
    """Largest matching by trying everything."""
    if not reach:
        return 0
    best = slow_maximum(reach[1:])
    for partner in reach[0]:
        best = max(best, 1 + slow_maximum([others - {partner} for others in reach[1:]]))
    return best


def slow_ratios(tp: int, fp: int, fn: int) -> dict[str, Any]:
    if tp + fp + fn == 0:
        return {"tp": 0, "fp": 0, "fn": 0, "precision": None, "recall": None, "f2": None}
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "precision": tp / (tp + fp) if tp + fp else 0.0,
        "recall": tp / (tp + fn) if tp + fn else 0.0,
        "f2": 5 * tp / (5 * tp + fp + 4 * fn),
    }


def slow_block(counts: dict[str, list[int]]) -> dict[str, Any]:
    per_class = {name: slow_ratios(*c) for name, c in counts.items() if sum(c)}
    domains = {name: [0, 0, 0] for name in DOMAINS.values()}
    for name, c in counts.items():
        if sum(c):
            domain = domains.setdefault(DOMAINS.get(name, "__unmapped__"), [0, 0, 0])
            for k in range(3):
                domain[k] += c[k]

    def mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
        n = len(rows)
        keys = ("precision", "recall", "f2")
        return {"n_classes": n} | {k: math.fsum(r[k] for r in rows) / n if n else None for k in keys}

    return {
        "per_class": per_class,
        "micro": slow_ratios(*(sum(c[k] for c in counts.values()) for k in range(3))),
        "macro": mean(list(per_class.values())),
        "macro_gold": mean([row for row in per_class.values() if row["tp"] + row["fn"]]),
        "domain_micro": {name: slow_ratios(*c) for name, c in domains.items()},
    }


def slow_scope(
    gold: dict[str, list[Any]], answers: dict[str, list[Any]], images: list[str], thresholds: list[float]
) -> dict[str, Any]:
    names = sorted({c for image in images for c, _ in gold[image] + answers[image]})
    presence = {name: [0, 0, 0] for name in names}
    boxes = {t: {name: [0, 0, 0] for name in names} for t in thresholds}
    for image in images:
        for name in names:
            g = [box for c, box in gold[image] if c == name]
            p = [box for c, box in answers[image] if c == name]
            presence[name][0] += bool(g) and bool(p)
            presence[name][1] += bool(p) and not g
            presence[name][2] += bool(g) and not p
            for t in thresholds:
                reach = [{j for j, b in enumerate(g) if slow_iou(b, a) >= t} for a in p]
                tp = slow_maximum(reach)
                for k, n in enumerate((tp, len(p) - tp, len(g) - tp)):
                    boxes[t][name][k] += n
    negative = [image for image in images if not gold[image]]
    alarms = sum(bool(answers[image]) for image in negative)
    return {
        "n_images": len(images),
        "n_negative": len(negative),
        "negative_fp_images": alarms,
        "negative_fpr": alarms / len(negative) if negative else None,
        "classification": slow_block(presence),
        "localisation": {str(t): slow_block(boxes[t]) for t in thresholds},
    }


# --- files of generated boxes -------------------------------------------------------------------

corner = st.integers(0, 6).map(float)
box = st.tuples(st.sampled_from(CLASSES), st.lists(corner, min_size=4, max_size=4))
boxes_of_image = st.lists(box, max_size=5)


def gold_bytes(gold: dict[str, list[Any]]) -> bytes:
    rows = [
        {"image_id": name, "width": 8, "height": 8, "boxes": [{"class": c, "bbox": b} for c, b in boxes]}
        for name, boxes in gold.items()
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def answer_bytes(answers: dict[str, list[Any] | None]) -> bytes:
    rows = [
        {"image_id": name, "detections": boxes and [{"class": c, "bbox": b} for c, b in boxes]}
        for name, boxes in answers.items()
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(boxes_of_image, st.none() | boxes_of_image, st.none() | boxes_of_image),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=3, unique=True),
)
def test_generated_files_score_as_the_slow_scorer_says(images: list[Any], thresholds: list[float]) -> None:
    """All counts and ratios of both scopes are equal, bit for bit, degenerate and inverted boxes included."""
    gold = {f"i{n}": found for n, (found, _, _) in enumerate(images)}
    models = {m: {f"i{n}": row[1 + k] for n, row in enumerate(images)} for k, m in enumerate("mn")}
    read = load_gold(gold_bytes(gold))
    loaded = [load_predictions(answer_bytes(answers), read, name=m) for m, answers in models.items()]
    result = score(read, loaded, thresholds=thresholds, domains=DOMAINS)
    valid = {m: [i for i in gold if answers[i] is not None] for m, answers in models.items()}
    common = [i for i in gold if all(i in valid[m] for m in models)]
    assert result["n_common"] == len(common)
    for m, answers in models.items():
        for scope, inside in (("valid", valid[m]), ("common", common)):
            expected = slow_scope(gold, answers, inside, thresholds)  # type: ignore[arg-type]
            found = result["models"][m]["scopes"][scope]
            assert {key: found[key] for key in expected} == expected


def shuffled(data: bytes, chance: random.Random) -> bytes:
    rows = [json.loads(line) for line in data.splitlines()]
    chance.shuffle(rows)
    for row in rows:
        chance.shuffle(row.get("boxes") or row.get("detections") or [])
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def without_digests(result: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(result, sort_keys=True)
    for digest in [result["gold_sha256"], *(m["sha256"] for m in result["models"].values())]:
        text = text.replace(digest, "")
    found: dict[str, Any] = json.loads(text)
    return found


def generated(seed: int, n: int = 60, *, side: int = 40) -> tuple[bytes, dict[str, bytes]]:
    chance = random.Random(seed)

    def some(limit: int) -> list[Any]:
        found = []
        for _ in range(chance.randint(0, limit)):
            x, y = chance.randint(0, side), chance.randint(0, side)
            found.append(
                (chance.choice(CLASSES), [x, y, x + chance.randint(1, 30), y + chance.randint(1, 30)])
            )
        return found

    gold = {f"i{k:03d}": some(6) for k in range(n)}
    models = {}
    for name in "mn":
        answers: dict[str, list[Any] | None] = {}
        for image, boxes in gold.items():
            near = [(c, [v + chance.randint(-3, 3) for v in b]) for c, b in boxes if chance.random() < 0.8]
            answers[image] = None if chance.random() < 0.05 else near + some(2)
        models[name] = answer_bytes(answers)
    return gold_bytes(gold), models


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_boxes_and_files_does_not_matter(seed: int) -> None:
    """Everything but the files' digests is the same."""
    gold_data, models = generated(seed)
    chance = random.Random(seed)
    gold = load_gold(gold_data)
    first = score(gold, [load_predictions(data, gold, name=m) for m, data in models.items()])
    gold = load_gold(shuffled(gold_data, chance))
    again = [load_predictions(shuffled(data, chance), gold, name=m) for m, data in reversed(models.items())]
    assert without_digests(score(gold, again)) == without_digests(first)


def test_a_lower_threshold_never_matches_fewer() -> None:
    """And the counts of one threshold do not depend on which others are asked for."""
    gold_data, models = generated(11)
    gold = load_gold(gold_data)
    model = load_predictions(models["m"], gold, name="m")
    together = score(gold, [model], thresholds=[0.9, 0.2, 0.5])["models"]["m"]["scopes"]["valid"][
        "localisation"
    ]
    tps = [together[key]["micro"]["tp"] for key in ("0.2", "0.5", "0.9")]
    assert tps == sorted(tps, reverse=True)
    assert tps[0] > tps[2]
    for threshold in (0.9, 0.2, 0.5):
        alone = score(gold, [model], thresholds=[threshold])["models"]["m"]["scopes"]["valid"]
        assert alone["localisation"] == {str(threshold): together[str(threshold)]}


def test_domains_and_classes_add_up_to_the_micro_counts() -> None:
    """In every scope and task."""
    gold_data, models = generated(3)
    gold = load_gold(gold_data)
    loaded = [load_predictions(data, gold, name=m) for m, data in models.items()]
    for result in score(gold, loaded, domains=DOMAINS)["models"].values():
        for scope in result["scopes"].values():
            for block in [scope["classification"], *scope["localisation"].values()]:
                for count in ("tp", "fp", "fn"):
                    for part in ("per_class", "domain_micro"):
                        assert sum(one[count] for one in block[part].values()) == block["micro"][count]


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.0000001, math.nan, math.inf])
def test_what_is_no_threshold_is_refused(threshold: float) -> None:
    """Above 0 and at most 1."""
    gold = load_gold(gold_bytes({"a": []}))
    with pytest.raises(SpecError) as caught:
        score(gold, [], thresholds=[threshold])
    assert caught.value.slug == "bad_iou_threshold"


@pytest.mark.parametrize(("beta", "key"), [(1, "f1"), ("0.5", "f0.5"), (2, "f2")])
def test_beta_names_and_weighs_the_f_score(beta: Any, key: str) -> None:
    """TP 1, FP 1, FN 3: F_b = (1 + b²) / ((1 + b²) + 3 b² + 1), one division of integers."""
    gold = load_gold(gold_bytes({"a": [("k", [0, 0, 1, 1])] + [("k", [k, 4, k + 1, 5]) for k in (1, 3, 5)]}))
    model = load_predictions(answer_bytes({"a": [("k", [0, 0, 1, 1]), ("k", [0, 7, 1, 8])]}), gold, name="m")
    micro = score(gold, [model], beta=beta)["models"]["m"]["scopes"]["valid"]["localisation"]["0.5"]["micro"]
    expected = {"f1": 2 / 6, "f0.5": 5 / 12, "f2": 5 / 18}[key]
    assert (micro["tp"], micro["fp"], micro["fn"], micro[key]) == (1, 1, 3, expected)


def test_pairs_at_a_threshold_are_counted() -> None:
    """Exactly one half matches and is reported as near; a clear match is not."""
    gold = load_gold(gold_bytes({"a": [("k", [0, 0, 4, 2]), ("k", [0, 4, 4, 6])]}))
    model = load_predictions(answer_bytes({"a": [("k", [0, 0, 4, 1]), ("k", [0, 4, 4, 6])]}), gold, name="m")
    result = score(gold, [model], thresholds=[0.5])["models"]["m"]
    assert result["diagnostics"]["near_threshold"] == {"0.5": 1}
    assert result["scopes"]["valid"]["localisation"]["0.5"]["micro"]["tp"] == 2


def test_two_models_of_one_name_are_refused() -> None:
    """The summary could not tell them apart."""
    gold = load_gold(gold_bytes({"a": []}))
    model = load_predictions(b"", gold, name="m")
    with pytest.raises(SpecError) as caught:
        score(gold, [model, model])
    assert caught.value.slug == "duplicate_model"


def test_the_slow_scorer_finds_the_match_that_greedy_strands() -> None:
    """P1 fits both gold boxes and likes the first better, P2 fits the first only: two matches, not one."""
    gold = [[0, 0, 100, 10], [40, 0, 140, 10]]
    predicted = [[19, 0, 119, 10], [-30, 0, 70, 10]]
    reach = [{j for j, g in enumerate(gold) if slow_iou(g, p) >= 0.5} for p in predicted]
    assert reach == [{0, 1}, {0}]
    assert slow_iou(gold[0], predicted[0]) > slow_iou(gold[1], predicted[0])
    assert slow_maximum(reach) == 2
