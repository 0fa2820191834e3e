"""What both reply forms share: the reply with all that is known about it, and how reading it ends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from beholder.errors import ReplyError
from beholder.records import Criterion, Value, Verdict
from beholder.verdicts.keys import BLANKS, Keys
from beholder.verdicts.objects import writable
from beholder.verdicts.phrases import claims_no_evidence, declines, is_markup
from beholder.verdicts.stops import is_truncated

_EMPTY_FENCE = re.compile(r"```\w{0,12}\s*+```")
_LONGEST_BLANK = 10_000  # characters; looking at each one of a longer reply would take long


@dataclass(frozen=True, slots=True)
class Question:
    """One reply to be read.

    Attributes:
        text: The reply, verbatim.
        rationale_keys: Folded names of the judge's words.
    """

    text: str
    criteria: tuple[Criterion, ...]
    keys: Keys
    rationale_keys: frozenset[str]
    stop_reason: str | None

    @property
    def truncated(self) -> bool:
        """Whether the vendor says that the answer was stopped early."""
        return is_truncated(self.stop_reason)


def is_blank(text: str) -> bool:
    """Whether nothing is there but blanks, invisible characters and the marks of an empty fence."""
    rest = text.strip(BLANKS)
    if len(rest) > _LONGEST_BLANK:
        return False
    return not any(char.isprintable() and not char.isspace() for char in _EMPTY_FENCE.sub("", rest))


def reject(
    question: Question,
    reason: str,
    message: str,
    *,
    about: str = "",
    flags: Sequence[str] = (),
    repairs: Sequence[str] = (),
) -> NoReturn:
    """Give the reply up.

    Raises:
        ReplyError: Always.
    """
    noticed = list(flags)
    if claims_no_evidence(question.text):
        noticed.append("judge_claims_no_evidence")
    raise ReplyError(
        writable(message),
        slug=reason,
        reply=question.text,
        concerns=about,
        flags=tuple(dict.fromkeys(noticed)),
        repairs=tuple(dict.fromkeys(repairs)),
    )


def reject_wordless(question: Question, words: str, *, otherwise: str, flags: Sequence[str] = ()) -> NoReturn:
    """Give up a reply in which nothing speaks of a criterion: empty, cut, refused, a web page, or just words.

    Args:
        question: The reply.
        words: Its text without thinking.
        otherwise: The reason if it is none of these.
        flags: What was noticed.

    Raises:
        ReplyError: Always.
    """
    if is_blank(words):
        if question.truncated:
            reject(question, "truncated", "the judge's tokens ran out before it answered", flags=flags)
        reject(question, "empty", "the reply is empty", flags=flags)
    if is_markup(words):
        reject(question, "invalid_json", "the reply is a web page", flags=flags)
    if declines(words) or claims_no_evidence(words):
        reject(question, "refused", "the judge declined", flags=flags)
    if question.truncated:
        reject(question, "truncated", "the reply was cut before its verdict", flags=flags)
    first = question.criteria[0].key
    about = first if otherwise == "missing_key" else ""
    reject(question, otherwise, f"the reply holds no verdict: {first} is not in it", about=about, flags=flags)


def accept(
    question: Question,
    scores: Mapping[str, Value],
    *,
    rationale: str,
    around: str,
    claims: Mapping[str, Value | None],
    repairs: Sequence[str],
    template_echo: bool,
    cut: bool,
) -> Verdict:
    """The verdict, its flags drawn from what was noticed.

    Args:
        question: The reply.
        scores: Per criterion, in the rubric's order.
        rationale: The judge's words.
        around: What else it said, to be looked through for a claim that there was nothing to judge.
        claims: The other members.
        repairs: Codes, in order of use; duplicates are dropped.
        template_echo: The answer format was repeated.
        cut: The text ends within the verdict, after all criteria.
    """
    codes = tuple(dict.fromkeys(repairs))
    noticed = {
        "repaired": bool(codes),
        "truncated_after_criteria": cut or question.truncated,
        "judge_claims_no_evidence": claims_no_evidence(rationale) or claims_no_evidence(around),
        "template_echo": template_echo,
    }
    return Verdict(
        scores=scores,
        rationale=writable(rationale),
        flags=tuple(flag for flag, seen in noticed.items() if seen),
        repairs=codes,
        claims=claims,
    )
