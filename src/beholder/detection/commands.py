"""`beholder detect`: argv -> one call -> exit code. The work is in the modules beside it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beholder.detection.flags import (
    PATH,
    formats_option,
    gold_option,
    iou_option,
    json_flag,
    named_paths,
    option,
    per_model,
    predictions_option,
    read_thresholds,
    seed_option,
)
from beholder.errors import ConfigError

if TYPE_CHECKING:
    from beholder.detection.boxes import Gold, Predictions

EXIT_DIFFERENT = 3


@click.group(epilog="Example: beholder detect demo")
def detect() -> None:
    """Boxes: exact scores with intervals, agreement of annotators; no model is called."""


# --- score --------------------------------------------------------------------------------------


@detect.command(
    epilog="Example: beholder detect score --gold gold.jsonl --predictions yolo=yolo.jsonl --out-dir scores"
)
@gold_option
@predictions_option
@option("--classes", "classes_file", type=PATH, help='JSON: {"class_to_domain": {class: domain}}.')
@formats_option
@iou_option
@option("--beta", default="2", show_default=True, help="F_beta: above 1 weighs recall more.")
@option("--bootstrap", type=int, default=0, metavar="N", help="Replicates over images, such as 2000.")
@seed_option
@option("--similarity", type=PATH, help="Class-similarity matrix, CSV: a second, relaxed score.")
@option("--expect", "expect_file", type=PATH, help="Published summary; exit 3 if a number differs.")
@option(
    "--provenance", multiple=True, metavar="[NAME=]FILE", help="JSON with a model's inference settings, kept."
)
@option("--inventory", type=PATH, help="List of file hashes to verify first.")
@option("--images", type=PATH, help="Folder of the pictures, for the page's worst images.")
@option("--out-dir", type=PATH, help="Where summary, tables, Markdown and page go.")
@option("--parquet", is_flag=True, help="Tables as Parquet too (needs pyarrow).")
@json_flag
def score(**flags: Any) -> None:
    """Score predictions against gold."""
    from beholder.detection.expect import check_summary, load_expected
    from beholder.detection.job import ScoreSpec, run_score, write_results
    from beholder.detection.write import refuse_input_folder

    prediction_files = named_paths(flags["prediction_files"], "--predictions")
    spec = ScoreSpec(
        gold=flags["gold_file"],
        predictions=prediction_files,
        classes=flags["classes_file"],
        box_formats=per_model(flags["box_formats"], prediction_files, "--box-format"),
        thresholds=flags["thresholds"],
        beta=flags["beta"],
        replicates=flags["bootstrap"],
        seed=flags["seed"],
        similarity=flags["similarity"],
        provenance={
            name: Path(file)
            for name, file in per_model(flags["provenance"], prediction_files, "--provenance").items()
        },
        inventory=flags["inventory"],
        expect=flags["expect_file"],
        images=flags["images"],
    )
    if flags["parquet"] and flags["out_dir"] is None:
        raise ConfigError("--parquet writes tables: name an --out-dir", concerns="--parquet")
    if flags["out_dir"] is not None:
        refuse_input_folder(flags["out_dir"], spec.inputs)  # before the work, not after it
    expected = None if spec.expect is None else load_expected(spec.expect)
    result = run_score(spec)
    if flags["out_dir"] is not None:
        for file in write_results(result, flags["out_dir"], parquet=flags["parquet"]):
            _say(f"Written: {file}")
    outcome = None if expected is None else check_summary(expected, result.summary)
    if flags["as_json"]:
        _print_json(result.summary if outcome is None else {**result.summary, "expect": outcome})
    else:
        from beholder.detection.markdown import plain_summary

        click.echo(plain_summary(result.summary))
    if outcome is not None:
        _say_differences(outcome, flags["expect_file"])


def _say_differences(outcome: Mapping[str, Any], file: Path) -> None:
    differences = outcome["differences"]
    if not differences:
        _say(f"Every value of {file} is equal: {outcome['compared']} compared.")
        return
    for line in differences[:20]:
        found = "missing" if line.get("missing") else repr(line["found"])
        _say(f"{line['where']}: expected {line['expected']!r}, found {found}")
    _say(f"{len(differences)} of {outcome['compared']} values differ from {file}.")
    sys.exit(EXIT_DIFFERENT)


# --- agreement ----------------------------------------------------------------------------------


@detect.command(epilog="Example: beholder detect agreement --annotations annotations.jsonl --bootstrap 2000")
@option("--annotations", "annotations_file", required=True, type=PATH, help="Annotations, JSONL.")
@option("--iou", "thresholds", multiple=True, callback=read_thresholds, help="IoU threshold.  [default: 0.5]")
@option("--classes", "classes_file", type=PATH, help="Classes that annotators could choose, JSON.")
@option("--bootstrap", type=int, default=0, metavar="N", help="Replicates over images, such as 2000.")
@seed_option
@option("--expect", "expect_file", type=PATH, help="Published figures; exit 3 if a number differs.")
@json_flag
def agreement(
    annotations_file: Path,
    thresholds: tuple[float, ...],
    classes_file: Path | None,
    bootstrap: int,
    seed: int,
    expect_file: Path | None,
    *,
    as_json: bool,
) -> None:
    """How far annotators agree: alpha, kappa, F1 of class sets and of boxes."""
    from beholder.detection.agree import agreement as agree
    from beholder.detection.annotations import load_annotations
    from beholder.detection.expect import check_summary, load_expected_agreement
    from beholder.detection.job import load_domains

    expected = None if expect_file is None else load_expected_agreement(expect_file)
    found = agree(
        load_annotations(annotations_file),
        thresholds=thresholds or (0.5,),
        classes=tuple(load_domains(classes_file)) if classes_file else (),
        replicates=bootstrap,
        seed=seed,
    )
    outcome = None if expected is None else check_summary(expected, found)
    if outcome is not None:
        found["expect"] = outcome
    if as_json:
        _print_json(found)
    else:
        from beholder.detection.markdown import plain_agreement

        click.echo(plain_agreement(found))
    if outcome is not None and expect_file is not None:
        _say_differences(outcome, expect_file)


# --- render -------------------------------------------------------------------------------------


@detect.command(
    epilog="Example: beholder detect render --gold gold.jsonl --predictions a=a.jsonl --worst 9 -o out/w.png"
)
@gold_option
@predictions_option
@formats_option
@option("--iou", "threshold", type=float, default=0.5, show_default=True, help="IoU threshold.")
@option("--image-id", "image_ids", multiple=True, help="Image to draw; several times: a contact sheet.")
@option("--worst", type=click.IntRange(min=1), help="The N images with most errors, as a contact sheet.")
@option("--images", type=PATH, help="Folder of the pictures; grey ground without it.")
@option("-o", "--out", required=True, type=PATH, help="Picture to write: .png, .jpg, .webp.")
@json_flag
def render(
    gold_file: Path,
    prediction_files: tuple[str, ...],
    box_formats: tuple[str, ...],
    threshold: float,
    image_ids: tuple[str, ...],
    worst: int | None,
    images: Path | None,
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Draw gold and predicted boxes with what became of each."""
    from beholder.detection.job import draw_scenes
    from beholder.detection.words import printable
    from beholder.detection.write import safe_out_dir

    if bool(image_ids) == bool(worst):
        raise ConfigError("say either --image-id or --worst N", concerns="--worst")
    gold, models = _load(gold_file, prediction_files, box_formats)
    files = named_paths(prediction_files, "--predictions").values()
    safe_out_dir(out.parent, [gold_file, *files, *([images] if images else [])])
    drawn = draw_scenes(gold, models, threshold, image_ids=image_ids, worst=worst, images=images, out=out)
    if as_json:
        _print_json({"written": str(out), "images": drawn})
        return
    for one in drawn:
        missing = "" if one["picture"] or images is None else "  (no picture found)"
        counts = f"TP {one['tp']}  FP {one['fp']}  FN {one['fn']}{missing}"
        click.echo(f"{printable(one['image_id'])}  {printable(one['model'])}  {counts}")
    click.echo(f"Written: {out}")


