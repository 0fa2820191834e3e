"""Other box files -> our JSONL, and back. The format is declared, converted once, and recorded.

    jsonl   our own (read.py)
    coco    one COCO JSON file
    yolo    a folder of text files, class names beside it
    voc     a folder of Pascal VOC XML files
    raw     a folder of raw replies

Each has a module of its name; `foreign` is what they share. Here is which reader, which writer, and the
record of what was done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beholder.detection.coco import coco_document, read_coco, read_coco_results
from beholder.detection.foreign import Record, check_class_names, classes_of, plain_name, read_text
from beholder.detection.formats import canonical_format
from beholder.detection.inventory import file_sha256
from beholder.detection.jsonl import gold_records, jsonl_text, prediction_records
from beholder.detection.raw import read_raw
from beholder.detection.read import load_gold, load_predictions
from beholder.detection.voc import read_voc, voc_text
from beholder.detection.write import is_folder, refuse_input_folder, safe_out_dir, strict_json, write_text
from beholder.detection.yolo import read_yolo, yolo_text
from beholder.errors import SpecError

SOURCES = ("jsonl", "coco", "yolo", "voc", "raw")
TARGETS = ("jsonl", "coco", "yolo", "voc")

RESULTS_NOTE = (
    "COCO results have no row for an image without a detection: such images were written as valid and empty."
)


@dataclass(frozen=True)
class ConvertSpec:
    """What to convert.

    Attributes:
        source: A file, or a folder for yolo, voc and raw.
        kind: "gold" or "predictions".
        gold: JSONL gold, or the COCO gold file of COCO results.
        names: Class names by number, for yolo.
        images: Pictures that tell sizes, for yolo.
        box_format: What the numbers of jsonl and raw mean; the others say it themselves.
        id_from: "id" or "file_name" of a COCO image.
    """

    source: Path
    source_format: str
    out: Path
    kind: str
    target_format: str = "jsonl"
    gold: Path | None = None
    names: Path | None = None
    images: Path | None = None
    box_format: str = "xyxy"
    id_from: str = "id"


def run_convert(spec: ConvertSpec) -> dict[str, Any]:
    """Convert, and write what was done to `<out>.convert.json`.

    Raises:
        SpecError: `bad_convert`, a combination that makes no sense; `bad_convert_input`; `out_dir_is_input`,
            `out_not_empty`, `unwritable`; those of the readers.
    """
    if spec.source_format not in SOURCES or spec.target_format not in TARGETS:
        raise _misuse(f"from {spec.source_format} to {spec.target_format}: one of them is unknown")
    _check_out(spec)
    box_format = canonical_format(spec.box_format)
    if spec.source_format not in {"jsonl", "raw"} and box_format != "xyxy":
        raise _misuse(f"{spec.source_format} says itself what its numbers mean; leave --box-format off")
    records, notes = _read(spec)
    _write(spec, records)
    declared = {"coco": "xywh", "yolo": "cxcywh_norm", "voc": "xyxy"}.get(spec.source_format, box_format)
    record = {
        "source": str(spec.source),
        "sha256": _digest(spec.source),
        "from": spec.source_format,
        "to": spec.target_format,
        "kind": spec.kind,
        "box_format": declared,
        "out": str(spec.out),
        "images": len(records),
        "invalid": sum(one.boxes is None for one in records),
        "boxes": sum(len(one.boxes or []) for one in records),
        "notes": notes,
    }
    write_text(_beside(spec.out, ".convert.json"), strict_json(record) + "\n")
    return record


def _beside(out: Path, suffix: str) -> Path:
    return out.with_name(out.name + suffix)


def _check_out(spec: ConvertSpec) -> None:
    """Nothing is written among the inputs, and no folder mixes two conversions."""
    if not spec.out.name:
        raise _misuse(f"{spec.out} is no name for a result")
    inputs = [spec.source, *(path for path in (spec.gold, spec.names, spec.images) if path is not None)]
    safe_out_dir(spec.out.parent, inputs)
    if spec.target_format in {"yolo", "voc"}:
        refuse_input_folder(spec.out, inputs)
        if is_folder(spec.out) and any(spec.out.iterdir()):
            raise SpecError(
                f"{spec.out} is not empty; name a new folder, so that nothing stale is among the result",
                slug="out_not_empty",
                concerns=str(spec.out),
            )


def _read(spec: ConvertSpec) -> tuple[list[Record], list[str]]:
    is_gold = spec.kind == "gold"
    if spec.source_format == "jsonl":
        if is_gold:
            return gold_records(load_gold(spec.source, box_format=spec.box_format)), []
        gold = load_gold(_needed(spec.gold, "--gold"))
        model = load_predictions(spec.source, gold, box_format=spec.box_format)
        notes = [f"{model.bad_lines} lines and {model.unknown_images} rows of unknown images were left out."]
        return prediction_records(model, gold), notes if model.bad_lines or model.unknown_images else []
    if spec.source_format == "coco":
        text, by_name = read_text(spec.source), spec.id_from == "file_name"
        if is_gold or not text.lstrip().startswith("["):
            return read_coco(text, str(spec.source), by_file_name=by_name, strict=is_gold), []
        gold_text = read_text(_needed(spec.gold, "--gold"))
        found = read_coco_results(text, str(spec.source), gold_text, by_file_name=by_name)
        return found, [RESULTS_NOTE]
    if spec.source_format == "voc":
        return read_voc(spec.source, strict=is_gold), []
    if spec.source_format == "yolo":
        names = read_text(_needed(spec.names, "--names")).splitlines()
        return read_yolo(spec.source, names, _sizes(spec), strict=is_gold), []
    if is_gold:
        raise _misuse("raw replies are predictions")
    return read_raw(spec.source, _sizes(spec), spec.box_format), []


def _sizes(spec: ConvertSpec) -> Mapping[str, tuple[float, float]]:
    """Width and height per image id, of gold or of the pictures."""
    if spec.gold is not None:
        gold = load_gold(spec.gold)
        return {name: (w, h) for name, (w, h) in zip(gold.image_ids, gold.size.tolist(), strict=True)}
    from beholder.detection.draw import picture_size

    folder = _needed(spec.images, "--gold or --images")
    if not folder.is_dir():
        raise _misuse(f"{folder} is no folder")
    sizes = {file.stem: picture_size(file) for file in sorted(folder.iterdir()) if file.is_file()}
    return {name: size for name, size in sizes.items() if size is not None}


def _write(spec: ConvertSpec, records: Sequence[Record]) -> None:
    out = spec.out
    if spec.target_format == "jsonl":
        write_text(out, jsonl_text(records, spec.kind))
        return
    if any(record.boxes is None for record in records):
        raise _misuse(f"{spec.target_format} cannot say that an answer is malformed; only jsonl can")
    classes = classes_of(records)
    if spec.target_format == "coco":
        write_text(out, strict_json(coco_document(records, classes)) + "\n")
        return
    check_class_names(classes, spec.target_format)
    names = {record.image_id: plain_name(record.image_id) for record in records}
    folder = safe_out_dir(out, [])
    for record in records:
        if spec.target_format == "yolo":
            write_text(folder / f"{names[record.image_id]}.txt", yolo_text(record, classes))
        else:
            write_text(folder / f"{names[record.image_id]}.xml", voc_text(record))
    if spec.target_format == "yolo":
        write_text(_beside(out, ".names"), "".join(f"{name}\n" for name in classes))


def _needed(path: Path | None, flag: str) -> Path:
    if path is None:
        raise _misuse(f"this needs {flag}")
    return path


def _digest(source: Path) -> str:
    """Of a file's bytes; of a folder, of its files' names and digests, sorted."""
    if source.is_dir():
        lines = [f"{_digest(file)}  {file.name}\n" for file in sorted(source.iterdir()) if file.is_file()]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return file_sha256(source)


def _misuse(what: str) -> SpecError:
    return SpecError(what, slug="bad_convert")
