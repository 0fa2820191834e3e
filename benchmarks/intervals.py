"""Which interval of a mean over tasks covers, for scores of any shape, and is narrow.

Samples of n tasks are drawn from shapes whose mean is known, on a scale from 0 to 1. Of each candidate: how
many of 100 intervals hold the true mean (95 are promised), and the mean width. A candidate is fit if it holds
at least 93 of 100 on every shape from n = 20 on, and is never of width 0; beholder's default is to be the
narrowest that is fit.

    t             Student's, cut at the ends of the scale
    bootstrap-t   studentized bootstrap, 999 resamples, cut at the ends
    bca           bias-corrected and accelerated bootstrap, 999 resamples
    betting       Waudby-Smith and Ramdas (2024), hedged capital over a grid of 400 means, c = 1/2
    bernstein     the same authors' predictable plug-in empirical-Bernstein interval
    gaffke        Gaffke (2005): a whole task's weight at the end of the scale
    beholder      `bounded_mean_interval`

    python benchmarks/intervals.py --samples 2000 --markdown
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy
from scipy import stats

from beholder.stats import bounded, bounded_mean_interval

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
Limits = tuple[np.ndarray, np.ndarray]

SIZES = (10, 20, 30, 100)
NEEDED, FROM_N = 0.93, 20
ALPHA = 0.05


def _rarely(share: float, draw: Draw) -> Draw:
    return lambda rng, size: np.where(rng.random(size) < share, draw(rng, size), 0.0)


def _ones(share: float) -> Draw:
    return lambda rng, size: (rng.random(size) < share).astype(float)


SHAPES: dict[str, tuple[Draw, float]] = {
    "bell-shaped": (lambda rng, size: rng.beta(9, 6, size), 0.6),
    "bell, narrow": (lambda rng, size: rng.beta(60, 40, size), 0.6),
    "skewed": (lambda rng, size: rng.beta(0.6, 3, size), 0.6 / 3.6),
    "skewed, near the end": (lambda rng, size: rng.beta(8, 1, size), 8 / 9),
    "mostly zero (80 %)": (_rarely(0.2, lambda rng, size: rng.random(size)), 0.1),
    "mostly zero (90 %)": (_rarely(0.1, lambda rng, size: rng.random(size)), 0.05),
    "mostly zero, small": (_rarely(0.3, lambda rng, size: rng.beta(1, 4, size)), 0.06),
    "two-valued, 1 of 2": (_ones(0.5), 0.5),
    "two-valued, 8 of 10": (_ones(0.8), 0.8),
    "two-valued, 1 of 10": (_ones(0.1), 0.1),
    "two-valued, 1 of 20": (_ones(0.05), 0.05),
    "all equal": (lambda _, size: np.full(size, 0.6), 0.6),
    "all at the end": (lambda _, size: np.zeros(size), 0.0),
}


# --- candidates: (samples, n) -> low and high, each (samples,) -----------------------------------


def student(x: np.ndarray) -> Limits:
    """Mean ± t s / sqrt(n)."""
    n = x.shape[1]
    half = stats.t.ppf(1 - ALPHA / 2, n - 1) * x.std(axis=1, ddof=1) / np.sqrt(n)
    mean = x.mean(axis=1)
    return np.maximum(mean - half, 0), np.minimum(mean + half, 1)


def _each(x: np.ndarray, one: Callable[[np.ndarray, np.ndarray], tuple[float, float]]) -> Limits:
    """A candidate that resamples, sample by sample, always with the same draws."""
    n = x.shape[1]
    draws = np.random.default_rng(0).integers(0, n, (999, n))
    found = np.array([one(sample, sample[draws]) for sample in np.sort(x, axis=1)])
    return found[:, 0], found[:, 1]


def bootstrap_t(x: np.ndarray) -> Limits:
    """Mean - quantile of (mean* - mean) / se*, times se; resamples without spread are left out."""
    n = x.shape[1]

    def one(sample: np.ndarray, resamples: np.ndarray) -> tuple[float, float]:
        mean, error = sample.mean(), sample.std(ddof=1) / np.sqrt(n)
        errors = resamples.std(axis=1, ddof=1) / np.sqrt(n)
        varied = errors > 1e-12
        if not varied.any():
            return mean, mean
        pivots = (resamples.mean(axis=1)[varied] - mean) / errors[varied]
        low, high = np.quantile(pivots, [1 - ALPHA / 2, ALPHA / 2])
        return max(0.0, mean - low * error), min(1.0, mean - high * error)

    return _each(x, one)


def bca(x: np.ndarray) -> Limits:
    """Efron's; the mean itself where all resamples are equal."""
    from beholder.stats.bootstrap import intervals, moments

    def one(sample: np.ndarray, resamples: np.ndarray) -> tuple[float, float]:
        mean = sample.mean()
        changes = mean - (sample.sum() - sample) / (len(sample) - 1)
        found = intervals(np.array([mean]), resamples.mean(axis=1)[None], moments(changes[None]))
        limits = found.bca[0] if not np.isnan(found.bca).any() else found.percentile[0]
        return float(limits[0]), float(limits[1])

    return _each(x, one)


