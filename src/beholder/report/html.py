"""`ReportView` -> one HTML page that needs no server and no network.

    <head>  content-security policy: nothing but this page's own style and script, and media beside it
    <main>  ranking, warnings, plots, criteria, groups: plain markup, readable without the script
    <script type="application/json" id="page-data">  what the gallery knows of every item
    <script type="text/plain" id="story-0">, …, id="text-0", …  packs (pack.py), read when an item is opened

The script writes what it reads there through `textContent` alone, so that nothing in it can become markup,
and keeps some dozens of cards in the document however many items there are.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from beholder.report import words
from beholder.report.pack import pack_items, script_safe, to_json
from beholder.report.plots import MARKERS, build_plots
from beholder.report.view import ReportView

TEMPLATES = Path(__file__).parent / "templates"
STYLES = ("base.css", "results.css", "gallery.css", "item.css", "narrow.css", "print.css")
PLAIN_STYLES = ("base.css", "results.css", "narrow.css", "compare.css", "print.css")
SCRIPTS = ("base.js", "data.js", "filters.js", "gallery.js", "evidence.js", "item.js", "zoom.js", "main.js")
"""Joined in this order."""


def render_html(view: ReportView) -> str:
    """The page. Every text of the view is escaped by the template, or is JSON in a data block."""
    style = "".join(map(_source, STYLES))
    script = _joined_script()
    packed = pack_items(view)
    plots = build_plots(view)
    return (
        _environment()
        .get_template("report.html")
        .render(
            view=view,
            data=packed.page,
            plots=[(plot, Markup(plot.svg)) for plot in plots],  # noqa: S704 - drawn here, its texts escaped
            markers=len(MARKERS),
            states=words.STATES,
            words=words,
            policy=content_security_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file, not data
            script=Markup(script),  # noqa: S704 - our own file, not data
            page_json=Markup(script_safe(to_json(packed.page))),  # noqa: S704 - no <, > or & is left in it
            story_packs=packed.stories,
            text_packs=packed.texts,
        )
    )


def render_page(template: str, *, view: object) -> str:
    """A page without scripts; every text of the view is escaped by the template."""
    style = "".join(map(_source, PLAIN_STYLES))
    return (
        _environment()
        .get_template(template)
        .render(
            view=view,
            states=words.STATES,
            words=words,
            policy=content_security_policy(style),
            style=Markup(style),  # noqa: S704 - our own file, not data
        )
    )


def content_security_policy(style: str, script: str | None = None) -> str:
    """Nothing is allowed but this style and this script, by hash, and media from where the page lies.

    `file:` is what `'self'` means to a browser that opened the page from disk.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_source_hash(style)}'",
            *([] if script is None else [f"script-src '{_source_hash(script)}'"]),
            "img-src 'self' file:",
            "media-src 'self' file:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


@cache
def _joined_script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(map(_source, SCRIPTS)) + "})();\n"


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
