"""Out-dirs side by side: the same tasks, differences first.

load.py -> RunRows -> unlike.py   what makes two runs no fair pair
                      pairs.py    figures of one pair
                      document.py all pairs, corrected for being several
"""

from __future__ import annotations

from beholder.compare.document import Comparison, compare_runs
from beholder.compare.load import RunRows, load_runs

__all__ = ["Comparison", "RunRows", "compare_runs", "load_runs"]
