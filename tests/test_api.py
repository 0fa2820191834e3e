"""The public names."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import beholder


def test_the_public_names_are_these() -> None:
    """A name that comes or goes is a decision: change this list with it."""
    assert beholder.__all__ == [
        "AsyncJudge",
        "BeholderError",
        "Criterion",
        "Evidence",
        "EvidenceResult",
        "EvidenceSpec",
        "JudgeError",
        "Judgement",
        "MissingTool",
        "NetworkPolicy",
        "Protocol",
        "RenderError",
        "Reply",
        "ReplyError",
        "RunResult",
        "RunSpec",
        "SpecError",
        "StoreError",
        "Submission",
        "SyncJudge",
        "Task",
        "Verdict",
        "__version__",
        "judge_run",
        "load_protocol",
        "load_tasks",
        "open_judge",
        "parse_reply",
        "parse_verdict",
        "prepare_files",
        "score_replies",
        "write_reports",
    ]
    assert beholder.__all__ == sorted(beholder.__all__)


def test_every_public_name_is_documented() -> None:
    """Each class and function has a docstring of its own."""
    for name in beholder.__all__:
        found = getattr(beholder, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert found.__doc__, name


def test_importing_is_cheap() -> None:
    """No browser, vendor library, table reader or numeric library is loaded before it is needed."""
    costly = ("playwright", "pydantic_ai", "anthropic", "openai", "scipy", "numpy", "openpyxl", "PIL", "rich")
    code = f"import sys, beholder; print([name for name in {costly!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_the_version_heads_the_changelog_or_is_unreleased() -> None:
    """CHANGELOG.md has a section for the version, or one for what is not released yet."""
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert heads[0] == "Unreleased" or heads[0].startswith(beholder.__version__)
