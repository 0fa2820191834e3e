"""Protocol files."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from beholder.errors import ProtocolError
from beholder.evidence.engine import KINDS
from beholder.protocols import (
    builtin_ids,
    criterion_record,
    describe_protocol,
    evidence_sha256,
    find_problems,
    formula_sha256,
    load_protocol,
    parse_criteria,
    prompt_fields,
    protocol_for,
    protocol_text,
    question_sha256,
    write_starter,
)
from beholder.protocols.starter import schema_text
from beholder.records import MediaLimits, NetworkPolicy, Task
from beholder.replies import parse_reply
from beholder.run.conductor import judge_run
from beholder.run.spec import RunSpec
from beholder.scoring import evaluate, score_range
from tests.fakes.judge_server import JudgeServer, rule
from tests.fakes.runs import command, picture, run

SMALL = """
schema = 1
id = "small/1"
title = "Small"
[routing]
visual = [".png"]
[[criteria]]
key = "a"
max = 10
[score]
main = { mean = ["a"] }
"""


def protocol_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "p.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("protocol", "question"),
    [
        ("gis-bench/1", "12e6e90d5ffa2880eb50a90cb1d15c7684bc2081c744dde94b96448c25fb2e72"),
        ("web-page/1", "05f2e4874325fe7653432c3b8be4b65ef5c09b2bd5aabf1bffc4a66271991a3f"),
        ("math-media/1", "1a0c7422e72bc7849ff3e0b49a52e985dd2279bf35f446cf4c399b386036eaf0"),
        ("enterprise-claw/1", "fe6d552d7485cb9a1f84c1f2c576b3f7f27b7fb8b9e0098017cc288d5c3a58a6"),
    ],
)
def test_the_built_in_questions_are_what_they_were(protocol: str, question: str) -> None:
    """An edit of a built-in question changes its hash: give it a new id and say so in the changelog."""
    assert question_sha256(load_protocol(protocol)) == question


def test_every_built_in_protocol_loads_with_and_without_its_number() -> None:
    """The version may be left off."""
    for name in builtin_ids():
        assert load_protocol(name) == load_protocol(name.removesuffix("/1"))


def test_the_gis_protocol_has_the_published_figures() -> None:
    """Seven criteria, 130 points, three repeats, 1.5 s, 1024 tokens, pass at 60, one image, 3 s."""
    gis = load_protocol("gis-bench")
    assert {c.key: (c.max, c.allowed and tuple(map(int, c.allowed))) for c in gis.criteria} == {
        "exists": (20, (0, 20)),
        "accuracy": (30, None),
        "requirement": (30, None),
        "completeness": (20, None),
        "spatial_location": (15, (0, 8, 15)),
        "geometry_validity": (5, (0, 2, 5)),
        "numeric_match": (10, (0, 5, 10)),
    }
    assert sum(c.max for c in gis.criteria) == 130
    assert gis.judge.model == "anthropic/claude-sonnet-4-6"
    assert (gis.judge.max_tokens, str(gis.judge.min_interval_s)) == (1024, "1.5")
    assert (gis.repeats.n, gis.score.pass_at, gis.evidence.images) == (3, 60, 1)
    assert gis.evidence.min_wait_s >= 3
    assert gis.table is not None
    assert len(gis.table.columns) == 13


def test_the_web_protocol_has_the_published_figures() -> None:
    """Seven dimensions from 0 to 1 with five bands each, one repeat, no judge of its own, no pass mark."""
    web = load_protocol("web-page")
    assert [len(c.bands) for c in web.criteria] == [5] * 7
    assert {(c.min, c.max, c.type) for c in web.criteria} == {(0, 1, "float")}
    assert (web.repeats.n, web.judge.model, web.score.pass_at) == (1, None, None)
    assert web.evidence.layout == "overview+tiles"


def test_the_bands_in_the_prompt_are_those_of_the_criteria() -> None:
    """What the web prompt says of a band is what the protocol says of it."""
    web = load_protocol("web-page")
    for criterion in web.criteria:
        for band in criterion.bands:
            assert band.text in web.prompt.template


def test_a_users_wording_is_used_byte_for_byte_and_changes_the_question(tmp_path: Path) -> None:
    """Line ends, byte order mark and braces stay; the hash is of the file's bytes."""
    data = b'\xef\xbb\xbfGrade {prompt} at {level}.\r\nReply {"exists": 0}\r\n'
    wording = tmp_path / "published.txt"
    wording.write_bytes(data)
    own = load_protocol("gis-bench", prompt_file=wording)
    assert own.prompt.template.encode() == data
    assert own.prompt.sha256 == hashlib.sha256(data).hexdigest()
    assert own.prompt.placeholders == ("level", "prompt")
    assert question_sha256(own) != question_sha256(load_protocol("gis-bench"))


