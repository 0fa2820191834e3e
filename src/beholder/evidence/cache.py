"""Rendered results, kept by content, policy and renderer, and shared between runs and processes.

    FOLDER/
      CACHEDIR.TAG                      tells backup programs to pass it by
      entries/<k>/<key>/<variant>       one result; a page has a variant for each set of files beside it
      blobs/<d>/<sha256>                pictures and videos by their own digest, each once
      new/                              files that are being written

What is in an entry, `cache_entry` tells; what its key is made of, `cache_key`. Everything is written beside
its place and renamed into it, so that a reader finds a whole file or none; a file that has gone, or is not
what its digest says, is a miss and is dropped. What was used longest ago is evicted first; a file that goes
while another process reads it stays readable for that process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from beholder.errors import BrokenArtifact, ConfigError
from beholder.evidence.cache_entry import Entry, pack, renamed, same_files, unpack, without_data
from beholder.evidence.kinds import Job, Shown
from beholder.records import Picture, Video

_Media = TypeVar("_Media", Picture, Video)

MAX_BYTES = 4 * 2**30
VARIANTS = 8
"""Results kept for one page with different files beside it."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_STALE_S = 3600.0
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Rendered evidence; may be deleted at any time.\n"
"""The signature is the convention's: https://bford.info/cachedir/"""


@dataclass(frozen=True, slots=True)
class Cached:
    """A stored result.

    Attributes:
        result: As it was rendered; a `BrokenArtifact` is to be raised.
        renderer: What drew it, for the manifest.
    """

    result: Shown | BrokenArtifact
    renderer: Mapping[str, Any]


