"""Replies that should hold one JSON object.

1. Find every outermost object (`scan`). Those with a criterion's name at their top level are candidates, with
   what they hold where a wrapped verdict would be taken; of the others, those inside them that have one.
2. Leave out candidates that repeat the answer format: not one value, but blanks such as `<0 or 1>`.
3. Candidates must agree in what they say of each criterion, and with several none may be cut or broken.
4. The candidate that says most must say everything, in an object whose end was reached, or where the cut can
   have touched no criterion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from beholder.records import Value, Verdict
from beholder.verdicts.candidates import Candidate, find_candidates
from beholder.verdicts.keys import fold_key
from beholder.verdicts.objects import Member, Object, Scalar
from beholder.verdicts.phrases import is_markup
from beholder.verdicts.replies import Question, accept, reject, reject_wordless
from beholder.verdicts.scan import Scan, scan_reply
from beholder.verdicts.values import Reading, read_claim


def parse_json_reply(question: Question) -> Verdict:
    """Read a reply in JSON form.

    Raises:
        ReplyError: It holds no verdict that can be used.
    """
    scan = scan_reply(question.text, question.keys)
    candidates = find_candidates(scan, question)
    if not candidates:
        _reject_without_candidates(question, scan)
    return decide(question, scan, candidates)


def decide(question: Question, scan: Scan, candidates: list[Candidate]) -> Verdict:
    """The one verdict that the candidates agree on.

    Raises:
        ReplyError: They disagree, or what they say is not enough.
    """
    real = [candidate for candidate in candidates if not candidate.is_template]
    echo = any(candidate.has_blanks for candidate in candidates)
    flags = ("template_echo",) if echo else ()
    if not real:
        _reject_blank_forms(question, candidates, flags)
    _check_agreement(question, real, flags)
    chosen = max(real, key=lambda candidate: (len(candidate.readings), candidate.trusted))
    if any(candidate.fragment for candidate in real) or scan.stray_key or scan.exhausted:
        reason = "invalid_json" if chosen.root.state == "broken" or scan.exhausted else "ambiguous"
        reject(question, reason, "the verdict stands among pieces that cannot be read", flags=flags)
    _check_end(question, chosen, flags)
    scores = _scores(question, chosen, flags)
    return accept(
        question,
        scores,
        rationale=_rationale(question, chosen),
        around=prose_of(question.text, scan),
        claims=_claims(question, chosen),
        repairs=_repairs(question, scan, chosen),
        template_echo=echo,
        cut=chosen.root.state == "cut",
    )


def prose_of(text: str, scan: Scan) -> str:
    """What stands outside of objects and thoughts."""
    return "\n".join(text[start:end] for start, end in scan.prose)


# --- checking -----------------------------------------------------------------------------------


def _check_agreement(question: Question, real: list[Candidate], flags: tuple[str, ...]) -> None:
    """Several objects must say the same wherever they speak of the same, to their end."""
    for key in question.keys.exact:
        if len({candidate.readings[key].identity for candidate in real if key in candidate.readings}) > 1:
            reject(question, "ambiguous", f"the reply gives {key} different values", about=key, flags=flags)
    if len(real) > 1 and any(candidate.root.state != "complete" for candidate in real):
        reject(question, "ambiguous", "a verdict and an unfinished one stand in the reply", flags=flags)


def _check_end(question: Question, chosen: Candidate, flags: tuple[str, ...]) -> None:
    """An object that does not end is used only where its damage can have touched no criterion."""
    if chosen.root.state == "complete":
        return
    whole = chosen.object.state == "complete" or chosen.ended.issuperset(question.keys.exact)
    if chosen.root.state == "cut":
        if not (whole and _cut_behind_criteria(question, chosen)):
            reject(question, "truncated", "the reply ends before its verdict does", flags=flags)
    elif not (whole and _damaged_behind_criteria(question, chosen)):
        reject(question, "invalid_json", "the reply's object cannot be read to its end", flags=flags)


def _cut_behind_criteria(question: Question, chosen: Candidate) -> bool:
    """Whether something else had begun after the last criterion's comma: `0,` may go on as `0,41`."""
    holder = chosen.object
    if holder.state == "complete":
        return True
    if holder.pending is not None:
        return not question.keys.may_begin(holder.pending)
    return question.keys.match(holder.members[-1].key) is None


def _damaged_behind_criteria(question: Question, chosen: Candidate) -> bool:
    """Whether it broke at a quotation mark within the words of another member, after all criteria."""
    damaged = chosen.root if chosen.object.state == "complete" else chosen.object
    return damaged.quote_damage and question.keys.match(damaged.members[-1].key) is None


