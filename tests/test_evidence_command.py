"""`beholder evidence`: any mix of files to pictures and texts, each by itself, with an honest exit code."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from beholder.cli import main
from beholder.errors import TaskError
from beholder.evidence.browser import find_browser
from beholder.evidence.engine import EvidenceEngine
from beholder.evidence.manifest import from_manifest
from beholder.evidence.renderers import KINDS
from beholder.run.evidence import folder_names, general_routing
from beholder.store import safe_name
from beholder.tasks.loose import loose_files
from tests.fakes.evidence import png

GOOD = "<!doctype html><title>t</title><body style='background:#fff'><h1>A heading</h1>"


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    find_browser(None)


@dataclass(frozen=True)
class Ran:
    returncode: int
    stdout: str
    stderr: str


def beholder(*arguments: str | Path, cwd: Path) -> Ran:
    """The command in this process: to start Python for each would cost more than what it does."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


def as_json(*arguments: str | Path, cwd: Path) -> tuple[int, dict[str, Any]]:
    ran = beholder(*arguments, "--json", cwd=cwd)
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def files_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["file"]: one for one in document["files"]}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with something of everything, good and bad."""
    top = tmp_path / "mixed"
    (top / "site" / "img").mkdir(parents=True)
    (top / "site" / "index.html").write_text(GOOD + "<img src=img/a.png>")
    (top / "site" / "img" / "a.png").write_bytes(png())
    (top / "notes.md").write_text("# Notes\n\x1b[31mred\n")
    (top / "empty.png").touch()
    (top / "named.png").write_text("no picture")
    (top / "model.onnx").write_bytes(b"\x08\x07")
    (top / ".hidden.html").write_text(GOOD)
    (top / "out.txt").symlink_to("/etc/passwd")
    (top / "etc").symlink_to("/etc")
    return top


def test_a_mix(mixed: Path, tmp_path: Path) -> None:
    """Every file of a folder has its status and cause, its pictures and text lie where the document says."""
    code, document = as_json("evidence", mixed, "--out-dir", "seen", cwd=tmp_path)
    files = files_of(document)
    found = {name: (one["kind"], one["status"], one["reason"]) for name, one in files.items()}
    assert found == {
        "mixed/empty.png": ("image", "absent", "empty"),
        "mixed/etc": (None, "not_shown", "unsupported"),
        "mixed/model.onnx": (None, "not_shown", "unsupported"),
        "mixed/named.png": ("image", "absent", "wrong_type"),
        "mixed/notes.md": ("text", "shown", None),
        "mixed/out.txt": ("text", "absent", "unsafe_path"),
        "mixed/site/img/a.png": ("image", "shown", None),
        "mixed/site/index.html": ("html", "shown", None),
    }
    assert code == 0
    assert document["counts"] == {"absent": 3, "not_shown": 2, "shown": 3}
    out = tmp_path / "seen"
    assert json.loads((out / "evidence.json").read_text()) == document
    page = out / files["mixed/site/index.html"]["folder"]
    assert page == out / "mixed" / "site" / "index.html"
    evidence = from_manifest(json.loads((page / "prepared_output_evidence.json").read_text()))
    (picture,) = evidence.pictures
    data = (page / picture.path).read_bytes()
    assert hashlib.sha256(data).hexdigest() == picture.sha256
    assert files["mixed/site/index.html"]["pictures"] == [picture.path]
    assert not evidence.warnings
    assert "img/a.png" in str(evidence.artifacts[0].facts["served"])
    text = out / files["mixed/notes.md"]["folder"] / files["mixed/notes.md"]["texts"][0]
    assert text.read_text() == "# Notes\n\u241b[31mred\n"


def test_lines_for_people(mixed: Path, tmp_path: Path) -> None:
    """Off a terminal there is a plain line for each file, then a plain table and the causes."""
    ran = beholder("evidence", mixed, "--out-dir", "seen", cwd=tmp_path)
    assert ran.returncode == 0
    lines = ran.stderr.splitlines()
    assert len(lines) == 8
    assert {line.split(" ")[0] for line in lines} == {f"{at}/8" for at in range(1, 9)}
    assert ran.stdout.splitlines()[0].split() == ["File", "Kind", "Status", "Shown", "Warnings"]
    assert "mixed/named.png: absent, wrong_type" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "8 files: 3 absent, 2 not shown, 3 shown. Written to seen"
    assert "\x1b" not in ran.stdout + ran.stderr


def test_as_a_program(tmp_path: Path) -> None:
    """Started from a shell in another locale, it ends with its exit code and one document of UTF-8."""
    (tmp_path / "ß.txt").write_text("größer")
    ran = subprocess.run(
        [sys.executable, "-m", "beholder", "evidence", "ß.txt", "gone", "--out-dir", "seen", "--json"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:replace"},
    )
    assert (ran.returncode, b"Traceback" in ran.stderr) == (2, False)
    assert json.loads(ran.stdout)["error"] == "no_such_file"


def test_an_undecided_host_is_exit_code_3(tmp_path: Path) -> None:
    """A page that asks for an outside host is unscored until --network says; the flag is named."""
    (tmp_path / "a.html").write_text(GOOD + "<script src='https://cdn.example.org/x.js'></script>")
    ran = beholder("evidence", "a.html", "--out-dir", "seen", cwd=tmp_path)
    assert ran.returncode == 3
    assert "--network cdn.example.org" in ran.stdout
    code, document = as_json("evidence", "a.html", "--out-dir", "seen", "--network", "block", cwd=tmp_path)
    (one,) = document["files"]
    assert (code, one["status"]) == (0, "shown")
    assert [warning["code"] for warning in one["warnings"]] == ["external_resource_failed"]


def test_a_missing_browser_is_exit_code_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a browser a page is unscored, and the picture beside it is shown all the same."""
    (tmp_path / "a.html").write_text(GOOD)
    (tmp_path / "b.png").write_bytes(png())
    without = functools.partial(EvidenceEngine, browser_path="/nowhere/browser")
    monkeypatch.setattr("beholder.run.evidence.EvidenceEngine", without)
    code, document = as_json("evidence", "a.html", "b.png", "--out-dir", "seen", cwd=tmp_path)
    found = files_of(document)
    assert code == 3
    assert (found["a.html"]["status"], found["a.html"]["reason"]) == ("unscored", "missing_tool")
    assert found["b.png"]["status"] == "shown"


