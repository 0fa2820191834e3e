"""The page and the Markdown: nothing in the data becomes markup, and the page asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from beholder.detection import words
from beholder.detection.draw import contact_sheet, find_picture, load_picture, render_scene
from beholder.detection.job import ScoreSpec, run_score
from beholder.detection.markdown import escaped, markdown_report
from beholder.detection.page import html_page
from beholder.detection.scene import (
    COLOURS,
    DASHES,
    FALSE,
    HIT,
    MATCHED,
    MISSED,
    Mark,
    Scene,
    drawn_corners,
    scenes,
    worst_images,
)
from beholder.detection.tables import csv_text, write_parquet

HOSTILE = "</svg><script>alert(1)</script>|`*\"'&"


def result(tmp_path: Path, *, replicates: int = 30):
    rows = [
        {
            "image_id": f"{HOSTILE}{k}",
            "width": 60,
            "height": 40,
            "boxes": [{"class": HOSTILE, "bbox": [5, 5, 25, 25]}],
        }
        for k in range(4)
    ]
    answers = [
        {
            "image_id": row["image_id"],
            "detections": [
                {"class": HOSTILE, "bbox": [5 + 9 * k, 5, 25 + 9 * k, 25]},
                {"class": "x", "bbox": [-1e300, 0, 1e300, 9]},
            ],
        }
        for k, row in enumerate(rows)
    ]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, answers)))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({HOSTILE: HOSTILE}))
    return run_score(
        ScoreSpec(
            tmp_path / "gold.jsonl",
            {HOSTILE: tmp_path / "m.jsonl"},
            replicates=replicates,
            provenance={HOSTILE: settings},
        )
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_hostile_names_stay_text_and_nothing_is_fetched(tmp_path: Path) -> None:
    """No script element, handler, style attribute, or address but anchors; the policy allows the style."""
    page = html_page(result(tmp_path))
    tags = Tags()
    tags.feed(page)
    assert "script" not in {tag for tag, _ in tags.seen}
    for _, attributes in tags.seen:
        assert not any(name.startswith("on") or name in {"style", "src"} for name in attributes)
        assert all(
            value.startswith(("#", "data:image/jpeg;base64,"))
            for name, value in attributes.items()
            if name == "href" and value
        )
    policy = next(a["content"] for tag, a in tags.seen if tag == "meta" and a.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert page.count("&lt;script&gt;") > 5


def test_the_page_holds_bars_with_intervals_a_plot_and_the_worst_images(tmp_path: Path) -> None:
    """Boxes that reach to infinity are drawn within the picture."""
    found = result(tmp_path)
    page = html_page(found)
    assert 'class="whisker"' in page
    assert page.count("<circle") == 2
    for kind in (MATCHED, MISSED, HIT, FALSE):
        assert COLOURS[kind] in page
    assert "e+300" not in page
    assert "data:image" not in page.replace("img-src data:", "")


def test_markdown_keeps_tables_whole(tmp_path: Path) -> None:
    """Every row of a table has as many cells as its head."""
    text = markdown_report(result(tmp_path).summary)
    assert "<script>" not in text
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1
    assert escaped("a\nb|c") == "a b\\|c"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.99996, "0.999"),
        (0.0002, "<0.001"),
        (-0.0002, ">-0.001"),
        (0.1235, "0.123"),
    ],
)
def test_what_is_not_nothing_or_all_never_looks_so(value: float | None, text: str) -> None:
    """99.996 is not 100."""
    assert words.number(value) == text


def scene(*marks: Mark) -> Scene:
    return Scene("i", 100, 50, "m", 0.5, 2, marks)


def test_kinds_differ_in_line_as_well_as_in_colour() -> None:
    """Wrong and missed are dashed, each in its own way; found ones are full lines of different width."""
    assert len(set(COLOURS.values())) == 4
    assert len({DASHES[MISSED], DASHES[FALSE], ()}) == 3


def test_a_box_is_drawn_in_its_colour_and_the_picture_keeps_its_shape() -> None:
    """Twice as wide as high, plus the line of text."""
    picture = render_scene(scene(Mark(HIT, "k", (10, 10, 60, 40))))
    assert (picture.width, picture.height - 26) == (480, 240)
    colours = {picture.getpixel((x, 26 + 120)) for x in range(480)}
    assert tuple(bytes.fromhex(COLOURS[HIT][1:])) in colours


@pytest.mark.parametrize(
    "corners", [(-1e300, -1e300, 1e300, 1e300), (30, 30, 10, 10), (5, 5, 5, 5), (200, 200, 300, 300)]
)
def test_odd_boxes_are_drawn_within_reach(corners: tuple[float, float, float, float]) -> None:
    """Infinite, inverted, without area, outside: never an error, never a line of a million pixels."""
    x1, y1, x2, y2 = drawn_corners(Mark(FALSE, "k", corners), 1.0, (100, 50))
    assert -8 <= x1 < x2 <= 111
    assert -8 <= y1 < y2 <= 61
    render_scene(scene(Mark(FALSE, "k", corners)))


def test_pictures_are_found_by_id_and_never_outside_of_the_folder(tmp_path: Path) -> None:
    """With or without suffix; what is no picture is None."""
    folder = tmp_path / "images"
    folder.mkdir()
    Image.new("RGB", (8, 8)).save(folder / "a.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    (folder / "broken.jpg").write_bytes(b"no")
    assert find_picture(folder, "a") == find_picture(folder, "a.png") == (folder / "a.png").resolve()
    for image_id in ("../secret", "none", "x\0y", "a" * 5000, ""):
        assert find_picture(folder, image_id) is None
    assert load_picture(folder / "broken.jpg") is None
    assert load_picture(folder / "a.png").size == (8, 8)


def test_the_worst_come_first_and_the_faultless_never(tmp_path: Path) -> None:
    """By FP + FN at the main threshold; a scene tells the same counts."""
    found = result(tmp_path)
    worst = worst_images(found.gold, found.tallies[0], 99)
    drawn = scenes(found.gold, found.models[0], worst, 0.5)
    errors = [one.count(FALSE) + one.count(MISSED) for one in drawn]
    assert errors == sorted(errors, reverse=True)
    assert min(errors) > 0


def test_csv_reads_back_and_parquet_holds_the_same(tmp_path: Path) -> None:
    """Numbers to the last bit, null as an empty cell."""
    table = {"name": ['a,"b"', "c"], "value": [0.1 + 0.2, None]}
    assert csv_text(table) == 'name,value\n"a,""b""",0.30000000000000004\nc,\n'
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is optional")
    write_parquet(table, tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").to_pydict() == table


def test_text_that_utf8_cannot_hold_is_written_as_its_escape(tmp_path: Path) -> None:
    """In Parquet as in CSV; in pictures; on a terminal, where control characters are escaped too."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is optional")
    write_parquet({"class": ["\ud800", "é"], "tp": [1, None]}, tmp_path / "t.parquet")
    found = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert found == {"class": ["\\ud800", "é"], "tp": [1, None]}
    assert words.printable("a\x1b[31m\n\ud800\u2028é漢") == "a\\x1b[31m\\n\\ud800\\u2028é漢"
    render_scene(scene(Mark(FALSE, "\ud800\x1b", (1, 1, 9, 9))))


@pytest.mark.parametrize(
    ("width", "height"),
    [(5e-324, 5e-324), (1e-300, 9), (9, 5e-324), (1e308, 1e308), (1, 1e308), (1e308, 1), (0.01, 0.02)],
)
def test_sizes_beyond_all_use_are_drawn(width: float, height: float, tmp_path: Path) -> None:
    """As a strip of a pixel or more, alone, on a sheet and on the page."""
    odd = Scene("i", width, height, "m", 0.5, 2, (Mark(HIT, "k", (0, 0, width, height)),))
    picture = render_scene(odd)
    assert max(picture.size) <= 1626
    assert min(contact_sheet([picture, picture]).size) > 0
    row = {"image_id": "i", "width": width, "height": height}
    (tmp_path / "g.jsonl").write_text(
        json.dumps(row | {"boxes": [{"class": "k", "bbox": [0, 0, width, height]}]})
    )
    (tmp_path / "m.jsonl").write_text('{"image_id": "i", "detections": []}')
    spec = ScoreSpec(tmp_path / "g.jsonl", {"m": tmp_path / "m.jsonl"})
    boxes = re.findall(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)" role', html_page(run_score(spec)))
    assert boxes
    assert all(1 <= float(side) <= 480 for box in boxes for side in box)
