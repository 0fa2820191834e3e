"""Replies that should hold `KEY: value` lines.

| a line | counts as |
| --- | --- |
| `KEY: 1`, `- **key**: <1>`, `3. KEY： １`, `KEY = 1.` | the value of KEY, without marks |
| `KEY: 1 - the steps agree` | the value, if no other number or change of mind follows |
| `KEY: 1, OTHER: 0` and nothing else on the line | the values |
| `KEY:` and a bare value on the next line | the value |
| `KEY: <0 or 1>` | the answer format's blank: nothing |
| `KEY: It gets 12 …` beside a value given elsewhere | words about KEY, not a value |
| `KEY: 1` within the words, where other keys had their values before | `ambiguous`: it may be quoted |
| `KEY: 0 → 1`, `KEY: 1/2 = 0.5`, a second, other value | a contradiction: `ambiguous` |
| `PARTIAL_KEY: 1` | another key: a claim, never KEY |

A line ends at LF, CR or CRLF and nowhere else: other separators may be part of text the judge quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NoReturn

from beholder.records import Criterion, Value, Verdict
from beholder.verdicts.candidates import Candidate, find_candidates
from beholder.verdicts.json_form import decide, prose_of
from beholder.verdicts.keys import BLANKS, fold_key
from beholder.verdicts.replies import Question, accept, reject, reject_wordless
from beholder.verdicts.scan import scan_reply
from beholder.verdicts.thoughts import MAX_TAGS, TAG, end_of_thought, tag_kind
from beholder.verdicts.values import (
    Reading,
    numerals_on_scale,
    read_claim,
    read_line_value,
    read_number,
    read_value,
    strip_marks,
)

_MAX_KEY_LINES = 10_000
_MAX_MENTIONS = 1_000

_KEY_LINE = re.compile(r"^([^\n:：=]{0,200}+)([:：=])(.*+)", re.MULTILINE)
_MARKS_BEFORE = re.compile(r"(?:[\s>*+•·‣▪●#`\"'“|\[\-–—]|__|\(?[0-9]{1,3}[.)．、](?![0-9]))*+")
_MARKS_AFTER = "*_`\"'”]) \t"
_IDENTIFIER = re.compile(r"[^\W\d]\w{0,60}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LEADING_NUMERAL = re.compile(r"[+-]?[0-9.]*[0-9]")


@dataclass(frozen=True, slots=True)
class _Mention:
    """One place where a line gives, or seems to give, a criterion's value.

    Attributes:
        ended: The line was finished, so that its value cannot have been cut.
        explaining: It stands after the key of the judge's words.
    """

    reading: Reading
    body: str
    ended: bool
    explaining: bool
    repairs: tuple[str, ...]


@dataclass(slots=True)
class _Notes:
    """What was gathered from the lines, in order."""

    mentions: dict[str, list[_Mention]] = field(default_factory=dict)
    explanation: list[str] = field(default_factory=list)
    claims: dict[str, Value | None] = field(default_factory=dict)
    echo: bool = False
    exhausted: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reply is flagged with even if it cannot be used."""
        return ("template_echo",) if self.echo else ()

    @property
    def answered_first(self) -> bool:
        """Whether some criterion got its value before the judge's words began."""
        mentions = [mention for several in self.mentions.values() for mention in several]
        return any(mention.reading.value is not None and not mention.explaining for mention in mentions)


def parse_lines_reply(question: Question) -> Verdict:
    """Read a reply in lines form; a JSON object with the agreed keys and values is taken as well.

    Raises:
        ReplyError: It holds no verdict that can be used.
    """
    scan = scan_reply(question.text, question.keys)
    candidates = find_candidates(scan, question)
    if candidates and not _gather(prose_of(question.text, scan), question).mentions:
        return _as_repaired(decide(question, scan, candidates), "json_for_lines")
    text, thought, open_thought = _without_thoughts(question)
    separate = _one_per_line(text, question)
    notes = _gather(separate, question)
    flags = notes.flags
    if notes.exhausted or scan.exhausted:
        reject(question, "invalid_json", "the reply holds too much to be one verdict", flags=flags)
    if not notes.mentions:
        if open_thought:
            reject(question, "truncated", "the reply ends while the judge was thinking", flags=flags)
        reject_wordless(question, text, otherwise="missing_key", flags=flags)
    chosen = {criterion.key: _settle(question, criterion, notes, text) for criterion in question.criteria}
    _check_objects(question, chosen, candidates, flags)
    repairs = ["thinking_removed"] if thought else []
    if separate != text:
        repairs.append("one_line")
    for mention in chosen.values():
        repairs.extend((*mention.repairs, *mention.reading.repairs))
    return accept(
        question,
        {key: mention.reading.value for key, mention in chosen.items() if mention.reading.value is not None},
        rationale="\n".join(notes.explanation).strip(BLANKS + "`"),
        around=text,
        claims=notes.claims,
        repairs=repairs,
        template_echo=notes.echo,
        cut=False,
    )


