"""The two report files of an out-dir, written so that a reader never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from beholder.errors import StoreError
from beholder.report.html import render_html
from beholder.report.load import Run, load_run, read_optional
from beholder.report.markdown import render_markdown
from beholder.report.thumbs import make_thumbs
from beholder.report.view import ReportView, build_view
from beholder.store import joint_models
from beholder.store.outdir import write_bytes

HTML_NAME = "report.html"
MARKDOWN_NAME = "REPORT_EVALUATION.md"


def write_reports(out_dir: Path) -> list[Path]:
    """`report.html` and `REPORT_EVALUATION.md` of one model's out-dir.

    Raises:
        StoreError: The out-dir's rows or summary are missing or damaged.
    """
    return _write(build_view([_load(out_dir)]), out_dir)


def write_joint_reports(out_dir: Path, models: Mapping[str, Path]) -> list[Path]:
    """One report over several models, in `out_dir`; its `judge_summary.json` is the joint one.

    Args:
        out_dir: Where the report goes.
        models: Out-dir by the model's name in the report. Pictures are linked where they lie.

    Raises:
        StoreError: An out-dir's rows or summary are missing or damaged.
    """
    runs = [_load(path, name=name, report_dir=out_dir) for name, path in models.items()]
    return _write(build_view(runs, joint=read_optional(out_dir / "judge_summary.json")), out_dir)


def rebuild_together(out_dirs: Sequence[Path]) -> list[Path]:
    """The reports of several out-dirs, and a joint one in the folder that all of them lie in.

    Raises:
        StoreError: Rows or summary are missing or damaged; the out-dirs have equal names, or their numbers
            cannot stand side by side; a report that is not ours lies where the joint one goes.
    """
    names = [path.resolve().name for path in out_dirs]
    if len(set(names)) < len(names):
        raise StoreError("two out-dirs have the same name; a joint report needs different ones", slug="names")
    _check_alike(out_dirs)
    above = Path(os.path.commonpath([path.resolve().parent for path in out_dirs]))
    there = above / HTML_NAME
    if there.exists() and b"beholder" not in there.read_bytes()[:4096]:
        raise StoreError(
            f"{there}: is no report of ours; move it, for the joint report goes there", slug="names"
        )
    written = [path for out_dir in out_dirs for path in rebuild_reports(out_dir)]
    return [*written, *write_joint_reports(above, dict(zip(names, out_dirs, strict=True)))]


def _check_alike(out_dirs: Sequence[Path]) -> None:
    """Numbers are ranked together only if the same question was asked and the same formula applied."""
    summaries = [read_optional(path / "judge_summary.json") for path in out_dirs]
    for member in ("protocol", "question_sha256", "formula_sha256"):
        found = {str(summary.get(member)) for summary in summaries}
        if len(found) > 1:
            raise StoreError(
                f"these out-dirs differ in {member} ({', '.join(sorted(found))}), so their numbers cannot "
                "stand side by side; report them one by one",
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
