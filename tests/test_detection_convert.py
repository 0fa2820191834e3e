"""Other box files to ours and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from beholder.detection.converting import ConvertSpec, run_convert
from beholder.detection.read import load_gold, load_predictions
from beholder.detection.scoring import score
from beholder.errors import SpecError
from tests.test_detection_scoring import generated


def convert(source: Path, source_format: str, out: Path, kind: str, **more: Any) -> dict[str, Any]:
    return run_convert(ConvertSpec(source, source_format, out, kind, **more))


@pytest.mark.parametrize("middle", ["coco", "yolo", "voc"])
def test_gold_comes_back_from_every_format(middle: str, tmp_path: Path) -> None:
    """Images, sizes, classes and corners; YOLO's shares lose less than a millionth of a pixel."""
    source, there, back = tmp_path / "gold.jsonl", tmp_path / "a" / "there", tmp_path / "b" / "back.jsonl"
    source.write_bytes(generated(1)[0])
    record = convert(source, "jsonl", there, "gold", target_format=middle)
    more: dict[str, Any] = {"id_from": "file_name"} if middle == "coco" else {}
    if middle == "yolo":
        more = {"names": tmp_path / "a" / "there.names", "gold": source}
    convert(there, middle, back, "gold", **more)
    first, again = load_gold(source), load_gold(back)
    assert sorted(again.image_ids) == sorted(first.image_ids)
    assert record["boxes"] == len(first.boxes) == len(again.boxes) > 0

    def listed(gold: Any) -> list[Any]:
        rows = zip(gold.boxes.image, gold.boxes.label, gold.boxes.corners.round(6).tolist(), strict=True)
        return sorted((gold.image_ids[i], gold.boxes.classes[k], corners) for i, k, corners in rows)

    assert listed(again) == listed(first)


def test_coco_results_score_as_the_same_boxes_in_our_form(tmp_path: Path) -> None:
    """Gold and results of COCO; an image without a result is valid and empty, and that is said."""
    gold = {
        "images": [
            {"id": 5, "file_name": "x.jpg", "width": 100, "height": 80},
            {"id": 6, "file_name": "y.jpg", "width": 50, "height": 50},
        ],
        "categories": [{"id": 3, "name": "cat"}, {"id": 9, "name": "dog"}],
        "annotations": [{"id": 1, "image_id": 5, "category_id": 9, "bbox": [10, 10, 20, 30], "iscrowd": 0}],
    }
    results = [{"image_id": 5, "category_id": 9, "bbox": [10, 10, 20, 25], "score": 0.9}]
    for name, value in (("gold.json", gold), ("results.json", results)):
        (tmp_path / name).write_text(json.dumps(value))
    ours = tmp_path / "ours"
    convert(tmp_path / "gold.json", "coco", ours / "gold.jsonl", "gold")
    record = convert(
        tmp_path / "results.json", "coco", ours / "m.jsonl", "predictions", gold=tmp_path / "gold.json"
    )
    assert "valid and empty" in record["notes"][0]
    assert (record["box_format"], record["from"]) == ("xywh", "coco")
    assert json.loads((ours / "m.jsonl.convert.json").read_text()) == record
    read = load_gold(ours / "gold.jsonl")
    assert read.image_ids == ("5", "6")
    assert read.boxes.corners.tolist() == [[10, 10, 30, 40]]
    scope = score(read, [load_predictions(ours / "m.jsonl", read, name="m")])["models"]["m"]["scopes"][
        "valid"
    ]
    assert scope["localisation"]["0.5"]["micro"]["tp"] == 1
    assert scope["negative_fpr"] == 0.0


