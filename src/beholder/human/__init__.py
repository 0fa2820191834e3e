"""People's ratings of the same tasks against the judge's.

read.py      a CSV or XLSX file -> ratings by task and rater
agree.py     ratings and rows -> the document: a column each, disagreements
figures.py   two raters -> agreement, kappa, correlation, bias
people.py    people among themselves, the judge against each
"""

from __future__ import annotations

from beholder.human.agree import check_rated, human_agreement, scales_of
from beholder.human.read import HumanRatings, read_ratings

__all__ = ["HumanRatings", "check_rated", "human_agreement", "read_ratings", "scales_of"]
