"""The scripts that a fresh clone runs before anything else."""

from __future__ import annotations

import ast
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "tools"


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_a_browser_that_is_here_is_not_installed_again(tmp_path: Path) -> None:
    """Where a browser is found, the script has nothing to install but packages, and succeeds."""
    try:
        find_browser()
    except MissingTool:
        pytest.skip("no browser")
    # Every package is there, says this one: the machine's own are left as they are.
    listed = tmp_path / "dpkg-query"
    listed.write_text("#!/bin/sh\necho installed\n")
    listed.chmod(0o755)
    done = subprocess.run(
        ["sh", str(TOOLS / "install_system.sh")],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "path", sorted([*TOOLS.glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]), ids=lambda path: path.name
)
def test_what_a_script_asks_of_beholder_is_there(path: Path) -> None:
    """Every name that a tool or a benchmark imports from beholder, at its top or in a function, exists."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "beholder":
            module = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")
