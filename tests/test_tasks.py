"""Task files and run directories."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import TaskError
from beholder.records import Task
from beholder.tasks import RunDirectory, load_tasks, read_task, read_tasks
from beholder.tasks.cells import identity
from beholder.tasks.submissions import names_on_disk


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


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
@pytest.mark.parametrize("word", ["NaN", "-Infinity"])
def test_what_is_no_number_is_no_text_either(tmp_path: Path, name: str, word: str) -> None:
    """A cell without a value, as some programs write it, is never shown to a judge as the text NaN."""
    row = f'{{"task_id": "a", "prompt": {word}}}'
    file = write(tmp_path / name, row if name == "t.jsonl" else f"[{row}]")
    with pytest.raises(TaskError, match=f"{word} is no JSON; write null"):
        load_tasks(file, placeholders=["prompt"])


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_a_key_given_twice_is_refused(tmp_path: Path, name: str) -> None:
    """Which of two values was meant would be a guess, be it of the task or deeper in it."""
    for row in ('{"task_id": "a", "task_id": "b"}', '{"task_id": "a", "rubric": [{"key": "x", "key": "y"}]}'):
        file = write(tmp_path / name, row if name == "t.jsonl" else f"[{row}]")
        with pytest.raises(TaskError, match=r"key '(task_id|key)' stands twice in one object"):
            load_tasks(file, placeholders=[])


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (["a/b", "a%2Fb"], "has the same name on disk"),
        (["a%2Fb", "a/b"], "has the same name on disk"),
        (["\u00e9", "e\u0301"], "is only spelled by other code points"),
        (["x", "x"], "was used in row 1 already"),
    ],
)
def test_ids_that_would_share_a_submission_are_refused(tmp_path: Path, ids: list[str], why: str) -> None:
    """Two tasks never get one file or folder: which of them it was made for would be a guess."""
    file = write(tmp_path / "t.jsonl", "\n".join(json.dumps({"task_id": one}) for one in ids))
    found = read_tasks(file)
    assert [task.id for task in found.tasks] == ids[:1]
    assert [problem.row for problem in found.problems] == [2]
    assert why in str(found.problems[0])


def test_ids_that_only_look_alike_are_two(tmp_path: Path) -> None:
    """Capitals, blanks and leading zeros tell ids apart."""
    ids = ["a", "A", "a ", "7", "007", "a%", "a%25b"]
    file = write(tmp_path / "t.jsonl", "\n".join(json.dumps({"task_id": one}) for one in ids))
    assert [task.id for task in load_tasks(file)] == ids


def test_a_damaged_workbook_is_no_crash(tmp_path: Path) -> None:
    """Whichever byte was lost, the file is read or told to be unreadable."""
    book = openpyxl.Workbook()
    for cells in (["task_id", "prompt"], ["a", "x"], [7, "=1+1"]):
        book.active.append(cells)
    book.save(tmp_path / "whole.xlsx")
    whole = (tmp_path / "whole.xlsx").read_bytes()
    told = set()
    for at in range(0, len(whole), 29):
        file = write(tmp_path / "t.xlsx", whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        told |= {problem.message.partition(":")[0] for problem in read_tasks(file).problems}
    assert {"not a readable workbook, or one with a password", "not a readable workbook"} <= told


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
        ('{"task_id": NaN}', "NaN is no JSON"),
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


def book(path: Path, *lines: list[object], top: int = 1) -> Path:
    """A workbook whose first line of cells stands in row `top`."""
    workbook = openpyxl.Workbook()
    for offset, cells in enumerate(lines):
        for column, value in enumerate(cells, start=1):
            cell = workbook.active.cell(top + offset, column, value)
            if isinstance(value, str) and value.startswith("#"):
                cell.data_type = "e"
    workbook.save(path)
    return path


NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def large_book(path: Path, lines: list[list[object]]) -> None:
    """The same as `book`, written by hand: openpyxl takes ten seconds for a hundred thousand rows."""

    def cell(place: str, value: object) -> str:
        if isinstance(value, int):
            return f'<c r="{place}"><v>{value}</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'

    rows = "".join(
        f'<row r="{n}">{"".join(cell(f"{c}{n}", v) for c, v in zip("ABC", cells, strict=True))}</row>'
        for n, cells in enumerate(lines, start=1)
    )
    sheet = f'<worksheet xmlns="{NAMESPACE}"><sheetData>{rows}</sheetData></worksheet>'
    with (
        zipfile.ZipFile(book(path.with_suffix(".small.xlsx"), ["x"])) as small,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as large,
    ):
        for name in small.namelist():
            large.writestr(name, sheet if name.endswith("/sheet1.xml") else small.read(name))


def problems(file: Path, *placeholders: str, **columns: str) -> list[str]:
    """What is wrong with a file, in words."""
    found = read_tasks(file, placeholders=placeholders, columns=columns)
    return [str(problem) for problem in found.problems]


def test_ids_of_a_workbook_are_what_its_user_sees(tmp_path: Path) -> None:
    """A number 7 is "7" however it is stored; a text cell "007" stays; 7 and 7.0 are one id."""
    file = book(tmp_path / "t.xlsx", ["task_id"], [7], ["007"], [8.0], ["9.0"])
    assert [item.id for item in load_tasks(file)] == ["7", "007", "8", "9.0"]
    twice = book(tmp_path / "u.xlsx", ["task_id"], [7], [None], ["7"])
    assert problems(twice) == ["row 4: task id '7' was used in row 2 already; ids must differ"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (date(2026, 1, 2), "2026-01-02 is a date or time, no id; format the column as text"),
        (timedelta(hours=1), "is a date or time"),
        (True, "true is no id"),
        (1.5, "1.5 is no id"),
        (1234567890123456, "more digits than a spreadsheet keeps"),
        ("#N/A", "no id"),
    ],
)
def test_what_a_spreadsheet_made_of_an_id_is_refused(tmp_path: Path, value: object, message: str) -> None:
    """A date, a fraction, a rounded number or an error is no id; row, column and fix are named."""
    (said,) = problems(book(tmp_path / "t.xlsx", ["No.", "x"], ["a", 1], [value, 1]), task_id="No.")
    assert said.startswith("row 3, column 'No.': ")
    assert message in said


def test_an_empty_cell_is_no_prompt(tmp_path: Path) -> None:
    """A workbook has no empty texts, so what the prompt needs is missing; as a label it is left out."""
    file = book(tmp_path / "t.xlsx", ["task_id", "prompt", "level"], ["a", "x", None], ["b", None, 2])
    assert problems(file, "prompt") == ["row 3, column 'prompt': no value, and the prompt needs one"]
    assert [dict(item.labels) for item in load_tasks(file)] == [{"prompt": "x"}, {"level": "2"}]


@pytest.mark.parametrize(
    ("cell", "cause"), [("#N/A", "the error #N/A"), ("=1+1", "a formula that was never computed")]
)
@pytest.mark.parametrize("column", ["task_id", "prompt", "level"])
def test_a_cell_that_shows_something_and_has_no_value_is_told(
    tmp_path: Path, column: str, cell: str, cause: str
) -> None:
    """An error or a formula without a result, once, with the cause, be it id, prompt or label."""
    good = {"task_id": "a", "prompt": "x", "level": "1"}
    broken = good | {"task_id": "b", column: cell}
    file = book(tmp_path / "t.xlsx", list(good), list(good.values()), list(broken.values()))
    (said,) = problems(file, "prompt")
    assert said.startswith(f"row 3, column {column!r}: ")
    assert cause in said


def test_a_name_of_a_column_must_have_a_value(tmp_path: Path) -> None:
    """Otherwise the whole column would be left out."""
    (said,) = problems(book(tmp_path / "t.xlsx", ["task_id", "=A1"], ["a", 1]))
    assert said.startswith("row 1: a column's name: a formula that was never computed")


def test_a_formula_with_a_result_is_its_result(tmp_path: Path) -> None:
    """An empty text is one; cells may leave out their place; another sheet's formulas do not matter."""
    file = tmp_path / "t.xlsx"
    cells = (
        '<row><c t="inlineStr"><is><t>task_id</t></is></c><c t="inlineStr"><is><t>x</t></is></c>'
        '<c t="inlineStr"><is><t>y</t></is></c></row>'
        '<row><c><f>3+4</f><v>7</v></c><c t="str"><f>""</f><v></v></c><c t="str"><f>"a"</f><v>a</v></c></row>'
        "<row><c><v>8</v></c><c/><c><f>1/0</f></c></row>"
    )
    sheet = f'<worksheet xmlns="{NAMESPACE}"><sheetData>{cells}</sheetData></worksheet>'
    small = openpyxl.Workbook()
    small.create_sheet("second")["A1"] = "=1+1"
    small.save(tmp_path / "small.xlsx")
    with zipfile.ZipFile(tmp_path / "small.xlsx") as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("/sheet1.xml") else old.read(name))
    found = read_tasks(file)
    assert (found.tasks[0].id, dict(found.tasks[0].labels)) == ("7", {"y": "a"})
    (said,) = map(str, found.problems)
    assert said.startswith("row 3, column 'y': a formula that was never computed")


