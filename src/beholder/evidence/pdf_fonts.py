"""Which fonts of a page are not in the file, so that this machine's were drawn instead."""

from __future__ import annotations

import ctypes

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

MAX_OBJECTS = 2000
"""Objects of one page that are looked at."""

MAX_FONTS = 32
"""Fonts told of one page."""

MAX_NAME_BYTES = 128


def fonts_not_embedded(page: pdfium.PdfPage) -> set[str]:
    """Names of the fonts that text of the page asks for and the file does not hold, without `ABCDEF+`."""
    names: set[str] = set()
    for at in range(min(pdfium_c.FPDFPage_CountObjects(page), MAX_OBJECTS)):
        element = pdfium_c.FPDFPage_GetObject(page, at)
        if not element or pdfium_c.FPDFPageObj_GetType(element) != pdfium_c.FPDF_PAGEOBJ_TEXT:
            continue
        font = pdfium_c.FPDFTextObj_GetFont(element)
        if font and pdfium_c.FPDFFont_GetIsEmbedded(font) == 0:
            names.add(_name(font))
            if len(names) >= MAX_FONTS:
                break
    return names - {""}


def _name(font: pdfium_c.FPDF_FONT) -> str:
    buffer = ctypes.create_string_buffer(MAX_NAME_BYTES)
    if pdfium_c.FPDFFont_GetBaseFontName(font, buffer, MAX_NAME_BYTES) > MAX_NAME_BYTES:
        return ""
    return buffer.value.decode("utf-8", "backslashreplace")
