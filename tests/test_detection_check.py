"""Box formats that do not fit, inventories, published summaries."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from beholder.detection.check import format_warning
from beholder.detection.expect import compare
from beholder.detection.inventory import verify_inventory
from beholder.detection.job import check_files
from beholder.errors import SpecError

BOXES = [[10, 20, 50, 90], [100, 30, 180, 60], [5, 5, 60, 25]]


def checked(tmp_path: Path, box: Any, declared: str = "xyxy") -> dict[str, Any]:
    rows = [
        {"image_id": f"i{n}", "width": 200, "height": 100, "boxes": [{"class": "k", "bbox": b}]}
        for n, b in enumerate(BOXES)
    ]
    answers = [
        {"image_id": f"i{n}", "detections": [{"class": "k", "bbox": box(*b)}]} for n, b in enumerate(BOXES)
    ]
    for name, lines in (("g", rows), ("m", answers)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return check_files(tmp_path / "g.jsonl", {"m": tmp_path / "m.jsonl"}, {"m": declared})


@pytest.mark.parametrize(
    ("box", "better"),
    [
        (lambda a, b, c, d: [b * 10, a * 5, d * 10, c * 5], "yxyx_1000"),
        (lambda a, b, c, d: [a * 5, b * 10, c * 5, d * 10], "xyxy_1000"),
        (lambda a, b, c, d: [a / 200, b / 100, c / 200, d / 100], "xyxy_norm"),
        (lambda a, b, c, d: [a, b, c - a, d - b], "xywh"),
        (lambda a, b, c, d: [b, a, d, c], "xyxy with axes swapped"),
    ],
)
def test_another_reading_that_fits_is_named_and_never_taken(box: Any, better: str, tmp_path: Path) -> None:
    """Declared as corners in pixels: the warning names what would fit; the numbers stay as they are."""
    report = checked(tmp_path, box)
    (warning,) = report["warnings"]
    assert (warning["model"], warning["declared"], warning["better"]) == ("m", "xyxy", better)
    assert warning["better_mean_best_iou"] == pytest.approx(1)
    assert "Nothing was switched" in warning["message"]
    assert report["models"]["m"]["box_format"] == "xyxy"


def test_the_right_declaration_gives_no_warning(tmp_path: Path) -> None:
    """Nor does a reading that is only a little better."""
    assert checked(tmp_path, lambda *b: list(b))["warnings"] == []
    swapped = checked(tmp_path, lambda a, b, c, d: [b * 10, a * 5, d * 10, c * 5], "gemini")
    assert swapped["warnings"] == []
    assert format_warning("xyxy", {"xyxy": 0.6, "xywh": 0.69}) is None
    assert format_warning("xyxy", {"xyxy": 0.6, "xywh": 0.91}) is not None
    assert format_warning("xyxy", {}) is None


def test_an_inventory_finds_what_changed_and_what_is_gone(tmp_path: Path) -> None:
    """Both forms of the list."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("a", "b", "c")}
    lines = tmp_path / "SHA256SUMS"
    lines.write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    (tmp_path / "list.json").write_text(
        json.dumps({"files": [{"path": n, "sha256": d} for n, d in digests.items()]})
    )
    (tmp_path / "map.json").write_text(json.dumps(digests))
    for file in ("SHA256SUMS", "list.json", "map.json"):
        assert verify_inventory(tmp_path / file) == {"files": 3, "changed": [], "missing": ["c"]}
    (tmp_path / "b").write_text("B")
    assert verify_inventory(lines) == {"files": 3, "changed": ["b"], "missing": ["c"]}


@pytest.mark.parametrize("text", ["", "abc  x\n", '{"x": 1}', "[", f"{'0' * 64}  ../outside\n"])
def test_an_inventory_that_is_not_right_is_refused(text: str, tmp_path: Path) -> None:
    """A path that leaves the folder too."""
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / "list"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        verify_inventory(file)
    assert caught.value.slug == "bad_inventory"


@pytest.mark.parametrize(
    ("expected", "found", "where"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": {"b": 0.5}}, {"a": {"b": 0.5 + 5e-10}}, []),
        ({"a": {"b": 0.5}}, {"a": {"b": 0.5 + 5e-9}}, ["a.b"]),
        ({"a": 3}, {"a": 4}, ["a"]),
        ({"a": None}, {"a": None}, []),
        ({"a": None}, {"a": 0.0}, ["a"]),
        ({"a": 0.0}, {"a": None}, ["a"]),
        ({"a": 1.0}, {"a": 1}, []),
        ({"a": True}, {"a": 1}, ["a"]),
        ({"a": {"b": 1, "c": 2}}, {"a": 5}, ["a.b", "a.c"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a[1]"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a"]),
        ({"a": "x"}, {"a": "y"}, ["a"]),
    ],
)
def test_a_published_summary_is_compared_number_by_number(
    expected: Any, found: Any, where: list[str]
) -> None:
    """What is missing differs, what is more does not; null is not zero."""
    assert [line["where"] for line in compare(expected, found)] == where
