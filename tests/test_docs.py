"""Every page that gives something to type: it is typed, and does what the page says."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image

import beholder
from beholder.detection.demo import run_demo
from beholder.judges.scripted import ERRORS, EXTRAS, load_script
from beholder.records import TABLE_FIELDS, TABLE_PREFIXES
from beholder.rules import parse_rules
from tests.fakes.docs import DOCS, ROOT, Shell, blocks_of, commands_of, needs_a_judge, run_page
from tests.fakes.runs import gis_reply, picture, rows_of

TASKS = [f"map-{number}" for number in range(8)]
GIS = ROOT / "src" / "beholder" / "protocols" / "builtin"
GIVES_NOTHING = {"architecture.md", "decisions.md", "index.md", "judges.md", "protocols.md", "rules.md"}
"""Pages without a command that runs without a judge. A page that gets one leaves this list."""
LONG = {"results.md"}
"""Pages of many commands, each of which has short tests of its own."""


# --- what a reader has at hand ------------------------------------------------------------------


def at_hand(folder: Path, models: Sequence[str], out: Path) -> None:
    """Tasks, submissions and a finished run of these models, with replies that differ."""
    rows = [
        {"task_id": name, "level": "Level1", "prompt": f"Map {name}.", "source": "ab"[at % 2]}
        for at, name in enumerate(TASKS)
    ]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    replies = []
    for at, model in enumerate(models):
        for number, task in enumerate(TASKS):
            picture(folder / "runs" / model / f"{task}.png", "red", (64 + number, 48 + at))
            values = (20, 10 + number + at, 20, 10, 8, 5, 5)
            replies.append({"model": model, "task_id": task, "reply": json.loads(gis_reply(values))})
    (folder / "replies.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies), "utf-8")
    beholder.judge_run(
        beholder.RunSpec(
            tasks=folder / "tasks.jsonl",
            run_dirs={model: folder / "runs" / model for model in models},
            out_dir=out,
            protocol="gis-bench",
            judge=f"scripted/{folder / 'replies.jsonl'}",
            repeats=1,
        )
    )


def one_model(folder: Path) -> None:
    """A finished run of one model, and a protocol with the same question."""
    at_hand(folder, ["my-model"], folder / "out")
    for file in GIS.glob("gis-bench@1*"):
        shutil.copy(file, folder / file.name)
    text = (folder / "gis-bench@1.toml").read_text("utf-8")
    assert "pass_at = 60" in text
    (folder / "mine.toml").write_text(text.replace("pass_at = 60", "pass_at = 75"), "utf-8")


def three_models(folder: Path) -> None:
    """Finished runs of three models, and people's ratings."""
    at_hand(folder, ["model-a", "model-b", "model-c"], folder / "out")
    lines = ["task_id,rater,main"]
    lines += [f"{task},{who},{60 + at}" for at, task in enumerate(TASKS) for who in ("ann", "bob")]
    (folder / "ratings.csv").write_text("\n".join(lines) + "\n", "utf-8")


def boxes(folder: Path) -> None:
    """Gold, two models' boxes, pictures, two annotators, a COCO file, digests."""
    run_demo(folder / "made", replicates=10)
    inputs = folder / "made" / "inputs"
    for here, there in (("gold", "gold"), ("careful", "yolo"), ("eager", "vlm")):
        shutil.copy(inputs / f"{here}.jsonl", folder / f"{there}.jsonl")
    shutil.copy(inputs / "classes.json", folder)
    shutil.copytree(inputs / "images", folder / "images")
    rows = [json.loads(line) for line in (folder / "gold.jsonl").read_text("utf-8").splitlines()]
    notes = [
        {"image_id": row["image_id"], "annotator": who, "boxes": row["boxes"][at:]}
        for row in rows
        for at, who in enumerate(("ann", "bob"))
    ]
    (folder / "annotations.jsonl").write_text("".join(json.dumps(one) + "\n" for one in notes), "utf-8")
    coco = {
        "images": [{"id": 1, "file_name": "a.png", "width": 100, "height": 80}],
        "categories": [{"id": 1, "name": "pothole"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20]}],
    }
    (folder / "coco.json").write_text(json.dumps(coco), "utf-8")
    digests = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("gold.jsonl", "vlm.jsonl")
    ]
    (folder / "SHA256SUMS").write_text("".join(digests), "utf-8")


def loose_files(folder: Path) -> None:
    """A PDF and a folder with a page."""
    Image.new("RGB", (200, 100), "navy").save(folder / "report.pdf")
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("<h1>Hello</h1>", "utf-8")


def of_the_readme(folder: Path) -> None:
    """All of it."""
    for make in (one_model, boxes, loose_files):
        make(folder)


AT_HAND: dict[str, Callable[[Path], None]] = {
    "detection.md": boxes,
    "evidence.md": loose_files,
    "report.md": three_models,
    "results.md": one_model,
    "statistics.md": three_models,
}


