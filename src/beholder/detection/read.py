"""JSONL files -> arrays, block by block.

    gold          {"image_id": str|int, "width": n, "height": n, "boxes": [{"class": str, "bbox": [4 n]}]}
    predictions   {"image_id": str|int, "valid": true?, "detections": [the same]}
                  {"image_id": str|int, "response": "raw reply"}

UTF-8, one record a line. Blank lines are skipped, a byte order mark and CR line ends are tolerated, other
keys are ignored, of a key given twice the last holds. An integer id is its decimal text; other types have no
identity.

A typed decoder reads the lines. It is stricter than the rules in a few corners (a NaN under a key that
nobody reads), so a line that it refuses goes to a slow reader that follows the rules to the letter.
Blocks bound the memory: beside the arrays (40 bytes a box, 32 more while they are joined) there are only the
objects of one block.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from beholder.detection.boxes import INVALID, VALID, Boxes, Gold, Predictions
from beholder.detection.formats import FloatArray, canonical_format, to_corners
from beholder.detection.replies import Detection, finite_number, parse_response, read_detections
from beholder.errors import SpecError

BLOCK_BYTES = 1 << 17  # larger blocks keep more objects alive, which the garbage collector then walks
_BOM = b"\xef\xbb\xbf"

Source = Path | bytes | Iterable[bytes]
"""A file, its bytes, or its bytes in pieces of any size."""


class GoldRow(msgspec.Struct, gc=False):
    """One line of a gold file."""

    image_id: str | int
    width: float
    height: float
    boxes: list[Detection]


class PredictionRow(msgspec.Struct, gc=False):
    """One line of a predictions file. A malformed answer is one with `valid` false."""

    image_id: str | int
    valid: bool = True
    detections: list[Detection] | None = None
    response: str | None = None


_Row = TypeVar("_Row")
_gold_decoder = msgspec.json.Decoder(GoldRow)
_prediction_decoder = msgspec.json.Decoder(PredictionRow)


# --- files -> lines -----------------------------------------------------------------------------


class Lines:
    """Complete lines in blocks; the digest of all bytes is known at the end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._digest = hashlib.sha256()
        self.line = 0  # number of the block's first line, counted from 1

    @property
    def sha256(self) -> str:
        """Digest of what was read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[list[bytes]]:
        pending: list[bytes] = []  # pieces of a line whose end has not come
        start = _BOM
        self.line = 1
        for piece in _pieces(self._source):
            self._digest.update(piece)
            pending.append(piece)
            if b"\n" not in piece and b"\r" not in piece:
                continue
            data = b"".join(pending)
            # A CR at the very end may be half of a line end.
            end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
            pending = [data[end:]]
            if end:
                lines = data[:end].removeprefix(start).splitlines()
                start = b""
                yield lines
                self.line += len(lines)
        if last := b"".join(pending).removeprefix(start):
            yield last.splitlines()


def _pieces(source: Source) -> Iterator[bytes]:
    if isinstance(source, bytes):
        view = io.BytesIO(source)
        while piece := view.read(BLOCK_BYTES):
            yield piece
    elif isinstance(source, Path):
        try:
            with source.open("rb") as file:
                while piece := file.read(BLOCK_BYTES):
                    yield piece
        except OSError as error:
            raise SpecError(f"{source}: {error.strerror}", slug="unreadable", concerns=str(source)) from None
    else:
        yield from source


def _decode_block(
    lines: list[bytes], decoder: msgspec.json.Decoder[_Row], slowly: Callable[[bytes], _Row | None]
) -> tuple[list[_Row], int]:
    """A row per line that is not blank, in order, and the number of lines that are none.

    What the typed decoder refuses is read `slowly`, which gives None for a bad line.
    """
    decode = decoder.decode
    try:
        if all(map(bytes.isascii, lines)) or b"\n".join(lines).decode():
            return [decode(line) for line in lines], 0
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    rows: list[_Row] = []
    bad = 0
    for line in lines:
        try:
            line.decode()  # the typed decoder does not look into text that it skips
            rows.append(decode(line))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            if not line.strip():
                continue
            row = slowly(line)
            if row is None:
                bad += 1
            else:
                rows.append(row)
    return rows, bad


def parse_object(line: bytes) -> dict[str, Any] | None:
    """A line as a JSON object; None if it is none."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def identity(value: Any) -> str | None:
    """A string is itself, an integer its decimal text; anything else, and an absurd integer, is None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    try:
        return str(value)
    except ValueError:
        return None


# --- rows -> arrays -----------------------------------------------------------------------------


class _Codes(dict[str, int]):
    """Class name -> number, given on first sight."""

    def __missing__(self, name: str) -> int:
        self[name] = code = len(self)
        return code


class _Collected:
    """Detections of many blocks as arrays that are joined at the end."""

    def __init__(self) -> None:
        self.codes = _Codes()
        self._image: list[np.ndarray[Any, Any]] = []
        self._label: list[np.ndarray[Any, Any]] = []
        self._values: list[np.ndarray[Any, Any]] = []

    def add(self, image: np.ndarray[Any, Any], detections: list[list[Detection]]) -> None:
        """Take the detections of some images, given by position."""
        counts = np.fromiter(map(len, detections), np.int32, len(detections))
        flat = list(chain.from_iterable(detections))
        names = [one.label for one in flat]
        numbers = chain.from_iterable([one.bbox for one in flat])
        self._image.append(np.repeat(image, counts))
        self._label.append(np.fromiter(map(self.codes.__getitem__, names), np.int32, len(flat)))
        self._values.append(np.fromiter(numbers, np.float64, 4 * len(flat)))

    def join(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], FloatArray]:
        """Image (B,), label (B,), values (B, 4)."""
        image = _joined(self._image, np.int32)
        label = _joined(self._label, np.int32)
        return image, label, _joined(self._values, np.float64).reshape(-1, 4)


def _joined(parts: list[np.ndarray[Any, Any]], dtype: Any) -> np.ndarray[Any, Any]:
    if len(parts) == 1:
        return parts[0]
    whole = np.concatenate(parts) if parts else np.empty(0, dtype)
    parts.clear()
    return whole


# --- gold ---------------------------------------------------------------------------------------


def load_gold(source: Source, *, box_format: str = "xyxy", name: str = "") -> Gold:
    """Gold, read strictly: anything wrong refuses the file. Boxes without area are kept.

    Args:
        box_format: Meaning of the four numbers.
        name: What messages call it; a path's own name if left out.

    Raises:
        SpecError: `gold_empty, gold_bad_json, gold_bad_image_id, gold_bad_size, gold_bad_boxes,
            gold_duplicate_image_id, unknown_box_format, unreadable`.
    """
    name = name or (str(source) if isinstance(source, Path) else "gold")
    kind = canonical_format(box_format)
    lines = Lines(source)
    position: dict[str, int] = {}
    sizes: list[FloatArray] = []
    collected = _Collected()
    for block in lines:
        slowly = partial(_strict_gold_row, name=name, first=lines.line, block=block)
        rows, _ = _decode_block(block, _gold_decoder, slowly)
        start = len(position)
        for row in rows:
            image_id = identity(row.image_id)
            if image_id is None:
                raise _refused(name, "gold_bad_image_id", "an image_id is too long")
            if image_id in position:
                raise _refused(name, "gold_duplicate_image_id", f"image_id {image_id!r} is there twice")
            position[image_id] = len(position)
        sizes.append(np.array([(row.width, row.height) for row in rows], np.float64).reshape(-1, 2))
        where = np.arange(start, len(position), dtype=np.int32)
        collected.add(where, [row.boxes for row in rows])
    if not position:
        raise _refused(name, "gold_empty", "no image")
    size = np.concatenate(sizes)
    ids = tuple(position)
    bad_size = ~(np.isfinite(size) & (size > 0)).all(axis=1)
    if bad_size.any():
        raise _refused(
            name, "gold_bad_size", f"image {ids[int(bad_size.argmax())]!r}: width and height must be above 0"
        )
    image, label, values = collected.join()
    corners = to_corners(values, size[image], kind)
    bad_box = ~np.isfinite(corners).all(axis=1)
    if bad_box.any():
        raise _refused(
            name, "gold_bad_boxes", f"image {ids[int(image[bad_box.argmax()])]!r}: a box is not finite"
        )
    gold = Gold(ids, size, Boxes(image, label, corners, tuple(collected.codes)), lines.sha256)
    gold.__dict__["position"] = position  # what the cached property would build again
    return gold


def _strict_gold_row(line: bytes, name: str, first: int, block: list[bytes]) -> GoldRow:
    """The row, if the rules allow it after all; else the refusal, with its line number."""
    where = f"line {first + block.index(line)}"
    value = parse_object(line)
    if value is None:
        raise _refused(name, "gold_bad_json", f"{where} is not a JSON object")
    image_id = identity(value.get("image_id"))
    if image_id is None:
        raise _refused(name, "gold_bad_image_id", f"{where}: image_id must be text or an integer")
    width, height = finite_number(value.get("width")), finite_number(value.get("height"))
    if width is None or height is None:
        raise _refused(name, "gold_bad_size", f"{where}: width and height must be numbers above 0")
    boxes = read_detections(value.get("boxes"))
    if boxes is None:
        raise _refused(name, "gold_bad_boxes", f"{where}: every box needs a class and four finite numbers")
    return GoldRow(image_id, width, height, boxes)


def _refused(name: str, slug: str, what: str) -> SpecError:
    return SpecError(f"{name}: {what}", slug=slug, concerns=name)


# --- predictions --------------------------------------------------------------------------------


def load_predictions(source: Source, gold: Gold, *, name: str = "", box_format: str = "xyxy") -> Predictions:
    """One model's answers to the images of `gold`.

    One malformed detection makes the whole answer invalid; no detection of a valid answer is dropped.

    Raises:
        SpecError: `pred_duplicate_image_id, unknown_box_format, unreadable`.
    """
    file = str(source) if isinstance(source, Path) else name or "predictions"
    kind = canonical_format(box_format)
    lines = Lines(source)
    status = np.zeros(len(gold), np.uint8)
    seen: list[np.ndarray[Any, Any]] = []
    unknown: set[str] = set()
    collected = _Collected()
    bad_lines = 0
    find = gold.position.get
    for block in lines:
        rows, bad = _decode_block(block, _prediction_decoder, _slow_prediction_row)
        bad_lines += bad
        ids = [row.image_id if row.image_id.__class__ is str else str(row.image_id) for row in rows]
        where = np.fromiter(map(find, ids, repeat(-1)), np.int32, len(ids))
        if len(where) and where.min() < 0:
            for at in np.flatnonzero(where < 0):
                if ids[at] in unknown:
                    raise _duplicate(file, ids[at])
                unknown.add(ids[at])
            rows = [row for row, at in zip(rows, where.tolist(), strict=True) if at >= 0]
            where = where[where >= 0]
        seen.append(where)
        answers = [
            row.detections if row.valid and row.detections is not None else _raw_answer(row) for row in rows
        ]
        good = np.fromiter([answer is not None for answer in answers], np.bool_, len(answers))
        status[where] = np.where(good, VALID, INVALID)
        collected.add(where[good], [answer for answer in answers if answer is not None])
    times = np.bincount(_joined(seen, np.int32), minlength=len(gold))
    if times.max() > 1:
        raise _duplicate(file, gold.image_ids[int(times.argmax())])
    image, label, values = collected.join()
    corners = to_corners(values, gold.size[image], kind)
    infinite = ~np.isfinite(corners).all(axis=1)
    if infinite.any():
        status[image[infinite]] = INVALID
        keep = status[image] == VALID
        image, label, corners = image[keep], label[keep], corners[keep]
    boxes = Boxes(image, label, corners, tuple(collected.codes))
    return Predictions(name or file, kind, status, boxes, bad_lines, len(unknown), lines.sha256)


def _raw_answer(row: PredictionRow) -> list[Detection] | None:
    """What a row without a list of detections says."""
    return parse_response(row.response) if row.valid and row.response is not None else None


def _slow_prediction_row(line: bytes) -> PredictionRow | None:
    """The row by the letter of the rules; None if it is no JSON object with an identity."""
    value = parse_object(line)
    image_id = None if value is None else identity(value.get("image_id"))
    if value is None or image_id is None:
        return None
    if value.get("valid", True) is not True:
        return PredictionRow(image_id, valid=False)
    response = value.get("response")
    if not isinstance(value.get("detections"), list) and isinstance(response, str):
        return PredictionRow(image_id, response=response)
    return PredictionRow(image_id, detections=read_detections(value.get("detections")))


def _duplicate(file: str, image_id: str) -> SpecError:
    return _refused(file, "pred_duplicate_image_id", f"image_id {image_id!r} is there twice")
