"""The judge against people: agreement and kappa side by side, blanks counted, what is undefined said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from beholder.errors import ConfigError
from beholder.human import human_agreement, read_ratings, scales_of
from tests.fakes import outdir
from tests.fakes.outdir import repeat, row
from tests.fakes.runs import command, run

PASS, FAIL = (30, 20, 10, 10), (10, 10, 5, 5)


def write_csv(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def agreement(path: Path, rows: list[dict[str, Any]], **criteria: tuple[int, int]) -> dict[str, Any]:
    """The document of a ratings file against these rows."""
    summary = outdir.summary("m", rows)
    for key, (low, high) in criteria.items():
        summary["criteria"][key] = {"min": low, "max": high, "mean": None, "ci95": None}
    found = human_agreement(read_ratings(path, scales_of(summary), has_pass=True), rows, summary)
    json.dumps(found, allow_nan=False)
    return found


def scored(task: str, **scores: float) -> dict[str, Any]:
    """A scored row with further criteria."""
    one = row(task, "m", [repeat(1, PASS)])
    one["scores"].update(scores)
    return one


def test_agreement_0_90_and_kappa_0_stand_side_by_side(tmp_path: Path) -> None:
    """People pass 27 of 30, the judge all: both figures have an interval, the three tasks are listed."""
    rows = [scored(f"t{n:02}") for n in range(30)]
    lines = "".join(f"t{n:02},{'no' if n < 3 else 'yes'}\n" for n in range(30))
    found = agreement(write_csv(tmp_path / "h.csv", "task_id,pass\n" + lines), rows)["columns"]["pass"]
    assert found["agreement"]["value"] == 0.9
    assert found["agreement"]["ci95"] == pytest.approx([0.744, 0.965], abs=1e-3)
    assert found["kappa"]["value"] == 0
    assert found["kappa"]["ci95"][0] < 0 < found["kappa"]["ci95"][1]
    assert found["confusion"] == {"values": [0, 1], "table": [[0, 3], [0, 27]]}
    assert found["disagreements"]["count"] == 3
    assert [one["task_id"] for one in found["disagreements"]["tasks"]] == ["t00", "t01", "t02"]
    assert found["disagreements"]["tasks"][0]["folder"] == rows[0]["folder"]
    assert found["pearson"]["value"] is None
    assert found["bias"]["value"] == pytest.approx(0.1)


def test_ordinal_ratings_with_blanks_equal_scikit_learn_and_scipy(tmp_path: Path) -> None:
    """Scores from 0 to 5, four blank cells: excluded, counted, and every figure is the oracle's."""
    rng = np.random.default_rng(0)
    judge = rng.integers(0, 6, 40)
    people = np.clip(judge + rng.integers(-1, 2, 40), 0, 5)
    rows = [scored(f"t{n:02}", look=int(value)) for n, value in enumerate(judge)]
    cells = [("" if n % 10 == 3 else str(value)) for n, value in enumerate(people)]
    text = "task_id,look\n" + "".join(f"t{n:02},{cell}\n" for n, cell in enumerate(cells))
    found = agreement(write_csv(tmp_path / "h.csv", text), rows, look=(0, 5))["columns"]["look"]
    kept = np.arange(40) % 10 != 3
    x, y = judge[kept], people[kept]
    assert (found["kind"], found["n"], found["blanks"]) == ("ordinal", 36, 4)
    assert found["agreement"]["value"] == pytest.approx(np.mean(x == y))
    assert found["kappa"]["value"] == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    assert found["kappa"]["weights"] == "quadratic"
    assert found["pearson"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found["spearman"]["value"] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found["bias"]["value"] == pytest.approx(np.mean(x - y))
    for name in ("agreement", "kappa", "pearson", "spearman", "bias"):
        low, high = found[name]["ci95"]
        assert low <= found[name]["value"] <= high
        assert low < high
    table = np.array(found["confusion"]["table"])
    assert table.sum() == 36
    assert np.trace(table) == (x == y).sum()
    worst = [abs(one["difference"]) for one in found["disagreements"]["tasks"]]
    assert worst == sorted(worst, reverse=True)


def test_two_people_are_the_ceiling(tmp_path: Path) -> None:
    """People against each other beside the judge against each of them; an even split is left out."""
    rows = [scored(f"t{n}", ok=n % 2) for n in range(12)]
    first = [n % 2 for n in range(12)]
    second = [1 - n % 2 if n == 5 else n % 2 for n in range(12)]
    lines = [
        f"t{n},{who},{value}\n"
        for who, own in (("ann", first), ("bo", second))
        for n, value in enumerate(own)
    ]
    found = agreement(write_csv(tmp_path / "h.csv", "task_id,rater,ok\n" + "".join(lines)), rows, ok=(0, 1))
    column = found["columns"]["ok"]
    assert found["raters"] == ["ann", "bo"]
    assert (column["n"], column["tied"]) == (11, 1)
    people = column["human_human"]
    assert people["pairs"][0]["agreement"]["value"] == pytest.approx(11 / 12)
    assert people["ceiling"]["kappa"] == pytest.approx(cohen_kappa_score(first, second))
    assert [one["agreement"]["value"] for one in people["judge"]] == [1, pytest.approx(11 / 12)]
    assert people["judge_mean"]["agreement"] == pytest.approx(23 / 24)


def test_constant_raters_are_undefined_and_not_1(tmp_path: Path) -> None:
    """All say yes: agreement 1 with room below, kappa null with the reason."""
    rows = [scored(f"t{n}") for n in range(6)]
    text = "task_id,pass\n" + "".join(f"t{n},1\n" for n in range(6))
    found = agreement(write_csv(tmp_path / "h.csv", text), rows)["columns"]["pass"]
    assert found["agreement"]["value"] == 1
    assert found["agreement"]["ci95"][0] < 1
    assert found["kappa"] == {
        "value": None,
        "ci95": None,
        "reason": "both gave one and the same value throughout",
        "weights": "none",
    }
    assert found["spearman"]["value"] is None


def test_the_handed_case_of_constant_raters(tmp_path: Path, shared: Path) -> None:
    """Agreement 1, kappa null."""
    cases = json.loads((shared / "cases/aggregate/statistics.json").read_text("utf-8"))
    case = next(one for one in cases if one["id"] == "agg-generic-kappa-degenerate")
    items = case["items"]
    rows = [scored(f"t{n}", ok=value) for n, value in enumerate(items["judge"])]
    text = "task_id,ok\n" + "".join(f"t{n},{value}\n" for n, value in enumerate(items["human"]))
    found = agreement(write_csv(tmp_path / "h.csv", text), rows, ok=(0, 1))["columns"]["ok"]
    assert found["agreement"]["value"] == case["expect"]["agreement"]
    assert found["kappa"]["value"] is case["expect"]["cohen_kappa"]


def test_numbers_are_compared_by_kappa_correlation_and_bias(tmp_path: Path) -> None:
    """The score itself: no exact agreement, a concordance instead; what was not judged is counted."""
    rows = [
        scored("a"),
        row("b", "m", [repeat(1, FAIL)]),
        row("c", "m", outcome="absent", reason="missing"),
        row("d", "m", outcome="unscored", reason="timeout"),
    ]
    text = "task_id,main_score,note\na,65.5,x\nb,41,x\nc,0,x\nd,9,x\nnobody,50,x\n"
    found = agreement(write_csv(tmp_path / "h.csv", text), rows)
    column = found["columns"]["main"]
    assert (column["kind"], column["n"]) == ("numeric", 2)
    assert column["not_judged"] == {"absent": 1, "unscored": 1}
    assert column["agreement"]["value"] is None
    assert column["bias"]["value"] == pytest.approx((70 - 65.5 + 30 - 41) / 2)
    assert column["kappa"]["reason"] == "fewer than 5 tasks"
    assert found["tasks"] == {"rated": 4, "unknown": ["nobody"], "unknown_count": 1}
    assert found["ignored_columns"] == ["note"]


def test_figures_do_not_depend_on_the_files_order(tmp_path: Path) -> None:
    """Lines and rows turned round: the same document."""
    rng = np.random.default_rng(1)
    rows = [scored(f"t{n}", look=int(rng.integers(0, 6))) for n in range(25)]
    lines = [f"t{n},{rng.integers(0, 6)}\n" for n in range(25)]
    one = agreement(write_csv(tmp_path / "h.csv", "task_id,look\n" + "".join(lines)), rows, look=(0, 5))
    other = agreement(
        write_csv(tmp_path / "h.csv", "task_id,look\n" + "".join(lines[::-1])), rows[::-1], look=(0, 5)
    )
    assert one == other


def test_a_workbook_is_read_like_a_csv_file(tmp_path: Path) -> None:
    """Numbers as ids, an empty cell, a boolean."""
    book = openpyxl.Workbook()
    for line in (["task_id", "pass"], [1, True], [2, False], [3, None]):
        book.active.append(line)
    book.save(tmp_path / "h.xlsx")
    found = agreement(tmp_path / "h.xlsx", [scored(name) for name in "123"])["columns"]["pass"]
    assert (found["n"], found["blanks"]) == (2, 1)
    assert found["confusion"]["table"] == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task_id,look\na,7\n", "row 2, column look: 7 is outside the scale 0 to 5"),
        ("task_id,look\na,good\n", "row 2, column look: 'good' is no number"),
        ("task_id,pass\na,2\n", "neither yes nor no"),
        ("task_id,look\na,1\na,2\n", "name the people in a column rater"),
        ("task_id,rater,look\na,x,1\na,x,2\n", "task a is rated in row 2 already by x"),
        ("task_id,rater,look\na,,1\n", "column rater: blank"),
        ("id,look\na,1\n", "needs a column task_id"),
        ("task_id,colour\na,1\n", "at least one of"),
        ("task_id,look\n,1\n", "no id"),
        ("task_id,look\n", "holds no ratings"),
        ("task_id;look\na;3,5\n", "'3,5' is no number; write 3.5, with a point"),
        ('task_id,look\na,"1,000"\n', "'1,000' is no number$"),
    ],
)
def test_what_cannot_be_a_rating_is_refused_by_row(tmp_path: Path, text: str, words: str) -> None:
    """Nothing is guessed, clamped or skipped."""
    with pytest.raises(ConfigError, match=words):
        agreement(write_csv(tmp_path / "h.csv", text), [scored("a", look=1)], look=(0, 5))


