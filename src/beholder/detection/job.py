"""What the commands do, from files to results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from beholder.detection.boxes import Gold, Predictions
from beholder.detection.formats import canonical_format
from beholder.detection.jsonfile import read_json_object
from beholder.detection.read import load_gold, load_predictions
from beholder.detection.scoring import DEFAULT_THRESHOLDS, summarize, tally_models
from beholder.detection.tally import Tally, checked_thresholds, n_degenerate
from beholder.errors import SpecError


@dataclass(frozen=True)
class ScoreSpec:
    """What to score, and how.

    Attributes:
        predictions: Model -> file.
        classes: File with `class_to_domain`.
        box_formats: Model -> format; xyxy for the others.
        thresholds: IoU thresholds, the main one first; none for the defaults.
        replicates: Of the bootstrap; 0 for no intervals.
        similarity: Class-similarity matrix for the relaxed score.
        provenance: Model -> file of inference settings, carried into the output.
        inventory: List of file hashes to verify first.
        expect: Published summary that the result is compared with.
        images: Folder of the pictures.
    """

    gold: Path
    predictions: Mapping[str, Path]
    classes: Path | None = None
    box_formats: Mapping[str, str] = field(default_factory=dict)
    thresholds: Sequence[float] = ()
    beta: float | str = 2
    replicates: int = 0
    seed: int = 0
    similarity: Path | None = None
    provenance: Mapping[str, Path] = field(default_factory=dict)
    inventory: Path | None = None
    expect: Path | None = None
    images: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """Every file and folder that is read."""
        optional = (self.classes, self.similarity, self.inventory, self.expect, self.images)
        return [
            self.gold,
            *self.predictions.values(),
            *self.provenance.values(),
            *(file for file in optional if file is not None),
        ]


@dataclass(frozen=True)
class ScoreResult:
    """The summary, and what reports need beside it."""

    spec: ScoreSpec
    gold: Gold
    models: tuple[Predictions, ...]
    tallies: tuple[Tally, ...]
    domains: Mapping[str, str]
    summary: dict[str, Any]


def load_domains(path: Path) -> dict[str, str]:
    """Class -> domain.

    Raises:
        SpecError: `bad_classes`, `unreadable`.
    """
    found = read_json_object(path, "bad_classes").get("class_to_domain")
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise SpecError(
            f'{path}: expected {{"class_to_domain": {{class: domain}}}}',
            slug="bad_classes",
            concerns=str(path),
        )
    return found


def run_score(spec: ScoreSpec) -> ScoreResult:
    """Read, match, count, and what else was asked for.

    Raises:
        SpecError: See the loaders; `inventory_mismatch`.
    """
    thresholds = checked_thresholds(spec.thresholds or DEFAULT_THRESHOLDS)
    formats = {name: canonical_format(spec.box_formats.get(name, "xyxy")) for name in spec.predictions}
    domains = load_domains(spec.classes) if spec.classes else {}
    settings = {name: read_json_object(file, "bad_provenance") for name, file in spec.provenance.items()}
    inventory = _verified(spec.inventory) if spec.inventory else None
    gold = load_gold(spec.gold)
    models = tuple(
        replace(
            load_predictions(file, gold, name=name, box_format=formats[name]),
            provenance=settings.get(name, {}),
        )
        for name, file in spec.predictions.items()
    )
    tallies = tuple(tally_models(gold, models, thresholds))
    summary = summarize(gold, models, tallies, domains=domains, beta=spec.beta)
    if inventory is not None:
        summary["inventory"] = inventory
    if spec.replicates:
        from beholder.detection.uncertainty import bootstrap

        summary["bootstrap"] = bootstrap(
            gold, models, tallies, domains=domains, beta=spec.beta, replicates=spec.replicates, seed=spec.seed
        )
    if spec.similarity:
        from beholder.detection.relax import load_similarity, relaxed_scores

        similarity = load_similarity(spec.similarity)
        summary["semantic"] = relaxed_scores(gold, models, similarity, thresholds=thresholds, beta=spec.beta)
    return ScoreResult(spec, gold, models, tallies, domains, summary)


def _verified(inventory: Path) -> dict[str, Any]:
    from beholder.detection.inventory import verify_inventory

    found = verify_inventory(inventory)
    if found["changed"] or found["missing"]:
        names = ", ".join([*found["changed"], *found["missing"]][:5])
        raise SpecError(
            f"{inventory}: {len(found['changed'])} files changed, {len(found['missing'])} missing: {names}",
            slug="inventory_mismatch",
            concerns=str(inventory),
        )
    return found


def write_results(result: ScoreResult, out_dir: Path, *, parquet: bool = False) -> list[Path]:
    """Summary, tables, Markdown and page in a folder that holds no input.

    Raises:
        SpecError: `out_dir_is_input`, `unwritable`.
        MissingTool: `parquet` without pyarrow.
    """
    from beholder.detection.markdown import markdown_report
    from beholder.detection.page import html_page
    from beholder.detection.tables import csv_text, per_class_table, per_image_table, write_parquet
    from beholder.detection.write import safe_out_dir, strict_json, write_text

    folder = safe_out_dir(out_dir, result.spec.inputs)
    tables = {
        "per_class": per_class_table(result.summary, result.domains),
        "per_image": per_image_table(result.gold, result.models, result.tallies),
    }
    written = [write_text(folder / "summary.json", strict_json(result.summary) + "\n")]
    for name, table in tables.items():
        written.append(write_text(folder / f"{name}.csv", csv_text(table)))
        if parquet:
            write_parquet(table, folder / f"{name}.parquet")
            written.append(folder / f"{name}.parquet")
    written.append(write_text(folder / "REPORT.md", markdown_report(result.summary)))
    written.append(write_text(folder / "report.html", html_page(result, images=result.spec.images)))
    return written


def check_files(
    gold_file: Path | None,
    predictions: Mapping[str, Path],
    box_formats: Mapping[str, str],
    *,
    inventory: Path | None = None,
) -> dict[str, Any]:
    """What is odd about the files; nothing is scored and nothing is changed.

    Raises:
        SpecError: See the loaders.
    """
    from beholder.detection.check import fit_of_readings, format_warning
    from beholder.detection.inventory import verify_inventory

    report: dict[str, Any] = {"warnings": []}
    if inventory is not None:
        report["inventory"] = verify_inventory(inventory)
    if gold_file is None:
        return report
    gold = load_gold(gold_file)
    report["gold"] = {
        "images": len(gold),
        "boxes": len(gold.boxes),
        "degenerate": n_degenerate(gold.boxes),
        "negative_images": int((gold.n_boxes == 0).sum()),
        "sha256": gold.sha256,
    }
    report["models"] = {}
    for name, file in predictions.items():
        declared = canonical_format(box_formats.get(name, "xyxy"))
        model = load_predictions(file, gold, name=name, box_format=declared)
        plain = load_predictions(file, gold, name=name)  # the numbers as they stand
        fits = fit_of_readings(gold, plain, plain.boxes.corners)
        warning = format_warning(declared, fits)
        report["models"][name] = {
            "box_format": declared,
            "valid": int(model.valid.sum()),
            "invalid": int((model.status == 1).sum()),
            "missing": int((model.status == 0).sum()),
            "bad_lines": model.bad_lines,
            "unknown_images": model.unknown_images,
            "detections": len(model.boxes),
            "degenerate": n_degenerate(model.boxes),
            "out_of_image": model.n_outside(gold),
            "classes_not_in_gold": sorted(set(model.boxes.classes) - set(gold.boxes.classes)),
            "mean_best_iou": fits,
            "sha256": model.sha256,
        }
        if warning is not None:
            report["warnings"].append({"model": name, **warning})
    return report


def draw_scenes(
    gold: Gold,
    models: Sequence[Predictions],
    threshold: float,
    *,
    image_ids: Sequence[str],
    worst: int | None,
    images: Path | None,
    out: Path,
) -> list[dict[str, Any]]:
    """Draw images, or the worst of each model, into one picture; what was drawn, in order.

    Raises:
        SpecError: `unknown_image`, `nothing_to_draw`, `unwritable`, `bad_iou_threshold`.
    """
    from beholder.detection.draw import contact_sheet, find_picture, load_picture, render_scene, with_key
    from beholder.detection.scene import scenes, worst_images

    for image_id in image_ids:
        if image_id not in gold.position:
            raise SpecError(f"gold has no image {image_id!r}", slug="unknown_image", concerns=image_id)
    tallies = tally_models(gold, models, [threshold])
    pictures, drawn = [], []
    for model, tally in zip(models, tallies, strict=True):
        wanted = [gold.position[name] for name in image_ids] or worst_images(gold, tally, worst or 0)
        for scene in scenes(gold, model, wanted, threshold):
            file = find_picture(images, scene.image_id) if images else None
            picture = load_picture(file) if file else None
            pictures.append(render_scene(scene, picture))
            drawn.append(
                {
                    "image_id": scene.image_id,
                    "model": scene.model,
                    "tp": scene.count("hit"),
                    "fp": scene.count("false"),
                    "fn": scene.count("missed"),
                    "picture": None if picture is None else str(file),
                }
            )
    if not pictures:
        raise SpecError("no image has an error: nothing to draw", slug="nothing_to_draw", concerns="--worst")
    sheet = with_key(pictures[0]) if len(pictures) == 1 else contact_sheet(pictures)
    try:
        sheet.save(out)
    except (OSError, ValueError) as error:
        raise SpecError(f"{out}: {error}", slug="unwritable", concerns=str(out)) from None
    return drawn
