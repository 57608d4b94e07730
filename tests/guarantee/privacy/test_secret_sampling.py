"""Secret sampling: amplified costs, the exact law over all neighbouring inputs, and coins that are used again."""

import inspect
import math
from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import pytest

from discreet.privacy.accounting import Spending
from discreet.privacy.costs import (
    ORDERS,
    BoundedRange,
    GaussianShift,
    Pure,
    SampledGaussian,
    ZeroConcentrated,
    amplified_epsilon,
    amplify,
    sampled_gaussian_curve,
)
from discreet.privacy.mechanisms.counting import NoisyCount, SecretSample, ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import OptimalSelection
from discreet.privacy.mechanisms.selection import ObservedSelection
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.private import Change, Relation
from discreet_lab.audit.vote_mutants import BrokenKeyCoin, BrokenReuse
from tests.exact import paths
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    Votes,
    hockey_stick,
    laplace_law,
    largest_loss,
    neighbours,
    observed_law,
)
from tests.guarantee.privacy.test_vote_selection import law_of as optimal_law
from tests.later import Later

dp_accounting = Later("dp_accounting")

# -- costs -----------------------------------------------------------------------------------------------------------


def test_golden_amplified_costs() -> None:
    assert amplified_epsilon(2.0, 0.1) == pytest.approx(0.494, abs=5e-4)
    assert amplified_epsilon(1.0, 0.5) == pytest.approx(0.620, abs=5e-4)
    assert amplify(Pure(2.0, 1e-6), 0.1) == Pure(amplified_epsilon(2.0, 0.1), 1e-7)
    assert amplify(BoundedRange(2.0, 1e-6), 0.1) == Pure(amplified_epsilon(2.0, 0.1), 1e-7)


def test_a_sample_of_all_costs_what_the_mechanism_costs() -> None:
    assert amplify(Pure(1.5, 1e-6), 1.0).curve[-1] == pytest.approx(1.5)
    assert amplify(GaussianShift(0.2), 1.0).curve == pytest.approx(ZeroConcentrated(0.2).curve)


def test_costs_without_a_proof_are_refused() -> None:
    with pytest.raises(NotImplementedError):
        amplify(ZeroConcentrated(0.5), 0.1)
    counts: SecretSample[tuple[str, ...], object] = SecretSample(ThresholdedCounts(2.0, 10), 0.1)
    assert isinstance(counts.cost(ADD_REMOVE), SampledGaussian)
    with pytest.raises(NotImplementedError):
        counts.cost(REPLACE)
    with pytest.raises(NotImplementedError):
        counts.cost(Change(2, Relation.ADD_REMOVE))
    for probability in (0.0, 1.1):
        with pytest.raises(ValueError, match="probability"):
            SecretSample(NoisyCount(1.0), probability)


def sampled_moments(sigma: float, probability: float, order: float) -> tuple[float, float]:
    """The divergence of the sampled law from the other one and back, for a count that the coin moves by one."""
    z = np.arange(-100, 101, dtype=np.float64)
    log_base = -(z**2) / (2 * sigma**2)
    log_base -= np.logaddexp.reduce(log_base)
    ratio = (2 * z - 1) / (2 * sigma**2)
    log_p, log_q = log_base + np.logaddexp(math.log1p(-probability), math.log(probability) + ratio), log_base
    there = np.logaddexp.reduce(order * log_p + (1 - order) * log_q) / (order - 1)
    back = np.logaddexp.reduce(order * log_q + (1 - order) * log_p) / (order - 1)
    return float(there), float(back)


@pytest.mark.parametrize("sigma", [0.7, 1.0, 3.0])
@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5, 0.9])
def test_curve_bounds_the_discrete_law_both_ways(sigma: float, probability: float) -> None:
    curve = sampled_gaussian_curve(1 / (2 * sigma**2), probability)
    for order in (1.01, 1.5, 2.0, 2.5, 3.0, 7.7, 16.0, 30.0):
        index = int(np.argmin(np.abs(ORDERS[:-1] - order)))
        there, back = sampled_moments(sigma, probability, float(ORDERS[index]))
        assert back <= there * (1 + 1e-9) + 1e-12
        assert there <= curve[index] * (1 + 1e-9) + 1e-12
        if order == round(order):
            assert there == pytest.approx(curve[index], rel=1e-6)


@pytest.mark.parametrize("sigma", [0.8, 2.0])
@pytest.mark.parametrize("probability", [0.02, 0.3])
def test_curve_is_that_of_dp_accounting(sigma: float, probability: float) -> None:
    orders = list(range(2, 65))
    accountant = dp_accounting.rdp.RdpAccountant(orders)
    event = dp_accounting.GaussianDpEvent(sigma)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(probability, event))
    curve = sampled_gaussian_curve(1 / (2 * sigma**2), probability)
    for order, oracle in zip(orders, accountant._rdp, strict=True):
        ours = curve[int(np.argmin(np.abs(ORDERS[:-1] - order)))]
        assert ours == pytest.approx(min(oracle, order / (2 * sigma**2)), rel=1e-6)


def test_sampled_gaussian_is_a_cost_that_a_ledger_adds_up() -> None:
    cost = SampledGaussian(0.1, 0.2, 1e-7)
    spent = Spending.of(cost, 3)
    assert spent.delta == pytest.approx(3e-7)
    assert spent.epsilon(1e-5) < Spending.of(ZeroConcentrated(0.1), 3).epsilon(1e-5)
    assert cost.describe()["kind"] == "sampled zCDP"
    assert math.isinf(cost.curve[-1])