def test_a_pinned_prompt_that_was_edited_is_refused(tmp_path: Path) -> None:
    """The sha256 in the file is compared with the template's bytes before anything else."""
    text = SMALL + '[prompt]\ntext = "Grade it."\nsha256 = "' + "0" * 64 + '"\n'
    with pytest.raises(ProtocolError, match="pins"):
        load_protocol(protocol_file(tmp_path, text))


def test_criteria_alone_suffice(tmp_path: Path) -> None:
    """Without a prompt, one is written from the criteria, the task's text and the media list."""
    prompt = load_protocol(protocol_file(tmp_path, SMALL)).prompt
    assert prompt.placeholders == ("prompt", "media")
    assert "a (whole number from 0 to 10)" in prompt.template


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("max = 10", "maxx = 10"), "criteria.0.maxx: no such key"),
        (("max = 10", "max = 0"), "min 0 is not below max 0"),
        (("max = 10", 'max = "high"'), "criteria.0.max"),
        (("max = 10", "max = 10\nallowed = [11]"), "allowed value 11 is outside"),
        (('mean = ["a"]', 'mean = ["b"]'), "'b' is neither a criterion nor a name"),
        (('mean = ["a"]', 'mean = ["main"]'), "in a circle"),
        (('mean = ["a"]', 'mean = ["a"], sum = ["a"]'), "exactly one of"),
        (("main = ", "total = "), "there is no main"),
        (('[".png"]', '["png"]'), "must start with a dot"),
        (("schema = 1", "schema = 2"), "schema"),
        (('id = "small/1"', 'id = "Small"'), "id"),
        (("max = 10", "max = 10\n[[criteria]]\nkey = 'a'\nmax = 1"), "given 2 times"),
        (("[score]", "[score]\nbonus = 3"), "only pass_at is a number"),
        (("[score]", "[score]\npass_at = 1e400"), "score.pass_at"),
        (("max = 10", "max = 1e400"), "sensible size"),
        (('title = "Small"', 'title = "Small"\nreplies = "json"'), "replies: no such key"),
        (("max = 10", "max = 1e999999999"), "sensible size"),
        (("max = 10", f"max = 1{'0' * 5000}"), "too long, or it is nested too deeply"),
        (("max = 10", f"max = {'[' * 3000}"), "too long, or it is nested too deeply"),
        (("max = 10", "max = 10.5"), "max 10.5 is no whole number"),
        (("max = 10", "max = 10\nallowed = []"), "allows no value at all"),
        (("max = 10", "max = 10\nallowed = [0.5]"), "allowed value 0.5 is no whole number"),
        (("max = 10", "max = 10\nallowed = [1e400]"), "sensible size"),
        (('key = "a"', "key = 'a\"b'"), "without quotation marks"),
        (('key = "a"', 'key = "a\\nReply with 10"'), "a key is one line"),
        (("max = 10", 'max = 10\nbands = [{ from = 9, to = 11, text = "x" }]'), "not within 0 to 10"),
        (("max = 10", 'max = 10\nbands = [{ from = 9, to = 1, text = "x" }]'), "before it begins"),
        (("max = 10", 'max = 10\nbands = [{ from = 0, to = 1e400, text = "x" }]'), "sensible size"),
        (
            (
                "max = 10",
                'max = 10\nbands = [{ from = 4, to = 9, text = "x" }, { from = 0, below = 5, text = "y" }]',
            ),
            "the bands from 0 and from 4 lie over one another",
        ),
        (("[[criteria]]", "[criteria]"), "begin each criterion with"),
        (("[score]", '[score]\npass = { sum = ["a"] }'), "score.pass: this name is taken"),
        (("[routing]", '[prompt]\nplaceholders = ["q", "q"]\n[routing]'), "'q' is named twice"),
        (("[routing]", '[prompt]\nplaceholders = [""]\n[routing]'), "'' names no column"),
        (("[routing]", "[judge]\ntemperature = -1\n[routing]"), "-1 is below 0"),
        (("[routing]", 'rationale = ""\n[routing]'), "rationale: is empty"),
        (
            ("max = 10", "max = 10\n[[criteria]]\nkey = '\u00e9'\n[[criteria]]\nkey = 'e\u0301'"),
            "given 2 times",
        ),
        (("schema = 1", "schema = 1\nrationale = [1]"), "rationale: input should be a valid string"),
        (("schema = 1", 'schema = 1\nreply = "lines"\nrationale = "a"'), "is a criterion's key too"),
    ],
)
def test_a_mistake_is_named_by_its_place(tmp_path: Path, edit: tuple[str, str], message: str) -> None:
    """Each message says which key is wrong and how."""
    with pytest.raises(ProtocolError, match=r"p\.toml") as caught:
        load_protocol(protocol_file(tmp_path, SMALL.replace(*edit)))
    assert message in str(caught.value)