# --- the pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path.name, marks=[pytest.mark.long] if path.name in LONG else [])
        for path in sorted(DOCS.glob("*.md"))
        if path.name not in GIVES_NOTHING
    ],
)
def test_what_a_page_gives_to_type_works(page: str, tmp_path: Path) -> None:
    """Files are written under their names, commands run and print what the page shows, Python too."""
    folder = tmp_path / "reader"
    folder.mkdir()
    AT_HAND.get(page, lambda _: None)(folder)
    run_page(DOCS / page, folder)
    if page == "your-own-protocol.md":
        assert [row["main_score"] for row in rows_of(folder / "out")] == [0.95, 0.2]
        strict = {row["task_id"]: row["pass"] for row in rows_of(folder / "out-strict")}
        assert strict == {"concert": True, "market": False}


def test_pages_that_are_left_out_give_nothing_to_type() -> None:
    """Else a command on them would be checked by nobody."""
    for name in sorted(GIVES_NOTHING):
        for block in blocks_of((DOCS / name).read_text("utf-8")):
            assert block.language not in {"console", "python"}, name
            assert all(map(needs_a_judge, commands_of(block))), name


@pytest.mark.long  # nearly all of them stand on the pages, too
def test_the_commands_of_the_readme_work(tmp_path: Path) -> None:
    """Those that need no judge; its demos have tests of their own."""
    folder = tmp_path / "reader"
    folder.mkdir()
    of_the_readme(folder)
    blocks = blocks_of((ROOT / "README.md").read_text("utf-8"))
    told = [command for block in blocks if block.language == "shell" for command in commands_of(block)]
    typed = [one for one in told if not needs_a_judge(one) and not one.startswith("beholder demo")]
    assert len(typed) >= 8
    shell = Shell(folder)
    for command in typed:
        shell.run(command, exit_code=0)


def test_the_python_of_the_readme_names_what_there_is() -> None:
    """It asks a real judge, so that it is compiled and its fields looked up."""
    (block,) = [one for one in blocks_of((ROOT / "README.md").read_text("utf-8")) if one.language == "python"]
    compile(block.content, "README.md", "exec")
    for name in ("tasks", "run_dirs", "out_dir", "protocol"):
        assert f"{name}=" in block.content
        assert name in beholder.RunSpec.__dataclass_fields__


def test_the_scripted_replies_of_the_page_on_judges_are_read(tmp_path: Path) -> None:
    """Each line of the example, and every error that the page lists."""
    text = (DOCS / "judges.md").read_text("utf-8")
    lines = [line for block in blocks_of(text) for line in block.content.splitlines() if line.startswith("{")]
    file = tmp_path / "replies.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    assert len(load_script(file)) == len(lines) == 4
    for word in (*ERRORS, *EXTRAS):
        assert f"`{word}`" in text.split("## Scripted replies")[1], word


def test_the_rules_of_the_page_are_good_ones() -> None:
    """The example has each type once, and each as it must be written."""
    (block,) = [one for one in blocks_of((DOCS / "rules.md").read_text("utf-8")) if one.language == "shell"]
    rules = parse_rules(json.loads("{" + block.content + "}")["evaluation"]["rule_based"])
    assert [rule.problem for rule in rules] == [None] * 5
    assert len({rule.type for rule in rules}) == 5


def test_every_source_of_a_table_is_on_the_page_of_protocols() -> None:
    """`[table]`: fields and prefixes, in the order of the code."""
    listed = (DOCS / "protocols.md").read_text("utf-8").split("## `[table]` sources")[1].split("`")[1]
    names = [name.split(":")[0] for name in listed.replace("\n", " ").split(", ")]
    assert names == [*TABLE_FIELDS, *TABLE_PREFIXES]


def test_every_section_of_a_protocol_is_in_the_starter() -> None:
    """What your-own-protocol.md promises: whoever wants more finds each section there."""
    text = (ROOT / "src" / "beholder" / "protocols" / "starter.toml").read_text("utf-8")
    for section in ("prompt", "judge", "repeats", "routing", "evidence", "absent", "score"):
        assert f"[{section}]" in text
    assert "[[criteria]]" in text


def test_the_table_of_intervals_has_one_candidate_that_is_beholders_and_fit() -> None:
    """The page holds what the benchmark prints: beholder fits, Student's t and the bootstraps do not."""
    text = (DOCS / "statistics.md").read_text("utf-8")
    table = text.split("<!-- intervals -->")[1].split("<!-- /intervals -->")[0]
    lines = [
        [cell.strip() for cell in line.strip("| \n").split("|")] for line in table.splitlines() if "|" in line
    ]
    fit = dict(zip(lines[0][2:], next(line for line in lines if line[0] == "fit")[2:], strict=True))
    assert fit["beholder"] == "**yes**"
    assert [fit[name] for name in ("t", "bootstrap-t", "bca")] == ["no"] * 3
    least = next(line for line in lines if line[0].startswith("least"))[2:]
    widths = {name: float(cell.split("/")[1]) for name, cell in zip(lines[0][2:], least, strict=True)}
    assert all(widths["beholder"] <= width for name, width in widths.items() if fit[name] == "**yes**")
