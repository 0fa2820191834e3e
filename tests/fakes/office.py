"""Office files made for a test, jobs of them, and a way to run what a worker would run."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import openpyxl
from docx import Document
from pptx import Presentation

from beholder.evidence.kinds import Job
from beholder.records import EvidencePolicy, MediaLimits

_T = TypeVar("_T")


@contextlib.contextmanager
def open_place() -> Iterator[Path]:
    """A folder that other users may enter, with a folder `tmp` in it; pytest's own are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="beholder-place-"))
    try:
        folder.chmod(0o755)
        (folder / "tmp").mkdir()
        (folder / "tmp").chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def job(name: str, data: bytes, **policy: Any) -> Job:
    suffix = "." + name.rpartition(".")[2].lower()
    return Job(
        name=name, suffix=suffix, data=data, policy=EvidencePolicy(**policy), limits=MediaLimits(), budget=32
    )


async def run(module: str, function: str, job: Job, result: type[_T], **more: Any) -> _T:
    """What a worker does, in a thread."""
    made = await asyncio.to_thread(getattr(importlib.import_module(module), function), job, **more)
    assert isinstance(made, result)
    return made


def docx(text: str = "body text") -> bytes:
    document = Document()
    document.add_paragraph(text)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def pptx(text: str = "slide text") -> bytes:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = text
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def xlsx(fill: Callable[[Any], None]) -> bytes:
    book = openpyxl.Workbook()
    fill(book)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def changed(data: bytes, parts: Mapping[str, Callable[[bytes], bytes]]) -> bytes:
    """A zip file with some parts changed; a part that is not there yet is made of nothing."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in {**dict.fromkeys(old.namelist()), **dict.fromkeys(parts)}:
            content = old.read(name) if name in old.namelist() else b""
            new.writestr(name, parts[name](content) if name in parts else content)
    return buffer.getvalue()


def part(data: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return package.read(name).decode()


def odf(kind: str, body: str, *, manifest: str = "") -> bytes:
    """An ODF file: `kind` is `text`, `spreadsheet` or `presentation`."""
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    names = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for prefix, name in (
            ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"),
            ("draw", "drawing"), ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
        )
    )  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("mimetype", media_type)
        made.writestr(
            "META-INF/manifest.xml",
            '<?xml version="1.0"?><manifest:manifest '
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media_type}"/>'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">'
            f"{manifest}</manifest:file-entry></manifest:manifest>",
        )
        made.writestr(
            "content.xml",
            f'<?xml version="1.0"?><office:document-content {names} '
            f'xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2">{body}'
            "</office:document-content>",
        )
    return buffer.getvalue()
