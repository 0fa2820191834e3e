"""The parser as a whole: the handed cases, properties over generated replies, time, and the Python API."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beholder.errors import ReplyError
from beholder.records import Criterion, Value, Verdict
from beholder.verdicts import is_refusal, is_truncated, parse_verdict

RUBRIC = (
    Criterion(key="legible", max=Decimal(20)),
    Criterion(key="colour", max=Decimal(1), type="float"),
    Criterion(key="layout", max=Decimal(10), allowed=(Decimal(0), Decimal(5), Decimal(10))),
    Criterion(key="signed", type="bool"),
)
STEPS = tuple(
    Criterion(key=key, max=Decimal(1), allowed=(Decimal(0), Decimal(1)))
    for key in ("SETUP", "RESULT", "CHECK")
)
GOOD = '{"legible": 14, "colour": 0.35, "layout": 5, "signed": true, "reason": "clear"}'
SCORES = {"legible": 14, "colour": Decimal("0.35"), "layout": 5, "signed": True}
LINES = "SETUP: 1\nRESULT: 0\nCHECK: 1\nEXPLANATION: sound"


def judged(text: str, criteria: tuple[Criterion, ...] = RUBRIC, **how: Any) -> Verdict | str:
    """The verdict, or the reason why there is none."""
    try:
        return parse_verdict(text, criteria, **how)
    except ReplyError as error:
        str(error).encode()  # whatever the reply holds, the message can be written
        return error.slug


# --- the handed cases ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "lines"])
def test_handed_replies_come_out_as_stated(shared: Path, form: str) -> None:
    """Every handed reply gives the outcome that stands beside it, or the other one where two are right."""
    cases = json.loads((shared / "cases" / "replies" / f"{form}.json").read_text("utf-8"))
    wrong = [case["id"] for case in cases if not _is_right(case)]
    assert len(cases) > 10
    assert wrong == []


def _is_right(case: dict[str, Any]) -> bool:
    criteria = tuple(_criterion(spec) for spec in case["criteria"])
    how = {"form": case["reply_format"], "stop_reason": case.get("stop_reason")}
    try:
        outcome: Verdict | ReplyError = parse_verdict(case["reply"], criteria, **how)
    except ReplyError as error:
        outcome = error
    wanted = [case["expect"], *([case["expect_alt"]] if case.get("debatable") else [])]
    return any(_meets(outcome, expect) for expect in wanted)


def _criterion(spec: dict[str, Any]) -> Criterion:
    allowed = spec.get("allowed")
    return Criterion(
        key=spec["key"],
        min=Decimal(str(spec["min"])),
        max=Decimal(str(spec["max"])),
        type=spec["type"],
        allowed=tuple(Decimal(str(step)) for step in allowed) if allowed else None,
    )


def _meets(outcome: Verdict | ReplyError, expect: dict[str, Any]) -> bool:
    if isinstance(outcome, ReplyError):
        reasons = [expect.get("reason"), *expect.get("reason_also_ok", [])]
        return outcome.slug in reasons and outcome.concerns == expect.get("about", outcome.concerns)
    if expect["outcome"] != "scored":
        return False
    told_elsewhere = {"total_mismatch", "pass_mismatch", "extra_keys"}
    same = all(
        isinstance(value, bool) == isinstance(outcome.scores[key], bool)
        and Decimal(str(value)) == Decimal(outcome.scores[key])
        if not isinstance(value, bool)
        else outcome.scores[key] is value
        for key, value in expect["scores"].items()
    )
    return same and set(expect.get("flags", [])) - told_elsewhere <= set(outcome.flags)


# --- properties ---------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8", exclude_characters='"\\'), max_size=40)
VERDICTS = st.fixed_dictionaries(
    {
        "legible": st.integers(0, 20),
        "colour": st.decimals(0, 1, places=3),
        "layout": st.sampled_from([0, 5, 10]),
        "signed": st.booleans(),
    }
)

Render = Callable[[dict[str, Value], str], str]


def _json(scores: dict[str, Value], words: str) -> str:
    members = [f'"{key}": {_plain(value)}' for key, value in scores.items()]
    return "{" + ", ".join([*members, f'"reason": {json.dumps(words)}']) + "}"


def _plain(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


WRAPPINGS: dict[str, Render] = {
    "bare": _json,
    "indented": lambda s, w: json.dumps(
        json.loads(_json(s, w), parse_float=str), indent=2, ensure_ascii=False
    ),
    "fenced": lambda s, w: f"```json\n{_json(s, w)}\n```",
    "in prose": lambda s, w: f"I gave 3 of 20 before. Now:\n{_json(s, w)}\nThat is 17 in all; it's done.",
    "after thinking": lambda s, w: f'<think>{{"legible": 1, "layout": 0}}?</think>\n{_json(s, w)}',
    "trailing comma": lambda s, w: _json(s, w)[:-1] + ",}",
    "words first": lambda s, w: (
        f'{{"reason": {json.dumps(w)}, ' + _json(s, "").replace(', "reason": ""', "")[1:]
    ),
    "quoted values": lambda s, w: json.dumps({**{k: _plain(v) for k, v in s.items()}, "reason": w}),
    "array of one": lambda s, w: f"[{_json(s, w)}]",
    "twice": lambda s, w: f"{_json(s, w)}\n{_json(s, 'again')}",
    "Python": lambda s, w: repr(
        {**{k: v if isinstance(v, int) else str(v) for k, v in s.items()}, "reason": "w"}
    ),
    "full-width": lambda s, w: _json(s, "").translate({ord(c): ord(c) + 0xFEE0 for c in "0123456789:,"}),
    "with an older one inside": lambda s, w: _json(s, w)[:-1] + f', "old": {GOOD}}}',
}


@given(VERDICTS, WORDS, st.sampled_from(sorted(WRAPPINGS)), st.randoms(use_true_random=False))
def test_what_was_rendered_is_what_is_parsed(
    scores: dict[str, Value], words: str, wrapping: str, order: random.Random
) -> None:
    """A verdict in any of many wrappings, its keys in any order, comes back as it was."""
    keys = list(scores)
    order.shuffle(keys)
    text = WRAPPINGS[wrapping]({key: scores[key] for key in keys}, words)
    verdict = parse_verdict(text, RUBRIC)
    assert verdict.scores == scores
    assert list(verdict.scores) == [criterion.key for criterion in RUBRIC]


@given(VERDICTS, WORDS, st.sampled_from(sorted(WRAPPINGS)), st.sampled_from([None, "max_tokens"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_cut_changes_a_score(
    scores: dict[str, Value], words: str, wrapping: str, stop_reason: str | None
) -> None:
    """A reply cut at any character gives its own scores or none, never others."""
    text = WRAPPINGS[wrapping](scores, words)
    for end in range(len(text)):
        outcome = judged(text[:end], stop_reason=stop_reason)
        assert isinstance(outcome, str) or outcome.scores == scores, text[:end]


@given(VERDICTS, WORDS, st.sampled_from(sorted(WRAPPINGS)), st.data())
@settings(max_examples=80, deadline=None)
def test_no_lost_mark_changes_a_score(
    scores: dict[str, Value], words: str, wrapping: str, data: st.DataObject
) -> None:
    """A reply that lost any one character that is no digit, sign or point gives its own scores or none."""
    text = WRAPPINGS[wrapping](scores, words)
    for _ in range(20):
        at = data.draw(st.integers(0, len(text) - 1))
        if text[at] not in "0123456789０１２３４５６７８９.-":
            outcome = judged(text[:at] + text[at + 1 :])
            assert isinstance(outcome, str) or outcome.scores == scores, (text, at)


MARKS = [
    *"{}[]\":,'\\#<>/*|;=-%() \n\t“”：，",
    *("//", "/*", "*/", "<think>", "```", "...", "null", '"x": ', "},"),
]


@given(VERDICTS, WORDS, st.sampled_from(sorted(WRAPPINGS)), st.data())
@settings(max_examples=80, deadline=None)
def test_no_stray_mark_changes_a_score(
    scores: dict[str, Value], words: str, wrapping: str, data: st.DataObject
) -> None:
    """A reply with any one mark too many, wherever it stands, gives its own scores or none."""
    text = WRAPPINGS[wrapping](scores, words)
    for _ in range(20):
        at = data.draw(st.integers(0, len(text)))
        spoiled = text[:at] + data.draw(st.sampled_from(MARKS)) + text[at:]
        outcome = judged(spoiled)
        assert isinstance(outcome, str) or outcome.scores == scores, spoiled


@given(VERDICTS, VERDICTS, st.sampled_from(sorted(WRAPPINGS)), st.sampled_from(sorted(WRAPPINGS)))
def test_two_verdicts_that_differ_are_never_one(
    first: dict[str, Value], second: dict[str, Value], one: str, other: str
) -> None:
    """Two verdicts in one reply give a score only if they are the same, whatever each is wrapped in."""
    text = WRAPPINGS[one](first, "a") + "\n\n" + WRAPPINGS[other](second, "b")
    outcome = judged(text)
    assert isinstance(outcome, str) or first == second, text


@given(
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
    st.permutations(range(3)),
    st.sampled_from(["- ", "", "**"]),
    st.booleans(),
)
def test_lines_in_any_order_are_read_alike(bits: list[int], order: list[int], mark: str, first: bool) -> None:
    """`KEY: value` lines come back as they were, in any order and with common marks."""
    keys = [criterion.key for criterion in STEPS]
    lines = [f"{mark}{key}: {bit}" for key, bit in zip(keys, bits, strict=True)] + [
        "EXPLANATION: it is 7, not 9"
    ]
    verdict = parse_verdict("\n".join(lines[i] for i in order), STEPS, form="lines")
    assert list(verdict.scores.values()) == bits


@given(st.lists(st.integers(0, 1), min_size=3, max_size=3), st.sampled_from([None, "length"]))
def test_no_cut_of_lines_changes_a_score(bits: list[int], stop_reason: str | None) -> None:
    """Lines cut at any character give their own scores or none."""
    keys = [criterion.key for criterion in STEPS]
    text = (
        "\n".join(f"{key}: {bit}" for key, bit in zip(keys, bits, strict=True))
        + "\nEXPLANATION: 7, not 9\nok"
    )
    for end in range(len(text)):
        outcome = judged(text[:end], STEPS, form="lines", stop_reason=stop_reason)
        assert isinstance(outcome, str) or list(outcome.scores.values()) == bits, text[:end]


PIECES = [
    *"{}[]\":,'\\/#*<>`|=-.…“”｛｝：，\n\r\t \u200b\ufeff\x00\ud83d0123456789",
    *(
        "legible",
        "colour",
        "layout",
        "signed",
        "reason",
        "SETUP",
        "RESULT",
        "CHECK",
        "EXPLANATION",
        "true",
        "null",
    ),
    *(
        "<think>",
        "</think>",
        "```",
        "//",
        "/*",
        "*/",
        '"legible": 14',
        "RESULT: 1\n",
        '{"legible": ',
        GOOD,
        LINES,
    ),
    *("sorry", "no image was provided", "<0 or 1>", "...", "1e999", "\\ud83d", "<|channel|>analysis", "NaN"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(["json", "lines"]))
@settings(max_examples=500)
def test_any_text_gives_a_verdict_or_a_reason(text: str, form: Any) -> None:
    """No text makes the parser raise anything but a ReplyError, and a score always lies on its scale."""
    criteria = RUBRIC if form == "json" else STEPS
    verdict = judged(text, criteria, form=form)
    if isinstance(verdict, str):
        return
    verdict.rationale.encode()
    for criterion in criteria:
        value = verdict.scores[criterion.key]
        assert criterion.min <= value <= criterion.max
        assert type(value) is {"int": int, "float": Decimal, "bool": bool}[criterion.type]


# --- time ---------------------------------------------------------------------------------------

UNITS = [
    *(
        "{",
        "[",
        '"',
        "'",
        "\\",
        '{"',
        '{"a',
        '{"a":',
        '{"a":1,',
        '{"a":1}',
        '{"a":{"a":1}',
        "[{",
        '{{"a":',
        "{a",
        "{a:",
    ),
    *(
        '{"legible":3}',
        '{"legible":',
        '{"legible"',
        '{"legible":3,',
        '"legible":3,',
        '{"legible":"8 or 9 of 10"}',
    ),
    *(
        "<think>",
        "</think>",
        "<think></think>",
        "<",
        "<|channel|>analysis",
        "//",
        "/*",
        "/*\n",
        "#",
        "{//",
        "{/*",
        "{/**/",
    ),
    *(
        "\n",
        "\r\n",
        "a: 1\n",
        "RESULT: 1\n",
        "RESULT: 1",
        "RESULT:\n",
        "RESULT: <0 or 1>\n",
        "RESULT: 0 → 1\n",
        "1. ",
    ),
    *(
        "EXPLANATION: x\n",
        "*",
        "｛",
        "“",
        "，",
        '{"a":[',
        "\\u0041",
        "...",
        "{...,",
        ",",
        "\x00",
        " ",
        "`",
        "no image ",
    ),
    *(
        "无",
        "I cannot ",
        "9",
        "0.",
        "-",
        "e\u0301",
        "{ ",
        '{ "',
        '{"a":"<think>',
        '{"legible":1 "legible":2 ',
        "a=",
        ": ",
    ),
]


@pytest.fixture(scope="module")
def a_second() -> float:
    """A second of processor time; of a slow machine as many as it needs for what others do in one."""
    start = time.process_time()
    for _ in range(500):
        judged(GOOD)
        judged(LINES, STEPS, form="lines")
    return max(1.0, 10 * (time.process_time() - start))


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_hostile_reply_takes_no_longer_than_an_honest_one(unit: str, a_second: float) -> None:
    """Any piece repeated, alone or beside and within a verdict, is read in well under a second."""
    hostile = unit * (150_000 // len(unit))
    for form, criteria, honest in (("json", RUBRIC, GOOD), ("lines", STEPS, LINES)):
        for text in (
            hostile,
            f"{hostile}\n{honest}",
            f"{honest}\n{hostile}",
            honest.replace("clear", hostile),
        ):
            start = time.process_time()
            judged(text, criteria, form=form)
            assert time.process_time() - start < a_second, (form, text[:20])


def test_twice_the_text_takes_no_more_than_about_twice_the_time() -> None:
    """Time grows with the length, not with its square: doubling the worst pieces doubles it."""
    for unit in ('{"a":', '{"', "</think>", "RESULT: 1\n", "<"):
        short, long = (_seconds(unit * (size // len(unit))) for size in (100_000, 400_000))
        assert long < 12 * short + 0.05, unit


def _seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        judged(text, STEPS, form="lines")
        return time.process_time() - start

    return min(once() for _ in range(2))


def test_a_long_explanation_is_no_obstacle() -> None:
    """A megabyte of words in the reply is read, and kept."""
    verdict = parse_verdict(GOOD.replace("clear", "so " * 350_000), RUBRIC)
    assert verdict.scores == SCORES
    assert len(verdict.rationale) == 1_050_000


# --- what comes with the scores -----------------------------------------------------------------


def test_claims_are_the_other_members() -> None:
    """The judge's totals are passed on as numbers and truth values, what cannot be read as None."""
    more = (
        ', "total": "19", "share": 0.475, "pass": "TRUE", "grade": "B", "notes": [1], "n": null, "x": 86.0}'
    )
    claims = parse_verdict(GOOD.replace("}", more), RUBRIC).claims
    readable = {"total": 19, "share": Decimal("0.475"), "pass": True, "x": 86}
    assert claims == {**readable, "grade": None, "notes": None, "n": None}
    assert claims["pass"] is True
    assert isinstance(claims["total"], int)


