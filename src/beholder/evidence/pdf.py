"""PDF pages as a reader draws them: rotated, cropped, with form fields and annotations.

A page is one picture at the judge's sharp size. Only where that would be unreadable, as for a poster or a
wide sheet, it is laid out like a long page: an overview and tiles. Every picture is drawn straight from the
page, so that memory is bounded by the largest picture and not by the page.

PDFium is not thread-safe: one process draws one document at a time.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from pypdfium2.version import PDFIUM_INFO

from beholder.errors import BrokenArtifact, RendererFailed
from beholder.evidence.allot import fair_shares
from beholder.evidence.capture import Box
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.layout import Plan, border_words, bordered_size, fit_scale, scaled_size
from beholder.evidence.layout import plan as make_plan
from beholder.evidence.pdf_fonts import fonts_not_embedded
from beholder.evidence.pictures import make_picture
from beholder.evidence.pixels import Pixels, encode_pixels, is_flat_pixels
from beholder.evidence.sniff import check_kind
from beholder.records import Layout, MediaLimits, Picture, Warning_

MAX_DPI = 150
"""A page is drawn no finer: print of 6 pt is read at it, and a judge pays by the pixel."""

LEAST_DPI = 72
"""Below it a page is cut into tiles: body text of 10 pt then is less than 10 px high."""

NATURAL_DPI = 96
"""What tiles are drawn at: a CSS pixel, and what a spreadsheet program shows at 100 %."""

MAX_PICTURE_PIXELS = 16_000_000
"""Pixels of one picture, whatever the judge takes: 48 MB while it is drawn."""

MAX_PAGE_PX = 1_000_000
MAX_PAGE_PIXELS = 10_000_000_000
"""Edge and area that a page may have in tiles, of which the budget shows some; above, it is drawn smaller."""

MAX_EDGE_PT = 14_400
"""A page with a longer edge is beyond what programs draw in parts (ISO 32000-1, annex C.2: 200 inches). It is
shown as one picture: its tiles would take every picture there is, most of them empty."""

_POINTS_PER_INCH = 72
_ENCRYPTED = (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How one page is drawn: its size in px at `dpi`, and the plan over it."""

    dpi: float
    size: tuple[int, int]
    plan: Plan


def preload() -> None:
    """Load what drawing needs while files may still be opened."""
    document = pdfium.PdfDocument.new()
    document.new_page(10, 10).render()
    document.close()


def render_pdf(job: Job) -> Shown:
    """The first pages of a PDF.

    Raises:
        BrokenArtifact: `empty`, `wrong_type`, `encrypted` or `corrupt`.
        RendererFailed: What was drawn cannot be encoded.
    """
    check_kind(job.name, job.data, "pdf", "a PDF")
    return render_pages(job, job.data)


def render_pages(job: Job, data: bytes, *, labels: Sequence[str] | None = None) -> Shown:
    """The first pages of the PDF `data`, as evidence of the artifact `job`.

    Args:
        job: Gives name, policy, limits and budget; its own bytes are not looked at.
        labels: The sheet's name of each page, where the pages are sheets.

    Raises:
        BrokenArtifact: `encrypted` or `corrupt`; about `data`, which may not be the artifact's own bytes.
        RendererFailed: What was drawn cannot be encoded.
    """
    document = _open(job.name, data)
    try:
        return _render(job, document, labels or ())
    finally:
        document.close()


def _open(name: str, data: bytes) -> pdfium.PdfDocument:
    # PDFium keeps its last error where it sets none, as for a file without pages: here it becomes "damaged".
    pdfium_c.FPDF_LoadMemDocument64(b"-", 1, None)
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code in _ENCRYPTED:
            raise BrokenArtifact("a password is needed to open it", slug="encrypted", concerns=name) from None
        raise BrokenArtifact(f"cannot be opened: {error}", slug="corrupt", concerns=name) from None
    if len(document) < 1:
        document.close()
        raise BrokenArtifact("it has no page", slug="corrupt", concerns=name)
    return document


