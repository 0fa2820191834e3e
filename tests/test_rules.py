"""Rules without a judge: what is checked, on real files."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pikepdf
import pptx
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen import canvas

from beholder.fenced import WORKER_USER
from beholder.fenced.limits import Limits
from beholder.fenced.worker import Worker, start_worker
from beholder.records import Rule, RuleResult, Submission, Task
from beholder.rules import RULE_TYPES, check_rules, parse_rules
from beholder.rules import fence as fence_module
from beholder.rules.files import matches
from beholder.rules.parse import ARGS
from beholder.tasks import RunDirectory
from tests.fakes.processes import left_of

Build = Callable[..., Submission]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A submission of files by name, as a run directory holds it."""

    def build(files: Mapping[str, bytes | str], response: str | None = None) -> Submission:
        root = tmp_path / "t1" / "artifacts"
        for name, data in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        if response is not None:
            (tmp_path / "t1").mkdir(exist_ok=True)
            (tmp_path / "t1" / "response.txt").write_text(response, encoding="utf-8")
        return opened(tmp_path)

    return build


def opened(path: Path) -> Submission:
    return RunDirectory(path, "m").open(Task(id="t1", fields={}, labels={}, row=1))


def check(submission: Submission, *rules: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(one.outcome, one.detail) for one in check_rules(parse_rules(list(rules)), submission)]


def outcomes(submission: Submission, *rules: Mapping[str, Any]) -> list[str]:
    return [outcome for outcome, _ in check(submission, *rules)]


def valid(glob: str, form: str) -> dict[str, str]:
    return {"type": "valid", "glob": glob, "as": form}


def contains(where: str, **more: Any) -> dict[str, Any]:
    return {"type": "text_contains", "in": where, **more}


# --- files made by the libraries that people make them with --------------------------------------


def word(*paragraphs: str, header: str = "") -> bytes:
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    table = document.add_table(rows=1, cols=1)
    table.cell(0, 0).text = "in a table"
    if header:
        document.sections[0].header.paragraphs[0].text = header
    return saved(document.save)


def slides(*titles: str) -> bytes:
    show = pptx.Presentation()
    for title in titles:
        show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = title
    return saved(show.save)