def test_claims_that_contradict_each_other_say_nothing() -> None:
    """A total given twice and differently is None; given twice alike, it is that."""
    text = GOOD.replace("}", ', "total": 19, "total": 20, "sum": 3, "sum": 3.0}')
    assert parse_verdict(text, RUBRIC).claims == {"total": None, "sum": 3}


def test_a_claim_that_may_be_cut_is_left_out() -> None:
    """A total that the cap cut within its digits is not passed on."""
    text = GOOD.replace('"reason": "clear"}', '"share": 0.475, "total": 1')
    assert parse_verdict(text, RUBRIC, stop_reason="length").claims == {"share": Decimal("0.475")}


def test_lines_have_claims_too() -> None:
    """`NAME: number` lines beside the criteria are claims, sentences are not."""
    verdict = parse_verdict(f"Verdict: as follows\nTOTAL: 2\n{LINES}\nnote: 3", STEPS, form="lines")
    assert verdict.claims == {"TOTAL": 2}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"two\\nlines"', "two\nlines"),
        ('"icon \\ud83d cut"', "icon \ufffd cut"),
        ('"pair \\ud83d\\ude00"', "pair 😀"),
        ('["a",  "b"]', '["a", "b"]'),
        ('{"why":\n "x"}', '{"why": "x"}'),
        ("12", "12"),
        ("null", "null"),
    ],
)
def test_rationale_is_writable_text(written: str, read: str) -> None:
    """The judge's words come as text that UTF-8 can hold; another type as it was written, in one line."""
    assert parse_verdict(GOOD.replace('"clear"', written), RUBRIC).rationale == read


