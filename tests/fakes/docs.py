"""Pages of documentation, read as a reader would: what they give to type is typed.

```toml posters.toml     a file of that name, written
```console exit=2        each line with `$` is run; its output holds the lines below it, in order, with
                         anything where `…` stands; it ends with that exit code (0 if none is named)
```python                run, in one namespace a page
```text                  what the block of Python above prints, exactly
    beholder …           indented: run, unless it asks a real judge or leaves something out (`…`)
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.runs import environment

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ANYTHING = "…"

_FENCE = re.compile(r"^```(\w*)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^ {4}[^\n]*\n)+", re.MULTILINE)
_ASKS = re.compile(r"--(?:\w+-)*judge(?:-model)? (?!scripted/)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, or the commands of an indented one (`language` is then `shell`).

    Attributes:
        rest: What stands behind the language: a file's name, or `exit=N`.
    """

    language: str
    rest: str
    content: str


def blocks_of(text: str) -> list[Block]:
    """Every block of a page, in order."""
    found = [(match.start(), Block(match[1], match[2] or "", match[3])) for match in _FENCE.finditer(text)]
    # Fences blanked out in place, so that what stands in them is not taken for indented text.
    outside = _FENCE.sub(lambda match: re.sub(r"[^\n]", "-", match[0]), text)
    for match in _INDENTED.finditer(outside):
        content = re.sub(r"^ {4}", "", match[0], flags=re.MULTILINE)
        found.append((match.start(), Block("shell", "", content.replace("\\\n", " "))))
    return [block for _, block in sorted(found, key=lambda pair: pair[0])]


def commands_of(block: Block) -> list[str]:
    """The lines of an indented block that call beholder."""
    lines = (line.removeprefix(".venv/bin/") for line in block.content.splitlines())
    return [line for line in lines if line.startswith("beholder ")]


def needs_a_judge(command: str) -> bool:
    """Whether it would ask a model, or says only in part what to type."""
    words = command.split("#", maxsplit=1)[0]
    asks = words.split()[1] == "judge-run" and "--dry-run" not in words
    return ANYTHING in words or (asks and ("--judge" not in words or _ASKS.search(words) is not None))


def run_page(page: Path, folder: Path) -> dict[str, Any]:
    """Type everything that the page gives to type, in a folder; the names of its Python."""
    names: dict[str, Any] = {}
    shell = Shell(folder)
    printed: str | None = None
    for block in blocks_of(page.read_text("utf-8")):
        if block.language == "text" and not block.rest:
            assert printed == block.content, f"prints\n{printed}\nand not\n{block.content}"
            printed = None
            continue
        assert not printed, f"the page does not say that this is printed: {printed}"
        if block.language == "shell":
            for command in commands_of(block):
                if not needs_a_judge(command):
                    shell.run(command, exit_code=0)
        elif block.language == "console":
            shell.follow(block.content, exit_code=int(block.rest.partition("=")[2] or 0))
        elif block.language == "python":
            printed = run_python(block.content, names, folder)
        else:
            assert block.rest, f"a block of {block.language} without a file's name"
            file = folder / block.rest
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.content, encoding="utf-8")
    assert not printed
    return names


def run_python(code: str, names: dict[str, Any], folder: Path) -> str:
    """What the code prints."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(code, "a page's block", "exec"), names)
    return printed.getvalue()


class Shell:
    """A shell in a folder, whose word `beholder` is this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder.parent / f"{folder.name}.bin"
        self.bin.mkdir(exist_ok=True)
        program = self.bin / "beholder"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m beholder "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def run(self, command: str, *, exit_code: int) -> str:
        """Everything that a command says."""
        clean = environment()
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.folder, capture_output=True, encoding="utf-8", check=False,
            env={**clean, "PATH": f"{self.bin}:{clean['PATH']}"}, timeout=1800,
        )  # fmt: skip
        assert done.returncode == exit_code, (command, done.returncode, done.stderr)
        return done.stdout + done.stderr

    def follow(self, text: str, *, exit_code: int) -> None:
        """Run each line with `$`, and find what stands below it in the output."""
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            output = self.run(command, exit_code=exit_code)
            assert re.search(_pattern(shown), output), f"{command}\nsays\n{output}\nand not\n{shown}"


def _pattern(shown: str) -> str:
    """`…` is anything; blanks are any number of blanks, so that a table may be narrower on the page."""
    pieces = (re.escape(piece.strip("\n")) for piece in shown.strip("\n").split(ANYTHING))
    blanks = (re.sub(r"(?:\\ )+", "[ ]+", piece) for piece in pieces)
    return r"(?s)" + ".*".join(piece.replace("\\\n", "[ ]*\n") for piece in blanks)


# --- names --------------------------------------------------------------------------------------


def code_of(text: str) -> Iterator[str]:
    """Everything that a page sets as code: spans, and the lines of blocks."""
    outside = _FENCE.sub("", text)
    yield from re.findall(r"``?([^`\n]+)``?", _INDENTED.sub("", outside))
    for block in blocks_of(text):
        yield from block.content.splitlines()