def test_the_command_shows_the_judge_against_people(tmp_path: Path) -> None:
    """One run is enough; the document stands under `human`, by run."""
    rows = [scored(f"t{n}") for n in range(6)]
    out = outdir.write(tmp_path / "out", "m", rows)
    text = "task_id,pass\n" + "".join(f"t{n},{int(n > 0)}\n" for n in range(6))
    file = write_csv(tmp_path / "h.csv", text)
    done = run(command("compare", out, "--human", file, "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["human"]["m"]["columns"]["pass"]["n"] == 6
    table = run(command("compare", out, "--human", file))
    assert "83.3%" in table.stdout
    missing = run(command("compare", out, "--human", tmp_path / "none.csv"))
    assert (missing.returncode, "none.csv" in missing.stderr) == (2, True)


def test_a_spreadsheet_kept_by_hand_is_read(tmp_path: Path) -> None:
    """Spaces around ids and names, empty lines, other capitals, further columns; nothing is guessed."""
    rows = [scored("a", look=3), scored("b", look=4), scored("c", look=5)]
    text = "Task_ID,Rater,look,comment\n a ,Anna ,3,nice\n,,,\nb,Anna,,\nc, Anna,4,\n,,,\n"
    found = agreement(write_csv(tmp_path / "h.csv", text), rows, look=(0, 5))
    assert found["tasks"] == {"rated": 2, "unknown": [], "unknown_count": 0}
    assert (found["raters"], found["ignored_columns"]) == (["Anna"], ["comment"])
    column = found["columns"]["look"]
    assert (column["n"], column["blanks"], column["bias"]["value"]) == (2, 1, 0.5)
    both = "task_id,look\na,3\n a,4\n"
    assert agreement(write_csv(tmp_path / "b.csv", both), rows, look=(0, 5))["tasks"]["unknown"] == [" a"]


def test_rounding_leaves_no_digits_behind(tmp_path: Path) -> None:
    """Two tasks correlate fully, one way or the other; a bias that cancels out is 0."""
    rows = [scored("a", look=0.7), scored("b", look=0.3)]
    file = write_csv(tmp_path / "h.csv", "task_id,look\na,0.61\nb,0.39\n")
    column = agreement(file, rows, look=(0, 1))["columns"]["look"]
    assert column["pearson"]["value"] == 1
    assert column["bias"]["value"] == 0
    file = write_csv(tmp_path / "h.csv", "task_id,look\na,0.31\nb,0.43\n")
    assert agreement(file, rows, look=(0, 1))["columns"]["look"]["pearson"]["value"] == -1


def test_a_judge_of_fractions_is_not_made_one_of_yes_and_no(tmp_path: Path) -> None:
    """People said 0 or 1: the judge's mean and bias are of what it said, agreement of that rounded."""
    rows = [scored(f"t{n}", look=value) for n, value in enumerate((0.6, 0.7, 0.2, 0.4))]
    for one in rows:
        one["repeats"][0]["scores"]["look"] = one["scores"]["look"]
    text = "task_id,look\nt0,1\nt1,1\nt2,0\nt3,0\n"
    column = agreement(write_csv(tmp_path / "h.csv", text), rows, look=(0, 1))["columns"]["look"]
    assert column["mean"] == {"judge": 0.475, "people": 0.5}
    assert column["bias"]["value"] == pytest.approx(-0.025)
    assert column["agreement"]["value"] == 1
    assert column["kappa"]["value"] < 1


def test_the_terminal_tells_all_that_is_left_out(tmp_path: Path) -> None:
    """Blank cells, tasks that were not judged, and people who are split evenly."""
    rows = [scored("t0"), scored("t1"), row("t2", "m", outcome="absent", reason="missing")]
    out = outdir.write(tmp_path / "out", "m", rows)
    lines = ("t0,A,1", "t0,B,0", "t1,A,1", "t1,B,", "t2,A,0", "t2,B,0")
    file = write_csv(tmp_path / "h.csv", "task_id,rater,pass\n" + "\n".join(lines) + "\n")
    done = run(command("compare", out, "--human", file))
    assert done.returncode == 0, done.stderr
    assert "1 blank, 1 absent, 1 tied" in done.stdout


def test_a_narrow_terminal_cuts_no_word(tmp_path: Path) -> None:
    """80 columns hold every figure, `undefined` whole."""
    from rich.console import Console

    from beholder.compare.terminal import human_tables

    rows = [scored(f"t{n:02}") for n in range(30)]
    lines = [f"t{n:02},{rater},{int(n > 3)}\n" for n in range(30) for rater in "AB"]
    found = agreement(write_csv(tmp_path / "h.csv", "task_id,rater,pass\n" + "".join(lines)), rows)
    console = Console(width=80)
    with console.capture() as text:
        for part in human_tables({"a-model": found}, width=80):
            console.print(part)
    said = text.get()
    assert "…" not in said
    assert all(word in said for word in ("undefined", "86.7%", "100%", "People"))


def test_ratings_of_other_tasks_are_refused(tmp_path: Path) -> None:
    """With both sides' names; no table of dashes."""
    out = outdir.write(tmp_path / "out", "m", [scored("t0"), scored("t1")])
    file = write_csv(tmp_path / "h.csv", "task_id,pass\nx1,1\nx2,0\n")
    done = run(command("compare", out, "--human", file))
    assert done.returncode == 2
    assert "none of the rated tasks is in the run: x1, x2. Its tasks are called t0, t1" in done.stderr


def test_another_kind_of_file_is_refused_as_ratings(tmp_path: Path) -> None:
    """The message speaks of ratings, not of tasks."""
    ratings = tmp_path / "people.txt"
    ratings.write_text("task_id,pass\nt0,1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"people\.txt: ratings are read from \.csv and \.xlsx files"):
        read_ratings(ratings, {"main": (0.0, 100.0)}, has_pass=True)
