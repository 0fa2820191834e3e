"""The two report files of an out-dir, written so that a reader never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beholder.errors import StoreError
from beholder.report.html import render_html
from beholder.report.load import Run, load_run, read_optional
from beholder.report.markdown import render_markdown
from beholder.report.thumbs import make_thumbs
from beholder.report.view import ReportView, build_view
from beholder.store import joint_models
from beholder.store.outdir import write_bytes
from beholder.summary.figures import figures_of
from beholder.summary.stored import common_figures

HTML_NAME = "report.html"
MARKDOWN_NAME = "REPORT_EVALUATION.md"
SUMMARY_NAME = "judge_summary.json"


def write_reports(out_dir: Path) -> list[Path]:
    """`report.html` and `REPORT_EVALUATION.md` of one model's out-dir.

    Raises:
        StoreError: The out-dir's rows or summary are missing or damaged.
    """
    return _write(build_view([_load(out_dir)]), out_dir)


def write_joint_reports(out_dir: Path, models: Mapping[str, Path]) -> list[Path]:
    """One report over several models, in `out_dir`.

    Args:
        out_dir: Where the report goes. Its `judge_summary.json` tells of the tasks in common; where there is
            none of these models, they are reckoned from the rows.
        models: Out-dir by the model's name in the report. Pictures are linked where they lie.

    Raises:
        StoreError: An out-dir's rows or summary are missing or damaged.
    """
    runs = [_load(path, name=name, report_dir=out_dir) for name, path in models.items()]
    joint = read_optional(out_dir / SUMMARY_NAME)
    if (joint.get("models") or {}).keys() != models.keys():
        joint = {"common": _common(runs)}
    return _write(build_view(runs, joint=joint), out_dir)


def _common(runs: Sequence[Run]) -> dict[str, Any]:
    """The tasks that all have a number for; over clusters where all runs' own intervals are."""
    columns = {(run.summary.get("cluster") or {}).get("column") for run in runs}
    return common_figures(
        {run.name: [figures_of(row) for row in run.rows] for run in runs},
        runs[0].summary,
        cluster=columns.pop() if len(columns) == 1 else None,
    )


def rebuild_together(out_dirs: Sequence[Path], to: Path | None = None) -> list[Path]:
    """The reports of several out-dirs, and a joint one of all their models.

    Args:
        to: The folder that the joint one goes to; None: the one that all of them lie in.

    Raises:
        StoreError: Rows or summary are missing or damaged; an out-dir is named twice, or the numbers cannot
            stand side by side; the joint report's place is taken by another one.
    """
    folders = [
        folder
        for out_dir in out_dirs
        for folder in ([out_dir / name for name in joint_models(out_dir)] or [out_dir])
    ]
    above = Path(os.path.commonpath([path.resolve().parent for path in out_dirs]))
    runs = dict(zip(_names(folders, above), folders, strict=True))
    if len(runs) < len(folders):
        raise StoreError("an out-dir is named twice; a joint report needs different ones", slug="names")
    _check_alike(folders)
    place = above if to is None else to
    _check_free(place, folders)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{place}: {error.strerror}; name another folder", slug="disk") from None
    written = [path for out_dir in out_dirs for path in rebuild_reports(out_dir)]
    return [*written, *write_joint_reports(place, runs)]


def _check_free(place: Path, folders: Sequence[Path]) -> None:
    """No joint report goes over one that tells of something else."""
    there = place / HTML_NAME
    if (place / "judge_results.jsonl").exists():
        whose = "of that out-dir alone"
    elif not there.exists():
        return
    elif b"beholder" not in there.read_bytes()[:4096]:
        whose = "not ours"
    elif (models := joint_models(place)) and {(place / name).resolve() for name in models} != {
        folder.resolve() for folder in folders
    }:
        whose = (
            f"of {len(models)} models together ({', '.join(models[:5])}{', …' if len(models) > 5 else ''})"
        )
    else:
        return
    raise StoreError(
        f"{there}: the report there is {whose}, and the joint one would go over it; name another folder with "
        "-o FOLDER",
        slug="names",
        concerns=str(there),
    )


def _names(folders: Sequence[Path], above: Path) -> list[str]:
    """What the models are called: as their folders, else as their summaries say, else by their paths."""
    paths = [path.resolve() for path in folders]
    told = [str(read_optional(path / SUMMARY_NAME).get("model") or path.name) for path in paths]
    for names in ([path.name for path in paths], told):
        if len(set(names)) == len(names):
            return names
    return [path.relative_to(above).as_posix() for path in paths]


def _check_alike(out_dirs: Sequence[Path]) -> None:
    """Numbers are ranked together only if the same question was asked and the same formula applied."""
    summaries = [read_optional(path / SUMMARY_NAME) for path in out_dirs]
    for member in ("protocol", "question_sha256", "formula_sha256"):
        for path, summary in zip(out_dirs, summaries, strict=True):
            one, other = (str(found.get(member)) for found in (summaries[0], summary))
            if one != other:
                raise StoreError(
                    f"{out_dirs[0]} and {path} differ in {member} ({one[:40]}, {other[:40]}), so their "
                    "numbers cannot stand side by side; `beholder compare` says what differs, and each has a "
                    "report of its own",
                    slug="names",
                )


def rebuild_reports(out_dir: Path) -> list[Path]:
    """The reports of an out-dir, be it one model's or the joint one of several.

    Raises:
        StoreError: Rows or summary are missing or damaged.
    """
    models = joint_models(out_dir)
    if not models:
        return write_reports(out_dir)
    own = [path for name in models for path in write_reports(out_dir / name)]
    return [*own, *write_joint_reports(out_dir, {name: out_dir / name for name in models})]


def _load(out_dir: Path, *, name: str | None = None, report_dir: Path | None = None) -> Run:
    """An out-dir, with small copies of its large pictures beside them."""
    run = load_run(out_dir, name=name, report_dir=report_dir)
    return replace(run, thumbs=make_thumbs(out_dir, run))


def _write(view: ReportView, out_dir: Path) -> list[Path]:
    texts = {HTML_NAME: render_html(view), MARKDOWN_NAME: render_markdown(view)}
    for name, text in texts.items():
        # Half a surrogate pair, which a JSON file may hold, becomes a visible `\ud800` instead of an error.
        write_bytes(out_dir / name, text.encode("utf-8", errors="backslashreplace"))
    return [out_dir / name for name in texts]