def workbook(sheets: Mapping[str, list[list[Any]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return saved(book.save)


def pdf(*pages: str) -> bytes:
    buffer = io.BytesIO()
    paper = canvas.Canvas(buffer)
    for text in pages:
        paper.drawString(50, 50, text)
        paper.showPage()
    paper.save()
    return buffer.getvalue()


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


# --- what the rules say -------------------------------------------------------------------------


def test_no_rules_are_no_rules() -> None:
    """None, empty text and an empty list are no rules; a list's JSON text is the list."""
    assert parse_rules(None) == parse_rules("") == parse_rules("  ") == parse_rules([]) == ()
    rules = [{"type": "file_exists", "glob": "a"}]
    assert (
        parse_rules(json.dumps(rules))
        == parse_rules(rules)
        == (Rule(type="file_exists", args={"glob": "a"}),)
    )


@pytest.mark.parametrize(
    "entry",
    [
        "the report must exist",
        7,
        None,
        {},
        {"type": "looks_nice"},
        {"type": 7},
        {"type": None, "glob": "*"},
        ["file_exists"],
        {"rule": "file_exists", "glob": "*"},
    ],
)
def test_unknown_rule_is_not_supported(entry: Any) -> None:
    """What is no rule that is known is `not_supported` with what could be written, never passed."""
    (result,) = check_rules(parse_rules([entry]), Submission(task_id="t", model="m", root=None))
    assert result.outcome == "not_supported"
    assert result.detail
    json.dumps(dict(result.args), allow_nan=False)


@pytest.mark.parametrize("value", [{"type": "file_exists", "glob": "*"}, 3, "[1, 2", "{}"])
def test_what_is_no_list_is_one_rule_that_is_not_checked(value: Any) -> None:
    """Anything but a list is reported as one rule that is not checked."""
    (rule,) = parse_rules(value)
    assert rule.problem in {"not_supported", "error"}


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"type": "file_exists"}, '"glob" is missing'),
        ({"type": "file_exists", "glob": ""}, "not blank"),
        ({"type": "file_exists", "glob": 3}, "not blank"),
        ({"type": "file_exists", "glob": "../x"}, "below artifacts/"),
        ({"type": "file_exists", "glob": "/etc/passwd"}, "below artifacts/"),
        ({"type": "file_exists", "glob": "a\\b"}, "below artifacts/"),
        ({"type": "file_exists", "glob": "*", "min_count": -1}, "whole number"),
        ({"type": "file_exists", "glob": "*", "min_count": True}, "whole number"),
        ({"type": "file_exists", "glob": "*", "max_count": 0}, '"max_count" 0 is below "min_count" 1'),
        ({"type": "file_exists", "glob": "*", "atleast": 1}, '"atleast" is no argument'),
        ({"type": "text_contains", "in": "a"}, "exactly one of all, any, regex"),
        ({"type": "text_contains", "in": "a", "all": ["x"], "any": ["y"]}, "exactly one"),
        ({"type": "text_contains", "in": "a", "all": []}, "at least one"),
        ({"type": "text_contains", "in": "a", "any": ["x", " "]}, "none of them blank"),
        ({"type": "text_contains", "in": "a", "all": "x"}, "list of texts"),
        ({"type": "text_contains", "in": "a", "regex": "("}, "no regular expression"),
        ({"type": "text_contains", "in": "a", "regex": "x", "ignore_case": "yes"}, "true or false"),
        ({"type": "valid", "glob": "a"}, '"as" is missing'),
        ({"type": "valid", "glob": "a", "as": "exe"}, "one of json, csv"),
        ({"type": "table_has", "glob": "a"}, "at least one of columns, sheets, min_rows"),
        ({"type": "pages", "glob": "a"}, "at least one of min, max"),
        ({"type": "pages", "glob": "a", "min": 3, "max": 2}, '"max" 2 is below "min" 3'),
    ],
)
def test_wrong_arguments_are_an_error_that_says_what(rule: dict[str, Any], word: str) -> None:
    """A known rule with wrong arguments is `error`, with the argument and what it must be."""
    (result,) = check_rules(parse_rules([rule]), Submission(task_id="t", model="m", root=None))
    assert result.outcome == "error"
    assert word in result.detail


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted({name for args in ARGS.values() for name in args}))


@given(JSON | st.lists(st.fixed_dictionaries({"type": st.sampled_from(RULE_TYPES)}) | JSON))
def test_parsing_never_raises(value: Any) -> None:
    """Whatever stands there becomes rules that strict JSON can hold."""
    for rule in parse_rules(value):
        json.dumps([rule.type, dict(rule.args), rule.detail], allow_nan=False).encode()


@given(st.sampled_from(RULE_TYPES), st.dictionaries(NAMES, JSON, max_size=4))
def test_no_rule_passes_on_nothing(kind: str, args: dict[str, Any]) -> None:
    """Without any file no rule with random arguments passes, but one that asks for no file."""
    rules = parse_rules([{"type": kind, **args}])
    (result,) = check_rules(rules, Submission(task_id="t", model="m", root=None))
    if result.outcome == "passed":
        assert (kind, args.get("min_count")) == ("file_exists", 0)


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a.md", "*.md", True),
        ("x/a.md", "*.md", False),
        ("x/a.md", "**/*.md", True),
        ("a.md", "**/*.md", True),
        ("x/y/a.md", "x/**/a.md", True),
        ("x/a.md", "x/**/a.md", True),
        ("x/y/a.md", "x/*/a.md", True),
        ("x/a.md", "x/**", True),
        ("x", "x/**", False),
        ("a.MD", "*.md", False),
        (".hidden", "*", True),
        ("a.md", "./a.md", True),
        ("x/y/z", "**", True),
        ("a1.png", "a[0-9].png", True),
        ("a.md", "artifacts/a.md", False),
    ],
)
def test_patterns(name: str, pattern: str, expected: bool) -> None:
    """Patterns are POSIX ones below artifacts/: `*` stays in its folder, `**` is any folders, case counts."""
    assert matches(name, pattern) is expected


