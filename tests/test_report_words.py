"""Every code that the contract names has words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import beholder
from beholder.report import words

ABSENT = "missing empty corrupt encrypted wrong_type too_large unsafe_path unrenderable unsupported"
UNSCORED = (
    "missing_tool render_failed blocked_resources evidence_too_large rate_limited timeout rejected "
    "unavailable budget cancelled invalid_json missing_key out_of_range ambiguous refused "
    "truncated empty no_majority"
)
FLAGS = (
    "repaired total_mismatch pass_mismatch extra_keys truncated_after_criteria judge_claims_no_evidence "
    "template_echo partial_coverage repeats_disagree"
)


@pytest.mark.parametrize("code", [*ABSENT.split(), *UNSCORED.split()])
def test_every_reason_has_words(code: str) -> None:
    """A reason for absent or unscored is told in a sentence of its own."""
    assert words.reason(code) != code
    assert " " in words.reason(code)


@pytest.mark.parametrize("code", FLAGS.split())
def test_every_flag_has_words(code: str) -> None:
    """So is a flag of a reply or of the repeats."""
    assert " " in words.flag(code)


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    """Ten stands behind nine, an empty name first, and an odd digit is a letter."""
    names = ["Level 10", "Level 9", "", "²", "10", "9", "Level", "ab"]
    assert sorted(names, key=words.natural_order) == [
        "",
        "9",
        "10",
        "Level",
        "Level 9",
        "Level 10",
        "ab",
        "²",
    ]


SOURCE = Path(beholder.__file__).parent
COMPUTED = {
    "evidence/gate.py": {"external_resource_failed", "blocked_resource"},
    "evidence/image.py": {"damaged_pages", "damaged_frames"},
}
"""Codes of evidence that are no literal where the warning is made."""


def warnings_made() -> Iterator[tuple[str, str | None]]:
    """(file, code) of every `Warning_(code=…)` of the sources; None: the code is computed."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Warning_":
                for keyword in node.keywords:
                    if keyword.arg == "code":
                        literal = isinstance(keyword.value, ast.Constant)
                        code = str(ast.literal_eval(keyword.value)) if literal else None
                        yield path.relative_to(SOURCE).as_posix(), code


def test_every_warning_of_the_sources_has_words() -> None:
    """Whatever code evidence can carry is told in a sentence; a computed code stands in the list above."""
    made = list(warnings_made())
    assert len(made) > 30
    assert {file for file, code in made if code is None} == COMPUTED.keys()
    codes = {code for _, code in made if code} | set().union(*COMPUTED.values())
    assert {code for code in codes if " " not in words.warning(code)} == set()


def test_every_warning_of_a_summary_has_words() -> None:
    """The codes that a summary appends are literals, and each has words."""
    tree = ast.parse((SOURCE / "summary/document.py").read_text(encoding="utf-8"))
    made = next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "_warnings")
    codes = {
        node.args[0].elts[0].value
        for node in ast.walk(made)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.args[0], ast.Tuple)
        and isinstance(node.args[0].elts[0], ast.Constant)
    }
    assert "unscored" in codes
    assert len(codes) >= 6
    assert {code for code in codes if " " not in words.warning(str(code))} == set()


@pytest.mark.parametrize("code", ["scripted", "served_models_differ", "excluded", "not_selected", "budget"])
def test_what_only_a_part_of_a_row_says_has_words(code: str) -> None:
    """Files that are not shown, and a change of the served model, are told too."""
    told = (words.warning(code), words.flag(code), words.budget_or(code))
    assert any(" " in text for text in told)


def test_an_unknown_code_is_shown_as_it_is() -> None:
    """A code of a newer version is not hidden."""
    assert [words.reason("x_y"), words.flag("x_y"), words.warning("x_y"), words.reason(None)] == [
        "x_y",
        "x_y",
        "x_y",
        "",
    ]
