"""Boxes: how long an exact score takes, and its intervals.

Generated data of the size of a published benchmark: 11,534 images, 40 classes, 6 models, three IoUs.
Equality first, then time; every contender in a process of its own, timed from opening the files to the last
number, imports left out:

    typed_read   msgspec reads gold and six files into typed objects: the floor for any scorer of these files
    beholder     the same files to the whole summary: counts, ratios, both scopes, digests
    messy        beholder on files in which one row in ten is malformed or a raw reply
    bootstrap    2,000 replicates of every figure, percentile and BCa intervals, paired tests (CPU seconds)
    replicates   of that only what the loop does too: every figure of 2,000 replicates
    loop         ten replicates by the usual loop over resampled images, on counts that are matched already
    pycocotools, faster_coco_eval   the same thresholds, one area, 100 detections (need --peer-python)

Equality: every cell (image, class) has as many matches as scipy's maximum matching finds in it; at least as
many as pycocotools', and exactly as many where no box has two partners; the loop's figures equal the
replicates of the same draws.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
IMAGES, CLASSES, MODELS = 11_534, 40, 6
THRESHOLDS = [0.5, 0.3, 0.4]
REPLICATES, LOOPED = 2000, 10


# --- data ---------------------------------------------------------------------------------------


def generate(folder: Path, n_images: int, n_models: int, *, messy: bool = False) -> None:
    """Gold and predictions: a fifth of the images empty, few classes an image, models of falling quality."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, CLASSES + 1) ** 0.7
    share /= share.sum()
    count = np.where(rng.random(n_images) < 0.2, 0, np.minimum(1 + rng.geometric(0.4, n_images), 12))
    image = np.repeat(np.arange(n_images), count)
    main = rng.choice(CLASSES, n_images, p=share)
    label = np.where(rng.random(len(image)) < 0.6, main[image], rng.choice(CLASSES, len(image), p=share))
    size = np.stack([rng.integers(640, 1600, n_images), rng.integers(480, 1200, n_images)], axis=1)
    extent = size[image] * rng.uniform(0.05, 0.4, (len(image), 2))
    start = (size[image] - extent) * rng.random((len(image), 2))
    box = np.concatenate([start, start + extent], axis=1)
    write_rows(folder / "gold.jsonl", size, image, label, box, "boxes", messy=False)
    for m in range(n_models):
        rng = np.random.default_rng([0, m + 1])
        kept = rng.random(len(image)) < 0.85 - 0.06 * m
        twice = kept & (rng.random(len(image)) < 0.1)
        blur = rng.normal(0, 0.04 + 0.02 * m, (len(image), 4)) * np.tile(extent, 2)
        seen = np.where(rng.random(len(image)) < 0.1, rng.choice(CLASSES, len(image), p=share), label)
        wrong = np.repeat(np.arange(n_images), rng.poisson(0.5, n_images))
        wrong_extent = size[wrong] * rng.uniform(0.05, 0.4, (len(wrong), 2))
        wrong_start = (size[wrong] - wrong_extent) * rng.random((len(wrong), 2))
        invented = np.concatenate([wrong_start, wrong_start + wrong_extent], axis=1)
        write_rows(
            folder / f"m{m}.jsonl",
            size,
            np.concatenate([image[kept], wrong, image[twice]]),
            np.concatenate([seen[kept], rng.choice(CLASSES, len(wrong), p=share), label[twice]]),
            np.concatenate([(box + blur)[kept], invented, (box + 1.5 * blur)[twice]]),
            "detections",
            messy=messy,
        )


def write_rows(path: Path, size: Any, image: Any, label: Any, box: Any, key: str, *, messy: bool) -> None:
    """One JSONL file."""
    order = np.argsort(image, kind="stable")
    image, label, box = image[order], label[order], np.round(box[order], 2)
    start = np.searchsorted(image, np.arange(len(size) + 1))
    with path.open("w") as file:
        for at, (width, height) in enumerate(size.tolist()):
            here = slice(start[at], start[at + 1])
            pairs = zip(label[here].tolist(), box[here].tolist(), strict=True)
            boxes: Any = [{"class": f"class_{k:02d}", "bbox": b} for k, b in pairs]
            row: dict[str, Any] = {"image_id": f"img_{at:07d}"}
            if key == "boxes":
                row |= {"width": width, "height": height, "boxes": boxes}
            elif messy and at % 20 == 3:
                row |= {"valid": True, "detections": [*boxes, {"class": "class_00", "bbox": [1, 2, None, 4]}]}
            elif messy and at % 20 == 13:
                row |= {"response": f"```json\n{json.dumps(boxes)}\n```"}
            else:
                row |= {"valid": True, "detections": boxes}
            file.write(json.dumps(row) + "\n")


