"""The report files are written whole, beside what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from beholder.cli import main
from beholder.errors import StoreError
from beholder.report import write_joint_reports, write_reports
from tests.fakes import outdir


def test_one_model_s_reports_lie_in_its_out_dir(tmp_path: Path) -> None:
    """Both files are returned, exist, and nothing else is left behind."""
    out = outdir.write_varied(tmp_path / "atlas")
    before = set(out.iterdir())
    written = write_reports(out)
    assert [path.name for path in written] == ["report.html", "REPORT_EVALUATION.md"]
    assert set(out.iterdir()) - before == set(written)


def test_the_same_out_dir_gives_the_same_bytes(tmp_path: Path) -> None:
    """A report depends on the out-dir alone, and may be rebuilt over itself."""
    out = outdir.write_varied(tmp_path / "atlas")
    first = [path.read_bytes() for path in write_reports(out)]
    assert [path.read_bytes() for path in write_reports(out)] == first


def test_a_joint_report_links_pictures_where_they_lie(tmp_path: Path) -> None:
    """Pictures of each model are reached from the joint report's folder, below it or beside it."""
    inside = outdir.write(tmp_path / "joint" / "a b", "a b", outdir.varied_rows("a b")[:1])
    beside = outdir.write(tmp_path / "other", "other", outdir.varied_rows("other")[:1])
    (tmp_path / "joint" / "judge_summary.json").write_text(
        json.dumps({"common": {"tasks": 1}}), encoding="utf-8"
    )
    page, text = write_joint_reports(tmp_path / "joint", {"a b": inside, "other": beside})
    html = page.read_text(encoding="utf-8")
    assert '"thumb":"a%20b/London%20boroughs' in html
    assert '"thumb":"../other/London%20boroughs' in html
    assert "| other |" in text.read_text(encoding="utf-8")


def test_a_joint_report_does_without_a_joint_summary(tmp_path: Path) -> None:
    """The joint summary only adds the common tasks."""
    out = outdir.write_varied(tmp_path / "atlas")
    assert len(write_joint_reports(tmp_path, {"atlas": out})) == 2


def test_half_a_surrogate_pair_is_written_visibly(tmp_path: Path) -> None:
    """A name that UTF-8 cannot hold does not stop the report."""
    rows = [outdir.row("t", "x", [outdir.repeat(1, (1, 2, 3, 4), rationale="odd")], labels={"a": "odd"})]
    out = outdir.write(tmp_path / "x", "x", rows)
    path = out / "judge_results.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"odd"', '"\\ud800"'), encoding="utf-8")
    for written in write_reports(out):
        assert "\\ud800" in written.read_text(encoding="utf-8")


def test_a_folder_that_is_no_out_dir_is_refused(tmp_path: Path) -> None:
    """Nothing is written where there is nothing to report."""
    with pytest.raises(StoreError):
        write_reports(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_unlike_runs_are_not_ranked_together(tmp_path: Path) -> None:
    """Another question or formula: refused with what differs."""
    from beholder.report import rebuild_together

    for name, question in (("one", "q1"), ("two", "q2")):
        (tmp_path / name).mkdir()
        summary = {"protocol": "p/1", "question_sha256": question, "formula_sha256": "f"}
        (tmp_path / name / "judge_summary.json").write_text(json.dumps(summary))
    with pytest.raises(StoreError, match="question_sha256"):
        rebuild_together([tmp_path / "one", tmp_path / "two"])


def test_several_out_dirs_tell_of_their_common_tasks(tmp_path: Path) -> None:
    """Reckoned from the rows; a joint summary of other models that lies there is not believed."""
    from beholder.report import rebuild_together

    rows = {name: outdir.varied_rows(name) for name in ("atlas", "borea", "coral")}
    rows["borea"] = rows["borea"][2:]
    paths = [outdir.write(tmp_path / name, name, own) for name, own in rows.items()]
    others: dict[str, dict[str, int]] = {name: {} for name in rows}
    stale = {"models": others, "common": {"tasks": 1, "models": others}}
    (tmp_path / "judge_summary.json").write_text(json.dumps(stale), encoding="utf-8")
    text = rebuild_together(paths[:2])[-1].read_text(encoding="utf-8")
    common = sum(one["main_score"] is not None for one in rows["borea"])
    assert f"On {common} common tasks" in text
    means = [
        sum(one["main_score"] for one in own if one["main_score"] is not None) / common
        for own in (rows["atlas"][2:], rows["borea"])
    ]
    for mean in means:
        assert f"| {mean:.1f} [" in text


def test_a_report_of_other_models_is_not_written_over(tmp_path: Path) -> None:
    """That of three models, or of an out-dir alone, stays; the joint one of two goes where one says."""
    from beholder.report import rebuild_together

    joint = tmp_path / "joint"
    paths = [
        outdir.write(joint / name, name, outdir.varied_rows(name)) for name in ("atlas", "borea", "coral")
    ]
    summaries = {path.name: json.loads((path / "judge_summary.json").read_bytes()) for path in paths}
    (joint / "judge_summary.json").write_text(json.dumps({"models": summaries}), encoding="utf-8")
    rebuild_together(paths)
    before = {path: path.read_bytes() for path in joint.iterdir() if path.is_file()}
    with pytest.raises(StoreError, match=r"of 3 models together \(atlas, borea, coral\).*-o FOLDER"):
        rebuild_together(paths[:2])
    with pytest.raises(StoreError, match="of that out-dir alone"):
        rebuild_together(paths[:2], paths[2])
    page, text = rebuild_together(paths[:2], tmp_path / "new" / "two")[-2:]
    assert page == tmp_path / "new" / "two" / "report.html"
    assert "../../joint/atlas/London" in page.read_text(encoding="utf-8")
    assert "| coral |" not in text.read_text(encoding="utf-8")
    assert {path: path.read_bytes() for path in joint.iterdir() if path.is_file()} == before
    alone = CliRunner().invoke(main, ["report", str(paths[0]), "-o", str(tmp_path / "new")])
    assert (alone.exit_code, "joint report of several" in alone.output) == (2, True)
    assert rebuild_together(paths)[-1] == joint.resolve() / "REPORT_EVALUATION.md"


def test_out_dirs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """By their models where these differ, else by their paths; a joint out-dir stands for its models."""
    from beholder.report import rebuild_together

    models = {"one/out": "atlas", "two/out": "borea", "three/out": "atlas", "four/joint/x": "x"}
    paths = {at: outdir.write(tmp_path / at, name, outdir.varied_rows(name)) for at, name in models.items()}
    text = rebuild_together([paths["one/out"], paths["two/out"]])[-1].read_text(encoding="utf-8")
    assert "| atlas | **" in text
    assert "| borea | **" in text
    joint = tmp_path / "four" / "joint"
    summary = json.loads((joint / "x" / "judge_summary.json").read_text(encoding="utf-8"))
    (joint / "judge_summary.json").write_text(json.dumps({"models": {"x": summary}}), encoding="utf-8")
    text = rebuild_together([paths["one/out"], paths["three/out"], joint])[-1].read_text(encoding="utf-8")
    assert "| one/out | **" in text
    assert "| three/out | **" in text
    assert "| four/joint/x | **" in text
    with pytest.raises(StoreError, match="named twice"):
        rebuild_together([paths["one/out"], paths["one/out"]])
