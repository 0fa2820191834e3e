"""One budget for a submission's files: what each may show once it is known what each has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from beholder.evidence.allot import cut_note, cut_text, fair_shares
from beholder.evidence.kinds import Shown
from beholder.records import Picture, Warning_


def cut_pictures(shown: Shown, share: int, name: str) -> Shown:
    """What is shown of an artifact in at most `share` pictures.

    Of frames the first, the last and those evenly between stay; of anything else the first ones, for an
    overview comes before its parts and a document's beginning before its end.
    """
    pictures = shown.pictures
    if len(pictures) <= share:
        return shown
    kept = _spread(pictures, share) if pictures[0].time_s is not None else pictures[:share]
    detail = f"{len(kept)} of {len(pictures)} pictures are shown, for other files share the budget"
    cut = Warning_(code="truncated", detail=detail, source=name)
    return replace(shown, pictures=kept, warnings=(*shown.warnings, cut))


def _spread(pictures: Sequence[Picture], share: int) -> tuple[Picture, ...]:
    last = len(pictures) - 1
    if share == 1:
        return (pictures[last],) if last else tuple(pictures)
    return tuple(pictures[at * last // (share - 1)] for at in range(share)) if share else ()


def cut_texts(
    texts: Sequence[tuple[str, str]], chars: int, in_all: Sequence[int]
) -> tuple[tuple[tuple[str, str], ...], tuple[Warning_, ...]]:
    """(the texts cut to `chars` characters in all, what was cut). Shared fairly; the order stays.

    Args:
        in_all: How many characters each has, for what is said of a cut: a text that is far longer than the
            budget is not held as a whole.
    """
    shares = fair_shares([len(text) for _, text in texts], chars)
    kept: list[tuple[str, str]] = []
    warnings: list[Warning_] = []
    for (name, text), share, whole in zip(texts, shares, in_all, strict=True):
        part, left_out = cut_text(text, share)
        kept.append((name, part))
        if left_out:
            detail = cut_note(len(part), whole)
            warnings.append(Warning_(code="truncated", detail=detail, source=name))
    return tuple(kept), tuple(warnings)
