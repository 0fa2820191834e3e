"""The one prompt builder: a template, a task's texts and the evidence become the one text that is sent.

Three placeholders are built in. `{media}` lists what is attached; `{response}` and `{artifacts}` hold the
submission's own text, each piece between markers:

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
from beholder.records import Evidence, Picture

BUILT_IN = ("media", "response", "artifacts")
RESPONSE_NAME = "response.txt"
_PLAIN_NAME = re.compile(r"[\w./-]+", re.ASCII)


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
        return describe_media(evidence.pictures)
    if name == "response":
        return _quote_all([text for text in evidence.texts if text[0] == RESPONSE_NAME], "no response text")
    if name == "artifacts":
        return _quote_all([text for text in evidence.texts if text[0] != RESPONSE_NAME], "no text artifact")
    return fields[name]


def describe_media(pictures: Sequence[Picture]) -> str:
    """One line per attached image, in the order they are sent."""
    lines = [f"image {number}: {_describe(picture)}" for number, picture in enumerate(pictures, start=1)]
    return "\n".join(lines) or "(no image is attached)"


def _describe(picture: Picture) -> str:
    words = [quote_name(picture.source)]
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