def test_raw_replies_are_read_strictly_and_the_malformed_are_written_as_invalid(tmp_path: Path) -> None:
    """One file an image, in the declared format; the next reading counts what this one saw."""
    gold = tmp_path / "gold.jsonl"
    gold.write_text(
        "".join(f'{{"image_id": "{n}", "width": 200, "height": 100, "boxes": []}}\n' for n in "abc")
    )
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "a.txt").write_text('```json\n[{"class": "k", "bbox": [100, 0, 300, 1000]}]\n```')
    (raw / "b.txt").write_text("I see nothing.")
    record = convert(raw, "raw", tmp_path / "o" / "m.jsonl", "predictions", gold=gold, box_format="gemini")
    assert (record["box_format"], record["images"], record["invalid"], record["boxes"]) == (
        "yxyx_1000",
        2,
        1,
        1,
    )
    read = load_predictions(tmp_path / "o" / "m.jsonl", load_gold(gold), name="m")
    assert read.status.tolist() == [2, 1, 0]
    assert read.boxes.corners.tolist() == [[0, 10, 200, 30]]


def test_yolo_takes_sizes_from_the_pictures(tmp_path: Path) -> None:
    """And a malformed line of a prediction makes its image invalid; of gold, refuses the folder."""
    pictures, labels = tmp_path / "images", tmp_path / "labels"
    pictures.mkdir(), labels.mkdir()
    for name in "ab":
        Image.new("RGB", (200, 100)).save(pictures / f"{name}.png")
    (labels / "a.txt").write_text("1 0.5 0.5 0.5 0.5 0.93\n")
    (labels / "b.txt").write_text("1 0.5 0.5 0.5\n")
    (tmp_path / "names").write_text("cat\ndog\n")
    where = {"names": tmp_path / "names", "images": pictures}
    record = convert(labels, "yolo", tmp_path / "o" / "m.jsonl", "predictions", **where)
    assert (record["boxes"], record["invalid"]) == (1, 1)
    rows = [json.loads(line) for line in (tmp_path / "o" / "m.jsonl").read_text().splitlines()]
    assert rows[0]["detections"] == [{"class": "dog", "bbox": [50, 25, 150, 75]}]
    assert rows[1]["valid"] is False
    with pytest.raises(SpecError, match="line 1"):
        convert(labels, "yolo", tmp_path / "o" / "g.jsonl", "gold", **where)


VOC = (
    "<annotation><size><width>9</width><height>8</height></size><object><name>k</name>"
    "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>"
)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY x "y">]>' + VOC,
        VOC[:-9],
        VOC.replace("<xmin>1", "<xmin>one"),
        VOC.replace("<name>k</name>", ""),
        VOC.replace("<width>9", "<width>0"),
    ],
)
def test_voc_gold_that_is_not_right_is_refused(text: str, tmp_path: Path) -> None:
    """Entities too, which an annotation has no use for."""
    folder = tmp_path / "voc"
    folder.mkdir()
    (folder / "a.xml").write_text(VOC)
    assert convert(folder, "voc", tmp_path / "g.jsonl", "gold")["boxes"] == 1
    (folder / "b.xml").write_text(text)
    with pytest.raises(SpecError) as caught:
        convert(folder, "voc", tmp_path / "g.jsonl", "gold")
    assert caught.value.slug == "bad_convert_input"


