"""Texts: every encoding people use, hidden signs made visible, nothing else changed, bounded memory."""

from __future__ import annotations

import codecs
import contextlib
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.text import SPARE_CHARS, read_text
from beholder.records import EvidencePolicy, MediaLimits
from tests.fakes.evidence import png

SENTENCES = {
    "cp1252": "Café, naïve, über: die Straße ist schön und größer als die Brücke.",
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "cp1251": "Это русский текст без указания кодировки.",
    "koi8_r": "Это русский текст без указания кодировки.",
    "cp1253": "Αυτό είναι ένα ελληνικό κείμενο χωρίς δήλωση.",
    "cp1256": "هذا نص عربي بدون إعلان الترميز",
    "gb18030": "中文网页没有声明编码，内容是简体中文文本。",
    "big5": "繁體中文的文字沒有宣告編碼，請看。",
    "cp932": "日本語のテキストです。エンコーディングは不明。",
    "euc_jp": "日本語のテキストです。エンコーディングは不明。",
    "cp949": "한국어 텍스트 인코딩이 선언되지 않았습니다.",
}


def read(data: bytes | str, *, name: str = "a.txt", text_chars: int = 12000) -> Shown:
    raw = data.encode() if isinstance(data, str) else data
    policy = EvidencePolicy(text_chars=text_chars)
    return read_text(Job(name=name, suffix=".txt", data=raw, policy=policy, limits=MediaLimits(), budget=1))


def text_of(shown: Shown) -> str:
    ((_, text),) = shown.texts
    return text


def warned(shown: Shown) -> dict[str, str]:
    return {warning.code: warning.detail for warning in shown.warnings}


def slug(data: bytes) -> str:
    with pytest.raises(BrokenArtifact) as caught:
        read(data)
    return caught.value.slug


def test_plain_text_is_unchanged() -> None:
    """A UTF-8 text comes back as it is, with its counts and no warning."""
    text = "# Title\n\tindented  twice \nκόσμε, 中文, नमस्ते, 👩‍💻 👍🏽 🏳️‍🌈\nno end"
    shown = read(text, name="notes.md")
    assert shown.texts == (("notes.md", text),)
    assert shown.facts == {
        "encoding": "utf-8",
        "encoding_by": "UTF-8",
        "characters": len(text),
        "lines": 4,
        "newlines": "LF",
        "made_visible": {},
    }
    assert (shown.warnings, shown.pictures) == ((), ())


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, encoding: str) -> None:
    """What a byte order mark says is used without a warning, and the mark itself is no text."""
    shown = read(mark + "Größe 中 😀\n".encode(encoding))
    assert text_of(shown) == "Größe 中 😀\n"
    assert (shown.facts["encoding"], shown.facts["encoding_by"]) == (encoding, "byte order mark")
    assert warned(shown) == {}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_its_mark(encoding: str) -> None:
    """UTF-16 without its mark is told by its zero bytes, and said to be a guess."""
    shown = read("plain words, größer\r\n".encode(encoding))
    assert text_of(shown) == "plain words, größer\n"
    assert warned(shown) == {"encoding_guessed": f"no encoding is declared; read as {encoding}"}


@pytest.mark.parametrize("repeat", [1, 40])
@pytest.mark.parametrize("encoding", SENTENCES)
def test_undeclared_encodings(encoding: str, repeat: int) -> None:
    """A text in an older encoding is read right, and the guess is named."""
    text = f"{SENTENCES[encoding]}\n" * repeat
    shown = read(text.encode(encoding))
    assert text_of(shown) == text
    assert warned(shown) == {"encoding_guessed": f"no encoding is declared; read as {encoding}"}