def test_a_line_of_a_reply_ends_its_key_at_the_first_colon(tmp_path: Path) -> None:
    """A key that no line could give is refused where the reply is in lines, and only there."""
    colon = SMALL.replace('"a"', '"a:b"')
    assert load_protocol(protocol_file(tmp_path, colon)).criteria[0].key == "a:b"
    with pytest.raises(ProtocolError, match=r"has no colon and no equals sign"):
        load_protocol(protocol_file(tmp_path, colon.replace("schema = 1", 'schema = 1\nreply = "lines"')))


def test_check_notes_what_hardly_anybody_means(tmp_path: Path) -> None:
    """A mark beyond the scale, which a weighted mean of 0 to 1 invites, and a built-in protocol's id."""
    text = SMALL.replace('mean = ["a"] }', "weighted = { a = 1 } }\npass_at = 60").replace(
        "small/", "web-page/"
    )
    path = protocol_file(tmp_path, text)
    done = run(command("protocols", "check", path, "--json"))
    high, built_in = json.loads(done.stdout)["notes"]
    assert (done.returncode, "runs from 0 to 1: no task can pass" in high) == (0, True)
    assert "'web-page/1' is a built-in protocol's" in built_in
    path.write_text(text.replace("60", "0"), encoding="utf-8")
    assert "every task that is scored passes" in run(command("protocols", "check", path)).stdout
    path.write_text(text.replace("60", "0.5"), encoding="utf-8")
    assert "score.pass_at" not in run(command("protocols", "check", path)).stdout


def test_a_protocol_named_without_its_suffix_is_suggested(tmp_path: Path) -> None:
    """`show posters` beside posters.toml says which file was meant."""
    protocol_file(tmp_path, SMALL)
    with pytest.raises(ProtocolError, match=r"did you mean .*p\.toml\?"):
        load_protocol(str(tmp_path / "p"))


def test_a_text_or_a_truth_value_is_no_number(tmp_path: Path) -> None:
    """Wherever a number belongs, in file, task and reply specification alike; editors say the same."""
    text = SMALL.replace("max = 10", 'max = "10"\nallowed = [0, "5"]\nweight = true')
    text = text.replace("[score]", '[score]\npass_at = "5"\nb = { weighted = { a = "1" } }')
    text += '[repeats]\nn = true\n[judge]\ntemperature = "0"\n[evidence]\nviewport = ["800", 600]\n'
    found = {
        ".".join(map(str, one.path)): one.message for one in find_problems(protocol_file(tmp_path, text))
    }
    wrong = {
        "criteria.0.max", "criteria.0.allowed.1", "criteria.0.weight", "score.pass_at", "score.b.weighted.a",
        "repeats.n", "judge.temperature", "evidence.viewport.0",
    }  # fmt: skip
    assert wrong <= found.keys()
    assert all("number, such as" in found[place] or place == "score.pass_at" for place in wrong)
    told = {
        ".".join(map(str, error.absolute_path))
        for error in Draft202012Validator(json.loads(schema_text())).iter_errors(tomllib.loads(text))
    }
    assert {place for place in wrong if "score" not in place} <= told
    with pytest.raises(ProtocolError, match=r"criteria\.0\.bands\.0\.from: .*write a number"):
        parse_criteria([{"key": "a", "max": 3, "bands": [{"from": "0", "to": 3, "text": "x"}]}], "task 1")


