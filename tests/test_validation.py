"""Everything that is wrong with tasks and submissions, at once."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pikepdf
import pytest
from PIL import Image

from beholder.demo import example_folder
from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.files import read_below
from beholder.protocols import load_protocol
from beholder.records import MAX_ARTIFACT_BYTES, Routing, Task
from beholder.tasks import RunDirectory
from beholder.validation import Validation, validate_run
from beholder.validation.decoded import Decoders
from tests.fakes.runs import command, picture, run

GIS = load_protocol("gis-bench")


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def tasks_file(folder: Path, *ids: str) -> Path:
    rows = [{"task_id": name, "level": "Level1", "prompt": f"Map {name}."} for name in ids]
    return write(folder / "tasks.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def found(validation: Validation) -> set[tuple[str | None, str, str]]:
    return {(problem.task_id, problem.kind, problem.path) for problem in validation.problems}


def folder_submission(root: Path, **files: str | bytes) -> Path:
    """A task's folder with one good picture, and files by name (`__` for a dot)."""
    picture(root / "artifacts" / "map.png")
    write(root / "response.txt", "done")
    for name, content in files.items():
        write(root / name.replace("__", "."), content)
    return root


@contextmanager
def without_rights() -> Iterator[Path]:
    """A folder, left to a user who is not root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def as_nobody() -> Iterator[None]:
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_good_run_has_no_problem(tmp_path: Path) -> None:
    """Both layouts, with the audit files that may be there."""
    file = tasks_file(tmp_path, "a", "b", "c/d")
    picture(tmp_path / "run" / "a.png")
    picture(tmp_path / "run" / "c%2Fd.png")
    row = {"task_id": "b", "prompt": "Map b.", "level": "Level1", "more": 1}
    folder_submission(
        tmp_path / "run" / "b",
        task__json=json.dumps(row),
        prompt__txt="Map b.",
        history__jsonl='{"role": "user"}\n',
        metadata__json="{}",
    )
    write(tmp_path / "run" / ".DS_Store", b"\0")
    validation = validate_run(file, tmp_path / "run", protocol=GIS)
    assert validation.problems == ()
    assert (validation.tasks, validation.submissions) == (3, 3)


def test_every_kind_of_problem_is_listed_at_once_by_task(tmp_path: Path) -> None:
    """One folder with everything wrong gives every kind, each with its task and path."""
    ids = ["missing", "doubled", "both", "empty", "text", "cut", "link", "word", "zip", "dangling"]
    file = tasks_file(tmp_path, *ids)
    run_dir = tmp_path / "run"
    picture(run_dir / "doubled.png")
    write(run_dir / "doubled.html", "<h1>two")
    folder_submission(run_dir / "both")
    picture(run_dir / "both.png")
    write(run_dir / "empty.png", b"")
    write(run_dir / "text.png", "this is no picture")
    good = picture(run_dir / "cut.png").read_bytes()
    write(run_dir / "cut.png", good[: len(good) // 2])
    (run_dir / "link.png").symlink_to(tmp_path / "tasks.jsonl")
    write(run_dir / "word.docx", b"PK\x03\x04")
    write(run_dir / "zip.html", b"PK\x03\x04 not a page")
    (run_dir / "dangling.png").symlink_to(run_dir / "nothing.png")
    write(run_dir / "stray.html", "<p>nobody asked")
    validation = validate_run(file, run_dir, protocol=GIS)
    assert found(validation) == {
        ("missing", "missing", ""),
        ("doubled", "doubled", "doubled.html"),
        ("both", "doubled", "both/"),
        ("empty", "empty", "empty.png"),
        ("text", "wrong_type", "text.png"),
        ("cut", "corrupt", "cut.png"),
        ("link", "unsafe_path", "link.png"),
        ("word", "unsupported", "word.docx"),
        ("zip", "wrong_type", "zip.html"),
        ("dangling", "missing", "dangling.png"),
        (None, "unexpected", "stray.html"),
    }
    order = [problem.task_id for problem in validation.problems if problem.task_id]
    assert order == sorted(order, key=ids.index)
    assert sum(validation.counts.values()) == len(validation.problems)


def test_documents_and_videos_that_only_begin_well_are_told(tmp_path: Path) -> None:
    """A file cut short or locked is told as a run would find it, before anything is paid for."""
    office, maths = example_folder("enterprise-claw") / "runs", example_folder("math-media") / "runs"
    whole = {
        "pdf": office / "bureau-large-demo/travel-policy/artifacts/travel-policy.pdf",
        "docx": office / "bureau-large-demo/delay-letter/artifacts/letter-4417.docx",
        "mp4": maths / "chalk-small-demo/unit-fractions.mp4",
    }
    for suffix, path in whole.items():
        data = path.read_bytes()
        write(tmp_path / "run" / f"good-{suffix}.{suffix}", data)
        write(tmp_path / "run" / f"cut-{suffix}.{suffix}", data[: len(data) // 20])
    with pikepdf.open(whole["pdf"]) as pdf:
        pdf.save(tmp_path / "run" / "locked.pdf", encryption=pikepdf.Encryption(owner="o", user="u"))
    ids = [*(f"{how}-{suffix}" for how in ("good", "cut") for suffix in whole), "locked"]
    validation = validate_run(tasks_file(tmp_path, *ids), tmp_path / "run")
    assert found(validation) == {
        *((f"cut-{suffix}", "corrupt", f"cut-{suffix}.{suffix}") for suffix in whole),
        ("locked", "encrypted", "locked.pdf"),
    }
    assert validation.notes == ()


def paged(path: Path, *lost: int) -> None:
    """A PDF of eight pages, of which some cannot be read."""
    with pikepdf.Pdf.new() as pdf:
        for _ in range(8):
            pdf.add_blank_page(page_size=(200, 200))
        for at in lost:
            pdf.Root.Pages.Kids[at] = 5
        pdf.save(path)


def test_every_page_that_a_run_would_show_is_tried(tmp_path: Path) -> None:
    """A page that cannot be read is noted, be it the first; beyond the protocol's pages nobody looks."""
    (tmp_path / "run").mkdir()
    for name, lost in {"first": [0], "last": [5], "later": [6], "all": range(6)}.items():
        paged(tmp_path / "run" / f"{name}.pdf", *lost)
    validation = validate_run(tasks_file(tmp_path, "first", "last", "later", "all"), tmp_path / "run")
    assert found(validation) == {("all", "corrupt", "all.pdf")}
    assert [(note.task_id, note.kind) for note in validation.notes] == [
        ("first", "damaged"),
        ("last", "damaged"),
    ]
    assert "pages 6" in validation.notes[1].detail
    more = replace(
        GIS,
        evidence=replace(GIS.evidence, pages=8, images=32),
        routing=Routing(kind="visual", visual=(".pdf",)),
    )
    noted = validate_run(tasks_file(tmp_path, "later"), tmp_path / "run", protocol=more).notes
    assert [note.task_id for note in noted] == ["later"]


