"""Histograms with Gaussian noise: golden vectors, exact laws over all neighbouring inputs, draws, twins."""

import math
from collections import Counter
from itertools import product

import pytest

from discreet.privacy.mechanisms.counting import GaussianHistogram
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet.privacy.private import Change
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE, Law, divergence, gaussian_law, neighbours

OUTSIDE = -1


def law(shares: tuple[int, ...], histogram: GaussianHistogram) -> Law:
    """The law of all counts, far beyond the tails."""
    counts, noise = Counter(shares), gaussian_law(histogram.sigma, math.ceil(9 * histogram.sigma))
    found: Law = {}
    for draws in product(noise, repeat=histogram.values):
        key = tuple(counts[value] + z for value, z in enumerate(draws))
        found[key] = math.prod(noise[z] for z in draws)
    return found


def inner(law: Law, other: Law) -> tuple[Law, Law]:
    both = law.keys() & other.keys()
    return {k: law[k] for k in both}, {k: other[k] for k in both}


def test_a_histogram_of_known_scale() -> None:
    assert GaussianHistogram.calibrated(0.125, 4, ADD_REMOVE) == GaussianHistogram(4, 2.0)
    assert GaussianHistogram(4, 2.0).cost(ADD_REMOVE).rho == 0.125
    assert GaussianHistogram(4, 2.0).cost(REPLACE).rho == 0.25
    assert GaussianHistogram(4, 2.0).deviation == 2.0


@pytest.mark.parametrize("rho", [1e-3, 0.02, 0.3, 400.0])
@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE, Change(3, ADD_REMOVE.relation)])
def test_calibrated_histogram_costs_at_most_rho(rho: float, change: Change) -> None:
    cost = GaussianHistogram.calibrated(rho, 7, change).cost(change)
    assert cost.rho <= rho
    assert rho > 50 or cost.rho > 0.999999 * rho


@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE])
def test_a_histogram_costs_what_it_claims_and_no_less(change: Change) -> None:
    """All vectors of up to three shares over two cells and none."""
    histogram = GaussianHistogram(2, 1.0)
    reached = []
    for first, second in neighbours(3, 3, change.relation):
        pair = [tuple(value - 1 for value in votes) for votes in (first, second)]  # 0 becomes OUTSIDE
        p, q = inner(law(pair[0], histogram), law(pair[1], histogram))
        for order in (2.0, 4.0):
            allowed = histogram.cost(change).rho * order
            seen = divergence(p, q, order)
            assert seen <= allowed * (1 + 1e-9)
            reached.append(seen / allowed)
    assert max(reached) > 0.98


def test_a_unit_in_two_cells_at_the_price_of_one_is_caught() -> None:
    """The twin: a unit that may be in two cells moves two counts."""
    histogram = GaussianHistogram(2, 1.0)
    p, q = inner(law((0, 1, 0), histogram), law((0,), histogram))
    assert divergence(p, q, 2.0) > 1.9 * 2.0 * histogram.cost(ADD_REMOVE).rho


@pytest.mark.parametrize("noise", [SystemNoise(), InsecureSeededNoise(3)])
def test_histograms_are_drawn_from_their_law(noise: SystemNoise | InsecureSeededNoise) -> None:
    histogram, draws = GaussianHistogram(2, 2.0), 4000
    found = [histogram.draw((0, 0, 1, OUTSIDE, 5), noise) for _ in range(draws)]
    for cell, count in ((0, 2), (1, 1)):
        seen = Counter(one[cell] for one in found)
        for z, probability in gaussian_law(2.0, 6).items():
            expected = probability
            assert abs(seen[count + z] / draws - expected) < 5 * math.sqrt(expected / draws)
