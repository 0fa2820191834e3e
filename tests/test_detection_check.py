"""Box formats that do not fit, inventories, published summaries."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from beholder.detection.check import format_warning
from beholder.detection.expect import check_summary, compare, load_expected, load_expected_agreement
from beholder.detection.inventory import verify_inventory
from beholder.detection.job import check_files, load_domains
from beholder.detection.jsonfile import MAX_DEPTH, read_json_object, strict_loads
from beholder.detection.metrics import exact_beta
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc  x\n",
        '{"x": 1}',
        "[",
        "[" * 200_000,
        f"{'0' * 64}  ../outside\n",
        f"{'0' * 64}  a\0b\n",
        f"{'0' * 64}  {'a' * 5000}\n",
        f"{'0' * 64}  a\n{'1' * 64}  a\n",
        f'{{"files": [{{"path": ["a"], "sha256": "{"0" * 64}"}}]}}',
        f'{{"files": [{{"path": "a", "sha256": "{"0" * 64}"}}, 5]}}',
        f'{{"files": "{"0" * 64}"}}',
        f'{{"\\ud800": "{"0" * 64}"}}',
        '{"files": [{"path": "a", "sha256": NaN}]}',
    ],
)
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
        ({"a": {}}, {"a": {"b": 1}}, ["a"]),
        ({"a": {}}, {"a": {}}, []),
        ({"a": []}, {"a": [1]}, ["a"]),
        ({"a": []}, {"a": {}}, ["a"]),
        ({"a": {}}, {}, ["a"]),
    ],
)
def test_a_published_summary_is_compared_number_by_number(
    expected: Any, found: Any, where: list[str]
) -> None:
    """What is missing differs, what is more does not; null is not zero."""
    assert [line["where"] for line in compare(expected, found)] == where


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"models": {}}',
        '{"models": []}',
        '{"models": {"m": {}}}',
        '{"models": {"m": {"scopes": {"valid": {"classification": {"micro": {}}}}}}}',
        '{"models": {"m": {"scopes": {"valid": {"classification": {"macro": {"f2": 1}}}}}}}',
        '{"models": {"m": {"scopes": {"valid": {"localisation": {"0.5": {"micro": {"tp": "1"}}}}}}}}',
    ],
)
def test_a_published_summary_without_headline_figures_is_refused(text: str, tmp_path: Path) -> None:
    """What says nothing would be equal to everything."""
    file = tmp_path / "e.json"
    file.write_text(text)
    for load in (load_expected, load_expected_agreement):
        with pytest.raises(SpecError) as caught:
            load(file)
        assert caught.value.slug == "bad_expect"
    file.write_text(
        '{"models": {"m": {"scopes": {"valid": {"localisation": {"0.5": {"micro": {"tp": 1}}}}}}}}'
    )
    assert load_expected(file)["models"]
    file.write_text('{"overall": {"alpha": null}}')
    assert load_expected_agreement(file)["overall"] == {"alpha": None}


def test_the_outcome_says_how_many_values_were_compared() -> None:
    """Every number, text and null that was expected."""
    found = {"a": {"b": 1, "c": [1.0, None]}, "d": "x", "e": 5}
    assert check_summary({"a": {"b": 1, "c": [1.0, None]}, "d": "x"}, found) == {
        "equal": True,
        "compared": 4,
        "differences": [],
    }
    assert check_summary({"a": {}}, found)["differences"] == [
        {"where": "a", "expected": {}, "found": "2 entries"}
    ]


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "-Infinity",
        "1e999",
        "9" * 400,
        "9" * 5000,
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "[" * 200_000,
    ],
    ids=["nan", "infinity", "float", "int", "digits", "deep", "deeper"],
)
def test_json_that_could_not_be_written_again_is_refused(value: str, tmp_path: Path) -> None:
    """Numbers that are not finite, and nesting beyond all use; by the code of the file that was read."""
    file = tmp_path / "s.json"
    file.write_text(f'{{"class_to_domain": {value}}}')
    for load, slug in ((load_domains, "bad_classes"), (load_expected, "bad_expect")):
        with pytest.raises(SpecError) as caught:
            load(file)
        assert caught.value.slug == slug
    with pytest.raises(SpecError) as caught:
        read_json_object(file, "bad_provenance")
    assert caught.value.slug == "bad_provenance"


def test_deep_enough_json_is_read() -> None:
    """As deep as the limit, with the numbers as they are."""
    text = "[" * MAX_DEPTH + "-1.5e300" + "]" * MAX_DEPTH
    assert json.dumps(strict_loads(text)).strip("[]") == "-1.5e+300"
    assert strict_loads(f"[{2**70}, true, null]") == [2**70, True, None]


@pytest.mark.parametrize(
    "beta",
    ["0", "-1", "nan", "inf", "1e400", "1e-400", "1e-999999999", "1000001", "1/0", "9" * 5000, "x", ""],
)
def test_a_beta_that_makes_no_sense_is_refused(beta: str) -> None:
    """Above 0 and at most a million; at once, whatever its exponent."""
    with pytest.raises(SpecError) as caught:
        exact_beta(beta)
    assert caught.value.slug == "bad_beta"
    for good in ("1e6", "0.1", 2, 0.5, "1/3"):
        assert exact_beta(good) > 0