@pytest.mark.parametrize("repeat", [1, 40_000])
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("iso2022_jp", "日本語のテキスト ~{ASCII~} です。"),
        ("iso2022_jp_ext", "半角のﾃｷｽﾄ"),
        ("iso2022_jp_2", "日本 中文 한국 é"),
        ("iso2022_jp_2004", "日本 ㉑"),
        ("iso2022_kr", "한국어 text"),
    ],
)
def test_encodings_that_announce_themselves(encoding: str, text: str, repeat: int) -> None:
    """Seven-bit East Asian texts say by escape sequences what they are, which is no guess."""
    whole = f"{text}\n" * repeat
    shown = read(whole.encode(encoding), text_chars=10**6)
    assert text_of(shown) == whole
    assert (shown.facts["encoding"], shown.facts["encoding_by"]) == (encoding, "escape sequences")
    assert (warned(shown), shown.facts["made_visible"]) == ({}, {})


@pytest.mark.parametrize(
    "data",
    [
        b"a\x1b[1mbold\x1b(B\x1b[m",
        b"\x1b$B\x1b(Bplain",
        b"cut \x1b$B4A;",
        b"\x1b$Bno such sign\x1b(B",
        b"a~{4A;z~}",
        b"+ZeVnLIqe-",
        "é \x1b$B4A;z\x1b(B".encode(),
    ],
)
def test_what_announces_nothing_for_certain_stays(data: bytes) -> None:
    """Terminals' sequences, cut or wrong ones, and signs that plain texts have, too, are no encoding."""
    shown = read(data)
    assert shown.facts["encoding"] == "utf-8"
    assert len(text_of(shown)) >= len(data.decode())


def test_one_accent_is_western() -> None:
    """With a single sign to go by, the guess is what browsers take."""
    shown = read(b"x" * 1000 + b" caf\xe9 " + b"y" * 1000)
    assert " café " in text_of(shown)
    assert shown.facts["encoding"] == "cp1252"


def test_a_long_ascii_head_does_not_hide_the_encoding() -> None:
    """The guess looks at where signs beyond ASCII begin, however late that is."""
    text = "plain line\n" * 20_000 + SENTENCES["gb18030"] * 5
    shown = read(text.encode("gb18030"), text_chars=1_000_000)
    assert text_of(shown) == text


def test_a_damaged_place_in_utf8() -> None:
    """A stray byte does not turn a UTF-8 text into another encoding; the places are counted."""
    shown = read("größer und schöner, für alle Bäume, dürfen".encode() + b" \xff and \xfe.")
    assert text_of(shown) == "größer und schöner, für alle Bäume, dürfen \ufffd and \ufffd."
    assert warned(shown) == {"undecodable": "2 places are no utf-8 and are shown as \ufffd"}


def test_replacement_characters_of_the_author() -> None:
    """A replacement character that stands in the file is the author's and no damage."""
    assert warned(read("so \ufffd it is, größer und größer, äöü" * 2)) == {}
    damaged = read("\ufffd größer und schöner für alle".encode() + b"\xff")
    assert warned(damaged) == {"undecodable": "1 places are no utf-8 and are shown as \ufffd"}


def test_a_cut_utf16_file() -> None:
    """Half a sign at the end is one damaged place."""
    shown = read(codecs.BOM_UTF16_LE + "abc".encode("utf-16-le") + b"x")
    assert text_of(shown) == "abc\ufffd"
    assert "undecodable" in warned(shown)


def test_binary_text() -> None:
    """Bytes that are no text in any encoding are shown with replacements, zero bytes as pictures."""
    shown = read(b"a\0b\xff\xfe" * 10)
    assert text_of(shown) == "a\u2400b\ufffd\ufffd" * 10
    assert shown.facts["made_visible"] == {"U+0000": 10}
    assert warned(shown) == {"undecodable": "20 places are no utf-8 and are shown as \ufffd"}