def write_coco(folder: Path) -> None:
    """The same boxes for the peers."""
    gold = [json.loads(line) for line in (folder / "gold.jsonl").open()]
    document: dict[str, Any] = {"images": [], "annotations": []}
    document["categories"] = [{"id": k, "name": f"class_{k:02d}"} for k in range(CLASSES)]
    for at, row in enumerate(gold):
        document["images"].append({"id": at, "width": row["width"], "height": row["height"]})
        for one in row["boxes"]:
            box = coco_box(one)
            document["annotations"].append(
                {**box, "id": len(document["annotations"]) + 1, "image_id": at, "iscrowd": 0}
            )
    (folder / "gold.json").write_text(json.dumps(document))
    for file in sorted(folder.glob("m*.jsonl")):
        rows = [json.loads(line) for line in file.open()]
        results = [
            {**coco_box(one), "image_id": at, "score": 1.0}
            for at, row in enumerate(rows)
            for one in row["detections"]
        ]
        file.with_suffix(".json").write_text(json.dumps(results))


def coco_box(one: dict[str, Any]) -> dict[str, Any]:
    """A box as COCO has it."""
    x1, y1, x2, y2 = one["bbox"]
    w, h = x2 - x1, y2 - y1
    return {"category_id": int(one["class"][-2:]), "bbox": [x1, y1, w, h], "area": w * h}


# --- contenders, each called in a fresh process: (what it found, what it took) -------------------


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What the work returns, its wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def typed_read(folder: Path) -> dict[str, float]:
    """Every row as typed objects, nothing else."""
    import msgspec

    four = tuple[float, float, float, float]
    detection = msgspec.defstruct("Detection", [("label", str), ("bbox", four)], rename={"label": "class"})
    gold_row = msgspec.defstruct(
        "GoldRow", [("image_id", str), ("width", float), ("height", float), ("boxes", list[detection])]
    )
    row = msgspec.defstruct("Row", [("image_id", str), ("detections", list[detection])])

    def work() -> int:
        n = len(msgspec.json.Decoder(gold_row).decode_lines((folder / "gold.jsonl").read_bytes()))
        decoder = msgspec.json.Decoder(row)
        return n + sum(
            len(decoder.decode_lines(file.read_bytes())) for file in sorted(folder.glob("m*.jsonl"))
        )

    return timed(work)[1]


def load(folder: Path) -> Any:
    """Gold and models, by beholder."""
    from beholder.detection.read import load_gold, load_predictions

    gold = load_gold(folder / "gold.jsonl")
    return gold, [load_predictions(file, gold, name=file.stem) for file in sorted(folder.glob("m*.jsonl"))]


def beholder(folder: Path) -> dict[str, float]:
    """Files to summary."""
    from beholder.detection import read, scoring, uncertainty  # noqa: F401 - imports are left out of the time
    from beholder.detection.scoring import summarize, tally_models

    def work() -> Any:
        gold, models = load(folder)
        return summarize(gold, models, tally_models(gold, models, THRESHOLDS))

    return timed(work)[1]


def bootstrap(folder: Path) -> dict[str, float]:
    """Everything that the bootstrap gives, from counts."""
    import scipy.sparse
    import scipy.special  # noqa: F401 - imports are left out of the time

    from beholder.detection.scoring import tally_models
    from beholder.detection.uncertainty import bootstrap as run

    gold, models = load(folder)
    tallies = tally_models(gold, models, THRESHOLDS)
    return timed(lambda: run(gold, models, tallies, replicates=REPLICATES))[1]