def _render(job: Job, document: pdfium.PdfDocument, labels: Sequence[str]) -> Shown:
    # Needed for filled-in fields to be drawn, and before any page is loaded.
    document.init_forms()
    count = len(document)
    wanted = range(min(count, job.policy.pages, job.budget))
    limits = _capped(job.limits)
    sizes = {at: size for at in wanted if (size := _size(document, at)) is not None}
    if wanted and not sizes:
        raise BrokenArtifact("none of its pages can be read", slug="corrupt", concerns=job.name)
    wants = [_lay_out(size, job.policy.layout, limits, None).plan.count for size in sizes.values()]
    rooms = fair_shares(wants, job.budget)
    pictures: list[Picture] = []
    warnings: list[Warning_] = []
    layouts: list[_Layout] = []
    fonts: set[str] = set()
    flat = True
    for (at, size), room in zip(sizes.items(), rooms, strict=True):
        layout = _lay_out(size, job.policy.layout, limits, room)
        layouts.append(layout)
        sheet = labels[at] if at < len(labels) else None
        warnings += _layout_warnings(layout, job.name, f"sheet {sheet!r}" if sheet else f"page {at + 1}")
        page = document[at]
        fonts |= fonts_not_embedded(page)
        for picture, is_flat in _draw(job, page, layout, limits):
            pictures.append(replace(picture, page=at + 1, pages=count, sheet=sheet))
            flat = flat and is_flat
        page.close()
    if unread := [at + 1 for at in wanted if at not in sizes]:
        detail = f"cannot be read: pages {_ranges(unread)}"
        warnings.append(Warning_(code="damaged_pages", detail=detail, source=job.name))
    if len(wanted) < count:
        warnings.append(Warning_(code="truncated", detail=_cut_words(len(wanted), count), source=job.name))
    if flat:
        detail = "one flat colour" if len(sizes) == 1 else "each page shown is one flat colour"
        warnings.append(Warning_(code="blank_capture", detail=detail, source=job.name))
    facts: dict[str, Any] = {
        "pages": count,
        "pages_shown": [at + 1 for at in sizes],
        "page_sizes_pt": [[round(width, 2), round(height, 2)] for width, height in sizes.values()],
        "dpi": [round(layout.dpi, 2) for layout in layouts],
        "parts_in_all": [layout.plan.tiles_in_all for layout in layouts],
        "parts_left_out": [layout.plan.left_out for layout in layouts],
        "fonts_not_embedded": sorted(fonts),
        "renderer": f"PDFium {PDFIUM_INFO.version}",
    }
    return Shown(pictures=tuple(pictures), facts=facts, warnings=tuple(warnings))


def _capped(limits: MediaLimits) -> MediaLimits:
    most = MAX_PICTURE_PIXELS if limits.shrink_pixels is None else limits.shrink_pixels
    return replace(limits, shrink_pixels=min(most, MAX_PICTURE_PIXELS))


def _size(document: pdfium.PdfDocument, at: int) -> tuple[float, float] | None:
    """Width and height of a page in pt as it is seen, rotated and cropped; None if it cannot be read."""
    try:
        page = document[at]
    except pdfium.PdfiumError:
        return None
    width, height = page.get_size()
    if not (width > 0 and height > 0):
        # A crop box beside the page crops nothing (ISO 32000-1, 14.11.2: clipped to the media box).
        page.set_cropbox(*page.get_mediabox())
        width, height = page.get_size()
    page.close()
    if not (math.isfinite(width) and math.isfinite(height)) or width <= 0 or height <= 0:
        return None
    return width, height


def _lay_out(size_pt: tuple[float, float], layout: Layout, limits: MediaLimits, room: int | None) -> _Layout:
    """How a page is drawn in at most `room` pictures (None: as many as it takes)."""
    width, height = _pixels(size_pt, MAX_DPI)
    scale = fit_scale(width, height, limits)
    dpi = MAX_DPI * scale
    if dpi >= LEAST_DPI or layout == "single" or max(size_pt) > MAX_EDGE_PT:
        return _Layout(dpi, scaled_size(width, height, scale), Plan(overview=1.0))
    area = (size_pt[0] / _POINTS_PER_INCH) * (size_pt[1] / _POINTS_PER_INCH)
    dpi = min(NATURAL_DPI, MAX_PAGE_PX * _POINTS_PER_INCH / max(size_pt), math.sqrt(MAX_PAGE_PIXELS / area))
    width, height = _pixels(size_pt, dpi)
    plan = make_plan(width, height, layout, limits, MAX_PAGE_PX if room is None else room)
    return _Layout(dpi, (width, height), plan)


