"""XML parts of documents, scanned without building trees and without ever expanding an entity."""

from __future__ import annotations

from collections.abc import Callable
from xml.parsers import expat

from beholder.errors import BrokenArtifact

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]
Text = Callable[[str], None]


def local(name: str) -> str:
    """A name without its namespace prefix."""
    return name.rpartition(":")[2]


def attribute(attributes: dict[str, str], name: str) -> str:
    """An attribute's value whatever its prefix; empty if it is not there."""
    value = attributes.get(name)
    if value is not None:
        return value
    return next((text for key, text in attributes.items() if local(key) == name), "")


class Scanner:
    """One pass over a part.

    Attributes:
        parser: Gives `at`, the byte at which the current tag begins.
    """

    def __init__(self, start: Start, end: End | None = None, text: Text | None = None) -> None:
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = start
        if end is not None:
            self._parser.EndElementHandler = end
        if text is not None:
            self._parser.CharacterDataHandler = text
            self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = _refuse

    @property
    def at(self) -> int:
        """Byte offset of the tag that is being handled."""
        return self._parser.CurrentByteIndex

    def scan(self, data: bytes, name: str, part: str) -> None:
        """Hand every tag of `data` to the handlers.

        Args:
            name: The artifact's.
            part: For messages.

        Raises:
            BrokenArtifact: `corrupt`: it is no well-formed XML, or declares a document type, which no
                program writes into these parts and which entities need.
        """
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise BrokenArtifact(f"{part}: {error}", slug="corrupt", concerns=name) from None
        except (_Doctype, UnicodeError):
            raise BrokenArtifact(
                f"{part}: declares a document type or an unknown encoding", slug="corrupt", concerns=name
            ) from None


class _Doctype(Exception):
    """A document type was met."""


def _refuse(*_: object) -> None:
    raise _Doctype
