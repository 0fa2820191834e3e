"""The folders of `examples/`: every command of their pages runs, and the samples are what their names say."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tomllib
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import openpyxl
import pypdfium2
import pytest
from docx import Document
from PIL import Image
from pptx import Presentation

from beholder.demo import EXAMPLES, example_folder
from tests.fakes.runs import command, environment, run

NEW = ["web-page", "math-media", "enterprise-claw"]
VALIDATE_EXIT = {"gis-bench": 2, "web-page": 2, "math-media": 2, "enterprise-claw": 2}
ROOT = Path(__file__).parents[1]
MATH = example_folder("math-media") / "runs"
CLAW = example_folder("enterprise-claw") / "runs"


def commands_of(page: Path) -> list[list[str]]:
    """The arguments of each `beholder` line of a README."""
    text = page.read_text(encoding="utf-8")
    return [line.split()[1:] for line in re.findall(r"^    (beholder .*)$", text, re.MULTILINE)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def frames_of(path: Path) -> list[np.ndarray]:
    capture = cv2.VideoCapture(str(path))
    frames = []
    while True:
        good, frame = capture.read()
        if not good:
            capture.release()
            return frames
        frames.append(frame)


# --- the pages' commands ------------------------------------------------------------------------


def copied(name: str, to: Path) -> tuple[Path, list[list[str]]]:
    """An example's folder as a user's own, and its page's commands."""
    folder = to / name
    shutil.copytree(example_folder(name), folder)
    found = commands_of(folder / "README.md")
    assert [arguments[0] for arguments in found] == ["validate-run", "judge-run", "report", "judge-run"]
    return folder, found


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_pages_check_and_its_paid_command_run_where_the_page_lies(name: str, tmp_path: Path) -> None:
    """validate-run ends as the page says; what needs a key is understood, and says what it would cost."""
    folder, (validate, _, _, paid) = copied(name, tmp_path)
    done = run(command(*validate), cwd=folder)
    assert done.returncode == VALIDATE_EXIT[name], done.stdout + done.stderr
    page = " ".join((folder / "README.md").read_text("utf-8").split())
    assert ("exit code 2" in page) == (done.returncode == 2)
    done = run(command(*paid, "--dry-run", "--json"), cwd=folder)
    assert done.returncode == 0, done.stderr
    estimate = json.loads(done.stdout)
    assert estimate["dry_run"] is True
    assert estimate["calls"] > 0
    assert estimate["cost_usd"] > 0
    assert not (folder / "judged").exists()


