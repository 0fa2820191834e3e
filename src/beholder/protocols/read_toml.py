"""A TOML text -> its document, read on without the lines that are none."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import Any

from beholder.protocols.finding import Finding

MAX_BROKEN_LINES = 20


def read_toml(text: str) -> tuple[dict[str, Any], str, list[Finding]]:
    """(document, the text it was read from, what is no TOML): broken lines are left out one by one."""
    lines = text.split("\n")
    findings: list[Finding] = []
    dropped: list[int] = []
    while True:
        readable = "\n".join(lines)
        try:
            return tomllib.loads(readable, parse_float=Decimal), readable, findings
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"^(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
            number = int(found[2]) if found else len(lines)
            what = (found[1] if found else str(error)).rstrip(".")
        except (ValueError, ArithmeticError, RecursionError):
            # Not a matter of grammar: a number of thousands of digits, brackets nested by the thousand.
            message = "a number in it is too long, or it is nested too deeply; write it shorter"
            return {}, "", [Finding(path=(), message=message, slug="toml")]
        # A bracket or quotation mark that is open makes each line after it look broken: told once.
        torn = bool(dropped) and not any(line.strip() for line in lines[dropped[-1] : number - 1])
        if not torn:
            message = f"not valid TOML: {what[0].lower()}{what[1:]}"
            findings.append(Finding(path=(), message=message, line=number, slug="toml"))
        if torn or number > len(lines) or not lines[number - 1].strip() or len(dropped) >= MAX_BROKEN_LINES:
            return {}, "", findings
        dropped.append(number)
        lines[number - 1] = ""