def replicates(folder: Path) -> dict[str, float]:
    """What the loop does and no more: the figures of every replicate, by matrix products."""
    import scipy.sparse  # noqa: F401 - imports are left out of the time

    from beholder.detection.pools import make_pools, task_figures
    from beholder.detection.replicates import (
        gold_matrix,
        model_matrix,
        population,
        products,
        unfold_gold,
        unfold_model,
    )
    from beholder.detection.scoring import tally_models
    from beholder.stats.bootstrap import resampling_counts

    gold, models = load(folder)
    tallies = tally_models(gold, models, THRESHOLDS)
    n = len(gold)

    def work() -> float:
        people = population(np.ones(n, np.bool_), np.arange(n))
        pools = make_pools(tallies[0].classes, {}, 2)
        matrices = [
            gold_matrix(tallies[0], people, gold.n_boxes == 0),
            *(model_matrix(t, people) for t in tallies),
        ]
        first, *others = products(matrices, resampling_counts, (0, 0), n, REPLICATES)
        in_gold, _ = unfold_gold(first, tallies[0])
        total = 0.0
        for tally, product in zip(tallies, others, strict=True):
            for task, (tp, p) in unfold_model(product, tally).tasks.items():
                total += float(task_figures(tp, p, in_gold[task], pools)[2, -3].sum())
        return total

    return timed(work)[1]


def loop(folder: Path) -> dict[str, float]:
    """The usual loop: draw images, add up their counts per class, compute every figure; ten replicates.

    Checked against the matrix products on the same draws.
    """
    from beholder.detection.replicates import (
        gold_matrix,
        model_matrix,
        population,
        products,
        unfold_gold,
        unfold_model,
    )
    from beholder.detection.scoring import tally_models
    from beholder.stats.bootstrap import resampling_counts

    gold, models = load(folder)
    tallies = tally_models(gold, models, THRESHOLDS)
    n = len(gold)
    per_image: list[list[dict[int, list[int]]]] = []
    for tally in tallies:
        cells: list[dict[int, list[int]]] = [{} for _ in range(n)]
        rows = zip(tally.image, tally.label, tally.gold, tally.predicted, tally.matched, strict=True)
        for image, label, g, p, matched in rows:
            cells[image][int(label)] = [int(g), int(p), *map(int, matched)]
        per_image.append(cells)
    weights = resampling_counts(np.random.default_rng([0, 0]), n, LOOPED)
    draws = [np.repeat(np.arange(n), weights[:, r].astype(int)).tolist() for r in range(LOOPED)]

    def work() -> list[list[list[float]]]:
        return [[replicate(cells, draw) for cells in per_image] for draw in draws]

    found, took = timed(work)
    people = population(np.ones(n, np.bool_), np.arange(n))
    matrices = [
        gold_matrix(tallies[0], people, gold.n_boxes == 0),
        *(model_matrix(t, people) for t in tallies),
    ]
    first, *others = products(matrices, resampling_counts, (0, 0), n, LOOPED)
    in_gold, _ = unfold_gold(first, tallies[0])
    for m, (tally, product) in enumerate(zip(tallies, others, strict=True)):
        tasks = unfold_model(product, tally).tasks
        for t, threshold in enumerate(THRESHOLDS):
            tp, p = (counts.sum(axis=0)[1:] for counts in tasks[str(threshold)])
            f2 = 5 * tp / (p + 4 * in_gold[str(threshold)].sum(axis=0)[1:])
            if not np.allclose(f2, [one[m][1 + t] for one in found], rtol=0, atol=1e-12):
                raise SystemExit("the loop and the products disagree")
    return took


def replicate(cells: list[dict[int, list[int]]], draw: list[int]) -> list[float]:
    """Micro F2 of classification and of each threshold, after all per-class figures and their means."""
    tasks = 1 + len(THRESHOLDS)
    sums = [[[0, 0, 0] for _ in range(CLASSES)] for _ in range(tasks)]
    for image in draw:
        for label, (g, p, *matched) in cells[image].items():
            row = sums[0][label]
            row[0] += g > 0 and p > 0
            row[1] += p > 0
            row[2] += g > 0
            for t, tp in enumerate(matched, 1):
                row = sums[t][label]
                row[0] += tp
                row[1] += p
                row[2] += g
    micro = []
    for table in sums:
        figures = [
            (tp / p if p else 0.0, tp / g if g else 0.0, 5 * tp / (p + 4 * g)) for tp, p, g in table if p + g
        ]
        [sum(one[k] for one in figures) / len(figures) for k in range(3)]
        tp, p, g = (sum(row[k] for row in table) for k in range(3))
        micro.append(5 * tp / (p + 4 * g))
    return micro


