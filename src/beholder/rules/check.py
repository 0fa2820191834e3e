"""Rules against a submission's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from beholder.records import Artifact, Rule, RuleResult, Submission
from beholder.rules.fence import check_fenced
from beholder.rules.files import FileFailed, NotChecked, counted, is_there, listed, matching, read_file
from beholder.rules.parse import RESPONSE
from beholder.rules.readers import NoReader, check_format, count_pages, text_of
from beholder.rules.search import Wanted
from beholder.rules.tables import lacks_table

Outcome = Literal["passed", "failed", "not_supported", "error"]
Found = tuple[Outcome, str]
"""What became of a rule or of one file, and what was seen, for people."""

MAX_FILES = 200
"""Files that one rule reads."""


def check_rules(rules: Sequence[Rule], submission: Submission) -> tuple[RuleResult, ...]:
    """Each rule's result, in the rules' order; never raises for what is in the files.

    Rules speak of what the agent handed in: every file below `artifacts/`, also those that the protocol's
    routing excludes from the judge, by patterns relative to `artifacts/`; and of `response.txt`.

    `passed` needs to be shown. `file_exists` counts files; `text_contains` and `table_has` pass if one of the
    files named has it all; `valid` and `pages` if there is a file and every one of them is so. No file of
    that name: `failed`. No reader for the files: `not_supported`. A wrong rule, and what could not be checked
    (too large, too slow, unreadable for us): `error`.

    Files are read in a process of their own, with a deadline for each rule. Blocks meanwhile: call it in a
    thread from async code.

    Args:
        rules: As `parse_rules` gave them.
        submission: As `RunDirectory.open` gave it; without artifacts where there is none.
    """
    reading = [rule for rule in rules if _reads_files(rule)]
    fenced = iter(check_fenced(reading, submission))
    return tuple(next(fenced) if _reads_files(rule) else check_rule(rule, submission) for rule in rules)


def _reads_files(rule: Rule) -> bool:
    """Whether a rule opens files, or runs a pattern that may not end."""
    if rule.problem is not None or rule.type == "file_exists":
        return False
    return rule.type != "text_contains" or rule.args["in"] != RESPONSE or "regex" in rule.args


def check_rule(rule: Rule, submission: Submission) -> RuleResult:
    """One rule's result."""
    if rule.problem is not None:
        return RuleResult(type=rule.type, args=rule.args, outcome=rule.problem, detail=rule.detail)
    outcome, detail = _decided(lambda: _CHECKS[rule.type](rule.args, submission))
    plain = detail.encode("utf-8", "replace").decode("utf-8")  # names on disk need not be Unicode
    return RuleResult(type=rule.type, args=rule.args, outcome=outcome, detail=plain)


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


def _text_contains(args: Mapping[str, Any], submission: Submission) -> Found:
    wanted = Wanted.of(args)
    if args["in"] == RESPONSE:
        if submission.response is None:
            return "failed", "there is no response.txt"
        return wanted.found_in(submission.response)
    return _any_file(args["in"], submission, lambda _artifact, data: wanted.found_in(text_of(data)))


def _valid(args: Mapping[str, Any], submission: Submission) -> Found:
    def check(_artifact: Artifact, data: bytes) -> Found:
        return "passed", check_format(args["as"], data)

    return _every_file(args["glob"], submission, check)


def _table_has(args: Mapping[str, Any], submission: Submission) -> Found:
    def check(artifact: Artifact, data: bytes) -> Found:
        lack = lacks_table(artifact.suffix, data, args)
        return ("failed", lack) if lack else ("passed", "has them")

    return _any_file(args["glob"], submission, check)


def _pages(args: Mapping[str, Any], submission: Submission) -> Found:
    least, most = args.get("min", 0), args.get("max")

    def check(_artifact: Artifact, data: bytes) -> Found:
        pages = count_pages(data)
        good = pages >= least and (most is None or pages <= most)
        return ("passed" if good else "failed"), counted(pages, "page")

    return _every_file(args["glob"], submission, check)


_CHECKS: Mapping[str, Callable[[Mapping[str, Any], Submission], Found]] = {
    "file_exists": _file_exists,
    "text_contains": _text_contains,
    "valid": _valid,
    "table_has": _table_has,
    "pages": _pages,
}

PerFile = Callable[[Artifact, bytes], Found]


def _any_file(pattern: str, submission: Submission, check: PerFile) -> Found:
    """Passed if one file does; undecided only if no file at all could be read."""
    return _over_files(pattern, submission, check, ("passed", "error", "failed", "not_supported"))


def _every_file(pattern: str, submission: Submission, check: PerFile) -> Found:
    """Passed if every file does."""
    return _over_files(pattern, submission, check, ("failed", "error", "not_supported", "passed"))


def _over_files(pattern: str, submission: Submission, check: PerFile, order: Sequence[Outcome]) -> Found:
    """The outcome that comes first in `order` of those that the files have, with its files' details."""
    files = matching(submission, pattern)
    if not files:
        return "failed", f"no file below artifacts/ is named {pattern}"
    if len(files) > MAX_FILES:
        return "error", f"{len(files)} files have such a name, and at most {MAX_FILES} are read for a rule"
    found = [(artifact.name, *_look_at(artifact, check)) for artifact in files]
    outcome = min((one for _, one, _ in found), key=order.index)
    return outcome, listed([f"{name}: {detail}" for name, one, detail in found if one == outcome])


def _look_at(artifact: Artifact, check: PerFile) -> Found:
    return _decided(lambda: check(artifact, read_file(artifact)))


def _decided(check: Callable[[], Found]) -> Found:
    """What a check finds, or what kept it from finding anything."""
    try:
        return check()
    except FileFailed as error:
        return "failed", str(error)
    except NotChecked as error:
        return "error", str(error)
    except NoReader as error:
        return "not_supported", str(error)
    except MemoryError:
        return "error", "there is not enough memory to check it"
    except RecursionError:
        return "error", "nested deeper than can be read"