def test_a_page_alone_has_no_siblings(tmp_path: Path) -> None:
    """A page named alone loads what lies in a folder of its own and nothing beside it; in a folder, both."""
    (tmp_path / "in" / "a_files").mkdir(parents=True)
    (tmp_path / "in" / "a.html").write_text(GOOD + "<img src=a_files/own.png><img src=other.png>")
    for name in ("a_files/own.png", "other.png"):
        (tmp_path / "in" / name).write_bytes(png())

    def served(*paths: str) -> set[str]:
        _, document = as_json("evidence", *paths, "--out-dir", "seen", cwd=tmp_path)
        folder = next(one["folder"] for one in document["files"] if one["file"].endswith("a.html"))
        manifest = json.loads((tmp_path / "seen" / folder / "prepared_output_evidence.json").read_text())
        return set(manifest["artifacts"][0]["facts"]["served"])

    assert served("in/a.html") == {"a_files/own.png"}
    assert served("in") == {"a_files/own.png", "other.png"}


def test_the_judges_limits(tmp_path: Path) -> None:
    """With a judge named, what it would shrink is cut into parts that it takes as they are."""
    image = Image.radial_gradient("L").resize((3000, 1200)).convert("RGB")
    image.save(tmp_path / "wide.png")
    _, free = as_json("evidence", "wide.png", "--out-dir", "a", cwd=tmp_path)
    _, bound = as_json(
        "evidence", "wide.png", "--out-dir", "b", "--judge", "anthropic/claude-sonnet-4-5", cwd=tmp_path
    )
    assert len(free["files"][0]["pictures"]) == 1
    assert len(bound["files"][0]["pictures"]) > 2
    assert bound["judge"] == "anthropic/claude-sonnet-4-5"
    _, one = as_json(
        *("evidence", "wide.png", "--out-dir", "c", "--judge", "openai-compatible/claude-sonnet-4-5"),
        *("--max-output-images", "1"),
        cwd=tmp_path,
    )
    assert len(one["files"][0]["pictures"]) == 1


def test_a_protocols_suffixes(tmp_path: Path) -> None:
    """With a protocol named, its lists decide what is looked at."""
    (tmp_path / "a.webp").write_bytes(b"x")
    (tmp_path / "b.md").write_text("text")
    _, document = as_json(
        "evidence", "a.webp", "b.md", "--out-dir", "seen", "--protocol", "gis-bench", cwd=tmp_path
    )
    assert {one["status"] for one in document["files"]} == {"not_shown"}
    assert document["policy"]["images"] == 1


def test_a_text_is_cut(tmp_path: Path) -> None:
    """A long text is cut to the budget, and the warning tells what there was."""
    (tmp_path / "long.txt").write_text("word " * 10_000)
    _, document = as_json(
        "evidence", "long.txt", "--out-dir", "seen", "--max-output-text-chars", "100", cwd=tmp_path
    )
    (one,) = document["files"]
    (warning,) = one["warnings"]
    assert (warning["code"], warning["detail"]) == ("truncated", "100 of 50000 characters are shown")
    written = (tmp_path / "seen" / one["folder"] / one["texts"][0]).read_text()
    assert len(written) <= 100


