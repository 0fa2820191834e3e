"""Rows -> summary: figures within a stated scope, never without their coverage, interval and bounds.

figures.py   a row -> its figures; tasks -> counts, mean, interval, bounds
repeats.py   how much repeats of one judgement differ
crosstab.py  one 0/1 criterion against another
document.py  the summary of one out-dir, and the joint one of several
"""

from __future__ import annotations

from beholder.summary.document import recluster, summarize, summarize_jointly
from beholder.summary.figures import CI_METHOD, Scale, TaskFigures, figures, figures_of, reaches_share

__all__ = [
    "CI_METHOD",
    "Scale",
    "TaskFigures",
    "figures",
    "figures_of",
    "reaches_share",
    "recluster",
    "summarize",
    "summarize_jointly",
]