def pycocotools(folder: Path) -> dict[str, float]:
    """Matches of every cell, by pycocotools."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    return peer(folder, COCO, COCOeval, "pycocotools")


def faster_coco_eval(folder: Path) -> dict[str, float]:
    """The same by faster-coco-eval."""
    from faster_coco_eval import COCO, COCOeval_faster

    return peer(folder, COCO, COCOeval_faster, "faster_coco_eval")


def peer(folder: Path, coco: Any, evaluate: Any, name: str) -> dict[str, float]:
    """Load, match, accumulate, for every model; recalls are kept for the comparison."""
    recalls, matches = [], []

    def work() -> None:
        gold = coco(str(folder / "gold.json"))
        for file in sorted(folder.glob("m*.json")):
            one = evaluate(gold, gold.loadRes(str(file)), "bbox")
            one.params.iouThrs = np.array(sorted(THRESHOLDS))
            one.params.maxDets = [100]
            one.params.areaRng = [[0, 1e10]]
            one.params.areaRngLbl = ["all"]
            one.evaluate()
            one.accumulate()
            recalls.append(one.eval["recall"][:, :, 0, 0].tolist())
            if name == "pycocotools":
                matches.append(one.evalImgs)

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # both peers print from C as well
    _, took = timed(work)
    (folder / f"{name}.recalls").write_text(json.dumps(recalls))
    for m, images in enumerate(matches):
        rows = [
            [e["image_id"], e["category_id"], *((e["dtMatches"] > 0).sum(axis=1)).tolist()]
            for e in images
            if e
        ]
        np.save(folder / f"{name}.{m}.npy", np.array(rows, np.int64))
    return took


CONTENDERS: dict[str, Callable[[Path], dict[str, float]]] = {
    "typed_read": typed_read,
    "beholder": beholder,
    "bootstrap": bootstrap,
    "replicates": replicates,
    "loop": loop,
    "pycocotools": pycocotools,
    "faster_coco_eval": faster_coco_eval,
}
PEERS = ("pycocotools", "faster_coco_eval")


# --- equality -----------------------------------------------------------------------------------


def check_equality(folder: Path, *, with_peers: bool) -> dict[str, int]:
    """Stop unless every cell is right; how many cells were compared, and how many need a maximum."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    from beholder.detection.pairs import pairwise_iou
    from beholder.detection.scoring import tally_models
    from beholder.detection.tally import cell_keys

    gold, models = load(folder)
    tallies = tally_models(gold, models, THRESHOLDS)
    counted = {"cells": 0, "cells_where_greedy_could_lose": 0, "cells_where_pycocotools_found_fewer": 0}
    rising = sorted(THRESHOLDS)
    for m, (model, tally) in enumerate(zip(models, tallies, strict=True)):
        sides = []
        for boxes in (gold.boxes, model.boxes):
            key = cell_keys(boxes, tally.classes)
            order = np.argsort(key, kind="stable")
            sides.append((boxes.corners[order], key[order]))
        (gold_corners, gold_key), (corners, key) = sides
        cells = tally.image * len(tally.classes) + tally.label
        bounds = [np.searchsorted(k, cells, side=s) for k in (gold_key, key) for s in ("left", "right")]
        theirs = {}
        if with_peers:
            numbers = [int(name[-2:]) for name in tally.classes]
            number = {k: at for at, k in enumerate(numbers)}
            for image, category, *found in np.load(folder / f"pycocotools.{m}.npy").tolist():
                theirs[image * len(numbers) + number[category]] = found
        for at, (a, b, c, d) in enumerate(zip(*(x.tolist() for x in bounds), strict=True)):
            iou = pairwise_iou(gold_corners[a:b], corners[c:d]) if a < b and c < d else np.zeros((1, 1))
            for t, threshold in enumerate(THRESHOLDS):
                reach = iou >= threshold
                ours = int(tally.matched[at, t])
                free = reach.sum(axis=0).max() <= 1 and reach.sum(axis=1).max() <= 1
                best = int(reach.sum())
                if not free:
                    best = int((maximum_bipartite_matching(csr_array(reach.astype(np.int8))) >= 0).sum())
                counted["cells"] += 1
                counted["cells_where_greedy_could_lose"] += not free
                if ours != best:
                    raise SystemExit(
                        f"cell {cells[at]}, model {m}, IoU {threshold}: {ours} instead of {best}"
                    )
                if with_peers:
                    other = theirs.get(int(cells[at]), [0] * len(rising))[rising.index(threshold)]
                    if other > ours or (free and other != ours):
                        raise SystemExit(
                            f"cell {cells[at]}, model {m}, IoU {threshold}: pycocotools {other}, ours {ours}"
                        )
                    counted["cells_where_pycocotools_found_fewer"] += other < ours
    if with_peers:
        recalls = [np.array(json.loads((folder / f"{name}.recalls").read_text())) for name in PEERS]
        if not np.allclose(*recalls, rtol=0, atol=1e-12):
            raise SystemExit("the peers disagree with each other")
    return counted


