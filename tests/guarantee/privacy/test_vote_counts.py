"""Thresholded counts: tails of the discrete Gaussian, the exact law over all neighbouring inputs, and intervals."""

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from statistics import NormalDist

import pytest

from discreet.privacy.mechanisms.counting import KeywordCounts, ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import CONFIDENCE, CountedAnswer
from discreet.privacy.noise import InsecureSeededNoise, least_threshold, pass_chance, upper_tail
from discreet.privacy.private import Change, Relation
from discreet_lab.audit.vote_mutants import BrokenIdleCandidates, BrokenInterval, BrokenThresholdCandidates
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    check_cost,
    check_shared,
    common,
    divergence,
    gaussian_law,
)

CHANGES = (REPLACE, ADD_REMOVE)


def exact_tail(sigma: float, threshold: int) -> Decimal:
    """P[Z >= threshold] of the discrete Gaussian to some 40 digits."""
    with localcontext() as context:
        context.prec = 50
        terms = exact_terms(sigma)
        return sum(terms[threshold:], Decimal(0)) / (2 * sum(terms) - terms[0])


@cache
def exact_terms(sigma: float) -> list[Decimal]:
    scale = 2 * Decimal(sigma) ** 2
    return [(-(Decimal(z) ** 2) / scale).exp() for z in range(math.ceil(20 * sigma) + 2)]


# -- the tail --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.05, 0.3, 0.5, 0.75, 1.0, 2.22125, 7.3, 12.0])
def test_tail_is_an_upper_bound_and_hardly_larger(sigma: float) -> None:
    for threshold in range(1, math.ceil(12 * sigma) + 2):
        exact, bound = exact_tail(sigma, threshold), Decimal(upper_tail(sigma, threshold))
        assert exact <= bound
        if exact > Decimal("1e-200"):
            assert bound <= exact * (1 + Decimal("1e-8"))


def test_tail_refuses_what_it_does_not_bound() -> None:
    with pytest.raises(ValueError, match="1 or above"):
        upper_tail(1.0, 0)
    with pytest.raises(ValueError, match="scale of the noise"):
        upper_tail(0.0, 1)
    with pytest.raises(ValueError, match="probability of failure"):
        least_threshold(1.0, 0.0)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.7, 12.0])
@pytest.mark.parametrize("probability", [0.2, 1e-3, 1e-6, 1e-12])
def test_threshold_is_the_least_that_keeps_the_failure(sigma: float, probability: float) -> None:
    threshold = least_threshold(sigma, probability)
    assert upper_tail(sigma, threshold) <= probability
    assert threshold == 1 or upper_tail(sigma, threshold - 1) > probability


def test_pass_chance_is_symmetric() -> None:
    assert pass_chance(2.0, 0) == pytest.approx(0.5 + float(exact_tail(2.0, 0) - exact_tail(2.0, 1)) / 2)
    assert pass_chance(2.0, -3) == pytest.approx(float(1 - exact_tail(2.0, 4)))


def test_continuous_threshold_fails_too_often_with_whole_noise() -> None:
    """The specification releases count + noise > 1 + sigma z(1 - delta_t): true of the continuous law alone.

    At epsilon 2 and one question a unit (part 10.3) that lets a noise of 10 through. The discrete Gaussian reaches 10
    with 1.6 times delta_t.
    """
    sigma, delta = 2.22125, 5e-6
    line = 1 + sigma * NormalDist().inv_cdf(1 - delta)
    passes = math.floor(line) + 1 - 1  # the least noise with which a count of 1 is above the line
    assert passes == 10
    assert 1.6 * delta < float(exact_tail(sigma, passes)) < 1.7 * delta
    sound = ThresholdedCounts(sigma, 1 + least_threshold(sigma, delta))
    assert sound.threshold == passes + 2
    assert sound.failure <= delta


# -- calibration and cost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("values", [1, 3, 10])
@pytest.mark.parametrize("rho", [0.01, 0.1, 1.0])
def test_calibrated_counts_cost_no_more_than_asked(rho: float, values: int, change: Change) -> None:
    made = ThresholdedCounts.calibrated(rho, 1e-6, change, values)
    cost = made.cost(change)
    assert 0.999999 * rho <= cost.rho <= rho
    assert cost.delta <= 1e-6
    assert ThresholdedCounts(made.sigma, made.threshold - 1, values).failure > 1e-6


