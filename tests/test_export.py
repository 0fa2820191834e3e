"""Results as flat tables."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet
import pytest

from beholder.errors import ConfigError, MissingTool, StoreError
from beholder.export import Column, Table, read_table, write_export
from tests.fakes.outdir import CRITERIA, repeat, row
from tests.fakes.runs import command, run

FORMULA = '=HYPERLINK("http://x.example","click")'


def out_dir(path: Path, rows: list[dict[str, Any]]) -> Path:
    """An out-dir with these rows and the criteria in its manifest."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "judge_results.jsonl").write_text(
        "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8"
    )
    criteria = [{"key": key} for key in CRITERIA]
    (path / "manifest.json").write_text(json.dumps({"protocol": {"criteria": criteria}}))
    return path


def three_outcomes(model: str = "m") -> list[dict[str, Any]]:
    """Scored with a gap, absent and worth the minimum, unscored."""
    return [
        row(
            "a",
            model,
            [
                repeat(1, (30, 20, 10, 10), rationale=FORMULA),
                repeat(2, None, reason="timeout"),
                repeat(3, (30, 20, 10, 13), rationale="two\nlines, with comma"),
            ],
            labels={"level": "=1", "지역": "서울"},
        ),
        row("b", model, outcome="absent", reason="missing", labels={"level": "2"}),
        row(
            "c",
            model,
            [repeat(n, None, reason="invalid_json") for n in (1, 2, 3)],
            outcome="unscored",
            reason="invalid_json",
        ),
    ]


def read(path: Path) -> list[dict[str, Any]]:
    """A written table as objects, with None for empty cells."""
    match path.suffix:
        case ".csv":
            with path.open(encoding="utf-8-sig", newline="") as file:
                return [{k: v or None for k, v in line.items()} for line in csv.DictReader(file)]
        case ".xlsx":
            sheet = openpyxl.load_workbook(path).active
            assert sheet is not None
            header, *lines = sheet.iter_rows(values_only=True)
            return [dict(zip(map(str, header), line, strict=True)) for line in lines]
        case ".parquet":
            return pyarrow.parquet.read_table(path).to_pylist()
        case ".json":
            return json.loads(path.read_text("utf-8"))
        case _:
            return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".json", ".jsonl"])
def test_every_format_holds_the_same_lines(tmp_path: Path, suffix: str) -> None:
    """A line per task; absent is worth 0, unscored is empty, and scripted is a column."""
    out = out_dir(tmp_path / "o", three_outcomes())
    target = tmp_path / f"t{suffix}"
    write_export(read_table(out), target)
    scored, absent, unscored = read(target)
    text = suffix == ".csv"
    assert [one["task_id"] for one in (scored, absent, unscored)] == ["a", "b", "c"]
    assert [one["main_score"] for one in (scored, absent, unscored)] == (
        ["71.5", "0", None] if text else [71.5, 0, None]
    )
    assert [one["pass"] for one in (scored, absent, unscored)] == (
        ["true", "false", None] if text else [True, False, None]
    )
    assert scored["scores.readable"] == ("11.5" if text else 11.5)
    assert [one["scores.readable"] for one in (absent, unscored)] == [None, None]
    assert scored["scripted"] == ("true" if text else True)
    assert (scored["labels.지역"], unscored["labels.지역"]) == ("서울", None)
    if suffix in {".csv", ".xlsx"}:
        assert (scored["rationale"], scored["labels.level"]) == ("'" + FORMULA, "'=1")
    else:
        assert (scored["rationale"], scored["labels.level"]) == (FORMULA, "=1")


