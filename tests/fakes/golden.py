"""Golden files: few, small, scrubbed of what varies between versions."""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def check(name: str, actual: str) -> None:
    """Fail unless `actual` is the golden file `name`; the new text is saved beside it."""
    path = GOLDEN / name
    fresh = path.with_name(f"{path.stem}.actual{path.suffix}")
    if path.is_file() and path.read_text(encoding="utf-8") == actual:
        fresh.unlink(missing_ok=True)
        return
    path.parent.mkdir(exist_ok=True)
    fresh.write_text(actual, encoding="utf-8", newline="\n")
    pytest.fail(f"{path} differs. See the difference: diff {path} {fresh}\nAccept it: mv {fresh} {path}")