def _pixels(size_pt: tuple[float, float], dpi: float) -> tuple[int, int]:
    width, height = (max(1, round(length * dpi / _POINTS_PER_INCH)) for length in size_pt)
    return width, height


def _draw(
    job: Job, page: pdfium.PdfPage, layout: _Layout, limits: MediaLimits
) -> Iterator[tuple[Picture, bool]]:
    """(picture, whether it is flat) for the overview and each tile of a page."""
    plan, (width, height) = layout.plan, layout.size
    parts = plan.tiles_in_all if plan.tiles else None
    if plan.overview is not None:
        size = scaled_size(width, height, plan.overview)
        words = f"drawn at {layout.dpi * plan.overview:.1f} dpi"
        pixels = draw_box(page, size, Box(0, 0, *size))
        yield _picture(job, pixels, limits, (words,), 0 if plan.tiles else None, parts)
    for number, box in enumerate(plan.tiles, start=1):
        words = f"drawn at {layout.dpi:.1f} dpi"
        cut = f"cut out at {box.x},{box.y}, {box.width}x{box.height} of {width}x{height}"
        yield _picture(job, draw_box(page, layout.size, box), limits, (words, cut), number, parts)


def _picture(
    job: Job,
    pixels: Pixels,
    limits: MediaLimits,
    words: tuple[str, ...],
    part: int | None,
    parts: int | None,
) -> tuple[Picture, bool]:
    flat = is_flat_pixels(pixels)
    size = (pixels.shape[1], pixels.shape[0])
    bordered = bordered_size(*size)
    if bordered != size:
        left, top = (bordered[0] - size[0]) // 2, (bordered[1] - size[1]) // 2
        sheet = np.full((bordered[1], bordered[0], 3), 255, np.uint8)
        sheet[top : top + size[1], left : left + size[0]] = pixels
        pixels, words = sheet, (*words, border_words(size, bordered))
    data, media_type, encoded = encode_pixels(pixels, limits)
    picture = make_picture(
        data, media_type, bordered, job.name, part=part, parts=parts, transforms=(*words, encoded)
    )
    return picture, flat


def draw_box(page: pdfium.PdfPage, size: tuple[int, int], box: Box) -> Pixels:
    """One box of a page that is `size` px wide and high, on white, with form fields and annotations.

    Raises:
        RendererFailed: There is not the memory for it.
    """
    # Drawn into our own memory, which saves a copy of each page.
    pixels = np.full((box.height, box.width, 3), 255, np.uint8)
    bitmap = pdfium_c.FPDFBitmap_CreateEx(
        box.width,
        box.height,
        pdfium_c.FPDFBitmap_BGR,
        pixels.ctypes.data_as(ctypes.c_void_p),
        box.width * 3,
    )
    if not bitmap:
        raise RendererFailed(f"no memory for {box.width}x{box.height} pixels")
    flags = pdfium_c.FPDF_ANNOT | pdfium_c.FPDF_RENDER_LIMITEDIMAGECACHE
    where = (-box.x, -box.y, *size, 0)
    pdfium_c.FPDF_RenderPageBitmap(bitmap, page, *where, flags)
    if page.formenv:
        pdfium_c.FPDF_FFLDraw(page.formenv, bitmap, page, *where, flags)
    pdfium_c.FPDFBitmap_Destroy(bitmap)
    return pixels


def _layout_warnings(layout: _Layout, name: str, where: str) -> list[Warning_]:
    plan = layout.plan
    if plan.left_out:
        detail = (
            f"{where}: {len(plan.tiles)} of {plan.tiles_in_all} parts are shown in full size; "
            "the rest is over the budget of pictures"
        )
        return [Warning_(code="truncated", detail=detail, source=name)]
    if layout.dpi < LEAST_DPI:
        detail = f"{where}: drawn at {layout.dpi:.1f} dpi, below {LEAST_DPI}"
        return [Warning_(code="downscaled", detail=detail, source=name)]
    return []


def _cut_words(shown: int, count: int) -> str:
    pages = f"page {count}" if shown + 1 == count else f"pages {shown + 1}-{count}"
    return f"{shown} of {count} pages are shown; not shown: {pages}"


def _ranges(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers)