PARTS = st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=4)


@given(PARTS, st.lists(st.sampled_from(["**", "*", "a", "b*", "?"]), min_size=1, max_size=4))
def test_patterns_agree_with_trying_every_way(parts: list[str], wanted: list[str]) -> None:
    """Matching agrees with a recursion that tries every number of folders for each `**`."""

    def tried(parts: list[str], wanted: list[str]) -> bool:
        if not wanted:
            return not parts
        if wanted[0] == "**":
            least = 1 if len(wanted) == 1 else 0
            return any(tried(parts[at:], wanted[1:]) for at in range(least, len(parts) + 1))
        return bool(parts) and fnmatchcase(parts[0], wanted[0]) and tried(parts[1:], wanted[1:])

    parts = [part.replace(".", "c") for part in parts]
    assert matches("/".join(parts), "/".join(wanted)) == tried(parts, wanted)


# --- the five types -----------------------------------------------------------------------------


def test_file_exists_counts(build: Build) -> None:
    """Files are counted between the bounds, also those that no judge is shown; none may be asked for."""
    submission = build({"a.csv": "", "ocr/b.csv": "x", "c.png": b"\x89PNG"})
    assert outcomes(
        submission,
        {"type": "file_exists", "glob": "**/*.csv", "min_count": 2, "max_count": 2},
        {"type": "file_exists", "glob": "*.csv", "min_count": 2},
        {"type": "file_exists", "glob": "*.exe", "min_count": 0, "max_count": 0},
        {"type": "file_exists", "glob": "*", "max_count": 1},
        {"type": "file_exists", "glob": "none"},
    ) == ["passed", "failed", "passed", "failed", "failed"]


def test_links_out_do_not_count(build: Build, tmp_path: Path) -> None:
    """A link that leads out of the folder or to nothing is no file, is not read, and is named."""
    secret = tmp_path / "secret.txt"
    secret.write_text("password")
    build({"real.txt": "x"})
    root = tmp_path / "t1" / "artifacts"
    (root / "out.txt").symlink_to(secret)
    (root / "gone.txt").symlink_to(root / "nothing")
    os.mkfifo(root / "pipe.txt")
    submission = opened(tmp_path)
    found = check(
        submission,
        {"type": "file_exists", "glob": "*.txt"},
        {"type": "file_exists", "glob": "out.txt"},
        contains("out.txt", all=["password"]),
        contains("pipe.txt", any=["x"]),
    )
    assert [outcome for outcome, _ in found] == ["passed", "failed", "failed", "failed"]
    assert "1 file: real.txt" in found[0][1]
    assert "gone.txt" in found[0][1]


