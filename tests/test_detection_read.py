"""Files to arrays: what is accepted, what makes an answer invalid, what is refused."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beholder.detection import read
from beholder.detection.boxes import INVALID, MISSING, VALID, Gold, Predictions
from beholder.detection.formats import BOX_FORMATS, canonical_format, to_corners
from beholder.detection.read import load_gold, load_predictions
from beholder.detection.replies import parse_response
from beholder.errors import SpecError

GOLD = b"""{"image_id": "a", "width": 100, "height": 50, "boxes": [{"class": "k", "bbox": [1, 2, 11, 12]}]}
{"image_id": 7, "width": 100, "height": 50, "boxes": []}
"""


def gold() -> Gold:
    return load_gold(GOLD)


def answer(row: Any, **more: Any) -> Predictions:
    data = row if isinstance(row, bytes) else json.dumps(row).encode()
    return load_predictions(data, gold(), name="m", **more)


def status_of_a(detections: str) -> int:
    line = f'{{"image_id": "a", "detections": {detections}}}'.encode()
    return int(answer(line).status[0])


# --- gold ---------------------------------------------------------------------------------------

GOOD_BOX = '{"class": "k", "bbox": [1, 2, 3, 4]}'


@pytest.mark.parametrize(
    ("data", "slug"),
    [
        ("", "gold_empty"),
        ("\n  \n", "gold_empty"),
        ('{"image_id": ', "gold_bad_json"),
        ("[1]", "gold_bad_json"),
        ('{"width": 1, "height": 1, "boxes": []}', "gold_bad_image_id"),
        ('{"image_id": 1.0, "width": 1, "height": 1, "boxes": []}', "gold_bad_image_id"),
        ('{"image_id": true, "width": 1, "height": 1, "boxes": []}', "gold_bad_image_id"),
        ('{"image_id": "a", "width": 0, "height": 1, "boxes": []}', "gold_bad_size"),
        ('{"image_id": "a", "width": 1, "height": -3, "boxes": []}', "gold_bad_size"),
        ('{"image_id": "a", "width": "1", "height": 1, "boxes": []}', "gold_bad_size"),
        ('{"image_id": "a", "width": true, "height": 1, "boxes": []}', "gold_bad_size"),
        ('{"image_id": "a", "width": NaN, "height": 1, "boxes": []}', "gold_bad_size"),
        ('{"image_id": "a", "height": 1, "boxes": []}', "gold_bad_size"),
        ('{"image_id": "a", "width": 1, "height": 1}', "gold_bad_boxes"),
        ('{"image_id": "a", "width": 1, "height": 1, "boxes": null}', "gold_bad_boxes"),
        ('{"image_id": "a", "width": 1, "height": 1, "boxes": [{"class": "k"}]}', "gold_bad_boxes"),
        (
            '{"image_id": "a", "width": 1, "height": 1, "boxes": [{"class": "k", "bbox": [1, 2, NaN, 4]}]}',
            "gold_bad_boxes",
        ),
        (
            '{"image_id": "a", "width": 1, "height": 1, "boxes": [{"class": "k", "bbox": [1, 2, 1e400, 4]}]}',
            "gold_bad_boxes",
        ),
        (
            '{"image_id": "7", "width": 1, "height": 1, "boxes": []}\n'
            '{"image_id": 7, "width": 1, "height": 1, "boxes": []}',
            "gold_duplicate_image_id",
        ),
    ],
)
def test_gold_that_is_not_right_is_refused_with_its_code(data: str, slug: str) -> None:
    """Wherever in the file it stands."""
    with pytest.raises(SpecError) as caught:
        load_gold(data.encode())
    assert caught.value.slug == slug
    if data.strip():
        with pytest.raises(SpecError) as caught:
            load_gold(b'{"image_id": "first", "width": 1, "height": 1, "boxes": []}\n' + data.encode())
        assert caught.value.slug == slug


def test_gold_without_area_and_with_other_keys_is_kept() -> None:
    """A NaN under a key that nobody reads harms nobody; ids are text."""
    found = load_gold(
        b'\xef\xbb\xbf{"image_id": 12, "width": 10, "height": 5.5, "note": NaN, '
        b'"boxes": [{"class": "k", "bbox": [3, 3, 3, 3], "x": [1]}]}\r\n'
    )
    assert found.image_ids == ("12",)
    assert found.size.tolist() == [[10, 5.5]]
    assert found.boxes.degenerate.tolist() == [True]


def test_a_refusal_names_the_line(tmp_path: Path) -> None:
    """And the file."""
    file = tmp_path / "g.jsonl"
    file.write_bytes(GOLD + b"\n" + b'{"image_id": "z"}\n')
    with pytest.raises(SpecError, match=r"g\.jsonl: line 4: width and height"):
        load_gold(file)
    with pytest.raises(SpecError, match="No such file") as caught:
        load_gold(tmp_path / "none.jsonl")
    assert caught.value.slug == "unreadable"


# --- predictions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("detections", "status"),
    [
        ("[]", VALID),
        (f"[{GOOD_BOX}]", VALID),
        ('[{"class": "", "bbox": [1, 2.5, 3e0, -4]}]', VALID),
        ('[{"class": "k", "bbox": ["x"], "bbox": [1, 2, 3, 4]}]', VALID),
        ('[{"class": "k", "bbox": [4, 4, 1, 1]}]', VALID),
        ('[{"class": "k", "bbox": [9007199254740993, 0, 1e308, 1]}]', VALID),
        ('[{"class": "\\ud800", "bbox": [1, 2, 3, 4]}]', VALID),
        ("null", INVALID),
        ("{}", INVALID),
        ('"[]"', INVALID),
        (f"[{GOOD_BOX}, 3]", INVALID),
        (f'[{GOOD_BOX}, {{"class": "k"}}]', INVALID),
        (f'[{GOOD_BOX}, {{"class": null, "bbox": [1, 2, 3, 4]}}]', INVALID),
        (f'[{GOOD_BOX}, {{"class": 3, "bbox": [1, 2, 3, 4]}}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, 3]}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, 3, 4, 5]}]', INVALID),
        ('[{"class": "k", "bbox": [[1, 2, 3, 4]]}]', INVALID),
        ('[{"class": "k", "bbox": "1 2 3 4"}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, "3", 4]}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, null, 4]}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, true, 4]}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, NaN, 4]}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, Infinity, 4]}]', INVALID),
        ('[{"class": "k", "bbox": [1, 2, 1e400, 4]}]', INVALID),
        (f'[{{"class": "k", "bbox": [1, 2, {"9" * 400}, 4]}}]', INVALID),
    ],
)
def test_one_malformed_detection_makes_the_whole_answer_invalid(detections: str, status: int) -> None:
    """Nothing is dropped box by box, and nothing well formed is refused."""
    assert status_of_a(detections) == status


@pytest.mark.parametrize("value", ["false", "1", "null", '"true"', "[]"])
def test_valid_must_be_exactly_true(value: str) -> None:
    """Where it is present."""
    assert answer(f'{{"image_id": "a", "valid": {value}, "detections": []}}'.encode()).status[0] == INVALID


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("nonsense", 1),
        ("[]", 1),
        ('{"detections": []}', 1),
        ('{"image_id": 7.0, "detections": []}', 1),
        ('{"image_id": false, "detections": []}', 1),
        ('{"image_id": null, "detections": []}', 1),
        ('{"image_id": "a", "detections": []} x', 1),
        ("{" * 5000, 1),
        (" \t ", 0),
        ('{"image_id": "unknown", "detections": "?"}', 0),
    ],
)
def test_lines_without_an_identity_are_counted(line: str, bad: int) -> None:
    """Their image is missing then."""
    found = answer(line.encode() + b'\n{"image_id": "7", "detections": []}\n')
    assert (found.bad_lines, found.status.tolist()) == (bad, [MISSING, VALID])


def test_invalid_text_makes_a_bad_line_even_where_nobody_reads_it() -> None:
    """UTF-8 is checked in skipped keys too, and other lines are not touched."""
    found = answer(
        b'{"image_id": "a", "note": "\xff", "detections": []}\n{"image_id": 7, "detections": []}\n'
    )
    assert (found.bad_lines, found.status.tolist()) == (1, [MISSING, VALID])


def test_ids_are_text_and_never_cleaned() -> None:
    """7 and "7" are one image, "007" and " 7" are others."""
    found = answer(b'{"image_id": "007", "detections": []}\n{"image_id": " 7", "detections": []}\n')
    assert (found.unknown_images, found.status.tolist()) == (2, [MISSING, MISSING])
    assert answer(b'{"image_id": 7, "detections": []}').status.tolist() == [MISSING, VALID]


@pytest.mark.parametrize("other", ["[]", "null", '"broken"'])
@pytest.mark.parametrize("image_id", ['"a"', '"unknown"', "12"])
def test_an_image_twice_is_refused(image_id: str, other: str) -> None:
    """Known or unknown, valid or not: the last never wins."""
    lines = f'{{"image_id": {image_id}, "detections": []}}\n{{"image_id": {image_id}, "detections": {other}}}'
    with pytest.raises(SpecError) as caught:
        answer(lines.encode())
    assert caught.value.slug == "pred_duplicate_image_id"


# --- raw replies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("[]", 0),
        (f" \n[{GOOD_BOX}]\n", 1),
        (f'{{"detections": [{GOOD_BOX}], "note": 1}}', 1),
        (f"```json\n[{GOOD_BOX}]\n```", 1),
        (f"```JSON\r\n[{GOOD_BOX}]\r\n```\n", 1),
        (f"```\n[{GOOD_BOX}]\n```", 1),
        ('[{"class": "k", "class": "```", "bbox": [1, 2, 3, 4]}]', 1),
        ("", None),
        ("null", None),
        ("{}", None),
        ("3", None),
        ('"[]"', None),
        ('{"detections": {}}', None),
        (f"[{GOOD_BOX},]", None),
        (f"[{GOOD_BOX}", None),
        (f"Here you are: [{GOOD_BOX}]", None),
        (f"[{GOOD_BOX}]\nDone.", None),
        (f"```python\n[{GOOD_BOX}]\n```", None),
        (f"```jsonc\n[{GOOD_BOX}]\n```", None),
        (f"~~~\n[{GOOD_BOX}]\n~~~", None),
        (f"```json\n[{GOOD_BOX}]", None),
        (f"```json\n[{GOOD_BOX}]\n```\n```json\n[]\n```", None),
        ("[{'class': 'k', 'bbox': [1, 2, 3, 4]}]", None),
        ('[{"class": "k", "bbox": [NaN, 2, 3, 4]}]', None),
        ("[" * 100_000, None),
    ],
)
def test_a_raw_reply_is_read_strictly(text: str, n: int | None) -> None:
    """JSON, or JSON in one fence; nothing is repaired."""
    found = parse_response(text)
    assert (None if found is None else len(found)) == n
    row = answer({"image_id": "a", "response": text})
    assert row.status[0] == (INVALID if n is None else VALID)
    assert len(row.boxes) == (n or 0)


# --- box formats --------------------------------------------------------------------------------

SAME_BOX = {
    "xyxy": [20, 10, 60, 30],
    "xywh": [20, 10, 40, 20],
    "cxcywh": [40, 20, 40, 20],
    "xyxy_norm": [0.2, 0.2, 0.6, 0.6],
    "xywh_norm": [0.2, 0.2, 0.4, 0.4],
    "cxcywh_norm": [0.4, 0.4, 0.4, 0.4],
    "xyxy_1000": [200, 200, 600, 600],
    "yxyx_1000": [200, 200, 600, 600],
    "coco": [20, 10, 40, 20],
    "yolo": [0.4, 0.4, 0.4, 0.4],
    "gemini": [200, 200, 600, 600],
}


@pytest.mark.parametrize("name", SAME_BOX)
def test_every_format_says_the_same_box(name: str) -> None:
    """In an image of 100 x 50; the model records its format by the canonical name."""
    row = {"image_id": "a", "detections": [{"class": "k", "bbox": SAME_BOX[name]}]}
    found = answer(row, box_format=name)
    assert np.allclose(found.boxes.corners, [[20, 10, 60, 30]], rtol=0, atol=1e-12)
    assert found.box_format == canonical_format(name)
    assert set(BOX_FORMATS) <= set(SAME_BOX)


def test_axes_are_swapped_only_where_the_format_says_so() -> None:
    """y x y x in thousandths of 200 x 100."""
    found = to_corners(np.array([[100, 250, 300, 750.0]]), np.array([[200, 100.0]]), "yxyx_1000")
    assert found.tolist() == [[50, 10, 150, 30]]


def test_an_unknown_format_is_refused() -> None:
    """With the known ones."""
    with pytest.raises(SpecError, match="cxcywh") as caught:
        answer({"image_id": "a", "detections": []}, box_format="xyyx")
    assert caught.value.slug == "unknown_box_format"


def test_a_box_that_leaves_float64_in_conversion_makes_its_answer_invalid() -> None:
    """1e308 + 1e308, and only that answer."""
    rows = [
        {
            "image_id": "a",
            "detections": [{"class": "k", "bbox": [1, 1, 2, 2]}, {"class": "k", "bbox": [1e308] * 4}],
        },
        {"image_id": 7, "detections": [{"class": "k", "bbox": [1, 1, 2, 2]}]},
    ]
    found = answer("\n".join(map(json.dumps, rows)).encode(), box_format="xywh")
    assert found.status.tolist() == [INVALID, VALID]
    assert found.boxes.corners.tolist() == [[1, 1, 3, 3]]


def test_boxes_over_an_edge_are_counted_and_kept_as_they_are() -> None:
    """Neither clipped nor reordered."""
    boxes = [[-1, 0, 5, 5], [0, 0, 100, 50], [90, 40, 101, 50], [30, 20, 10, 10]]
    found = answer({"image_id": "a", "detections": [{"class": "k", "bbox": b} for b in boxes]})
    assert found.boxes.corners.tolist() == boxes
    assert found.n_outside(gold()) == 2
    assert found.boxes.degenerate.tolist() == [False, False, False, True]


# --- streams ------------------------------------------------------------------------------------

MESSY = (
    b'\xef\xbb\xbf\r\n{"image_id": "a", "detections": [{"class": "\xc3\xa9\xe2\x80\xa8", '
    b'"bbox": [1, 2, 3, 4]}]}\r\n'
    b'\n{"image_id": 7, "response": "```json\\n[]\\n```"}\rbroken\n\xff\n{"image_id": "u", "detections": []}'
)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    yield from (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_streamed_and_whole_reading_give_the_same(size: int, tmp_path: Path) -> None:
    """Pieces of any size, bytes, and a file; CR, CRLF and LF line ends, BOM, bad text."""
    file = tmp_path / "p.jsonl"
    file.write_bytes(MESSY)
    found = [load_predictions(source, gold(), name="m") for source in (MESSY, file, pieces(MESSY, size))]
    for one in found:
        assert one.status.tolist() == [VALID, VALID]
        assert (one.bad_lines, one.unknown_images) == (2, 1)
        assert one.boxes.classes == ("\u00e9\u2028",)
        assert one.boxes.corners.tolist() == [[1, 2, 3, 4]]
        assert one.sha256 == found[0].sha256
    golds = [load_gold(source) for source in (GOLD, pieces(GOLD, size))]
    assert golds[0].image_ids == golds[1].image_ids
    assert golds[0].boxes.corners.tolist() == golds[1].boxes.corners.tolist()


def test_blocks_of_a_file_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file much larger than a block."""
    rows = [
        {
            "image_id": n,
            "width": 9,
            "height": 9,
            "boxes": [{"class": f"c{n % 5}", "bbox": [0, 0, n, 1]}] * (n % 4),
        }
        for n in range(1, 900)
    ]
    file = tmp_path / "g.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    whole = load_gold(file)
    monkeypatch.setattr(read, "BLOCK_BYTES", 1000)
    again = load_gold(file)
    assert whole.image_ids == again.image_ids
    assert whole.sha256 == again.sha256
    for name in ("image", "label", "corners"):
        assert getattr(whole.boxes, name).tolist() == getattr(again.boxes, name).tolist()
    assert whole.boxes.corners[:, 2].sum() == sum(n * (n % 4) for n in range(1, 900))