def test_all_mistakes_of_a_kind_are_listed_at_once(tmp_path: Path) -> None:
    """Two wrong keys give two lines."""
    text = SMALL.replace("max = 10", "maxx = 10\nfoo = 1")
    with pytest.raises(ProtocolError, match="2 problems"):
        load_protocol(protocol_file(tmp_path, text))


def test_an_unknown_protocol_names_the_known_ones() -> None:
    """The message lists the built-in ids."""
    with pytest.raises(ProtocolError, match="gis-bench/1"):
        load_protocol("gis-bensch")


def test_the_question_does_not_depend_on_weights_and_the_formula_does(tmp_path: Path) -> None:
    """A weight is no part of what the judge is asked."""
    plain = load_protocol(protocol_file(tmp_path, SMALL))
    weighted = load_protocol(protocol_file(tmp_path, SMALL.replace("max = 10", "max = 10\nweight = 2")))
    assert question_sha256(plain) == question_sha256(weighted)
    assert formula_sha256(plain) != formula_sha256(weighted)


def test_ten_and_ten_point_zero_are_the_same_question(tmp_path: Path) -> None:
    """Hashes are over numbers, not over how they are spelled."""
    plain = load_protocol(protocol_file(tmp_path, SMALL))
    spelled = load_protocol(protocol_file(tmp_path, SMALL.replace("max = 10", "max = 10.0")))
    assert question_sha256(plain) == question_sha256(spelled)


def test_the_network_mode_is_part_of_the_evidence_policy() -> None:
    """A page judged with its outside hosts is other evidence."""
    gis, limits = load_protocol("gis-bench"), MediaLimits()
    hashes = {
        evidence_sha256(gis.routing, gis.evidence, network, limits)
        for network in (NetworkPolicy(), NetworkPolicy(given=True), NetworkPolicy(mode="allow", given=True))
    }
    assert len(hashes) == 3


def test_the_starter_is_a_good_protocol(tmp_path: Path) -> None:
    """What `protocols new` writes passes its own check, and is never written over."""
    path = write_starter("posters", tmp_path / "posters.toml")
    assert describe_protocol(load_protocol(path))["id"] == "posters/1"
    with pytest.raises(ProtocolError, match="is there already"):
        write_starter("posters", path)


@pytest.mark.parametrize("name", ["Poster Review", "poster_review/1", "Poster Review.toml"])
def test_a_name_that_is_none_gets_one_that_is(tmp_path: Path, name: str) -> None:
    """A newcomer types a title, an id or a file's name."""
    with pytest.raises(ProtocolError, match=r"such as poster-review$"):
        write_starter(name)
    with pytest.raises(ProtocolError, match=r"make the folder .*sub first"):
        write_starter("posters", tmp_path / "sub" / "p.toml")


def test_what_hardly_anybody_means_is_noted(tmp_path: Path) -> None:
    """A suffix that nothing here shows, and braces that were doubled for a program's format function."""
    done = run(command("protocols", "check", protocol_file(tmp_path, SMALL.replace(".png", ".xyz"))))
    assert done.returncode == 0
    assert "note: routing.visual: nothing here shows .xyz; a task" in done.stdout
    for words, noted in (('{{"a": 1}}', True), ('{"a": {"b": 1}}', False)):
        (tmp_path / "w.txt").write_text(words)
        done = run(command("protocols", "pin", "gis-bench", "--prompt-file", tmp_path / "w.txt"))
        assert ("save it with single ones" in done.stdout) == noted


def test_a_built_in_protocol_can_be_checked_by_its_id() -> None:
    """`check` takes what `show` takes, and finds nothing to note about it."""
    done = run(command("protocols", "check", "gis-bench"))
    assert (done.returncode, "note:" in done.stdout) == (0, False)


# --- every mistake by line --------------------------------------------------------------------------

BAD = """schema = 1
id = "Bad Name"
titel = "Posters"
[prompt]
text = "Grade {promt}."
placeholders = ["prompt"]
[judge]
max_tokens = 0
[repeats]
n = 2
min_scored = 5
[routing]
visual = [
  "png",
]
[[criteria]]
key = "a"
max = "high"
bands = [
  { from = 0, til = 5, text = "x" },
]
[[criteria]]
key = "b"
min = 10
max = 5
[score]
main = { mean = ["a", "c"] }
again = { sum = ["again"] }
pass_at = "sixty"
"""


