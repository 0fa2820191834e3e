"""Large pictures get small copies once; light ones are shown as they are."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from PIL import Image

from beholder.report import load_run, write_joint_reports, write_reports
from beholder.report.thumbs import HEIGHT_PX, WIDTH_PX, make_thumbs
from tests.fakes import outdir


def noise(path: Path, size: tuple[int, int] = (900, 2400), mode: str = "RGB") -> None:
    """A picture that does not compress."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    data = random.Random(0).randbytes(size[0] * size[1] * bands)
    Image.frombytes(mode, size, data).save(path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An out-dir with a large and a light picture."""
    rows = [outdir.row(name, "m", images=[outdir.image(name)]) for name in ("large", "light")]
    made = outdir.write(tmp_path / "m", "m", rows)
    noise(made / rows[0]["evidence"]["images"][0]["path"])
    return made


def test_a_large_picture_gets_a_small_copy_of_its_top(out: Path) -> None:
    """As wide as a card on a fine screen, in its shape, of few bytes; a light picture gets none."""
    thumbs = make_thumbs(out, load_run(out))
    assert [path.split("/")[0] for path in thumbs] == ["large"]
    path = out / next(iter(thumbs.values()))
    with Image.open(path) as small:
        assert small.size == (WIDTH_PX, HEIGHT_PX)
    assert path.stat().st_size < 200_000


def test_a_copy_is_made_once_and_again_when_it_is_gone(out: Path) -> None:
    """A second report uses it as it is; what was deleted comes back."""
    thumb = out / next(iter(make_thumbs(out, load_run(out)).values()))
    before = thumb.stat().st_mtime_ns
    make_thumbs(out, load_run(out))
    assert thumb.stat().st_mtime_ns == before
    thumb.unlink()
    make_thumbs(out, load_run(out))
    assert thumb.is_file()


def test_the_gallery_shows_the_copy_and_the_item_the_picture(out: Path) -> None:
    """Alone and in a joint report, whose copies lie with the model's own files."""
    name = next(iter(make_thumbs(out, load_run(out)).values()))
    assert f'"thumb":"{name}"' in write_reports(out)[0].read_text(encoding="utf-8")
    joint = write_joint_reports(out.parent, {"m": out})[0]
    assert f'"thumb":"m/{name}"' in joint.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["L", "RGBA", "I;16", "CMYK"])
def test_any_mode_of_picture_is_shrunk(out: Path, mode: str) -> None:
    """Grey, transparent, sixteen bits and print colours, or none at all rather than an error."""
    row = load_run(out).rows[0]
    path = out / row["evidence"]["images"][0]["path"]
    path.unlink()
    if mode == "CMYK":
        path = path.with_suffix(".jpg")
    if mode == "I;16":
        Image.new(mode, (2000, 2000)).save(path)
    else:
        noise(path, (1200, 1200), mode)
    image = {**row["evidence"]["images"][0], "path": path.relative_to(out).as_posix()}
    image.update(width_px=4000, height_px=4000)
    text = json.dumps({**row, "evidence": {"images": [image]}})
    (out / "judge_results.jsonl").write_text(f"{text}\n", encoding="utf-8")
    assert len(make_thumbs(out, load_run(out))) == 1


def test_what_cannot_be_decoded_or_lies_outside_gets_none(out: Path) -> None:
    """A broken picture is the browser's to show; a path that leads out, or no digest, is not used."""
    run = load_run(out)
    row = run.rows[0]
    image = row["evidence"]["images"][0]
    (out / image["path"]).write_bytes(b"\x89PNG no picture" * 40_000)
    assert make_thumbs(out, load_run(out)) == {}
    outside = {**image, "path": "../x.png"}
    named = {**image, "sha256": "../../evil"}
    for bad in (outside, named):
        rows = [{**row, "evidence": {"images": [bad]}}]
        sizes = {bad["path"]: 10_000_000}
        assert make_thumbs(out, type(run)(name="m", rows=rows, summary={}, sizes=sizes)) == {}
    assert not list((out / "thumbs").glob("*.part"))