def test_threshold_is_that_of_keyword_counts() -> None:
    """Two independent computations of one threshold (part 8: 21.797350 with continuous noise)."""
    words = KeywordCounts(10, 4.0, 1e-6)
    made = ThresholdedCounts(4.0, 1 + least_threshold(4.0, 1e-7), 10)
    assert words.threshold == made.threshold == 23


def test_counts_of_several_shares_a_unit_are_refused() -> None:
    for relation in Relation:
        with pytest.raises(NotImplementedError):
            ThresholdedCounts(1.0, 5).cost(Change(2, relation))
    with pytest.raises(ValueError, match="Threshold"):
        ThresholdedCounts(1.0, 1)


# -- the law, over all neighbouring inputs ---------------------------------------------------------------------------

Share = tuple[int, ...]


@cache
def law_of(mechanism: ThresholdedCounts, shares: tuple[Share, ...]) -> Law:
    """The law of the released counts: each answer by itself."""
    counts = Counter(value for share in shares for value in sorted(share)[: mechanism.values])
    noise = gaussian_law(mechanism.sigma, math.ceil(9 * mechanism.sigma))
    law: Law = {(): 1.0}
    for value in sorted({*counts, *mechanism.candidates}):
        own: dict[int | None, float] = {None: 0.0}
        line = mechanism.candidate_threshold if value in mechanism.candidates else mechanism.threshold
        for z, probability in noise.items():
            seen = counts[value] + z if counts[value] + z >= line else None
            own[seen] = own.get(seen, 0.0) + probability
        law = {
            ((*outcome, (value, seen)) if seen is not None else outcome): p * q  # type: ignore[misc]
            for (outcome, p), (seen, q) in product(law.items(), own.items())
        }
    return law


def neighbouring(values: int, most: int, relation: Relation) -> list[tuple[tuple[Share, ...], tuple[Share, ...]]]:
    """All pairs of up to `most` shares, each a set of at most two of `values` answers, that differ in one share.

    A pair stands for both of its orders, and for all orders of its shares.
    """
    kinds: list[Share] = [part for size in range(3) for part in combinations(range(values), size)]
    pairs = []
    for size in range(most):
        for same in combinations_with_replacement(kinds, size):
            for own in kinds:
                others = [()] if relation is Relation.ADD_REMOVE else [(other,) for other in kinds if other > own]
                pairs += [((*same, own), (*same, *other)) for other in others]
    return pairs


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("values", [1, 2])
def test_all_neighbours_stay_within_the_cost(values: int, change: Change) -> None:
    mechanism = ThresholdedCounts.calibrated(0.8, 0.02, change, values)
    cost = mechanism.cost(change)
    most = 2 if values == 2 and change == REPLACE else 3  # the laws of two answers a unit have ten thousand outcomes
    for first, second in neighbouring(3, most, change.relation):
        p, q = common(law_of(mechanism, first), law_of(mechanism, second), cost.delta)
        check_shared(p, q, cost)
        check_shared(q, p, cost)


def test_more_answers_a_unit_than_were_paid_are_caught() -> None:
    paid = ThresholdedCounts.calibrated(0.8, 0.02, ADD_REMOVE, 1)
    broken = ThresholdedCounts(paid.sigma, paid.threshold, 2)
    many = ((0, 1),) * 9
    with pytest.raises(AssertionError, match="divergence"):
        check_cost(law_of(broken, many), law_of(broken, many[1:]), paid.cost(ADD_REMOVE))


def test_a_lower_threshold_is_caught() -> None:
    paid = ThresholdedCounts.calibrated(0.8, 0.02, ADD_REMOVE)
    broken = ThresholdedCounts(paid.sigma, paid.threshold - 1)
    with pytest.raises(AssertionError, match="not covered"):
        check_cost(law_of(broken, ((0,),)), law_of(broken, ()), paid.cost(ADD_REMOVE))