def test_a_video_that_breaks_off_is_noted(tmp_path: Path) -> None:
    """Every frame is decoded: a file cut near its end is told with how much of it there is."""
    whole = tmp_path / "run" / "whole.webm"
    whole.parent.mkdir()
    noise = np.random.default_rng(1)
    writer = cv2.VideoWriter(str(whole), cv2.VideoWriter.fourcc(*"VP80"), 10, (96, 64))
    for _ in range(40):
        writer.write(noise.integers(0, 255, (64, 96, 3), dtype=np.uint8))
    writer.release()
    data = whole.read_bytes()
    write(tmp_path / "run" / "cut.webm", data[: len(data) * 3 // 4])
    validation = validate_run(tasks_file(tmp_path, "whole", "cut"), tmp_path / "run")
    assert validation.problems == ()
    (note,) = validation.notes
    assert (note.task_id, note.kind) == ("cut", "damaged")
    assert "of 40 frames can be decoded" in note.detail


def test_a_file_that_we_cannot_decode_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that fails on a good file as well says nothing against the submission."""

    def fails(*_: object) -> None:
        raise RendererFailed("a good file fails too")

    monkeypatch.setattr(Decoders, "problem", fails)
    picture(tmp_path / "run" / "a.png")
    validation = validate_run(tasks_file(tmp_path, "a"), tmp_path / "run")
    assert (validation.problems, [note.kind for note in validation.notes]) == ((), ["not_checked"])


def test_a_tasks_folder_is_looked_into(tmp_path: Path) -> None:
    """Files in the wrong place, a missing response, audit files that are broken or of other tasks."""
    file = tasks_file(tmp_path, "a", "b", "c", "d", "e")
    run_dir = tmp_path / "run"
    folder_submission(
        run_dir / "a", task__json='{"task_id": "b", "prompt": "Map b."}', map__html="<h1>misplaced"
    )
    folder_submission(run_dir / "b", task__json="{", metadata__json=b"\xff", history__jsonl="{}\nno\n")
    (run_dir / "b" / "response.txt").write_bytes(b"\xff\xfe")
    picture(run_dir / "c" / "artifacts" / "map.png")
    write(run_dir / "d" / "artifacts", "a file")
    write(run_dir / "d" / "response.txt", " ")
    write(run_dir / "e" / "response.txt", "only words")
    assert found(validate_run(file, run_dir, protocol=GIS)) == {
        ("a", "unexpected", "a/map.html"),
        ("a", "task_differs", "a/task.json"),
        ("b", "malformed", "b/task.json"),
        ("b", "malformed", "b/metadata.json"),
        ("b", "malformed", "b/history.jsonl"),
        ("b", "malformed", "b/response.txt"),
        ("c", "no_response", "c/response.txt"),
        ("d", "malformed", "d/artifacts"),
        ("d", "missing", "d/"),
        ("e", "missing", "e/artifacts"),
    }


def test_links_out_of_a_tasks_folder_are_told_and_not_followed(tmp_path: Path) -> None:
    """The folder itself, its artifacts, its response and its audit files."""
    file = tasks_file(tmp_path, "a", "b", "c")
    write(tmp_path / "secret" / "artifacts" / "x.png", "secret")
    write(tmp_path / "secret" / "task.json", '{"task_id": "secret words"}')
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    (run_dir / "a").symlink_to(tmp_path / "secret")
    folder_submission(run_dir / "b")
    (run_dir / "b" / "artifacts" / "out.png").symlink_to(tmp_path / "secret" / "artifacts" / "x.png")
    (run_dir / "b" / "task.json").symlink_to(tmp_path / "secret" / "task.json")
    folder_submission(run_dir / "c")
    (run_dir / "c" / "response.txt").unlink()
    (run_dir / "c" / "response.txt").symlink_to(tmp_path / "secret" / "task.json")
    validation = validate_run(file, run_dir)
    assert {("a", "unsafe_path", "a/artifacts"), ("b", "unsafe_path", "b/artifacts/out.png")} < found(
        validation
    )
    assert ("b", "unsafe_path", "b/task.json") in found(validation)
    assert ("c", "unsafe_path", "c/response.txt") in found(validation)
    assert "secret words" not in str(validation)


def test_what_may_not_be_read_is_one_submissions_problem() -> None:
    """A file without rights and a folder that cannot be searched do not hide the others."""
    with without_rights() as folder:
        file = tasks_file(folder, "a", "b", "c")
        picture(folder / "run" / "a.png").chmod(0)
        folder_submission(folder / "run" / "b").chmod(0o444)
        picture(folder / "run" / "c.png")
        # What is imported at the first call may lie where nobody may read, and would be missing ever after.
        validate_run(file, folder / "run", protocol=GIS)
        with as_nobody():
            validation = validate_run(file, folder / "run", protocol=GIS)
        (folder / "run" / "b").chmod(0o755)
    kinds = {(task_id, kind) for task_id, kind, _ in found(validation)}
    assert kinds == {("a", "unreadable"), ("b", "unreadable")}


def test_every_problem_of_the_task_file_is_listed_and_the_good_tasks_are_checked(tmp_path: Path) -> None:
    """More than the twenty that other commands show; what the broken rows ask for is not called stray."""
    lines = [json.dumps({"task_id": "a", "level": "1", "prompt": "x"}), *['{"task_id": null}'] * 25, "{"]
    file = write(tmp_path / "tasks.jsonl", "\n".join(lines))
    write(tmp_path / "run" / "a.png", b"")
    write(tmp_path / "run" / "b.png", b"")
    validation = validate_run(file, tmp_path / "run", protocol=GIS)
    assert validation.counts == {"empty": 1, "task_file": 26}
    assert validation.problems[0].detail.startswith("line 27: not JSON")


def test_a_run_directory_that_is_not_there_is_told_with_the_rest(tmp_path: Path) -> None:
    """Both files of the command are wrong, and both are named."""
    file = write(tmp_path / "tasks.jsonl", "{")
    kinds = {kind for _, kind, _ in found(validate_run(file, tmp_path / "nowhere"))}
    assert kinds == {"task_file", "unreadable"}


@pytest.mark.parametrize(("task_id", "name"), [("7", "007.png"), ("Map-1", "map-1.png"), ("7.0", "7.png")])
def test_a_near_name_is_suggested(tmp_path: Path, task_id: str, name: str) -> None:
    """Zeros, capitals and a spreadsheet's .0 are the usual reasons for a missing submission."""
    picture(tmp_path / "run" / name)
    validation = validate_run(tasks_file(tmp_path, task_id), tmp_path / "run", protocol=GIS)
    assert f"is {name} meant?" in validation.problems[0].detail
    assert validation.counts == {"missing": 1, "unexpected": 1}


def test_another_format_of_the_same_kind_is_a_note(tmp_path: Path) -> None:
    """A JPEG that is named .png is judged as what it is; a bomb is refused by its header."""
    data = io.BytesIO()
    Image.new("RGB", (10, 10), "red").save(data, "JPEG")
    write(tmp_path / "run" / "a.png", data.getvalue())
    header = picture(tmp_path / "run" / "b.png").read_bytes()
    huge = (60_000).to_bytes(4, "big") * 2
    import zlib

    ihdr = b"IHDR" + huge + header[24:29]
    bomb = header[:12] + ihdr + zlib.crc32(ihdr).to_bytes(4, "big") + header[33:]
    write(tmp_path / "run" / "b.png", bomb)
    validation = validate_run(tasks_file(tmp_path, "a", "b"), tmp_path / "run", protocol=GIS)
    assert [(note.kind, note.task_id) for note in validation.notes] == [("other_format", "a")]
    assert found(validation) == {("b", "too_large", "b.png")}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.pdf", b"%PDF-1.7", "corrupt"),
        ("a.pdf", b"\n\n%PDF-1.4", "corrupt"),
        ("a.pdf", b"<html>", "wrong_type"),
        ("a.docx", b"PK\x03\x04", "corrupt"),
        ("a.docx", b"just text", "wrong_type"),
        ("a.xlsx", b"\x89PNG\r\n\x1a\n", "wrong_type"),
        ("a.doc", b"{\\rtf1", None),
        ("a.doc", b"\xdb\xa5-\0\0\0", None),
        ("a.doc", b"<p>a page</p>", "wrong_type"),
        ("a.mp4", b"\0\0\0\x18ftypisom", "corrupt"),
        ("a.mp4", b"\x1a\x45\xdf\xa3", "corrupt"),
        ("a.mp4", b"GIF89a", "wrong_type"),
        ("a.md", "안녕".encode(), None),
        ("a.md", b"\x7fELF\0\0", "wrong_type"),
        ("a.xyz", b"anything", None),
    ],
)
def test_content_is_held_against_the_suffix(
    tmp_path: Path, name: str, content: bytes, kind: str | None
) -> None:
    """By the first bytes; what begins rightly is decoded, and a suffix that nobody knows promises nothing."""
    write(tmp_path / "run" / name, content)
    validation = validate_run(tasks_file(tmp_path, "a"), tmp_path / "run")
    assert [problem.kind for problem in validation.problems] == ([kind] if kind else [])


