"""Rows of an out-dir -> JUnit XML, the form in which CI systems take test results.

    <testsuites name="gis-bench/1" tests= failures= errors=>
      <testsuite name="MODEL" tests= failures= errors=>         one per model
        <properties> judge, hashes, mean, coverage, scripted
        <testcase classname="gis-bench/1.MODEL" name="TASK">    one per task, in task order
          <failure type="failed|missing|…">                     below the pass mark, or absent
          <error type="timeout|…">                              unscored: ours or the judge's fault
          <system-out>                                          score, criteria, the judge's words

A task that is scored where there is no pass mark has no failure. XML has no place for most control
characters, not even escaped: they are shown as U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree as ET

from beholder.export import model_folders, write_whole
from beholder.report import numbers, words
from beholder.rows import rationale_of
from beholder.store import read_json, read_rows

Row = Mapping[str, Any]

# Everything but the Char production of XML 1.0, section 2.2.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(out_dir: Path, target: Path) -> int:
    """Write the results of an out-dir, be it one model's or a joint one, whole or not at all.

    Returns:
        How many test cases were written.

    Raises:
        ConfigError: A target that cannot be written.
        StoreError: There are no results, or they are damaged; the file cannot be written.
    """
    root = junit_tree(out_dir)

    def write(file: IO[bytes]) -> None:
        ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)

    write_whole(target, write)
    return int(root.get("tests", "0"))


def junit_tree(out_dir: Path) -> ET.Element:
    """The results as an element tree.

    Raises:
        StoreError: There are no results, or they are damaged.
    """
    root = ET.Element("testsuites")
    for folder in model_folders(out_dir):
        root.append(_suite(folder))
    root.set("name", next((suite.get("protocol", "") for suite in root), "") or "beholder")
    for suite in root:
        suite.attrib.pop("protocol", None)
    _count(root, list(root))
    ET.indent(root)
    return root


def _suite(folder: Path) -> ET.Element:
    summary = read_json(folder / "judge_summary.json") or {}
    suite = ET.Element("testsuite")
    properties = ET.SubElement(suite, "properties")
    cases, model, protocol = [], str(summary.get("model") or folder.name), str(summary.get("protocol") or "")
    for row in read_rows(folder):
        model, protocol = row["model"], row["protocol"]
        cases.append(_case(row, summary))
    suite.set("name", clean(model))
    suite.set("protocol", clean(protocol))
    for name, value in _facts(summary):
        ET.SubElement(properties, "property", name=name, value=clean(value))
    suite.extend(cases)
    tallies = [_tally(case) for case in cases]
    _set_counts(suite, [sum(column) for column in zip(*tallies, strict=True)] or [0, 0, 0])
    return suite


def _facts(summary: Row) -> Iterator[tuple[str, str]]:
    """What a reader of the numbers must know; unknown is left out."""
    judge = summary.get("judge") or {}
    facts = {
        "judge": judge.get("model"),
        "scripted": None if summary.get("scripted") is None else str(bool(summary["scripted"])).lower(),
        **{name: summary.get(name) for name in ("mean", "coverage", "pass_rate", "pass_at")},
        **{name: summary.get(name) for name in ("question_sha256", "formula_sha256")},
    }
    return ((name, str(value)) for name, value in facts.items() if value is not None)


def _case(row: Row, summary: Row) -> ET.Element:
    case = ET.Element(
        "testcase", classname=clean(f"{row['protocol']}.{row['model']}"), name=clean(row["task_id"])
    )
    outcome, reason = row["outcome"], row["reason"] or ""
    cause = clean(row.get("main_score_error") or reason)
    if outcome == "unscored":
        _problem(case, "error", reason, f"unscored: {words.reason(reason)}", cause)
    elif outcome == "absent":
        _problem(case, "failure", reason, f"absent: {words.reason(reason)}", cause)
    elif row["pass"] is False:
        _problem(case, "failure", "failed", _below(row, summary), clean(rationale_of(row)))
    if told := _told(row, summary):
        ET.SubElement(case, "system-out").text = clean(told)
    return case


def _problem(case: ET.Element, tag: str, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, tag, type=clean(kind), message=clean(message)).text = text


def _below(row: Row, summary: Row) -> str:
    mark = summary.get("pass_at")
    return f"score {_score(row, summary)}" + ("" if mark is None else f", passes at {numbers.plain(mark, 2)}")


def _score(row: Row, summary: Row) -> str:
    ends = summary.get("score_range") or ()
    digits = numbers.digits_for(ends or None)
    mark = summary.get("pass_at")
    text = numbers.score(row["main_score"], digits, ends=ends, pass_at=mark, passed=row["pass"])
    return f"{text} of {numbers.plain(ends[1], 2)}" if ends else text


def _told(row: Row, summary: Row) -> str:
    """Score, criteria and flags in lines; empty where nothing was judged."""
    if row["outcome"] != "scored":
        return ""
    lines = [f"score: {_score(row, summary)}, {row['n_scored']} of {row['n_requested']} repeats"]
    lines += [f"{key}: {numbers.plain(value, 2)}" for key, value in row["scores"].items()]
    lines += [f"flags: {', '.join(row['flags'])}"] if row["flags"] else []
    words_of_judge = rationale_of(row)
    return "\n".join([*lines, words_of_judge] if words_of_judge and row["pass"] is not False else lines)


def clean(text: object) -> str:
    """`text` without what XML cannot hold."""
    return _NO_XML.sub("\ufffd", str(text))


def _tally(case: ET.Element) -> tuple[int, int, int]:
    return 1, int(case.find("failure") is not None), int(case.find("error") is not None)


def _count(root: ET.Element, suites: list[ET.Element]) -> None:
    _set_counts(
        root, [sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors")]
    )


def _set_counts(element: ET.Element, counts: list[int]) -> None:
    for name, count in zip(("tests", "failures", "errors"), counts, strict=True):
        element.set(name, str(count))
    element.set("skipped", "0")
