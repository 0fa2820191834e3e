"""Rules against a submission's files: which files a rule is about, and what they say together."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from beholder.records import Artifact, Rule, RuleResult, Submission
from beholder.rules.files import GivenUp, counted, is_there, listed, matching, read_file
from beholder.rules.look import Found, Outcome, decided
from beholder.rules.parse import RESPONSE
from beholder.rules.search import Wanted

if TYPE_CHECKING:
    from beholder.rules.fence import FencedReader

MAX_FILES = 200
"""Files that one rule reads."""

_ANY_FILE: Sequence[Outcome] = ("passed", "error", "failed", "not_supported")
"""Passed if one file does; undecided only if no file at all could be read."""

_EVERY_FILE: Sequence[Outcome] = ("failed", "error", "not_supported", "passed")
"""Passed if every file does."""

_ORDERS: Mapping[str, Sequence[Outcome]] = {
    "text_contains": _ANY_FILE,
    "table_has": _ANY_FILE,
    "valid": _EVERY_FILE,
    "pages": _EVERY_FILE,
}
"""Type -> the outcome that comes first, of those that its files have, is the rule's."""


def check_rules(
    rules: Sequence[Rule], submission: Submission, *, stop: threading.Event | None = None
) -> tuple[RuleResult, ...]:
    """Each rule's result, in the rules' order; never raises for what is in the files.

    Rules speak of what the agent handed in: every file below `artifacts/`, also those that the protocol's
    routing excludes from the judge, by patterns relative to `artifacts/`; and of `response.txt`.

    `passed` needs to be shown. `file_exists` counts files; `text_contains` and `table_has` pass if one of the
    files named has it all; `valid` and `pages` if there is a file and every one of them is so. No file of
    that name: `failed`. No reader for the files: `not_supported`. A wrong rule, and what could not be checked
    (too large, too slow, unreadable for us): `error`.

    What is in the files is read behind a fence, with a deadline for each rule. Blocks meanwhile: call it in a
    thread from async code.

    Args:
        rules: As `parse_rules` gave them.
        submission: As `RunDirectory.open` gave it; without artifacts where there is none.
        stop: Set by another thread: what is not decided yet is given up soon (`error`).
    """
    from beholder.rules.fence import FencedReader  # here, for its workers load this module, too

    with FencedReader(stop) as reader:
        return tuple(_result(rule, submission, reader) for rule in rules)


def _result(rule: Rule, submission: Submission, reader: FencedReader) -> RuleResult:
    """One rule's result."""
    if rule.problem is not None:
        return RuleResult(type=rule.type, args=rule.args, outcome=rule.problem, detail=rule.detail)
    try:
        outcome, detail = decided(lambda: _check(rule, submission, reader))
    except GivenUp as error:
        outcome, detail = "error", str(error)
    return RuleResult(type=rule.type, args=rule.args, outcome=outcome, detail=detail)


def _check(rule: Rule, submission: Submission, reader: FencedReader) -> Found:
    if rule.type == "file_exists":
        return _file_exists(rule.args, submission)
    reader.begin_rule()
    if rule.args.get("in") == RESPONSE:
        return _response_contains(rule.args, submission, reader)
    return _over_files(rule, submission, reader)


def _file_exists(args: Mapping[str, Any], submission: Submission) -> Found:
    least, most = args.get("min_count", 1), args.get("max_count")
    named = matching(submission, args["glob"])
    names = [artifact.name for artifact in named if is_there(artifact)]
    count = counted(len(names), "file")
    seen = f"{count}: {listed(names)}" if names else count
    broken = [artifact.name for artifact in named if not is_there(artifact)]
    if broken:
        seen += f"; not counted, for they lead out of the folder or to nothing: {listed(broken)}"
    good = len(names) >= least and (most is None or len(names) <= most)
    return ("passed" if good else "failed"), seen


def _response_contains(args: Mapping[str, Any], submission: Submission, reader: FencedReader) -> Found:
    if submission.response is None:
        return "failed", "there is no response.txt"
    if "regex" in args:  # which may not end
        return reader.search(args, submission.response)
    return Wanted.of(args).found_in(submission.response)


def _over_files(rule: Rule, submission: Submission, reader: FencedReader) -> Found:
    """The outcome that the rule's files have together, with the details of those that have it."""
    pattern = rule.args["in" if rule.type == "text_contains" else "glob"]
    files = matching(submission, pattern)
    if not files:
        return "failed", f"no file below artifacts/ is named {pattern}"
    if len(files) > MAX_FILES:
        return "error", f"{len(files)} files have such a name, and at most {MAX_FILES} are read for a rule"

    def look(artifact: Artifact) -> Found:
        return decided(lambda: reader.look(rule.type, rule.args, artifact.suffix, read_file(artifact)))

    found = [(artifact.name, *look(artifact)) for artifact in files]
    outcome = min((one for _, one, _ in found), key=_ORDERS[rule.type].index)
    return outcome, listed([f"{name}: {detail}" for name, one, detail in found if one == outcome])
