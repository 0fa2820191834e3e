"""Semantic relaxation: the second score, labelled as such."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beholder.detection.read import load_gold, load_predictions
from beholder.detection.relax import load_similarity, relaxed_scores
from beholder.detection.scoring import score
from beholder.errors import SpecError
from tests.test_detection_scoring import CLASSES, answer_bytes, generated, gold_bytes, slow_iou


def matrix(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "similarity.csv"
    file.write_text(text, encoding="utf-8")
    return load_similarity(file)


def relaxed(gold: dict[str, Any], answers: dict[str, Any], similarity: Any, threshold: float = 0.5) -> Any:
    read = load_gold(gold_bytes(gold))
    model = load_predictions(answer_bytes(answers), read, name="m")
    return relaxed_scores(read, [model], similarity, thresholds=[threshold])


def test_a_near_class_counts_for_its_weight(tmp_path: Path) -> None:
    """Two gold boxes; one found with its class, one as a class that is half alike: soft TP 1.5."""
    similarity = matrix(tmp_path, ",crack,pothole\ncrack,1,0.5\npothole,0,1\n")
    gold = {"i": [("crack", [0, 0, 10, 10]), ("crack", [20, 0, 30, 10])]}
    found = relaxed(gold, {"i": [("crack", [0, 0, 10, 10]), ("pothole", [20, 0, 30, 10])]}, similarity)
    one = found["models"]["m"]["valid"]["localisation"]["0.5"]
    assert (one["soft_tp"], one["predicted"], one["gold"]) == (1.5, 2, 2)
    assert (one["precision"], one["recall"], one["f2"]) == (0.75, 0.75, 0.75)
    assert "not the exact score" in found["label"]
    # the other way round the matrix says 0
    back = relaxed({"i": [("pothole", [0, 0, 10, 10])]}, {"i": [("crack", [0, 0, 10, 10])]}, similarity)
    assert back["models"]["m"]["valid"]["localisation"]["0.5"]["soft_tp"] == 0
    # sets of classes: crack is matched to crack, and pothole finds no other gold class
    assert found["models"]["m"]["valid"]["classification"]["soft_tp"] == 1


def test_the_heaviest_matching_is_taken_not_the_nearest_pair(tmp_path: Path) -> None:
    """0.9 + 0 against 0.8 + 0.8: greedy by weight would take the first."""
    similarity = matrix(tmp_path, ",p,q\na,0.9,0.8\nb,0.8,0\n")
    same = [0, 0, 10, 10]
    found = relaxed({"i": [("a", same), ("b", same)]}, {"i": [("p", same), ("q", same)]}, similarity)
    assert found["models"]["m"]["valid"]["localisation"]["0.5"]["soft_tp"] == pytest.approx(1.6)


def test_without_near_classes_the_relaxed_counts_are_the_exact_ones(tmp_path: Path) -> None:
    """The identity matrix changes nothing, in both scopes."""
    similarity = matrix(tmp_path, ",a\na,1\n")
    gold_data, models = generated(5)
    gold = load_gold(gold_data)
    loaded = [load_predictions(data, gold, name=m) for m, data in models.items()]
    exact = score(gold, loaded)["models"]
    for name, scopes in relaxed_scores(gold, loaded, similarity, thresholds=[0.5, 0.3])["models"].items():
        for scope, figures in scopes.items():
            expected = exact[name]["scopes"][scope]
            assert figures["classification"]["soft_tp"] == expected["classification"]["micro"]["tp"]
            for key, one in figures["localisation"].items():
                micro = expected["localisation"][key]["micro"]
                assert (one["soft_tp"], one["predicted"]) == (micro["tp"], micro["tp"] + micro["fp"])
                assert one["f2"] == pytest.approx(micro["f2"], abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_soft_counts_equal_trying_every_matching(seed: int, tmp_path: Path) -> None:
    """Images of up to four boxes a side, random weights."""
    rng = np.random.default_rng(seed)
    weight = {(a, b): 1.0 if a == b else round(float(rng.random()), 2) for a in CLASSES for b in CLASSES}
    text = "," + ",".join(CLASSES) + "\n"
    text += "".join(f"{a}," + ",".join(str(weight[a, b]) for b in CLASSES) + "\n" for a in CLASSES)
    similarity = matrix(tmp_path, text)

    def some() -> list[Any]:
        boxes = []
        for _ in range(int(rng.integers(0, 5))):
            x, y = (int(v) for v in rng.integers(0, 4, 2))
            boxes.append((CLASSES[rng.integers(0, 5)], [x, y, x + 4, y + 4]))
        return boxes

    gold, answers = ({f"i{k}": some() for k in range(12)} for _ in range(2))
    total = 0.0
    for image, boxes in gold.items():
        other = answers[image]
        table = [[weight[g, p] if slow_iou(b, q) >= 0.3 else 0.0 for p, q in other] for g, b in boxes]
        short, long = (
            (table, len(other)) if len(table) <= len(other) else (list(zip(*table, strict=True)), len(table))
        )
        total += max(
            (
                sum(row[at] for row, at in zip(short, order, strict=False))
                for order in permutations(range(long), len(short))
            ),
            default=0,
        )
    found = relaxed(gold, answers, similarity, 0.3)["models"]["m"]["valid"]["localisation"]["0.3"]
    assert found["soft_tp"] == pytest.approx(total)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",a\na,0.5\n",
        ",a,b\na,1,2\n",
        ",a,b\na,1,x\n",
        ",a,b\na,1\n",
        ",a,a\na,1,1\n",
        ",a\na,1\na,1\n",
        ",a,b\na,1,nan\n",
    ],
)
def test_a_matrix_that_is_not_right_is_refused(text: str, tmp_path: Path) -> None:
    """Diagonal 1, values from 0 to 1, every row whole, every class once."""
    with pytest.raises(SpecError) as caught:
        matrix(tmp_path, text)
    assert caught.value.slug == "bad_similarity"
