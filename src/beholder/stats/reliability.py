"""How much repeats of a judgement agree: spread within tasks, intraclass correlation, repeats needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from beholder.stats.intervals import Interval

FloatArray = NDArray[np.float64]

REPLICATES = 2000
MANY = 1000
"""Tasks beyond which equal means are no coincidence, and nothing is resampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """One-way random effects over tasks with two or more repeats; None where undefined.

    Attributes:
        tasks: Tasks with two or more repeats.
        repeats: k0; the number of repeats, or a little less than its mean where it differs between tasks.
        within_sd: Standard deviation of a repeat about its task's mean, pooled over tasks.
        icc1: ICC(1), the correlation of two single repeats of a task; may be below 0.
        icck: ICC(k), of means over k0 repeats; unbounded below.
        icc1_interval, icck_interval: 95 %, by F; where all tasks have the same mean, F gives no width, and
            ICC(1)'s is by resampling.
        reason: Why ICC or interval is undefined.
    """

    tasks: int
    repeats: float | None
    within_sd: float | None
    icc1: float | None
    icck: float | None
    icc1_interval: Interval | None
    icck_interval: Interval | None
    reason: str | None


def reliability(tables: Sequence[FloatArray], *, confidence: float = 0.95) -> Reliability:
    """ICC(1) and ICC(k) with their intervals, and the spread within tasks.

    With B and W the mean squares between and within tasks, on n - 1 and N - n degrees of freedom, and
    k0 = (N - sum k_i² / N) / (n - 1):

        ICC(1) = (B - W) / (B + (k0 - 1) W)         ICC(k) = (B - W) / B

    and for the limits, F = B / W divided by its quantile, or multiplied by the one with the degrees of
    freedom swapped, in place of B / W. Exact for normal scores and equal k_i.

    Args:
        tables: By number of repeats: (n_k, k), k >= 2, a row per task.

    Source: Shrout and Fleiss (1979), "Intraclass correlations", ICC(1, 1) and ICC(1, k); McGraw and Wong
    (1996), table 7; k0 by Donner (1986), "A review of inference procedures for the intraclass correlation".
    """
    tables = [table for table in tables if len(table)]
    n = sum(len(table) for table in tables)
    if n == 0:
        return _undefined(0, None, None, "no task with two scored repeats")
    total = sum(table.size for table in tables)
    # Constants are exact where all repeats of a task are equal, whatever rounding does to their mean.
    means = [np.where(np.ptp(t, axis=1) == 0, t[:, 0], t.mean(axis=1)) for t in tables]
    within = math.fsum(float(((t - m[:, None]) ** 2).sum()) for t, m in zip(tables, means, strict=True))
    within_ms = within / (total - n)
    spread = math.sqrt(within_ms)
    if n < 2:
        return _undefined(n, total / n, spread, "one task only")
    grand = math.fsum(float(m.sum()) * t.shape[1] for t, m in zip(tables, means, strict=True)) / total
    between = math.fsum(
        float(((m - grand) ** 2).sum()) * t.shape[1] for t, m in zip(tables, means, strict=True)
    )
    between_ms = between / (n - 1)
    k0 = (total - sum(len(t) * t.shape[1] ** 2 for t in tables) / total) / (n - 1)
    scale = max(float(np.abs(t).max()) for t in tables)
    if between_ms <= (1e-12 * scale) ** 2 and within_ms <= (1e-12 * scale) ** 2:
        return _undefined(n, k0, spread, "all scores are equal")
    icc1 = (between_ms - within_ms) / (between_ms + (k0 - 1) * within_ms)
    if within_ms <= (1e-12 * scale) ** 2:
        return Reliability(
            tasks=n,
            repeats=k0,
            within_sd=spread,
            icc1=icc1,
            icck=(between_ms - within_ms) / between_ms,
            icc1_interval=None,
            icck_interval=None,
            reason="no repeat differs, so nothing tells how precise the agreement is known",
        )
    if between_ms <= (1e-12 * scale) ** 2:
        return Reliability(
            tasks=n,
            repeats=k0,
            within_sd=spread,
            icc1=icc1,
            icck=None,
            icc1_interval=_resampled_icc1(tables, icc1, confidence) if n <= MANY else None,
            icck_interval=None,
            reason="all tasks have the same mean",
        )
    from scipy.special import fdtri

    f = between_ms / within_ms
    tail = 0.5 + confidence / 2
    low = f / float(fdtri(n - 1, total - n, tail))
    high = f * float(fdtri(total - n, n - 1, tail))
    return Reliability(
        tasks=n,
        repeats=k0,
        within_sd=spread,
        icc1=icc1,
        icck=(between_ms - within_ms) / between_ms,
        icc1_interval=((low - 1) / (low + k0 - 1), (high - 1) / (high + k0 - 1)),
        icck_interval=(1 - 1 / low, 1 - 1 / high),
        reason=None,
    )


