"""`beholder detect`, as a user types it: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from beholder.cli import main
from tests.test_detection_scoring import DOMAINS, generated


def run(*words: Any, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "beholder", "detect", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=cwd, check=False)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Gold, two models, classes, in a folder of their own."""
    folder = tmp_path / "in"
    folder.mkdir()
    gold, models = generated(7, 40)
    found = {"gold": folder / "gold.jsonl", "classes": folder / "classes.json"}
    found["gold"].write_bytes(gold)
    found["classes"].write_text(json.dumps({"class_to_domain": DOMAINS}))
    for name, data in models.items():
        found[name] = folder / f"{name}.jsonl"
        found[name].write_bytes(data)
    return found


def inputs(files: dict[str, Path], *models: str) -> list[Any]:
    words: list[Any] = ["--gold", files["gold"]]
    for name in models or ("m", "n"):
        words += ["--predictions", f"{name}={files[name]}"]
    return words


def test_score_writes_tables_whose_counts_add_up(files: dict[str, Path], tmp_path: Path) -> None:
    """Per class to micro in every task and scope; per image to micro in both scopes."""
    out = tmp_path / "out"
    done = run(
        "score", *inputs(files), "--classes", files["classes"], "--bootstrap", 40, "--out-dir", out, "--json"
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert json.loads((out / "summary.json").read_text(encoding="utf-8")) == summary
    assert {file.name for file in out.iterdir()} == {
        "summary.json",
        "per_class.csv",
        "per_image.csv",
        "REPORT.md",
        "report.html",
    }
    with (out / "per_class.csv").open(encoding="utf-8", newline="") as opened:
        per_class = list(csv.DictReader(opened))
    with (out / "per_image.csv").open(encoding="utf-8", newline="") as opened:
        per_image = list(csv.DictReader(opened))
    for name, result in summary["models"].items():
        for scope, figures in result["scopes"].items():
            tasks = {"classification": figures["classification"]}
            tasks |= {f"localisation {key}": block for key, block in figures["localisation"].items()}
            for task, block in tasks.items():
                rows = [r for r in per_class if (r["model"], r["scope"], r["task"]) == (name, scope, task)]
                images = [
                    r
                    for r in per_image
                    if r["model"] == name
                    and r["status"] == "valid"
                    and (scope == "valid" or r["common"] == "True")
                ]
                assert len(images) == figures["n_images"]
                for count in ("tp", "fp", "fn"):
                    assert sum(int(r[count]) for r in rows) == block["micro"][count]
                    column = f"{task.replace(' ', '_')}_{count}"
                    assert sum(int(r[column]) for r in images) == block["micro"][count]
                for row in rows:
                    assert float(row["f2"]) == block["per_class"][row["class"]]["f2"]
    assert {r["f2_ci_method"] for r in per_class} <= {"bca", "percentile", "wilson", "constant"}
    invalid = [r for r in per_image if r["status"] != "valid"]
    assert invalid
    assert all(r["classification_tp"] == "" for r in invalid)


def test_a_published_summary_is_checked(files: dict[str, Path], tmp_path: Path) -> None:
    """Equal: 0. One number off: 3, and the difference is named. A part of a summary is enough."""
    summary = json.loads(run("score", *inputs(files), "--json").stdout)
    published = {"models": {name: {"scopes": one["scopes"]} for name, one in summary["models"].items()}}
    file = tmp_path / "published.json"
    file.write_text(json.dumps(published))
    done = run("score", *inputs(files), "--expect", file, "--json")
    assert done.returncode == 0
    outcome = json.loads(done.stdout)["expect"]
    assert (outcome["equal"], outcome["differences"]) == (True, [])
    assert f"equal: {outcome['compared']} compared" in done.stderr
    assert outcome["compared"] > 100
    published["models"]["m"]["scopes"]["valid"]["localisation"]["0.5"]["micro"]["tp"] += 1
    file.write_text(json.dumps(published))
    done = run("score", *inputs(files), "--expect", file)
    assert done.returncode == 3
    assert "models.m.scopes.valid.localisation.0.5.micro.tp" in done.stderr


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["--iou", "0"], "bad_iou_threshold"),
        (["--iou", "nan"], "bad_iou_threshold"),
        (["--iou", "half"], "bad_iou_threshold"),
        (["--box-format", "xyyx"], "unknown_box_format"),
        (["--box-format", "z=xyxy"], "config"),
        (["--beta", "-1"], "bad_beta"),
        (["--beta", "inf"], "bad_beta"),
        (["--beta", "1e999"], "bad_beta"),
        (["--provenance", "m=odd.json"], "bad_provenance"),
        (["--expect", "odd.json"], "bad_expect"),
        (["--expect", "none.json"], "unreadable"),
        (["--bootstrap", "1"], "bad_bootstrap"),
        (["--classes", "none.json"], "unreadable"),
    ],
)
def test_what_must_be_refused_is_refused_with_its_code(
    words: list[str], slug: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """Exit 2, one JSON document on stdout, a plain sentence on stderr, no traceback."""
    (tmp_path / "odd.json").write_text('{"conf": Infinity}')
    done = run("score", *inputs(files), *words, "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == slug
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_bad_gold_is_refused_without_json_too(files: dict[str, Path]) -> None:
    """Then stdout is empty."""
    files["gold"].write_text("{}")
    done = run("score", *inputs(files))
    assert (done.returncode, done.stdout) == (2, "")
    assert "image_id" in done.stderr


def test_results_never_go_where_the_inputs_lie(files: dict[str, Path]) -> None:
    """The folder of any input is refused, and nothing is written there."""
    before = sorted(file.name for file in files["gold"].parent.iterdir())
    done = run("score", *inputs(files), "--out-dir", files["gold"].parent, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"] == "out_dir_is_input"
    assert sorted(file.name for file in files["gold"].parent.iterdir()) == before


@pytest.mark.parametrize("flag", ["--expect", "--images", "--provenance", "--similarity", "--classes"])
def test_the_folder_of_every_other_input_is_refused_too(
    flag: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """A published summary in the folder of results is what it was, byte for byte."""
    folder = tmp_path / "published"
    folder.mkdir()
    published = folder / "summary.json"
    text = run("score", *inputs(files), "--json").stdout
    published.write_text(text)
    value = {"--images": folder, "--provenance": f"m={published}"}.get(flag, published)
    done = run("score", *inputs(files), flag, value, "--out-dir", folder, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "out_dir_is_input")
    assert published.read_text() == text
    assert [file.name for file in folder.iterdir()] == ["summary.json"]


def test_a_linked_input_guards_the_folder_of_the_link_too(files: dict[str, Path], tmp_path: Path) -> None:
    """What its path names, and where it leads."""
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "gold.jsonl").symlink_to(files["gold"])
    for out in (folder, files["gold"].parent):
        done = run(
            *["score", "--gold", folder / "gold.jsonl", "--predictions", files["m"]],
            *["--out-dir", out, "--json"],
        )
        assert json.loads(done.stdout)["error"] == "out_dir_is_input"


def test_paths_that_lead_nowhere_are_refused_plainly(files: dict[str, Path], tmp_path: Path) -> None:
    """Links in a circle and names that are too long, as inputs and as results."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    long = tmp_path / ("n" * 400)
    for bad in (tmp_path / "a", long):
        for words in (
            ["score", "--gold", bad, "--predictions", files["m"], "--out-dir", tmp_path / "o"],
            ["score", *inputs(files, "m"), "--out-dir", bad],
            ["score", "--gold", files["gold"], "--predictions", f"m={bad}"],
            ["convert", files["gold"], "--from", "jsonl", "--kind", "gold", "--to", "voc", "-o", bad],
        ):
            done = run(*words, "--json")
            assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
            assert json.loads(done.stdout)["error"] in {"unreadable", "unwritable"}


def test_formats_and_settings_are_declared_per_model_and_recorded(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """By canonical name, with the digest of every file."""
    settings = tmp_path / "settings.json"
    settings.write_text('{"conf": 0.1, "box_axes": "as given"}')
    done = run(
        *["score", *inputs(files), "--box-format", "n=coco", "--provenance", f"m={settings}", "--json"]
    )
    models = json.loads(done.stdout)["models"]
    assert (models["m"]["box_format"], models["n"]["box_format"]) == ("xyxy", "xywh")
    assert models["m"]["provenance"] == {"conf": 0.1, "box_axes": "as given"}
    assert len(models["n"]["sha256"]) == 64


def test_a_similarity_matrix_gives_a_second_score_beside_the_exact_one(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """The exact one is untouched."""
    matrix = tmp_path / "s.csv"
    matrix.write_text(",a,b\na,1,0.5\nb,0.5,1\n")
    words = ["score", *inputs(files), "--iou", "0.1", "--json"]
    exact = json.loads(run(*words).stdout)
    both = json.loads(run(*words, "--similarity", matrix).stdout)
    assert both["models"] == exact["models"]
    soft = both["semantic"]["models"]["m"]["valid"]["localisation"]["0.1"]
    assert soft["soft_tp"] > exact["models"]["m"]["scopes"]["valid"]["localisation"]["0.1"]["micro"]["tp"]


def test_a_class_that_utf8_cannot_hold_is_still_printed_as_json(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """Half a surrogate pair stays escaped, and comes back as it was."""
    rows = '{"image_id": "i000", "detections": [{"class": "\\ud800<b>", "bbox": [0, 0, 1, 1]}]}'
    files["m"].write_text(rows)
    done = run("score", *inputs(files, "m"), "--out-dir", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    per_class = json.loads(done.stdout)["models"]["m"]["scopes"]["valid"]["classification"]["per_class"]
    assert "\ud800<b>" in per_class
    for words in (["check"], ["render", "--worst", 1, "-o", tmp_path / "o" / "x.png"]):
        done = run(words[0], *inputs(files, "m"), *words[1:])
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    pytest.importorskip("pyarrow", reason="pyarrow is optional")
    done = run("score", *inputs(files, "m"), "--out-dir", tmp_path / "out", "--parquet")
    assert done.returncode == 0, done.stderr


def test_render_draws_one_image_and_a_sheet_of_the_worst(files: dict[str, Path], tmp_path: Path) -> None:
    """Both are pictures; the counts of the worst fall."""
    one, sheet = tmp_path / "one.png", tmp_path / "sheet.png"
    assert run("render", *inputs(files, "m"), "--image-id", "i001", "-o", one).returncode == 0
    done = run("render", *inputs(files, "m"), "--worst", 5, "-o", sheet, "--json")
    errors = [row["fp"] + row["fn"] for row in json.loads(done.stdout)["images"]]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 5
    for file in (one, sheet):
        with Image.open(file) as picture:
            assert min(picture.size) > 100
    done = run("render", *inputs(files, "m"), "--image-id", "nowhere", "-o", one, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "unknown_image")
    for folder in (files["gold"].parent, tmp_path):
        done = run(
            *["render", *inputs(files, "m"), "--worst", 1, "--images", tmp_path],
            *["-o", folder / "x.png", "--json"],
        )
        assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "out_dir_is_input")
    assert run("render", *inputs(files, "m"), "--worst", 1, "-o", tmp_path / "x.nothing").returncode == 2


def test_check_verifies_an_inventory(files: dict[str, Path]) -> None:
    """0 where everything is as listed, 3 where not."""
    import hashlib

    folder = files["gold"].parent
    listed = folder / "SHA256SUMS"
    listed.write_text(f"{hashlib.sha256(files['gold'].read_bytes()).hexdigest()}  gold.jsonl\n")
    assert run("check", "--inventory", listed).returncode == 0
    done = run("check", *inputs(files), "--inventory", listed, "--json")
    assert json.loads(done.stdout)["models"]["m"]["box_format"] == "xyxy"
    listed.write_text(f"{'0' * 64}  gold.jsonl\n")
    assert run("check", "--inventory", listed).returncode == 3
    done = run("score", *inputs(files), "--inventory", listed, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "inventory_mismatch")


def test_agreement_prints_one_document(tmp_path: Path) -> None:
    """Per group and overall."""
    file = tmp_path / "a.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {
                    "image_id": k,
                    "annotator": who,
                    "group": "g",
                    "boxes": [{"class": "p", "bbox": [0, 0, 1, 1]}] * (k % 2),
                }
            )
            + "\n"
            for k in range(6)
            for who in "xy"
        )
    )
    found = json.loads(run("agreement", "--annotations", file, "--bootstrap", 20, "--json").stdout)
    assert (found["overall"]["alpha"], found["groups"]["g"]["pairs"][0]["kappa"]) == (1, 1)
    assert "alpha 1.000" in run("agreement", "--annotations", file).stdout


def test_the_demonstration_is_real_scoring_and_says_what_it_is(tmp_path: Path) -> None:
    """No key, no network; marked as invented on screen, in Markdown and on the page; same bytes each time."""
    out = tmp_path / "demo"
    done = run("demo", "--out-dir", out)
    assert done.returncode == 0, done.stderr
    assert "Invented" in done.stdout
    for name in ("REPORT.md", "report.html"):
        assert "Invented" in (out / name).read_text(encoding="utf-8")
    first = (out / "summary.json").read_bytes()
    assert run("demo", "--out-dir", out).returncode == 0
    assert (out / "summary.json").read_bytes() == first


def test_every_command_has_help_with_an_example() -> None:
    """And none loads numpy for it."""
    for name in ("score", "agreement", "render", "convert", "check", "demo"):
        shown = CliRunner().invoke(main, ["detect", name, "--help"]).output
        assert f"Example: beholder detect {name}" in " ".join(shown.split())
    code = "import sys, beholder.cli; sys.exit(bool({'numpy', 'scipy', 'msgspec', 'PIL'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
