"""Results as JUnit XML, for CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import ConfigError, StoreError
from beholder.junit import clean, write_junit
from tests.fakes import outdir
from tests.fakes.runs import command, run


def written(out: Path, target: Path) -> ET.Element:
    write_junit(out, target)
    return ET.parse(target).getroot()


def case(root: ET.Element, name: str) -> ET.Element:
    found = root.find(f".//testcase[@name='{name}']")
    assert found is not None
    return found


def test_each_outcome_is_what_ci_makes_of_it(tmp_path: Path) -> None:
    """Passed is a plain case, failed and absent are failures, unscored is an error; the counts add up."""
    root = written(outdir.write_varied(tmp_path / "atlas"), tmp_path / "junit.xml")
    assert root.tag == "testsuites"
    assert {key: root.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "gis-bench/1",
        "tests": "7",
        "failures": "2",
        "errors": "1",
        "skipped": "0",
    }
    assert [child.tag for child in case(root, "us_states_choropleth")] == ["system-out"]
    failed = case(root, "airports-europe").find("failure")
    assert failed is not None
    assert failed.get("type") == "failed"
    assert failed.get("message", "").endswith("passes at 60")
    absent = case(root, "world_rivers").find("failure")
    assert absent is not None
    assert (absent.get("type"), absent.get("message")) == ("missing", "absent: no file was submitted")
    unscored = case(root, "tiles-from-outside").find("error")
    assert unscored is not None
    assert unscored.get("type") == "blocked_resources"
    assert "--network tile.example.org" in (unscored.text or "")


def test_a_suite_says_who_judged_and_how_much_of_it(tmp_path: Path) -> None:
    """The properties hold judge, mean, coverage and that replies were scripted; the unknown is left out."""
    root = written(outdir.write_varied(tmp_path / "atlas"), tmp_path / "junit.xml")
    told = {one.get("name"): one.get("value") for one in root.iterfind(".//property")}
    assert (told["judge"], told["scripted"], told["pass_at"]) == ("scripted/demo.json", "true", "60")
    (tmp_path / "atlas" / "judge_summary.json").unlink()
    assert written(tmp_path / "atlas", tmp_path / "junit.xml").find(".//property") is None


def test_a_joint_out_dir_gives_a_suite_per_model(tmp_path: Path) -> None:
    """Two models, two suites, and the totals are over both."""
    for name in ("atlas", "borea"):
        outdir.write_varied(tmp_path / name, name)
    (tmp_path / "judge_summary.json").write_text(json.dumps({"models": {"atlas": {}, "borea": {}}}))
    root = written(tmp_path, tmp_path / "junit.xml")
    assert [suite.get("name") for suite in root] == ["atlas", "borea"]
    assert root.get("tests") == "14"


def test_names_that_xml_cannot_hold_are_made_visible(tmp_path: Path) -> None:
    """Control characters, half a surrogate pair and markup leave a well-formed file."""
    evil = "a\x00\x1b]0;x\x07<b>&\ufffe\u202e"
    rows = [outdir.row("t", evil, [outdir.repeat(1, (1, 2, 3, 4), rationale=evil)], folder="")]
    out = outdir.write(tmp_path / "m", "m", rows)
    path = out / "judge_results.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"t"', '"t\\ud800"'), encoding="utf-8")
    root = written(out, tmp_path / "junit.xml")
    assert case(root, "t\ufffd").get("classname") == "gis-bench/1.a\ufffd\ufffd]0;x\ufffd<b>&\ufffd\u202e"


@given(st.text(st.characters(codec=None)))
def test_whatever_a_text_holds_the_file_is_well_formed(text: str) -> None:
    """Cleaned text goes through a parser and comes back, but for line ends, which XML unifies."""
    element = ET.Element("a")
    element.text = clean(text)
    back = ET.fromstring(ET.tostring(element, encoding="utf-8")).text or ""
    assert back == clean(text).replace("\r\n", "\n").replace("\r", "\n")


def test_without_a_pass_mark_nothing_scored_fails(tmp_path: Path) -> None:
    """A score below nothing is no failure."""
    row: dict[str, Any] = {**outdir.row("t", "m", [outdir.repeat(1, (1, 2, 3, 4))]), "pass": None}
    out = outdir.write(tmp_path / "m", "m", [row], pass_at=None)
    root = written(out, tmp_path / "junit.xml")
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    assert "score: 10 of 100" in (case(root, "t").findtext("system-out") or "")


def test_the_command_writes_it_by_suffix_and_refuses_tidy(tmp_path: Path) -> None:
    """`export -o junit.xml`; `--tidy` has no meaning there and is refused with what to do."""
    out = outdir.write_varied(tmp_path / "atlas")
    target = str(tmp_path / "junit.xml")
    done = run(command("export", str(out), "-o", target, "--json"))
    assert json.loads(done.stdout) == {"written": target, "cases": 7}
    refused = run(command("export", str(out), "-o", target, "--tidy"))
    assert refused.returncode == 2
    assert "--tidy" in refused.stderr


def test_targets_and_sources_are_checked_as_for_tables(tmp_path: Path) -> None:
    """A folder as target and a folder without results are refused."""
    out = outdir.write_varied(tmp_path / "atlas")
    (tmp_path / "x.xml").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        write_junit(out, tmp_path / "x.xml")
    with pytest.raises(StoreError, match="no judge_results"):
        write_junit(tmp_path, tmp_path / "y.xml")