class EvidenceCache:
    """A folder of rendered results. Calls read and write the disk: make them in a thread.

    The engine's way around rendering a file:

        key = cache_key(job, kind, renderer=stamp, network=network, record=record_digest)
        look = ServedFolder(root=root, name=name, page=job.data, belongs=belongs)
        found = await in_thread(job.name, cache.get, key, job, digests_of(look))
        if found is not None:
            if isinstance(found.result, BrokenArtifact):
                raise found.result
            return found.result                 # and found.renderer goes into the manifest
        try:
            result = await render(...)          # a page: with another ServedFolder, `folder`
        except BrokenArtifact as error:
            if may_store(error, network, record_digest):
                await in_thread(job.name, cache.put, key, job, error)
            raise
        if may_store(result, network, record_digest, len(folder.served) + len(folder.missing)):
            await in_thread(job.name, cache.put, key, job, result,
                            served=folder.served, missing=folder.missing, renderer=info)

    Only pages have files beside them; for other kinds leave `digests_of`, `served` and `missing` out. While
    outside answers are being recorded (`--record`) pages go past the cache, or the record would miss them.

    Args:
        folder: Made if it is absent.
        max_bytes: Evicts down to nine tenths of it.

    Attributes:
        hits, misses: Of this process.
        problem: Why something could not be stored, in words; empty if all went well. A full disk costs the
            cache and no result.

    Raises:
        ConfigError: The folder cannot be made or written to.
    """

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, not {max_bytes}")
        self.folder = folder
        self._max_bytes = max_bytes
        self._entries, self._blobs, self._new = folder / "entries", folder / "blobs", folder / "new"
        self._lock = threading.Lock()
        self.hits = self.misses = 0
        self.problem = ""
        self._held = 0
        try:
            for part in (self._entries, self._blobs, self._new):
                part.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not (folder / "CACHEDIR.TAG").exists():
                self._write(folder / "CACHEDIR.TAG", _TAG.encode())
        except OSError as error:
            raise ConfigError(
                f"--cache-dir {folder}: {error.strerror or error}; name a folder that can be written to",
                concerns="--cache-dir",
            ) from None
        # What earlier runs left counts from the first result on.
        self._held = sum(size for _, size, _ in self._files())

    # --- looking up -----------------------------------------------------------------------------

    def get(self, key: str, job: Job, digest_of: Callable[[str], str | None] | None = None) -> Cached | None:
        """The stored result, its media with their bytes and under the job's name; None if there is none.

        Args:
            digest_of: For a page: what it would be served of its own folder now. Without it a result that
                such files had a part in is none.
        """
        for path in self._variants(key):
            entry = self._read_entry(path)
            if entry is None or not same_files(entry, digest_of):
                continue
            found = self._whole(entry, job)
            if found is None:
                _unlink(path)
                continue
            _touch(path)
            self.hits += 1
            return found
        self.misses += 1
        return None

    def _variants(self, key: str) -> list[Path]:
        """Newest first."""
        found = []
        with contextlib.suppress(OSError):
            found = [
                (one.stat().st_mtime_ns, one.name, Path(one.path)) for one in _scan(self._entry_dir(key))
            ]
        return [path for _, _, path in sorted(found, reverse=True)]

    def _read_entry(self, path: Path) -> Entry | None:
        data = _read(path)
        if data is None:
            return None
        entry = unpack(data)
        if entry is None:
            _unlink(path)
        return entry

    def _whole(self, entry: Entry, job: Job) -> Cached | None:
        if entry.broken is not None:
            error = BrokenArtifact(entry.broken[1], slug=entry.broken[0], concerns=job.name)
            return Cached(error, entry.renderer)
        if entry.shown is None:
            return None
        own = hashlib.sha256(job.data).hexdigest()
        pictures = [self._with_data(one, job, own) for one in entry.shown.pictures]
        videos = [self._with_data(one, job, own) for one in entry.shown.videos]
        whole_pictures = tuple(one for one in pictures if one is not None)
        whole_videos = tuple(one for one in videos if one is not None)
        if len(whole_pictures) < len(pictures) or len(whole_videos) < len(videos):
            return None
        shown = replace(entry.shown, pictures=whole_pictures, videos=whole_videos)
        return Cached(renamed(shown, os.fsdecode(entry.name), job.name), entry.renderer)

    def _with_data(self, one: _Media, job: Job, own: str) -> _Media | None:
        if one.sha256 == own:
            return replace(one, data=job.data)
        if not _DIGEST.fullmatch(one.sha256):
            return None
        path = self._blob(one.sha256)
        data = _read(path)
        if data is None:
            return None
        if hashlib.sha256(data).hexdigest() != one.sha256:
            _unlink(path)
            return None
        _touch(path)
        return replace(one, data=data)

    # --- storing --------------------------------------------------------------------------------

    def put(
        self,
        key: str,
        job: Job,
        result: Shown | BrokenArtifact,
        *,
        served: Mapping[str, str] | None = None,
        missing: Iterable[str] = (),
        renderer: Mapping[str, Any] | None = None,
    ) -> None:
        """Store a result that `may_store` allows. A fault of the disk is noted in `problem`, not raised.

        Args:
            served, missing: Of the page's own folder, as in `ServedFolder`.
            renderer: What drew it, for the manifest.
        """
        entry = Entry(
            name=os.fsencode(job.name),
            shown=without_data(result) if isinstance(result, Shown) else None,
            broken=(result.slug, str(result)) if isinstance(result, BrokenArtifact) else None,
            served=tuple(sorted((os.fsencode(name), digest) for name, digest in (served or {}).items())),
            missing=tuple(sorted(map(os.fsencode, missing))),
            renderer=dict(renderer or {}),
        )
        path = self._entry_dir(key) / entry.variant
        try:
            packed = pack(entry)
            if isinstance(result, Shown):
                own = hashlib.sha256(job.data).hexdigest()
                media: list[Picture | Video] = [*result.pictures, *result.videos]
                for one in media:
                    if one.sha256 != own:
                        self._write_blob(one.sha256, one.data)
            self._write(path, packed)
            for old in self._variants(key)[VARIANTS:]:
                _unlink(old)
            self._evict()
        except OSError as error:
            self.problem = f"{self.folder}: {error.strerror or error}"
        except UnicodeEncodeError as error:
            self.problem = f"{self.folder}: a result cannot be written as UTF-8: {error}"

    def _write_blob(self, digest: str, data: bytes) -> None:
        path = self._blob(digest)
        try:
            if path.stat().st_size == len(data):
                _touch(path)
                return
        except OSError:
            pass  # not there yet
        self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        handle, name = tempfile.mkstemp(dir=self._new)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            try:
                Path(name).replace(path)
            except FileNotFoundError:
                # A new folder, or one that was empty for long and that another process has removed.
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                Path(name).replace(path)
        except BaseException:
            _unlink(Path(name))
            raise
        with self._lock:
            self._held += len(data)

    def _evict(self) -> None:
        """Remove what was used longest ago, if there may be too much; others' files count from here on."""
        with self._lock:
            if self._held <= self._max_bytes:
                return
            files = sorted(self._files())
            self._held = sum(size for _, size, _ in files)
            for _, size, path in files:
                if self._held <= 0.9 * self._max_bytes:
                    break
                _unlink(path)
                self._held -= size
            for parent in self._entries.glob("*/*"):
                with contextlib.suppress(OSError):
                    # One that another process has just made is about to be filled; of the others only the
                    # empty ones go.
                    if time.time() - parent.stat().st_mtime > _STALE_S:
                        parent.rmdir()

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """(last used, bytes, path) of everything stored; what a dead process was writing is removed."""
        for top in (self._entries, self._blobs, self._new):
            for folder, _, names in os.walk(top):
                for name in names:
                    path = Path(folder, name)
                    try:
                        status = path.lstat()
                    except OSError:
                        continue  # another process was faster
                    if top is not self._new:
                        yield status.st_mtime_ns, status.st_size, path
                    elif time.time() - status.st_mtime > _STALE_S:
                        _unlink(path)

    def _entry_dir(self, key: str) -> Path:
        if not _DIGEST.fullmatch(key):
            raise ValueError(f"a key is a SHA-256 in hex, not {key!r}")
        return self._entries / key[:2] / key

    def _blob(self, digest: str) -> Path:
        return self._blobs / digest[:2] / digest


def _scan(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        yield from found


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(path)