# --- damaged files ------------------------------------------------------------------------------


def finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that float64 cannot hold
        return False


def by_the_letter(data: bytes) -> tuple[list[int], int, int, list[Any]] | str:
    """The rules for predictions, line by line with the standard library."""
    status, bad, unknown, seen, boxes = {"a": MISSING, "7": MISSING}, 0, set(), set(), []
    for line in data.removeprefix(b"\xef\xbb\xbf").splitlines():
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError):
            bad += 1
            continue
        key = row.get("image_id") if isinstance(row, dict) else None
        if not isinstance(key, str | int) or isinstance(key, bool):
            bad += 1
            continue
        name = str(key)
        if name in seen:
            return "pred_duplicate_image_id"
        seen.add(name)
        if name not in status:
            unknown.add(name)
            continue
        detections: Any = row.get("detections")
        if not isinstance(detections, list) and isinstance(row.get("response"), str):
            try:
                detections = json.loads(row["response"].strip())
            except ValueError:
                detections = None
            if isinstance(detections, dict):
                detections = detections.get("detections")
        good = row.get("valid", True) is True and isinstance(detections, list)
        found = []
        for one in detections if good else []:
            box = one.get("bbox") if isinstance(one, dict) else None
            numbers = isinstance(box, list) and len(box) == 4 and all(type(v) in {int, float} for v in box)
            if not numbers or not isinstance(one.get("class"), str) or not all(map(finite, box)):
                good = False
                break
            found.append((one["class"], [float(v) for v in box]))
        status[name] = VALID if good else INVALID
        boxes += found if good else []
    return list(status.values()), bad, len(unknown), boxes