def test_dates_booleans_and_numbers_are_labels_as_a_person_writes_them(tmp_path: Path) -> None:
    """ISO dates, true and false, whole numbers without a decimal point."""
    cells = [date(2026, 1, 2), datetime(2026, 1, 2, 10, 30), time(3, 4), True, 3.0, 0.5]  # noqa: DTZ001 - cells have no zone
    names = ["day", "instant", "time", "flag", "whole", "half"]
    (item,) = load_tasks(book(tmp_path / "t.xlsx", ["task_id", *names], ["a", *cells]))
    assert [item.labels[name] for name in names] == [
        "2026-01-02", "2026-01-02T10:30:00", "03:04:00", "true", "3", "0.5",
    ]  # fmt: skip


def test_rows_are_counted_with_the_blank_ones_before_them(tmp_path: Path) -> None:
    """Row numbers are those of the spreadsheet; a CSV row that is not on its line tells both."""
    sheet = book(tmp_path / "t.xlsx", ["task_id"], ["a"], [None], ["a"], top=4)
    assert problems(sheet) == ["row 7: task id 'a' was used in row 5 already; ids must differ"]
    table = write(tmp_path / "t.csv", '\n\ntask_id,prompt\n\n"a","two\nlines"\n\na,x\n')
    assert problems(table, "prompt") == [
        "row 7 (line 8): task id 'a' was used in row 5 already; ids must differ"
    ]
    assert [item.row for item in read_tasks(table, placeholders=["prompt"]).tasks] == [5]


