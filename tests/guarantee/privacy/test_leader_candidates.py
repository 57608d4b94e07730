"""Leader selection with public candidates: its exact law over all neighbouring counts, and broken twins."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest

from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.leader import (
    MOST_CANDIDATES,
    SIZES,
    SLACKS,
    LeaderSelection,
    certified,
    find_law,
    leader_curve,
    leader_law,
    prior_votes,
)
from discreet.privacy.mechanisms.optimal_selection import PRIOR, candidate_curve, read_curve
from discreet.privacy.noise import WHOLE
from tests.exact import paths
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE
from tests.guarantee.privacy.test_leader import Counts, Law, partitions, worst

Move = tuple[Counts, Counts]
"""The votes of voters for each candidate, and then for all other answers: before and after."""


def every_move(voters: int, candidates: int) -> list[Move]:
    """All ordered pairs of neighbouring counts, up to the names of answers. One place is left for a new answer."""
    return [pair for counts in every_count(voters, candidates) for pair in moves_from(counts, voters, candidates)]


def every_count(voters: int, candidates: int) -> Iterator[Counts]:
    for known in (*partitions(voters, voters), ()):
        if len(known) <= candidates:
            for others in (*partitions(voters - sum(known), voters), ()):
                yield (*known, *[0] * (candidates - len(known)), *others, 0)


def moves_from(counts: Counts, voters: int, candidates: int) -> Iterator[Move]:
    """Of candidates with as many votes as each other, one stands for all of them; so of the others."""
    places = {(place < candidates, count): place for place, count in enumerate(counts)}.values()
    second = {(place < candidates, count): place for place, count in reversed(list(enumerate(counts)))}.values()
    losers = [place for place in places if counts[place]]
    for loser, winner in product((None, *losers), (None, *second)):
        if loser == winner or (loser is None and sum(counts) == voters):
            continue
        after = tuple(count - (place == loser) + (place == winner) for place, count in enumerate(counts))
        yield counts, after
        yield after, counts


def law_of(voters: int, candidates: int, start: int, epsilon: float, delta: float) -> Law:
    """The law, with a leader by chance among those tied. The counts are those of voters."""

    slots = voters + candidates

    @cache
    def law(counts: Counts) -> tuple[float, ...]:
        votes = [count + start * (place < candidates) for place, count in enumerate(counts)]
        tied = [place for place, count in enumerate(votes) if count == max(votes)]
        given = [place for place, count in enumerate(votes) if count]
        found = [0] * len(counts)
        for leader in tied:
            weights = leader_law([votes[place] for place in given], given.index(leader), slots, epsilon, delta, start)
            for place, weight in zip(given, weights, strict=True):
                found[place] += weight
        whole = WHOLE * len(tied)
        return (*(weight / whole for weight in found), (whole - sum(found)) / whole)

    return law


@pytest.mark.parametrize(
    ("epsilon", "delta", "voters", "candidates"),
    [
        (2.0, 1e-4, 12, 1),
        (2.0, 1e-4, 12, 2),
        (2.0, 1e-6, 11, 5),
        (3.0, 1e-6, 12, 2),
        (5.0, 1e-6, 10, 5),
        (1.2, 1e-4, 12, 2),
    ],
)
def test_certified_cost_covers_every_move(epsilon: float, delta: float, voters: int, candidates: int) -> None:
    found = find_law(epsilon, delta, voters, candidates)
    assert found is not None
    assert found.head_start >= 1
    moves = every_move(voters, candidates)
    law = law_of(voters, candidates, found.head_start, found.epsilon, delta)
    assert 0.2 * delta < worst(law, moves, epsilon) <= delta


def test_law_alone_does_not_cover_every_move() -> None:
    """The slack is real: five candidates near the line cost more than the epsilon of the law."""
    start = prior_votes(1.0, 1e-6, 5)
    assert not certified(1.0, 1e-6, 16, 1.02, 5, start)
    law = law_of(16, 5, start, 1.0, 1e-6)
    before = (5, 3, 3, 3, 2, 0)
    pairs = [move for counts in (before, (4, 3, 3, 3, 2, 0)) for move in moves_from(counts, 16, 5)]
    assert worst(law, pairs, 1.02) > 100 * 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("size", SIZES)
def test_every_size_is_certified_for_forty_voters(epsilon: float, size: int) -> None:
    made = LeaderSelection(epsilon, 1e-6, 40, tuple(range(size)))
    assert made.proposes
    assert made.size >= size
    assert made.inner is not None
    assert made.inner >= epsilon / (1 + SLACKS[-1])
    # What is released without a vote is within the prior, for all candidates together.
    assert 0 < made.size * made.candidate_chance(0) <= PRIOR


@pytest.mark.parametrize(
    ("epsilon", "candidate", "unseen"),
    [(0.5, (18, 22), (35, 39)), (1.0, (8, 9), (17, 18)), (2.0, (5, 5), (9, 9)), (4.0, (3, 3), (6, 6))],
)
def test_candidates_need_half_of_the_votes_of_others(
    epsilon: float, candidate: tuple[int, int], unseen: tuple[int, int]
) -> None:
    made = LeaderSelection(epsilon, 1e-6, 40, tuple(range(20)))
    assert (made.candidate_votes_needed(0.5), made.candidate_votes_needed(0.9)) == candidate
    assert (made.votes_needed(0.5), made.votes_needed(0.9)) == unseen


def test_law_with_candidates_has_known_values() -> None:
    """Two candidates of five with 9 and 4 votes, and another answer with 9, at a law of epsilon 1."""
    known = [0.9071570648450162, 0.07255080523991891, *[0.0023104598202448833] * 4, 4.899999999999631e-07]
    weights = leader_law([18, 13, 9, 9, 9, 9, 1], 0, 45, 1.0, 1e-6, 9)
    assert [weight / WHOLE for weight in weights] == pytest.approx(known, rel=1e-9)


def test_number_of_candidates_is_filled_up_to_few_sizes() -> None:
    assert LeaderSelection(1.0, 1e-6, 40, ("a",)).size == SIZES[0]
    assert LeaderSelection(1.0, 1e-6, 40, tuple("abcdef")).size == SIZES[1]
    assert LeaderSelection(1.0, 1e-6, 40).size == 0
    with pytest.raises(ValueError, match="21 candidates are more than 20"):
        LeaderSelection(1.0, 1e-6, 40, tuple(range(MOST_CANDIDATES + 1)))
    with pytest.raises(ValueError, match="named twice"):
        LeaderSelection(1.0, 1e-6, 40, ("a", "a"))


@pytest.mark.parametrize("wrong", [(9.0, 1e-6, 40), (1.0, 1e-13, 40), (0.05, 1e-6, 40)])
def test_without_a_proof_candidates_are_left_out(wrong: tuple[float, float, int]) -> None:
    made, plain = LeaderSelection(*wrong, ("a", "b")), LeaderSelection(*wrong)
    assert not made.proposes
    assert made.inner == plain.inner
    assert made.ahead == 0
    assert made.candidate_chance(3) == plain.chance(3)
    assert "not certified, so without them" in str(made)
    noise = next(paths())
    assert made.draw([], noise) is None


def test_cost_is_the_certified_one() -> None:
    made = LeaderSelection(2.0, 1e-6, 40, ("a", "b"))
    assert made.cost(REPLACE) == made.cost(ADD_REMOVE) == Pure(2.0, 1e-6)
    assert "2 public candidates at 5 votes" in str(made)


@pytest.mark.parametrize("votes", ["", "a", "aaabbb", "cccc", "aaacc", "abcdef"])
def test_draws_follow_the_law(votes: str) -> None:
    made = LeaderSelection(5.0, 1e-6, 10, ("a", "b"))
    assert made.inner is not None
    assert made.proposes
    found: dict[str | None, float] = {}
    for noise in paths():
        drawn = made.draw([*votes, None, None], noise)
        found[drawn] = found.get(drawn, 0.0) + noise.probability
    names = ["a", "b", *sorted({*votes} - {*"ab"})]
    counts = [votes.count(name) for name in names]
    # Three candidates without a name fill up the five; what they would release is nothing.
    law = law_of(10, 5, made.ahead, made.inner, made.delta)((*counts[:2], 0, 0, 0, *counts[2:], 0))
    expected = [*law[:2], *law[5 : 5 + len(names) - 2]]
    for name, probability in zip(names, expected, strict=True):
        assert found.get(name, 0.0) == pytest.approx(probability, abs=1e-15)
    assert found.get(None, 0.0) == pytest.approx(1 - sum(expected), abs=1e-12)


# -- twins -----------------------------------------------------------------------------------------------------------


def with_raw_counts(voters: int, candidates: int, start: int, epsilon: float, delta: float) -> Law:
    """Each answer has its own curve, but leads and weighs by the votes of voters alone (privacy-spec, part 10.5)."""
    own, others = candidate_curve(epsilon, PRIOR / candidates), leader_curve(epsilon, delta)

    @cache
    def law(counts: Counts) -> tuple[float, ...]:
        alone = [read_curve(own if place < candidates else others, count) / WHOLE for place, count in enumerate(counts)]
        total = sum(math.exp(epsilon / 2 * count) for count in counts) + voters + candidates - len(counts)
        shares = [min(pi, math.exp(epsilon / 2 * count) / total) for pi, count in zip(alone, counts, strict=True)]
        tied = [place for place, count in enumerate(counts) if count == max(counts)]
        found = [0.0] * len(counts)
        for leader in tied:
            rest = 1 - sum(shares) + shares[leader]
            for place, share in enumerate(shares):
                found[place] += (alone[leader] * rest if place == leader else share) / len(tied)
        return (*found, 1 - sum(found))

    return law


def with_many_starts(voters: int, candidates: int, start: int, epsilon: float, delta: float) -> Law:
    """Every answer that a voter gives is taken for a candidate."""

    @cache
    def law(counts: Counts) -> tuple[float, ...]:
        own = [count + start for count in counts if count]
        places = [place for place, count in enumerate(counts) if count]
        found = [0.0] * len(counts)
        if own:
            leader = own.index(max(own))
            weights = leader_law(own, leader, voters + candidates, epsilon, delta, start)
            for place, weight in zip(places, weights, strict=True):
                found[place] = weight / WHOLE
        return (*found, 1 - sum(found))

    return law


def with_all_of_delta(voters: int, candidates: int, start: int, epsilon: float, delta: float) -> Law:
    """The curve at delta in place of half of it."""
    return law_of(voters, candidates, start, epsilon, 2 * delta)


@pytest.mark.parametrize("twin", [with_raw_counts, with_many_starts, with_all_of_delta])
def test_broken_twins_cost_more(twin: Callable[[int, int, int, float, float], Law]) -> None:
    found = find_law(2.0, 1e-4, 12, 2)
    assert found is not None
    moves = every_move(12, 2)
    assert worst(twin(12, 2, found.head_start, found.epsilon, 1e-4), moves, 2.0) > 1.5e-4


def test_raw_counts_cost_ten_at_epsilon_one() -> None:
    """An answer leads by a vote, and its curve says no. A vote later the candidate leads, and its curve says yes."""
    law = with_raw_counts(34, 1, 0, 1.0, 1e-6)
    assert worst(law, list(moves_from((10, 11, 0), 34, 1)), 8.0) > 0.04