def test_rationale_of_a_cut_or_damaged_reply_is_what_is_there() -> None:
    """Words that were cut, or hold a bare quotation mark, are kept as far as they go."""
    assert parse_verdict(GOOD[:-4], RUBRIC).rationale == "cle"
    assert parse_verdict(GOOD.replace("clear", 'the "A" sign'), RUBRIC).rationale == 'the "A" sign'


def test_rationale_key_is_the_protocols() -> None:
    """Another key may hold the words; it is then no claim."""
    verdict = parse_verdict(GOOD.replace("reason", "why"), RUBRIC, rationale_key="why")
    assert (verdict.rationale, verdict.claims) == ("clear", {})


def test_rationale_of_lines_is_everything_behind_its_key() -> None:
    """An explanation of several lines is kept whole, lines about criteria included."""
    text = LINES + "\nRESULT: It gives 7.\n\nDone."
    assert parse_verdict(text, STEPS, form="lines").rationale == "sound\nRESULT: It gives 7.\n\nDone."


@pytest.mark.parametrize(
    "words",
    [
        "No image was provided, so everything is zero.",
        "I did not receive any attachment",
        "The screenshot could not be loaded; I cannot see the image.",
        "没有收到任何图片",
        "图片无法查看，按零分处理",
        "이미지가 제공되지 않아 평가할 수 없음",
        "첨부 파일을 확인할 수 없습니다",
        "画像が添付されていません",
        "No se recibió ninguna imagen",
        "Aucune image n'a été fournie",
        "Es wurde kein Bild bereitgestellt",
    ],
)
def test_a_claim_that_nothing_came_is_flagged(words: str) -> None:
    """Zeros whose words say that no picture arrived must not pass in silence."""
    assert "judge_claims_no_evidence" in parse_verdict(GOOD.replace("clear", words), RUBRIC).flags
    assert "judge_claims_no_evidence" in parse_verdict(f"{words}\n{GOOD}", RUBRIC).flags


