"""What the pages name exists: links, flags, commands, variables, files, fields, codes, public names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

import beholder
from beholder import records
from beholder.cli import main
from beholder.judges.keys import HOST_KEYS
from beholder.report.words import FLAGS, REASONS, WARNINGS
from tests.fakes.docs import DOCS, ROOT, blocks_of, code_of

PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in sorted(
        [
            *DOCS.glob("*.md"),
            *ROOT.glob("*.md"),
            *ROOT.glob("examples/**/*.md"),
            *ROOT.glob("benchmarks/*.md"),
        ]
    )
}


def content(path: Path) -> str:
    """A file's text; nothing where it has just gone, as what another test writes beside its golden file."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""


SOURCES = "\n".join(
    content(path)
    for folder in ("src", "tools", "benchmarks", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".toml", ".json", ".html", ".js", ".css", ".sh", ".txt"}
    and path.name not in {"test_docs_names.py", "corpus.txt"}
    and "__pycache__" not in path.parts
)

OTHER_PROGRAMS = {
    "--limit-mm-per-prompt": "vLLM",
    "--max-model-len": "vLLM",
    "--api-key": "vLLM",
    "--reasoning-parser": "vLLM",
    "--only-shell": "Playwright",
    "--hypothesis-profile": "Hypothesis, by pytest",
}
OTHER_VARIABLES = {
    "OLLAMA_CONTEXT_LENGTH": "Ollama's",
    "NAME_API_KEY": "stands for any",
}

_LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
_SUFFIXES = "py|json|jsonl|md|html|toml|sqlite|txt|csv|xlsx|xml|sh"


