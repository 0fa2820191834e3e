"""What an office file is, told from its content: damage, bombs, passwords, other kinds, links."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import BrokenArtifact
from beholder.evidence import packages
from beholder.evidence.packages import check_office, has_filepass
from tests.fakes.office import changed, docx, job, odf, pptx, xlsx

DOCX, PPTX, XLSX = docx(), pptx(), xlsx(lambda book: None)
ODT = odf("text", "<office:body><office:text/></office:body>")
ODS = odf("spreadsheet", "<office:body><office:spreadsheet/></office:body>")


def slug(name: str, data: bytes) -> str:
    with pytest.raises(BrokenArtifact) as caught:
        check_office(job(name, data))
    assert caught.value.concerns == name
    return caught.value.slug


def fate(name: str, data: bytes) -> str:
    try:
        check_office(job(name, data))
    except BrokenArtifact as error:
        return error.slug
    return "taken"


@pytest.mark.parametrize(
    ("name", "data", "suffix", "family"),
    [
        ("a.docx", DOCX, ".docx", "document"),
        ("A.PPTX", PPTX, ".pptx", "slides"),
        ("a.xlsx", XLSX, ".xlsx", "workbook"),
        ("a.odt", ODT, ".odt", "document"),
        ("a.ods", ODS, ".ods", "workbook"),
        ("a.rtf", b"{\\rtf1 x}", ".rtf", "document"),
        ("a.doc", b"\xdb\xa5\x2d\0" + b"\0" * 60, ".doc", "document"),
    ],
)
def test_format(name: str, data: bytes, suffix: str, family: str) -> None:
    """A file of the format that its name says is taken without a word."""
    found = check_office(job(name, data))
    assert (found.suffix, found.family, found.warnings, found.links) == (suffix, family, (), ())


@pytest.mark.parametrize(
    ("name", "data", "suffix"),
    [
        ("a.docx", ODT, ".odt"),
        ("a.doc", DOCX, ".docx"),
        ("a.docx", XLSX, ".xlsx"),
        ("a.doc", b"{\\rtf1 x}", ".rtf"),
    ],
)
def test_other_format(name: str, data: bytes, suffix: str) -> None:
    """Another format of the same kind is judged by its content, and noted."""
    found = check_office(job(name, data))
    assert found.suffix == suffix
    assert [(one.code, one.detail) for one in found.warnings] == [
        ("other_format", f"{suffix} by content, {'.' + name.rpartition('.')[2]} by name")
    ]


def plain_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("notes.txt", "no document")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.docx", b"", "empty"),
        ("a.docx", b"plain text", "wrong_type"),
        ("a.doc", b"<html><body>page</body></html>", "wrong_type"),
        ("a.xls", b"%PDF-1.4\n", "wrong_type"),
        ("a.pptx", b"\x89PNG\r\n\x1a\n" + b"\0" * 30, "wrong_type"),
        ("renamed.docx", plain_zip(), "wrong_type"),
        ("a.docx", DOCX[: len(DOCX) // 2], "corrupt"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "corrupt"),
        ("a.docx", changed(DOCX, {"[Content_Types].xml": lambda _: b"<Types"}), "corrupt"),
        (
            "a.docx",
            changed(DOCX, {"_rels/.rels": lambda _: b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"}),
            "corrupt",
        ),
        ("a.docx", changed(DOCX, {"word/document.xml": lambda _: b"A" * 40_000_000}), "too_large"),
        ("a.odt", odf("text", "", manifest="<manifest:encryption-data/>"), "encrypted"),
    ],
)
def test_refused(name: str, data: bytes, expected: str) -> None:
    """What cannot be shown for a reason of its own says which."""
    assert slug(name, data) == expected


def test_too_many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of countless parts, or that unpacks without end, is refused by its table of contents."""
    monkeypatch.setattr(packages, "MOST_MEMBERS", 3)
    assert slug("a.docx", DOCX) == "too_large"
    monkeypatch.setattr(packages, "MOST_MEMBERS", 100)
    monkeypatch.setattr(packages, "MOST_UNPACKED_BYTES", 1000)
    assert slug("a.docx", DOCX) == "too_large"