# --- convert ------------------------------------------------------------------------------------


@detect.command(epilog="Example: beholder detect convert coco.json --from coco --kind gold -o new/gold.jsonl")
@click.argument("source", type=PATH)
@option("--from", "source_format", required=True, help="jsonl, coco, yolo, voc, raw.")
@option("--to", "target_format", default="jsonl", show_default=True, help="jsonl, coco, yolo, voc.")
@option("--kind", type=click.Choice(["gold", "predictions"]), required=True, help="What the file holds.")
@option("--gold", "gold_file", type=PATH, help="Gold of predictions: sizes, ids, COCO categories.")
@option("--names", type=PATH, help="Class names, one a line, for yolo.")
@option("--images", type=PATH, help="Folder of the pictures, for sizes that yolo does not tell.")
@option("--box-format", default="xyxy", show_default=True, help="Of jsonl and raw boxes.")
@option("--id-from", type=click.Choice(["id", "file_name"]), default="id", help="A COCO image's id.")
@option("-o", "--out", required=True, type=PATH, help="File (jsonl, coco) or folder (yolo, voc).")
@json_flag
def convert(**flags: Any) -> None:
    """Box files of other tools to ours and back; what was done is recorded beside the result."""
    from beholder.detection.converting import ConvertSpec, run_convert

    as_json = flags.pop("as_json")
    flags["gold"] = flags.pop("gold_file")
    record = run_convert(ConvertSpec(**flags))
    if as_json:
        _print_json(record)
        return
    click.echo(f"Written: {record['out']}  {record['images']} images, {record['boxes']} boxes")
    for note in record["notes"]:
        _say(note)


