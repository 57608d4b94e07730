"""Noisy counts and the choice of a threshold: exact laws over neighbouring inputs, draws that follow them, twins."""

import math
from collections import Counter
from itertools import product

import pytest

from discreet.privacy.accounting import Spending
from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.mechanisms.counting import GaussianCount, NoisyCount, NoisyHistogram
from discreet.privacy.mechanisms.selection import ShareChoice, ThresholdChoice
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet.privacy.private import Change
from tests.exact import paths
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    Votes,
    check_cost,
    divergence,
    gaussian_law,
    neighbours,
    softmax,
)

FAR = 60


def count_law(shares: tuple[bool, ...], scale: float) -> Law:
    """Discrete Laplace around the count; the tails are cut where they weigh nothing."""
    ratio = math.exp(-1 / scale)
    centre = sum(shares)
    return {centre + z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-FAR, FAR + 1)}


def choice_law(shares: tuple[int, ...], choice: ThresholdChoice, scale: float) -> Law:
    passing = [sum(share <= threshold for share in shares) for threshold in range(choice.thresholds)]
    return softmax({i: -float(abs(count - choice.wanted)) for i, count in enumerate(passing)}, scale)


def inner(law: Law, other: Law) -> tuple[Law, Law]:
    """Both without the ends of the tails, which were cut at different places."""
    both = law.keys() & other.keys()
    return {k: law[k] for k in both}, {k: other[k] for k in both}


def test_a_noisy_count_of_known_scale() -> None:
    assert count_law((), 1.0)[0] == pytest.approx(0.462117, abs=1e-6)
    assert NoisyCount.calibrated(0.5, ADD_REMOVE) == NoisyCount(2.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_count_costs_what_it_claims_and_no_less(epsilon: float) -> None:
    count = NoisyCount.calibrated(epsilon, ADD_REMOVE)
    assert count.cost(ADD_REMOVE) == Pure(1 / (1 / epsilon))
    ratios = []
    for size in range(4):
        for shares in product((True, False), repeat=size):
            for place in range(size):
                pair = inner(
                    count_law(shares, count.scale), count_law(shares[:place] + shares[place + 1 :], count.scale)
                )
                ratios += [abs(math.log(pair[0][k] / pair[1][k])) for k in pair[0]]
    assert 0.99 * epsilon <= max(ratios) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE])
def test_calibrated_count_costs_at_most_epsilon(change: Change) -> None:
    """One billionth more, and the question would end after its units have paid."""
    for thousandths in range(1, 2001):
        epsilon = thousandths / 1000
        paid = Spending.of(NoisyCount.calibrated(epsilon, change).cost(change))
        assert (paid.loss_nano <= Spending.of(Pure(epsilon)).loss_nano).all()


def test_a_count_with_half_the_noise_is_caught() -> None:
    first, second = inner(count_law((True,), 0.5), count_law((), 0.5))
    assert max(abs(math.log(first[k] / second[k])) for k in first) > 1.9


@pytest.mark.parametrize("noise", [SystemNoise(), InsecureSeededNoise(3)])
def test_counts_are_drawn_from_their_law(noise: SystemNoise | InsecureSeededNoise) -> None:
    count, shares, draws = NoisyCount(2.0), (True, False, True), 4000
    found, law = Counter(count.draw(shares, noise) for _ in range(draws)), count_law(shares, 2.0)
    for value in range(-3, 8):
        expected = law[value]
        assert abs(found[value] / draws - expected) < 5 * math.sqrt(expected / draws)


def gaussian_count_law(size: int, sigma: float) -> Law:
    return {size + z: probability for z, probability in gaussian_law(sigma, math.ceil(9 * sigma)).items()}


def test_a_gaussian_count_of_known_scale() -> None:
    assert GaussianCount.calibrated(0.125, ADD_REMOVE) == GaussianCount(2.0)
    assert GaussianCount(2.0).cost(ADD_REMOVE).rho == 0.125
    assert GaussianCount(2.0, 1e-6).cost(ADD_REMOVE).delta == 1e-6
    assert GaussianCount(2.0).tail(1e-6) == 10


@pytest.mark.parametrize("rho", [1e-3, 0.02, 0.3, 400.0])
@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE])
def test_calibrated_gaussian_count_costs_at_most_rho(rho: float, change: Change) -> None:
    cost = GaussianCount.calibrated(rho, change).cost(change)
    assert cost.rho <= rho
    assert rho > 50 or cost.rho > 0.999999 * rho