def test_every_problem_is_listed_and_the_good_tasks_are_kept(tmp_path: Path) -> None:
    """One bad line does not hide the next."""
    lines = ['{"task_id": "a"}', "{", "[1]", '{"task_id": 1.5}', '{"task_id": "a"}', '{"task_id": "b"}']
    file = write(tmp_path / "t.jsonl", "\n".join(lines))
    found = read_tasks(file)
    assert [task.id for task in found.tasks] == ["a", "b"]
    assert [str(problem).split(":")[0] for problem in found.problems] == [
        "line 2", "line 3", "row 4, column 'task_id'", "row 5",
    ]  # fmt: skip
    many = write(tmp_path / "m.jsonl", '{"task_id": null}\n' * 30)
    with pytest.raises(TaskError, match="and 10 more"):
        load_tasks(many)
    assert len(read_tasks(many).problems) == 30


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize(
    ("encoding", "hint"),
    [
        ("cp949", "it looks like CP949 (Korean Windows)"),
        ("utf-16-le", "UTF-16"),
        ("latin-1", "not UTF-8;"),
    ],
)
def test_another_encoding_is_refused_with_a_hint(tmp_path: Path, name: str, encoding: str, hint: str) -> None:
    """Nothing is guessed; the message tells what it looks like and how to save it."""
    content = "task_id,é\na,b\n" if encoding == "latin-1" else "task_id,문항\na,지도를 그려라\n"
    (said,) = problems(write(tmp_path / name, content.encode(encoding)))
    assert hint in said
    assert "save the file as UTF-8" in said


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_first_heading(tmp_path: Path, name: str, encoding: str) -> None:
    """UTF-8 with and without it, and UTF-16, which it declares."""
    content = {
        "t.csv": "task_id,문항\na,지도\n",
        "t.json": '[{"task_id": "a", "문항": "지도"}]',
        "t.jsonl": '{"task_id": "a", "문항": "지도"}\n',
    }[name]
    (item,) = load_tasks(write(tmp_path / name, content.encode(encoding)))
    assert (item.id, item.labels) == ("a", {"문항": "지도"})


