"""Which texts of a submission a wording of the user's own has a place for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from beholder.judges.prompt import RESPONSE_NAME
from beholder.records import Evidence


def only_placed(evidence: Evidence, placeholders: Collection[str]) -> Evidence:
    """Evidence of the text route without the texts that the prompt has no place for, which are listed.

    A wording of the user's own is sent as it stands. If it has a place for none of the texts, the judge would
    be asked about nothing: that is no question to send.
    """
    if evidence.status != "ok" or evidence.route != "text":
        return evidence
    unplaced = {name for name, _ in evidence.texts if _place_of(name) not in placeholders}
    if not unplaced:
        return evidence
    left_out = replace(
        evidence,
        texts=tuple(text for text in evidence.texts if text[0] not in unplaced),
        artifacts=tuple(
            replace(one, status="not_shown", reason="not_selected", detail="the prompt has no place for it")
            if one.name in unplaced and one.status == "shown"
            else one
            for one in evidence.artifacts
        ),
        warnings=tuple(one for one in evidence.warnings if one.source not in unplaced),
    )
    if left_out.texts:
        return left_out
    places = " and ".join(sorted({f"{{{_place_of(name)}}}" for name in unplaced}, reverse=True))
    detail = f"the prompt has no place for this submission's texts; write {places} into it"
    return replace(left_out, status="unscored", reason="rejected", detail=detail)


def _place_of(name: str) -> str:
    """The placeholder that a text is shown by."""
    return "response" if name == RESPONSE_NAME else "artifacts"
