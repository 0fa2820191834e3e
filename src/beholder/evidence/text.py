"""Texts: decoded, with hidden signs made visible; otherwise as they are."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from beholder.errors import BrokenArtifact
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.sniff import sniff
from beholder.evidence.visible import visible_text
from beholder.records import Warning_

SPARE_CHARS = 1024
"""Kept beyond the characters that all texts of a submission may have together, so that a cut sees what
follows it. What lies further on is decoded and counted, and not held in memory."""

SAMPLE_BYTES = 64 * 1024
"""What the guess of an undeclared encoding looks at, from the first byte on that is not ASCII."""

_CHUNK_BYTES = 1 << 20

_ASCII = bytes(range(128))
_NOT_ASCII = re.compile(rb"[^\x00-\x7f]")
_HIDDEN_IN_HEAD = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f-\xff]")
"""What the first bytes of a format that is no text hold, beside letters."""

_BOMS = (
    # The longer ones first: UTF-32's begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp874"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
"""The encodings that undeclared texts are still written in: the single-byte and the East Asian ones of the
WHATWG Encoding Standard. The fewer there are, the fewer wrong guesses."""

_WESTERN = "cp1252"

_SWITCHED = (
    (
        re.compile(rb"\x1b\$[@B]|\x1b\$\([CDOPQ]"),
        ("iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2", "iso2022_jp_2004"),
    ),
    (re.compile(rb"\A\x1b\$\)C|\n\x1b\$\)C"), ("iso2022_kr",)),
)
"""What announces signs of two bytes in 7-bit texts (RFC 1468, 1554, 1557; JIS X 0213), and their decoders,
the plainest first. To a terminal ESC says other things. HZ and UTF-7 are announced by signs that plain texts
have as well, and so are not looked for."""

_FORMS = frozenset(("application/pdf", "application/rtf"))
"""Formats that begin with plain letters; every other known one begins with signs that no text has."""


@dataclass(frozen=True, slots=True)
class _Encoding:
    """How a text is decoded.

    Attributes:
        by: `byte order mark`, `escape sequences`, `UTF-8`, `zero bytes`, `guess`, or `none` (nothing fits).
        skip: Bytes of a byte order mark.
    """

    name: str
    by: str
    skip: int = 0
    errors: str = "strict"


def preload() -> None:
    """Load the decoders while files may still be opened."""
    switched = (name for _, names in _SWITCHED for name in names)
    for name in (*_CANDIDATES, *switched, *(name for _, name in _BOMS)):
        codecs.lookup(name)
    _guess("Prüfung".encode(_WESTERN))


def read_text(job: Job) -> Shown:
    """A text file as the one text it is.

    Line ends become LF, and what a reader would not see (controls, overrides of direction, signs without
    width) is written out; nothing else is changed. Its facts: `encoding`, `encoding_by`, `characters` (in
    all, as shown), `lines`, `newlines`, `made_visible` (how many of each sign were written out).

    The text is whole up to the protocol's `text_chars` and a little more; no share of that budget can need
    more of it. CPU-bound; runs in a thread.

    Raises:
        BrokenArtifact: `wrong_type` (a picture, an archive or a document by its content), `empty` (a byte
            order mark and nothing else).
    """
    found = sniff(job.data)
    if found and (found in _FORMS or _HIDDEN_IN_HEAD.search(job.data[:64])):
        raise BrokenArtifact(f"the content is no text but {found}", slug="wrong_type", concerns=job.name)
    encoding = find_encoding(job.data)
    if encoding.skip == len(job.data):
        raise BrokenArtifact("the file is empty", slug="empty", concerns=job.name)
    tally = _Tally(limit=job.policy.text_chars + SPARE_CHARS)
    for piece in _decoded(job.data, encoding):
        tally.take(piece)
    tally.finish()
    text, made_visible = visible_text(tally.text)
    facts = {
        "encoding": encoding.name,
        "encoding_by": encoding.by,
        "characters": len(text) + tally.beyond,
        "lines": tally.lines,
        "newlines": tally.newlines,
        "made_visible": made_visible,
    }
    warnings = _warnings(job, encoding, tally)
    return Shown(texts=((job.name, text),), facts=facts, warnings=tuple(warnings))


def _warnings(job: Job, encoding: _Encoding, tally: _Tally) -> list[Warning_]:
    warnings = []
    if encoding.by in {"guess", "zero bytes"}:
        detail = f"no encoding is declared; read as {encoding.name}"
        warnings.append(Warning_(code="encoding_guessed", detail=detail, source=job.name))
    replaced = tally.replaced
    if encoding.name == "utf-8":
        replaced -= job.data.count("\ufffd".encode())  # those that the author wrote
    if encoding.errors == "replace" and replaced > 0:
        detail = f"{replaced} places are no {encoding.name} and are shown as \ufffd"
        warnings.append(Warning_(code="undecodable", detail=detail, source=job.name))
    if tally.blank:
        detail = "nothing but white space"
        warnings.append(Warning_(code="blank_capture", detail=detail, source=job.name))
    return warnings


# --- encoding -----------------------------------------------------------------------------------


def find_encoding(data: bytes) -> _Encoding:
    """How to decode: by byte order mark or escape sequences, else as UTF-8 if it is that, else by its looks.

    A few damaged places do not make a UTF-8 text anything else. What is nothing known is read as UTF-8 with
    replacements.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            errors = "strict" if _fits(data, _Encoding(name, "", len(mark))) else "replace"
            return _Encoding(name, "byte order mark", len(mark), errors)
    if b"\0" in data[:SAMPLE_BYTES]:
        wide = _Encoding(_wide(data[:SAMPLE_BYTES]), "zero bytes")
        if wide.name and _fits(data, wide):
            return wide
    if switched := _switched(data):
        return switched
    plain = _Encoding("utf-8", "UTF-8")
    if _fits(data, plain):
        return plain
    sample = _sample(data)
    good, bad = _utf8_places(sample)
    if good > bad:  # in any other encoding hardly two bytes in a row are right UTF-8
        return _Encoding("utf-8", "UTF-8", errors="replace")
    guessed = None if b"\0" in sample else _guess(sample)
    if guessed is None:
        return _Encoding("utf-8", "none", errors="replace")
    strict = _Encoding(guessed, "guess")
    return strict if _fits(data, strict) else _Encoding(guessed, "guess", errors="replace")


