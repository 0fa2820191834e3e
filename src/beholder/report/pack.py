"""Items -> the data that `report.html` carries, in three layers.

    page      JSON in the page: what the gallery filters, sorts and shows of each item; read at once
    stories   an item's whole story but for the texts; read when an item is opened, or at a search for words
    texts     prompt and raw replies; read when an item is opened

Stories and texts are packs: base64 of deflated UTF-8 JSON, a list of so many items each. Thousands of prompts
share most of their words, so that sixty megabytes of them are a few in the file, the page is one file, and a
browser inflates only what is looked at. The data is inline, for a page from disk may not
fetch the file beside it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from beholder.report import words
from beholder.report.items import ItemView
from beholder.report.view import Items, ReportView

STORIES = 50
TEXTS = 25
"""Items in one pack."""

MOST_CHOICES = 40
"""A label with more values than this gets no filter of its own; words in it are found all the same."""

_UNSAFE_IN_SCRIPT = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_LEVEL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The three layers: `page` is JSON-ready, the packs are text for the page."""

    page: dict[str, Any]
    stories: list[str]
    texts: list[str]


def pack_items(view: ReportView) -> Packed:
    """The data of every item, each built once and kept only packed."""
    items = view.items
    labels = _label_names(items)
    cards: list[dict[str, Any]] = []
    stories: list[str] = []
    for start in range(0, len(items), STORIES):
        built = [items[index] for index in range(start, min(start + STORIES, len(items)))]
        cards += [_card(item, labels) for item in built]
        stories.append(pack(built))
    texts = [
        pack([items.verbatim(index) for index in range(start, min(start + TEXTS, len(items)))])
        for start in range(0, len(items), TEXTS)
    ]
    return Packed(page=_page(view, labels, cards), stories=stories, texts=texts)


def _page(view: ReportView, labels: list[str], cards: list[dict[str, Any]]) -> dict[str, Any]:
    """What the gallery knows of every item, and the words for its codes."""
    return {
        "models": [model.name for model in view.models],
        "labels": labels,
        "choices": _choices(labels, cards),
        "digits": view.scale.digits,
        "states": dict(words.STATES),
        "stories": STORIES,
        "texts": TEXTS,
        "codes": _codes(cards),
        "items": cards,
    }


def to_json(value: Any) -> str:
    """Strict JSON; a dataclass is the object of its fields."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_fields)


def script_safe(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.translate(_UNSAFE_IN_SCRIPT)


def pack(value: Any) -> str:
    """A value as base64 of deflated JSON; half a surrogate pair stays an escape."""
    data = to_json(value).encode("utf-8", errors="backslashreplace")
    return base64.b64encode(zlib.compress(data, _LEVEL)).decode("ascii")


def unpack(text: str) -> Any:
    """What `pack` was given, as plain JSON."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def _fields(value: object) -> dict[str, Any]:
    names: tuple[str, ...] = getattr(value, "__slots__", ())
    if not names:
        raise TypeError(f"a {type(value).__name__} is no JSON")
    return {name: getattr(value, name) for name in names}


def _label_names(items: Items) -> list[str]:
    rows = (items.row(index) for index in range(len(items)))
    return [str(name) for name in dict.fromkeys(name for row in rows for name in row.get("labels") or {})]


def _card(item: ItemView, labels: list[str]) -> dict[str, Any]:
    """What a card shows and a filter asks for; what is empty is left out."""
    values = dict(item.labels)
    thumbnail = item.thumbnail
    card = {
        "task": item.task_id,
        "at": item.order[0],
        "model": item.order[1],
        "state": item.state,
        "score": item.score,
        "of": item.scale,
        "value": item.score_value,
        "repeats": item.repeat_scores if len(item.repeat_scores) > 1 else None,
        "spread": item.spread,
        "reason": item.reason.code if item.reason else None,
        "flags": [note.code for note in item.flags],
        "warnings": list(dict.fromkeys(note.code for note in item.warnings)),
        "labels": [values.get(name) for name in labels],
        "thumb": thumbnail.thumb if thumbnail else None,
        "pictures": len(item.pictures),
        "videos": len(item.videos),
        "route": item.route,
    }
    return {key: value for key, value in card.items() if value not in (None, [], "", 0) or key in _ALWAYS}


_ALWAYS = ("task", "at", "model", "state", "value")


def _choices(labels: list[str], cards: list[dict[str, Any]]) -> list[list[str] | None]:
    """The values of each label, where they are few enough to choose from."""
    found: list[list[str] | None] = []
    for position in range(len(labels)):
        values = {card["labels"][position] for card in cards if "labels" in card} - {None}
        found.append(sorted(values, key=words.natural_order) if 1 < len(values) <= MOST_CHOICES else None)
    return found


def _codes(cards: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """The words for every code that occurs."""

    def told(codes: set[str], say: Callable[[str], str]) -> dict[str, str]:
        return {code: say(code) for code in sorted(codes)}

    return {
        "reasons": told({card["reason"] for card in cards if "reason" in card}, words.reason),
        "flags": told({code for card in cards for code in card.get("flags", ())}, words.flag),
        "warnings": told({code for card in cards for code in card.get("warnings", ())}, words.warning),
    }
