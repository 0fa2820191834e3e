"""Out-dirs -> `report.html`, `REPORT_EVALUATION.md`, a protocol's own table, a table for the terminal.

    load.py -> Run -> items.py, view.py -> ReportView -> html.py, markdown.py
                                           summaries  -> terminal.py
                                           rows       -> table.py

Needs only an out-dir: no browser, no key, no network.
"""

from __future__ import annotations

from beholder.report.load import Run, TaskTexts, load_run
from beholder.report.table import write_table
from beholder.report.view import ReportView, build_view
from beholder.report.write import rebuild_reports, rebuild_together, write_joint_reports, write_reports

__all__ = [
    "ReportView",
    "Run",
    "TaskTexts",
    "build_view",
    "load_run",
    "rebuild_reports",
    "rebuild_together",
    "write_joint_reports",
    "write_reports",
    "write_table",
]
