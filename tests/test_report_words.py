"""Every code that the contract names has words."""

from __future__ import annotations

import pytest

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


def test_an_unknown_code_is_shown_as_it_is() -> None:
    """A code of a newer version is not hidden."""
    assert [words.reason("x_y"), words.flag("x_y"), words.warning("x_y"), words.reason(None)] == [
        "x_y",
        "x_y",
        "x_y",
        "",
    ]