def test_a_second_run_starts_no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --cache-dir a second run into another folder draws nothing, and writes the same."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text(GOOD + "<img src=b.png>")
    (tmp_path / "in" / "b.png").write_bytes(png())
    _, first = as_json("evidence", "in", "--out-dir", "one", "--cache-dir", "kept", cwd=tmp_path)

    async def no_page(*_: object) -> None:
        raise AssertionError("a page was drawn")

    monkeypatch.setattr("beholder.evidence.pages.PageRenderer.show", no_page)
    _, second = as_json("evidence", "in", "--out-dir", "two", "--cache-dir", "kept", cwd=tmp_path)
    assert second["files"] == first["files"]
    assert second["renderer"] == first["renderer"]
    name = "in/a.html/image-1.png"
    assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_cache_that_fills_up_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be kept the result is the same, and the user is told."""
    (tmp_path / "a.png").write_bytes(png((3000, 40)))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "CACHEDIR.TAG").touch()
    monkeypatch.setattr("beholder.evidence.cache.EvidenceCache._write", full)
    ran = beholder("evidence", "a.png", "--out-dir", "seen", "--cache-dir", "kept", cwd=tmp_path)
    assert ran.returncode == 0
    assert "kept: No space left on device" in ran.stderr


def test_run_again(tmp_path: Path) -> None:
    """Run again into the same folder, what an earlier run wrote of a file is gone."""
    path = tmp_path / "a.png"
    Image.radial_gradient("L").resize((9000, 1200)).save(path)
    as_json("evidence", "a.png", "--out-dir", "seen", cwd=tmp_path)
    folder = tmp_path / "seen" / "a.png"
    before = {one.name for one in folder.iterdir()}
    path.write_bytes(png())
    as_json("evidence", "a.png", "--out-dir", "seen", cwd=tmp_path)
    assert {one.name for one in folder.iterdir()} == {"image-1.png", "prepared_output_evidence.json"}
    assert len(before) > 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.png", "--out-dir", "seen"], "no such file"),
        (["in", "--out-dir", "in/seen"], "lie in one another"),
        (["in/a.png", "--out-dir", "in"], "lie in one another"),
        (["hollow", "--out-dir", "seen"], "no file"),
        (["in/a.png", "--out-dir", "seen", "--judge", "nobody/x"], "nobody"),
        (["in/a.png", "--out-dir", "seen", "--protocol", "nothing"], "nothing"),
        (["in/a.png", "--out-dir", "seen", "--network", "http://x/y"], "--network"),
        (["in/a.png", "--out-dir", "seen", "--record", "kept"], "--network allow"),
        (
            ["in/a.png", "--out-dir", "seen", "--record", "a", "--replay", "b", "--network", "allow"],
            "--replay",
        ),
        (["in/a.png", "--out-dir", "seen", "--replay", "in"], "no record"),
        (["in/a.png", "--out-dir", "seen", "--cache-dir", "in/a.png"], "--cache-dir"),
    ],
)
def test_the_users_mistakes(tmp_path: Path, arguments: list[str], words: str) -> None:
    """A wrong file or flag is exit code 2 with a plain sentence, and nothing is written."""
    (tmp_path / "in").mkdir()
    (tmp_path / "hollow").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(png())
    ran = beholder("evidence", *arguments, cwd=tmp_path)
    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False)
    assert words in ran.stderr
    assert not (tmp_path / "seen").exists()


def test_help_has_an_example(tmp_path: Path) -> None:
    """--help shows how it is called."""
    assert "Example: beholder evidence" in " ".join(
        beholder("evidence", "--help", cwd=tmp_path).stdout.split()
    )


@pytest.mark.parametrize(
    "name", ["-rf.html", "with space.html", "новый 文.html", "new\nline.html", "a%2fb.html"]
)
def test_awkward_names(tmp_path: Path, name: str) -> None:
    """A file with an awkward name has a folder below the out-dir, and does nothing to the terminal."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(GOOD)
    code, document = as_json("evidence", "in", "--out-dir", "seen", cwd=tmp_path)
    (one,) = document["files"]
    assert (code, one["file"], one["status"]) == (0, f"in/{name}", "shown")
    folder = tmp_path / "seen" / one["folder"]
    assert (folder / "image-1.png").is_file()
    assert folder.resolve().is_relative_to(tmp_path / "seen")


# --- the parts ----------------------------------------------------------------------------------


def test_folders_are_safe_and_apart() -> None:
    """Folders differ even on a disk without cases, and no name leads out of the out-dir."""
    names = ["a.png", "A.PNG", "a.png", "x/a.png", "..", "x/../../y", "q1.xlsx", "judge_summary.json"]
    folders = folder_names(names)
    assert folders[:4] == ["a.png", "A.PNG~2", "a.png~3", "x/a.png"]
    assert folders[6:] == ["q1.xlsx", "judge_summary.json"]
    assert all(".." not in folder.split("/") for folder in folders)
    assert len({folder.lower() for folder in folders}) == len(folders)
    assert len(safe_name("é" * 300).encode()) <= 180


def test_every_suffix_is_looked_at() -> None:
    """Without a protocol every suffix that something renders is visual, and none is both."""
    routing = general_routing()
    assert set(routing.visual) == set(KINDS)
    assert not set(routing.visual) & set(routing.text)
    assert {".md", ".py", ".csv"} <= set(routing.text)


def test_links_are_not_followed_to_folders(mixed: Path) -> None:
    """A link to a folder that is named, as by a pattern, is one unusable file, not the folder's content."""
    (found,) = loose_files([mixed / "etc"])
    (artifact,) = found.open().artifacts
    assert artifact.problem == "unsafe_path"
    with pytest.raises(TaskError, match="no such file"):
        list(loose_files([mixed / "gone"]))
