"""Task files and run directories."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import TaskError
from beholder.records import Task
from beholder.tasks import RunDirectory, load_tasks
from beholder.tasks.files import identity


def task(task_id: str) -> Task:
    return Task(id=task_id, fields={}, labels={}, row=1)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_is_passed_on_unchanged(tmp_path: Path) -> None:
    """Braces, percent signs, backslashes, blanks and an empty text arrive as they were written."""
    texts = ["{level} {0} %s $HOME", "\\frac{1}{2}", "  two\nlines  ", "", "x" * 20_000]
    rows = [json.dumps({"task_id": str(n), "prompt": text}) for n, text in enumerate(texts)]
    loaded = load_tasks(write(tmp_path / "t.jsonl", "\n".join(rows)), placeholders=["prompt"])
    assert [item.fields["prompt"] for item in loaded] == texts


def test_every_format_gives_the_same_tasks(tmp_path: Path) -> None:
    """JSON lines, JSON, CSV and XLSX of the same rows are the same tasks."""
    rows = [
        {"task_id": "a", "prompt": "한국어, 쉼표", "level": "1"},
        {"task_id": "7", "prompt": "two", "level": "2"},
    ]
    write(tmp_path / "t.jsonl", "\n".join(json.dumps(row) for row in rows))
    write(tmp_path / "t.json", json.dumps(rows))
    write(tmp_path / "t.csv", '\ufefftask_id,prompt,level\r\na,"한국어, 쉼표",1\r\n7,two,2\r\n')
    book = openpyxl.Workbook()
    for cells in (["task_id", "prompt", "level"], ["a", "한국어, 쉼표", 1], [7, "two", 2]):
        book.active.append(cells)
    book.save(tmp_path / "t.xlsx")
    loaded = [
        [
            (t.id, dict(t.fields), dict(t.labels))
            for t in load_tasks(tmp_path / f"t.{ext}", placeholders=["prompt"])
        ]
        for ext in ("jsonl", "json", "csv", "xlsx")
    ]
    assert loaded[0] == [
        ("a", {"prompt": "한국어, 쉼표"}, {"level": "1"}),
        ("7", {"prompt": "two"}, {"level": "2"}),
    ]
    assert all(other == loaded[0] for other in loaded)


def test_columns_with_other_names_are_mapped(tmp_path: Path) -> None:
    """`--columns task_id=번호,prompt=문항` reads a table with its own headings."""
    file = write(tmp_path / "t.csv", "번호;문항;수준\n1;지도;Level1\n")
    loaded = load_tasks(
        file,
        placeholders=["prompt", "level"],
        group_by=["level"],
        columns={"task_id": "번호", "prompt": "문항", "level": "수준"},
    )
    assert (loaded[0].id, loaded[0].fields, loaded[0].labels) == (
        "1",
        {"prompt": "지도", "level": "Level1"},
        {"level": "Level1"},
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"task_id": "a"}\n{"task_id": "a"}', "row 2: task id 'a' was used in row 1"),
        ('{"task_id": "a"}\n{"task_id": null}', "row 2, column 'task_id': no id"),
        ('{"task_id": "a"}\n{"task_id": true}', "row 2, column 'task_id': true is no id"),
        ('{"task_id": 1.5}', "1.5 is no id"),
        ('{"task_id": NaN}', "nan is no id"),
        ('{"id": "a"}', "--columns task_id=THEIR_NAME"),
        ("", "no tasks"),
        ('{"task_id": "a"', "line 1: not JSON"),
        ("[1]", "line 1: a task is an object"),
        (b'{"task_id": "\xff"}', "line 1: not UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_by_row_and_column(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    """The message says where and what to do."""
    with pytest.raises(TaskError, match=r"t\.jsonl") as caught:
        load_tasks(write(tmp_path / "t.jsonl", content))
    assert message in str(caught.value)


def test_a_value_that_the_prompt_needs_must_be_there(tmp_path: Path) -> None:
    """An absent value is named; an empty text is a text."""
    file = write(tmp_path / "t.jsonl", '{"task_id": "a", "prompt": ""}\n{"task_id": "b", "prompt": null}')
    with pytest.raises(TaskError, match="row 2, column 'prompt'"):
        load_tasks(file, placeholders=["prompt"])


def test_whole_numbers_are_their_decimal_text() -> None:
    """7 and a spreadsheet's 7.0 are one id, 007 is another."""
    assert [identity(value) for value in (7, 7.0, "7", "007")] == ["7", "7", "7", "007"]


