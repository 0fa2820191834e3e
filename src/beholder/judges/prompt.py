"""The one prompt builder: a template, a task's texts and the evidence become the one text that is sent.

Three placeholders are built in. `{media}` lists what is attached, and what of the submission is not shown:

    image 1: report.pdf, page 1 of 40
    image 2: sales.xlsx, sheet "Q 1", page 2 of 5
    image 3: demo.gif, frame at 3.4 s
    video 1: answer.mp4, 7.2 s
    shown in part: report.pdf: 6 of 40 pages are shown; not shown: pages 7-40
    not shown: data.csv (of a kind that is not looked at)

`{response}` and `{artifacts}` hold the submission's own text, each piece between markers:

    <<<text "notes.md" 6d0c…>>>
    …the text, unchanged…
    <<<end 6d0c…>>>

The marker is made from the piece's own digest, so no text can hold the line that would close it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence

from beholder.errors import TaskError
from beholder.records import ArtifactEvidence, Evidence, Picture, Video

BUILT_IN = ("media", "response", "artifacts")
RESPONSE_NAME = "response.txt"
_PLAIN_NAME = re.compile(r"[\w./-]+", re.ASCII)

MAX_NOT_SHOWN = 20
"""Lines of each sort about what is not shown; the rest is counted."""

MAX_WORDS_CHARS = 300

_WHY_NOT = {
    "budget": "there is no room for it",
    "excluded": "the protocol leaves it out",
    "not_selected": "another file is shown",
    "unsupported": "of a kind that is not looked at",
}


def render_prompt(
    template: str, placeholders: Collection[str], fields: Mapping[str, str], evidence: Evidence
) -> str:
    """The template with its declared placeholders replaced, in one pass.

    What is put in is never looked at again, and every brace that is no declared placeholder stays.

    Raises:
        TaskError: A declared placeholder is neither built in nor among the fields.
    """
    for name in placeholders:
        if name not in BUILT_IN and name not in fields:
            raise TaskError(
                f'placeholder "{name}": the task has no such column; its columns are '
                f"{', '.join(sorted(fields)) or 'none'} (map one with --columns {name}=THEIRS)",
                slug="missing_column",
                concerns=name,
            )
    if not placeholders:
        return template
    names = "|".join(re.escape(name) for name in sorted(placeholders, key=len, reverse=True))
    return re.sub(rf"\{{({names})\}}", lambda found: _value(found[1], fields, evidence), template)


def _value(name: str, fields: Mapping[str, str], evidence: Evidence) -> str:
    if name == "media":
        return describe_media(evidence)
    # Where pictures are judged, a text that is not here may exist all the same.
    shown = " is shown here" if evidence.route == "visual" else ""
    if name == "response":
        texts = [text for text in evidence.texts if text[0] == RESPONSE_NAME]
        return _quote_all(texts, f"no response text{shown}")
    if name == "artifacts":
        texts = [text for text in evidence.texts if text[0] != RESPONSE_NAME]
        return _quote_all(texts, f"no text artifact{shown}")
    return fields[name]


def describe_media(evidence: Evidence) -> str:
    """A line for each attached image and video in the order they are sent, and for what is not shown.

    The judge must know what a budget has cut, or it takes a shown part for all there is.
    """
    lines = [f"image {at}: {_describe(picture)}" for at, picture in enumerate(evidence.pictures, start=1)]
    lines += [f"video {at}: {_describe_video(video)}" for at, video in enumerate(evidence.videos, start=1)]
    lines = lines or ["(no image is attached)"]
    cuts = [
        f"shown in part: {quote_name(one.source)}: {_one_line(one.detail)}"
        for one in evidence.warnings
        if one.code == "truncated"
    ]
    hidden = [f"not shown: {quote_name(one.name)} ({_why_not(one)})" for one in _hidden(evidence)]
    return "\n".join([*lines, *_first(cuts, "shown in part"), *_first(hidden, "not shown")])


def _describe_video(video: Video) -> str:
    return f"{quote_name(video.source)}, {video.duration_s:.1f} s"


def _hidden(evidence: Evidence) -> list[ArtifactEvidence]:
    """Files that the judge does not see; what a page was served of its own folder is seen in the page."""
    served = {name for one in evidence.artifacts for name in one.facts.get("served", ())}
    unseen = [one for one in evidence.artifacts if one.status in {"not_shown", "absent"}]
    return [one for one in unseen if one.name not in served]


def _why_not(artifact: ArtifactEvidence) -> str:
    if artifact.status == "absent":
        return f"it cannot be opened: {artifact.reason}"
    return _WHY_NOT.get(artifact.reason or "", artifact.reason or "left out")


def _first(lines: list[str], what: str) -> list[str]:
    more = len(lines) - MAX_NOT_SHOWN
    return lines if more <= 0 else [*lines[:MAX_NOT_SHOWN], f"{what}: {more} more"]


def _one_line(words: str) -> str:
    """Words with a name of the submission's in them, perhaps: on one line, without hidden signs, bounded."""
    short = words if len(words) <= MAX_WORDS_CHARS else words[:MAX_WORDS_CHARS] + "…"
    return "".join(sign if sign.isprintable() else _escape(sign) for sign in short)


def _describe(picture: Picture) -> str:
    words = [quote_name(picture.source)]
    if picture.sheet is not None:
        words.append(f"sheet {json_quoted(picture.sheet)}")
    if picture.time_s is not None:
        words.append(f"frame at {picture.time_s:.1f} s")
    if picture.page is not None:
        words.append(f"page {picture.page}" + (f" of {picture.pages}" if picture.pages else ""))
    if picture.part is not None:
        total = f" of {picture.parts}" if picture.parts else ""
        words.append("overview (the whole, shrunk)" if picture.part == 0 else f"part {picture.part}{total}")
    return ", ".join(words)


def quote_name(name: str) -> str:
    """A file's name as data: bare where it is plain, else a JSON string without hidden signs."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return json_quoted(name)


def json_quoted(name: str) -> str:
    """A name as a JSON string without hidden signs, on one line."""
    quoted = json.dumps(name, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else _escape(sign) for sign in quoted)


def _escape(sign: str) -> str:
    return (
        sign.encode("ascii", "backslashreplace").decode("ascii") if ord(sign) > 127 else f"\\u{ord(sign):04x}"
    )


def _quote_all(texts: Sequence[tuple[str, str]], nothing: str) -> str:
    return "\n".join(quote_text(name, text) for name, text in texts) or f"({nothing})"


def quote_text(name: str, text: str) -> str:
    """A text between markers that it cannot contain, itself unchanged."""
    marker = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"<<<text {quote_name(name)} {marker}>>>\n{text}\n<<<end {marker}>>>"
