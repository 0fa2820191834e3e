"""Where LibreOffice is on this machine, and how it is installed where it is not."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from beholder.errors import MissingTool

INSTALL = "apt-get install libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui"


def find_soffice(path: str | None = None) -> Path:
    """The program to start: `path`, else LibreOffice's own place in the system.

    Raises:
        MissingTool: There is none; the message is the line that installs it.
    """
    if path is not None:
        if not os.access(path, os.X_OK):
            raise MissingTool(f"there is no LibreOffice at {path}; install it: {INSTALL}", concerns="office")
        return _binary(Path(path))
    candidates = [shutil.which("soffice"), shutil.which("libreoffice")]
    if sys.platform == "darwin":
        candidates.append("/Applications/LibreOffice.app/Contents/MacOS/soffice")
    candidates += [str(place) for place in sorted(Path("/opt").glob("libreoffice*/program/soffice"))[::-1]]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return _binary(Path(candidate))
    hint = INSTALL if sys.platform == "linux" else "https://www.libreoffice.org/download/"
    raise MissingTool(f"no LibreOffice to convert documents with: {hint}", concerns="office")


def _binary(path: Path) -> Path:
    """The program itself, where the command is a script that waits for it."""
    binary = path.resolve().with_name("soffice.bin")
    return binary if os.access(binary, os.X_OK) else path