@pytest.mark.parametrize("sigma", [0.5, 2.0, 5.0])
def test_a_gaussian_count_costs_what_it_claims_and_no_less(sigma: float) -> None:
    """All pairs of neighbours are one pair: a count and the next one."""
    cost = GaussianCount(sigma).cost(ADD_REMOVE)
    for p, q in [inner(gaussian_count_law(n, sigma), gaussian_count_law(m, sigma)) for n, m in ((4, 3), (3, 4))]:
        for order in (2.0, 3.0, 5.0):
            assert 0.98 * cost.rho * order <= divergence(p, q, order) <= cost.rho * order * (1 + 1e-9)


def test_a_gaussian_count_with_half_the_noise_is_caught() -> None:
    p, q = inner(gaussian_count_law(4, 1.0), gaussian_count_law(3, 1.0))
    assert divergence(p, q, 2.0) > 2 * GaussianCount(2.0).cost(ADD_REMOVE).rho * 1.9


@pytest.mark.parametrize("noise", [SystemNoise(), InsecureSeededNoise(3)])
def test_gaussian_counts_are_drawn_from_their_law(noise: SystemNoise | InsecureSeededNoise) -> None:
    count, draws = GaussianCount(2.0), 4000
    found, law = Counter(count.draw((True, False, True), noise) for _ in range(draws)), gaussian_count_law(2, 2.0)
    for value in range(-3, 8):
        assert abs(found[value] / draws - law[value]) < 5 * math.sqrt(law[value] / draws)


def pairs(choice: ThresholdChoice) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    values = range(choice.thresholds + 1)  # the last passes no threshold
    return [
        (shares, shares[:place] + shares[place + 1 :])
        for size in range(1, 5)
        for shares in product(values, repeat=size)
        for place in range(size)
    ]


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_a_choice_of_threshold_costs_what_it_claims_and_no_less(epsilon: float) -> None:
    choice = ThresholdChoice.calibrated(epsilon, 3, 1, ADD_REMOVE)
    cost = choice.cost(ADD_REMOVE)
    assert cost == BoundedRange(2 / (2 / epsilon))
    assert largest_share(choice, choice.scale, cost) >= 0.9


def test_a_choice_with_a_quarter_of_the_noise_is_caught() -> None:
    choice = ThresholdChoice.calibrated(1.0, 3, 2, ADD_REMOVE)
    cost = choice.cost(ADD_REMOVE)
    with pytest.raises(AssertionError):
        largest_share(choice, choice.scale / 4, cost)


def largest_share(choice: ThresholdChoice, scale: float, cost: Cost) -> float:
    """The largest share of `cost` that any pair reaches; an error if one exceeds it."""
    return max(
        check_cost(choice_law(first, choice, scale), choice_law(second, choice, scale), cost)
        for first, second in pairs(choice)
    )


def share_law(shares: tuple[int, ...], choice: ShareChoice, scale: float) -> Law:
    """From the formula, without whole numbers."""
    said = [share for share in shares if share < len(choice.weights)]
    passing = [sum(choice.weights[s] for s in said if s <= threshold) for threshold in range(len(choice.weights))]
    whole = sum(choice.weights[share] for share in said)
    return softmax({i: -abs(choice.share * whole - weight) for i, weight in enumerate(passing)}, scale)


SHARE_WEIGHTS = ((1.0, 1.0, 1.0), (1.0, 0.5, 0.25))


@pytest.mark.parametrize("weights", SHARE_WEIGHTS)
@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.75])
def test_a_choice_by_weight_costs_what_it_claims(weights: tuple[float, ...], change: Change, p: float) -> None:
    choice = ShareChoice.calibrated(2.0, weights, p, change)
    cost = choice.cost(change)
    assert isinstance(cost, BoundedRange)
    assert cost.epsilon == pytest.approx(2.0)
    reached = max(
        check_cost(share_law(first, choice, choice.scale), share_law(second, choice, choice.scale), cost)
        for first, second in neighbours(4, 5, change.relation)
    )
    if p >= 0.5 and len(set(weights)) == 1:  # nor is it far below; for others it takes more than five units
        assert reached > 0.5


def test_add_remove_price_of_a_share_choice_is_caught() -> None:
    choice = ShareChoice.calibrated(2.0, (1.0, 1.0, 1.0), 0.5, ADD_REMOVE)
    ranges = []
    for first, second in neighbours(4, 5, REPLACE.relation):
        law, other = share_law(first, choice, choice.scale), share_law(second, choice, choice.scale)
        ratios = [math.log(law[threshold] / other[threshold]) for threshold in law]
        ranges.append(max(ratios) - min(ratios))
    assert max(ranges) > 1.5 * 2.0


