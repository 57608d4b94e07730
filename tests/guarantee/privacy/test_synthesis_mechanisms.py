"""The mechanisms of a synthetic corpus: exact laws on neighbouring inputs, golden vectors, and broken twins."""

import math
from collections import Counter
from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
import pytest

from discreet.privacy.costs import BoundedRange, ZeroConcentrated
from discreet.privacy.mechanisms.counting import KeywordCounts, NoisySum
from discreet.privacy.mechanisms.vectors import ONE, AggregatedLogits
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet.privacy.noise import least_threshold as noise_above
from discreet.privacy.private import Change
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    check_cost,
    common,
    divergence,
    gaussian_law,
    hockey_stick,
    softmax,
)

# -- keyword counts ------------------------------------------------------------------------------------------------

WORDS = ("ague", "boil", "colic")
Shares = tuple[frozenset[str], ...]


def counts_law(shares: Shares, counts: KeywordCounts, threshold: int) -> Law:
    """Of what is released: the noisy counts above the threshold, word by word."""
    held = Counter(word for share in shares for word in sorted(share)[: counts.words])
    noise = gaussian_law(counts.sigma, math.ceil(9 * counts.sigma))
    law: Law = {(): 1.0}
    for word in sorted(held):
        grown: Law = {}
        hidden = sum(weight for z, weight in noise.items() if held[word] + z < threshold)
        for seen, weight in law.items():
            assert isinstance(seen, tuple)
            grown[seen] = grown.get(seen, 0.0) + weight * hidden
            for z, probability in noise.items():
                if held[word] + z >= threshold:
                    outcome = (*seen, (word, held[word] + z))
                    grown[outcome] = grown.get(outcome, 0.0) + weight * probability
        law = grown
    return law


def pairs() -> list[tuple[Shares, Shares]]:
    """With a unit, and without; its words are others', or nobody else's, or both."""
    common_words = [frozenset({"ague"})] * 3
    return [
        ((*common_words, frozenset(words)), tuple(common_words))
        for words in ({"ague"}, {"boil"}, {"ague", "boil"}, {"boil", "colic"})
    ]


@pytest.mark.parametrize("delta", [0.05, 0.001])
def test_counts_of_keywords_cost_what_they_claim(delta: float) -> None:
    counts = KeywordCounts(2, 1.5, delta)
    reached = 0.0
    for pair in pairs():
        for p, q in (pair, pair[::-1]):
            laws = counts_law(p, counts, counts.threshold), counts_law(q, counts, counts.threshold)
            assert sum(laws[0].values()) == pytest.approx(1.0)
            within = common(*laws, delta)
            for order in (1.5, 2.0, 4.0):
                allowed = order * counts.cost(ADD_REMOVE).rho  # type: ignore[attr-defined]
                assert divergence(*within, order) <= allowed * (1 + 1e-6)
            epsilon = 1.0
            reached = max(reached, hockey_stick(*laws, epsilon))
            assert hockey_stick(*laws, epsilon) <= delta + gaussian_delta(math.sqrt(2) / 1.5, epsilon)
    assert reached > 0


def gaussian_delta(ratio: float, epsilon: float) -> float:
    """Of Gaussian noise at distance/scale `ratio` (Balle and Wang 2018); the discrete one is near to it."""
    cdf = NormalDist().cdf
    return cdf(ratio / 2 - epsilon / ratio) - math.exp(epsilon) * cdf(-ratio / 2 - epsilon / ratio) + 1e-3


def test_counts_without_a_threshold_are_caught() -> None:
    """The broken twin: noise on the words that occur, all released, as in the paper. That a word is there tells."""
    counts = KeywordCounts(2, 1.5, 0.001)
    alone, nobody = (frozenset({"ague"}), frozenset({"boil"})), (frozenset({"ague"}),)
    assert hockey_stick(counts_law(alone, counts, -99), counts_law(nobody, counts, -99), 8.0) > 0.99
    honest = [counts_law(shares, counts, counts.threshold) for shares in (alone, nobody)]
    assert hockey_stick(honest[0], honest[1], 8.0) <= counts.delta


def test_the_threshold_of_the_specification() -> None:
    by_formula = 1 + 4 * NormalDist().inv_cdf(1 - 1e-6 / 10)
    assert by_formula == pytest.approx(21.797350, abs=1e-6)
    # Whole-number noise reaches 21 as often as continuous noise reaches 20.5, which is too often.
    assert KeywordCounts(10, 4.0, 1e-6).threshold == 23
    for sigma, probability in product((0.5, 1.0, 4.0, 30.0), (0.1, 1e-3, 1e-9)):
        t = noise_above(sigma, probability)
        law = gaussian_law(sigma, math.ceil(sigma * 40) + 2)
        assert sum(weight for z, weight in law.items() if z >= t) <= probability * (1 + 1e-9)
        assert t == 1 or sum(weight for z, weight in law.items() if z >= t - 1) > probability


def test_only_so_many_words_of_a_share_count() -> None:
    many = frozenset(f"w{number:02}" for number in range(50))
    found = KeywordCounts(3, 0.1, 0.01).draw([many] * 40, InsecureSeededNoise(0))
    assert found == {"w00": 40, "w01": 40, "w02": 40}
    assert KeywordCounts.calibrated(0.3, 1e-6, 10, ADD_REMOVE).cost(ADD_REMOVE) == pytest.approx(
        ZeroConcentrated(0.3, 1e-6)
    )
    assert KeywordCounts(2, 1.5, 0.1).cost(REPLACE) == ZeroConcentrated(2 * 2 / (2 * 1.5**2), 0.1)
    with pytest.raises(NotImplementedError):
        KeywordCounts(2, 1.5, 0.1).cost(Change(2, ADD_REMOVE.relation))


