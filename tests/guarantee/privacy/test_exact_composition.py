"""Sums of costs against exact composition: loss distributions of others, binomials of our own, the papers' formulas."""

import math

import numpy as np
import pytest
import scipy

from discreet.privacy.accounting import Spending, conversion, zcdp_epsilon
from discreet.privacy.costs import ORDERS, BoundedRange, Pure, Together, ZeroConcentrated
from discreet_lab.bench.experiments.accounting import by_advanced_composition, by_filter, by_sum
from tests.later import Later

dp_accounting, loss_distribution = Later("dp_accounting"), Later("dp_accounting.pld.privacy_loss_distribution")
DELTA = 1e-5
# (epsilon_token, epsilon): plain, advanced, ours, as privacy-spec part 1 has them.
TABLE = [
    ((0.5, 10), (20, 8, 43)),
    ((0.5, 20), (40, 24, 137)),
    ((1, 5), (5, 0, 5)),
    ((1, 10), (10, 1, 14)),
    ((1, 20), (20, 5, 37)),
    ((2, 10), (5, 0, 5)),
    ((2, 20), (10, 0, 12)),
]


@pytest.mark.parametrize(("token", "spec"), TABLE)
def test_paper_accounting_is_as_specified_and_ours_not_below(
    token: tuple[float, float], spec: tuple[int, int, int]
) -> None:
    assert (by_sum(*token), by_advanced_composition(*token, DELTA)) == spec[:2]
    assert by_filter(*token) >= max(spec)


@pytest.mark.parametrize(("token", "spec"), TABLE[1:])
def test_specified_numbers_follow_from_the_stated_reading(
    token: tuple[float, float], spec: tuple[int, int, int]
) -> None:
    """Tight curves, pure and bounded range of half a token each, and half of delta kept for failures.

    The first row is the exception: the specification has 43, this reading 47, all of delta 49.
    """
    each, epsilon = token
    round_ = Together((Pure(each / 2), BoundedRange(each / 2)))
    count = 0
    while Spending.of(round_, count + 1).epsilon(DELTA / 2) <= epsilon:
        count += 1
    assert count == spec[2]


def exact_epsilon(pair: tuple[float, float], losses: tuple[float, float], count: int, delta: float) -> float:
    """Epsilon at `delta` of `count` independent two-outcome pairs: (p, q) of the first outcome, both losses."""
    hits = np.arange(count + 1)
    loss = hits * losses[0] + (count - hits) * losses[1]
    mass = scipy.stats.binom.pmf(hits, count, pair[0])
    low, high = 0.0, float(np.max(np.abs(loss))) + 1
    for _ in range(60):
        middle = (low + high) / 2
        beyond = float(np.sum(mass * np.maximum(0.0, -np.expm1(middle - loss))))
        low, high = (middle, high) if beyond > delta else (low, middle)
    return high


@pytest.mark.parametrize(("epsilon", "count"), [(0.2, 50), (0.5, 40), (1.0, 20), (2.0, 10)])
def test_bounded_range_curve_bounds_all_pairs_tightly(epsilon: float, count: int) -> None:
    bound = Spending.of(BoundedRange(epsilon), count).epsilon(DELTA)
    worst = 0.0
    for t in np.linspace(0, epsilon, 21)[1:-1]:
        q = -math.expm1(t - epsilon) / (math.exp(t) - math.exp(t - epsilon))
        worst = max(worst, exact_epsilon((q * math.exp(t), q), (t, t - epsilon), count, DELTA))
    assert worst <= bound <= 1.35 * worst


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 50), (0.5, 40), (1.0, 20)])
def test_pure_curve_agrees_with_two_other_computations(epsilon: float, count: int) -> None:
    p = 1 / (1 + math.exp(-epsilon))
    exact = exact_epsilon((p, 1 - p), (epsilon, -epsilon), count, DELTA)
    single = loss_distribution.from_privacy_parameters(
        loss_distribution.common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=1e-3
    )
    assert single.self_compose(count).get_epsilon_for_delta(DELTA) == pytest.approx(exact, abs=0.03)
    assert exact - 1e-6 <= Spending.of(Pure(epsilon), count).epsilon(DELTA) <= 1.35 * exact


@pytest.mark.parametrize(("sd", "count"), [(2.0, 4), (5.0, 30)])
def test_gaussians_lie_above_their_loss_distribution_and_close(sd: float, count: int) -> None:
    single = loss_distribution.from_gaussian_mechanism(sd, value_discretization_interval=1e-3)
    exact = single.self_compose(count).get_epsilon_for_delta(DELTA)
    assert exact - 1e-2 <= Spending.of(ZeroConcentrated(1 / (2 * sd**2)), count).epsilon(DELTA) <= 1.15 * exact


@pytest.mark.parametrize(("scale", "count"), [(2.0, 20), (4.0, 40)])
def test_pure_curve_is_an_upper_bound_for_laplace(scale: float, count: int) -> None:
    oracle = dp_accounting.rdp.RdpAccountant(list(ORDERS[:-1]), dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    oracle.compose(dp_accounting.LaplaceDpEvent(scale), count)
    charged = Spending.of(Pure(1 / scale), count).epsilon(DELTA)
    assert oracle.get_epsilon(DELTA) <= charged + 1e-6
    assert charged <= 1.35 * oracle.get_epsilon(DELTA)


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 0.01, 0.5, 5.0, 100.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_search_over_real_orders_finds_the_valley(rho: float, delta: float) -> None:
    orders = 1 + np.geomspace(1e-4, 1e7, 200_000)
    offsets = np.log((orders - 1) / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    brute = max(0.0, float(np.min(rho * orders + offsets)))
    assert zcdp_epsilon(rho, delta) == pytest.approx(brute, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("rho", "epsilon"), [(1.782696, 10.0)])
def test_golden_rho_of_a_pipeline(rho: float, epsilon: float) -> None:
    assert zcdp_epsilon(rho, DELTA) == pytest.approx(epsilon, abs=5e-6)


@pytest.mark.parametrize(
    ("epsilon", "rho"), [(1, 0.037003), (2, 0.128385), (3, 0.262583), (5, 0.634403), (8, 1.393205)]
)
def test_golden_rho_of_ksa(epsilon: float, rho: float) -> None:
    assert zcdp_epsilon(rho, 5e-5) == pytest.approx(epsilon, abs=2e-5)


def test_the_conversion_is_the_published_one() -> None:
    """delta = e^((a-1)(R - epsilon)) / (a-1) * (1 - 1/a)^a (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    orders = ORDERS[:-1]
    epsilon = 0.3 * orders + conversion(DELTA)[:-1]
    logs = (orders - 1) * (0.3 * orders - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
    assert logs == pytest.approx(np.full(len(orders), math.log(DELTA)), rel=1e-9)