def test_a_choice_by_weight_of_known_scale() -> None:
    """p = 1/4 of a weight of 1 + 1/2 + 1/2: 1/2. Above the thresholds lie 1, 2 and 2: 1/2, 3/2 and 3/2 too much."""
    choice = ShareChoice.calibrated(2.0, (1.0, 0.5, 0.25), 0.25, ADD_REMOVE)
    assert choice.scale == 0.75
    assert ShareChoice.calibrated(2.0, (1.0,), 0.25, REPLACE).scale == 1.0
    law = drawn_law(choice, (0, 1, 1))
    assert law[0] == pytest.approx(1 / (1 + 2 * math.exp(-1 / 0.75)), abs=1e-9)
    assert law[1] == law[2]


def drawn_law(choice: ShareChoice, shares: tuple[int, ...]) -> Law:
    """What `draw` really does."""
    found: Law = {}
    for noise in paths():
        chosen = choice.draw(shares, noise)
        found[chosen] = found.get(chosen, 0.0) + noise.probability
    return found


def test_the_cost_is_that_of_the_share_as_it_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.6 is taken as 39322 of 2^16, which is more. The twin charges 0.6."""
    choice = ShareChoice.calibrated(2.0, (1.0, 1.0, 1.0), 0.6, ADD_REMOVE)
    shares = (1, 1, 1, 1, 1, 2, 2)  # nobody passes the first threshold, too many the second, another one neither
    first, second = drawn_law(choice, shares), drawn_law(choice, (*shares, 2))
    ratios = [math.log(first[threshold] / second[threshold]) for threshold in (0, 1)]
    lost = max(ratios) - min(ratios)
    assert lost <= choice.cost(ADD_REMOVE).epsilon * (1 + 1e-9)  # type: ignore[attr-defined]
    assert lost > 2 * 0.6 / choice.scale * (1 + 1e-6)


def test_choices_by_weight_are_drawn_from_their_law() -> None:
    choice, shares, draws = ShareChoice((1.0, 0.5, 0.25), 0.6, 0.5), (0, 1, 1, 2, 3), 4000
    law, noise = share_law(shares, choice, 0.5), SystemNoise()
    found = Counter(choice.draw(shares, noise) for _ in range(draws))
    for threshold in range(3):
        assert abs(found[threshold] / draws - law[threshold]) < 5 * math.sqrt(law[threshold] / draws)
    with pytest.raises(ValueError, match="between"):
        ShareChoice((2.0,), 0.5, 1.0)


def test_choices_are_drawn_from_their_law() -> None:
    choice, shares, draws = ThresholdChoice(3, 2, 1.5), (0, 1, 1, 2, 3), 4000
    law, noise = choice_law(shares, choice, 1.5), SystemNoise()
    found = Counter(choice.draw(shares, noise) for _ in range(draws))
    for threshold in range(3):
        assert abs(found[threshold] / draws - law[threshold]) < 5 * math.sqrt(law[threshold] / draws)


def histogram_law(votes: Votes, histogram: NoisyHistogram) -> Law:
    """The exact law of what `draw` returns, walked through draw by draw. A vote for value 2 counts nowhere."""
    found: Law = {}
    for noise in paths():
        counts = histogram.draw(votes, noise)
        found[counts] = found.get(counts, 0.0) + noise.probability
    return found


def histogram_loss(histogram: NoisyHistogram, change: Change) -> float:
    """The largest loss over all neighbouring votes for two values, or for none."""
    losses = []
    for first, second in neighbours(3, 2, change.relation):
        laws = inner(histogram_law(first, histogram), histogram_law(second, histogram))
        losses += [abs(math.log(laws[0][counts] / laws[1][counts])) for counts in laws[0]]
    return max(losses)


@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_a_histogram_costs_what_it_claims_and_no_less(epsilon: float, change: Change) -> None:
    histogram = NoisyHistogram.calibrated(epsilon, 2, change)
    assert histogram.scale == (2 if change is REPLACE else 1) / epsilon
    assert histogram.cost(change) == Pure(epsilon)
    assert histogram_loss(histogram, change) == pytest.approx(epsilon)


def test_a_histogram_as_if_a_vote_came_or_went_is_caught() -> None:
    assert histogram_loss(NoisyHistogram.calibrated(2.0, 2, ADD_REMOVE), REPLACE) == pytest.approx(4.0)


def test_a_histogram_counts_votes_for_its_values_alone() -> None:
    histogram, votes = NoisyHistogram(2, 0.05), (0, 1, 1, 2, -1)
    assert {histogram.draw(votes, SystemNoise()) for _ in range(50)} == {(1, 2)}
