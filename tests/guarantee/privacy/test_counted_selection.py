"""Counted selection: the same curve as optimal selection, with a count for nothing; its exact law and its interval."""

import math
from bisect import bisect_left
from collections import Counter
from itertools import combinations_with_replacement, product

import pytest

from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.optimal_selection import (
    CountedSelection,
    counted_curve,
    leaks,
    read_curve,
    unseen_curve,
)
from discreet.privacy.noise import WHOLE, InsecureSeededNoise
from discreet.privacy.private import Change, Relation
from discreet_lab.audit.vote_mutants import BrokenCountedCandidates, BrokenEstimate
from tests.exact import paths
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE, Law, hockey_stick, neighbours

CHANGES = (REPLACE, ADD_REMOVE)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.2])
def test_answers_with_their_counts_stay_within_delta(epsilon: float, delta: float) -> None:
    table = counted_curve(epsilon, delta)
    for leak in leaks(table, epsilon):
        assert 0.999 * delta <= leak / WHOLE <= delta


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_curve_is_that_of_optimal_selection(epsilon: float) -> None:
    counted, plain = counted_curve(epsilon, 1e-6), unseen_curve(epsilon, 1e-6)
    for votes in range(len(plain)):
        assert read_curve(counted, votes) <= plain[votes]
        assert read_curve(counted, votes) == pytest.approx(plain[votes], rel=1e-5)
    made = CountedSelection[str](epsilon, 1e-6)
    expected = {0.5: (26, 29, 34), 1.0: (14, 16, 18), 2.0: (8, 9, 10)}[epsilon]
    assert tuple(made.votes_needed(chance) for chance in (0.5, 0.9, 0.99)) == expected


def test_a_steeper_curve_leaks() -> None:
    assert max(leaks(counted_curve(1.1, 1e-3), 1.0)) > 1e-3 * WHOLE


def test_delta_too_small_for_counts_is_refused() -> None:
    for delta in (0.0, 1e-19, 1e-16):
        with pytest.raises(ValueError, match="too small for counts"):
            CountedSelection[str](1.0, delta)
    with pytest.raises(ValueError, match="prior"):
        CountedSelection[str](1.0, 1e-6, ("a",), 1.5)


def test_curve_that_leaks_is_refused_when_it_is_read() -> None:
    made = CountedSelection[str](0.001, 4200 / WHOLE)  # a curve of 44,000 steps, each of which is rounded
    assert made.cost(ADD_REMOVE) == Pure(0.001, 4200 / WHOLE)
    with pytest.raises(ValueError, match="too small for counts"):
        made.chance(10)
    with pytest.raises(ValueError, match="too small for counts"):
        made.draw(["a"] * 9, InsecureSeededNoise(1))


def test_candidates_start_with_votes_within_their_prior() -> None:
    made = CountedSelection.calibrated(1.0, 1e-6, ADD_REMOVE, tuple("abcdefghijklmnopqrst"))
    assert made.prior == pytest.approx(0.001)
    assert made.chance(made.ahead) <= made.prior < made.chance(made.ahead + 1)
    assert (made.candidate_votes_needed(0.5), made.candidate_votes_needed(0.9)) == (7, 9)
    assert made.candidate_chance(0) == made.chance(made.ahead)
    assert CountedSelection[str](1.0, 1e-6, (), 0.0).ahead == 0
    alone = CountedSelection[str](1.0, 1e-6)
    assert alone.with_candidates(("a", "b", "a")) == CountedSelection(1.0, 1e-6, ("a", "b"), 0.01)
    assert alone.with_candidates(("a",)).cost(ADD_REMOVE) == alone.cost(ADD_REMOVE)


# -- the law, over all neighbouring inputs ---------------------------------------------------------------------------


