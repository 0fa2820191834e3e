"""Out-dirs -> `report.html`, `REPORT_EVALUATION.md` and a table for the terminal.

    load.py -> Run -> view.py -> ReportView -> html.py, markdown.py
                                 summaries  -> terminal.py

Needs only an out-dir: no browser, no key, no network.
"""

from __future__ import annotations

from beholder.report.load import Run, TaskTexts, load_run
from beholder.report.terminal import results_table
from beholder.report.view import ReportView, build_view
from beholder.report.write import write_joint_reports, write_reports

__all__ = [
    "ReportView",
    "Run",
    "TaskTexts",
    "build_view",
    "load_run",
    "results_table",
    "write_joint_reports",
    "write_reports",
]