def record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def test_filepass() -> None:
    """A password of a workbook stands before the end of its first part."""
    assert has_filepass(record(0x809, b"\0" * 16) + record(0x2F, b"\0\0") + record(0x0A))
    assert not has_filepass(record(0x809, b"\0" * 16) + record(0x0A) + record(0x2F, b"\0\0"))
    assert not has_filepass(b"\x09\x08\xff")


def relations(kind: str, target: str) -> bytes:
    scheme = "http://schemas.openxmlformats.org"
    return (
        f"<Relationships xmlns='{scheme}/package/2006/relationships'><Relationship Id='x1' "
        f"Type='{scheme}/officeDocument/2006/relationships/{kind}' Target='{target}' "
        "TargetMode='External'/></Relationships>"
    ).encode()


def test_links() -> None:
    """What a file would load from outside is listed; a link to click on is not."""
    linked = changed(DOCX, {"word/_rels/x.rels": lambda _: relations("image", "http://a.test/i.png")})
    found = check_office(job("a.docx", linked))
    assert found.links == ("http://a.test/i.png",)
    assert [one.code for one in found.warnings] == ["blocked_resource"]
    clicked = changed(DOCX, {"word/_rels/x.rels": lambda _: relations("hyperlink", "http://a.test/")})
    assert check_office(job("a.docx", clicked)).links == ()
    section = (
        '<text:section text:name="s"><text:section-source xlink:href="file:///etc/passwd"/></text:section>'
    )
    inside = '<draw:image xlink:href="Pictures/1.png"/>'
    text = odf("text", f"<office:body><office:text>{section}{inside}</office:text></office:body>")
    assert check_office(job("a.odt", text)).links == ("file:///etc/passwd",)
    field = rb"{\rtf1 {\field{\*\fldinst INCLUDEPICTURE \"http://a.test/r.png\" \\d}} x}"
    assert check_office(job("a.rtf", field)).links == ("http://a.test/r.png",)


def test_hidden_slides() -> None:
    """Slides that a presentation leaves out are counted, in both families; all of them leave nothing."""
    slide = "ppt/slides/slide1.xml"
    shown = changed(pptx(), {slide: lambda xml: xml.replace(b"<p:sld ", b'<p:sld show="1" ', 1)})
    hidden = changed(pptx(), {slide: lambda xml: xml.replace(b"<p:sld ", b'<p:sld show="0" ', 1)})
    odp = odf(
        "presentation",
        '<office:automatic-styles><style:style style:name="d1" style:family="drawing-page">'
        '<style:drawing-page-properties p:visibility="hidden" xmlns:p="urn:p"/></style:style>'
        "</office:automatic-styles><office:body><office:presentation>"
        '<draw:page draw:style-name="d1"/><draw:page/></office:presentation></office:body>',
    )
    assert check_office(job("a.pptx", shown)).warnings == ()
    with pytest.raises(BrokenArtifact, match=r"all of its slides \(1\) are hidden") as caught:
        check_office(job("a.pptx", hidden))
    assert caught.value.slug == "empty"
    (told,) = check_office(job("a.odp", odp)).warnings
    assert (told.code, told.detail[:26]) == ("hidden_slides", "1 of 2 slides are hidden, ")


@given(st.sampled_from([DOCX, XLSX, ODT, ODS]), st.data())
def test_damage(whole: bytes, data: st.DataObject) -> None:
    """Whatever the damage, a file is taken or refused for a reason of its own; nothing else is raised."""
    at = data.draw(st.integers(0, len(whole) - 1))
    junk = data.draw(st.binary(max_size=40))
    damaged = whole[:at] + junk + whole[at + data.draw(st.integers(0, 40)) :]
    assert fate("a.docx", damaged) in ("taken", "corrupt", "wrong_type", "encrypted", "too_large", "empty")


@given(st.binary(max_size=3000))
def test_ole_damage(junk: bytes) -> None:
    """The same of OLE files, whose tables point anywhere."""
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + junk
    assert fate("a.doc", data) in ("taken", "corrupt", "wrong_type", "encrypted")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("po_PasswordProtected.doc", "encrypted"),
        ("po_Password_Protected-hello.ppt", "encrypted"),
        ("po_password.xls", "encrypted"),
        ("po_truncated62886.docx", "corrupt"),
    ],
)
def test_real_ones(shared: Path, name: str, expected: str) -> None:
    """Real files with a password, or cut short, are told without LibreOffice."""
    assert slug(name, (shared / "corpus" / "handout" / name).read_bytes()) == expected
