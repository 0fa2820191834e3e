"""A protocol's own result table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from beholder.protocols import load_protocol
from beholder.report.table import cell_value, write_table

TABLE = load_protocol("gis-bench").table
FIELDS = [
    "task_no", "level", "model", "file_type", "score", "score_raw", "spatial_location", "geometry_validity",
    "numeric_match", "pass", "reason", "scores_3x", "scores_3x_raw",
]  # fmt: skip


def repeat(n: int, total: int | None, rationale: str = "") -> dict[str, Any]:
    derived = (
        {}
        if total is None
        else {"total_raw": total, "total_normalized": round(total / 1.3), "main": round(total / 1.3)}
    )
    return {
        "repeat": n,
        "outcome": "unscored" if total is None else "scored",
        "derived": derived,
        "scores": {},
        "rationale": rationale,
    }


def row(**changes: Any) -> dict[str, Any]:
    base = {
        "task_id": "7",
        "model": "m",
        "outcome": "scored",
        "reason": None,
        "main_score": 78.0,
        "pass": True,
        "scores": {"spatial_location": 15, "geometry_validity": 5, "numeric_match": 7.5},
        "derived": {"total_raw": 101.5},
        "repeats": [repeat(1, 100, "one"), repeat(2, None), repeat(3, 103, "three")],
        "labels": {"level": "Level2"},
        "evidence": {
            "artifacts": [{"name": "7.html", "status": "shown"}, {"name": "7.png", "status": "not_shown"}]
        },
    }
    return {**base, **changes}


def written(tmp_path: Path, *rows: dict[str, Any]) -> tuple[list[list[str]], list[list[Any]]]:
    (tmp_path / "judge_results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert TABLE is not None
    paths = write_table(TABLE, tmp_path)
    with paths[0].open(encoding="utf-8-sig", newline="") as file:
        text = list(csv.reader(file))
    sheet = openpyxl.load_workbook(paths[1]).active
    assert sheet is not None
    return text, [list(cells) for cells in sheet.iter_rows(values_only=True)]


def test_the_gis_table_has_the_published_fields_and_gaps_in_place(tmp_path: Path) -> None:
    """13 fields; a failed repeat leaves nothing between its commas; task_no is a number where it is one."""
    text, sheet = written(tmp_path, row())
    assert text[0] == sheet[0] == FIELDS
    assert text[1] == [
        "7",
        "Level2",
        "m",
        "html_screenshot",
        "78.0",
        "101.5",
        "15",
        "5",
        "7.5",
        "True",
        "one",
        "77, , 79",
        "100, , 103",
    ]
    assert sheet[1][0] == 7
    assert sheet[1][9] is True


def test_unscored_is_empty_and_never_0(tmp_path: Path) -> None:
    """No score, no pass, no criterion: empty cells in both files."""
    text, sheet = written(
        tmp_path,
        row(outcome="unscored", main_score=None, scores={}, derived={}, repeats=[repeat(1, None)] * 3)
        | {"pass": None},
    )
    assert text[1][4:10] == [""] * 6
    assert sheet[1][4:10] == [None] * 6
    assert text[1][11] == ", , "


def test_text_that_a_spreadsheet_would_run_is_defused(tmp_path: Path) -> None:
    """A rationale that starts like a formula gets an apostrophe; a byte order mark makes Excel read UTF-8."""
    text, sheet = written(tmp_path, row(repeats=[repeat(1, 100, "=HYPERLINK(1)")], model="+1"))
    assert text[1][10] == sheet[1][10] == "'=HYPERLINK(1)"
    assert text[1][2] == "'+1"
    assert (tmp_path / "gis_results.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_no_reply_can_break_the_workbook(tmp_path: Path) -> None:
    """Signs that XML forbids become visible, and a text too long for a cell is cut with a note."""
    text, sheet = written(tmp_path, row(repeats=[repeat(1, 100, "a\x0bb" + "x" * 40_000)]))
    assert str(sheet[1][10]).startswith("a\ufffdbx")
    assert str(sheet[1][10]).endswith("… [cut: 40003 characters]")
    assert text[1][10] == "a\x0bb" + "x" * 40_000


@pytest.mark.parametrize(
    ("name", "kind"), [("a.HTM", "html_screenshot"), ("a.jpeg", "jpg"), ("a.PNG", "png"), ("a.webp", "webp")]
)
def test_the_file_type_is_that_of_the_file_that_was_judged(name: str, kind: str) -> None:
    """html and htm are screenshots, jpeg is jpg, capitals do not matter."""
    assert cell_value("file_type", row(evidence={"artifacts": [{"name": name, "status": "shown"}]})) == kind


def test_an_unknown_source_is_refused() -> None:
    """A column that nothing fills is a mistake, not an empty column."""
    with pytest.raises(ValueError, match="no table source"):
        cell_value("colour", row())