def test_text_of_every_format(build: Build) -> None:
    """Text is found in the response, text, PDF, Word, PowerPoint and workbooks, whatever their names."""
    submission = build(
        {
            "a.md": "# Sources\nTotal\n  revenue",
            "b.bin": pdf("Hello from page one", "and two"),
            "c.docx": word("A paragraph", header="The header"),
            "d.pptx": slides("First slide", "Second"),
            "e.xlsx": workbook({"S": [["year", 2024], ["total", 3.5]]}),
            "f.txt": "Füße".encode("utf-16"),
            "g.html": "<p>a &amp; b</p>",
        },
        response="The answer is 42.\nÜBER alles",
    )
    found = check(
        submission,
        contains("response.txt", all=["answer is 42"]),
        contains("response.txt", any=["nothing", "über"], ignore_case=True),
        contains("response.txt", any=["über"]),
        contains("response.txt", regex=r"is \d{2}\."),
        contains("a.md", all=["Total revenue", "# Sources"]),
        contains("*", any=["from page one"]),
        contains("c.docx", all=["A paragraph", "in a table", "The header"]),
        contains("d.pptx", all=["First slide", "Second"]),
        contains("e.xlsx", all=["total 3.5", "2024"]),
        contains("f.txt", all=["Füße"]),
        contains("f.txt", all=["FÜSSE"], ignore_case=True),
        contains("g.html", all=["&amp;"]),
        contains("a.md", all=["Sources", "no such"]),
        contains("**/*.md", regex="^# sources", ignore_case=True),
    )
    assert [outcome for outcome, _ in found] == [
        *("passed", "passed", "failed", "passed", "passed", "passed", "passed", "passed"),
        *("passed", "passed", "passed", "passed", "failed", "passed"),
    ]
    assert '"no such"' in found[12][1]
    assert "Sources" not in found[12][1]


def test_picture_has_no_text(build: Build) -> None:
    """A file without readable text is `not_supported`; beside one that has text it does not matter."""
    submission = build({"a.png": b"\x89PNG\r\n\x1a\n\0\0\0\0", "b.md": "hello", "c.zip": zipped({"x": b"y"})})
    assert outcomes(
        submission,
        contains("a.png", any=["x"]),
        contains("*.zip", any=["x"]),
        contains("*", any=["hello"]),
        contains("*", any=["bye"]),
    ) == ["not_supported", "not_supported", "passed", "failed"]


def zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def locked() -> bytes:
    with pikepdf.open(io.BytesIO(pdf("x"))) as document:
        return saved(lambda out: document.save(out, encryption=pikepdf.Encryption(owner="o", user="u")))


PAGE = "<!doctype html><title>x</title><p>hi"
GOOD = {
    "json": ['{"a": [1, 2.5e3, null]}', "\ufeff[]", "7"],
    "csv": ["a,b\n1,2\n", "a;b\r\n1;2", "one\ntwo\n", 'a,b\n"x, y","line\nbreak"\n', "a\tb\n1\t2"],
    "html": [PAGE, "<!-- c --><html><body>x", "<svg></svg>", "\n<p>x<br>", "<script>if (a < b) {}</script>"],
    "pdf": [pdf("x"), b"junk\n" + pdf("x")],
    "docx": [word("x")],
    "pptx": [slides("x"), slides()],
    "xlsx": [workbook({"S": [["a"]]}), workbook({"S": []})],
}
BAD = {
    "json": ["", "{'a': 1}", "[1,]", "NaN", '{"a": 1} x', b"\xff\xfe", "[Infinity]"],
    "csv": ["", "\n\n", "a,b\n1,2,3\n", 'a,b\n"open', b"\0\0\0"],
    "html": [
        "hello",
        "",
        "```html\n<p>x</p>\n```",
        "<p>hi <b class=",
        "<script>var a = 1;",
        "<p><!-- open",
        "<title>x",
        '{"a": "<p>"}',
        "< p>x",
        b"\x89PNG\0",
    ],
    "pdf": ["", "%PDF-1.7 nothing else", pdf("x")[:200], locked(), word("x")],
    "docx": ["text", word("x")[:500], slides("x"), zipped({"word/document.xml": b"<x/>"})],
    "pptx": [word("x"), slides("x")[:-200], b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)],
    "xlsx": [slides("x"), workbook({"S": [["a"]]})[:-100], "a,b", zipped({"[Content_Types].xml": b"<x/>"})],
}


@pytest.mark.parametrize("form", sorted(GOOD))
def test_valid_tells_good_files_from_bad(build: Build, form: str) -> None:
    """Whole files of a format are valid, by content; broken, cut, locked and other ones are not, with why."""
    files = {f"good-{at}": data for at, data in enumerate(GOOD[form])}
    files |= {f"bad-{at}": data for at, data in enumerate(BAD[form])}
    submission = build(files)
    found = check(submission, *(valid(name, form) for name in files))
    for name, (outcome, detail) in zip(files, found, strict=True):
        assert outcome == ("passed" if name.startswith("good") else "failed"), (
            name,
            files[name][:80],
            detail,
        )
        assert detail.startswith(name)