def law_of(mechanism: CountedSelection[int], votes: tuple[int, ...]) -> Law:
    """The law of the released counts, from the curve alone."""
    counts, table = Counter(votes), mechanism.curve()
    centre = bisect_left(table, WHOLE // 2)
    law: Law = {(): 1.0}
    for answer in sorted({*counts, *mechanism.candidates}):
        start = mechanism.ahead if answer in mechanism.candidates else 0
        n = counts[answer] + start
        own: dict[int | None, float] = {None: 1 - read_curve(table, n) / WHOLE}
        for m in range(1, n + 1):
            own[n - start - m + centre] = (read_curve(table, m) - read_curve(table, m - 1)) / WHOLE
        law = {
            ((*outcome, (answer, seen)) if seen is not None else outcome): p * q  # type: ignore[misc]
            for (outcome, p), (seen, q) in product(law.items(), own.items())
        }
    return law


@pytest.mark.parametrize("candidates", [(), (0, 5)], ids=str)
@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_all_neighbours_stay_within_the_cost(epsilon: float, change: Change, candidates: tuple[int, ...]) -> None:
    mechanism = CountedSelection.calibrated(epsilon, 0.02, change, candidates)
    cost = mechanism.cost(change)
    assert isinstance(cost, Pure)
    assert (cost.epsilon, cost.delta) == pytest.approx((epsilon, 0.02))
    sticks = [
        hockey_stick(law_of(mechanism, first), law_of(mechanism, second), cost.epsilon)
        for first, second in neighbours(2, 8, change.relation)
    ]
    assert max(sticks) <= cost.delta * (1 + 1e-9)
    if change == ADD_REMOVE:
        assert max(sticks) >= 0.99 * cost.delta


@pytest.mark.parametrize("candidates", [(), (0, 5)], ids=str)
def test_draws_follow_the_curve(candidates: tuple[int, ...]) -> None:
    mechanism = CountedSelection.calibrated(1.0, 0.05, ADD_REMOVE, candidates)
    for size in range(6):
        for votes in combinations_with_replacement(range(2), size):
            found: Law = {}
            for noise in paths():
                released = mechanism.draw((*votes, None), noise)
                outcome = tuple(sorted((one.answer, one.count) for one in released))
                found[outcome] = found.get(outcome, 0.0) + noise.probability
            expected = law_of(mechanism, votes)
            assert sum(found.values()) == pytest.approx(1.0)
            assert set(found) <= set(expected)
            for seen, probability in expected.items():
                assert found.get(seen, 0.0) == pytest.approx(probability, abs=1e-12)


def test_a_replaced_vote_costs_twice_as_much() -> None:
    made = CountedSelection[str](1.0, 1e-6)
    assert made.cost(REPLACE) == Pure(2.0, 2e-6)
    for relation in Relation:
        with pytest.raises(NotImplementedError):
            made.cost(Change(2, relation))


# -- the counts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_intervals_miss_released_counts_at_most_once_in_twenty(epsilon: float) -> None:
    mechanism = CountedSelection[str](epsilon, 1e-4)
    for votes in range(1, 2 * len(mechanism.curve())):
        missed = total = 0.0
        for noise in paths():
            for one in mechanism.draw(("a",) * votes, noise):
                total += noise.probability
                missed += noise.probability * (not one.low <= votes <= one.high)
        assert missed <= 0.05 + 1e-9
        assert total == pytest.approx(mechanism.chance(votes))


def test_counts_are_centred_and_the_largest_is_first() -> None:
    mechanism = CountedSelection[str](1.0, 1e-6)
    mean = math.fsum(mechanism.draw(("a",) * 60, noise)[0].count * noise.probability for noise in paths())
    assert mean == pytest.approx(60, abs=1.0)
    for noise in paths():
        released = mechanism.draw(("a",) * 14 + ("b",) * 20, noise)
        assert [one.count for one in released] == sorted((one.count for one in released), reverse=True)


def test_the_sealed_count_of_what_is_released_is_caught() -> None:
    broken = BrokenEstimate(1.0, 0.01)
    laws: list[Law] = []
    for votes in (20, 21):
        law: Law = {}
        for noise in paths():
            outcome = tuple(one.count for one in broken.draw(("a",) * votes, noise))
            law[outcome] = law.get(outcome, 0.0) + noise.probability
        laws.append(law)
    assert hockey_stick(laws[0], laws[1], 1.0) > 0.9


def test_candidates_that_voters_name_are_caught() -> None:
    broken, laws = BrokenCountedCandidates(1.0, 1e-3), list[Law]()
    for votes in ((), ("y",)):
        law: Law = {}
        for noise in paths():
            outcome = tuple((one.answer, one.count) for one in broken.draw(votes, noise))
            law[outcome] = law.get(outcome, 0.0) + noise.probability
        laws.append(law)
    assert hockey_stick(laws[1], laws[0], 1.0) > 10 * 1e-3
