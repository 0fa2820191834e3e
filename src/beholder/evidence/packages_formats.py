"""Office formats by their marks: what tells them, their suffix, their family."""

from __future__ import annotations

from typing import Literal

Family = Literal["document", "slides", "workbook"]

OOXML: tuple[tuple[str, str, Family], ...] = (
    ("ms-word.document.macroEnabled", ".docm", "document"),
    ("ms-word.template.macroEnabledTemplate", ".docm", "document"),
    ("wordprocessingml", ".docx", "document"),
    ("ms-excel.sheet.binary", ".xlsb", "workbook"),
    ("ms-excel.sheet.macroEnabled", ".xlsm", "workbook"),
    ("ms-excel.template.macroEnabled", ".xlsm", "workbook"),
    ("spreadsheetml", ".xlsx", "workbook"),
    ("ms-powerpoint", ".pptm", "slides"),
    ("presentationml", ".pptx", "slides"),
)
"""What the main part's content type contains, most specific first."""

ODF: tuple[tuple[str, str, Family], ...] = (
    ("opendocument.text", ".odt", "document"),
    ("opendocument.spreadsheet", ".ods", "workbook"),
    ("opendocument.presentation", ".odp", "slides"),
    ("opendocument.graphics", ".odg", "slides"),
    ("sun.xml.writer", ".sxw", "document"),
    ("sun.xml.calc", ".sxc", "workbook"),
    ("sun.xml.impress", ".sxi", "slides"),
)

FLAT: tuple[tuple[bytes, str, Family], ...] = (
    (b"schemas.microsoft.com/office/word/2003", ".xml", "document"),
    (b"urn:schemas-microsoft-com:office:spreadsheet", ".xml", "workbook"),
    (b"opendocument.text", ".fodt", "document"),
    (b"opendocument.spreadsheet", ".fods", "workbook"),
    (b"opendocument.presentation", ".fodp", "slides"),
)
"""What the first bytes of a document in one XML file contain."""

BARE: tuple[tuple[bytes, str, Family], ...] = (
    (b"{\\rtf", ".rtf", "document"),
    (b"\xdb\xa5", ".doc", "document"),
    (b"\x9b\xa5", ".doc", "document"),
    (b"\x31\xbe\x00\x00", ".doc", "document"),
    (b"\x32\xbe\x00\x00", ".doc", "document"),
    (b"\x09\x00\x04\x00", ".xls", "workbook"),
    (b"\x09\x00\x06\x00", ".xls", "workbook"),
    (b"\x09\x02\x06\x00", ".xls", "workbook"),
    (b"\x09\x04\x06\x00", ".xls", "workbook"),
    (b"\x0b\xad\xde\xad", ".ppt", "slides"),
    (b"\xed\xde\xad\x0b", ".ppt", "slides"),
)
"""First bytes of what has no container: RTF, Word 1 and 2, Word for DOS, Excel 2 to 4, PowerPoint 2 and 3."""
