"""Arrays -> numbers. Knows nothing of beholder."""

from beholder.stats.bounded import bounded_mean_interval, difference_interval
from beholder.stats.intervals import student_t_interval, wilson_interval
from beholder.stats.means import decimal_mean
from beholder.stats.paired import mcnemar_exact, sign_flip_test, smallest_difference
from beholder.stats.permutation import holm

__all__ = [
    "bounded_mean_interval",
    "decimal_mean",
    "difference_interval",
    "holm",
    "mcnemar_exact",
    "sign_flip_test",
    "smallest_difference",
    "student_t_interval",
    "wilson_interval",
]
