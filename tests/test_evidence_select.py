"""Selection: exclusion, routing, the best of several, and a reason for everything else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from beholder.evidence.select import is_excluded, select_artifacts
from beholder.records import Artifact, Routing, Submission

STRICT = Routing(
    kind="strict",
    visual=(".html", ".pdf", ".png"),
    text=(".md", ".txt"),
    exclude=("ocr/", "crop*", "*_tsv.tsv"),
    select="all",
)


def of(*names: str, response: str | None = None) -> Submission:
    artifacts = tuple(Artifact(name=name, path=Path(name), sha256="", size_bytes=1) for name in sorted(names))
    return Submission(task_id="t", model="m", root=Path(), artifacts=artifacts, response=response)


def listed(submission: Submission, routing: Routing) -> dict[str, str | None]:
    return {item.name: item.reason for item in select_artifacts(submission, routing).not_shown}


def test_exclusion_patterns() -> None:
    """A folder pattern drops what lies below such a folder anywhere; others match names; case is nothing."""
    patterns = STRICT.exclude
    dropped = ["ocr/a.png", "x/OCR/y/a.png", "Crop1.png", "deep/crop_yield_report.pdf", "a_tsv.tsv"]
    kept = ["ocr.png", "ocrs/a.png", "a/recrop.png", "x/ocr"]
    assert all(is_excluded(name, patterns) for name in dropped)
    assert not any(is_excluded(name, patterns) for name in kept)


def test_excluded_files_are_listed() -> None:
    """A deliverable that an exclusion hits is dropped as the protocol says, and listed with the pattern."""
    chosen = select_artifacts(of("crop_yield_report.pdf", "ocr/page1.png"), STRICT)
    assert (chosen.route, chosen.reason) == ("none", "unsupported")
    assert [item.reason for item in chosen.not_shown] == ["excluded", "excluded"]
    assert "'crop*'" in chosen.not_shown[0].detail
    assert chosen.detail == (
        "the protocol excludes every file that was handed in: crop_yield_report.pdf, ocr/page1.png"
    )
    mixed = select_artifacts(of("crop_yield_report.pdf", "c.vue"), STRICT)
    assert mixed.detail == "no file of a kind the protocol looks at; it excludes crop_yield_report.pdf"


def test_first_takes_the_best() -> None:
    """`first` goes by the order of suffixes, then index, then the shortest path, then the name."""
    routing = Routing(visual=(".html", ".png"), select="first")
    order = ["index.html", "a/index.html", "b.html", "bb.html", "a/a.html", "a.png", "b.png"]
    for best in range(len(order)):
        chosen = select_artifacts(of(*order[best:]), routing)
        assert [artifact.name for artifact in chosen.chosen] == [order[best]]
        assert {item.reason for item in chosen.not_shown} <= {"not_selected"}


def test_suffix_in_capitals() -> None:
    """`.PNG` is routed as `.png`."""
    assert select_artifacts(of("A.PNG"), STRICT).route == "visual"


def test_strict_route() -> None:
    """One visual file takes all to the visual judge; without one the text judge has it; nothing is silent."""
    mixed = of("a.md", "b.png", "c.vue", response="words")
    assert select_artifacts(mixed, STRICT).route == "visual"
    assert listed(mixed, STRICT) == {"a.md": "not_selected", "c.vue": "unsupported"}
    assert select_artifacts(of("a.md"), STRICT).route == "text"
    assert select_artifacts(of("c.vue", response="words"), STRICT).route == "text"
    assert select_artifacts(of(response=" \n"), STRICT).reason == "missing"


def test_nothing_to_look_at() -> None:
    """Without any file the submission is missing; with files of other kinds it is unsupported."""
    visual = replace(STRICT, kind="visual")
    assert select_artifacts(of(), visual).reason == "missing"
    assert select_artifacts(of("a.mp4", "noext", response="words"), visual).reason == "unsupported"
    assert listed(of("a.mp4", "noext"), visual) == {"a.mp4": "unsupported", "noext": "unsupported"}


def broken(name: str, problem: str, root: Path | None, response: str | None = None) -> Submission:
    artifact = Artifact(
        name=name, path=Path("t") / name, sha256="", size_bytes=0, problem=problem, problem_detail="so it is"
    )
    return Submission(task_id="t", model="m", root=root, artifacts=(artifact,), response=response)


def test_a_broken_file_of_no_interest_decides_nothing() -> None:
    """A dangling log neither takes the words from the text judge nor becomes the reason."""
    visual = replace(STRICT, kind="visual")
    for name in ("run.log", "artifacts"):
        one = broken(name, "missing", Path("t"), response="words")
        assert select_artifacts(one, STRICT).route == "text", name
        assert listed(one, STRICT) == {name: "unsupported"}
        assert select_artifacts(one, visual).reason == "unsupported", name


def test_a_folder_that_may_not_be_used_is_the_cause() -> None:
    """The folder itself is chosen, to tell why, unless there are words for the text judge."""
    for problem in ("unsafe_path", "unreadable"):
        for routing in (STRICT, replace(STRICT, kind="visual")):
            for root in (None, Path("t/artifacts")):
                chosen = select_artifacts(broken("artifacts", problem, root), routing)
                assert (chosen.route, [one.problem for one in chosen.chosen]) == ("visual", [problem])
    spoken = select_artifacts(broken("artifacts", "unsafe_path", None, response="words"), STRICT)
    assert (spoken.route, spoken.chosen) == ("text", ())
    assert [(item.name, item.reason, item.detail) for item in spoken.not_shown] == [
        ("artifacts", "unsupported", "so it is")
    ]


@given(
    st.sets(st.sampled_from(["a.html", "index.html", "x/a.png", "crop.png", "b.md", "c.vue", "ocr/a.png"])),
    st.sampled_from(["visual", "strict"]),
    st.sampled_from(["first", "all"]),
)
def test_every_file_is_accounted_for(names: set[str], kind: str, select: str) -> None:
    """Each file is either chosen or listed with a reason, never both, never neither, on the visual route."""
    chosen = select_artifacts(of(*names), replace(STRICT, kind=kind, select=select))
    told = [artifact.name for artifact in chosen.chosen] + [item.name for item in chosen.not_shown]
    assert sorted(told) == sorted(names)