def without_code(text: str) -> str:
    """The page's prose: a bracket in code is no link."""
    return re.sub(r"`[^`\n]+`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(text: str) -> set[str]:
    """Of a page's headings, as forges and the site make them."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def first_cells(text: str, heading: str) -> Iterator[str]:
    """Code in the first cells of the tables below a heading, up to the next one."""
    part = re.split(r"^#+ ", f"\n{text}".split(f"\n{heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    for line in part.splitlines():
        if line.startswith("|"):
            yield from re.findall(r"`([^`]+)`", line.split("|")[1])


def names_in(cells: Iterator[str]) -> set[str]:
    """Each name of cells that may hold several."""
    return {name.strip() for cell in cells for name in cell.split(",")}


# --- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    """Files beside the page, and headings within them; addresses outside are not asked."""
    for target in _LINK.findall(without_code(PAGES[page])):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(file.read_text("utf-8")), f"{page}: {target}"


def test_every_page_is_named_on_the_first_one_and_in_the_site() -> None:
    """A page that nothing leads to is read by nobody."""
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    for path in DOCS.glob("*.md"):
        assert path.name == "index.md" or f"({path.name})" in PAGES["docs/index.md"], path.name
        assert f": {path.name}\n" in site, path.name


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """`mkdocs build --strict`; nothing in it is loaded from another host."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "your-own-protocol.html").read_text("utf-8")
    assert "<p><code>posters.toml</code>:</p>" in html  # the hook: the block's file is named
    assert "Ends with exit code 2:" in html
    assert "```" not in html
    loaded = re.findall(r"<(?:script|img|link)[^>]+(?:src|href)=\"([^\"]+)\"", html)
    assert loaded
    assert not [address for address in loaded if re.match(r"(?:https?:)?//", address)]


# --- the command line ---------------------------------------------------------------------------


def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command by its whole name."""
    yield name, command
    if isinstance(command, click.Group):
        for inner, one in command.commands.items():
            yield from walk(one, f"{name} {inner}")


COMMANDS = dict(walk(main, "beholder"))


def flags_of(command: click.Command) -> set[str]:
    """All its flags, `--help` too."""
    return {"--help", "--version", *(flag for one in command.params for flag in one.opts)}


ALL_FLAGS = set().union(*map(flags_of, COMMANDS.values()))


def flags_of_benchmarks(page: str) -> set[str]:
    """What the programs beside a page of benchmarks take."""
    if not page.startswith("benchmarks/"):
        return set()
    return {
        flag for path in (ROOT / "benchmarks").glob("*.py") for flag in _FLAG.findall(path.read_text("utf-8"))
    }


def called(line: str) -> str | None:
    """The command that a line of code calls, as long as it goes; None: none of ours."""
    words = line.removeprefix("$ ").removeprefix(".venv/bin/").split()
    if not words or words[0] != "beholder":
        return None
    name = "beholder"
    for word in words[1:]:
        if f"{name} {word}" not in COMMANDS:
            if isinstance(COMMANDS[name], click.Group) and re.fullmatch(r"[a-z][a-z-]+", word):
                return f"{name} {word}"
            break
        name = f"{name} {word}"
    return name


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_flag_exists(page: str) -> None:
    """A flag behind a command is one of that command; any other is one of some command."""
    for line in code_of(PAGES[page]):
        name = called(line)
        if name is not None:
            assert name in COMMANDS, f"{page}: {line}"
        own = ALL_FLAGS | flags_of_benchmarks(page) if name is None else flags_of(COMMANDS[name])
        for flag in _FLAG.findall(line):
            assert flag in own or flag in OTHER_PROGRAMS, f"{page}: {flag} in {line}"


def test_flags_of_other_programs_are_still_named() -> None:
    """An exception that nothing needs any more goes."""
    everything = "\n".join(PAGES.values())
    assert [flag for flag in OTHER_PROGRAMS if flag not in everything] == []
    assert [name for name in OTHER_VARIABLES if name not in everything] == []
    assert not set(OTHER_PROGRAMS) & ALL_FLAGS


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_is_read(page: str) -> None:
    """Keys by name, and `BEHOLDER_<FLAG>` of a flag that there is."""
    known = {name for names in HOST_KEYS.values() for name in names} | set(OTHER_VARIABLES)
    known |= {
        str(option.envvar) for one in COMMANDS.values() for option in one.params if option.envvar is not None
    }
    text = "\n".join(code_of(PAGES[page]))
    for name in re.findall(r"\b(?:BEHOLDER_[A-Z_]+|[A-Z]+_API_KEY|OLLAMA_[A-Z_]+)\b(?!<)", text):
        assert name in known or name == "BEHOLDER_", f"{page}: {name}"


# --- files, fields, codes -----------------------------------------------------------------------


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("examples/")])
def test_every_file_and_name_in_code_exists(page: str) -> None:
    """A file is in the tree, written by the page, or named in the sources; so is a name with underscores."""
    text = PAGES[page]
    given = "\n".join(f"{block.rest}\n{block.content}" for block in blocks_of(text))
    if page == "docs/protocols.md":  # its left column names what others have published
        text = re.sub(r"^\|.*?(?<!\\)\|", "|", text, flags=re.MULTILINE)
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
        own = re.sub(rf"{_FLAG.pattern} \S+", "", code)  # what is given to a flag is the reader's
        for path in re.findall(rf"(?<![\w./<*-])[\w./-]+\.(?:{_SUFFIXES})(?![\w-])", own):
            there = any((folder / path).exists() for folder in homes(page))
            assert there or Path(path).name in given or Path(path).name in SOURCES, f"{page}: {path}"
        for path in re.findall(r"(?<![\w./])(?:src|docs|tests|tools|benchmarks|examples)/[\w./-]*", code):
            assert (ROOT / path).exists(), f"{page}: {path}"
        for name in re.findall(r"(?<![\w./<-])[a-z]+(?:_[a-z0-9]+)+(?![\w./>*-])", code):
            assert name in SOURCES or name in given, f"{page}: {name}"


def homes(page: str) -> list[Path]:
    """Where a path on a page may start."""
    return [ROOT, (ROOT / page).parent, ROOT / "src" / "beholder", ROOT / "tests", DOCS]


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "src/beholder/schemas" / name).read_text("utf-8"))
    return found


def test_each_field_of_a_row_is_explained_and_no_other() -> None:
    """By the schema that ships."""
    told = names_in(first_cells(PAGES["docs/results.md"], "## A row"))
    assert told == set(schema("row.schema.json")["properties"])


def test_each_field_of_a_summary_is_explained_and_no_other() -> None:
    """By the schema that ships; the hashes are told together."""
    told = names_in(first_cells(PAGES["docs/results.md"], "## A summary"))
    parts = schema("summary.schema.json")["$defs"]
    found = set(parts["figures"]["properties"])
    for part in parts["one"]["allOf"]:
        found |= set(part.get("properties", {}))
    assert told - {"title", "cost_usd"} == found - {"title", "cost_usd"}  # they need not be there


def test_each_field_of_evidence_is_explained_and_no_other() -> None:
    """By the dataclasses that are written."""
    page = PAGES["docs/evidence.md"]
    part = page.split("## `prepared_output_evidence.json`")[1].split("\n## ")[0]
    told = set(first_cells(page, "## `prepared_output_evidence.json`")) | {"reason", "detail"}
    assert told == {one.name for one in fields(records.Evidence)}
    for kind, head in (
        (records.ArtifactEvidence, "artifacts"),
        (records.Picture, "pictures"),
        (records.Video, "videos"),
        (records.Warning_, "warnings"),
    ):
        row = next(line for line in part.splitlines() if line.startswith(f"| `{head}`"))
        listed = re.findall(r"`([^`]+)`", row.split("|")[2])[-1]
        assert set(listed.split(", ")) == {one.name for one in fields(kind)} - {"data"}, head


def test_each_warning_is_explained_and_no_other() -> None:
    """Those that evidence gives, by the sources; each has words in the report, too."""
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "src/beholder/evidence").glob("*.py"))
    given = set(re.findall(r"Warning_\(\s*code=\"(\w+)\"", code))
    given |= set(re.findall(r"\(\"(\w+)\", self\.(?:failed|blocked)\)", code))
    assert 'code=f"damaged_{what}"' in code
    given |= {"damaged_pages", "damaged_frames"}
    assert set(first_cells(PAGES["docs/evidence.md"], "## Warnings")) == given
    assert given <= set(WARNINGS)


def test_each_suffix_that_is_shown_is_in_the_table_of_kinds() -> None:
    """And none that is not."""
    from beholder.evidence.renderers import KINDS

    part = PAGES["docs/evidence.md"].split("## What is shown of each kind")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in part.splitlines() if line.startswith("| ")]
    assert set(re.findall(r"\.[a-z0-9]+", " ".join(rows))) == set(KINDS)


def test_each_reason_and_flag_is_explained() -> None:
    """Codes that a row may hold."""
    text = PAGES["docs/results.md"]
    assert [code for code in [*REASONS, *FLAGS] if f"`{code}`" not in text] == []


def test_each_key_of_a_protocol_is_explained_and_no_other() -> None:
    """By the declarations that check a file."""
    from beholder.protocols import schema as file_schema

    sections = {name for name in file_schema._SECTIONS if name not in {"bands", "columns"}}
    known = {key for key in file_schema.keys_of(()) if key not in sections}
    for name in file_schema._SECTIONS:
        place = ("score", "main") if name == "score" else (name,)
        known |= {f"{name}.{key}" for key in file_schema.keys_of(place)}
    assert names_in(first_cells(PAGES["docs/your-own-protocol.md"], "## Every key")) == known


def test_each_kind_of_problem_is_explained_and_no_other() -> None:
    """Of `validate-run`, by the list in its room's docstring."""
    from beholder import validation

    kinds = set(re.findall(r"^    (\w+)  ", str(validation.__doc__), re.MULTILINE))
    assert len(kinds) > 10
    assert names_in(first_cells(PAGES["docs/results.md"], "## Before a run")) == kinds


def test_each_public_name_is_on_the_page_for_python() -> None:
    """In code, with its arguments as they are."""
    text = PAGES["docs/python-api.md"]
    for name in beholder.__all__:
        assert re.search(rf"`{name}[`(]", text), name
    listed = re.search(r"`RunResult` \| `([^`]+)`", text)
    assert listed
    result = {one.name for one in fields(beholder.RunResult)} | {"unscored"}
    assert set(listed[1].split(", ")) == result
    listed = re.search(r"`Judgement` \| `([^`]+)`", text)
    assert listed
    assert listed[1].split(", ") == [one.name for one in fields(beholder.Judgement)]


def test_each_room_is_on_the_page_of_the_architecture_and_no_other() -> None:
    """Folders and files of the package."""
    told = set(first_cells(PAGES["docs/architecture.md"], "# Architecture"))
    package = ROOT / "src" / "beholder"
    rooms = {f"{path.name}/" for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    rooms |= {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert {name.split("/")[0] + ("/" if "/" in name else "") for name in told} == rooms
    assert all((package / name).exists() for name in told)


def test_rooms_do_not_import_one_another() -> None:
    """As the page of the architecture says."""
    package = ROOT / "src" / "beholder"
    for room in (
        "protocols",
        "tasks",
        "evidence",
        "judges",
        "rules",
        "verdicts",
        "scoring",
        "store",
        "stats",
    ):
        allowed = {room, "errors", "records"} | ({"fenced"} if room in {"evidence", "rules"} else set())
        files = [package / f"{room}.py"] if room == "scoring" else sorted((package / room).rglob("*.py"))
        assert files
        for file in files:
            found = re.findall(r"^\s*(?:from|import) beholder\.(\w+)", file.read_text("utf-8"), re.MULTILINE)
            assert set(found) <= allowed, file


def test_exit_codes_are_those_of_the_command_line() -> None:
    """On the page of results."""
    from beholder.cli import common

    codes = {value for name, value in vars(common).items() if name.startswith("EXIT_")} | {0}
    assert set(map(int, first_cells(PAGES["docs/results.md"], "## Exit codes"))) == codes


def test_the_changelog_says_nothing_twice() -> None:
    """One sentence an entry."""
    text = PAGES["CHANGELOG.md"]
    entries = re.findall(r"^- (.+)$", text, re.MULTILINE)
    assert len(set(entries)) == len(entries)
    assert [entry for entry in entries if not entry.endswith(".") or re.search(r"\. [A-Z]", entry)] == []


def test_the_decisions_say_nothing_twice() -> None:
    """Each choice is named once."""
    heads = re.findall(r"^- \*\*(.+?)\*\*", PAGES["docs/decisions.md"], re.MULTILINE | re.DOTALL)
    assert len({head.lower().strip(" .,:;") for head in heads}) == len(heads) > 100