def test_outside_hosts_are_listed_with_the_flag_that_allows_them(tmp_path: Path) -> None:
    """Of pages, and of the style sheets and scripts beside them; they are no problem."""
    file = tasks_file(tmp_path, "a", "b", "c")
    run_dir = tmp_path / "run"
    write(
        run_dir / "a.html",
        '<script src="https://cdn.example.com/x.js"></script><a href="https://no.example">',
    )
    write(run_dir / "b" / "artifacts" / "index.html", '<script src="app.js"></script>')
    write(run_dir / "b" / "artifacts" / "app.js", "tile('https://{s}.tiles.example.org/{z}')")
    write(run_dir / "b" / "response.txt", "")
    write(run_dir / "c.html", '<img src="//cdn.example.com/y.png">')
    validation = validate_run(file, run_dir, protocol=GIS)
    assert validation.problems == ()
    assert [(use.host, use.tasks) for use in validation.hosts] == [
        (".tiles.example.org", ("b",)),
        ("cdn.example.com", ("a", "c")),
    ]
    assert validation.network_flag == "--network .tiles.example.org,cdn.example.com"


def test_the_command_exits_2_with_problems_and_0_without(tmp_path: Path) -> None:
    """Hosts alone leave it at 0; JSON has the counts; nothing is written."""
    file = tasks_file(tmp_path, "a", "b")
    write(tmp_path / "run" / "a.html", '<script src="https://cdn.example.com/x.js"></script>')
    line = command(
        "validate-run", "--tasks", file, "--run-dir", f"m={tmp_path}/run", "--protocol", "gis-bench"
    )
    before = sorted(tmp_path.rglob("*"))
    first = run([*line, "--json"])
    told: dict[str, Any] = json.loads(first.stdout)
    assert (first.returncode, told["ok"], told["counts"], told["model"]) == (2, False, {"missing": 1}, "m")
    assert told["outside_hosts"]["cdn.example.com"]["tasks"] == ["a"]
    assert sorted(tmp_path.rglob("*")) == before
    picture(tmp_path / "run" / "b.png")
    second = run(line)
    assert second.returncode == 0
    assert "--network cdn.example.com" in second.stdout
    assert "Nothing is wrong." in second.stdout


