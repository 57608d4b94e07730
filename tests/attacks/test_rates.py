"""Areas, rates and their intervals, against known values; what differential privacy allows."""

import math

import numpy as np
import pytest
import scipy

from discreet_lab.attacks.rates import Auc, Rate, most_auc, most_true_positives


def test_the_interval_covers_the_area_as_often_as_it_says() -> None:
    draw, truth = np.random.default_rng(5), scipy.stats.norm.cdf(1 / math.sqrt(2))
    found = [Auc.of(draw.normal(1, 1, 25).tolist(), draw.normal(0, 1, 25).tolist()) for _ in range(400)]
    assert np.mean([auc.low <= truth <= auc.high for auc in found]) > 0.92


@pytest.mark.parametrize(("count", "of"), [(0, 50), (3, 50), (50, 50), (1, 2)])
def test_rates_have_the_interval_of_clopper_and_pearson(count: int, of: int) -> None:
    found, expected = Rate.among(count, of), scipy.stats.binomtest(count, of).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert found.value == count / of


def test_what_differential_privacy_allows() -> None:
    assert most_auc(0, 0) == pytest.approx(0.5)
    assert most_auc(1000, 0) == pytest.approx(1)
    assert most_true_positives(0.01, 1, 1e-5) == pytest.approx(0.01 * math.e + 1e-5)
    assert most_true_positives(0.9, 1, 0) == pytest.approx(1 - 0.1 / math.e)
    grid = np.linspace(0, 1, 20_001)
    for epsilon, delta in ((0.5, 0.0), (1.0, 0.01), (4.0, 1e-5)):
        heights = [most_true_positives(rate, epsilon, delta) for rate in grid.tolist()]
        assert most_auc(epsilon, delta) == pytest.approx(np.trapezoid(heights, grid), abs=1e-6)