def test_every_file_must_be_valid(build: Build) -> None:
    """One broken file of several fails the rule and is named; no file at all is no success."""
    submission = build({"a.json": "{}", "b.json": "{", "c/d.json": "[]"})
    assert check(submission, valid("*.json", "json"))[0][1].startswith("b.json: ")
    assert outcomes(submission, valid("*.json", "json"), valid("**/d.json", "json"), valid("x", "json")) == [
        "failed",
        "passed",
        "failed",
    ]


def test_table_has(build: Build) -> None:
    """Columns, sheets and rows are looked for together, in one table, or in each sheet that is named."""
    sales = [[None, None], ["year ", "total  sum"], [2023, 1], [None, None], [2024, 2]]
    submission = build(
        {
            "a.csv": "year,total sum\n2023,1\n\n2024,2\n",
            "b.xlsx": workbook({"Sales": sales, "Notes": [["note"], ["x"]]}),
            "c.json": "[]",
            "d.csv": "year;total sum\n2023;1,5\n",
        }
    )

    def table(glob: str, **more: Any) -> dict[str, Any]:
        return {"type": "table_has", "glob": glob, **more}

    found = check(
        submission,
        table("a.csv", columns=["total sum", "year"], min_rows=2),
        table("a.csv", min_rows=3),
        table("a.csv", sheets=["Sales"]),
        table("b.xlsx", columns=["year", "total sum"], min_rows=2),
        table("b.xlsx", columns=["year", "note"]),
        table("b.xlsx", sheets=["Notes", "Sales"], min_rows=1),
        table("b.xlsx", sheets=["Notes", "Sales"], min_rows=2),
        table("b.xlsx", sheets=["sales"]),
        table("c.json", min_rows=1),
        table("*.csv", columns=["Year"]),
        table("d.csv", columns=["year"], min_rows=1),
        table("a.csv", min_rows=0),
    )
    assert [outcome for outcome, _ in found] == [
        *("passed", "failed", "failed", "passed", "failed", "passed"),
        *("failed", "failed", "not_supported", "failed", "passed", "passed"),
    ]
    assert "2 rows, fewer than 3" in found[1][1]
    assert "its sheets: Sales, Notes" in found[7][1]


def test_pages(build: Build) -> None:
    """Pages of a PDF and slides are counted; what has none before it is laid out is `not_supported`."""
    submission = build({"a.pdf": pdf("1", "2", "3"), "b.pptx": slides("1"), "c.docx": word("x"), "d.md": "x"})

    def pages(glob: str, **more: int) -> dict[str, Any]:
        return {"type": "pages", "glob": glob, **more}

    assert outcomes(
        submission,
        pages("a.pdf", min=3, max=3),
        pages("a.pdf", max=2),
        pages("b.pptx", min=1),
        pages("c.docx", min=1),
        pages("d.md", max=9),
        pages("a.pdf", min=0),
        pages("[ab].*", min=2),
        pages("[ac].*", min=2),
    ) == ["passed", "failed", "passed", "not_supported", "not_supported", "passed", "failed", "not_supported"]


# --- hostile files ------------------------------------------------------------------------------


def test_bombs_are_refused_by_their_headers(build: Build) -> None:
    """An archive that unpacks to more than is borne, or holds too many members, is not unpacked."""
    bomb = zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": bytes(600 * 2**20)})
    assert len(bomb) < 2**20
    found = check(build({"bomb.docx": bomb}), valid("*", "docx"), contains("*", any=["x"]))
    assert [outcome for outcome, _ in found] == ["failed", "failed"]
    assert "unpacks to" in found[0][1]