# --- check --------------------------------------------------------------------------------------


@detect.command(epilog="Example: beholder detect check --gold gold.jsonl --predictions a=a.jsonl")
@option("--gold", "gold_file", type=PATH, help="Gold boxes, JSONL.")
@option("--predictions", "prediction_files", multiple=True, metavar="[NAME=]FILE", help="Answers, JSONL.")
@formats_option
@option("--inventory", type=PATH, help="List of file hashes to verify.")
@json_flag
def check(
    gold_file: Path | None,
    prediction_files: tuple[str, ...],
    box_formats: tuple[str, ...],
    inventory: Path | None,
    *,
    as_json: bool,
) -> None:
    """Read everything, score nothing: coverage, odd boxes, a box format that does not fit, file hashes."""
    from beholder.detection.job import check_files

    if gold_file is None and inventory is None:
        raise ConfigError("say --gold (with --predictions) or --inventory", concerns="--gold")
    if gold_file is None and prediction_files:
        raise ConfigError("--predictions needs --gold", concerns="--gold")
    files = named_paths(prediction_files, "--predictions")
    report = check_files(gold_file, files, per_model(box_formats, files, "--box-format"), inventory=inventory)
    if as_json:
        _print_json(report)
    else:
        from beholder.detection.markdown import plain_check

        click.echo(plain_check(report))
    if report.get("inventory") and (report["inventory"]["changed"] or report["inventory"]["missing"]):
        _say("Files differ from the inventory.")
        sys.exit(EXIT_DIFFERENT)


# --- demo ---------------------------------------------------------------------------------------


@detect.command(epilog="Example: beholder detect demo --out-dir boxes")
@option("--out-dir", type=PATH, default=Path("beholder-detect-demo"), show_default=True, help="Results.")
@json_flag
def demo(out_dir: Path, *, as_json: bool) -> None:
    """Score two invented models on forty invented street images: real numbers, no model, no network."""
    from beholder.detection.demo import run_demo
    from beholder.detection.markdown import plain_summary

    result, written = run_demo(out_dir)
    if as_json:
        _print_json(result.summary)
        return
    click.echo(plain_summary(result.summary))
    for file in written:
        click.echo(f"Written: {file}")


# --- helpers ------------------------------------------------------------------------------------


def _load(
    gold_file: Path, prediction_files: Sequence[str], box_formats: Sequence[str]
) -> tuple[Gold, list[Predictions]]:
    from beholder.detection.read import load_gold, load_predictions

    files = named_paths(prediction_files, "--predictions")
    formats = per_model(box_formats, files, "--box-format")
    gold = load_gold(gold_file)
    return gold, [
        load_predictions(file, gold, name=name, box_format=formats.get(name, "xyxy"))
        for name, file in files.items()
    ]


def _say(line: str) -> None:
    from beholder.detection.words import printable

    click.echo(printable(line), err=True)


def _print_json(value: Any) -> None:
    from beholder.detection.write import strict_json

    sys.stdout.buffer.write(strict_json(value).encode() + b"\n")
    sys.stdout.flush()
