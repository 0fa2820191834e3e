"""Protocol files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from beholder.errors import ProtocolError
from beholder.protocols import (
    builtin_ids,
    describe_protocol,
    evidence_sha256,
    formula_sha256,
    load_protocol,
    question_sha256,
    write_starter,
)
from beholder.records import MediaLimits, NetworkPolicy

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
    ],
)
def test_a_mistake_is_named_by_its_place(tmp_path: Path, edit: tuple[str, str], message: str) -> None:
    """Each message says which key is wrong and how."""
    with pytest.raises(ProtocolError, match=r"p\.toml") as caught:
        load_protocol(protocol_file(tmp_path, SMALL.replace(*edit)))
    assert message in str(caught.value)


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