def test_several_models_are_told_apart(tmp_path: Path) -> None:
    """One document by model; one model's problem is the command's."""
    file = tasks_file(tmp_path, "a")
    picture(tmp_path / "one" / "a.png")
    write(tmp_path / "two" / "a.png", b"")
    line = command(
        "validate-run", "--tasks", file, "--run-dir", tmp_path / "one", "--run-dir", f"B={tmp_path}/two"
    )
    done = run([*line, "--json"])
    told = json.loads(done.stdout)
    assert (done.returncode, told["ok"]) == (2, False)
    assert {name: one["counts"] for name, one in told["models"].items()} == {"one": {}, "B": {"empty": 1}}
    assert "== B ==" in run(line).stdout


def test_korean_headings_and_names_with_escapes(tmp_path: Path) -> None:
    """--columns is taken as by judge-run, and a hostile name drives no terminal."""
    file = write(tmp_path / "t.csv", "번호,문항,수준\n1,지도,Level1\n")
    write(tmp_path / "run" / "\x1b[31mred.png", b"")
    picture(tmp_path / "run" / "1.png")
    done = run(
        command(
            "validate-run", "--tasks", file, "--run-dir", tmp_path / "run", "--protocol", "gis-bench",
            "--columns", "task_id=번호,prompt=문항,level=수준",
        )
    )  # fmt: skip
    assert done.returncode == 2
    assert "\x1b" not in done.stdout
    assert "1 unexpected" in done.stdout