def test_entities_are_not_expanded(build: Build, tmp_path: Path) -> None:
    """A document whose XML names entities, a file of this machine among them, shows nothing of them."""
    secret = tmp_path / "secret"
    secret.write_text("TOPSECRET")
    whole = io.BytesIO(word("PLACE"))
    members = {}
    with zipfile.ZipFile(whole) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    laughs = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 12))
    head = f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{secret}"><!ENTITY l0 "ha">{laughs}]>'.encode()
    body = members["word/document.xml"].partition(b"<w:document")
    members["word/document.xml"] = head + body[1] + body[2].replace(b"PLACE", b"&s;&l11;")
    assert "passed" not in outcomes(
        build({"a.docx": zipped(members)}), contains("*", any=["TOPSECRET"]), contains("*", any=["hahaha"])
    )


def test_patterns_and_depth_are_bounded(build: Build) -> None:
    """A pattern that explodes and files nested without end become `error` in bounded time, not `passed`."""
    submission = build({"deep.json": "[" * 10**6 + "]" * 10**6}, response="a" * 40 + "!")
    found = check(
        submission,
        contains("response.txt", regex=r"^(a|a)*$"),
        valid("deep.json", "json"),
        contains("response.txt", all=["aaa"]),
    )
    assert [outcome for outcome, _ in found] == ["error", "error", "passed"]
    assert "not done with it" in found[0][1]
    assert "nested deeper" in found[1][1]


def test_reader_that_dies_takes_only_its_rule_along(build: Build) -> None:
    """A file that needs too much memory or time makes its rule an `error`; the others are checked."""
    far = openpyxl.Workbook()
    far.active["A1"] = "year"
    far.active["XFD1048576"] = "far"
    submission = build({"far.xlsx": saved(far.save), "a.json": "{}"})
    found = check(submission, valid("a.json", "json"), valid("far.xlsx", "xlsx"), valid("a.json", "json"))
    assert [outcome for outcome, _ in found] == ["passed", "error", "passed"]
    assert "far.xlsx" in found[1][1] or "could not be checked" in found[1][1]


def test_file_that_has_changed_is_not_checked(build: Build, tmp_path: Path) -> None:
    """A file that is another one than when the submission was read, or a link now, is an `error`."""
    submission = build({"a.json": "{}", "b.json": "{}"})
    (tmp_path / "t1" / "artifacts" / "a.json").write_text("[]")
    (tmp_path / "t1" / "artifacts" / "b.json").unlink()
    (tmp_path / "t1" / "artifacts" / "b.json").symlink_to("a.json")
    found = check(submission, valid("a.json", "json"), valid("b.json", "json"))
    assert [outcome for outcome, _ in found] == ["error", "error"]
    assert "changed" in found[0][1]


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def plain_fence() -> Mapping[str, Any]:
    """What this machine gives to any worker."""

    async def start() -> Mapping[str, Any]:
        worker = await start_worker((), Limits())
        await worker.aclose()
        return worker.fence

    return asyncio.run(start())


@pytest.mark.skipif(sys.platform != "linux", reason="environments are read from /proc")
def test_files_are_read_behind_the_fence(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads files has no key, network or rights, answers all the same, and is gone afterwards."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123")
    seen: list[tuple[psutil.Process, Mapping[str, Any]]] = []
    environments: list[bytes] = []
    start = fence_module.start_worker

    async def spy(*args: Any, **kwargs: Any) -> Worker:
        worker = await start(*args, **kwargs)
        seen.append((psutil.Process(worker.running.process.pid), worker.fence))
        environments.append(environment_of(worker.running.process.pid))
        return worker

    monkeypatch.setattr(fence_module, "start_worker", spy)
    submission = build({"a.json": "{}", "b.pdf": pdf("x")})
    assert outcomes(submission, valid("a.json", "json"), valid("b.pdf", "pdf")) == ["passed", "passed"]
    assert len(seen) == 2
    for (_, fence), environment in zip(seen, environments, strict=True):
        assert b"HOME=" in environment
        assert b"sk-secret" not in environment
        assert fence == plain_fence()
        assert fence["user"] == (WORKER_USER if os.geteuid() == 0 else os.geteuid())
    assert left_of(process for process, _ in seen) == []


