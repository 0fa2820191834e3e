"""The scripts that a fresh clone runs before anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from beholder.errors import MissingTool
from beholder.evidence.browser import find_browser

TOOLS = Path(__file__).parents[1] / "tools"


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
