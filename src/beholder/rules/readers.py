"""Files by what is in them, whatever their names say: of what kind, whether whole, how many pages."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from beholder.rules.archives import OLE, ZIP, office_kind
from beholder.rules.files import FileFailed, NotChecked, counted

CSV_DELIMITERS = (",", ";", "\t", "|")
MAX_FIELD_CHARS = 2**24

MISREADINGS = (
    *(LookupError, TypeError, AttributeError, AssertionError, ValueError, ArithmeticError, RuntimeError),
    *(OSError, EOFError, SyntaxError, zipfile.BadZipFile, zlib.error, NotImplementedError),
)
"""What the libraries let through when a file has a shape that they did not expect (XML: SyntaxError)."""


class NoReader(Exception):
    """Nothing here reads such a file; the message says what it is."""


def is_document(data: bytes) -> bool:
    """Whether the first bytes are those of a PDF, an archive or a file of Office 97."""
    return b"%PDF-" in data[:1024] or data.startswith((ZIP, OLE))  # the former where readers look for it


def kind_of(data: bytes) -> str:
    """`pdf, docx, xlsx, pptx, archive, office97` by the first bytes; `text` for everything else.

    Raises:
        FileFailed: It begins like an archive and is none, or is a bomb.
    """
    if b"%PDF-" in data[:1024]:  # where readers look for it
        return "pdf"
    if data.startswith(ZIP):
        return office_kind(data) or "archive"
    return "office97" if data.startswith(OLE) else "text"


# --- text ---------------------------------------------------------------------------------------


def decode(data: bytes) -> str:
    """The text: by its byte order mark, as UTF-8, else in the encoding that fits best.

    Raises:
        FileFailed: The bytes are no text.
    """
    marks = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig"))
    encoding = next(name for mark, name in marks if data.startswith(mark))
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = _decode_legacy(data)
    if "\0" in text:
        raise FileFailed("is no text: it holds zero bytes")
    return text


def _decode_legacy(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = None if b"\0" in data else from_bytes(data).best()
    if best is None:
        raise FileFailed("is no text in any encoding that is known")
    return str(best)


def csv_rows(text: str) -> list[list[str]]:
    """The rows that are not blank, by the first of `, ; tab |` that gives every row the same width.

    A text that none of them divides is one column wide.

    Raises:
        FileFailed: There is no row, the quotes do not close, or the rows differ in width by any delimiter.
    """
    csv.field_size_limit(MAX_FIELD_CHARS)
    problem = ""
    single: list[list[str]] | None = None
    for delimiter in CSV_DELIMITERS:
        try:
            rows = [
                row
                for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
                if row
            ]
        except csv.Error as error:
            problem = problem or f"is no CSV: {error}"
            continue
        if not rows:
            raise FileFailed("holds no row")
        widths = [len(row) for row in rows]
        if max(widths) == 1:
            single = single or rows
        elif min(widths) == max(widths):
            return rows
        elif not problem:
            at = next(number for number, width in enumerate(widths) if width != widths[0])
            problem = f"row {at + 1} has {widths[at]} fields, the first has {widths[0]}"
    # A comma or so in some line of a list is its own matter, where no delimiter divides the first line.
    if single is not None and (not problem or all(sign not in single[0][0] for sign in CSV_DELIMITERS)):
        return single
    raise FileFailed(problem or "is no CSV")


# --- whole or not -------------------------------------------------------------------------------


def check_format(name: str, data: bytes) -> str:
    """Check that a file is whole and of a format, whatever its suffix; what was seen, for people.

    Raises:
        FileFailed: It is not.
        NotChecked: It cannot be told.
    """
    if not data:
        raise FileFailed("has 0 bytes")
    return _FORMATS[name](data)


def _check_json(data: bytes) -> str:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON number")

    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=refuse, parse_int=str, parse_float=str)
    except RecursionError:
        raise NotChecked("nested deeper than can be read") from None
    except ValueError as error:
        raise FileFailed(f"is no JSON: {error}") from None
    return f"a JSON {_JSON_KINDS.get(type(value), 'value')}"


_JSON_KINDS: Mapping[type, str] = {dict: "object", list: "array"}


def _check_csv(data: bytes) -> str:
    rows = csv_rows(decode(data))
    return f"{counted(len(rows), 'row')} of {counted(len(rows[0]), 'field')}"


def _check_html(data: bytes) -> str:
    """A browser shows anything, so: a document begins with a tag, and is not cut off within one.

    The end is found by an element put behind it: it is no element of the page if a tag, a comment, a script,
    a style or a title is still open there.
    """
    from justhtml import JustHTML

    text = decode(data)
    if not re.match(r"\s*<[a-zA-Z!?/]", text):
        raise FileFailed("does not begin with a tag: text stands before it, or there is none")
    mark = "beholder-end-of-file"
    try:
        page = JustHTML(f"{text}<{mark}>", sanitize=False)
        found = page.query(mark)
    except RecursionError:
        raise NotChecked("nested deeper than can be read") from None
    if not found:
        raise FileFailed("is cut off: it ends within a tag, a comment, a script or a style")
    return "an HTML document"


def _check_pdf(data: bytes) -> str:
    import pypdfium2

    with _open_pdf(data) as document:
        pages = len(document)
        for number in range(pages):
            try:
                document[number].close()
            except pypdfium2.PdfiumError as error:
                raise FileFailed(f"page {number + 1} of {pages} is broken: {error}") from None
        if not pages:
            raise FileFailed("has no page")
    return counted(pages, "page")


def _open_pdf(data: bytes) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise FileFailed(f"is no PDF that can be opened: {error}") from None


def _check_docx(data: bytes) -> str:
    return counted(len(open_docx(data).paragraphs), "paragraph")


def open_docx(data: bytes) -> Any:
    """A text document, opened.

    Raises:
        FileFailed: It is none, or is damaged.
    """
    import docx
    from docx.opc.exceptions import OpcError

    _expect("docx", data)
    try:
        return docx.Document(io.BytesIO(data))
    except (OpcError, *MISREADINGS) as error:
        raise FileFailed(f"is no whole document: {_said(error)}") from None


def _check_pptx(data: bytes) -> str:
    return counted(len(slides_of(data)), "slide")


def slides_of(data: bytes) -> list[Any]:
    """A presentation's slides, each opened.

    Raises:
        FileFailed: It is none, or is damaged.
    """
    import pptx
    from pptx.exc import PythonPptxError

    _expect("pptx", data)
    try:
        return list(pptx.Presentation(io.BytesIO(data)).slides)
    except (PythonPptxError, *MISREADINGS) as error:
        raise FileFailed(f"is no whole presentation: {_said(error)}") from None


def _check_xlsx(data: bytes) -> str:
    _expect("xlsx", data)
    return counted(len(sheets_of(data)), "sheet")


def sheets_of(data: bytes) -> dict[str, list[list[Any]]]:
    """Each sheet's rows of cells, an empty cell being an empty text.

    Raises:
        FileFailed: It is no workbook, or is damaged.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        return {name: book.get_sheet_by_name(name).to_python(skip_empty_area=True) for name in sheets}
    except (CalamineError, *MISREADINGS) as error:
        raise FileFailed(f"is no whole workbook: {_said(error)}") from None