def fast(data: bytes) -> tuple[list[int], int, int, list[Any]] | str:
    try:
        found = load_predictions(data, gold(), name="m")
    except SpecError as error:
        return error.slug
    classes = [found.boxes.classes[k] for k in found.boxes.label]
    boxes = list(zip(classes, found.boxes.corners.tolist(), strict=True))
    return found.status.tolist(), found.bad_lines, found.unknown_images, boxes


SEEDS = (
    b'{"image_id": "a", "valid": true, "detections": [{"class": "k\xc3\xa9", "bbox": [1, 2.5, 3e1, -4.25], '
    b'"score": 0.5, "note": "x\\u00e9\\n"}]}\n{"image_id": 7, "response": "[{\\"class\\": \\"k\\", '
    b'\\"bbox\\": [1, 2, 3, 4]}]"}\r\n{"image_id": "u", "detections": []}\n',
    b'{"image_id":"7","detections":[]}\n{"image_id":"a","detections":[{"class":"p","bbox":[0,0,1,1]},{"bbox":'
    b'[1e2,1,2,9007199254740993],"class":""}],"extra":{"a":[1,{"b":null}]}}',
)
GOLD_SEEDS = (
    GOLD,
    b'{"image_id":"7","width":1e2,"height":3.5,"boxes":[]}\r\n{"image_id":"a","boxes":[{"class":"p","bbox":'
    b'[0,0,1,1],"x":null}],"height":9,"width":8,"note":"\xc3\xa9"}',
)
_TOKENS = (
    b"NaN",
    b"1e400",
    b"null",
    b"true",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b"\\",
    b"[",
    b"}",
    b"-",
    b"0",
    b"\x00",
)