@pytest.mark.parametrize(
    "words",
    [
        "The page is blank.",
        "页面空白，没有内容",
        "빈 페이지이며 범례가 없음",
        "The map has no image in its legend.",
        "白紙のページ",
        "La página está en blanco",
        "Die Seite ist leer",
        "No title, no legend; the picture is sharp.",
    ],
)
def test_a_blank_page_is_a_judgement(words: str) -> None:
    """Saying that there is little to see does not say that nothing came."""
    assert "judge_claims_no_evidence" not in parse_verdict(GOOD.replace("clear", words), RUBRIC).flags


def test_an_error_carries_what_was_noticed() -> None:
    """A reply that cannot be used comes back verbatim, with reason, criterion, flags and repairs."""
    reply = "No file was attached.\n" + GOOD.replace("14,", "99,").replace('"clear"}', '"clear",}')
    with pytest.raises(ReplyError, match="legible") as caught:
        parse_verdict(reply, RUBRIC)
    error = caught.value
    assert (error.slug, error.concerns, error.reply) == ("out_of_range", "legible", reply)
    assert error.flags == ("judge_claims_no_evidence",)
    assert error.repairs == ("trailing_comma",)


# --- the API ------------------------------------------------------------------------------------


CAPPED = "max_tokens MAX_TOKENS length model_length model_context_window_exceeded incomplete pause_turn "
CAPPED += "FinishReason.MAX_TOKENS FINISH_REASON_MAX_TOKENS incomplete:max_output_tokens"
FILTERED = "refusal content_filter SAFETY PROHIBITED_CONTENT RECITATION BLOCKLIST SPII sensitive "
FILTERED += "FinishReason.SAFETY incomplete:content_filter guardrail_intervened"


@pytest.mark.parametrize("word", CAPPED.split())
def test_words_for_a_cap(word: str) -> None:
    """Every vendor's word for an answer that was stopped early is known, whatever its case."""
    assert is_truncated(word)
    assert not is_refusal(word)


@pytest.mark.parametrize("word", FILTERED.split())
def test_words_for_a_refusal(word: str) -> None:
    """Every vendor's word for a refused or filtered answer is known, whatever its case."""
    assert is_refusal(word)
    assert not is_truncated(word)


@pytest.mark.parametrize(
    "word", [None, "", "end_turn", "stop", "STOP", "eos", "stop_sequence", "tool_use", "new"]
)
def test_words_for_an_ordinary_end(word: str | None) -> None:
    """An ordinary end, and a word never heard of, is neither a cap nor a refusal."""
    assert not is_truncated(word)
    assert not is_refusal(word)


def test_misuse_is_no_reply_error() -> None:
    """No criteria, two of one key, or an unknown form is the caller's mistake."""
    for criteria, form in (((), "json"), ((RUBRIC[0], RUBRIC[0]), "json"), (RUBRIC, "yaml")):
        with pytest.raises(ValueError):
            parse_verdict(GOOD, criteria, form=form)  # type: ignore[arg-type]  # that is the point