def _expect(kind: str, data: bytes) -> None:
    found = kind_of(data)
    if found == "office97":
        raise FileFailed(f"has a password, or is of Office 97: no {kind}")
    if found != kind:
        raise FileFailed(f"is no {kind}, its content is {found}")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_FORMATS: Mapping[str, Callable[[bytes], str]] = {
    "json": _check_json,
    "csv": _check_csv,
    "html": _check_html,
    "pdf": _check_pdf,
    "docx": _check_docx,
    "pptx": _check_pptx,
    "xlsx": _check_xlsx,
}


# --- pages --------------------------------------------------------------------------------------


def count_pages(data: bytes) -> int:
    """Pages of a PDF, slides of a presentation, hidden ones included.

    Raises:
        FileFailed: It is broken.
        NoReader: It has no pages that could be counted without laying it out.
    """
    kind = kind_of(data)
    if kind == "pdf":
        with _open_pdf(data) as document:
            return len(document)
    if kind == "pptx":
        return len(slides_of(data))
    if kind == "docx":
        raise NoReader("a docx has pages only once it is laid out")
    raise NoReader(f"pages of {kind} files are not counted")


# --- all of its text ----------------------------------------------------------------------------


def text_of(data: bytes) -> str:
    """The file's text: of a page format what it shows, of any text format (HTML, too) the file as it stands.

    Raises:
        FileFailed: It is broken.
        NoReader: It holds no text that could be read.
    """
    kind = kind_of(data)
    if kind == "pdf":
        return _pdf_text(data)
    if kind == "docx":
        return _docx_text(data)
    if kind == "pptx":
        return "\n".join(_xml_text(slide.element) for slide in slides_of(data))
    if kind == "xlsx":
        sheets = sheets_of(data).values()
        return "\n".join("\t".join(map(cell_text, row)) for rows in sheets for row in rows)
    if kind != "text":
        raise NoReader(f"text of {kind} files is not read")
    try:
        return decode(data)
    except FileFailed as error:
        raise NoReader(str(error)) from None


def cell_text(cell: Any) -> str:
    """A cell as text; a whole number without its `.0`."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _pdf_text(data: bytes) -> str:
    import pypdfium2

    texts = []
    with _open_pdf(data) as document:
        for number in range(len(document)):
            try:
                page = document[number]
                texts.append(page.get_textpage().get_text_range())
                page.close()
            except pypdfium2.PdfiumError as error:
                raise FileFailed(f"page {number + 1} is broken: {error}") from None
    return "\n".join(texts)


def _docx_text(data: bytes) -> str:
    document = open_docx(data)
    parts = [document.element.body]
    frames = [frame for one in document.sections for frame in (one.header, one.footer)]
    parts += [frame._element for frame in frames if not frame.is_linked_to_previous]
    return "\n".join(map(_xml_text, parts))


def _xml_text(element: Any) -> str:
    """Text runs of Word and PowerPoint, a line for each paragraph; deleted text is none."""
    pieces: list[str] = []
    for node in element.iter():
        tag = str(node.tag).rpartition("}")[2]
        if tag == "t":
            pieces.append(node.text or "")
        elif tag in {"tab", "br", "cr"}:
            pieces.append("\t")
        elif tag in {"p", "tc"}:
            pieces.append("\n")
    return "".join(pieces)