def _resampled_icc1(tables: Sequence[FloatArray], icc1: float, confidence: float) -> Interval | None:
    """Quantiles of ICC(1) where tasks are drawn with replacement, and so are the repeats of each one drawn.

    Tasks alone would not do: whichever are drawn, they have the same mean. Widened to the estimate, `icc1`.
    None where all draws agree.

    Source: Davison and Hinkley (1997), "Bootstrap Methods and their Application", section 3.8, strategy 2.
    """
    generator = np.random.default_rng(0)
    longest = max(table.shape[1] for table in tables)
    # In an order that is not the file's, so that the same draws meet the same scores.
    rows = sorted(sorted(row) for table in tables for row in table.tolist())
    sizes = np.array([len(row) for row in rows])
    scores = np.array([row + [0.0] * (longest - len(row)) for row in rows])
    found = []
    for _ in range(REPLICATES):
        tasks = generator.integers(0, len(sizes), len(sizes))
        k = sizes[tasks]
        columns = (generator.random((len(tasks), longest)) * k[:, None]).astype(np.int64)
        drawn, made = scores[tasks[:, None], columns], np.arange(longest) < k[:, None]
        means = np.where(made, drawn, 0.0).sum(axis=1) / k
        within = float(((drawn - means[:, None]) ** 2)[made].sum()) / (k.sum() - len(k))
        grand = float((means * k).sum()) / k.sum()
        between = float(((means - grand) ** 2 * k).sum()) / (len(k) - 1)
        k0 = (k.sum() - (k**2).sum() / k.sum()) / (len(k) - 1)
        if (total := between + (k0 - 1) * within) > 0:
            found.append((between - within) / total)
    if not found or max(found) == min(found):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return min(float(low), icc1), max(float(high), icc1)


def repeats_for_half_width(within_sd: float, half_width: float, *, confidence: float = 0.95) -> int:
    """Repeats after which a task's mean lies within ± half_width of what endless repeats would give.

    The least whole number m with z s_w / sqrt(m) <= half_width; at least 1.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    return max(1, math.ceil((z * within_sd / half_width) ** 2 - 1e-9))


def repeats_for_reliability(icc1: float, wanted: float) -> int | None:
    """Repeats whose mean has ICC(k) = wanted; None where a single repeat tells nothing (ICC(1) <= 0).

    The least whole number m >= wanted (1 - ICC(1)) / (ICC(1) (1 - wanted)).

    Source: Spearman (1910) and Brown (1910), the prophecy formula solved for the length.
    """
    if icc1 <= 0:
        return None
    return max(1, math.ceil(wanted * (1 - icc1) / (icc1 * (1 - wanted)) - 1e-9))


def _undefined(n: int, repeats: float | None, spread: float | None, reason: str) -> Reliability:
    return Reliability(
        tasks=n,
        repeats=repeats,
        within_sd=spread,
        icc1=None,
        icck=None,
        icc1_interval=None,
        icck_interval=None,
        reason=reason,
    )
