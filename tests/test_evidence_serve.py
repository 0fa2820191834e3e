"""The folder as a site: its own files and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from beholder.evidence.serve import ORIGIN, ServedFolder, media_type


@pytest.fixture
def folder(tmp_path: Path) -> ServedFolder:
    root = tmp_path / "in"
    (root / "css").mkdir(parents=True)
    (root / "css" / "a b#1.css").write_bytes(b"body{}")
    (root / ".env").write_bytes(b"KEY=1")
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "out").symlink_to("../secret")
    (root / "page.html").write_bytes(b"changed since")
    return ServedFolder(root=root, name="page.html", page=b"pinned")


def test_the_page_is_the_pinned_bytes(folder: ServedFolder) -> None:
    """The page is served from the bytes that were pinned, without a charset."""
    answer = folder.answer(folder.url)
    assert (answer.status, answer.media_type, answer.body) == (200, "text/html", b"pinned")


def test_files_are_served_and_recorded(folder: ServedFolder) -> None:
    """A file beside the page is served by its quoted name, with its digest recorded."""
    answer = folder.answer(f"{ORIGIN}/css/a%20b%231.css?v=2")
    assert (answer.status, answer.media_type, answer.body) == (200, "text/css", b"body{}")
    assert folder.served == {"css/a b#1.css": hashlib.sha256(b"body{}").hexdigest()}


@pytest.mark.parametrize(
    "path",
    [
        "/../secret", "/css/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/css/..%2f..%2fsecret", "/out",
        "/.env", "/css//a", "/", "/%00", "/css", "/nothing.png", "//etc/passwd", "/%2fetc%2fpasswd",
    ],
)  # fmt: skip
def test_nothing_else(folder: ServedFolder, path: str) -> None:
    """No way out of the folder, no dot-file, no link out, no folder: all are not found."""
    answer = folder.answer(ORIGIN + path)
    assert (answer.status, answer.body) == (404, b"not found")
    assert folder.served == {}
    assert len(folder.missing) == 1


def test_what_was_asked_for_in_vain_is_kept_once_and_found_at_once(folder: ServedFolder) -> None:
    """In a set: a page that asks for 100,000 such files would else look through all of them each time."""
    for name in ("a.png", "b.png", "a.png"):
        folder.answer(f"{ORIGIN}/{name}")
    assert isinstance(folder.missing, set)
    assert sorted(folder.missing) == ["a.png", "b.png"]


def test_awkward_names_survive_the_url(tmp_path: Path) -> None:
    """A page's own name comes back from its URL whatever it is made of."""
    for name in (
        "a%2e%2e%2fb.html",
        "q?a=1#h.html",
        "new\nline.html",
        "文 \udcff.html",
        "semi;colon&amp.html",
    ):
        site = ServedFolder(root=tmp_path, name=name, page=b"here")
        assert site.answer(site.url).body == b"here"


def test_media_types() -> None:
    """Types are told by suffix, in any case, and do not depend on the machine's table."""
    names = ["a.JS", "a.mjs", "a.woff2", "a.geojson", "a.svg", "a.png", "a.unknown", "a"]
    assert [media_type(name) for name in names] == [
        "text/javascript", "text/javascript", "font/woff2", "application/geo+json", "image/svg+xml",
        "image/png",
        "application/octet-stream", "application/octet-stream",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "type_"),
    [
        ("caf\u00e9".encode(), "text/html; charset=utf-8"),
        (b"cafe", "text/html"),
        ("caf\u00e9".encode("latin-1"), "text/html"),
        ("\u6587".encode("gbk"), "text/html"),
        ("\u6587".encode("utf-16"), "text/html"),
        ("<META http-equiv=a content='text/html; charset=koi8-r'>caf\u00e9".encode(), "text/html"),
        ("<?xml version='1.0' encoding='latin1'?>caf\u00e9".encode(), "text/html"),
    ],
)
def test_undeclared_utf_8_is_named(page: bytes, type_: str) -> None:
    """A page that is UTF-8 and does not say so is served as such: browsers guess it from files only."""
    site = ServedFolder(root=None, name="a.html", page=page)
    assert site.answer(site.url).media_type == type_