def _scores(question: Question, chosen: Candidate, flags: tuple[str, ...]) -> dict[str, Value]:
    if not chosen.trusted:
        first = question.criteria[0].key
        message = f"{first} stands only inside another member"
        reject(question, "missing_key", message, about=first, flags=flags)
    scores: dict[str, Value] = {}
    for criterion in question.criteria:
        reading = chosen.readings.get(criterion.key, Reading(reason="missing_key"))
        if reading.value is None:
            reason = reading.reason or "missing_key"
            said = (
                f"{reading.text} is no value of it ({reason})"
                if reading.text
                else "the reply has no value of it"
            )
            message = f"{criterion.key}: {said}"
            reject(question, reason, message, about=criterion.key, flags=flags, repairs=chosen.root.repairs)
        scores[criterion.key] = reading.value
    return scores


def _reject_blank_forms(question: Question, candidates: list[Candidate], flags: tuple[str, ...]) -> NoReturn:
    """Give up a reply that names criteria and gives none a value."""
    if question.truncated or candidates[-1].root.state == "cut":
        reject(question, "truncated", "the reply ends before its verdict", flags=flags)
    first = question.criteria[0].key
    reject(question, "missing_key", f"{first} has no value", about=first, flags=flags)


def _reject_without_candidates(question: Question, scan: Scan) -> NoReturn:
    """Give up a reply in which no object names a criterion."""
    objects = [found.object for found in scan.objects]
    words = prose_of(question.text, scan)
    if scan.exhausted:
        reject(question, "invalid_json", "the reply holds too many members to be a verdict")
    if scan.open_thought:
        reason = "ambiguous" if scan.stray_key and not question.truncated else "truncated"
        reject(question, reason, "the reply ends while the judge was thinking")
    if is_markup(question.text) or not objects:
        reject_wordless(question, words, otherwise="invalid_json")
    if objects[-1].state == "cut":
        reject(question, "truncated", "the reply ends before its verdict does")
    complete = [node for node in objects if node.state == "complete"]
    if any(_has_number(node) for node in complete):
        first = question.criteria[0].key
        reject(question, "missing_key", f"no object of the reply holds {first}", about=first)
    reject_wordless(question, question.text, otherwise="missing_key" if complete else "invalid_json")


def _has_number(node: Object) -> bool:
    """Whether it judges something, though not by our criteria."""
    scalars = (member.value for member in node.members if isinstance(member.value, Scalar))
    return any(read_claim(scalar.text) is not None for scalar in scalars)


# --- the rest of the verdict --------------------------------------------------------------------


def _repairs(question: Question, scan: Scan, chosen: Candidate) -> list[str]:
    root = chosen.root
    repairs = ["thinking_removed"] if scan.thought else []
    before = question.text[max(0, root.start - 80) : root.start].rstrip()[-1:]
    after = question.text[root.end : root.end + 80].lstrip()[:1]
    if root.state == "complete" and before == "[" and after == "]":
        repairs.append("array_of_one")
    if root.state == "complete" and before == "{" and after == "}":
        repairs.append("double_braces")
    if root.state == "cut":
        repairs.append("closed_after_criteria")
    if root.state == "broken":
        repairs.append("unescaped_quotes")
    if chosen.wrapped:
        repairs.append("unwrapped")
    repairs.extend(root.repairs)
    repairs.extend(chosen.repairs)
    for reading in chosen.readings.values():
        repairs.extend(reading.repairs)
    return repairs


def _others(question: Question, chosen: Candidate) -> Iterator[Member]:
    """The members that are no criterion, of the object that holds the verdict and of the one around it."""
    for holder in (chosen.object, chosen.root) if chosen.wrapped else (chosen.root,):
        for member in holder.members:
            if question.keys.match(member.key) is None and member.value is not chosen.object:
                yield member


def _rationale(question: Question, chosen: Candidate) -> str:
    for member in _others(question, chosen):
        if fold_key(member.key) not in question.rationale_keys:
            continue
        value = member.value
        if isinstance(value, Scalar) and (member.ended or chosen.root.state == "cut"):
            return value.text
        if isinstance(value, Scalar):
            # Broken at a quotation mark: up to the last mark of the reply, which should be its end.
            end = question.text.rfind('"', value.end)
            return question.text[value.start : max(end, value.end)]
        return " ".join(question.text[value.start : value.end].split())
    return ""


def _claims(question: Question, chosen: Candidate) -> dict[str, Value | None]:
    """The other members; one given twice and differently says nothing, one that may be cut is left out."""
    claims: dict[str, Value | None] = {}
    for member in _others(question, chosen):
        if fold_key(member.key) in question.rationale_keys or not member.ended:
            continue
        claim = read_claim(member.value.text) if isinstance(member.value, Scalar) else None
        same = claims.get(member.key, claim) == claim
        claims[member.key] = claim if same else None
    return claims