def test_threads_check_side_by_side(build: Build) -> None:
    """As many threads as there are tasks may check rules at once, each from its own."""
    submission = build({"a.json": "{}", "b.pdf": pdf("x")})
    rules = parse_rules([valid("a.json", "json"), valid("b.pdf", "pdf"), valid("a.json", "csv")])

    async def checked() -> list[list[str]]:
        each = (asyncio.to_thread(check_rules, rules, submission) for _ in range(5))
        return [[result.outcome for result in results] for results in await asyncio.gather(*each)]

    assert asyncio.run(checked()) == [["passed", "passed", "passed"]] * 5


LOOKS = """
import importlib, json, sys
from pathlib import Path
for name in sys.argv[1:]:
    importlib.import_module(name)
from beholder.rules.look import look, preload
preload()
began = []
sys.addaudithook(lambda event, args: event in ("import", "open") and began.append((event, args[0])))
for suffix, form, data in json.loads(sys.stdin.read()):
    data = bytes.fromhex(data)
    for rule in (
        ["text_contains", {"any": ["x"]}], ["text_contains", {"regex": "x"}], ["pages", {"min": 1}],
        ["valid", {"as": form}], ["table_has", {"columns": ["a"], "min_rows": 1}],
    ):
        look(json.dumps(rule), suffix, data)
print(began)
"""


@pytest.mark.parametrize("documents", [False, True])
def test_readers_open_no_file(documents: bool) -> None:
    """Once it has loaded its modules a reader imports nothing and opens no file, whatever it reads."""
    modules = fence_module._DOCUMENTS if documents else fence_module._TEXTS
    texts = [
        *GOOD["json"],
        *GOOD["csv"],
        *GOOD["html"],
        *BAD["json"],
        *BAD["csv"],
        *BAD["html"],
        "Füße".encode("cp1252"),
    ]
    files = [
        (suffix, form, one)
        for form in ("json", "csv", "html")
        for suffix in (".csv", ".bin")
        for one in texts
    ]
    if documents:
        kinds = ("pdf", "docx", "pptx", "xlsx")
        files = [(".x", form, one) for form in kinds for one in (*GOOD[form], *BAD[form], "text", b"PK\3\4x")]
    sent = json.dumps([(s, f, (d.encode() if isinstance(d, str) else d).hex()) for s, f, d in files])
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, *modules], input=sent, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_files_alone_need_no_process(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting files and looking into the response start no process."""
    monkeypatch.setattr(fence_module, "start_worker", None)
    submission = build({"a": "x"}, response="hello")
    assert outcomes(
        submission, {"type": "file_exists", "glob": "a"}, contains("response.txt", all=["hello"])
    ) == [
        "passed",
        "passed",
    ]


def test_result_names_the_rule(build: Build) -> None:
    """A result holds the rule as it was written, and is what a row takes."""
    rule = {"type": "file_exists", "glob": "a", "min_count": 1}
    (result,) = check_rules(parse_rules([rule]), build({"a": "x"}))
    args = {"glob": "a", "min_count": 1}
    assert result == RuleResult(type="file_exists", args=args, outcome="passed", detail="1 file: a")


def test_example_of_the_docs_is_right() -> None:
    """The rules in the docs are rules that can be checked, and every type stands there."""
    text = (Path(__file__).parents[1] / "docs" / "rules.md").read_text("utf-8")
    block = "\n".join(line for line in text.splitlines() if line.startswith("    "))
    rules = parse_rules(json.loads("{" + block + "}")["evaluation"]["rule_based"])
    assert {rule.type for rule in rules} == set(RULE_TYPES)
    assert [rule.problem for rule in rules] == [None] * len(rules)