@pytest.mark.parametrize("assets", ["q", "q_files", "shared"])
def test_a_pages_assets_are_no_submission(tmp_path: Path, assets: str) -> None:
    """As a run takes them: beside a page, a folder without artifacts/ and response.txt is the page's."""
    file = tasks_file(tmp_path, "q")
    write(tmp_path / "run" / "q.html", f"<img src='{assets}/a.png'>")
    picture(tmp_path / "run" / assets / "a.png")
    validation = validate_run(file, tmp_path / "run", protocol=GIS)
    assert (validation.problems, validation.submissions) == ((), 1)
    write(tmp_path / "run" / assets / "response.txt", "done")
    taken = {("q", "doubled", "q/"), ("q", "missing", "q/artifacts"), ("q", "unexpected", "q/a.png")}
    stray = {(None, "unexpected", f"{assets}/")}
    assert found(validate_run(file, tmp_path / "run", protocol=GIS)) == (taken if assets == "q" else stray)


def test_a_folder_beside_pictures_is_nobodys(tmp_path: Path) -> None:
    """Pictures need no assets, so that a folder of another name is left over."""
    picture(tmp_path / "run" / "q.png")
    picture(tmp_path / "run" / "old" / "q.png")
    validation = validate_run(tasks_file(tmp_path, "q"), tmp_path / "run", protocol=GIS)
    assert found(validation) == {(None, "unexpected", "old/")}


