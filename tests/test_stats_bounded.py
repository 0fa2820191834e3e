"""The default interval of a mean: against exact distributions, and what never changes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from beholder.stats import bounded as module
from beholder.stats import bounded_mean_interval, difference_interval
from beholder.stats.bounded import END_WEIGHT

scores = st.lists(st.integers(0, 100).map(float), min_size=2, max_size=40)


def exact(ones: int, n: int) -> tuple[float, float]:
    """Of n values of 0 and 1 the weighted mean has a beta distribution."""
    low = beta.ppf(0.025, ones, n - ones + END_WEIGHT) if ones else 0.0
    high = beta.ppf(0.975, ones + END_WEIGHT, n - ones) if ones < n else 1.0
    return float(low), float(high)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30, 100, 1000])
def test_two_values_give_the_exact_beta_limits(n: int) -> None:
    """To 0.001 of the level, that is by what shares of the distribution lie beyond the limits."""
    for ones in sorted({0, 1, n // 4, n // 2, n - 1, n}):
        low, high = bounded_mean_interval([1.0] * ones + [0.0] * (n - ones), 0, 1) or (0, 0)
        if ones < n:
            assert beta.cdf(high, ones + END_WEIGHT, n - ones) == pytest.approx(0.975, abs=1.5e-3)
        if ones:
            assert beta.cdf(low, ones, n - ones + END_WEIGHT) == pytest.approx(0.025, abs=1.5e-3)
        assert (low == 0) == (ones == 0)
        assert (high == 1) == (ones == n)


def test_with_a_whole_weight_it_is_clopper_and_pearsons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaffke's own interval, which for two values is the exact binomial one."""
    from statsmodels.stats.proportion import proportion_confint

    monkeypatch.setattr(module, "END_WEIGHT", 1.0)
    for ones, n in ((0, 12), (3, 20), (40, 50)):
        found = bounded_mean_interval([1.0] * ones + [0.0] * (n - ones), 0, 1)
        assert found == pytest.approx(proportion_confint(ones, n, method="beta"), abs=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_limits_are_quantiles_of_the_weighted_mean(seed: int) -> None:
    """Against 200,000 draws of Dirichlet weights, on data of no special shape."""
    rng = np.random.default_rng(seed)
    x = rng.beta(0.7, 2, size=int(rng.integers(3, 25)))
    weights = rng.standard_gamma(np.append(np.ones(len(x)), END_WEIGHT), size=(200_000, len(x) + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    low, high = bounded_mean_interval(x, 0, 1) or (0, 0)
    reach = 2 * np.abs(x - x.mean()).max()
    bottom, top = max(0.0, x.mean() - reach), min(1.0, x.mean() + reach)
    assert np.mean(weights @ np.append(x, bottom) <= low) == pytest.approx(0.025, abs=2e-3)
    assert np.mean(weights @ np.append(x, top) <= high) == pytest.approx(0.975, abs=2e-3)


@settings(max_examples=60, deadline=None)
@given(scores, st.randoms(use_true_random=False))
def test_it_holds_the_mean_has_width_and_ignores_the_order(values: list[float], random: object) -> None:
    """Within the scale, to the last bit the same for any order of the tasks."""
    found = bounded_mean_interval(values, 0, 100)
    assert found is not None
    low, high = found
    assert 0 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 100
    assert high - low > (max(values) - min(values) or 100) / (50 * len(values))
    shuffled = values[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert bounded_mean_interval(shuffled, 0, 100) == found


@settings(max_examples=40, deadline=None)
@given(scores, st.floats(0.01, 50), st.floats(-100, 100))
def test_it_moves_with_the_scale(values: list[float], factor: float, shift: float) -> None:
    """Scores on another scale have the same interval on that scale; turned round, the same turned round."""
    low, high = bounded_mean_interval(values, 0, 100) or (0, 0)
    moved = bounded_mean_interval([factor * v + shift for v in values], shift, 100 * factor + shift)
    assert moved == pytest.approx((factor * low + shift, factor * high + shift), rel=1e-7, abs=1e-6 * factor)
    assert bounded_mean_interval([100 - v for v in values], 0, 100) == pytest.approx(
        (100 - high, 100 - low), abs=1e-7
    )


def test_many_tasks_come_near_to_students_interval() -> None:
    """At 3,000 tasks the widths differ by a hundredth."""
    from beholder.stats import student_t_interval

    x = np.random.default_rng(1).beta(3, 3, 3000).tolist()
    low, high = bounded_mean_interval(x, 0, 1) or (0, 0)
    t_low, t_high = student_t_interval(x, 0, 1) or (0, 0)
    assert high - low == pytest.approx(t_high - t_low, rel=0.02)


@pytest.mark.parametrize("shape", ["wide", "narrow", "mostly zero", "one far away"])
def test_many_distinct_values_are_condensed_without_a_trace(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are those of every value by itself, to a millionth of the width."""
    rng = np.random.default_rng(2)
    x = {
        "wide": rng.beta(2, 2, 9000),
        "narrow": 0.03 * rng.random(9000),
        "mostly zero": np.where(rng.random(30_000) < 0.8, 0, rng.random(30_000)),
        "one far away": np.append(1e-4 * rng.random(4000), 1.0),
    }[shape]
    found = bounded_mean_interval(x, 0, 1) or (0, 0)
    monkeypatch.setattr(module, "MANY", 10**9)
    slow = bounded_mean_interval(x, 0, 1) or (0, 0)
    assert found == pytest.approx(slow, abs=1e-6 * (slow[1] - slow[0]))


@settings(max_examples=25, deadline=None)
@given(scores)
def test_clusters_of_one_task_are_tasks(values: list[float]) -> None:
    """And a cluster of one mean, seen twice, is as good as one task."""
    plain = bounded_mean_interval(values, 0, 100)
    alone = bounded_mean_interval(values, 0, 100, clusters=list(range(len(values))))
    assert alone == pytest.approx(plain, abs=1e-7)
    doubled = bounded_mean_interval(values * 2, 0, 100, clusters=list(range(len(values))) * 2)
    assert doubled == pytest.approx(plain, abs=1e-7)


def test_tasks_that_vary_together_tell_less() -> None:
    """Forty tasks in eight clusters: wider than forty by themselves, and in the cluster means' order."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(8), 5)
    values = np.clip(50 + 20 * rng.normal(size=8)[clusters] + 2 * rng.normal(size=40), 0, 100)
    low, high = bounded_mean_interval(values, 0, 100) or (0, 0)
    wide_low, wide_high = bounded_mean_interval(values, 0, 100, clusters=clusters.tolist()) or (0, 0)
    assert wide_high - wide_low > 1.5 * (high - low)
    turned = bounded_mean_interval(values[::-1], 0, 100, clusters=clusters[::-1].tolist())
    assert turned == (wide_low, wide_high)


@pytest.mark.parametrize("unlike", [False, True])
def test_clusters_cover_where_tasks_alone_do_not(*, unlike: bool) -> None:
    """200 samples of 25 clusters, of one or of several sizes: at least 93 % hold the true mean."""
    rng = np.random.default_rng(4)
    held = {"clusters": 0, "tasks": 0}
    for _ in range(200):
        sizes = rng.integers(1, 9, 25) if unlike else np.full(25, 4)
        clusters = np.repeat(np.arange(25), sizes)
        values = np.clip(
            0.5 + 0.15 * rng.normal(size=25)[clusters] + 0.05 * rng.normal(size=sizes.sum()), 0, 1
        )
        for name, given_clusters in (("clusters", clusters.tolist()), ("tasks", None)):
            low, high = bounded_mean_interval(values, 0, 1, clusters=given_clusters) or (0, 0)
            held[name] += low <= 0.5 <= high
    assert held["clusters"] >= 0.92 * 200  # 0.93 less the noise
    assert held["tasks"] < held["clusters"]


def test_what_is_undefined_is_none() -> None:
    """No task, one task, one cluster, a scale without width; never NaN."""
    assert bounded_mean_interval([], 0, 1) is None
    assert bounded_mean_interval([0.5], 0, 1) is None
    assert bounded_mean_interval([0.5, 0.7], 0, 1, clusters=["a", "a"]) is None
    assert bounded_mean_interval([1.0, 1.0], 1, 1) is None


def test_differences_that_are_all_0_still_leave_room() -> None:
    """Nothing tells how far two runs may be apart, so the scale does; of more tasks, less."""
    few = difference_interval([0.0] * 5, 100) or (0, 0)
    many = difference_interval([0.0] * 50, 100) or (0, 0)
    assert few[0] == -few[1]
    assert few[1] > many[1] > 0
    small = difference_interval([0.0] * 49 + [1.0], 100) or (0, 0)
    assert small[1] - small[0] < (many[1] - many[0]) / 5


@pytest.mark.long
def test_differences_cover_on_every_shape_from_20_tasks() -> None:
    """600 samples of each: bell, heavy tails, mostly 0 on one side or both, passes that flip."""
    rng = np.random.default_rng(5)

    def rarely(size: tuple[int, int], share: float, drawn: np.ndarray) -> np.ndarray:
        return np.where(rng.random(size) < share, drawn, 0.0)

    size = (600, 20)
    shapes = {
        "bell": (rng.normal(0.03, 0.1, size), 0.03),
        "tails": (np.clip(rng.laplace(0.05, 0.08, size), -1, 1), 0.05),
        "one side": (rarely(size, 0.1, rng.random(size)), 0.05),
        "both sides": (rarely(size, 0.2, 1.5 * rng.random(size) - 0.5), 0.05),
        "flips": (rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.8, 0.15], size=size), 0.1),
    }
    for name, (samples, mean) in shapes.items():
        limits = np.array([difference_interval(sample.tolist(), 1) for sample in samples])
        held = np.mean((limits[:, 0] <= mean) & (mean <= limits[:, 1]))
        assert held >= 0.92, name  # 0.93 less the noise of 600 samples


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_few_tasks_have_no_short_interval(n: int) -> None:
    """From two tasks on the interval covers bell-shaped, even and skewed scores as often as it says."""
    rng = np.random.default_rng(n)
    shapes = [
        (0.5, rng.normal(0.5, 0.15, (300, n)).clip(0, 1)),
        (0.5, rng.uniform(0, 1, (300, n))),
        (1 / 6, rng.beta(1, 5, (300, n))),
    ]
    for mean, samples in shapes:
        found = [bounded_mean_interval(sample, 0.0, 1.0) for sample in samples]
        covered = sum(one is not None and one[0] <= mean <= one[1] for one in found)
        assert covered >= 0.93 * len(found)