# -- what is released ------------------------------------------------------------------------------------------------


def test_answers_are_released_with_counts_the_largest_first() -> None:
    made = ThresholdedCounts(0.01, 3, 2)  # hardly any noise
    shares = [("b", "a")] * 5 + [("c",)] * 7 + [("d",)] * 2 + [()]
    released = made.draw(shares, InsecureSeededNoise(0))
    assert released == (
        CountedAnswer("c", 7, 7, 7),
        CountedAnswer("a", 5, 5, 5),
        CountedAnswer("b", 5, 5, 5),
    )
    assert made.margin == 0


@pytest.mark.parametrize("sigma", [0.5, 1.7, 4.0])
def test_intervals_miss_released_counts_at_most_once_in_twenty(sigma: float) -> None:
    made = ThresholdedCounts(sigma, 1 + least_threshold(sigma, 1e-3))
    noise = gaussian_law(sigma, math.ceil(12 * sigma))
    for count in range(1, 60):
        missed = 0.0
        for z, probability in noise.items():
            if count + z >= made.threshold:
                low, high = max(1, count + z - made.margin), count + z + made.margin
                missed += probability * (not low <= count <= high)
        assert missed <= 1 - CONFIDENCE + 1e-9
    narrower = sum(p for z, p in noise.items() if abs(z) > made.margin - 1)
    assert narrower > 1 - CONFIDENCE


def test_an_interval_around_the_sealed_count_is_caught() -> None:
    broken, sound = BrokenInterval(2.0, 8), ThresholdedCounts(2.0, 8)
    lows = [{one.low for _ in range(40) for one in broken.draw([("a",)] * n, InsecureSeededNoise(1))} for n in (50, 51)]
    assert lows == [{49}, {50}]
    drawn = [sound.draw([("a",)] * 50, noise)[0].low for noise in map(InsecureSeededNoise, range(20))]
    assert len(set(drawn)) > 3


# -- public candidates -----------------------------------------------------------------------------------------------

KNOWN = tuple(range(20))


@pytest.mark.parametrize(
    ("rho", "candidates", "lines", "votes", "known"),
    [
        (0.02, 1, (26, 11), (26, 32), (11, 17)),
        (0.125, 1, (11, 5), (11, 14), (5, 8)),
        (0.125, 5, (11, 6), (11, 14), (6, 9)),
        (0.125, 20, (11, 7), (11, 14), (7, 10)),
        (0.5, 20, (7, 4), (7, 8), (4, 5)),
    ],
)
def test_candidates_need_about_half_of_the_votes(
    rho: float, candidates: int, lines: tuple[int, int], votes: tuple[int, int], known: tuple[int, int]
) -> None:
    made = ThresholdedCounts.calibrated(rho, 1e-6, ADD_REMOVE).with_candidates(KNOWN[:candidates])
    assert (made.threshold, made.candidate_threshold) == lines
    assert tuple(made.votes_needed(chance) for chance in (0.5, 0.9)) == votes
    assert tuple(made.candidate_votes_needed(chance) for chance in (0.5, 0.9)) == known
    # The line is the least at which all candidates together keep to the prior, by sums of forty digits.
    alone = Decimal("0.02") / candidates
    assert exact_tail(made.sigma, lines[1]) <= alone < exact_tail(made.sigma, lines[1] - 1)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_candidates_do_not_change_the_price(change: Change) -> None:
    alone = ThresholdedCounts.calibrated(0.125, 1e-6, change)
    known = alone.with_candidates(("a", "b", "a"))
    assert known.cost(change) == alone.cost(change)
    assert (known.candidates, known.prior) == (("a", "b"), 0.01)
    assert "2 public candidates from 6 on" in str(ThresholdedCounts(2.0, 11).with_candidates(("a", "b")))


def test_candidate_threshold_is_never_the_higher_one() -> None:
    assert ThresholdedCounts(1.0, 2, 1, ("a",), 1e-6).candidate_threshold == 2
    with pytest.raises(ValueError, match="prior"):
        ThresholdedCounts(1.0, 5, 1, ("a",), 0.0)


