"""Equal to pycocotools where greedy and maximum cannot differ, and the smallest case where they do."""

from __future__ import annotations

import contextlib
import io
import json
import random
from typing import Any

import pytest

from beholder.detection.read import load_gold, load_predictions
from beholder.detection.scoring import score

coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is a peer, not a dependency")
cocoeval = pytest.importorskip("pycocotools.cocoeval", reason="pycocotools is a peer, not a dependency")

THRESHOLDS = [0.3, 0.4, 0.5, 0.75]


def coco_tp(images: list[tuple[list[Any], list[Any]]], thresholds: list[float]) -> list[int]:
    """True positives of pycocotools: one area, 100 detections, all scores equal."""
    classes = sorted({c for pair in images for side in pair for c, _ in side})
    gold: dict[str, Any] = {
        "images": [{"id": k, "width": 200, "height": 200} for k in range(len(images))],
        "categories": [{"id": k, "name": name} for k, name in enumerate(classes)],
        "annotations": [],
    }
    results = []
    for k, (boxes, answers) in enumerate(images):
        for label, (x1, y1, x2, y2) in boxes:
            box = [x1, y1, x2 - x1, y2 - y1]
            gold["annotations"].append(
                {
                    "id": len(gold["annotations"]) + 1,
                    "image_id": k,
                    "category_id": classes.index(label),
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": 0,
                }
            )
        for label, (x1, y1, x2, y2) in answers:
            box = [x1, y1, x2 - x1, y2 - y1]
            results.append({"image_id": k, "category_id": classes.index(label), "bbox": box, "score": 1.0})
    with contextlib.redirect_stdout(io.StringIO()):
        api = coco.COCO()
        api.dataset = gold
        api.createIndex()
        evaluation = cocoeval.COCOeval(api, api.loadRes(results), "bbox")
        evaluation.params.iouThrs = thresholds
        evaluation.params.maxDets = [100]
        evaluation.params.areaRng = [[0, 1e10]]
        evaluation.params.areaRngLbl = ["all"]
        evaluation.evaluate()
    return [
        sum(int((one["dtMatches"][t] > 0).sum()) for one in evaluation.evalImgs if one)
        for t in range(len(thresholds))
    ]


def our_tp(images: list[tuple[list[Any], list[Any]]], thresholds: list[float]) -> list[int]:
    def listed(boxes: list[Any]) -> list[Any]:
        return [{"class": c, "bbox": b} for c, b in boxes]

    gold = [
        {"image_id": k, "width": 200, "height": 200, "boxes": listed(b)} for k, (b, _) in enumerate(images)
    ]
    answers = [{"image_id": k, "detections": listed(b)} for k, (_, b) in enumerate(images)]
    read = load_gold("\n".join(map(json.dumps, gold)).encode())
    model = load_predictions("\n".join(map(json.dumps, answers)).encode(), read, name="m")
    scope = score(read, [model], thresholds=thresholds)["models"]["m"]["scopes"]["valid"]["localisation"]
    return [scope[str(t)]["micro"]["tp"] for t in thresholds]


@pytest.mark.parametrize("seed", range(5))
def test_true_positives_are_equal_where_no_box_has_two_partners(seed: int) -> None:
    """Gold boxes far apart, so that every prediction reaches at most one."""
    chance = random.Random(seed)
    images = []
    for _ in range(40):
        cells = chance.sample([(x, y) for x in range(0, 200, 50) for y in range(0, 200, 50)], 8)
        boxes = [
            (chance.choice("abc"), [x, y, x + chance.randint(15, 40), y + chance.randint(15, 40)])
            for x, y in cells
        ]
        answers = [
            (c, [v + chance.randint(-6, 6) for v in b])
            for c, b in boxes
            for _ in range(chance.choice([0, 1, 1, 2]))
        ]
        images.append((boxes, [(c, b) for c, b in answers if b[2] > b[0] and b[3] > b[1]]))
    assert our_tp(images, THRESHOLDS) == coco_tp(images, THRESHOLDS)


def test_the_smallest_case_in_which_they_differ() -> None:
    """Greedy takes the better pair and strands the other prediction: 1 against 2."""
    gold = [("k", [0, 0, 100, 10]), ("k", [40, 0, 140, 10])]
    answers = [("k", [19, 0, 119, 10]), ("k", [-30, 0, 70, 10])]
    assert coco_tp([(gold, answers)], [0.5]) == [1]
    assert our_tp([(gold, answers)], [0.5]) == [2]
