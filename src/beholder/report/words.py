"""Codes of rows and evidence in plain words. A code without an entry is shown as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

SCRIPTED = "Scripted replies: made up, not judged by a model."

FIGURES = (
    "The mean is over scored tasks, and over absent ones unless the formula leaves them out. "
    "Coverage is the share of planned tasks that are scored or absent. "
    "Bounds are the mean if every unscored task were worst, or best; an absent one is worst in both."
)

STATES: Mapping[str, str] = {
    "passed": "Passed",
    "failed": "Failed",
    "scored": "Scored",
    "absent": "Absent",
    "unscored": "Unscored",
}
"""What an item may be; `scored` where the protocol has no pass mark."""

REASONS: Mapping[str, str] = {
    # absent: the submission's own fault
    "missing": "no file was submitted",
    "empty": "it is empty",
    "corrupt": "the file is damaged",
    "encrypted": "the file needs a password",
    "wrong_type": "the content is not what the suffix says",
    "too_large": "the file is too large to open safely",
    "unsafe_path": "the path leads out of the submission's folder",
    "unrenderable": "the page could not be captured, twice",
    "unsupported": "no file of a kind this protocol looks at",
    # unscored: ours
    "missing_tool": "a program needed to show it is not installed",
    "render_failed": "the renderer failed, on a known good page too",
    "blocked_resources": "the page asks for an outside host, and the network was off",
    "evidence_too_large": "it cannot be made to fit the judge's limits",
    # unscored: the call
    "rate_limited": "the judge was rate limited",
    "timeout": "the judge did not answer in time",
    "rejected": "the judge rejected the request",
    "unavailable": "the judge was not available",
    "budget": "the budget was used up",
    "cancelled": "the run was stopped",
    # unscored: the reply
    "invalid_json": "the reply is not valid JSON",
    "missing_key": "the reply leaves out a criterion",
    "out_of_range": "a number is outside its scale",
    "ambiguous": "the reply holds more than one verdict",
    "refused": "the judge refused",
    "truncated": "the reply was cut off",
    "no_majority": "no answer had a majority of the repeats",
    # not shown
    "excluded": "left out by the protocol's exclusions",
    "not_selected": "another file of the submission was shown",
}

WARNINGS: Mapping[str, str] = {
    # of pages
    "blank_capture": "what is shown is blank",
    "page_not_settled": "the page had not settled when it was captured",
    "script_error": "a script on the page failed",
    "external_resource_failed": "something the page asked for did not load",
    "blocked_resource": "an outside host was blocked",
    "missing_file": "the page asks for files that were not submitted",
    "left_page": "the page tried to go to another address",
    "inner_scroll": "a part scrolls by itself, and its rest is not seen",
    "virtual_list": "a long list draws only the rows in view, and its first ones are shown",
    "missing_glyphs": "no font here has some of its letters",
    "sandbox_off": "pages were rendered without the browser's sandbox",
    # of documents and texts
    "damaged_pages": "some of its pages cannot be drawn",
    "hidden_sheets": "some of its sheets are hidden, and not shown",
    "hidden_slides": "some of its slides are hidden, and not shown",
    "sheets_not_matched": "which page belongs to which sheet is not certain",
    "formula_not_computed": "some of its formulas were saved without a value",
    "encoding_guessed": "it does not say how its letters are encoded, so that was guessed",
    "undecodable": "some of its bytes are no letters",
    # of pictures and videos
    "other_format": "the content is of another format than the file's name says",
    "tiny_image": "the picture is only a few pixels large",
    "animation_first_frame": "of an animation only the first frame is shown",
    "frames_sampled": "some of its frames are shown, not all",
    "damaged_frames": "some of its frames cannot be decoded",
    # of what fits a judge
    "truncated": "only a part of it is shown",
    "downscaled": "the picture was made smaller to fit the judge",
    "re_encoded": "the picture was compressed to fit the judge",
    # of a summary
    "scripted": "the replies are made up",
    "unscored": "some tasks have no score",
    "partial_coverage": "some tasks rest on fewer repeats than asked for",
    "served_models_differ": "more than one model answered under the judge's name",
    "evidence_policies_differ": "the tasks were not all shown in the same way",
    "evidence_warnings": "some evidence was shown with defects",
}

FLAGS: Mapping[str, str] = {
    "repaired": "the reply had to be mended to be read",
    "total_mismatch": "the judge's own total differs from the recomputed one",
    "pass_mismatch": "the judge's own verdict differs from the recomputed one",
    "extra_keys": "the reply holds more than was asked for",
    "truncated_after_criteria": "the reply was cut off after the last criterion",
    "judge_claims_no_evidence": "the judge says that it saw nothing",
    "template_echo": "the reply repeats the question's own example",
    "partial_coverage": "not every repeat was scored",
    "repeats_disagree": "the repeats give different scores",
    "served_models_differ": "the repeats were answered by different models",
}


_NUMBERS = re.compile("[0-9]{1,18}|[^0-9]+")


def shortened(text: str, most: int = 80) -> str:
    """A name from outside in a length that a table can hold, with an ellipsis where it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def natural_order(text: str) -> tuple[list[tuple[int, int, str]], str]:
    """A key to sort names by: digits count as numbers, so that `Level 10` stands behind `Level 9`."""
    parts = _NUMBERS.findall(text)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts], text


def reason(code: str | None) -> str:
    """A reason in words, or the code itself; empty without one."""
    if not code:
        return ""
    return REASONS.get(code, code)


def budget_or(code: str | None) -> str:
    """As `reason`, for what was not shown: there `budget` is that of the evidence, not of money."""
    return "beyond the number of pictures, pages or characters shown" if code == "budget" else reason(code)


def warning(code: str) -> str:
    """A warning in words, or the code itself."""
    return WARNINGS.get(code, code)


def flag(code: str) -> str:
    """A flag in words, or the code itself."""
    return FLAGS.get(code, code)
