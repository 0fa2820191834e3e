"""Agreement of annotators."""

from __future__ import annotations

import json
import random
from itertools import combinations
from typing import Any

import pytest

from beholder.detection.agree import agreement
from beholder.detection.annotations import load_annotations
from beholder.errors import SpecError

Rows = list[dict[str, Any]]


def rating(image: Any, who: Any, *boxes: tuple[str, list[float]], **more: Any) -> dict[str, Any]:
    listed = [{"class": label, "bbox": corners} for label, corners in boxes]
    return {"image_id": image, "annotator": who, "boxes": listed, **more}


def loaded(rows: Rows) -> Any:
    return load_annotations("\n".join(map(json.dumps, rows)).encode())


A, B = ("p", [0, 0, 10, 10]), ("q", [0, 0, 10, 10])


def test_a_small_study_by_hand() -> None:
    """Three images, two annotators, two classes, one missing rating.

    i1: both p, the same box. i2: x says p, y nothing. i3: only x. Units: (i1, p) 1 1, (i1, q) 0 0,
    (i2, p) 1 0, (i2, q) 0 0. n = 8, one disagreeing unit with d = 2, three ones and five zeros:
    alpha = 1 - 7 * 2 / (64 - 9 - 25) = 8 / 15.
    kappa: p_o = 3/4, p_e = (2 * 1 + 2 * 3) / 16 = 1/2, so 1/2.
    """
    rows = [
        rating("i1", "x", A),
        rating("i1", "y", A),
        rating("i2", "x", A),
        rating("i2", "y"),
        rating("i3", "x", B),
    ]
    found = agreement(loaded(rows))["overall"]
    assert found["alpha"] == pytest.approx(8 / 15)
    (pair,) = found["pairs"]
    assert (pair["first"], pair["second"], pair["n_images"]) == ("x", "y", 2)
    assert pair["kappa"] == pytest.approx(0.5)
    assert pair["class_set_f1"] == pytest.approx(2 / 3)
    assert pair["box_f1"] == {"0.5": pytest.approx(2 / 3)}
    assert (found["n_images"], found["n_images_paired"], found["n_ratings"]) == (3, 2, {"x": 3, "y": 2})
    assert found["alpha_per_class"] == {"p": pytest.approx(1 - 3 * 2 / (16 - 9 - 1)), "q": None}


def test_undefined_is_null() -> None:
    """Nobody saw anything: no alpha, no kappa, no F1, and no interval."""
    rows = [rating("i1", "x"), rating("i1", "y"), rating("i2", "x"), rating("i2", "y")]
    found = agreement(loaded(rows), classes=["p"], replicates=20)["overall"]
    (pair,) = found["pairs"]
    assert (found["alpha"], pair["kappa"], pair["class_set_f1"], pair["box_f1"]["0.5"]) == (None,) * 4
    assert found["intervals"]["alpha"]["ci_method"] == "undefined"
    assert agreement(loaded(rows))["overall"]["alpha"] is None


def test_people_who_share_no_image_are_no_pair() -> None:
    """And there is nothing to agree on."""
    found = agreement(loaded([rating("i1", "x", A), rating("i2", "y", A)]))["overall"]
    assert (found["pairs"], found["alpha"], found["mean_over_pairs"]["kappa"]) == ([], None, None)


def generated(seed: int, n: int = 40) -> Rows:
    chance = random.Random(seed)
    rows = []
    for image in range(n):
        truth = [c for c in "pqr" if chance.random() < 0.4]
        for who in "xyz":
            if chance.random() < 0.8:
                seen = [c for c in "pqr" if (c in truth) != (chance.random() < 0.15)]
                boxes = [(c, [0.0, 0.0, 10.0 + chance.randint(0, 12), 10.0]) for c in seen]
                rows.append(rating(image, who, *boxes, group="even" if image % 2 == 0 else "odd"))
    return rows


