"""Keys from a `.env` file. It may set keys only: no other variable of it has any effect."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(r"""\s*(?:export\s+)?([A-Z][A-Z0-9_]*_API_KEY)\s*=\s*(["']?)(.*?)\2\s*""")


def keys_from_dotenv(path: Path) -> dict[str, str]:
    """`NAME_API_KEY=value` lines of a file; empty if there is no file."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    matches = (_LINE.fullmatch(line) for line in lines)
    return {match[1]: match[3] for match in matches if match and match[3]}