def test_a_link_that_leads_to_itself_is_one_problem(tmp_path: Path) -> None:
    """In the run directory, as a task's file, in its folder; and as the run directory itself."""
    file = tasks_file(tmp_path, "a", "b", "c")
    run_dir = tmp_path / "run"
    picture(run_dir / "a.png")
    folder_submission(run_dir / "c")
    for name in ("stray", "b.png", "c/task.json", "c/more"):
        (run_dir / name).symlink_to(run_dir / name)
    assert found(validate_run(file, run_dir, protocol=GIS)) == {
        ("b", "unsafe_path", "b.png"),
        ("c", "unsafe_path", "c/task.json"),
        ("c", "unexpected", "c/more"),
        (None, "unexpected", "stray"),
    }
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert validate_run(file, tmp_path / "loop").counts == {"unreadable": 1}


def test_a_file_that_a_run_finds_too_large_is_told(tmp_path: Path) -> None:
    """By the same limit that its evidence is read with."""
    file = write(tmp_path / "run" / "a.xyz", "any")
    for size, kinds in ((MAX_ARTIFACT_BYTES, {}), (MAX_ARTIFACT_BYTES + 1, {"too_large": 1})):
        os.truncate(file, size)
        (artifact,) = (
            RunDirectory(tmp_path / "run", "m").open(Task(id="a", fields={}, labels={}, row=1)).artifacts
        )
        assert (artifact.problem is None) == (not kinds)
        assert validate_run(tasks_file(tmp_path, "a"), tmp_path / "run").counts == kinds
    with pytest.raises(BrokenArtifact) as caught:
        read_below(tmp_path / "run", "a.xyz")
    assert caught.value.slug == "too_large"


def test_a_wording_without_its_protocol_is_refused(tmp_path: Path) -> None:
    """It would be ignored without a word."""
    picture(tmp_path / "run" / "a.png")
    words = write(tmp_path / "words.txt", "{prompt}")
    line = command("validate-run", "--tasks", tasks_file(tmp_path, "a"), "--run-dir", tmp_path / "run")
    done = run([*line, "--prompt-file", str(words)])
    assert (done.returncode, "name the protocol too" in done.stderr) == (2, True)