def _switched(data: bytes) -> _Encoding | None:
    """The 7-bit encoding that escape sequences announce, if all of the text is of it; otherwise None."""
    if not data.isascii():
        return None
    for announced, names in _SWITCHED:
        if announced.search(data):
            for name in names:
                found = _Encoding(name, "escape sequences")
                if _fits(data, found) and not all(piece.isascii() for piece in _decoded(data, found)):
                    return found
    return None


def _sample(data: bytes) -> bytes:
    """The part that tells: from just before the first byte that is not ASCII."""
    first = _NOT_ASCII.search(data)
    start = max(0, first.start() - 256) if first else 0
    sample = data[start : start + SAMPLE_BYTES]
    # A sign of several bytes that is cut in two would speak against the right encoding.
    end = sample.rfind(b"\n") if len(sample) == SAMPLE_BYTES else -1
    return sample[: end + 1] or sample


def _utf8_places(sample: bytes) -> tuple[int, int]:
    """(signs of several bytes that are right UTF-8, places that are not)."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return sum(sign > "\x7f" for sign in text) - bad, bad


def _wide(sample: bytes) -> str:
    """UTF-16 without its mark, as Windows writes it: every other byte is zero, on one side only."""
    pairs = len(sample) // 2
    even, odd = sample[0 : 2 * pairs : 2].count(0), sample[1 : 2 * pairs : 2].count(0)
    if odd > 0.4 * pairs and even <= 0.02 * pairs:
        return "utf-16-le"
    if even > 0.4 * pairs and odd <= 0.02 * pairs:
        return "utf-16-be"
    return ""


def _guess(sample: bytes) -> str | None:
    """The most likely encoding of a text that is no UTF-8, or None.

    With hardly a sign that is not ASCII there is nothing to tell languages by, and Western European is what
    browsers take such a text for. It also wins where another fits no better.
    """
    from charset_normalizer import from_bytes

    high = len(sample.translate(None, delete=_ASCII))
    if high < 3 or high < len(sample) // 50:
        return _WESTERN if _fits(sample, _Encoding(_WESTERN, "")) else None
    matches = from_bytes(sample, cp_isolation=_CANDIDATES, enable_fallback=False)
    best = matches.best()
    if best is None:
        return None
    western = next((match for match in matches if match.encoding == _WESTERN), None)
    if western is not None and western.coherence >= best.coherence:
        return _WESTERN
    return best.encoding


def _fits(data: bytes, encoding: _Encoding) -> bool:
    """Whether all of it can be decoded so; holds a chunk of it at a time."""
    try:
        for _ in _decoded(data, encoding):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, encoding: _Encoding) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding.name)(encoding.errors)
    view = memoryview(data)
    for start in range(encoding.skip, len(data), _CHUNK_BYTES):
        end = start + _CHUNK_BYTES
        yield decoder.decode(bytes(view[start:end]), end >= len(data))


# --- what was decoded ---------------------------------------------------------------------------


class _Tally:
    """The beginning of a text, and counts of all of it; line ends are LF from here on."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[str] = []
        self._held = 0
        self._ends = io.IncrementalNewlineDecoder(None, translate=True)
        self._last = ""
        self._feeds = 0
        self.beyond = 0
        self.replaced = 0
        self.blank = True

    def take(self, piece: str) -> None:
        """One more piece of the text."""
        self.replaced += piece.count("\ufffd")
        lined = self._ends.decode(piece)
        if not lined:
            return
        self._feeds += lined.count("\n")
        self._last = lined[-1]
        self.blank = self.blank and not lined.strip()
        kept = lined[: max(0, self._limit - self._held)]
        self._kept.append(kept)
        self._held += len(kept)
        self.beyond += len(lined) - len(kept)

    def finish(self) -> None:
        """No more pieces."""
        # A CR at the very end is held back until it is known whether LF follows.
        rest = self._ends.decode("", final=True)
        if rest:
            self._feeds += 1
            self._last = rest
            self._kept.append(rest[: max(0, self._limit - self._held)])
            self.beyond += len(rest) - len(self._kept[-1])

    @property
    def text(self) -> str:
        """What was kept."""
        return "".join(self._kept)

    @property
    def lines(self) -> int:
        """Lines in all; a last one without an end counts."""
        return self._feeds + (self._last not in {"", "\n"})

    @property
    def newlines(self) -> str:
        """What the file's line ends are: `LF`, `CRLF`, `CR`, several of them, or nothing."""
        names = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
        seen = self._ends.newlines
        ends = (seen,) if isinstance(seen, str) else seen or ()
        return ", ".join(sorted(names[end] for end in ends))
