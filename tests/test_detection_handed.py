"""The scorer against answers computed by an independent slow one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from beholder.detection.read import load_gold, load_predictions
from beholder.detection.scoring import score
from beholder.errors import SpecError


def scored(case: dict[str, Any]) -> dict[str, Any]:
    try:
        gold = load_gold(case["gold_jsonl"].encode("utf-8", "surrogatepass"))
        models = [
            load_predictions(
                text.encode("utf-8", "surrogatepass"),
                gold,
                name=name,
                box_format=case["box_formats"].get(name, "xyxy"),
            )
            for name, text in case["predictions_jsonl"].items()
        ]
        return score(gold, models, thresholds=case["iou"], domains=case["class_to_domain"])
    except SpecError as error:
        return {"error": error.slug}


def differences(expected: Any, found: Any, where: str = "") -> list[str]:
    """Everything in `expected` that `found` has not, bit for bit; tables by class must be whole."""
    if not isinstance(expected, dict):
        same = expected == found and type(expected) is type(found)
        return [] if same else [f"{where}: {expected!r} is {found!r}"]
    keys = set(expected)
    if where.endswith(("per_class", "domain_micro", "localisation", "models")):
        keys |= set(found)
    return [
        line
        for key in sorted(keys)
        for line in differences(expected.get(key, "nothing"), found.get(key, "nothing"), f"{where}/{key}")
    ]


def test_the_handed_cases_come_out_bit_for_bit(shared: Path) -> None:
    """Every count and every ratio of every case is equal, not merely near."""
    files = sorted((shared / "cases/detection").glob("h*.json"))
    assert len(files) >= 60
    wrong = {}
    for file in files:
        case = json.loads(file.read_text(encoding="utf-8"))
        if found := differences(case["expected"], scored(case)):
            wrong[file.name] = (case["kind"], found[:5])
    assert wrong == {}


def test_the_cases_by_hand_come_out_right(shared: Path) -> None:
    """Their numbers have six decimals; their boxes are lists and their malformed answers null."""
    for case in json.loads((shared / "cases/detection/small-boxes.json").read_text(encoding="utf-8")):
        gold_rows, rows = [], []
        for image in case["images"]:
            size = {"image_id": image["id"], "width": 100, "height": 100}
            gold_rows.append(size | {"boxes": [{"class": c, "bbox": b} for c, b in image["gold"]]})
            found = image["pred"] and [{"class": c, "bbox": b} for c, b in image["pred"]]
            rows.append({"image_id": image["id"], "detections": found})
        gold = load_gold("\n".join(map(json.dumps, gold_rows)).encode())
        model = load_predictions("\n".join(map(json.dumps, rows)).encode(), gold, name="m")
        result = score(gold, [model], thresholds=[case["iou_threshold"]])["models"]["m"]
        scope = result["scopes"]["valid"]
        flat = {
            "classification": scope["classification"]["micro"],
            "localisation": scope["localisation"][str(case["iou_threshold"])]["micro"],
            "negative_image_fpr": scope["negative_fpr"],
            "n_negative": scope["n_negative"],
            **result["coverage"],
        }
        for key, expected in case["expect"].items():
            numbers = expected if isinstance(expected, dict) else {key: expected}
            for name, number in numbers.items():
                got = flat[key][name] if isinstance(expected, dict) else flat[key]
                assert got == number or abs(got - number) < 1e-6, (case["id"], key, name)