def test_other_kinds() -> None:
    """A picture, a PDF, an archive, an office file or a video by content is no text."""
    for data in (
        png(),
        b"\xff\xd8\xff\xe0\0\x10JFIF",
        b"%PDF-1.7\n1 0 obj",
        b"PK\x03\x04\x14\0\0\0",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 20,
        b"\0\0\0\x18ftypmp42" + b"x" * 20,
        b"{\\rtf1 text}",
    ):
        assert slug(data) == "wrong_type"


def test_words_that_look_like_a_format() -> None:
    """A text that happens to have a format's letters where its magic stands is a text."""
    assert text_of(read("the ftyp box comes first")) == "the ftyp box comes first"
    assert text_of(read("BMW builds cars")) == "BMW builds cars"


def test_nothing_but_a_mark() -> None:
    """A byte order mark alone is an empty file; white space alone is a blank one."""
    assert slug(codecs.BOM_UTF8) == "empty"
    assert slug(codecs.BOM_UTF32_LE) == "empty"
    assert warned(read(" \n\t \n")) == {"blank_capture": "nothing but white space"}


def test_hidden_signs() -> None:
    """Controls become their pictures, what has no width or turns the direction its escape."""
    shown = read("\x1b[31mred\x1b[0m \u202etxt.exe\u202c \u200b\x7f\x85 a\ufeffb \U000e0041")
    assert text_of(shown) == (
        "\u241b[31mred\u241b[0m \\u202etxt.exe\\u202c \\u200b\u2421\\u0085 a\\ufeffb \\U000e0041"
    )
    assert shown.facts["made_visible"] == {
        "U+001B": 2,
        **dict.fromkeys(("U+007F", "U+0085", "U+200B", "U+202C", "U+202E", "U+E0041", "U+FEFF"), 1),
    }


def test_an_escape_that_stands_in_the_text_is_another_than_one_made() -> None:
    """The four letters of an escape in source code do not look like the control character itself."""
    assert text_of(read("\\x1b")) != text_of(read("\x1b"))


@pytest.mark.parametrize(
    ("data", "text", "lines", "ends"),
    [
        ("a\r\nb\r\n", "a\nb\n", 2, "CRLF"),
        ("a\rb", "a\nb", 2, "CR"),
        ("a\nb\r\nc\rd", "a\nb\nc\nd", 4, "CR, CRLF, LF"),
        ("a\r", "a\n", 1, "CR"),
        ("a", "a", 1, ""),
        ("\n\n", "\n\n", 2, "LF"),
    ],
)
def test_line_ends(data: str, text: str, lines: int, ends: str) -> None:
    """Every line end becomes LF, and the record says what they were."""
    shown = read(data)
    assert text_of(shown) == text
    assert (shown.facts["lines"], shown.facts["newlines"]) == (lines, ends)
    assert shown.facts["characters"] == len(text)


@pytest.mark.parametrize("end", ["x", "\r", "\r\n", "中"])
def test_pieces_join_without_a_seam(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoded in pieces of any size, a text and its counts are the same."""
    data = (f"größer{end}中文😀\r\nab" * 5 + end).encode()
    whole = read(data)
    for size in (1, 2, 3, 5, 7):
        monkeypatch.setattr("beholder.evidence.text._CHUNK_BYTES", size)
        assert read(data) == whole


def test_a_long_text_is_counted_and_not_held() -> None:
    """Of 40 million characters a little more than the budget is kept, all are counted, memory stays small."""
    data = b"0123456789 line\n" * 2_500_000
    tracemalloc.start()
    shown = read(data, text_chars=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(text_of(shown)) == 500 + SPARE_CHARS
    assert (shown.facts["characters"], shown.facts["lines"]) == (40_000_000, 2_500_000)
    assert peak < 20_000_000


@given(st.binary(min_size=1, max_size=300))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are shown or refused with a cause; what is shown is text that can be sent."""
    with contextlib.suppress(BrokenArtifact):
        shown = read(data)
        facts: dict[str, Any] = dict(shown.facts)
        assert text_of(shown).encode()
        assert facts["characters"] == len(text_of(shown))
