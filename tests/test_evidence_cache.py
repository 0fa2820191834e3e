"""The cache of rendered results: what is a hit, what is a miss, damage, eviction, two processes."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import textwrap
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from beholder.errors import BrokenArtifact, ConfigError
from beholder.evidence.cache import Cached, EvidenceCache
from beholder.evidence.cache_key import cache_key, digests_of, library_stamp, may_store, program_stamp
from beholder.evidence.kinds import Job, Shown
from beholder.evidence.serve import ServedFolder
from beholder.records import EvidencePolicy, MediaLimits, NetworkPolicy, Picture, Video, Warning_
from tests.fakes.evidence import BLOCKED

ALLOWED = NetworkPolicy(mode="allow", given=True)
RENDERER = {"browser": "one"}


def job(name: str = "a.html", data: bytes = b"<h1>page</h1>", *, budget: int = 4, **policy: Any) -> Job:
    suffix = "." + name.rpartition(".")[2]
    rules = EvidencePolicy(**policy)
    return Job(name=name, suffix=suffix, data=data, policy=rules, limits=MediaLimits(), budget=budget)


def key_of(one: Job, kind: str = "html", **changes: Any) -> str:
    values: dict[str, Any] = {"renderer": RENDERER, "network": BLOCKED, **changes}
    return cache_key(one, kind, **values)


def picture(data: bytes, source: str = "a.html", **more: Any) -> Picture:
    digest = hashlib.sha256(data).hexdigest()
    return Picture(
        sha256=digest,
        media_type="image/png",
        width_px=3,
        height_px=2,
        size_bytes=len(data),
        source=source,
        data=data,
        **more,
    )


def shown(*datas: bytes, source: str = "a.html") -> Shown:
    pictures = tuple(
        picture(data, source, part=at, parts=len(datas), transforms=("cut",)) for at, data in enumerate(datas)
    )
    return Shown(
        pictures=pictures,
        texts=((source, "words"),),
        facts={"waits": [1, 2.5], "nested": {"é": None}},
        warnings=(Warning_(code="blank_capture", detail="one", source=source),),
    )


def result_of(found: Cached | None) -> Shown:
    assert found is not None
    assert isinstance(found.result, Shown)
    return found.result


def datas(result: Shown) -> list[bytes]:
    return [one.data for one in result.pictures]


@pytest.fixture
def cache(tmp_path: Path) -> EvidenceCache:
    return EvidenceCache(tmp_path / "cache")


def stored(cache: EvidenceCache, kind: str) -> list[Path]:
    return [path for path in (cache.folder / kind).rglob("*") if path.is_file()]


def a_second_passes(cache: EvidenceCache) -> None:
    """Let all that is stored be older: a file system may not tell apart what is written within one tick."""
    for path in stored(cache, "entries") + stored(cache, "blobs"):
        before = path.stat().st_mtime_ns
        os.utime(path, ns=(before, before - 1_000_000_000))


# --- what comes back ----------------------------------------------------------------------------


def test_it_returns_what_was_put(cache: EvidenceCache) -> None:
    """A result comes back whole, bytes and renderer included, also for another process's object."""
    one, key = job(), key_of(job())
    assert cache.get(key, one) is None
    cache.put(key, one, shown(b"one", b"two"), renderer={"browser": "x", "sandbox": "on"})
    for reader in (cache, EvidenceCache(cache.folder)):
        found = reader.get(key, one)
        result = result_of(found)
        assert result == shown(b"one", b"two")
        assert datas(result) == [b"one", b"two"]
        assert found is not None
        assert found.renderer == {"browser": "x", "sandbox": "on"}
    assert (cache.hits, cache.misses, cache.problem) == (1, 1, "")


def test_a_video_comes_back(cache: EvidenceCache) -> None:
    """A video's bytes are kept like a picture's."""
    data = b"film"
    video = Video(
        sha256=hashlib.sha256(data).hexdigest(),
        media_type="video/mp4",
        size_bytes=4,
        source="a.mp4",
        width_px=2,
        height_px=2,
        duration_s=1.5,
        data=data,
    )
    one = job("a.mp4", b"other")
    cache.put(key_of(one, "video"), one, Shown(videos=(video,)))
    (found,) = result_of(cache.get(key_of(one, "video"), one)).videos
    assert (found, found.data) == (video, data)