def test_headings_are_the_same_whichever_way_hangul_is_composed(tmp_path: Path) -> None:
    """A file from a Mac may spell a heading in parts."""
    import unicodedata

    file = write(tmp_path / "t.csv", unicodedata.normalize("NFD", "번호,문항\n") + "1,지도\n")
    (item,) = load_tasks(file, placeholders=["prompt"], columns={"task_id": "번호", "prompt": "문항"})
    assert (item.id, item.fields) == ("1", {"prompt": "지도"})


def test_a_mapped_column_wins_over_one_that_has_its_name(tmp_path: Path) -> None:
    """The user said which; one column may serve twice; a label may be renamed; a wrong name is told."""
    file = write(tmp_path / "t.csv", "task_id,번호,prompt,문항,수준\nx,1,english,한국어,2\n")
    columns = {"task_id": "번호", "prompt": "문항", "level": "수준", "again": "수준"}
    (item,) = load_tasks(file, placeholders=["prompt"], columns=columns)
    assert (item.id, item.fields, item.labels) == ("1", {"prompt": "한국어"}, {"level": "2", "again": "2"})
    (said,) = problems(file, level="등급")
    assert "--columns level=등급: no such column" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('task_id,x\na,"open\nb,c\n', "row 2: unexpected end of data: a quotation mark is not closed"),
        ('task_id,x\na,"b"c\n', "row 2: "),
        ("task_id,x\na,b,c\n", "row 2: 3 cells under 2 column names"),
        ("task_id,x,x\na,b,c\n", "row 1: two columns are named 'x'"),
        ("id,x\na,b\n", "--columns task_id=THEIR_NAME"),
        ("task_id,x\n", "no tasks"),
    ],
)
def test_a_broken_table_is_refused_where_it_is_broken(tmp_path: Path, content: str, message: str) -> None:
    """Row and fix, for each way in which a table breaks."""
    (said,) = problems(write(tmp_path / "t.csv", content))
    assert message in said


def test_the_separator_is_the_headings_or_the_declared_one(tmp_path: Path) -> None:
    """Comma, semicolon or tab; a first line `sep=|` as Excel writes it; blank lines before do not matter."""
    for name, content in {
        "a": "task_id,x\na,1\n", "b": "\r\n\r\ntask_id;x\r\na;1\r\n", "c": "task_id\tx\ra\t1\r",
        "d": "sep=|\ntask_id|x\na|1\n",
    }.items():  # fmt: skip
        (item,) = load_tasks(write(tmp_path / f"{name}.csv", content))
        assert (item.id, item.labels) == ("a", {"x": "1"})


