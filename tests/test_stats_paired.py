"""Sign flips, McNemar's test and what n can show, against scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.power import NormalIndPower

from beholder.stats import mcnemar_exact, sign_flip_test, smallest_difference

differences = st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=8)


@settings(max_examples=60, deadline=None)
@given(differences)
def test_the_exact_sign_flip_test_is_scipys(values: list[float]) -> None:
    """All sign patterns of up to 16 differences; zeros change nothing."""
    expected = stats.permutation_test(
        (np.array(values),), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    found = sign_flip_test(values)
    assert found.method == "sign_flip_exact"
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


def test_random_and_normal_patterns_come_near_to_all_patterns() -> None:
    """Twenty differences exactly by scipy's 2^20 patterns; 3,000 by the t-test's limit."""
    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 1, 20)
    signs = 1 - 2 * ((np.arange(2**20)[:, None] >> np.arange(20)) & 1).astype(np.int8)
    exact = np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-9)
    found = sign_flip_test(values.tolist())
    assert found.method == "sign_flip_random"
    assert found.p_value == pytest.approx(exact, abs=0.01)
    many = rng.normal(0.03, 1, 3000)
    assert sign_flip_test(many.tolist()).method == "sign_flip_normal"
    assert sign_flip_test(many.tolist()).p_value == pytest.approx(stats.ttest_1samp(many, 0).pvalue, abs=2e-3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=17, max_size=40), st.randoms(use_true_random=False))
def test_a_sign_flip_test_depends_on_neither_order_sign_nor_scale(
    values: list[float], random: object
) -> None:
    """The same p-value, to the last bit for another order."""
    found = sign_flip_test(values)
    shuffled = values[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sign_flip_test(shuffled) == found
    assert found.p_value is not None
    assert 0 < found.p_value <= 1
    assert sign_flip_test([1000 * v for v in values]).p_value == pytest.approx(found.p_value, abs=0.02)


def test_nothing_to_test_is_said() -> None:
    """No difference at all is no evidence; no task is no test."""
    assert sign_flip_test([0.0, 0.0]).p_value == 1
    assert sign_flip_test([]).p_value is None


def test_flips_that_balance_have_a_p_value_of_1() -> None:
    """Exactly: 12 against 11 is as even as 23 can be, and nothing near 1 is printed as many nines."""
    assert {mcnemar_exact(n, n + more) for n in range(200) for more in (0, 1)} == {1.0}
    assert (mcnemar_exact(5, 7) or 0) < 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_exact_test_is_statsmodels(only_first: int, only_second: int) -> None:
    """Whatever passes in both or in neither plays no part."""
    expected = mcnemar([[7, only_first], [only_second, 3]], exact=True).pvalue
    assert mcnemar_exact(only_first, only_second) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [5, 40, 300])
def test_the_smallest_difference_has_the_power_it_states(n: int) -> None:
    """statsmodels finds 80 % power for it, with the sample's own deviation (one tail of two)."""
    values = np.random.default_rng(n).normal(2, 7, n).tolist()
    found = smallest_difference(values)
    assert found is not None
    effect = found / np.std(values, ddof=1)
    power = NormalIndPower(ddof=0).power(effect, n, 0.05, ratio=0)
    assert power == pytest.approx(0.8, abs=1e-4)
    assert smallest_difference(values, power=0.9) > found  # type: ignore[operator]


def test_without_spread_nothing_is_known_of_what_could_be_found() -> None:
    """One task, or differences that are all equal."""
    assert smallest_difference([3.0]) is None
    assert smallest_difference([3.0, 3.0]) is None
    assert math.isfinite(smallest_difference([3.0, 3.1]) or math.nan)


@given(st.lists(st.floats(-50, 50), min_size=17, max_size=40))
def test_runs_in_the_other_order_have_the_same_p_value(differences: list[float]) -> None:
    """B less A is tested as A less B, where signs are drawn too."""
    turned = [-value for value in differences]
    assert sign_flip_test(differences) == sign_flip_test(turned)
