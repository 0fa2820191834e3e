"""Arrays -> numbers. Knows nothing of beholder."""

from beholder.stats.intervals import student_t_interval, wilson_interval

__all__ = ["student_t_interval", "wilson_interval"]