def test_a_fault_comes_back_as_the_fault(cache: EvidenceCache) -> None:
    """A damaged file is found damaged again, with its slug and words, without being decoded."""
    one = job("a.png", b"broken")
    key = key_of(one, "image")
    cache.put(key, one, BrokenArtifact("cannot be decoded", slug="corrupt"))
    found = cache.get(key, one)
    assert found is not None
    error = found.result
    assert isinstance(error, BrokenArtifact)
    assert (error.slug, str(error), error.concerns) == ("corrupt", "cannot be decoded", "a.png")


def test_the_artifacts_own_bytes_are_not_stored(cache: EvidenceCache) -> None:
    """A picture that is sent as it came is not kept a second time, and comes back with its bytes."""
    one = job("a.png", b"picture")
    key = key_of(one, "image")
    cache.put(key, one, shown(b"picture", source="a.png"))
    assert stored(cache, "blobs") == []
    assert datas(result_of(cache.get(key, one))) == [b"picture"]


def test_one_blob_for_equal_pictures(cache: EvidenceCache) -> None:
    """The same picture of two files lies on the disk once."""
    for data in (b"first", b"second"):
        one = job(data=data)
        cache.put(key_of(one), one, shown(b"same"))
    assert len(stored(cache, "blobs")) == 1
    assert len(stored(cache, "entries")) == 2


def test_another_name_for_the_same_content(cache: EvidenceCache) -> None:
    """A document under another name is a hit and speaks of the name it has now; a page is a miss."""
    old, new = job("old.pdf", b"pdf"), job("new.pdf", b"pdf")
    assert key_of(old, "pdf") == key_of(new, "pdf")
    cache.put(key_of(old, "pdf"), old, shown(b"one", source="old.pdf"))
    assert result_of(cache.get(key_of(new, "pdf"), new)) == shown(b"one", source="new.pdf")
    assert key_of(job("old.html")) != key_of(job("new.html"))


# --- the key ------------------------------------------------------------------------------------


def test_what_a_page_depends_on() -> None:
    """Content, name, budget, limits, waits, network, record and renderer each make another page."""
    base = job()
    keys = [
        key_of(base),
        key_of(job(data=b"<h1>other</h1>")),
        key_of(job("b.html")),
        key_of(job("a.htm")),
        key_of(job(budget=3)),
        key_of(job(layout="single")),
        key_of(job(viewport=(1000, 800))),
        key_of(job(min_wait_s=Decimal(3))),
        key_of(replace(base, limits=MediaLimits(shrink_edge_px=1000))),
        key_of(base, "svg"),
        key_of(base, network=NetworkPolicy()),
        key_of(base, network=ALLOWED),
        key_of(base, record="abc"),
        key_of(base, renderer={"browser": "two"}),
    ]
    assert len(set(keys)) == len(keys)


def test_what_does_not_matter_is_no_miss() -> None:
    """A flag that a kind does not look at leaves its key alone, and 3 s are 3.0 s."""
    page, image = job(), job("a.png")
    assert key_of(page) == key_of(job(text_chars=5))
    assert key_of(job(min_wait_s=Decimal(3))) == key_of(job(min_wait_s=Decimal("3.0")))
    assert key_of(image, "image") == key_of(job("a.png", min_wait_s=Decimal(9)), "image")
    assert key_of(image, "image", network=ALLOWED, record="r") == key_of(image, "image")
    text = job("a.txt")
    assert key_of(text, "text") != key_of(job("a.txt", text_chars=5), "text")


def test_stamps(tmp_path: Path) -> None:
    """A program that was replaced and a library of another version are told apart without starting them."""
    program = tmp_path / "browser"
    assert program_stamp(program) == {}
    program.write_bytes(b"1")
    before = program_stamp(program)
    program.write_bytes(b"22")
    assert program_stamp(program) != before
    assert set(library_stamp("pillow", "no-such-library")) == {"pillow"}


# --- what may be kept ---------------------------------------------------------------------------