@pytest.mark.parametrize(
    "name",
    # The others draw what `beholder demo` draws as well, which its own tests run.
    [pytest.param(name, marks=[] if name == "math-media" else pytest.mark.long) for name in EXAMPLES],
)
def test_a_pages_free_commands_run_where_the_page_lies(name: str, tmp_path: Path) -> None:
    """judge-run with the replies that ship ends with 3, as the page says; report writes the same again."""
    folder, (_, scripted, report, _) = copied(name, tmp_path)
    assert "exit code 3" in (folder / "README.md").read_text("utf-8")
    done = run(command(*scripted), cwd=folder)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "cripted" in (folder / "out" / "report.html").read_text("utf-8")
    reports = [folder / "out" / model / "report.html" for model in EXAMPLES[name].models]
    before = [path.read_bytes() for path in reports]
    for path in reports:
        path.unlink()
    done = run(command(*report), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [path.read_bytes() for path in reports] == before


def test_the_overview_names_each_example_and_its_commands_run(tmp_path: Path) -> None:
    """`--samples` copies a folder with its page of commands; a folder that is there is left alone."""
    page = example_folder("gis-bench").parent / "README.md"
    assert all(f"({name}/README.md)" in page.read_text("utf-8") for name in EXAMPLES)
    demo, samples = commands_of(page)
    assert demo == ["demo", "--protocol", "math-media"]
    done = run(command(*samples), cwd=tmp_path, env=environment(HOME=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    copied = tmp_path / "my-samples"
    assert commands_of(copied / "README.md") == commands_of(example_folder("math-media") / "README.md")
    assert "README.md" in done.stdout
    again = run(command(*samples), cwd=tmp_path)
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_an_installed_package_brings_the_samples_along(tmp_path: Path) -> None:
    """Put together as the wheel's settings say, it finds them without the source tree."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    taken_in = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    site = tmp_path / "site"
    # Compiled modules come and go beside it while other tests run.
    shutil.copytree(ROOT / "src", site, ignore=shutil.ignore_patterns("__pycache__"))
    for source, target in taken_in.items():
        shutil.copytree(ROOT / source, site / target)
    asked = command("demo", "--protocol", "enterprise-claw", "--samples", tmp_path / "mine", "--json")
    done = run(asked, cwd=tmp_path, env=environment(PYTHONPATH=str(site)))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"samples": str(tmp_path / "mine")}
    where = [sys.executable, "-c", "from beholder.demo import example_folder as f; print(f('web-page'))"]
    done = run(where, cwd=tmp_path, env=environment(PYTHONPATH=str(site)))
    assert done.stdout.strip() == str(site / "beholder" / "demo" / "examples" / "web-page")
    assert (tmp_path / "mine" / "tasks.jsonl").read_bytes() == (CLAW.parent / "tasks.jsonl").read_bytes()


# --- samples ------------------------------------------------------------------------------------


def test_the_new_samples_are_small() -> None:
    """Pages, solutions and office files together stay below 1.5 MB."""
    sizes = [
        path.stat().st_size for name in NEW for path in example_folder(name).rglob("*") if path.is_file()
    ]
    assert sum(sizes) < 1_500_000
    assert max(sizes) < 150_000


@pytest.mark.parametrize("name", NEW)
def test_every_reply_is_marked_and_answers_a_call_that_is_made(name: str) -> None:
    """Each line says `scripted`, and belongs to a model, a task and a repeat of the demo."""
    first, *rest = lines(example_folder(name) / "replies.jsonl")
    assert "no model was asked" in first["note"]
    assert all(line["scripted"] is True for line in [first, *rest])
    tasks = {task["task_id"] for task in lines(example_folder(name) / "tasks.jsonl")}
    repeats = EXAMPLES[name].repeats or 0
    called = [(line["model"], line["task_id"], line["repeat"]) for line in rest]
    assert len(set(called)) == len(called)
    for model, task, repeat in called:
        assert model in EXAMPLES[name].models
        assert task in tasks
        assert 1 <= repeat <= repeats


@pytest.mark.parametrize("name", NEW)
def test_every_submission_belongs_to_a_task(name: str) -> None:
    """Two run directories, and in them nothing that no task asks for."""
    runs = example_folder(name) / "runs"
    tasks = {task["task_id"] for task in lines(example_folder(name) / "tasks.jsonl")}
    assert {path.name for path in runs.iterdir()} == set(EXAMPLES[name].models)
    for model in runs.iterdir():
        handed_in = {path.name if path.is_dir() else path.stem for path in model.iterdir()}
        assert handed_in <= tasks


def test_pages_and_drawings_load_nothing_from_elsewhere() -> None:
    """No page or drawing names a host, but for XML namespaces, or a file beside it."""
    pages = [*example_folder("web-page").rglob("*.html"), *CLAW.rglob("*.svg")]
    assert len(pages) == 10
    for page in pages:
        text = page.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|\bsrc=|@import|url\(|xlink", text), page
        assert not re.search(r'href="(?!#)', text), page


def test_videos_are_videos_and_the_broken_one_is_none() -> None:
    """Each plays for 8 to 12 s at 960x540; of the broken one no frame can be decoded."""
    whole = ["chalk-small-demo/unit-fractions.mp4", "slate-large-demo/quadratic-roots.mp4"]
    for name in [*whole, "slate-large-demo/telescope.webm"]:
        frames = frames_of(MATH / name)
        assert 8 * 12 <= len(frames) <= 12 * 12
        assert {frame.shape for frame in frames} == {(540, 960, 3)}
    assert frames_of(MATH / "chalk-small-demo" / "clock-hands.webm") == []
    assert (MATH / "chalk-small-demo" / "clock-hands.webm").read_bytes().startswith(b"\x1aE\xdf\xa3")


def test_the_answer_of_one_video_stands_in_its_last_half_second_alone() -> None:
    """The place of the answer is bare board until 0.5 s before the end, and written on from then on."""
    frames = frames_of(MATH / "chalk-small-demo" / "unit-fractions.mp4")
    late = 12 // 2
    bare = frames[0][430:500, 40:260].astype(int)
    changed = [int(np.abs(frame[430:500, 40:260].astype(int) - bare).max()) > 80 for frame in frames]
    assert not any(changed[:-late])
    assert changed[-1]
    assert 1 <= sum(changed) <= late


def test_pictures_and_the_animation_are_of_their_suffixes_format() -> None:
    """PNG, JPEG and GIF decode; the GIF moves."""
    formats = {".png": "PNG", ".jpg": "JPEG", ".gif": "GIF"}
    pictures = [path for path in MATH.rglob("*") if path.suffix in formats]
    assert {path.suffix for path in pictures} == set(formats)
    for path in pictures:
        with Image.open(path) as picture:
            picture.load()
            assert picture.format == formats[path.suffix]
            assert getattr(picture, "n_frames", 1) == (12 if path.suffix == ".gif" else 1)


def test_known_solutions_are_right() -> None:
    """The answers that the tasks state come out when they are worked out again."""
    known = {task["task_id"]: task["solution_text"] for task in lines(MATH.parent / "tasks.jsonl")}
    pairs = [(a, b) for a in range(13, 157) for b in range(13, 157) if 12 * (a + b) == a * b]
    answers = {
        "garden-fence": f"The answer is {200 - 14 * 6.50 - 3 * 18:.0f} euros",
        "two-trains": f"= {80 * 270 / 180:.0f} km",
        "quadratic-roots": f"= {4 * (3.5**2 - 2 * 2):.0f}/4",
        "clock-hands": f"{40 * 6 - (3 * 30 + 40 / 2):.0f} degrees",
        "unit-fractions": f"ordered pair: {len(pairs)}",
        "telescope": f"= {sum(1 / (k**0.5 + (k + 1) ** 0.5) for k in range(1, 100)):.0f}.",
    }
    assert known.keys() == answers.keys()
    assert all(answer in known[task] for task, answer in answers.items())


def test_slides_have_a_chart_of_the_tasks_numbers() -> None:
    """Three slides, a chart of three series on the second; the other deck has none."""
    good = Presentation(str(CLAW / "bureau-large-demo/sales-deck/artifacts/unit-sales-2025.pptx"))
    (chart,) = [shape.chart for slide in good.slides for shape in slide.shapes if shape.has_chart]
    assert len(good.slides) == 3
    assert {series.name: tuple(series.values) for series in chart.plots[0].series} == {
        "City": (420, 510, 640, 480),
        "Cargo": (110, 150, 210, 190),
        "Kids": (260, 300, 390, 350),
    }
    poor = Presentation(str(CLAW / "clerk-small-demo/sales-deck/artifacts/presentation.pptx"))
    assert not any(shape.has_chart for slide in poor.slides for shape in slide.shapes)


def test_the_workbook_has_formulas_and_a_chart() -> None:
    """What is left and the totals are formulas, a chart stands beside them; the other has typed numbers."""
    good = openpyxl.load_workbook(CLAW / "bureau-large-demo/fair-budget/artifacts/fair-budget.xlsx")
    sheet = good["Budget"]
    assert sheet["D2"].value == "=B2-C2"
    assert sheet["B8"].value == "=SUM(B2:B7)"
    with zipfile.ZipFile(CLAW / "bureau-large-demo/fair-budget/artifacts/fair-budget.xlsx") as package:
        assert any(name.startswith("xl/charts/chart") for name in package.namelist())
    poor = openpyxl.load_workbook(CLAW / "clerk-small-demo/fair-budget/artifacts/budget.xlsx")
    assert poor.sheetnames == ["Sheet1"]
    assert poor["Sheet1"]["C8"].value == 14170


def test_documents_hold_their_words() -> None:
    """One letter of two names the discount; the policy has three pages, the broken one none."""
    words = {
        name: "\n".join(p.text for p in Document(str(CLAW / name)).paragraphs)
        for name in (
            "bureau-large-demo/delay-letter/artifacts/letter-4417.docx",
            "clerk-small-demo/delay-letter/artifacts/letter.docx",
        )
    }
    assert ["10 %" in text for text in words.values()] == [True, False]
    with pypdfium2.PdfDocument(CLAW / "bureau-large-demo/travel-policy/artifacts/travel-policy.pdf") as pdf:
        assert len(pdf) == 3
    broken = CLAW / "clerk-small-demo/travel-policy/artifacts/policy.pdf"
    assert broken.read_bytes().startswith(b"%PDF-")
    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(broken)


def test_drawings_are_xml_and_lists_are_json_but_for_the_broken_one() -> None:
    """SVG parses; one list of actions is JSON, the other has a comma too many."""
    for path in CLAW.rglob("*.svg"):
        assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    good = json.loads((CLAW / "bureau-large-demo/meeting-minutes/artifacts/actions.json").read_text())
    assert [action["who"] for action in good] == ["Tomas", "Lise"]
    with pytest.raises(ValueError, match=r"Expecting value|trailing comma"):
        json.loads((CLAW / "clerk-small-demo/meeting-minutes/artifacts/actions.json").read_text())


def test_each_copy_of_a_task_is_the_task() -> None:
    """`task.json` in every submission says what the task file says."""
    tasks = {task["task_id"]: task for task in lines(CLAW.parent / "tasks.jsonl")}
    copies = list(CLAW.glob("*/*/task.json"))
    assert len(copies) == 2 * len(tasks) == 14
    assert all(json.loads(path.read_text("utf-8")) == tasks[path.parent.name] for path in copies)


def test_office_files_carry_one_fixed_date() -> None:
    """Made again they are the same bytes: no part has the time of its making."""
    packages = [path for path in CLAW.rglob("*") if path.suffix in {".docx", ".pptx", ".xlsx"}]
    assert len(packages) == 6
    for path in packages:
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as package:
            assert {item.date_time for item in package.infolist()} == {(2026, 3, 2, 9, 0, 0)}