@pytest.mark.parametrize(
    "change",
    [
        {"images": 3},
        {"images": [{"id": 1, "width": 5}]},
        {"images": [{"id": 1, "width": 5, "height": 5}] * 2},
        {"images": [{"id": n, "width": 5, "height": 5} for n in (1, "1")]},
        {"images": [{"id": 1, "width": 0, "height": 5}]},
        {"images": [{"id": 1, "width": 5, "height": -5}]},
        {"categories": [{"id": 1, "name": "k"}, {"id": 1, "name": "l"}]},
        {"annotations": [{"image_id": 1, "category_id": 1, "bbox": [1e308, 0, 1e308, 1]}]},
        {"categories": [{"id": "1", "name": "k"}]},
        {"annotations": [{"image_id": 2, "category_id": 1, "bbox": [0, 0, 1, 1]}]},
        {"annotations": [{"image_id": [1], "category_id": 1, "bbox": [0, 0, 1, 1]}]},
        {"annotations": [{"image_id": 1, "category_id": 7, "bbox": [0, 0, 1, 1]}]},
        {"annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1]}]},
        {"annotations": [None]},
    ],
)
def test_coco_that_is_not_right_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """With its code, never a crash."""
    good = {
        "images": [{"id": 1, "width": 5, "height": 5}],
        "categories": [{"id": 1, "name": "k"}],
        "annotations": [],
    }
    file = tmp_path / "g.json"
    file.write_text(json.dumps(good | change))
    with pytest.raises(SpecError) as caught:
        convert(file, "coco", tmp_path / "o" / "g.jsonl", "gold")
    assert caught.value.slug == "bad_convert_input"


def test_a_malformed_answer_cannot_be_said_in_coco(tmp_path: Path) -> None:
    """Only our form can; the conversion is refused instead of losing it."""
    gold, answers = tmp_path / "g.jsonl", tmp_path / "m.jsonl"
    gold.write_text('{"image_id": "a", "width": 5, "height": 5, "boxes": []}')
    answers.write_text('{"image_id": "a", "detections": null}')
    with pytest.raises(SpecError) as caught:
        convert(answers, "jsonl", tmp_path / "o" / "c.json", "predictions", gold=gold, target_format="coco")
    assert caught.value.slug == "bad_convert"


@pytest.mark.parametrize("image_id", ["../x", "a/b", "..", "a\\b", "a\0b", "a\ud800", "a\n", ""])
def test_an_id_never_leaves_the_folder(image_id: str, tmp_path: Path) -> None:
    """One file an image needs ids that are file names."""
    gold = tmp_path / "g.jsonl"
    gold.write_text(json.dumps({"image_id": image_id, "width": 5, "height": 5, "boxes": []}))
    with pytest.raises(SpecError, match="file's name"):
        convert(gold, "jsonl", tmp_path / "o" / "out", "gold", target_format="voc")


@pytest.mark.parametrize("target", ["yolo", "voc", "coco"])
def test_predictions_come_back_from_every_format(target: str, tmp_path: Path) -> None:
    """Plain numbers in every file, and the same boxes to a millionth of a pixel."""
    gold, answers = tmp_path / "g.jsonl", tmp_path / "m.jsonl"
    gold.write_text('{"image_id": "a", "width": 70, "height": 30, "boxes": []}')
    answers.write_text('{"image_id": "a", "detections": [{"class": "k", "bbox": [1, 2.5, 30.1, 20]}]}')
    there, back = tmp_path / "a" / "there", tmp_path / "b" / "m.jsonl"
    convert(answers, "jsonl", there, "predictions", gold=gold, target_format=target)
    more: dict[str, Any] = {"coco": {"id_from": "file_name"}}.get(target, {"gold": gold})
    if target == "yolo":
        more["names"] = tmp_path / "a" / "there.names"
        assert all(float(word) >= 0 for word in (there / "a.txt").read_text().split())
    convert(there, target, back, "predictions", **more)
    read = load_predictions(back, load_gold(gold), name="m")
    assert read.boxes.classes == ("k",)
    assert read.boxes.corners[0] == pytest.approx([1, 2.5, 30.1, 20], abs=1e-6)


def test_one_malformed_coco_result_makes_its_image_invalid(tmp_path: Path) -> None:
    """Wherever it stands among the results of that image; the other images keep theirs."""
    gold = {
        "images": [{"id": n, "file_name": f"f{n % 2}", "width": 9, "height": 9} for n in (1, 2)],
        "categories": [{"id": 1, "name": "k"}],
        "annotations": [],
    }
    good = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 2, 2]} for n in (1, 2, 1)]
    bad = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, "2", 2]}, {"image_id": 1, "category_id": 7}]
    (tmp_path / "g.json").write_text(json.dumps(gold))
    for at, wrong in enumerate(bad):
        (tmp_path / "r.json").write_text(json.dumps([good[0], wrong, *good[1:]]))
        record = convert(
            tmp_path / "r.json", "coco", tmp_path / f"o{at}" / "m", "predictions", gold=tmp_path / "g.json"
        )
        assert (record["invalid"], record["boxes"]) == (1, 1)
    gold["images"][1]["file_name"] = "f1"  # type: ignore[index]
    (tmp_path / "g.json").write_text(json.dumps(gold))
    assert convert(tmp_path / "g.json", "coco", tmp_path / "o" / "g", "gold")["images"] == 2
    with pytest.raises(SpecError, match="twice"):
        convert(tmp_path / "g.json", "coco", tmp_path / "o" / "h", "gold", id_from="file_name")


