"""Replies of every kind that judges send, each with what it is worth: the parser's rules as tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from beholder.errors import ReplyError
from beholder.records import Criterion, ReplyForm, Verdict
from beholder.verdicts import parse_verdict

POSTER = (
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
OTHER = GOOD.replace("14", "3")
SCORES = (14, Decimal("0.35"), 5, True)
LINES = "SETUP: 1\nRESULT: 0\nCHECK: 1\nEXPLANATION: sound"
BITS = (1, 0, 1)


class Case(NamedTuple):
    """A reply and what it is worth: scores, or the reason why it has none."""

    name: str
    reply: str
    want: tuple[Any, ...] | str
    about: str | None = None
    stop: str | None = None
    flags: tuple[str, ...] = ()
    repairs: tuple[str, ...] | None = None


def with_(key: str, written: str) -> str:
    """The good reply with one value written differently."""
    old = {"legible": "14", "colour": "0.35", "layout": "5,", "signed": "true"}[key]
    return GOOD.replace(f'"{key}": {old}', f'"{key}": {written}' + ("," if key == "layout" else ""))


R = ("repaired",)

AROUND = [
    Case("bare", GOOD, SCORES, repairs=()),
    Case("fenced", f"```json\n{GOOD}\n```", SCORES, repairs=()),
    Case("fence never closed", f"```json\n{GOOD}", SCORES, repairs=()),
    Case("tilde fence", f"~~~\n{GOOD}\n~~~", SCORES, repairs=()),
    Case("prose on both sides", f"Here you are:\n{GOOD}\n9 of 10 people agree.", SCORES, repairs=()),
    Case("byte order mark", "\ufeff" + GOOD, SCORES, repairs=()),
    Case("CRLF", GOOD.replace(", ", ",\r\n"), SCORES, repairs=()),
    Case(
        "order of keys", '{"reason": "x", "signed": true, "layout": 5, "colour": 0.35, "legible": 14}', SCORES
    ),
    Case("XML-like answer tag", f"<answer>{GOOD}</answer>", SCORES, repairs=()),
    Case("an assignment", f"const verdict = {GOOD};", SCORES),
    Case("a full stop behind", f"My verdict is {GOOD}.", SCORES, repairs=()),
    Case("a comma and prose behind", f"{GOOD}, 9 of 10 agree", "ambiguous"),
    Case("braces in prose", f"The set {{a, b}} and f{{x}} and {{1, 2}} do not matter.\n{GOOD}", SCORES),
    Case("LaTeX in prose", f"With $\\frac{{a}}{{b}}$ in view: {GOOD}", SCORES),
    Case("code in prose", f"`if (x) {{ return 1; }}` aside:\n{GOOD}", SCORES),
    Case("a foreign object before", f'Meta: {{"model": "m", "n": 3}}\n{GOOD}', SCORES),
    Case("a foreign object behind", f'{GOOD}\n{{"tokens": 80}}', SCORES),
    Case("a foreign object cut behind", f'{GOOD}\n{{"tokens": 8', SCORES),
    Case("apostrophes and quotes in prose", f"It's 5\" wide, isn't it? {GOOD} That's \"it\".", SCORES),
    Case("array of one", f"[{GOOD}]", SCORES, flags=R, repairs=("array_of_one",)),
    Case("doubled braces", "{" + GOOD + "}", SCORES, flags=R, repairs=("double_braces",)),
    Case(
        "wrapped under a plain name",
        f'{{"scores": {GOOD}, "total": 3}}',
        SCORES,
        flags=R,
        repairs=("unwrapped",),
    ),
    Case(
        "wrapped, with the words outside",
        '{"evaluation": {"legible": 14, "colour": 0.35, "layout": 5, "signed": true}, "reason": "x"}',
        SCORES,
        flags=R,
    ),
    Case("wrapped under another's name", f'{{"previous_run": {GOOD}}}', "missing_key", about="legible"),
    Case("wrapped twice", f'{{"result": {{"scores": {GOOD}}}}}', "missing_key"),
    Case("two wrapped that differ", f'{{"scores": {GOOD}, "result": {OTHER}}}', "ambiguous", about="legible"),
    Case("wrapped beside, and another", GOOD[:-1] + f', "scores": {OTHER}}}', "ambiguous", about="legible"),
    Case("wrapped beside, and the same", GOOD[:-1] + f', "scores": {GOOD}}}', SCORES),
    Case(
        "words on each criterion beside",
        GOOD[:-1] + ', "assessment": {"legible": "large type", "layout": "even"}}',
        SCORES,
    ),
    Case("an earlier one told beside", GOOD[:-1] + f', "metadata": {{"previous_run": {OTHER}}}}}', SCORES),
    Case(
        "half wrapped",
        '{"legible": 14, "more": {"colour": 0.35, "layout": 5, "signed": true}}',
        "missing_key",
    ),
    Case("an envelope with a string", '{"text": "{\\"legible\\": 14}"}', "missing_key"),
]

SPELLING = [
    Case(
        "trailing comma", GOOD.replace('"clear"}', '"clear",}'), SCORES, flags=R, repairs=("trailing_comma",)
    ),
    Case("doubled comma", GOOD.replace("14,", "14,,"), SCORES, flags=R, repairs=("extra_comma",)),
    Case("missing comma", GOOD.replace("14,", "14"), SCORES, flags=R, repairs=("missing_comma",)),
    Case("missing comma after a truth value", GOOD.replace("true,", "true"), SCORES, flags=R),
    Case("missing comma at a line's end", GOOD.replace(", ", ",\n").replace("5,\n", "5\n"), SCORES, flags=R),
    Case("missing comma after words", f'{{"reason": "x"\n{GOOD[1:]}', SCORES, flags=R),
    Case("line comment", GOOD.replace("14,", "14, // of 20\n"), SCORES, flags=R, repairs=("comment",)),
    Case(
        "comment before the comma",
        GOOD.replace("14,", "14 /* fine */,"),
        SCORES,
        flags=R,
        repairs=("comment",),
    ),
    Case("hash comment", GOOD.replace("14,", "14, # good\n"), SCORES, flags=R, repairs=("comment",)),
    Case("slashes in words", GOOD.replace("clear", "http://a.b//c # d /* e"), SCORES, repairs=()),
    Case(
        "Python",
        GOOD.replace('"', "'").replace("true", "True"),
        SCORES,
        flags=R,
        repairs=("single_quotes", "python_literals"),
    ),
    Case(
        "typographic quotes", "{“legible”: 14, “colour”: 0.35, “layout”: 5, “signed”: true}", SCORES, flags=R
    ),
    Case("names without quotes", "{legible: 14, colour: 0.35, layout: 5, signed: true}", SCORES, flags=R),
    Case("full-width punctuation", GOOD.replace(": ", "：").replace(", ", "，"), SCORES, flags=R),
    Case("full-width braces", f"｛{GOOD[1:-1]}｝", SCORES, flags=R),
    Case(
        "raw line break in words",
        GOOD.replace("clear", "a\nb"),
        SCORES,
        flags=R,
        repairs=("control_character",),
    ),
    Case("unknown escape in words", GOOD.replace("clear", r"a\_b"), SCORES, flags=R, repairs=("odd_escape",)),
    Case("known escapes in words", GOOD.replace("clear", r"\"a\" \\ \u00e9 \n"), SCORES, repairs=()),
    Case("escaped name", GOOD.replace("legible", r"legibl\u0065"), SCORES),
    Case("ellipsis for the rest", GOOD.replace(', "reason": "clear"', ", ..."), SCORES, flags=R),
    Case(
        "another case of a name", GOOD.replace("legible", "Legible"), SCORES, flags=R, repairs=("key_form",)
    ),
    Case(
        "blanks in a name", GOOD.replace('"legible"', '" legible "'), SCORES, flags=R, repairs=("key_form",)
    ),
    Case("full-width name", GOOD.replace("legible", "ｌｅｇｉｂｌｅ"), SCORES, flags=R),
    Case("a translated name", GOOD.replace("legible", "lisible"), "missing_key", about="legible"),
    Case("a longer name", GOOD.replace('"legible"', '"not_legible"'), "missing_key", about="legible"),
    Case(
        "a look-alike letter in a name",
        GOOD.replace('"legible"', '"lеgible"'),
        "missing_key",
        about="legible",
    ),
    Case("missing colon", GOOD.replace('"legible":', '"legible"'), "invalid_json"),
    Case("semicolons", GOOD.replace(",", ";"), "out_of_range"),
    Case("names in lines", "legible: 14\ncolour: 0.35\nlayout: 5\nsigned: true", "invalid_json"),
    Case("a table", "| legible | colour |\n|---|---|\n| 14 | 0.35 |", "invalid_json"),
    Case("unescaped quotes last", GOOD.replace("clear", 'the "Sale" sign'), SCORES, flags=R),
    Case(
        "unescaped quotes in the middle", GOOD.replace("clear", 'a "b", c').replace("}", ', "n": 1}'), SCORES
    ),
    Case(
        "unescaped quotes first",
        GOOD.replace("{", '{"note": "the "Sale" sign", '),
        "invalid_json",
    ),
    Case("a name in unescaped quotes", GOOD.replace("clear", 'it says "legible": 2'), "invalid_json"),
    Case("a verdict in unescaped quotes", GOOD.replace("clear", f'it says "x" {OTHER}'), "ambiguous"),
    Case(
        "a verdict in words that broke first",
        f'{{"reason": "sign "x" {OTHER} there", "legible": 14, "colour": 0.35}}',
        "ambiguous",
    ),
    Case("a verdict in words that broke, alone", f'{{"reason": "sign "x" {OTHER}"', "ambiguous"),
    Case("an older verdict in an object without its brace", f'{GOOD[1:-1]}, "old": {OTHER}}}', "ambiguous"),
    Case("a deep list", GOOD.replace('"clear"', "[" * 100_000 + "]" * 100_000), "invalid_json"),
    Case("a fairly deep list", GOOD.replace('"clear"', "[" * 50_000 + "]" * 50_000), SCORES),
    Case("a closing brace too early", GOOD.replace("0.35", "0.3}5"), "ambiguous"),
    Case("a closing brace too early, comma", GOOD.replace("true,", "true},"), "ambiguous"),
    Case("a name within a number", GOOD.replace("14,", '1"x": 4,'), "invalid_json"),
    Case("no opening brace", GOOD[1:], "invalid_json"),
    Case("broken between criteria", GOOD.replace("0.35,", "0.35 5 [,"), "invalid_json"),
]

NUMBERS = [
    Case("equal number", with_("legible", "14.0"), SCORES, repairs=()),
    Case("exponent", with_("legible", "1.4e1"), SCORES, repairs=()),
    Case("quoted", with_("legible", '"14"'), SCORES, flags=R, repairs=("quoted_number",)),
    Case("quoted with blanks", with_("legible", '" 14 "'), SCORES, flags=R, repairs=("quoted_number",)),
    Case("quoted equal number", with_("legible", '"14.00"'), SCORES, flags=R),
    Case("full-width digits", with_("legible", "１４"), SCORES, flags=R, repairs=("full_width",)),
    Case("full-width decimal", with_("colour", '"０．３５"'), SCORES, flags=R),
    Case("leading point", with_("colour", ".35"), SCORES, flags=R, repairs=("leading_dot",)),
    Case("plus sign", with_("legible", "+14"), SCORES, flags=R, repairs=("plus_sign",)),
    Case("share of the maximum", with_("legible", '"14/20"'), SCORES, flags=R),
    Case("share of the maximum, bare", with_("legible", "14 / 20"), SCORES, flags=R),
    Case("negative zero", with_("colour", "-0.0"), (14, Decimal(0), 5, True), repairs=()),
    Case("whole number on a float", with_("colour", "1"), (14, Decimal(1), 5, True), repairs=()),
    Case("share of something else", with_("legible", '"14/50"'), "ambiguous", about="legible"),
    Case("share of one", with_("colour", '"0.35/1"'), "ambiguous", about="colour"),
    Case("range", with_("legible", '"12-14"'), "ambiguous", about="legible"),
    Case("range, bare", with_("legible", "12-14"), "ambiguous", about="legible"),
    Case("decimal comma, quoted", with_("colour", '"0,35"'), "ambiguous", about="colour"),
    Case("decimal comma, bare", with_("colour", "0,35"), "invalid_json"),
    Case("full-width decimal comma", with_("colour", "0，35"), "invalid_json"),
    Case("leading zero", with_("legible", "014"), "ambiguous", about="legible"),
    Case("point without digits", with_("legible", "14."), "ambiguous", about="legible"),
    Case("change of mind", with_("legible", '"12 -> 14"'), "ambiguous", about="legible"),
    Case("two choices", with_("layout", '"5 or 10"'), "ambiguous", about="layout"),
    Case("thousands mark", with_("legible", '"1_4"'), "ambiguous", about="legible"),
    Case("hexadecimal", with_("legible", '"0xE"'), "out_of_range", about="legible"),
    Case("percentage", with_("colour", '"35%"'), "out_of_range", about="colour"),
    Case("percentage, bare", with_("colour", "35%"), "out_of_range", about="colour"),
    Case("about", with_("legible", '"~14"'), "out_of_range", about="legible"),
    Case("a unit", with_("legible", '"14 points"'), "out_of_range", about="legible"),
    Case("a unit in Korean", with_("legible", '"14점"'), "out_of_range", about="legible"),
    Case("a word", with_("legible", '"good"'), "out_of_range", about="legible"),
    Case("a number word", with_("legible", '"fourteen"'), "out_of_range", about="legible"),
    Case("a bare word", with_("legible", "good"), "out_of_range", about="legible"),
    Case("fraction on int", with_("legible", "14.5"), "out_of_range", about="legible"),
    Case("below", with_("legible", "-1"), "out_of_range", about="legible"),
    Case("above", with_("legible", "21"), "out_of_range", about="legible"),
    Case("between steps", with_("layout", "7"), "out_of_range", about="layout"),
    Case("other scale", with_("colour", "35"), "out_of_range", about="colour"),
    Case("just above", with_("colour", "1.0000000000000000000001"), "out_of_range", about="colour"),
    Case("not a number", with_("colour", "NaN"), "out_of_range", about="colour"),
    Case("infinity", with_("legible", "-Infinity"), "out_of_range", about="legible"),
    Case("overflow", with_("legible", "1e999"), "out_of_range", about="legible"),
    Case("absurd exponent", with_("colour", "1e-999999999999999999999"), "out_of_range", about="colour"),
    Case("a million digits", with_("legible", "1" * 1_000_000), "out_of_range", about="legible"),
    Case("circled digit", with_("layout", '"⑤"'), "out_of_range", about="layout"),
    Case("superscript digit", with_("layout", '"⁵"'), "out_of_range", about="layout"),
    Case("list", with_("legible", "[14]"), "out_of_range", about="legible"),
    Case("object", with_("legible", '{"score": 14, "why": "x"}'), "out_of_range", about="legible"),
    Case("truth value on int", with_("legible", "true"), "out_of_range", about="legible"),
    Case("truth value on float", with_("colour", "true"), "out_of_range", about="colour"),
    Case("null", with_("legible", "null"), "missing_key", about="legible"),
    Case("None", with_("legible", "None"), "missing_key", about="legible"),
    Case("empty string", with_("legible", '""'), "missing_key", about="legible"),
    Case("blank string", with_("legible", '" \u200b"'), "missing_key", about="legible"),
    Case("empty list", with_("legible", "[]"), "missing_key", about="legible"),
    Case("nothing", with_("legible", ""), "missing_key", about="legible"),
    Case("not applicable", with_("legible", '"N/A"'), "missing_key", about="legible"),
    Case("left out", GOOD.replace('"legible": 14, ', ""), "missing_key", about="legible"),
    Case("totals only", '{"total": 19, "pass": true}', "missing_key", about="legible"),
    Case("totals and a complaint", '{"total": 19, "reason": "I can\'t see why"}', "missing_key"),
    Case("nulls only", '{"legible": null, "colour": null}', "missing_key", about="legible"),
    Case("empty object", "{}", "missing_key"),
]

TRUTH = [
    Case("quoted", with_("signed", '"true"'), SCORES, flags=R, repairs=("quoted_bool",)),
    Case("quoted, shouted", with_("signed", '" TRUE "'), SCORES, flags=R),
    Case("Python", with_("signed", "True"), SCORES, flags=R, repairs=("python_literals",)),
    Case("one", with_("signed", "1"), SCORES, flags=R, repairs=("number_for_bool",)),
    Case("quoted one", with_("signed", '"1"'), SCORES, flags=R),
    Case("zero", with_("signed", "0"), (*SCORES[:3], False), flags=R),
    Case("two", with_("signed", "2"), "out_of_range", about="signed"),
    Case("a half", with_("signed", "0.5"), "out_of_range", about="signed"),
    Case("yes", with_("signed", '"yes"'), "out_of_range", about="signed"),
    Case("null", with_("signed", "null"), "missing_key", about="signed"),
    Case("both", with_("signed", '"true/false"'), "missing_key", about="signed"),
]

RIVALS = [
    Case("same name, same value", GOOD.replace("}", ', "legible": 14.0}'), SCORES),
    Case("same name, other value", GOOD.replace("}", ', "legible": 15}'), "ambiguous", about="legible"),
    Case("same name, null", GOOD.replace("}", ', "legible": null}'), "ambiguous", about="legible"),
    Case("same name in another form", GOOD.replace("}", ', "Legible": 15}'), "ambiguous", about="legible"),
    Case("same verdict twice", f"{GOOD}\n\n{GOOD.replace('clear', 'again')}", SCORES),
    Case("same verdict, other spelling", f"{GOOD}\n{GOOD.replace('14', '14.0')}", SCORES),
    Case("two verdicts", f"Draft:\n{GOOD}\nFinal:\n{OTHER}", "ambiguous", about="legible"),
    Case("two fenced verdicts", f"```json\n{GOOD}\n```\n```json\n{OTHER}\n```", "ambiguous", about="legible"),
    Case("one per line", f"{GOOD}\n{OTHER}\n", "ambiguous", about="legible"),
    Case("array of two", f"[{GOOD}, {OTHER}]", "ambiguous", about="legible"),
    Case(
        "a part that differs, before", f'Say {{"legible": 0}} for none.\n{GOOD}', "ambiguous", about="legible"
    ),
    Case("a part that differs, behind", f'{GOOD} or {{"layout": 10}}', "ambiguous", about="layout"),
    Case("a part that agrees", f'{GOOD}\nthat is, {{"layout": 5}}', SCORES),
    Case("a part that agrees, elided", f'As {{"legible": 14, ...}}:\n{GOOD}', SCORES),
    Case(
        "parts that make a whole",
        '{"legible": 14, "colour": 0.35} {"layout": 5, "signed": true}',
        "missing_key",
    ),
    Case("an unreadable rival", f'{{"legible": "good"}} {GOOD}', "ambiguous", about="legible"),
    Case("a rival off the scale", f'{GOOD} {{"legible": 140}}', "ambiguous", about="legible"),
    Case("a rival begun", f'{GOOD}\nWait:\n{{"legible": 3, "col', "ambiguous"),
    Case("an equal rival begun", f'{GOOD}\n{{"legible": 14, "col', "ambiguous"),
    Case("a rival begun with a name", f'{GOOD}\n{{"legible"', "ambiguous"),
    Case("a rival begun within a name", f'{GOOD}\n{{"legi', "ambiguous"),
    Case("a rival begun, capped", f'{GOOD}\n{{"legible": 1', "ambiguous", stop="max_tokens"),
    Case("a wrapped rival begun", f'{GOOD}\n{{"scores": {{"legible": 3', "ambiguous"),
    Case("a broken rival", f'{{"legible": 3 [}}\n{GOOD}', "ambiguous"),
    Case("a lone brace behind", f"{GOOD} {{", SCORES),
    Case("an older verdict inside", GOOD.replace("}", f', "meta": {{"old": {OTHER}}}}}'), SCORES),
    Case("an older verdict in words", GOOD.replace("clear", r"was {\"legible\": 3}"), SCORES),
    Case("numbers in prose", f"Legible 3, colour 0.1.\n{GOOD}\nOr perhaps legible: 4?", SCORES),
    Case("a rival of nulls", f'{GOOD}\n{{"legible": null}}', "ambiguous", about="legible"),
    Case("different nested rivals", f'{{"draft": {OTHER}}}\n{GOOD}', "ambiguous", about="legible"),
]

CUT = [
    Case("in a number", GOOD[: GOOD.index("4,")], "truncated"),
    Case("behind a number", GOOD[: GOOD.index(", ")], "truncated"),
    Case("in the last criterion", GOOD[: GOOD.index("ue,")], "truncated"),
    Case("behind the last criterion", GOOD[: GOOD.index(', "reason')], "truncated"),
    Case("behind its comma", GOOD[: GOOD.index(' "reason')], "truncated"),
    Case(
        "in the next name", GOOD[: GOOD.index('on":')], SCORES, flags=("truncated_after_criteria", "repaired")
    ),
    Case("in the words", GOOD[: GOOD.index('ar"')], SCORES, flags=("truncated_after_criteria", "repaired")),
    Case(
        "in the words, capped",
        GOOD[: GOOD.index('ar"')],
        SCORES,
        stop="length",
        flags=("truncated_after_criteria",),
    ),
    Case("behind the words", GOOD[:-1], SCORES, flags=("truncated_after_criteria",)),
    Case("in words that come first", '{"reason": "legible and', "truncated"),
    Case(
        "in a total",
        GOOD.replace('"reason": "clear"}', '"total": 1'),
        SCORES,
        flags=("truncated_after_criteria",),
    ),
    Case("in a second mention", GOOD.replace('"reason": "clear"}', '"legible": 1'), "truncated"),
    Case("in a second mention's name", GOOD.replace('"reason": "clear"}', '"legi'), "truncated"),
    Case("in a decimal comma", '{"legible": 14, "layout": 5, "signed": true, "colour": 0,', "truncated"),
    Case(
        "in a number, capped",
        '{"layout": 5, "colour": 0.35, "signed": true, "legible": 1',
        "truncated",
        stop="length",
    ),
    Case("whole, capped", GOOD, SCORES, stop="max_tokens", flags=("truncated_after_criteria",)),
    Case(
        "whole, prose cut",
        f"{GOOD}\n\nNote that",
        SCORES,
        stop="MAX_TOKENS",
        flags=("truncated_after_criteria",),
    ),
    Case("before any object", "I will look at each criterion in turn. First", "truncated", stop="max_tokens"),
    Case("nothing came, capped", "", "truncated", stop="max_tokens"),
    Case(
        "wrapped, cut in the words",
        f'{{"scores": {GOOD}, "reason": "cl',
        SCORES,
        flags=("truncated_after_criteria",),
    ),
    Case("an open comment", GOOD.replace("0.35,", "0.35, /* so"), "truncated"),
    Case(
        "an open quotation mark", GOOD.replace('clear"', "clear"), SCORES, flags=("truncated_after_criteria",)
    ),
]

THINKING = [
    Case("closed", f"<think>legible 3?</think>\n{GOOD}", SCORES, flags=R, repairs=("thinking_removed",)),
    Case("closed with a draft", f"<thinking>\n{OTHER}\n</thinking>\n{GOOD}", SCORES, flags=R),
    Case("attributes and case", f'<Think mode="x">{OTHER}</THINK>{GOOD}', SCORES, flags=R),
    Case("reasoning", f"<reasoning>{OTHER}</reasoning>{GOOD}", SCORES, flags=R),
    Case("square brackets", f"[THINK]{OTHER}[/THINK]{GOOD}", SCORES, flags=R),
    Case("geometric marks", f"◁think▷{OTHER}◁/think▷{GOOD}", SCORES, flags=R),
    Case("nested", f"<think>a <think>b</think> {OTHER}</think>{GOOD}", SCORES, flags=R),
    Case("the closing tag quoted inside", f'<think>prints "</think>" {OTHER}</think>{GOOD}', SCORES, flags=R),
    Case(
        "channels",
        f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}<|end|>",
        SCORES,
        flags=R,
    ),
    Case("never opened", f"legible 3? {OTHER}\n</think>\n{GOOD}", SCORES, flags=R),
    Case("behind the verdict", f"{GOOD}\n<think>was it 3?</think>", SCORES),
    Case("a tag in the words", GOOD.replace("clear", "it shows <think> and </think>"), SCORES, repairs=()),
    Case("only a closing tag in the words", GOOD.replace("clear", "</think>"), SCORES, repairs=()),
    Case("never closed", f"<think>{GOOD}", "ambiguous"),
    Case("never closed, capped", f"<think>{GOOD}", "truncated", stop="max_tokens"),
    Case("never closed, no draft", "<think>Let me see", "truncated"),
    Case("never closed behind the verdict", f"{GOOD}<think>hm", SCORES),
    Case("a draft never closed behind the verdict", f"{GOOD}<think>hm {OTHER}", "ambiguous"),
    Case("nothing else", f"<think>{GOOD}</think>", "empty"),
    Case("nothing else, capped", f"<think>{GOOD}</think>", "truncated", stop="length"),
    Case("nothing behind a closing tag", f"{GOOD}</think>", "empty"),
]

NOTHING = [
    Case("empty", "", "empty"),
    Case("blanks", " \t\r\n\u3000\u00a0", "empty"),
    Case("invisible characters", "\ufeff\u200b\u2060", "empty"),
    Case("an empty fence with its language", "```json\n```", "empty"),
    Case("an empty fence", "```\n```", "empty"),
    Case("only an overall number", "I'd say 17 out of 20.", "invalid_json"),
    Case("a number", "14", "invalid_json"),
    Case("a web page", "<!DOCTYPE html>\n<html><style>a{b:c}</style>Sorry, 503</html>", "invalid_json"),
    Case("an error document", '{"error": {"message": "overloaded", "code": 529}}', "missing_key"),
    Case("refusal in English", "I'm sorry, but I can't help with rating this image.", "refused"),
    Case("refusal in English, short", "I cannot assist with that.", "refused"),
    Case("refusal, typographic", "I’m unable to judge this poster.", "refused"),
    Case("refusal in Chinese", "对不起，我不能评价这张海报。", "refused"),
    Case("refusal in Chinese, plain", "我无法完成这个请求，因此不予打分。", "refused"),
    Case("refusal in Korean", "죄송하지만 이 이미지를 평가할 수 없습니다.", "refused"),
    Case("refusal in Korean, plain", "이 요청에는 응답을 드릴 수 없습니다.", "refused"),
    Case("refusal in Japanese", "申し訳ありませんが、この画像は採点できません。", "refused"),
    Case("refusal in Spanish", "Lo siento, no puedo evaluar este cartel.", "refused"),
    Case("refusal in French", "Je ne peux pas noter cette affiche.", "refused"),
    Case("refusal in German", "Ich kann dieses Plakat leider nicht bewerten.", "refused"),
    Case("refusal as an object", '{"error": "I\'m sorry, I can\'t rate this."}', "refused"),
    Case("filtered", "", "refused", stop="SAFETY"),
    Case("filtered with words", "The poster shows", "refused", stop="content_filter"),
    Case("refused by the vendor", "", "refused", stop="refusal"),
    Case("withdrawn by the vendor", GOOD, "refused", stop="PROHIBITED_CONTENT"),
    Case("an apology with a verdict", f"I'm sorry it took so long.\n{GOOD}", SCORES, repairs=()),
    Case("nothing attached, in prose", "No image was attached to your message.", "refused"),
]

ECHO = [
    Case(
        "template, then an answer",
        f'{{"legible": <0-20>, "colour": 0.0 to 1.0, "layout": 0|5|10, "signed": true/false}}\n{GOOD}',
        SCORES,
        flags=("template_echo",),
    ),
    Case(
        "template in Korean, then an answer",
        f'{{"legible": 0~20 정수, "colour": 0~1 실수, "layout": 0 또는 5 또는 10, "signed": "bool"}}\n{GOOD}',
        SCORES,
        flags=("template_echo",),
    ),
    Case(
        "types, then an answer",
        f'{{"legible": int, "colour": float, "layout": "integer", "signed": boolean}}\n{GOOD}',
        SCORES,
        flags=("template_echo",),
    ),
    Case(
        "dots, then an answer", f'{{"legible": ..., "colour": …}}\n{GOOD}', SCORES, flags=("template_echo",)
    ),
    Case(
        "schema, then an answer",
        f'{{"properties": {{"legible": {{"type": "integer"}}, "signed": {{"type": "boolean"}}}}}}\n{GOOD}',
        SCORES,
        flags=("template_echo",),
    ),
    Case(
        "template only",
        '{"legible": <0-20>, "colour": <0-1>, "layout": <0|5|10>}',
        "missing_key",
        about="legible",
    ),
    Case("template with numbers, then an answer", f'{{"legible": 0, "colour": 0}}\n{GOOD}', "ambiguous"),
    Case("a range that is not the scale", f'{{"legible": "12-14"}}\n{GOOD}', "ambiguous", about="legible"),
    Case("one blank left", with_("layout", "<0 or 5 or 10>"), "ambiguous", about="layout"),
    Case("one blank left, no numbers", with_("layout", '"<score>"'), "missing_key", about="layout"),
]

BY_LINE = [
    Case("plain", LINES, BITS, repairs=()),
    Case("fenced", f"```\n{LINES}\n```", BITS, repairs=()),
    Case("CR", LINES.replace("\n", "\r"), BITS),
    Case("words first", "EXPLANATION: sound\nSETUP: 1\nRESULT: 0\nCHECK: 1", BITS),
    Case(
        "a value only in the words",
        "SETUP: 1\nCHECK: 1\nEXPLANATION: it says\nRESULT: 0",
        "ambiguous",
        about="RESULT",
    ),
    Case(
        "a value only in the words, in line",
        "SETUP: 1\nCHECK: 1\nEXPLANATION: RESULT: 0",
        "missing_key",
        about="RESULT",
    ),
    Case("one line", "SETUP: 1, RESULT: 0, CHECK: 1", BITS, flags=R, repairs=("one_line",)),
    Case("one line with bars", "setup: 1 | result: 0 | check: 1\nEXPLANATION: x", BITS, flags=R),
    Case("one line, cut", "SETUP: 1, RESULT: 0, CHECK: 1", "truncated", stop="length", about="CHECK"),
    Case("one line with words", "SETUP: 1 but RESULT: 0\nCHECK: 1", "ambiguous", about="SETUP"),
    Case("a number beside a type word", f"RESULT: score 1\n{LINES}", "ambiguous", about="RESULT"),
    Case("a word in brackets", f"RESULT: [right]\n{LINES}", "ambiguous", about="RESULT"),
    Case("blank lines", LINES.replace("\n", "\n\n"), BITS),
    Case("indented", LINES.replace("\n", "\n    "), BITS),
    Case("prose before", f"My verdict: see below.\n\n{LINES}", BITS),
    Case("bullets", LINES.replace("SETUP", "- SETUP").replace("RESULT", "• RESULT"), BITS, flags=R),
    Case("numbered", "1. SETUP: 1\n2) RESULT: 0\n(3) CHECK: 1", BITS, flags=R),
    Case("bold name", "**SETUP:** 1\n**RESULT**: 0\n__CHECK__: 1", BITS, flags=R),
    Case("bold line", "**SETUP: 1**\n*RESULT: 0*\n`CHECK: 1`", BITS, flags=R),
    Case("bold value", 'SETUP: **1**\nRESULT: `0`\nCHECK: "1"', BITS, flags=R),
    Case("heading", "### SETUP: 1\n## RESULT: 0\n# CHECK: 1", BITS, flags=R),
    Case("quoted block", "> SETUP: 1\n> RESULT: 0\n> CHECK: 1", BITS, flags=R),
    Case("brackets", "SETUP: [1]\nRESULT: (0)\nCHECK: <1>", BITS, flags=R),
    Case("letter case", "Setup: 1\nresult: 0\nCheck: 1", BITS, flags=R),
    Case("full-width", "SETUP：１\nRESULT：０\nCHECK： 1", BITS, flags=R),
    Case("equals sign", "SETUP = 1\nRESULT = 0\nCHECK=1", BITS, flags=R),
    Case("equal number", "SETUP: 1.0\nRESULT: 0\nCHECK: 1", BITS),
    Case("full stop", "SETUP: 1.\nRESULT: 0.\nCHECK: 1.", BITS, flags=R),
    Case("value below", "SETUP:\n1\nRESULT:\n**0**\nCHECK:\n1", BITS, flags=R),
    Case("truth values", "SETUP: True\nRESULT: false\nCHECK: TRUE", BITS, flags=R),
    Case("explained", "SETUP: 1 (fine)\nRESULT: 0 - the sum is off\nCHECK: 1, as asked", BITS, flags=R),
    Case("explained with a sentence", "SETUP: 1. Good start\nRESULT: 0\nCHECK: 1", BITS, flags=R),
    Case("explained with another number", LINES.replace("1\nR", "1 (was 0)\nR"), "ambiguous", about="SETUP"),
    Case("explained with a doubt", LINES.replace("1\nR", "1 - or zero\nR"), "out_of_range", about="SETUP"),
    Case("named again in the words", f"{LINES}\nSETUP: all there.\nRESULT: It gives 7, not 9.", BITS),
    Case("named again with its value", f"{LINES}\nSETUP: 1\nRESULT: 0 - off", BITS),
    Case("named again with its value and why", f"{LINES}\nRESULT: 0 because 7 is not 9", BITS),
    Case("named again with another value", f"{LINES}\nRESULT: 1", "ambiguous", about="RESULT"),
    Case(
        "named again with a change of mind",
        f"{LINES}\nRESULT: 1 on second thought",
        "ambiguous",
        about="RESULT",
    ),
    Case("named again with a value off the scale", f"{LINES}\nRESULT: 7", "ambiguous", about="RESULT"),
    Case("twice, the same", f"{LINES}\n\n{LINES}", BITS),
    Case(
        "twice, not the same",
        f"{LINES}\n\n{LINES.replace('RESULT: 0', 'RESULT: 1')}",
        "ambiguous",
        about="RESULT",
    ),
    Case("quoted before", f"The sheet reads:\n> RESULT: 1\n\n{LINES}", "ambiguous", about="RESULT"),
    Case("words before the values", f"SETUP: the sums are set up well\n{LINES}", BITS),
    Case("a verdict in a word, then a value", f"RESULT: correct\n{LINES}", "ambiguous", about="RESULT"),
    Case("a half", LINES.replace("RESULT: 0", "RESULT: 0.5"), "out_of_range", about="RESULT"),
    Case("two", LINES.replace("RESULT: 0", "RESULT: 2"), "out_of_range", about="RESULT"),
    Case("a fraction", LINES.replace("RESULT: 0", "RESULT: 1/3 = 0.333"), "ambiguous", about="RESULT"),
    Case("one of one", LINES.replace("RESULT: 0", "RESULT: 1/1"), "ambiguous", about="RESULT"),
    Case("a word", LINES.replace("RESULT: 0", "RESULT: wrong"), "out_of_range", about="RESULT"),
    Case("a tick", LINES.replace("RESULT: 0", "RESULT: ✓"), "out_of_range", about="RESULT"),
    Case("an arrow", LINES.replace("RESULT: 0", "RESULT: 1 → 0"), "ambiguous", about="RESULT"),
    Case("a choice", LINES.replace("RESULT: 0", "RESULT: 0 or 1"), "missing_key", about="RESULT"),
    Case("negative", LINES.replace("RESULT: 0", "RESULT: -1"), "out_of_range", about="RESULT"),
    Case("a dash for a colon", LINES.replace("RESULT: 0", "RESULT - 0"), "missing_key", about="RESULT"),
    Case("empty", LINES.replace("RESULT: 0", "RESULT:"), "missing_key", about="RESULT"),
    Case("null", LINES.replace("RESULT: 0", "RESULT: N/A"), "missing_key", about="RESULT"),
    Case("left out", "SETUP: 1\nCHECK: 1", "missing_key", about="RESULT"),
    Case("a longer name", LINES.replace("RESULT", "PARTIAL_RESULT"), "missing_key", about="RESULT"),
    Case(
        "a name within a sentence", LINES.replace("RESULT: 0", "The RESULT: 0"), "missing_key", about="RESULT"
    ),
    Case("a separator that is no line end", "SETUP: 1\u2028RESULT: 0\nCHECK: 1", "ambiguous", about="SETUP"),
    Case("all in prose", "The setup is right and the result is 0.", "missing_key"),
    Case(
        "template, then values",
        "SETUP: <0 or 1>\nRESULT: <0/1>\nCHECK: [0|1]\n\n" + LINES,
        BITS,
        flags=("template_echo",),
    ),
    Case("template only", "SETUP: <0 or 1>\nRESULT: <0 or 1>\nCHECK: <0 or 1>", "missing_key"),
    Case("cut in the words", LINES[:-2], BITS, stop="max_tokens", flags=("truncated_after_criteria",)),
    Case("cut in a name", "SETUP: 1\nRESULT: 0\nCHE", "truncated", about="CHECK"),
    Case("cut in a name, capped", "SETUP: 1\nRESULT: 0\nCHE", "truncated", stop="length", about="CHECK"),
    Case(
        "cut behind the last value",
        "SETUP: 1\nRESULT: 0\nCHECK: 1",
        "truncated",
        stop="length",
        about="CHECK",
    ),
    Case("ended behind the last value", "SETUP: 1\nRESULT: 0\nCHECK: 1", BITS, stop="end_turn"),
    Case("capped behind the last line", "SETUP: 1\nRESULT: 0\nCHECK: 1\n", BITS, stop="length"),
    Case("thinking", f"<think>RESULT: 1</think>\n{LINES}", BITS, flags=R),
    Case("thinking never opened", f"RESULT: 1\nhm\n</think>\n{LINES}", BITS, flags=R),
    Case("thinking never closed", f"<think>\n{LINES}", "truncated"),
    Case("a tag in the words", LINES + " and prints </think> below", BITS),
    Case("object", '{"SETUP": 1, "RESULT": 0, "CHECK": 1, "EXPLANATION": "x"}', BITS, flags=R),
    Case("object, indented", '{\n  "SETUP": 1,\n  "RESULT": 0,\n  "CHECK": 1\n}', BITS, flags=R),
    Case("object that agrees", f'{LINES}\n{{"RESULT": 0}}', BITS),
    Case("object that differs", f'{{"RESULT": 1}}\n{LINES}', "ambiguous", about="RESULT"),
    Case("LaTeX in the words", LINES + r" with \frac{1}{2} and \boxed{7}", BITS),
    Case("empty reply", "\n", "empty"),
    Case("refusal", "Sorry, I can't grade this.", "refused"),
    Case("web page", "<html>RESULT</html>", "invalid_json"),
]

TABLES = {
    "around": AROUND,
    "spelling": SPELLING,
    "numbers": NUMBERS,
    "truth": TRUTH,
    "rivals": RIVALS,
    "cut": CUT,
    "thinking": THINKING,
    "nothing": NOTHING,
    "echo": ECHO,
    "lines": BY_LINE,
}


@pytest.mark.parametrize(
    ("table", "case"),
    [
        pytest.param(table, case, id=f"{table}: {case.name}")
        for table, cases in TABLES.items()
        for case in cases
    ],
)
def test_reply_is_worth_what_the_table_says(table: str, case: Case) -> None:
    """A reply gives exactly the scores, or exactly the reason, that its row states."""
    criteria = STEPS if table == "lines" else POSTER
    outcome = judged(case, criteria, form="lines" if table == "lines" else "json")
    if isinstance(outcome, ReplyError):
        assert outcome.slug == case.want, str(outcome)
        assert case.about is None or outcome.concerns == case.about
        assert outcome.reply == case.reply
        return
    assert isinstance(case.want, tuple), outcome.scores
    expected = dict(zip((criterion.key for criterion in criteria), case.want, strict=True))
    assert outcome.scores == expected
    assert list(outcome.scores) == list(expected)
    assert [type(value) for value in outcome.scores.values()] == [type(value) for value in expected.values()]
    assert set(case.flags) <= set(outcome.flags)
    assert ("repaired" in outcome.flags) == bool(outcome.repairs)
    assert case.repairs is None or set(outcome.repairs) == set(case.repairs)


def judged(case: Case, criteria: tuple[Criterion, ...], form: ReplyForm) -> Verdict | ReplyError:
    """What the parser makes of a reply; an error is a result too."""
    try:
        return parse_verdict(case.reply, criteria, form=form, stop_reason=case.stop)
    except ReplyError as error:
        return error