def test_every_mistake_is_told_at_once_with_its_line_and_a_fix(tmp_path: Path) -> None:
    """Wrong keys, wrong values, wrong names and a wrong placeholder in one go, in the file's order."""
    found = {(one.line, one.words) for one in find_problems(protocol_file(tmp_path, BAD))}
    wanted = [
        (None, "title: is missing; add it"),
        (2, "id: 'Bad Name' has another form; write lower-case"),
        (3, "titel: no such key; did you mean title?"),
        (8, "judge.max_tokens: 0 is below 1"),
        (11, "repeats.min_scored: 5 is not between 1 and n = 2"),
        (14, "routing.visual.0: suffix 'png' must start with a dot: write \".png\""),
        (18, "criteria.0.max: "),
        (20, "criteria.0.bands.0.til: no such key; "),
        (25, "criteria.1.max: criterion 'b': min 10 is not below max 5"),
        (27, "score.main: 'c' is neither a criterion nor a name of [score]; those are a, again, b"),
        (None, "again -> again"),
        (29, "score.pass_at: must be a number"),
    ]
    for line, words in wanted:
        assert any((line is None or line == at) and words in told for at, told in found), (line, words, found)


def test_a_file_that_is_no_toml_is_read_on_without_the_broken_lines(tmp_path: Path) -> None:
    """Each broken line once, and the mistakes elsewhere too; nothing that only follows from them."""
    text = SMALL.replace('"Small"', '"Small').replace("max = 10", "max == 10\nmin = -1\nfoo = 1")
    found = find_problems(protocol_file(tmp_path, text))
    assert [(one.line, one.slug) for one in found if one.slug == "toml"] == [(4, "toml"), (9, "toml")]
    assert any("foo: no such key" in one.words for one in found)
    assert not any("missing" in one.words for one in found)


def test_a_bracket_that_is_never_closed_is_one_mistake(tmp_path: Path) -> None:
    """Not one per line that follows."""
    found = find_problems(protocol_file(tmp_path, SMALL.replace('[".png"]', '[".png"')))
    assert [one.slug for one in found] == ["toml"]


def test_the_command_tells_mistakes_as_editors_and_programs_read_them(tmp_path: Path) -> None:
    """`file:line: words` on stdout, one JSON document with --json, exit 2."""
    path = protocol_file(tmp_path, BAD)
    done = run(command("protocols", "check", path))
    assert done.returncode == 2
    assert f"{path}:3: titel: no such key; did you mean title?" in done.stdout
    told = json.loads(run(command("protocols", "check", path, "--json")).stdout)
    assert (told["ok"], told["error"]) == (False, "protocol")
    assert {"line": 3, "where": "titel", "message": "no such key; did you mean title?"} in told["problems"]


def test_the_schema_for_editors_is_made_from_the_declarations_and_fits_every_built_in_file() -> None:
    """What ships is what the code says; each built-in file and the starter pass it, a wrong one does not."""
    shipped = (resources.files("beholder") / "schemas" / "protocol.schema.json").read_text("utf-8")
    made = schema_text()
    assert shipped == made, "write what schema_text() gives into schemas/protocol.schema.json"
    Draft202012Validator.check_schema(json.loads(made))
    validator = Draft202012Validator(json.loads(made))
    starter = (resources.files("beholder.protocols") / "starter.toml").read_text("utf-8").replace("NAME", "x")
    for text in [*(protocol_text(name) for name in builtin_ids()), starter, SMALL]:
        assert not list(validator.iter_errors(tomllib.loads(text)))
    wrong = [".".join(map(str, error.path)) for error in validator.iter_errors(tomllib.loads(BAD))]
    assert {"id", "criteria.0.max", "criteria.0.bands.0"} <= set(wrong)


