"""Reply text -> `Verdict`: the one strict parser of judge replies. It never guesses.

A reply is used only if it can be read in one way. What that means, by kind:

| in the reply | becomes |
| --- | --- |
| fences, prose, byte order mark around the object; `25.0` for 25 | read |
| trailing, missing or doubled comma; comments; Python, JSON5, full-width forms; `"15"`, `.71` | `repaired` |
| closed thinking, or everything before a closing tag that was never opened | left out, `repaired` |
| `[{…}]`, `{{…}}`, `{"scores": {…}}` where nothing competes | read, `repaired` |
| the same values twice, in one object or several | one verdict |
| different values for one criterion; an unfinished second object that names one | `ambiguous` |
| an older verdict inside another member of a full one | a further member, no rival |
| the answer format repeated with its blanks, then an answer | the answer, `template_echo` |
| a criterion left out, null, translated, or only inside other members | `missing_key` |
| a number off the scale or its steps, a fraction on `int`, a word, a percentage | `out_of_range` |
| two numbers in one place, a decimal comma, a lost digit | `ambiguous` |
| cut after all criteria, once another member had begun | read, `truncated_after_criteria` |
| cut anywhere before; thinking that does not end | `truncated` |
| an unescaped quotation mark after all criteria, no criterion's name behind it | read, `repaired` |
| an object broken in any other way; a web page; only prose | `invalid_json` |
| words that decline; a vendor's filter, whatever text came with it | `refused` |
| blanks | `empty`; `truncated` if the cap was reached |

The judge's other members are passed on as `claims`; comparing them is not done here. What one value may look
like stands in `values`, what one line may look like in `lines_form`.

Time is linear in the length of the reply: every pattern is free of backtracking (possessive) or bounded, the
object reader keeps its own stack, and the number of members read has a limit.
"""

from __future__ import annotations

from collections.abc import Sequence

from beholder.records import Criterion, ReplyForm, Verdict
from beholder.verdicts.json_form import parse_json_reply
from beholder.verdicts.keys import build_keys, fold_key
from beholder.verdicts.lines_form import parse_lines_reply
from beholder.verdicts.replies import Question, is_blank, reject
from beholder.verdicts.stops import is_refusal, is_truncated

__all__ = ["is_refusal", "is_truncated", "parse_verdict"]

_EXPLANATION_KEYS = frozenset({"explanation", "rationale", "reason", "reasoning", "justification"})
"""Names of the judge's words in lines form, beside the protocol's own."""


def parse_verdict(
    text: str,
    criteria: Sequence[Criterion],
    *,
    form: ReplyForm = "json",
    rationale_key: str = "reason",
    stop_reason: str | None = None,
) -> Verdict:
    """The verdict that a reply states.

    Args:
        text: The reply, verbatim.
        criteria: The rubric, in order; each must be answered.
        form: What the judge was asked for.
        rationale_key: The key of the judge's words.
        stop_reason: Why the vendor says the answer ended, in the vendor's own word.

    Raises:
        ReplyError: The reply cannot be used. `slug` is the reason, `concerns` the criterion if it is one.
        ValueError: There are no criteria, two have one key, or `form` is unknown.
    """
    keys = build_keys(criteria)
    names = {fold_key(rationale_key)} | (_EXPLANATION_KEYS if form == "lines" else frozenset())
    question = Question(
        text=text,
        criteria=tuple(criteria),
        keys=keys,
        rationale_keys=frozenset(names - {fold_key(key) for key in keys.exact}),
        stop_reason=stop_reason,
    )
    if form not in {"json", "lines"}:
        raise ValueError(f"no such reply form: {form!r}")
    if is_refusal(stop_reason):
        # A vendor's filter may have stopped the judge anywhere; what came before was withdrawn with it.
        reject(question, "refused", f"the vendor stopped the answer: {stop_reason}")
    if is_blank(text):
        reason = "truncated" if is_truncated(stop_reason) else "empty"
        reject(question, reason, "the reply is empty")
    return parse_json_reply(question) if form == "json" else parse_lines_reply(question)