# -- sums of vectors -----------------------------------------------------------------------------------------------


def test_a_noisy_sum_moves_by_one_length_and_costs_that() -> None:
    summed = NoisySum.calibrated(0.5, 2, 10, ADD_REMOVE)
    assert summed.sigma == 1.0
    assert summed.cost(ADD_REMOVE) == ZeroConcentrated(0.5)
    assert summed.cost(REPLACE) == ZeroConcentrated(2.0)
    law = gaussian_law(10.0, 95)
    for moved in ((10, 0), (6, 8), (0, 0)):
        losses = []
        for step in moved:  # coordinates are independent; tails are cut where they weigh nothing
            there: Law = {z: law[z - step] for z in law if z - step in law}
            here: Law = {z: law[z] for z in there if isinstance(z, int)}
            losses.append(divergence(there, here, 2.0))
        assert sum(losses) <= 2.0 * 0.5 * (1 + 1e-6)


def test_a_vector_that_is_too_long_counts_as_nothing() -> None:
    class Silent(InsecureSeededNoise):
        def gaussian(self, scale: float) -> int:
            return 0

    shares = [np.array([3, 4]), np.array([30, 40]), np.array([1, 2, 3])]
    assert NoisySum(2, 5, 1.0).draw(shares, Silent(0)).tolist() == [3, 4]


def test_a_noisy_sum_of_real_noise_has_its_scale() -> None:
    drawn = NoisySum(400, 8, 2.0).draw([], SystemNoise())
    assert np.std(drawn) == pytest.approx(16.0, rel=0.2)


# -- aggregated logits ---------------------------------------------------------------------------------------------

PUBLIC = np.log(np.array([0.7, 0.2, 0.1]))


def token_law(shares: tuple[tuple[float, ...], ...], clip: float) -> Law:
    sums = PUBLIC + sum((np.clip(np.array(share), -clip, clip) for share in shares), np.zeros(3))
    return softmax({token: float(score) for token, score in enumerate(sums)}, 1.0)


@pytest.mark.parametrize("clip", [0.1, 0.5])
def test_a_token_costs_what_it_claims_and_no_less(clip: float) -> None:
    token, reached = AggregatedLogits(clip, PUBLIC), []
    opinions = list(product((-9.0, 0.3, 9.0), repeat=3))
    for share in opinions:
        pair = token_law(((9.0, -9.0, 0.0), share), clip), token_law(((9.0, -9.0, 0.0),), clip)
        reached += [check_cost(*pair, token.cost(ADD_REMOVE)), check_cost(*pair[::-1], token.cost(ADD_REMOVE))]
        for other in opinions:
            reached.append(check_cost(token_law((share,), clip), token_law((other,), clip), token.cost(REPLACE)))
    assert token.cost(ADD_REMOVE) == BoundedRange(2 * clip)
    assert token.cost(REPLACE) == BoundedRange(4 * clip)
    assert max(reached) > 0.5


@pytest.mark.parametrize("omega", [1.0, 2.0**37, 2.0**53, 1.44e17])
def test_token_has_its_claimed_cost_for_any_public_model(omega: float) -> None:
    """With weights of 2^53 a double holds no sums of opinions: one share then moved the whole by a step of its own."""

    class Seen:
        def select(self, scores: list[float], scale: float) -> int:
            self.law = softmax(dict(enumerate(scores)), scale)
            return 0

    public, clip, laws = omega * np.array([-0.7, -0.7, -9.0]), 0.1, []
    for size in range(120):
        seen = Seen()
        AggregatedLogits(clip, public).draw([np.array([ONE, -ONE, 0], dtype=np.int32)] * size, seen)  # type: ignore[arg-type]
        laws.append(seen.law)
    for law, other in pairwise(laws):
        ratios = [math.log(law[token] / other[token]) for token in (0, 1)]
        assert max(ratios) - min(ratios) <= 2 * clip * (1 + 1e-9)


def test_the_cost_of_the_specification() -> None:
    curve = AggregatedLogits(0.2, PUBLIC).cost(ADD_REMOVE).curve
    assert curve[0] <= 1.01 * 0.02 * (1 + 1e-9)  # rho = c^2 / 2 = 0.02 at tau = 1


def test_a_token_filtered_by_the_private_sums_is_caught() -> None:
    """The broken twin: sampling after a top-k of the sums, as the library that DP-RAG's code calls does by default."""

    def filtered(shares: tuple[tuple[float, ...], ...], clip: float) -> Law:
        law = token_law(shares, clip)
        best = sorted(law, key=lambda token: -law[token])[:2]
        total = sum(law[token] for token in best)
        return {token: law[token] / total if token in best else 0.0 for token in law}

    share = (-9.0, -9.0, 9.0)
    many = ((-9.0, 0.0, 9.0),)
    honest = check_cost(token_law((*many, share), 0.5), token_law(many, 0.5), BoundedRange(1.0))
    assert honest <= 1
    assert hockey_stick(filtered((*many, share), 0.5), filtered(many, 0.5), 5.0) > 0.1


def test_weights_are_clipped_and_summed_in_whole_numbers() -> None:
    token = AggregatedLogits(0.25, np.zeros(3))
    greedy = [np.array([10**9, -(10**9), 0], dtype=np.int64).clip(-(2**31), 2**31 - 1).astype(np.int32)] * 400
    assert {token.draw(greedy, SystemNoise()) for _ in range(5)} == {0}
    fine = AggregatedLogits(3.0, np.zeros(2))
    drawn = Counter(fine.draw([np.array([ONE, 0], dtype=np.int32)], InsecureSeededNoise(seed)) for seed in range(4000))
    assert drawn[0] / 4000 == pytest.approx(math.e / (1 + math.e), abs=0.03)