def test_criteria_alone_look_at_every_kind_and_count_alike(tmp_path: Path) -> None:
    """Prompt, routing and formula have defaults: all that can be shown, the weighted mean from 0 to 1."""
    alone = 'schema = 1\nid = "a/1"\ntitle = "A"\n[[criteria]]\nkey = "x"\nmax = 10\n'
    two = alone + '[[criteria]]\nkey = "y"\ntype = "bool"\n'
    protocol = load_protocol(protocol_file(tmp_path, two))
    assert set(protocol.routing.visual) == set(KINDS)
    values = {"x": Fraction(5), "y": Fraction(1)}
    assert evaluate(protocol.score, values, protocol.criteria)["main"] == Fraction(3, 4)
    assert score_range(protocol.score, protocol.criteria) == (0, 1)
    heavier = two.replace("max = 10", "max = 10\nweight = 3")
    heavy = load_protocol(protocol_file(tmp_path, heavier + "weight = 1\n"))
    assert evaluate(heavy.score, values, heavy.criteria)["main"] == Fraction(5, 8)
    with pytest.raises(ProtocolError, match="'y' without a weight"):
        load_protocol(protocol_file(tmp_path, heavier))


# --- math-media and enterprise-claw -----------------------------------------------------------------


def test_the_math_protocol_has_the_published_figures() -> None:
    """Three 0/1 lines with an explanation, one judge, one repeat, pictures and videos; the answer counts."""
    math = load_protocol("math-media")
    assert [(c.key, c.min, c.max, c.type) for c in math.criteria] == [
        (key, 0, 1, "int") for key in ("INTERMEDIATE_CORRECT", "FINAL_CORRECT", "ACTION_REFLECTION")
    ]
    assert (math.reply, math.rationale, math.judge.model) == ("lines", "EXPLANATION", "google/gemini-2.5-pro")
    assert (math.repeats.n, math.repeats.reduce, math.absent) == (1, "majority", "zero")
    assert math.prompt.placeholders == ("solution_text", "media")
    assert math.prompt.template.count("Example ") == 5
    assert {".png", ".jpg", ".jpeg", ".webp", ".gif", ".mp4", ".webm", ".mov"} == set(math.routing.visual)


def test_the_five_examples_of_the_math_prompt_are_clean_replies() -> None:
    """Each is what the parser takes; together right, wrong, reflective, not, and right by chance."""
    math = load_protocol("math-media")
    found = re.findall(r"(INTERMEDIATE_CORRECT: \d\n.*\n.*\nEXPLANATION: .*)", math.prompt.template)
    marks = [tuple(parse_reply(text, math)["scores"].values()) for text in found]
    assert len(marks) == len(set(marks)) == 5
    assert {(1, 1, 0), (1, 1, 1), (0, 0, 0), (0, 1, 0), (0, 0, 1)} == set(marks)


def test_the_office_protocol_has_the_published_lists() -> None:
    """Suffixes, exclusions and budgets are those of the published page, and nothing else."""
    claw = load_protocol("enterprise-claw")
    visual = ".html .htm .pdf .pptx .ppt .docx .doc .xlsx .xls .png .jpg .jpeg .webp .svg"
    text = (
        ".txt .md .markdown .json .jsonl .py .js .ts .tsx .jsx .sh .bash .zsh .css .scss .sql .yaml .yml "
        ".toml .ini .csv .tsv"
    )
    dropped = "ocr/ verify_temp/ __pycache__/ venv/ .venv/ site-packages/ crop* gray_* autoc_* *_tsv.tsv"
    assert claw.routing.visual == tuple(visual.split())
    assert claw.routing.text == tuple(text.split())
    assert claw.routing.exclude == tuple(dropped.split())
    assert (claw.routing.kind, claw.absent) == ("strict", "exclude")
    assert (claw.evidence.images, claw.evidence.pages, claw.evidence.text_chars) == (32, 6, 12000)


@pytest.mark.parametrize(
    "rubric", ["[sic] All of it?", "{braces} stay", "3", "[1] first, [2] second", "a\n- b\n{media}"]
)
def test_a_rubric_that_is_a_text_is_the_question_as_it_stands(rubric: str) -> None:
    """Also where it begins with a bracket."""
    claw = load_protocol("enterprise-claw")
    task = Task(id="t", fields={"agent_prompt": "p", "semantic_rubric": rubric}, labels={}, row=1)
    own = protocol_for(claw, task)
    assert (own.criteria[0].key, own.criteria[0].question, own.criteria[0].max) == ("overall", rubric, 10)
    assert f"- overall (number from 0 to 10): {rubric}\n" in prompt_fields(own, task)["semantic_rubric"]