def test_the_first_sheet_that_is_shown_is_read(tmp_path: Path) -> None:
    """A hidden sheet before it is not what the user means."""
    workbook = openpyxl.Workbook()
    workbook.active.sheet_state = "hidden"
    workbook.create_sheet("tasks").append(["task_id"])
    workbook["tasks"].append(["a"])
    workbook.save(tmp_path / "t.xlsx")
    assert [item.id for item in load_tasks(tmp_path / "t.xlsx")] == ["a"]


def test_a_cell_in_the_last_corner_is_told_and_not_allocated(tmp_path: Path) -> None:
    """A forgotten cell far outside would take hundreds of gigabytes."""
    workbook = openpyxl.Workbook()
    workbook.active["A1"], workbook.active["A2"], workbook.active["XFD1048576"] = "task_id", "a", "x"
    workbook.save(tmp_path / "t.xlsx")
    assert "cell XFD1048576" in problems(tmp_path / "t.xlsx")[0]


def test_a_file_that_is_no_workbook_is_told(tmp_path: Path) -> None:
    """Text, an archive of something else, a cut file."""
    good = book(tmp_path / "good.xlsx", ["task_id"], ["a"]).read_bytes()
    empty_zip = b"PK\x05\x06" + bytes(18)
    for number, content in enumerate([b"task_id\na\n", b"", empty_zip, good[: len(good) // 2]]):
        assert "not a readable workbook" in problems(write(tmp_path / f"{number}.xlsx", content))[0]
    assert "No such file" in problems(tmp_path / "none.xlsx")[0]


@pytest.mark.long
def test_a_hundred_thousand_rows_are_read_in_seconds(tmp_path: Path) -> None:
    """CSV and XLSX with headings of their own; two minutes are for slow machines, it takes three seconds."""
    import time as clock

    count = 100_000
    lines = [["번호", "문항", "수준"], *([n, f"지도 {n}", n % 4] for n in range(count))]
    write(tmp_path / "t.csv", "\ufeff" + "".join(",".join(map(str, cells)) + "\r\n" for cells in lines))
    large_book(tmp_path / "t.xlsx", lines)
    loaded = []
    for suffix in ("csv", "xlsx"):
        started = clock.process_time()
        columns = {"task_id": "번호", "prompt": "문항", "level": "수준"}
        loaded.append(load_tasks(tmp_path / f"t.{suffix}", placeholders=["prompt"], columns=columns))
        assert clock.process_time() - started < 120
    assert loaded[0] == loaded[1]
    assert (len(loaded[0]), loaded[0][-1].id, loaded[0][-1].row) == (count, "99999", count + 1)


@pytest.mark.parametrize("task_id", ["a/b", "../up", "CON", "한글 이름", "a:b?", ".hidden", "%41", "x" * 200])
def test_an_id_that_is_no_file_name_finds_its_submission(tmp_path: Path, task_id: str) -> None:
    """Percent-encoded, as a file or a folder; an id that is a name as it stands needs no encoding."""
    from urllib.parse import quote

    file = write(tmp_path / "t.jsonl", json.dumps({"task_id": task_id}))
    (item,) = load_tasks(file)
    write(tmp_path / "run" / (quote(task_id, safe="") + ".png")[:255], b"png")
    (artifact,) = RunDirectory(tmp_path / "run", "m").open(item).artifacts
    assert artifact.problem is None


@pytest.mark.parametrize(
    ("task_id", "why"),
    [
        (".", "name for itself"),
        ("..", "name for itself"),
        ("x" * 251, "over 250 bytes"),
        ("한" * 84, "over 250 bytes"),
        ("/" + "한" * 28, "over 250 bytes"),
    ],
)
def test_an_id_that_no_submission_can_be_named_after_is_refused(
    tmp_path: Path, task_id: str, why: str
) -> None:
    """The task file pays for it, not the submission, which would be missing whatever was handed in."""
    rows = [{"task_id": "good"}, {"task_id": task_id}]
    file = write(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
    with pytest.raises(TaskError, match=rf"row 2, column 'task_id'.*{why}.*another id") as caught:
        load_tasks(file)
    assert len(str(caught.value)) < 400
    assert read_task({"task_id": task_id}).id == task_id  # handed in by path, it needs no name


@pytest.mark.parametrize("task_id", ["...", "x" * 250, "한" * 83, "/" + "한" * 27])
def test_the_longest_ids_find_their_submissions(tmp_path: Path, task_id: str) -> None:
    """What is not refused has a name that a folder and a file with a suffix can have."""
    (item,) = load_tasks(write(tmp_path / "t.jsonl", json.dumps({"task_id": task_id})))
    name = names_on_disk(task_id)[-1 if "/" in task_id else 0]
    write(tmp_path / "flat" / f"{name}.png", b"png")
    write(tmp_path / "folders" / name / "artifacts" / "a.png", b"png")
    for run in ("flat", "folders"):
        assert len(RunDirectory(tmp_path / run, "m").open(item).artifacts) == 1


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
    """Links out of the folder or to a folder, dangling links and pipes carry their problem and no digest."""
    secret = write(tmp_path / "secret.png", b"secret")
    root = tmp_path / "run" / "t" / "artifacts"
    write(root / "good.png", b"good")
    (root / "out.png").symlink_to(secret)
    (root / "up.png").symlink_to("../../../secret.png")
    (root / "dangling.png").symlink_to("nowhere.png")
    (root / "inside.png").symlink_to("good.png")
    (root / "folder").symlink_to(tmp_path)
    (root / "self").symlink_to(".")
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
        "self": ("unsafe_path", False),
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


def test_a_folder_without_rights_is_one_submissions_problem() -> None:
    """A folder that cannot be searched, or holds one that cannot be listed, does not end the reading."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        run = Path(name)
        run.chmod(0o755)
        write(run / "a" / "artifacts" / "x.png", b"x")
        write(run / "b" / "artifacts" / "inner" / "x.png", b"x")
        write(run / "c" / "artifacts" / "x.png", b"x")
        locked = [run / "a", run / "b" / "artifacts" / "inner"]
        for folder in locked:
            folder.chmod(0o444 if folder.name == "a" else 0o111)
        RunDirectory(run, "m").open(task("c"))  # loads what another user may not be able to
        if root:
            os.seteuid(65534)  # root may do everything
        try:
            directory = RunDirectory(run, "m")
            found = {n: [a.problem for a in directory.open(task(n)).artifacts] for n in "abc"}
        finally:
            if root:
                os.seteuid(0)
            for folder in locked:
                folder.chmod(0o755)
    assert found == {"a": ["unreadable"], "b": ["unreadable"], "c": [None]}


_PIN_AS_SOMEBODY_ELSE = """
import os, sys
from pathlib import Path
from beholder.tasks.submissions import pin_file
root = Path(sys.argv[1])
if os.geteuid() == 0:
    os.chown(root / "shut", 65534, 65534)
    os.setuid(65534)
pinned = pin_file(root / "shut" / "a.png", "shut/a.png", root)
print(pinned.problem, pinned.problem_detail, sep=": ")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be shut by its mode there")
def test_a_file_in_a_folder_that_may_not_be_entered_is_unreadable() -> None:
    """It is told as that, whoever runs it, and ends nothing."""
    place = Path(tempfile.mkdtemp(prefix="beholder-test-"))  # one that another user may reach, too
    try:
        place.chmod(0o755)
        (place / "shut").mkdir()
        (place / "shut" / "a.png").write_bytes(b"x")
        (place / "shut").chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", _PIN_AS_SOMEBODY_ELSE, str(place)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("unreadable: Permission denied\n", "")
    finally:
        (place / "shut").chmod(0o700)
        shutil.rmtree(place)