def _as_repaired(verdict: Verdict, code: str) -> Verdict:
    flags = tuple(dict.fromkeys(("repaired", *verdict.flags)))
    return replace(verdict, flags=flags, repairs=(*verdict.repairs, code))


# --- gathering ----------------------------------------------------------------------------------


def _without_thoughts(question: Question) -> tuple[str, bool, bool]:
    """The text with LF line ends and no thinking; whether there was some; whether it did not end."""
    text = question.text.replace("\r\n", "\n").replace("\r", "\n")
    kept: list[str] = []
    pos = searched = 0
    thought = False
    words_begin: int | None = None
    for _ in range(MAX_TAGS):
        tag = TAG.search(text, searched)
        if tag is None:
            kept.append(text[pos:])
            return "\n".join(kept), thought, False
        searched = tag.end()
        kind = tag_kind(tag)
        if kind is None or tag.start() < pos:
            continue
        family, opens = kind
        if not opens:
            if words_begin is None:
                words_begin = _first_explanation(text, question)
            if tag.start() > words_begin and _is_within_a_line(text, tag):
                continue
            thought, kept, pos = True, [], tag.end()
            continue
        thought = True
        kept.append(text[pos : tag.start()])
        end = end_of_thought(text, tag, family)
        if end is None:
            return "\n".join(kept), True, True
        pos = searched = end
    return "", True, True


def _one_per_line(text: str, question: Question) -> str:
    """The text with lines that hold nothing but several `KEY: value` pairs taken apart."""
    names = "|".join(re.escape(key) for key in question.keys.exact)
    pair = rf"(?:{names})[ \t]*+[:：][ \t]*+[^\s,;|，；:：]++"
    line = re.compile(
        rf"^[ \t]*+{pair}(?:[ \t]*+[,;|，；]?[ \t]*+{pair})++[ \t.]*+$", re.IGNORECASE | re.MULTILINE
    )
    pairs = re.compile(pair, re.IGNORECASE)
    return line.sub(lambda whole: "\n".join(pairs.findall(whole[0])), text)


def _first_explanation(text: str, question: Question) -> int:
    """Where the judge's words begin; behind the text if they do not."""
    for line in islice(_KEY_LINE.finditer(text), _MAX_KEY_LINES):
        if fold_key(_key_of(line[1])) in question.rationale_keys:
            return line.start()
    return len(text)


def _is_within_a_line(text: str, tag: re.Match[str]) -> bool:
    """Whether words stand before and after the tag on its line: it is spoken of, not used."""
    before = text[max(0, tag.start() - 80) : tag.start()].rpartition("\n")[2]
    after = text[tag.end() : tag.end() + 80].partition("\n")[0]
    return bool(before.strip() and after.strip())


def _key_of(head: str) -> str:
    """What stands before a separator, without list marks, numbering and Markdown."""
    marks = _MARKS_BEFORE.match(head)
    start = marks.end() if marks else 0
    return head[start:].rstrip(_MARKS_AFTER).replace("\\_", "_")


def _gather(text: str, question: Question) -> _Notes:
    """Every line that names a criterion, the judge's words, and other `KEY: number` lines."""
    criteria = {criterion.key: criterion for criterion in question.criteria}
    notes = _Notes()
    words_from: int | None = None
    for count, line in enumerate(_KEY_LINE.finditer(text)):
        key = _key_of(line[1])
        name = question.keys.match(key)
        if count >= _MAX_KEY_LINES or len(notes.mentions.get(name or "", ())) >= _MAX_MENTIONS:
            notes.exhausted = True
            break
        if name is None:
            if fold_key(key) in question.rationale_keys:
                if words_from is not None:
                    notes.explanation.append(text[words_from : line.start()].strip(BLANKS))
                words_from = line.start(3)
            elif words_from is None and _IDENTIFIER.fullmatch(key):
                _note_claim(notes, key, line[3])
            continue
        mention, end = _mention(text, line, key, criteria[name], explaining=words_from is not None)
        if mention.reading.placeholder:
            notes.echo = True
        elif mention.body or mention.reading.value is not None:
            notes.mentions.setdefault(name, []).append(mention)
        if words_from is not None and mention.reading.value is not None:
            notes.explanation.append(text[words_from : line.start()].strip(BLANKS))
            words_from = end
    if words_from is not None:
        notes.explanation.append(text[words_from:].strip(BLANKS))
    return notes