def test_what_may_be_kept() -> None:
    """A page that had not settled, or saw the outside world without a record, is rendered again."""
    outside = Shown(facts={"outside_hosts": ["a.example"]})
    assert may_store(shown(b"one"), ALLOWED, "")
    assert may_store(outside, BLOCKED, "")
    assert not may_store(outside, ALLOWED, "")
    assert may_store(outside, ALLOWED, "record")
    assert not may_store(Shown(blocked_hosts=("a.example",)), NetworkPolicy(), "")
    assert not may_store(Shown(warnings=(Warning_(code="page_not_settled"),)), BLOCKED, "")
    assert not may_store(shown(b"one"), BLOCKED, "", assets=100_000)
    assert may_store(BrokenArtifact("x", slug="encrypted"), BLOCKED, "")
    assert not may_store(BrokenArtifact("x", slug="unrenderable"), BLOCKED, "")


# --- files beside a page ------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "page"
    root.mkdir()
    (root / "style.css").write_text("one")
    return root


def render(folder: Path, cache: EvidenceCache, data: bytes) -> ServedFolder:
    """Stand for a page that loads a style, a name of odd bytes and a script that is not there."""
    served = ServedFolder(root=folder, name="a.html", page=job().data)
    for url in ("style.css", "late.js", "%FF%FE.js", ".hidden", "dir%2Fx"):
        served.answer(f"http://artifact.localhost/{url}")
    cache.put(key_of(job()), job(), shown(data), served=served.served, missing=served.missing)
    return served


def look_up(folder: Path, cache: EvidenceCache) -> list[bytes] | None:
    look = ServedFolder(root=folder, name="a.html", page=job().data)
    found = cache.get(key_of(job()), job(), digests_of(look))
    return None if found is None else datas(result_of(found))


def test_files_beside_a_page(cache: EvidenceCache, folder: Path) -> None:
    """A page is a hit only while the files it got are the same and those it missed are still absent."""
    served = render(folder, cache, b"first")
    assert set(served.served) == {"style.css"}
    assert len(served.missing) == 4
    (folder / ".hidden").write_text("never served")
    (folder / "unrelated.css").write_text("not asked for")
    assert look_up(folder, cache) == [b"first"]
    (folder / "late.js").write_text("now there")
    assert look_up(folder, cache) is None
    (folder / "late.js").unlink()
    assert look_up(folder, cache) == [b"first"]
    (folder / "style.css").write_text("two")
    assert look_up(folder, cache) is None
    render(folder, cache, b"second")
    assert look_up(folder, cache) == [b"second"]
    (folder / "style.css").write_text("one")
    assert look_up(folder, cache) == [b"first"]
    (folder / "style.css").unlink()
    assert look_up(folder, cache) is None


def test_a_page_with_files_needs_them_to_be_checked(cache: EvidenceCache, folder: Path) -> None:
    """Without a way to check the files beside it, such a page is a miss."""
    render(folder, cache, b"first")
    assert cache.get(key_of(job()), job()) is None


def test_few_variants_are_kept(cache: EvidenceCache, folder: Path) -> None:
    """Of one page with ever other files, the latest variants stay."""
    for at in range(20):
        (folder / "style.css").write_text(str(at))
        render(folder, cache, b"%d" % at)
        a_second_passes(cache)
    assert len(stored(cache, "entries")) == 8
    assert look_up(folder, cache) == [b"19"]


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut", "flip", "empty", "gone", "other"])
@pytest.mark.parametrize("what", ["entries", "blobs"])
def test_a_damaged_file_is_a_miss_and_is_dropped(cache: EvidenceCache, what: str, how: str) -> None:
    """What is not what its digest says is never shown; the next rendering stores it anew."""
    one, key = job(), key_of(job())
    cache.put(key, one, shown(b"one picture"))
    (path,) = stored(cache, what)
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(
            {
                "cut": data[:-1],
                "flip": bytes([data[0] ^ 1]) + data[1:],
                "empty": b"",
                "other": hashlib.sha256(b"junk").digest() + b"junk",
            }[how]
        )
    assert cache.get(key, one) is None
    assert not path.exists()
    cache.put(key, one, shown(b"one picture"))
    assert datas(result_of(cache.get(key, one))) == [b"one picture"]


