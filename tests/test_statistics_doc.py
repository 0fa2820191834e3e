"""docs/statistics.md: its examples run, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

DOC = Path(__file__).parents[1] / "docs" / "statistics.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_every_example_prints_what_the_page_says() -> None:
    """In the page's order, as a reader would type them."""
    names: dict[str, Any] = {}
    examples = EXAMPLE.findall(DOC.read_text(encoding="utf-8"))
    assert len(examples) >= 6
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # the page's own code
        assert printed.getvalue() == expected, code


def test_the_table_of_intervals_has_one_candidate_that_is_beholders_and_fit() -> None:
    """The page holds what the benchmark prints: beholder fits, Student's t and the bootstraps do not."""
    table = DOC.read_text(encoding="utf-8").split("<!-- intervals -->")[1].split("<!-- /intervals -->")[0]
    lines = [
        [cell.strip() for cell in line.strip("| \n").split("|")] for line in table.splitlines() if "|" in line
    ]
    fit = dict(zip(lines[0][2:], next(line for line in lines if line[0] == "fit")[2:], strict=True))
    assert fit["beholder"] == "**yes**"
    assert [fit[name] for name in ("t", "bootstrap-t", "bca")] == ["no"] * 3
    widths = {
        name: float(cell.split("/")[1])
        for name, cell in zip(
            lines[0][2:], next(line for line in lines if line[0].startswith("least"))[2:], strict=True
        )
    }
    assert all(widths["beholder"] <= width for name, width in widths.items() if fit[name] == "**yes**")
