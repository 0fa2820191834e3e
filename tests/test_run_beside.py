"""Files that pages draw on beside themselves."""

from __future__ import annotations

import hashlib
from pathlib import Path

from beholder.evidence.serve import ORIGIN, ServedFolder
from beholder.records import ArtifactEvidence, Evidence
from beholder.run.beside import list_beside


def shown(facts: dict[str, dict[str, object]]) -> Evidence:
    page = ArtifactEvidence(
        name="a.html", sha256="0" * 64, size_bytes=3, kind="html", status="shown", facts=facts
    )
    return Evidence(status="ok", route="visual", artifacts=(page,))


def test_a_file_has_the_size_that_was_served_even_if_it_is_gone(tmp_path: Path) -> None:
    """What a page was drawn with is told of what was loaded, not of what lies there later."""
    path = tmp_path / "a_files" / "map.png"
    path.parent.mkdir()
    path.write_bytes(b"12345")
    folder = ServedFolder(root=tmp_path, name="a.html", page=b"<p>")
    folder.answer(f"{ORIGIN}/a_files/map.png")
    path.unlink()
    evidence = list_beside(shown({"served": folder.served, "served_bytes": folder.sizes}))
    (_, listed) = evidence.artifacts
    assert (listed.name, listed.size_bytes) == ("a_files/map.png", 5)
    assert listed.sha256 == hashlib.sha256(b"12345").hexdigest()


def test_a_page_that_loads_nothing_lists_nothing() -> None:
    """Evidence without such files stays as it is."""
    evidence = shown({"served": {}, "served_bytes": {}})
    assert list_beside(evidence) is evidence
