"""The parts of an XLSX package: read, scanned, followed from one to the next, and written again."""

from __future__ import annotations

import io
import math
import posixpath
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

from beholder.evidence.kinds import Job
from beholder.evidence.packages import read_part
from beholder.evidence.xmlscan import Scanner, attribute, local

TRUE = ("1", "true", "on")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Parts:
    """One workbook's package.

    Attributes:
        wide: A part of those read is UTF-16, so that no bytes of ours can be put into it.
    """

    job: Job
    package: zipfile.ZipFile
    wide: bool = False

    def read(self, part: str) -> bytes:
        """A part's bytes; none if there is no such part."""
        data = read_part(self.package, part, self.job.name) or b""
        self.wide = self.wide or data.startswith(_WIDE)
        return data

    def scan(self, part: str, scanner: Scanner) -> bytes:
        """A part's bytes after the scanner has seen them."""
        data = self.read(part)
        if data:
            scanner.scan(data, self.job.name, part)
        return data

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Id -> (the type's last word, the target part) of what a part refers to inside the package."""
        folder, base = posixpath.split(part)
        found: dict[str, tuple[str, str]] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if local(tag) == "Relationship" and attribute(attributes, "TargetMode").lower() != "external":
                target = attribute(attributes, "Target")
                path = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
                kind = attribute(attributes, "Type").rpartition("/")[2]
                found[attribute(attributes, "Id")] = (kind, posixpath.normpath(path))

        self.scan(posixpath.join(folder, "_rels", f"{base}.rels"), Scanner(start))
        return found

    def written(self, changed: Mapping[str, bytes]) -> bytes:
        """The package with the changed parts; others are copied as they are, unpacked and packed again."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
            done = set()
            for member in self.package.infolist():
                part = member.filename
                if part in done or member.is_dir():
                    continue
                done.add(part)
                data = changed.get(part)
                if data is None:
                    data = read_part(self.package, part, self.job.name) or b""
                stored = zipfile.ZIP_STORED if len(data) > 4096 and not part.endswith(".xml") else None
                made.writestr(part, data, compress_type=stored)
        return buffer.getvalue()


def number(text: str | None, default: float) -> float:
    """A number as written, from 0 to 10,000; the default where it is none of these."""
    try:
        value = float(text) if text else default
    except ValueError:
        return default
    return value if math.isfinite(value) and 0 <= value < 10_000 else default


def whole(text: str | None) -> int:
    """A whole number as written; -1 where it is none."""
    return int(text) if text and len(text) < 12 and text.isascii() and text.isdigit() else -1