def slow(rows: Rows, classes: str) -> dict[str, Any]:
    """The figures by loops over pairs of ratings."""
    by: dict[Any, dict[str, set[str]]] = {}
    for row in rows:
        by.setdefault(row["image_id"], {})[row["annotator"]] = {b["class"] for b in row["boxes"]}
    values, observed = [], 0.0
    for people in by.values():
        if len(people) < 2:
            continue
        for c in classes:
            unit = [c in seen for seen in people.values()]
            values += unit
            observed += 2 * sum(a != b for a, b in combinations(unit, 2)) / (len(unit) - 1)
    n, ones = len(values), sum(values)
    alpha = 1 - (n - 1) * observed / (2 * ones * (n - ones))
    pairs = {}
    for a, b in combinations("xyz", 2):
        both = [(p[a], p[b]) for p in by.values() if a in p and b in p]
        units = [(c in x, c in y) for x, y in both for c in classes]
        agree = sum(x == y for x, y in units) / len(units)
        first, second = (sum(u[k] for u in units) / len(units) for k in (0, 1))
        chance = first * second + (1 - first) * (1 - second)
        shared, total = sum(len(x & y) for x, y in both), sum(len(x) + len(y) for x, y in both)
        pairs[a, b] = ((agree - chance) / (1 - chance), 2 * shared / total)
    return {"alpha": alpha, "pairs": pairs}


@pytest.mark.parametrize("seed", range(4))
def test_generated_studies_agree_with_loops_overall_and_per_group(seed: int) -> None:
    """The classes are the same in every group, those that do not occur there included."""
    rows = generated(seed)
    found = agreement(loaded(rows))
    assert set(found["groups"]) == {"even", "odd"}
    for name, scope in {"overall": found["overall"], **found["groups"]}.items():
        expected = slow([row for row in rows if name in {"overall", row["group"]}], "pqr")
        assert scope["alpha"] == pytest.approx(expected["alpha"])
        for pair in scope["pairs"]:
            kappa, f1 = expected["pairs"][pair["first"], pair["second"]]
            assert pair["kappa"] == pytest.approx(kappa)
            assert pair["class_set_f1"] == pytest.approx(f1)


def test_a_copy_agrees_fully_and_its_interval_has_a_width() -> None:
    """F1 of 1 from n images has Wilson's interval; alpha of 1 has none."""
    rows = [row for row in generated(1) if row["annotator"] == "x"]
    rows += [{**row, "annotator": "y"} for row in rows]
    found = agreement(loaded(rows), replicates=50)["overall"]
    (pair,) = found["pairs"]
    assert (found["alpha"], pair["kappa"], pair["class_set_f1"], pair["box_f1"]["0.5"]) == (1, 1, 1, 1)
    assert pair["intervals"]["box_f1"]["0.5"]["ci_method"] == "wilson"
    assert 0.5 < pair["intervals"]["box_f1"]["0.5"]["ci95"][0] < 1
    assert found["intervals"]["alpha"] == {
        "ci95": None,
        "ci_method": "constant",
        "percentile": None,
        "bca": None,
        "undefined_replicates": 0,
    }


def test_the_order_of_rows_does_not_matter_and_the_seed_does() -> None:
    """Same seed, same bytes."""
    rows = generated(3)
    first = agreement(loaded(rows), replicates=40, seed=1)
    random.Random(0).shuffle(rows)
    again = agreement(loaded(rows), replicates=40, seed=1)
    first.pop("sha256"), again.pop("sha256")
    assert json.dumps(first) == json.dumps(again)
    other = agreement(loaded(rows), replicates=40, seed=2)
    assert other["overall"]["intervals"] != first["overall"]["intervals"]
    assert other["overall"]["alpha"] == first["overall"]["alpha"]


@pytest.mark.parametrize(
    ("lines", "slug"),
    [
        ("", "annotations_empty"),
        ("{", "annotations_bad_json"),
        ('{"image_id": "a", "boxes": []}', "annotations_bad_row"),
        ('{"image_id": 1.5, "annotator": "x", "boxes": []}', "annotations_bad_row"),
        ('{"image_id": "a", "annotator": "x", "boxes": [], "group": 1.5}', "annotations_bad_row"),
        ('{"image_id": "a", "annotator": "x"}', "annotations_bad_boxes"),
        (
            '{"image_id": "a", "annotator": "x", "boxes": [{"class": "p", "bbox": [NaN, 1, 2, 3]}]}',
            "annotations_bad_boxes",
        ),
        (
            '{"image_id": 7, "annotator": "x", "boxes": []}\n'
            '{"image_id": "7", "annotator": "x", "boxes": []}',
            "annotations_duplicate",
        ),
    ],
)
def test_annotations_that_are_not_right_are_refused(lines: str, slug: str) -> None:
    """Strictly, as gold is."""
    with pytest.raises(SpecError) as caught:
        load_annotations(lines.encode())
    assert caught.value.slug == slug