def mutated(chance: random.Random, seeds: Sequence[bytes] = SEEDS) -> bytes:
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        at = chance.randrange(len(data))
        kind = chance.randrange(5)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            del data[at : at + chance.choice([1, 1, 2, 10])]
        elif kind == 2:
            data[at:at] = chance.choice(_TOKENS)
        elif kind == 3:
            data[at : at + 1] = chance.choice(_TOKENS)
        else:
            end = at + chance.randrange(30)
            data[at:at] = data[at:end]
        data = data or bytearray(b" ")
    return bytes(data)


def _fuzz(seed: int, n: int) -> None:
    chance = random.Random(seed)
    for number in range(n):
        data = mutated(chance)
        assert fast(data) == by_the_letter(data), (seed, number, data)


def gold_by_the_letter(data: bytes) -> list[Any] | None:
    """Images with their sizes and boxes; None if anything is wrong."""
    found: dict[str, Any] = {}
    for line in data.removeprefix(b"\xef\xbb\xbf").splitlines():
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError):
            return None
        key = row.get("image_id") if isinstance(row, dict) else None
        if not isinstance(key, str | int) or isinstance(key, bool) or str(key) in found:
            return None
        size = [row.get("width"), row.get("height")]
        if not all(type(v) in {int, float} and finite(v) and v > 0 for v in size):
            return None
        boxes = row.get("boxes")
        if not isinstance(boxes, list):
            return None
        for one in boxes:
            box = one.get("bbox") if isinstance(one, dict) else None
            numbers = isinstance(box, list) and len(box) == 4 and all(type(v) in {int, float} for v in box)
            if not numbers or not isinstance(one.get("class"), str) or not all(map(finite, box)):
                return None
        found[str(key)] = (*map(float, size), [(one["class"], [*map(float, one["bbox"])]) for one in boxes])
    return list(found.items()) or None