# --- measuring ----------------------------------------------------------------------------------


def measure(name: str, folder: Path, python: str) -> dict[str, float]:
    """One contender in a process of its own."""
    command = [python, __file__, "--contender", name, "--folder", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return found


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Equality, then times, then growth."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, messy = Path(temporary) / "clean", Path(temporary) / "messy"
        for place in (folder, messy):
            place.mkdir()
            generate(place, options.images, MODELS, messy=place is messy)
        figures: dict[str, list[dict[str, float]]] = {}
        if options.peer_python:
            write_coco(folder)
            for name in PEERS:
                figures[name] = [measure(name, folder, options.peer_python)]
        equality = check_equality(folder, with_peers=bool(options.peer_python))
        for _ in range(options.rounds):
            for name, place, contender in (
                ("typed_read", folder, "typed_read"),
                ("beholder", folder, "beholder"),
                ("messy", messy, "beholder"),
                ("bootstrap", folder, "bootstrap"),
                ("replicates", folder, "replicates"),
            ):
                figures.setdefault(name, []).append(measure(contender, place, sys.executable))
        figures["loop"] = [measure("loop", folder, sys.executable)]
    growth = []
    for n in options.growth or []:
        with tempfile.TemporaryDirectory() as temporary:
            generate(Path(temporary), n, 1)
            size = sum(file.stat().st_size for file in Path(temporary).iterdir())
            growth.append(
                {"images": n, "megabytes": size / 1e6, **measure("beholder", Path(temporary), sys.executable)}
            )
    return {"equality": equality, "figures": figures, "growth": growth}


def report(result: dict[str, Any], options: argparse.Namespace) -> None:
    """Medians, ratios within the run, versions."""
    median = {
        name: {key: statistics.median(one[key] for one in found) for key in found[0]}
        for name, found in result["figures"].items()
    }
    wall = {name: one["wall_s"] for name, one in median.items()}
    loop_cpu = median["loop"]["cpu_s"] * REPLICATES / LOOPED
    result |= {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpus": os.cpu_count(),
        "median": median,
        "claims": {
            "beholder_per_typed_read": (wall["beholder"] / wall["typed_read"], "at most 2.2"),
            "messy_per_beholder": (wall["messy"] / wall["beholder"], "at most 2"),
            "beholder_peak_mb": (median["beholder"]["peak_mb"], "under 200"),
            "bootstrap_cpu_s": (median["bootstrap"]["cpu_s"], "at most 3"),
            "loop_per_replicates": (loop_cpu / median["replicates"]["cpu_s"], "at least 300"),
        },
    }
    if options.peer_python:
        result["claims"]["pycocotools_per_beholder"] = (wall["pycocotools"] / wall["beholder"], "at least 55")
        result["claims"]["faster_coco_eval_per_beholder"] = (
            wall["faster_coco_eval"] / wall["beholder"],
            "at least 18",
        )
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(
        f"Python {result['python']}, numpy {result['numpy']}, {result['cpus']} CPUs; "
        f"median of {options.rounds}"
    )
    print("equal: " + ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in result["equality"].items()))
    for name, one in median.items():
        print(f"{name:18} {one['wall_s']:8.3f} s wall  {one['cpu_s']:8.3f} s CPU  {one['peak_mb']:6.0f} MB")
    for name, (value, claim) in result["claims"].items():
        print(f"{name:30} {value:8.2f}  (claim: {claim})")
    for one in result["growth"]:
        print(
            f"{one['images']:>9,} images, {one['megabytes']:7.1f} MB of files: {one['wall_s']:7.2f} s, "
            f"{1e6 * one['wall_s'] / one['images']:.1f} µs an image, peak {one['peak_mb']:.0f} MB"
        )


def peak_mb() -> float:
    """Peak memory of this process since it was started.

    Not `ru_maxrss` where that can be helped: it counts what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure, print, and say whether the claims hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--growth", type=int, nargs="*", help="sizes such as 10000 100000 1000000")
    parser.add_argument("--peer-python", help="interpreter of an environment with the peers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        took = CONTENDERS[options.contender](options.folder)
        took["peak_mb"] = peak_mb()
        print("\n" + json.dumps(took), file=sys.stderr)
        return
    report(run(options), options)


if __name__ == "__main__":
    main()