# -- the law, over all neighbouring inputs ---------------------------------------------------------------------------

LawOf = Callable[[Votes], Law]


def sampled_law(law: LawOf, votes: Votes, probability: float) -> Law:
    """The law of a draw from a secret sample: all ways in which the coins of all votes can fall."""
    mixed: Law = {}
    for coins in product((False, True), repeat=len(votes)):
        weight = math.prod(probability if coin else 1 - probability for coin in coins)
        for outcome, p in law(tuple(v for v, coin in zip(votes, coins, strict=True) if coin)).items():
            mixed[outcome] = mixed.get(outcome, 0.0) + weight * p
    return mixed


def laws(epsilon: float, delta: float) -> dict[str, tuple[SecretSample[int, object], LawOf]]:
    """Two selections at a probability of 0.3, and their laws without sampling."""
    observed = ObservedSelection.calibrated(epsilon, delta, ADD_REMOVE)
    optimal = OptimalSelection[int](epsilon, delta)
    return {
        "observed": (SecretSample(observed, 0.3), lambda v: observed_law(v, observed.scale, observed.bottom)),
        "optimal": (SecretSample(optimal, 0.3), lambda v: optimal_law(optimal, v)),
    }


@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE], ids=str)
@pytest.mark.parametrize("name", ["observed", "optimal"])
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_all_neighbours_stay_within_the_cost(epsilon: float, name: str, change: Change) -> None:
    sampled, law = laws(epsilon, 0.02)[name]
    cost = sampled.cost(change)
    assert isinstance(cost, Pure)
    mixed = cache(lambda votes: sampled_law(law, votes, sampled.probability))
    sticks = [
        hockey_stick(mixed(tuple(sorted(first))), mixed(tuple(sorted(second))), cost.epsilon)
        for first, second in neighbours(3, 5, change.relation)
    ]
    assert max(sticks) <= cost.delta * (1 + 1e-9)
    if change == ADD_REMOVE and name == "optimal":
        assert max(sticks) >= 0.9 * cost.delta


@pytest.mark.parametrize("name", ["observed", "optimal"])
def test_draws_follow_the_law_of_fresh_coins(name: str) -> None:
    sampled, law = laws(1.0, 0.05)[name]
    votes = (0, 0, 1)
    expected, found = sampled_law(law, votes, sampled.probability), dict[object, float]()
    for noise in paths():
        outcome = sampled.draw(votes, noise)
        found[outcome] = found.get(outcome, 0.0) + noise.probability
    for outcome in {*expected, *found}:
        assert found.get(outcome, 0.0) == pytest.approx(expected.get(outcome, 0.0), abs=1e-9)


def test_a_noisy_count_of_a_sample_loses_all_that_it_pays() -> None:
    sampled = SecretSample(NoisyCount(0.5), 0.2)
    noise = laplace_law(0.5, 40)
    base: Law = dict(noise.items())
    moved: Law = {z: 0.8 * noise[z] + 0.2 * noise[z - 1] for z in range(-39, 41)}
    del base[-40]
    assert largest_loss(moved, base) == pytest.approx(sampled.cost(ADD_REMOVE).curve[-1], rel=1e-6)


# -- coins -----------------------------------------------------------------------------------------------------------


def test_no_caller_supplies_a_coin() -> None:
    assert list(inspect.signature(SecretSample.draw).parameters) == ["self", "shares", "noise"]
    assert list(inspect.signature(SecretSample).parameters) == ["mechanism", "probability"]


def test_each_draw_tosses_each_coin_anew() -> None:
    sampled, noise = SecretSample(NoisyCount(0.01), 0.5), InsecureSeededNoise(3)
    counts = [sampled.draw([True] * 100, noise) for _ in range(200)]
    assert np.std(counts) == pytest.approx(5.0, rel=0.25)
    assert np.mean(counts) == pytest.approx(50.0, abs=2.0)


def test_a_coin_that_is_reused_is_caught() -> None:
    """Two draws with one coin: the pair loses ln(1 + p (e^(2 epsilon) - 1)), more than two fresh coins do."""
    broken = BrokenReuse(SecretSample(NoisyCount(0.5), 0.2))
    laws_of = []
    for shares in ([], [True]):
        law: Law = {}
        for noise in paths():
            outcome = broken.draw(shares, noise)
            law[outcome] = law.get(outcome, 0.0) + noise.probability
        laws_of.append(law)
    lost = largest_loss(laws_of[1], laws_of[0])
    assert lost == pytest.approx(amplified_epsilon(4.0, 0.2), rel=1e-3)
    assert lost > 1.2 * float(broken.cost(ADD_REMOVE).curve[-1])


def test_a_coin_that_follows_from_the_key_is_caught() -> None:
    keyed = BrokenKeyCoin(NoisyCount(0.5), 0.2)
    noise = laplace_law(0.5, 40)
    assert keyed.draw([("d", True)] * 9, InsecureSeededNoise(0)) > 4  # this key always takes part
    lost = largest_loss({z: noise[z - 1] for z in range(-39, 41)}, {z: noise[z] for z in range(-39, 41)})
    assert lost == pytest.approx(2.0)
    assert lost > 2 * float(keyed.cost(ADD_REMOVE).curve[-1])