def test_an_entry_cannot_lead_out(cache: EvidenceCache, tmp_path: Path) -> None:
    """A picture's digest in a forged entry names no path: it has to be a digest."""
    (tmp_path / "secret").write_bytes(b"secret")
    one, key = job(), key_of(job())
    forged = replace(picture(b"x"), sha256="../../../secret", data=b"")
    cache.put(key, one, Shown(pictures=(picture(b"x"),)))
    (path,) = stored(cache, "entries")
    good = path.read_bytes()[32:]
    digest = picture(b"x").sha256.encode()
    # The string's header tells its length, so that the name is filled up to it.
    name = forged.sha256.encode().rjust(len(digest), b"/")
    assert good.count(digest) == 1
    payload = good.replace(digest, name)
    path.write_bytes(hashlib.sha256(payload).digest() + payload)
    assert cache.get(key, one) is None


def test_a_key_is_a_digest(cache: EvidenceCache) -> None:
    """Anything else as a key is a mistake of the caller."""
    with pytest.raises(ValueError, match="SHA-256"):
        cache.get("../x", job())


# --- bounded ------------------------------------------------------------------------------------


def test_the_longest_unused_goes_first(tmp_path: Path) -> None:
    """Beyond its size the cache drops what was used longest ago and keeps what was used again."""
    cache = EvidenceCache(tmp_path, max_bytes=60_000)
    chance = random.Random(0)
    jobs = [job(data=b"%d" % at) for at in range(20)]
    for at, one in enumerate(jobs):
        cache.put(key_of(one), one, shown(chance.randbytes(5000)))
        a_second_passes(cache)
        assert cache.get(key_of(jobs[0]), jobs[0]) is not None, f"the one in use went, at {at}"
    held = sum(path.stat().st_size for path in stored(cache, "entries") + stored(cache, "blobs"))
    assert held <= 60_000
    hits = [cache.get(key_of(one), one) is not None for one in jobs]
    assert hits[0]
    assert hits[-1]
    assert not any(hits[1:6])


def test_what_is_there_already_counts(tmp_path: Path) -> None:
    """A later run with the same folder keeps to the size, too."""
    for at in range(12):
        one = job(data=b"%d" % at)
        EvidenceCache(tmp_path, max_bytes=20_000).put(
            key_of(one), one, shown(random.Random(at).randbytes(5000))
        )
    held = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert held <= 21_000


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    """A half-written file of an hour ago goes; one of now may be another process's and stays."""
    EvidenceCache(tmp_path)
    old, new = tmp_path / "new" / "old", tmp_path / "new" / "new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    EvidenceCache(tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    """A file in the folder's place is the user's flag, told in words."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="--cache-dir"):
        EvidenceCache(tmp_path / "file")
    with pytest.raises(ValueError, match="max_bytes"):
        EvidenceCache(tmp_path / "c", max_bytes=0)


def test_a_full_disk_costs_no_result(cache: EvidenceCache) -> None:
    """What cannot be written is noted and not raised."""
    (cache.folder / "entries").rmdir()
    (cache.folder / "entries").write_text("in the way")
    cache.put(key_of(job()), job(), shown(b"one"))
    assert str(cache.folder) in cache.problem
    assert cache.get(key_of(job()), job()) is None


_PROGRAM = """
import hashlib, random, sys
from pathlib import Path
from beholder.evidence.cache import EvidenceCache
from tests.test_evidence_cache import datas, job, key_of, result_of, shown

cache = EvidenceCache(Path(sys.argv[1]), max_bytes=150_000)
chance = random.Random(int(sys.argv[2]))
hits = 0
for _ in range(400):
    at = chance.randrange(40)
    one = job(data=b"%d" % at)
    wanted = [random.Random(at).randbytes(6000)]
    found = cache.get(key_of(one), one)
    if found is None:
        cache.put(key_of(one), one, shown(*wanted))
    else:
        hits += 1
        assert datas(result_of(found)) == wanted
assert not cache.problem, cache.problem
print(hits)
"""


def test_two_processes(tmp_path: Path) -> None:
    """Two processes that store, read and evict in one folder find whole results or none, and never fail."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_PROGRAM), str(tmp_path), str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for seed in (1, 2, 3)
    ]
    for process in running:
        out, errors = process.communicate(timeout=900)
        assert process.returncode == 0, errors
        assert int(out) > 20
