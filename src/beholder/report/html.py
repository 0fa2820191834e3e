"""`ReportView` -> one HTML page that needs no server and no network.

    <head>  content-security policy: nothing but this page's own style and script, and pictures beside it
    <main>  ranking, criteria, groups, a card per item: plain markup, readable without the script
    <script type="application/json" id="item-N-data">  an item's whole story, read when it is opened

The script writes what it reads there through `textContent` alone. So a page of thousands of items parses
fast, for the stories stay text until asked for, and nothing in them can become markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from beholder.report import words
from beholder.report.items import ItemView
from beholder.report.view import ReportView

TEMPLATES = Path(__file__).parent / "templates"

_UNSAFE_IN_SCRIPT = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})

_CARD_ONLY = ("score_value", "position", "repeat_scores", "order")


def render_html(view: ReportView) -> str:
    """The page. Every text of the view is escaped by the template, or is JSON in a data block."""
    style, script = _source("report.css"), _source("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            view=view,
            states=words.STATES,
            words=words,
            policy=content_security_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file, not data
            script=Markup(script),  # noqa: S704 - our own file, not data
            item_json=item_json,
        )
    )


def content_security_policy(style: str, script: str) -> str:
    """Nothing is allowed but this style and this script, by hash, and pictures from where the page lies.

    `file:` is what `'self'` means to a browser that opened the page from disk.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_source_hash(style)}'",
            f"script-src '{_source_hash(script)}'",
            "img-src 'self' file:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def item_json(item: ItemView) -> Markup:
    """An item as JSON that cannot end the script element it stands in."""
    data = {key: value for key, value in asdict(item).items() if key not in _CARD_ONLY}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_UNSAFE_IN_SCRIPT))  # noqa: S704 - no <, > or & is left in it


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _source(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