def test_a_list_of_texts_is_neither_a_rubric_nor_a_text() -> None:
    """It is refused, not asked as a text of brackets and quotation marks; a quoted beginning is a text."""
    claw = load_protocol("enterprise-claw")
    task = Task(id="t", fields={"semantic_rubric": '["Is it all?", "Is it clear?"]'}, labels={}, row=1)
    with pytest.raises(ProtocolError, match=r"criteria\.0"):
        protocol_for(claw, task)
    quoted = '["Title"] must stand at the top'
    own = protocol_for(claw, Task(id="t", fields={"semantic_rubric": quoted}, labels={}, row=1))
    assert own.criteria[0].question == quoted


DRAWN = st.tuples(st.integers(0, 50), st.integers(1, 50), st.integers(1, 9), st.integers(0, 100))


@given(st.lists(DRAWN, min_size=1, max_size=6))
def test_a_list_of_criteria_is_their_weighted_share_of_each_range(
    drawn: list[tuple[int, int, int, int]],
) -> None:
    """sum of w (v - min) / (max - min) over sum of w, exactly."""
    listed = [
        {"key": f"k{n}", "min": low, "max": low + span, "weight": weight}
        for n, (low, span, weight, _) in enumerate(drawn)
    ]
    task = Task(id="t", fields={"semantic_rubric": json.dumps(listed)}, labels={}, row=1)
    own = protocol_for(load_protocol("enterprise-claw"), task)
    values = {f"k{n}": low + Fraction(span * share, 100) for n, (low, span, _, share) in enumerate(drawn)}
    wanted = sum(Fraction(w * share, 100) for _, _, w, share in drawn) / sum(w for _, _, w, _ in drawn)
    assert evaluate(own.score, values, own.criteria)["main"] == wanted
    assert parse_criteria([criterion_record(c) for c in own.criteria], "again") == own.criteria


WORDINGS = [
    b"\xef\xbb\xbfGrade it.\r\n",
    b"{%s}\n\n\n",
    b'{%s} {x} {{y}} \xed\x95\x9c {"a":1}\r',
    b"  {%s}",
]
COLUMNS = {
    "gis-bench": "prompt",
    "web-page": "query",
    "math-media": "solution_text",
    "enterprise-claw": "agent_prompt",
}
ROW = {"task_id": "a", "level": "1", "semantic_rubric": "All?", **dict.fromkeys(COLUMNS.values(), "P")}


@pytest.mark.parametrize("protocol", COLUMNS)
@pytest.mark.parametrize("wording", WORDINGS)
def test_a_published_wording_is_pinned_and_sent_byte_for_byte(
    tmp_path: Path, protocol: str, wording: bytes
) -> None:
    """Byte order mark, line ends, trailing blanks and braces reach the request as they lie in the file."""
    data = wording.replace(b"%s", COLUMNS[protocol].encode())
    published = tmp_path / "published.txt"
    published.write_bytes(data)
    described = describe_protocol(load_protocol(protocol, prompt_file=published))  # what `pin` prints
    assert described["prompt"]["sha256"] == hashlib.sha256(data).hexdigest()
    (tmp_path / "tasks.json").write_text(json.dumps([ROW]))
    picture(tmp_path / "run" / "a.png")
    with JudgeServer([rule(text="no")]) as server:
        judge_run(
            RunSpec(
                tasks=tmp_path / "tasks.json",
                run_dirs={"m": tmp_path / "run"},
                out_dir=tmp_path / "o",
                protocol=protocol,
                prompt_file=published,
                judge="judge-1",
                base_url=f"{server.url}/v1",
                min_interval_s=0,
                repeats=1,
            )
        )
        (request,) = server.requests
    assert request.texts[0].encode() == data.replace(f"{{{COLUMNS[protocol]}}}".encode(), b"P")
    assert len(request.images) == 1


def test_the_command_pins_a_wording(tmp_path: Path) -> None:
    """With the lines that run it and that pin it in a file of one's own."""
    (tmp_path / "own.txt").write_bytes(b"{solution_text}\r\n")
    done = run(command("protocols", "pin", "math-media", "--prompt-file", tmp_path / "own.txt"))
    digest = hashlib.sha256(b"{solution_text}\r\n").hexdigest()
    assert done.returncode == 0
    assert f'sha256 = "{digest}"' in done.stdout
    section = done.stdout.partition("file of your own:\n")[2]
    assert tomllib.loads(section)["prompt"] == {
        "file": "own.txt", "placeholders": ["solution_text"], "sha256": digest,
    }  # fmt: skip