@pytest.mark.parametrize("number", ["9" * 5000, "1", "-1", "\u0660", "1.0"])
def test_a_yolo_class_that_names_lack_makes_its_image_invalid(number: str, tmp_path: Path) -> None:
    """However many digits it has, and in whatever script."""
    labels, gold = tmp_path / "labels", tmp_path / "g.jsonl"
    labels.mkdir()
    (labels / "a.txt").write_text(f"{number} 0.5 0.5 0.5 0.5\n", encoding="utf-8")
    (tmp_path / "names").write_text("cat\n")
    gold.write_text('{"image_id": "a", "width": 5, "height": 5, "boxes": []}')
    out, names = tmp_path / "o" / "m.jsonl", tmp_path / "names"
    assert convert(labels, "yolo", out, "predictions", names=names, gold=gold)["invalid"] == 1


@pytest.mark.parametrize(
    "name", ["a\nb", "a\u2028b", "a\x85", "\x0c", "\ud800", "\ufeffa", "a\0", "a\rb", "\uffff"]
)
@pytest.mark.parametrize("target", ["yolo", "voc"])
def test_a_class_that_would_not_come_back_is_refused(name: str, target: str, tmp_path: Path) -> None:
    """Before anything is written; our own form and COCO hold it."""
    gold = tmp_path / "g.jsonl"
    row = {"image_id": "a", "width": 5, "height": 5, "boxes": [{"class": name, "bbox": [0, 0, 1, 1]}]}
    gold.write_text(json.dumps(row))
    with pytest.raises(SpecError) as caught:
        convert(gold, "jsonl", tmp_path / "o" / "out", "gold", target_format=target)
    assert caught.value.slug == "bad_convert_input"
    assert list((tmp_path / "o").iterdir()) == []
    convert(gold, "jsonl", tmp_path / "o" / "c.json", "gold", target_format="coco")
    convert(tmp_path / "o" / "c.json", "coco", tmp_path / "p" / "g.jsonl", "gold", id_from="file_name")
    assert load_gold(tmp_path / "p" / "g.jsonl").boxes.classes == (name,)


def test_nothing_is_written_among_the_inputs_or_over_another_conversion(tmp_path: Path) -> None:
    """Neither the result nor what stands beside it; a folder with files of earlier is refused."""
    source, folder = tmp_path / "in" / "g.jsonl", tmp_path / "in"
    folder.mkdir()
    source.write_text('{"image_id": "a", "width": 5, "height": 5, "boxes": []}')
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "g.jsonl").symlink_to(source)
    (tmp_path / "old" / "out").mkdir(parents=True)
    (tmp_path / "old" / "out" / "stale.xml").write_text("")
    for start, out, slug in (
        (source, folder / "new", "out_dir_is_input"),
        (source, folder, "out_dir_is_input"),
        (source, source, "out_dir_is_input"),
        (tmp_path / "link" / "g.jsonl", tmp_path / "link" / "new", "out_dir_is_input"),
        (tmp_path / "link" / "g.jsonl", folder / "new", "out_dir_is_input"),
        (source, tmp_path / "old" / "out", "out_not_empty"),
    ):
        with pytest.raises(SpecError) as caught:
            convert(start, "jsonl", out, "gold", target_format="voc")
        assert caught.value.slug == slug
    assert [file.name for file in folder.iterdir()] == ["g.jsonl"]
    (tmp_path / "old" / "out" / "stale.xml").unlink()
    assert convert(source, "jsonl", tmp_path / "old" / "out", "gold", target_format="voc")["images"] == 1