def _running(x: np.ndarray) -> Limits:
    """(mean, variance) before each task, each begun with half a task of 1/2, and with variance 1/4."""
    n = x.shape[1]
    count = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x, axis=1)) / (count + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2, axis=1)) / (count + 1)
    before = np.full((len(x), 1), 0.5), np.full((len(x), 1), 0.25)
    return np.hstack([before[0], means[:, :-1]]), np.hstack([before[1], variances[:, :-1]])


def betting(x: np.ndarray, grid: int = 400) -> Limits:
    """Means that a gambler against them cannot have grown rich on, at any time (hedged capital)."""
    n = x.shape[1]
    stakes = np.sqrt(2 * np.log(2 / ALPHA) / (n * _running(x)[1]))
    means = (np.arange(grid) + 0.5) / grid
    low, high = np.empty(len(x)), np.empty(len(x))
    for at, (sample, stake) in enumerate(zip(x, stakes, strict=True)):
        off = sample[:, None] - means
        up = np.cumsum(np.log1p(np.minimum(stake[:, None], 0.5 / means) * off), axis=0)
        down = np.cumsum(np.log1p(-np.minimum(stake[:, None], 0.5 / (1 - means)) * off), axis=0)
        rich = np.maximum(up, down).max(axis=0) + np.log(0.5) >= np.log(1 / ALPHA)
        kept = means[~rich]
        low[at], high[at] = kept.min() - 0.5 / grid, kept.max() + 0.5 / grid
    return low, high


def bernstein(x: np.ndarray) -> Limits:
    """Weighted mean ± (log(2 / alpha) + sum v psi(stake)) / sum stake."""
    n = x.shape[1]
    means, variances = _running(x)
    stakes = np.minimum(np.sqrt(2 * np.log(2 / ALPHA) / (n * variances)), 0.5)
    psi = (-np.log1p(-stakes) - stakes) / 4
    total = stakes.sum(axis=1)
    centre = (stakes * x).sum(axis=1) / total
    half = (np.log(2 / ALPHA) + (4 * (x - means) ** 2 * psi).sum(axis=1)) / total
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def ours(x: np.ndarray) -> Limits:
    """The default."""
    found = np.array([bounded_mean_interval(sample, 0, 1) for sample in x])
    return found[:, 0], found[:, 1]


def gaffke(x: np.ndarray) -> Limits:
    """The default with a whole task's weight at the end of the scale."""
    kept = bounded.END_WEIGHT, bounded.REACH
    bounded.END_WEIGHT, bounded.REACH = 1.0, float("inf")
    try:
        return ours(x)
    finally:
        bounded.END_WEIGHT, bounded.REACH = kept


CANDIDATES: dict[str, Callable[[np.ndarray], Limits]] = {
    "t": student,
    "bootstrap-t": bootstrap_t,
    "bca": bca,
    "betting": betting,
    "bernstein": bernstein,
    "gaffke": gaffke,
    "beholder": ours,
}


# --- the simulation -------------------------------------------------------------------------------


