"""The bound itself: right as often as it says, near what is known exactly, and quick about what it cannot tell."""

import math

import numpy as np
import pytest
import scipy

from discreet_lab.attacks.rates import epsilon_at_least, epsilon_by_threshold, highest_rate

DOUBT = 0.05


@pytest.mark.parametrize(
    ("count", "trials", "miss"), [(0, 1000, 0.025), (3, 50, 1e-4), (700, 5000, 1e-6), (49, 50, 0.1)]
)
def test_rates_are_those_of_clopper_and_pearson(count: int, trials: int, miss: float) -> None:
    assert highest_rate(count, trials, miss) == pytest.approx(
        float(scipy.stats.beta.ppf(1 - miss, count + 1, trials - count))
    )


def test_the_bound_is_above_the_truth_no_more_often_than_it_says() -> None:
    """Two coins that differ by epsilon 0.5 exactly, thrown a thousand times, in four hundred audits."""
    rare = 0.3
    chooser, wrong, shown = np.random.default_rng(0), 0, []
    for _ in range(400):
        first, second = ((chooser.random(1000) < rate).tolist() for rate in (rare * math.exp(0.5), rare))
        bound = epsilon_at_least(first, second, 0.0, DOUBT).epsilon
        wrong += bound > 0.5
        shown.append(bound)
    assert wrong <= 400 * DOUBT
    assert np.mean(shown) > 0.1


def test_nothing_is_shown_of_what_does_not_differ() -> None:
    chooser = np.random.default_rng(1)
    found = []
    for _ in range(300):
        first, second = (chooser.integers(0, 50, size=1000).tolist() for _ in range(2))
        found.append(epsilon_at_least(first, second, 0.0, DOUBT).epsilon > 0)
    assert sum(found) <= 300 * DOUBT


def gaussian_delta(epsilon: float, distance: float) -> float:
    """The exact curve of the Gaussian mechanism (Balle and Wang 2018): of noise 1 and inputs at this distance."""
    upper, lower = (scipy.stats.norm.cdf(distance / 2 * side - epsilon / distance) for side in (1, -1))
    return float(upper - math.exp(epsilon) * lower)


def test_bound_for_gaussian_noise_is_close_to_the_exact_loss() -> None:
    """With delta, and an event that a half-line holds."""
    delta = 0.01
    exact = next(e for e in np.arange(0.0, 4.0, 0.001) if gaussian_delta(float(e), 1.0) <= delta)
    chooser = np.random.default_rng(2)
    first, second = (np.floor(50 * (chooser.standard_normal(100_000) + at)).tolist() for at in (0.0, 1.0))
    found = epsilon_at_least(first, second, delta, DOUBT)
    assert 0.75 * exact < found.epsilon <= exact
    assert found.trials == 50_000


def test_unordered_outcomes_are_ranked_by_frequency() -> None:
    """Eight outcomes of which four are twice as likely on one side; none of them by itself shows as much as all."""
    chooser = np.random.default_rng(3)
    heavy = np.array([2, 1] * 4) / 12
    first, second = ([f"outcome {n}" for n in chooser.choice(8, size=20_000, p=p)] for p in (heavy, heavy[::-1]))
    found = epsilon_at_least(first, second, 0.0, DOUBT)
    assert 0.85 * math.log(2) < found.epsilon <= math.log(2)
    assert found.likely > 4500  # of two of them: 3333


def test_what_one_side_alone_has_is_covered_by_delta() -> None:
    first, second = ["lost"] * 100 + ["kept"] * 9900, ["kept"] * 10_000
    assert epsilon_at_least(first, second, 0.03, DOUBT).epsilon == 0.0
    shuffled = np.random.default_rng(0).permutation(first).tolist()
    assert epsilon_at_least(shuffled, second, 0.0, DOUBT).epsilon > 1.5


def test_no_draws_show_nothing() -> None:
    assert epsilon_at_least([], [], 0.0, DOUBT).epsilon == 0.0


def test_threshold_bounds_unique_numbers_where_sets_fail() -> None:
    first, second = np.random.default_rng(5).normal([[2.0], [0.0]], 1.0, (2, 1000)).tolist()
    assert epsilon_at_least(first, second, 0.0, DOUBT).epsilon == 0
    assert epsilon_by_threshold(first, second, 0.0, DOUBT).epsilon > 2
    assert epsilon_by_threshold(first, first[::-1], 0.0, DOUBT).epsilon == 0


def test_threshold_bound_has_its_stated_confidence() -> None:
    chooser, wrong = np.random.default_rng(6), 0
    for _ in range(200):
        first, second = chooser.laplace([[1.0], [0.0]], 2.0, (2, 400)).tolist()
        wrong += epsilon_by_threshold(first, second, 0.0, DOUBT).epsilon > 0.5
    assert wrong <= 200 * DOUBT