def test_csv_has_a_byte_order_mark_and_survives_line_ends_in_cells(tmp_path: Path) -> None:
    """Excel reads it as UTF-8; a rationale of two lines is one cell."""
    rows = three_outcomes()
    rows[0]["repeats"] = rows[0]["repeats"][2:]
    write_export(read_table(out_dir(tmp_path / "o", rows)), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert read(tmp_path / "t.csv")[0]["rationale"] == "two\nlines, with comma"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tidy_is_every_task_repeat_and_criterion(tmp_path: Path, suffix: str) -> None:
    """3 tasks x 3 repeats x 4 criteria, values only where a repeat was scored."""
    out = out_dir(tmp_path / "o", three_outcomes())
    table = read_table(out, tidy=True)
    write_export(table, tmp_path / f"t{suffix}")
    lines = read(tmp_path / f"t{suffix}")
    assert len(lines) == table.length == 3 * 3 * 4
    assert sum(line["value"] is not None for line in lines) == 2 * 4
    third = [line for line in lines if line["task_id"] == "a" and int(line["repeat"]) == 3]
    assert [line["criterion"] for line in third] == list(CRITERIA)
    assert [float(line["value"]) for line in third] == [30, 20, 10, 13]
    gap = next(line for line in lines if line["task_id"] == "a" and int(line["repeat"]) == 2)
    assert (gap["outcome"], gap["reason"], gap["value"], gap["task_outcome"]) == (
        "unscored",
        "timeout",
        None,
        "scored",
    )
    absent = next(line for line in lines if line["task_id"] == "b")
    assert (absent["outcome"], absent["reason"], absent["value"]) == ("absent", "missing", None)


def test_a_joint_out_dir_is_the_lines_of_its_models(tmp_path: Path) -> None:
    """One table over all models, with columns for the labels of either."""
    out_dir(tmp_path / "first", three_outcomes("first"))
    out_dir(tmp_path / "second", [row("a", "second", [repeat(1, (1, 1, 1, 1))], labels={"other": "x"})])
    (tmp_path / "judge_summary.json").write_text(json.dumps({"models": {"first": {}, "second": {}}}))
    records = list(read_table(tmp_path).records())
    assert [one["model"] for one in records] == ["first"] * 3 + ["second"]
    assert (records[0]["labels.other"], records[3]["labels.other"], records[3]["labels.level"]) == (
        None,
        "x",
        None,
    )


def test_a_true_or_false_criterion_is_1_or_0(tmp_path: Path) -> None:
    """A column has one kind of value, so that its mean can be taken."""
    one = row("a", "m", [repeat(1, (1, 1, 1, 1))])
    one["repeats"][0]["scores"]["region"] = True
    table = read_table(out_dir(tmp_path, [one]), tidy=True)
    value = next(iter(table.records()))["value"]
    assert value == 1
    assert not isinstance(value, bool)


@pytest.mark.parametrize(
    ("name", "message"), [("t.txt", ".parquet"), ("t", ".parquet"), ("manifest.json", "own file")]
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, message: str) -> None:
    """An unknown suffix lists the known ones; an out-dir's own file is never overwritten."""
    out = out_dir(tmp_path, three_outcomes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match=message):
        write_export(read_table(out), tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["gis_results.csv", "a/judge/table.json", "earlier.csv", "link.csv"])
def test_nothing_that_lies_in_an_out_dir_is_overwritten(tmp_path: Path, name: str) -> None:
    """Tables, files of a task, an earlier export; a new name beside them is taken."""
    out = out_dir(tmp_path / "o", three_outcomes())
    target = out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("mine") if name != "link.csv" else target.symlink_to(out / "manifest.json")
    before = target.read_bytes()
    with pytest.raises(ConfigError, match="is there already"):
        write_export(read_table(out), target)
    assert target.read_bytes() == before
    write_export(read_table(out), target.with_name("new.csv"))
    assert len(read(target.with_name("new.csv"))) == 3


def test_elsewhere_a_file_is_replaced_and_a_folder_is_refused(tmp_path: Path) -> None:
    """A folder as target, or a missing one around it, is the user's to mend, in plain words."""
    out = out_dir(tmp_path / "o", three_outcomes())
    (tmp_path / "t.csv").write_text("old")
    write_export(read_table(out), tmp_path / "t.csv")
    assert len(read(tmp_path / "t.csv")) == 3
    (tmp_path / "folder.csv").mkdir()
    for target, words in (
        (tmp_path / "folder.csv", "is a folder"),
        (tmp_path / "nowhere" / "t.csv", "there is no folder"),
    ):
        done = run(command("export", out, "-o", target))
        assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_numbers_of_any_size_are_written(tmp_path: Path) -> None:
    """Parquet has floats, the workbook text instead of a rounded number, JSON the number itself."""
    one = row("a", "m", [repeat(1, (1, 1, 1, 1))])
    one["repeats"][0]["scores"] |= {"region": 2**70, "readable": 2**53 + 1}
    table = read_table(out_dir(tmp_path / "o", [one]), tidy=True)
    values = {}
    for suffix in (".parquet", ".xlsx", ".json"):
        write_export(table, tmp_path / f"t{suffix}")
        lines = read(tmp_path / f"t{suffix}")
        values[suffix] = {line["criterion"]: line["value"] for line in lines if line["repeat"] == 1}
    assert (values[".parquet"]["region"], values[".parquet"]["readable"]) == (2.0**70, 2.0**53)
    assert (values[".xlsx"]["region"], values[".xlsx"]["readable"]) == (str(2**70), str(2**53 + 1))
    assert (values[".json"]["region"], values[".json"]["readable"]) == (2**70, 2**53 + 1)


def test_a_number_that_no_column_holds_is_damage(tmp_path: Path) -> None:
    """Not a crash, and no file is left."""
    one = row("a", "m", [repeat(1, (1, 1, 1, 1))])
    one["repeats"][0]["scores"]["region"] = 10**400
    table = read_table(out_dir(tmp_path / "o", [one]), tidy=True)
    with pytest.raises(StoreError) as caught:
        write_export(table, tmp_path / "t.parquet")
    assert caught.value.slug == "damaged"
    assert [path.name for path in tmp_path.iterdir()] == ["o"]


def test_more_lines_than_a_sheet_holds_are_refused(tmp_path: Path) -> None:
    """The message says which formats take them."""
    table = Table(columns=(Column("x", "text"),), length=2_000_000, lines=lambda: iter([]))
    with pytest.raises(ConfigError, match=r"\.parquet"):
        write_export(table, tmp_path / "t.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is the line to type."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    table = read_table(out_dir(tmp_path / "o", three_outcomes()))
    with pytest.raises(MissingTool, match="pip install pyarrow"):
        write_export(table, tmp_path / "t.parquet")
    assert not list(tmp_path.glob("*part*"))


def test_a_folder_without_results_is_said(tmp_path: Path) -> None:
    """Not an empty table."""
    with pytest.raises(StoreError, match=r"judge_results\.jsonl"):
        read_table(tmp_path)


def test_the_command_writes_a_file_or_stdout(tmp_path: Path) -> None:
    """CSV on stdout has no byte order mark; with --json it is a JSON list, and a file is told as JSON."""
    out = out_dir(tmp_path / "o", three_outcomes())
    piped = run(command("export", out, "-o", "-"))
    assert (piped.returncode, piped.stdout[:8]) == (0, "task_id,")
    assert len(list(csv.DictReader(io.StringIO(piped.stdout)))) == 3
    records = json.loads(run(command("export", out, "-o", "-", "--tidy", "--json")).stdout)
    assert math.isclose(sum(one["value"] or 0 for one in records), 143)
    told = json.loads(run(command("export", out, "-o", tmp_path / "t.xlsx", "--json")).stdout)
    assert (told["written"], told["lines"]) == (str(tmp_path / "t.xlsx"), 3)
    wrong = run(command("export", out, "-o", tmp_path / "t.docx"))
    assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)