def fast_gold(data: bytes) -> list[Any] | None:
    try:
        gold = load_gold(data)
    except SpecError as error:
        assert error.slug.startswith("gold_")  # noqa: PT017 - both outcomes are right
        return None
    boxes: list[list[Any]] = [[] for _ in gold.image_ids]
    for at, label, corners in zip(gold.boxes.image, gold.boxes.label, gold.boxes.corners, strict=True):
        boxes[at].append((gold.boxes.classes[label], corners.tolist()))
    rows = zip(gold.image_ids, gold.size.tolist(), boxes, strict=True)
    return [(name, (*size, found)) for name, size, found in rows]


def _fuzz_gold(seed: int, n: int) -> None:
    chance = random.Random(seed)
    accepted = 0
    for number in range(n):
        data = mutated(chance, GOLD_SEEDS)
        expected = gold_by_the_letter(data)
        assert fast_gold(data) == expected, (seed, number, data)
        accepted += expected is not None
    assert 0 < accepted < n


def test_damaged_files_are_read_by_the_letter_or_refused() -> None:
    """Mutated bytes: the same answer as the rules applied line by line, never a crash."""
    _fuzz(0, 400)
    _fuzz_gold(0, 300)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 21))
def test_twenty_thousand_damaged_files(seed: int) -> None:
    """The same, twenty times a thousand, and ten thousand gold files."""
    _fuzz(seed, 1000)
    _fuzz_gold(seed, 500)
