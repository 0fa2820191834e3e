"""The samples of `beholder demo`: complete, small, self-contained, and marked as made up."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from beholder.demo import example_folder

DEMO = example_folder("gis-bench")
SUBMISSIONS = DEMO / "runs"
MODELS = ["atlas-small-demo", "meridian-large-demo"]
SUFFIXES = [".html", ".jpg", ".png"]

MISSING = ("meridian-large-demo", "south-america-rain")
OUTSIDE_HOST = ("meridian-large-demo", "austin-airports")
NEVER_USABLE = ("atlas-small-demo", "south-america-rain")

# The GIS reply's criteria: the values a judge may give.
ALLOWED = {
    "exists": {0, 20},
    "accuracy": set(range(31)),
    "requirement": set(range(31)),
    "completeness": set(range(21)),
    "spatial_location": {0, 8, 15},
    "geometry_validity": {0, 2, 5},
    "numeric_match": {0, 5, 10},
}
# Text that names a host without asking for it: XML namespaces.
NAMESPACES = re.compile(
    r"https?://www\.w3\.org/(1999/xhtml|1999/xlink|2000/svg|2000/xmlns/|XML/1998/namespace)"
)


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


def replies() -> list[dict[str, Any]]:
    return [line for line in lines("replies.jsonl") if "reply" in line]


def samples() -> dict[tuple[str, str], Path]:
    return {(path.parent.name, path.stem): path for path in sorted(SUBMISSIONS.glob("*/*"))}


def usable(reply: object) -> bool:
    """Whether a reply has every criterion with a value of its scale."""
    return isinstance(reply, dict) and all(reply.get(key) in values for key, values in ALLOWED.items())


def test_five_tasks_with_text_and_level() -> None:
    """Each of the five tasks has an id, a level, a region and a prompt."""
    tasks = lines("tasks.jsonl")
    assert len({task["task_id"] for task in tasks}) == len(tasks) == 5
    assert {task["level"] for task in tasks} == {"Level1", "Level2", "Level3"}
    assert all(task["prompt"].strip() and task["region"].strip() for task in tasks)


def test_ten_submissions_of_which_one_is_missing() -> None:
    """Two models answer five tasks with one file each, but for the one that is missing on purpose."""
    planned = {(model, task["task_id"]) for model in MODELS for task in lines("tasks.jsonl")}
    assert len(planned) == 10
    assert set(samples()) == planned - {MISSING}
    assert len(list(SUBMISSIONS.glob("*/*"))) == 9
    assert sorted({path.suffix for path in samples().values()}) == SUFFIXES


def test_samples_are_small() -> None:
    """All samples together stay below 1.5 MB, and none is above 0.6 MB."""
    sizes = [path.stat().st_size for path in samples().values()]
    assert sum(sizes) < 1_500_000
    assert max(sizes) < 600_000


@pytest.mark.parametrize(("suffix", "kind"), [(".png", "PNG"), (".jpg", "JPEG")])
def test_still_pictures_are_what_their_suffix_says(suffix: str, kind: str) -> None:
    """A still picture decodes, is of its suffix's format, and about as large as the page's viewport."""
    for path in (p for p in samples().values() if p.suffix == suffix):
        with Image.open(path) as picture:
            picture.load()
            assert picture.format == kind
            assert 1200 <= picture.width <= 1300
            assert 700 <= picture.height <= 820


def test_only_the_intended_page_names_an_outside_host() -> None:
    """No page but one names a host other than in XML namespaces, and that one names only its library's."""
    hosts = {}
    for key, path in samples().items():
        if path.suffix == ".html":
            text = NAMESPACES.sub("", path.read_text(encoding="utf-8"))
            hosts[key] = set(re.findall(r"(?:https?:)?//([a-z0-9.-]+\.[a-z]{2,})", text))
    assert hosts.pop(OUTSIDE_HOST) == {"unpkg.com"}
    assert hosts
    assert not any(hosts.values())


def test_pages_load_nothing_from_beside_them() -> None:
    """But for the page with the outside host, no page has a script, style or picture of another file."""
    for key, path in samples().items():
        if path.suffix == ".html" and key != OUTSIDE_HOST:
            markup = re.sub(r"<script>.*?</script>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            assert not re.search(r"\b(src|href)\s*=|@import|url\(", markup), path


def test_every_line_of_the_replies_says_scripted() -> None:
    """Each line of the replies, the note on the first included, says that it is made up."""
    first, *rest = lines("replies.jsonl")
    assert all(line["scripted"] is True for line in [first, *rest])
    assert "no model was asked" in first["note"]


def test_three_replies_for_each_submission_that_can_be_judged() -> None:
    """Each submission neither missing nor blocked has the repeats 1, 2 and 3, and no other has any."""
    judged = set(samples()) - {OUTSIDE_HOST}
    found = [(line["model"], line["task_id"], line["repeat"]) for line in replies()]
    assert sorted(found) == sorted((*key, repeat) for key in judged for repeat in (1, 2, 3))


def test_totals_of_the_replies_add_up() -> None:
    """A usable reply keeps to the scales, and its own totals and verdict are those of the formula."""
    objects = [line["reply"] for line in replies() if isinstance(line["reply"], dict)]
    assert len(objects) == 20
    for reply in objects:
        assert usable(reply)
        assert reply["total_raw"] == sum(reply[key] for key in ALLOWED)
        assert reply["total_normalized"] == round(reply["total_raw"] / 130 * 100)
        assert reply["pass"] is (reply["total_normalized"] >= 60)
        assert reply["reason"].strip()


def test_the_unusable_replies_cannot_be_used() -> None:
    """One submission has no usable reply at all, another lacks one, which was cut by the token limit."""
    bad = [line for line in replies() if isinstance(line["reply"], str)]
    for line in bad:
        try:
            parsed = json.loads(line["reply"])
        except ValueError:
            parsed = None
        assert not usable(parsed)
    assert [(b["model"], b["task_id"]) for b in bad].count(NEVER_USABLE) == 3
    (cut,) = (b for b in bad if (b["model"], b["task_id"]) != NEVER_USABLE)
    assert cut["stop_reason"] == "max_tokens"


def test_the_notice_names_every_sample() -> None:
    """NOTICE.md tells of each file what it is, and lists the licences."""
    notice = (DEMO / "NOTICE.md").read_text(encoding="utf-8")
    assert all(f"`{path.parent.name}/{path.name}`" in notice for path in samples().values())
    assert "Open Government Licence v3.0" in notice