@pytest.mark.parametrize(("values", "change"), [(1, REPLACE), (1, ADD_REMOVE), (2, ADD_REMOVE)])
@pytest.mark.parametrize("candidates", [(0, 5), (0, 1)], ids=str)
def test_all_neighbours_with_candidates_stay_within_the_cost(
    candidates: tuple[int, ...], values: int, change: Change
) -> None:
    """Candidate 5 is one that no unit gives."""
    mechanism = ThresholdedCounts.calibrated(0.8, 2e-3, change, values).with_candidates(candidates)
    assert mechanism.candidate_threshold < mechanism.threshold
    cost, reached = mechanism.cost(change), []
    for first, second in neighbouring(2, 4, change.relation):
        p, q = common(law_of(mechanism, first), law_of(mechanism, second), cost.delta)
        for a, b in ((p, q), (q, p)):
            reached.append(divergence(a, b, 2.0) / (2 * cost.rho))
            check_shared(a, b, cost)
    # Nor is it far below; with more noise, more votes than these reach it.
    assert (0.4 if mechanism.sigma > 1 else 0.9) < max(reached) <= 1 + 1e-9


def test_draws_follow_the_law_with_candidates() -> None:
    mechanism = ThresholdedCounts(1.0, 4, 1, (0, 5), 0.05)
    shares: tuple[Share, ...] = ((0,), (1,), (1,), (0,), ())
    found: Counter[object] = Counter()
    for seed in range(4000):
        released = mechanism.draw(shares, InsecureSeededNoise(seed))
        assert [one.count for one in released] == sorted((one.count for one in released), reverse=True)
        found[tuple(sorted((one.answer, one.count) for one in released))] += 1
    for outcome, probability in law_of(mechanism, shares).items():
        assert abs(found[outcome] / 4000 - probability) < 5 * math.sqrt(probability / 4000) + 1e-3


def test_candidate_that_no_unit_gave_is_released_within_the_prior() -> None:
    mechanism = ThresholdedCounts.calibrated(0.125, 1e-6, ADD_REMOVE).with_candidates(("a", "b"))
    drawn = [mechanism.draw([()], InsecureSeededNoise(seed)) for seed in range(3000)]
    released = [one for answers in drawn for one in answers]
    assert 0 < len(released) / 3000 <= 0.02 + 0.01
    assert {one.low for one in released} <= set(range(4))
    assert min(one.count for one in released) >= mechanism.candidate_threshold


def test_candidates_that_voters_name_are_caught() -> None:
    """By the law of the twin, which holds every answer of a voter to the lower threshold."""
    paid = ThresholdedCounts.calibrated(0.1, 1e-4, ADD_REMOVE)
    named = paid.with_candidates((0,))
    with pytest.raises(AssertionError, match="not covered"):
        check_cost(law_of(named, ((0,),)), law_of(paid, ()), paid.cost(ADD_REMOVE))
    broken = BrokenThresholdCandidates(paid.sigma, paid.threshold)
    sound = [bool(paid.draw([("y",)], InsecureSeededNoise(seed))) for seed in range(2000)]
    lower = [bool(broken.draw([("y",)], InsecureSeededNoise(seed))) for seed in range(2000)]
    assert sum(sound) < 0.002 * 2000 < 0.01 * 2000 < sum(lower)


def test_candidate_that_counts_only_with_a_vote_is_caught() -> None:
    """The twin draws no noise for a candidate without a vote, so that its release reveals a unit."""
    paid = ThresholdedCounts.calibrated(0.8, 1e-4, ADD_REMOVE).with_candidates((0,))
    with pytest.raises(AssertionError, match="not covered"):
        check_cost(law_of(paid, ((0,),)), law_of(replace(paid, candidates=()), ()), paid.cost(ADD_REMOVE))
    broken = BrokenIdleCandidates(paid.sigma, paid.threshold, candidates=("y",), prior=0.25)
    assert not any(broken.draw([], InsecureSeededNoise(seed)) for seed in range(200))
    assert any(broken.draw([("y",)], InsecureSeededNoise(seed)) for seed in range(20))
