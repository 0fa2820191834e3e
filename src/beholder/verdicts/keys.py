"""Which member of a reply is which criterion: exact names first, then names that differ in form only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from beholder.records import Criterion

QUOTES = "\"'“”‘’„＂"
"""Everything that judges put around a key."""

BLANKS = " \t\n\r\v\f\u00a0\u3000\u200b\u200c\u200d\u2060\ufeff"
"""What may stand around a key or a value without being part of it."""

_MAX_KEY = 256  # characters; normalizing is not linear on runs of combining marks


def fold_key(key: str) -> str:
    """The key without what a keyboard or a typesetter adds: outer blanks, letter case, full-width forms."""
    if len(key) > _MAX_KEY:
        return key
    if key.isascii():
        return key.lower().strip(BLANKS)
    return unicodedata.normalize("NFKC", key).casefold().strip(BLANKS)


@dataclass(frozen=True, slots=True)
class Keys:
    """The criteria's names, ready to be looked up.

    Attributes:
        exact: The names as the rubric has them, in its order.
        folded: Folded name -> name; names that fold alike are left out, for there it would be a guess.
        stray: Finds a quoted name with its colon in text that no object could be read from.
    """

    exact: tuple[str, ...]
    folded: Mapping[str, str]
    stray: re.Pattern[str]

    def match(self, key: str) -> str | None:
        """The criterion that `key` names, or None. Translations and synonyms are never taken."""
        if key in self.exact:
            return key
        return self.folded.get(fold_key(key))

    def may_begin(self, text: str) -> bool:
        """Whether `text`, cut off where the reply ends, may be the beginning of a criterion's name."""
        folded = fold_key(text)
        return bool(folded) and any(name.startswith(folded) for name in map(fold_key, self.exact))


def build_keys(criteria: Sequence[Criterion]) -> Keys:
    """The lookup table of a rubric.

    Raises:
        ValueError: There is no criterion, or two have one name.
    """
    exact = tuple(criterion.key for criterion in criteria)
    if not exact:
        raise ValueError("a reply cannot be read without criteria")
    if len(set(exact)) < len(exact):
        raise ValueError("two criteria have the same key")
    folds = [fold_key(key) for key in exact]
    folded = {fold: key for fold, key in zip(folds, exact, strict=True) if folds.count(fold) == 1}
    names = "|".join(re.escape(key) for key in sorted(exact, key=len, reverse=True))
    quote = rf"\\?[{QUOTES}]"
    return Keys(exact, folded, re.compile(rf"{quote}\s*+(?:{names})\s*+{quote}\s*+[:：]", re.IGNORECASE))
