"""The bound itself: right as often as it says, near what is known exactly, and quick about what it cannot tell."""

import math

import numpy as np
import scipy

from discreet_lab.attacks.bounds import epsilon_at_least, epsilon_by_threshold

DOUBT = 0.05


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


def test_what_one_side_alone_has_is_covered_by_delta() -> None:
    first, second = ["lost"] * 100 + ["kept"] * 9900, ["kept"] * 10_000
    assert epsilon_at_least(first, second, 0.03, DOUBT).epsilon == 0.0
    shuffled = np.random.default_rng(0).permutation(first).tolist()
    assert epsilon_at_least(shuffled, second, 0.0, DOUBT).epsilon > 1.5


def test_threshold_bound_has_its_stated_confidence() -> None:
    chooser, wrong = np.random.default_rng(6), 0
    for _ in range(200):
        first, second = chooser.laplace([[1.0], [0.0]], 2.0, (2, 400)).tolist()
        wrong += epsilon_by_threshold(first, second, 0.0, DOUBT).epsilon > 0.5
    assert wrong <= 200 * DOUBT
