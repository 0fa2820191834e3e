"""docs/your-own-protocol.md, read as a newcomer would: every block is written or run, in order."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.fakes.runs import environment, rows_of

PAGE = Path(__file__).parents[1] / "docs" / "your-own-protocol.md"
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANYTHING = "…"


def run_console(text: str, folder: Path, exit_code: int) -> str:
    """Run each `$` line; its output holds the lines that follow, in order, with anything at `…`."""
    told = ""
    for command, _, shown in (
        part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    ):
        words = shlex.split(command)
        assert words[0] == "beholder"
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=folder, capture_output=True, encoding="utf-8", check=False,
            env={**environment(), "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=300,
        )  # fmt: skip
        assert done.returncode == exit_code, (command, done.stderr)
        pieces = [re.escape(piece.strip("\n")) for piece in shown.strip("\n").split(ANYTHING)]
        output = done.stdout + done.stderr
        assert re.search(r"(?s)" + ".*".join(pieces), output), (command, output)
        told += output
    return told


def test_every_block_of_the_page_works(tmp_path: Path) -> None:
    """Files are written under the names they bear, commands run and print what the page shows."""
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) == PAGE.read_text("utf-8").count("```") // 2
    told = ""
    for language, rest, content in blocks:
        if language == "console":
            told += run_console(content, tmp_path, int(rest.partition("=")[2] or 0))
            continue
        file = tmp_path / rest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    assert [row["main_score"] for row in rows_of(tmp_path / "out")] == [0.95, 0.2]
    strict = {row["task_id"]: row["pass"] for row in rows_of(tmp_path / "out-strict")}
    assert strict == {"concert": True, "market": False}
    assert json.loads((tmp_path / "out" / "judge_summary.json").read_text("utf-8"))["planned"] == 2


def test_every_key_of_a_protocol_is_in_the_starter() -> None:
    """What the page promises: whoever wants more finds each section there."""
    starter = Path(__file__).parents[1] / "src" / "beholder" / "protocols" / "starter.toml"
    text = starter.read_text("utf-8")
    for section in ("prompt", "judge", "repeats", "routing", "evidence", "absent", "score"):
        assert f"[{section}]" in text
    assert "[[criteria]]" in text