def _mention(
    text: str, line: re.Match[str], key: str, criterion: Criterion, *, explaining: bool
) -> tuple[_Mention, int]:
    """What the line gives for the criterion, and where that ends: a bare key is answered by the next line."""
    repairs = [] if line[1].strip() == key else ["line_marks"]
    if key != criterion.key:
        repairs.append("key_form")
    if line[2] != ":":
        repairs.append("full_width" if line[2] == "：" else "equals_sign")
    end = line.end()
    body = strip_marks(line[3], criterion)
    reading = read_line_value(line[3], criterion)
    if not body:
        next_line = _line_at(text, end + 1)
        below = read_value(strip_marks(next_line, criterion), criterion, quoted=False)
        if below.value is not None:
            reading, end = below, end + 1 + len(next_line)
            repairs.append("value_on_next_line")
    return _Mention(reading, body, end < len(text), explaining, tuple(repairs)), end


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def _note_claim(notes: _Notes, key: str, rest: str) -> None:
    claim = read_claim(rest.strip(BLANKS + "*_`|"))
    if claim is not None:
        notes.claims[key] = claim if notes.claims.get(key, claim) == claim else None


# --- settling -----------------------------------------------------------------------------------


def _settle(question: Question, criterion: Criterion, notes: _Notes, text: str) -> _Mention:
    """The mention that gives the criterion's value, if all that speak of it agree.

    Raises:
        ReplyError: There is none, they contradict each other, or it may have been cut.
    """
    key, flags = criterion.key, notes.flags
    mentions = notes.mentions.get(key, [])
    values = [mention for mention in mentions if mention.reading.value is not None]
    given = {mention.reading.value for mention in values}
    problems = [
        mention
        for mention in mentions
        if mention.reading.value is None and not _is_words(mention, given, criterion)
    ]
    if len(given) > 1 or (values and problems):
        reject(question, "ambiguous", f"the reply gives {key} different values", about=key, flags=flags)
    if not values:
        _reject_without_value(question, key, problems or mentions, text, flags)
    if notes.answered_first and all(mention.explaining for mention in values):
        message = f"{key} has a value only within the judge's words, which may quote it"
        reject(question, "ambiguous", message, about=key, flags=flags)
    if question.truncated and not any(mention.ended for mention in values):
        reject(question, "truncated", f"the reply ends at {key}, which may be cut", about=key, flags=flags)
    return values[0]


def _reject_without_value(
    question: Question, key: str, problems: list[_Mention], text: str, flags: tuple[str, ...]
) -> NoReturn:
    """Give up a reply in which no line gives the criterion a value."""
    last = text[text.rfind("\n") + 1 :]
    cut = question.truncated or (":" not in last[:200] and question.keys.may_begin(_key_of(last[:200])))
    asked_before = [mention for mention in problems if not mention.explaining]
    if cut and not asked_before:
        reject(question, "truncated", f"the reply ends before {key}", about=key, flags=flags)
    if not asked_before:
        reject(question, "missing_key", f"no line gives {key}", about=key, flags=flags)
    reading = asked_before[0].reading
    reason = reading.reason if len(asked_before) == 1 else "ambiguous"
    message = f"{key}: {reading.text or 'nothing'} is no value of it"
    reject(question, reason or "out_of_range", message, about=key, flags=flags)


def _is_words(mention: _Mention, given: set[Value | None], criterion: Criterion) -> bool:
    """Whether an unreadable mention is words about the criterion and no other value for it."""
    body = mention.body
    numeral = _LEADING_NUMERAL.match(body)
    if mention.explaining:
        if read_number(body) is not None:
            return False
        leads = bool(numeral and numerals_on_scale(numeral[0], criterion))
        return not leads or numerals_on_scale(body, criterion) <= given
    is_sentence = len(body.split()) >= 3 or len(_CJK.findall(body)) >= 4
    return is_sentence and not numeral and numerals_on_scale(body, criterion) <= given


def _check_objects(
    question: Question, chosen: dict[str, _Mention], candidates: list[Candidate], flags: tuple[str, ...]
) -> None:
    """Objects beside the lines must not say anything else."""
    for candidate in candidates:
        if candidate.is_template:
            continue
        for key, reading in candidate.readings.items():
            if reading.identity != chosen[key].reading.identity:
                message = f"the reply gives {key} different values"
                reject(question, "ambiguous", message, about=key, flags=flags)
        if candidate.root.state != "complete":
            reject(question, "ambiguous", "a verdict and an unfinished one stand in the reply", flags=flags)
