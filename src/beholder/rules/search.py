"""What a text must contain."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from beholder.rules.files import NotChecked

REGEX_S = 2.0
"""Seconds for one pattern over one text."""

MAX_TEXT_CHARS = 16_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Texts to be found, or a pattern.

    Attributes:
        texts: Compared in composed form (NFC), a run of white space being one space: where a line breaks in
            a page is nobody's content.
        every: Whether each of them must be there, or one is enough.
        pattern: Searched for in the text as it is, `.` not matching line ends and `^`, `$` those of the text.
    """

    texts: tuple[str, ...]
    every: bool
    pattern: str | None
    ignore_case: bool

    @classmethod
    def of(cls, args: Mapping[str, Any]) -> Wanted:
        """From a rule's arguments."""
        return cls(
            texts=tuple(args.get("all") or args.get("any") or ()),
            every="all" in args,
            pattern=args.get("regex"),
            ignore_case=args.get("ignore_case", False),
        )

    def found_in(self, text: str) -> tuple[Literal["passed", "failed"], str]:
        """Whether the text has it, and what was found or is missing.

        Raises:
            NotChecked: It takes too long.
        """
        if len(text) > MAX_TEXT_CHARS:
            raise NotChecked(f"{len(text)} characters, and at most {MAX_TEXT_CHARS} are searched")
        if self.pattern is not None:
            return self._search(self.pattern, text)
        there = self._compared(text)
        missing = [wanted for wanted in self.texts if self._compared(wanted) not in there]
        if not missing:
            return "passed", "contains all of it"
        if not self.every and len(missing) < len(self.texts):
            found = next(wanted for wanted in self.texts if wanted not in missing)
            return "passed", f"contains {_quoted(found)}"
        return "failed", f"does not contain {', '.join(map(_quoted, missing[:5]))}"

    def _compared(self, text: str) -> str:
        plain = " ".join(unicodedata.normalize("NFC", text).split())
        return unicodedata.normalize("NFC", plain.casefold()) if self.ignore_case else plain

    def _search(self, pattern: str, text: str) -> tuple[Literal["passed", "failed"], str]:
        import regex

        flags = regex.IGNORECASE if self.ignore_case else 0
        try:
            found = regex.search(pattern, text, flags=flags, timeout=REGEX_S)
        except TimeoutError:
            raise NotChecked(f"the pattern is not done with it after {REGEX_S:g} s") from None
        except MemoryError:
            raise NotChecked("there is not enough memory for the pattern") from None
        if found is None:
            return "failed", "the pattern is nowhere in it"
        return "passed", f"contains {_quoted(found[0])}"


def _quoted(text: str) -> str:
    short = " ".join(text.split())
    return f'"{short[:80]}{"…" if len(short) > 80 else ""}"'