def measure(job: tuple[str, int, int]) -> dict[str, object]:
    """Coverage, mean width and least width of every candidate on one shape and n."""
    shape, n, samples = job
    draw, mean = SHAPES[shape]
    seed = [list(SHAPES).index(shape), n]
    x = draw(np.random.default_rng(seed), (samples, n))
    found = {}
    for name, candidate in CANDIDATES.items():
        low, high = candidate(x)
        found[name] = {
            "coverage": float(np.mean((low <= mean + 1e-9) & (mean - 1e-9 <= high))),
            "width": float(np.mean(high - low)),
            "least_width": float(np.min(high - low)),
        }
    return {"shape": shape, "n": n, "candidates": found}


def verdicts(rows: list[dict]) -> dict[str, dict]:
    """Of each candidate: least coverage from n = 20, zero widths, mean width over these rows, fitness."""
    judged = [row["candidates"] for row in rows if row["n"] >= FROM_N]
    found = {}
    for name in CANDIDATES:
        least = min(row[name]["coverage"] for row in judged)
        narrowest = min(row["candidates"][name]["least_width"] for row in rows)
        found[name] = {
            "least_coverage": least,
            "zero_width": narrowest <= 1e-9,
            "mean_width": float(np.mean([row[name]["width"] for row in judged])),
            "fit": least >= NEEDED and narrowest > 1e-9,
        }
    return found


def two_valued_floor() -> float:
    """The default's least coverage over shares 0.01 to 0.5 and n of 20 to 200, without any sampling."""
    least = 1.0
    for n in (20, 30, 50, 100, 200):
        limits = np.array([bounded_mean_interval([1.0] * k + [0.0] * (n - k), 0, 1) for k in range(n + 1)])
        for share in np.arange(1, 51) / 100:
            held = (limits[:, 0] <= share) & (share <= limits[:, 1])
            least = min(least, float(stats.binom.pmf(np.arange(n + 1), n, share) @ held))
    return least


def markdown(rows: list[dict], found: dict[str, dict], floor: float) -> str:
    """The table of docs/statistics.md."""
    names = list(CANDIDATES)
    lines = [f"| shape | n | {' | '.join(names)} |", f"| --- | --- | {' | '.join('---' for _ in names)} |"]
    for row in rows:
        cells = [
            f"{'**' if row['n'] >= FROM_N and one['coverage'] < NEEDED else ''}{100 * one['coverage']:.1f}"
            f"{'**' if row['n'] >= FROM_N and one['coverage'] < NEEDED else ''} / {one['width']:.3f}"
            for one in (row["candidates"][name] for name in names)
        ]
        lines.append(f"| {row['shape']} | {row['n']} | {' | '.join(cells)} |")
    least = [f"{100 * found[name]['least_coverage']:.1f} / {found[name]['mean_width']:.3f}" for name in names]
    lines.append(f"| least / mean from n = {FROM_N} | | {' | '.join(least)} |")
    zero = ["yes" if found[name]["zero_width"] else "no" for name in names]
    lines.append(f"| ever of width 0 | | {' | '.join(zero)} |")
    lines.append(f"| fit | | {' | '.join('**yes**' if found[name]['fit'] else 'no' for name in names)} |")
    return "\n".join([*lines, "", f"Two-valued scores of any share, exactly: {100 * floor:.1f} % or more."])


def main() -> None:
    """Draw, measure, tell; exit 1 if the default is not the narrowest candidate that is fit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    jobs = [(shape, n, options.samples) for shape in SHAPES for n in SIZES]
    with ProcessPoolExecutor(options.processes) as pool:
        rows = list(pool.map(measure, jobs))
    found, floor = verdicts(rows), two_valued_floor()
    fit = [name for name, one in found.items() if one["fit"]]
    best = min(fit, key=lambda name: found[name]["mean_width"]) if fit else None
    versions = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    if options.json:
        document = {
            "samples": options.samples,
            "versions": versions,
            "rows": rows,
            "candidates": found,
            "two_valued_floor": floor,
            "narrowest_fit": best,
        }
        print(json.dumps(document, indent=1))
    else:
        print(markdown(rows, found, floor))
        if not options.markdown:
            print(f"\n{options.samples} samples each; {versions}; narrowest that is fit: {best}")
    sys.exit(0 if best == "beholder" else 1)


if __name__ == "__main__":
    main()