@given(st.text(min_size=1).filter(lambda text: text.strip() and "\x00" not in text and len(text) < 200))
def test_any_text_is_its_own_id(text: str) -> None:
    """No id is trimmed or changed."""
    assert identity(text) == text


def test_both_layouts_are_read_and_pinned_by_digest(tmp_path: Path) -> None:
    """A folder per task with artifacts below it, or a file per task."""
    write(tmp_path / "a" / "artifacts" / "sub" / "map.html", "<p>a")
    write(tmp_path / "a" / "artifacts" / "x.png", b"png")
    write(tmp_path / "a" / "response.txt", "done")
    write(tmp_path / "b.png", b"b")
    run = RunDirectory(tmp_path, "model")
    a, b, c = (run.open(task(name)) for name in ("a", "b", "c"))
    assert ([item.name for item in a.artifacts], a.response) == (["x.png", "sub/map.html"], "done")
    assert b.artifacts[0].sha256 == hashlib.sha256(b"b").hexdigest()
    assert (c.root, c.artifacts) == (None, ())


def test_several_files_of_one_task_are_all_found(tmp_path: Path) -> None:
    """7.html and 7.png belong to task 7; 7.1.png belongs to 7.1."""
    for name in ("7.html", "7.png", "7.1.png"):
        write(tmp_path / name, name)
    run = RunDirectory(tmp_path, "model")
    assert [item.name for item in run.open(task("7")).artifacts] == ["7.html", "7.png"]
    assert [item.name for item in run.open(task("7.1")).artifacts] == ["7.1.png"]


@pytest.mark.parametrize("task_id", ["a/b", "../escape", "경로 #1", "é", "a:b?", "100%"])
def test_ids_that_are_no_file_names_are_found_percent_encoded(tmp_path: Path, task_id: str) -> None:
    """An id never becomes a path; on disk it is itself or percent-encoded."""
    from urllib.parse import quote

    write(tmp_path / f"{quote(task_id, safe='')}.png", b"x")
    assert [item.size_bytes for item in RunDirectory(tmp_path, "m").open(task(task_id)).artifacts] == [1]


def test_a_decomposed_name_matches_its_composed_id(tmp_path: Path) -> None:
    """macOS stores é as two characters."""
    write(tmp_path / "cafe\u0301.png", b"x")
    assert RunDirectory(tmp_path, "m").open(task("caf\u00e9")).artifacts


def test_what_leads_out_or_is_no_file_is_never_opened(tmp_path: Path) -> None:
    """Links out of the folder, dangling links and pipes carry their problem and no digest."""
    secret = write(tmp_path / "secret.png", b"secret")
    root = tmp_path / "run" / "t" / "artifacts"
    write(root / "good.png", b"good")
    (root / "out.png").symlink_to(secret)
    (root / "up.png").symlink_to("../../../secret.png")
    (root / "dangling.png").symlink_to("nowhere.png")
    (root / "inside.png").symlink_to("good.png")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.png")
    found = {
        a.name: (a.problem, bool(a.sha256))
        for a in RunDirectory(tmp_path / "run", "m").open(task("t")).artifacts
    }
    assert found == {
        "good.png": (None, True),
        "inside.png": (None, True),
        "out.png": ("unsafe_path", False),
        "up.png": ("unsafe_path", False),
        "folder": ("unsafe_path", False),
        "dangling.png": ("missing", False),
        "pipe.png": ("unsafe_path", False),
    }


def test_a_task_folder_that_is_a_link_out_is_not_entered(tmp_path: Path) -> None:
    """Nothing below it is read."""
    write(tmp_path / "elsewhere" / "artifacts" / "x.png", b"x")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "t").symlink_to(tmp_path / "elsewhere")
    artifacts = RunDirectory(tmp_path / "run", "m").open(task("t")).artifacts
    assert [item.problem for item in artifacts] == ["unsafe_path"]


def test_a_missing_run_directory_is_said(tmp_path: Path) -> None:
    """The message names the folder."""
    with pytest.raises(TaskError, match="nowhere"):
        RunDirectory(tmp_path / "nowhere", "m")
