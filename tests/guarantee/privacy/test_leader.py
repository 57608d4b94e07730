"""Leader selection: its exact law over all neighbouring counts, the certificate of its cost, and broken twins."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.leader import (
    LeaderSelection,
    _Move,
    certified,
    certified_cost,
    find_law,
    leader_curve,
    leader_law,
)
from discreet.privacy.mechanisms.optimal_selection import read_curve, unseen_curve
from discreet.privacy.mechanisms.selection import ObservedSelection
from discreet.privacy.noise import WHOLE, InsecureSeededNoise
from discreet.privacy.private import Change, Relation
from tests.exact import paths
from tests.guarantee.privacy.laws import ADD_REMOVE, REPLACE

Counts = tuple[int, ...]
Law = Callable[[Counts], tuple[float, ...]]
"""The probability of each answer, and of nothing, for the votes of each answer."""


def inner_epsilon(epsilon: float, delta: float, voters: int) -> float | None:
    law = find_law(epsilon, delta, voters)
    return law.epsilon if law else None


def law_of(voters: int, epsilon: float, delta: float) -> Law:
    """The law of the selection, with a leader by chance among those tied."""

    @cache
    def law(counts: Counts) -> tuple[float, ...]:
        given = [place for place, count in enumerate(counts) if count]
        tied = [place for place in given if counts[place] == max(counts)]
        found = [0] * len(counts)
        for leader in tied:
            weights = leader_law([counts[place] for place in given], given.index(leader), voters, epsilon, delta)
            for place, weight in zip(given, weights, strict=True):
                found[place] += weight
        whole = WHOLE * max(1, len(tied))
        return (*(weight / whole for weight in found), (whole - sum(found)) / whole)

    return law


def every_move(voters: int) -> Iterator[tuple[Counts, Counts]]:
    """All ordered pairs of neighbouring counts, up to the names of answers. One place is left for a new answer.

    Of answers with as many votes as each other, the last one loses and the first one gains: it stands for all of them.
    """
    for counts in (*partitions(voters, voters), ()):
        before = (*counts, 0)
        losers = [place for place in range(len(counts)) if before[place] > before[place + 1]]
        winners = [place for place in range(len(before)) if place == 0 or before[place] < before[place - 1]]
        for loser, winner in product((None, *losers), (None, *winners)):
            if loser == winner or (loser is None and sum(counts) == voters):
                continue
            after = tuple(count - (place == loser) + (place == winner) for place, count in enumerate(before))
            yield before, after
            yield after, before


def partitions(votes: int, largest: int) -> Iterator[Counts]:
    """All falling sequences of counts with at most so many votes, and at least one."""
    for first in range(min(votes, largest), 0, -1):
        yield (first,)
        yield from ((first, *rest) for rest in partitions(votes - first, first))


def worst(law: Law, moves: Sequence[tuple[Counts, Counts]], epsilon: float) -> float:
    """The largest hockey-stick divergence of all moves."""
    growth = math.exp(epsilon)
    return max(
        sum(max(0.0, p - growth * q) for p, q in zip(law(before), law(after), strict=True)) for before, after in moves
    )


@pytest.fixture(scope="module")
def moves() -> list[tuple[Counts, Counts]]:
    return list(every_move(14))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.2, 1e-4), (2.0, 1e-4), (3.0, 1e-6), (5.0, 1e-6), (8.0, 1e-9)])
def test_certified_cost_covers_every_move(moves: list[tuple[Counts, Counts]], epsilon: float, delta: float) -> None:
    inner = inner_epsilon(epsilon, delta, 14)
    assert inner is not None
    found = worst(law_of(14, inner, delta), moves, epsilon)
    assert 0.3 * delta < found <= delta


def test_law_alone_does_not_cover_every_move(moves: list[tuple[Counts, Counts]]) -> None:
    """The slack is real: two answers near the line cost more than the epsilon of the law."""
    inner = inner_epsilon(1.2, 1e-4, 14)
    assert inner is not None
    assert worst(law_of(14, inner, 1e-4), moves, inner) > 10 * 1e-4
    assert not certified(inner, 1e-4, 14, inner)


def test_what_is_no_number_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert certified(1.9, 3e-6, 20, 2.0)
    monkeypatch.setattr(_Move, "_excess", lambda self, rows, *bounds: np.full(len(rows), math.nan))
    assert not certified.__wrapped__(1.9, 3e-6, 20, 2.0)


def test_price_is_rounded_down_to_one_with_a_proof() -> None:
    assert inner_epsilon(2.0, 1e-6, 20) == inner_epsilon(2.04, 1e-6, 20)
    assert inner_epsilon(1.99, 1e-6, 20) != inner_epsilon(2.0, 1e-6, 20)
    assert len({inner_epsilon(1 + n / 500, 1e-6, 10) for n in range(500)}) <= 32
    for price in (1.0, 2.0, 4.0, 1.9999999):
        inner = inner_epsilon(price, 1e-6, 20)
        assert inner is not None
        assert inner < price
    assert inner_epsilon(math.inf, 1e-6, 20) is inner_epsilon(0.0, 1e-6, 20) is None


@pytest.mark.parametrize(("inner", "voters", "slack"), [(1.0, 34, 1.035), (2.0, 32, 1.02), (5.0, 22, 1.002)])
def test_slack_is_about_that_of_the_specification(inner: float, voters: int, slack: float) -> None:
    """Part 10.4 found them by enumeration; the certificate bounds what it does not enumerate."""
    cost = certified_cost(inner, 1e-6, voters)
    assert cost is not None
    assert inner * slack - 0.01 <= cost <= inner * (slack + 0.03)


@pytest.mark.parametrize(
    "wrong", [(1.0, 0.2, 40), (1.0, 1e-13, 40), (9.0, 1e-6, 40), (3.0, 1e-6, 100), (0.5, 1e-3, 40)]
)
def test_what_is_not_certified_is_selected_as_before(wrong: tuple[float, float, int]) -> None:
    made = LeaderSelection(*wrong)
    assert made.inner is None
    assert made.fallback == ObservedSelection.calibrated(wrong[0], wrong[1], REPLACE)
    assert made.chance(20) == made.fallback.chance(20)
    assert "not certified" in str(made)
    assert made.cost(REPLACE) == Pure(wrong[0], wrong[1])


def test_cost_is_the_certified_one() -> None:
    made = LeaderSelection(2.0, 1e-6, 40)
    assert made.cost(REPLACE) == made.cost(ADD_REMOVE) == Pure(2.0, 1e-6)
    with pytest.raises(NotImplementedError):
        made.cost(Change(2, Relation.REPLACE))


@pytest.mark.parametrize(
    ("epsilon", "votes"), [(0.5, (28, 31)), (1, (16, 17)), (2, (8, 9)), (3, (6, 6)), (5, (4, 4)), (8, (3, 3))]
)
def test_half_of_the_votes_are_needed(epsilon: float, votes: tuple[int, int]) -> None:
    made = LeaderSelection(epsilon, 1e-6, 40)
    assert (made.votes_needed(0.5), made.votes_needed(0.9)) == votes
    before = ObservedSelection.calibrated(epsilon, 1e-6, REPLACE)
    assert votes[0] <= 0.6 * before.votes_needed(0.5)


@pytest.mark.parametrize(
    ("votes", "released"), [((12, 0), 1.0), ((12, 8), 0.979), ((16, 12), 0.979), ((20, 16), 0.979), ((28, 12), 1.0)]
)
def test_rivals_share_as_in_the_specification(votes: tuple[int, int], released: float) -> None:
    """Frontier, 3a, at epsilon 2 with 40 voters; all others say something of their own."""
    made = LeaderSelection(2.0, 1e-6, 40)
    assert made.inner is not None
    counts = [*(count for count in votes if count), *[1] * (40 - sum(votes))]
    weights = leader_law(counts, 0, 40, made.inner, made.delta)
    assert weights[0] / WHOLE == pytest.approx(released, abs=0.015)


# -- twins -----------------------------------------------------------------------------------------------------------


def without_rest(voters: int, epsilon: float, delta: float) -> Law:
    """R left out: the leader has its own curve, and what the rivals have comes from the probability of nothing."""

    @cache
    def law(counts: Counts) -> tuple[float, ...]:
        curve = leader_curve(epsilon, delta)
        alone = [read_curve(curve, count) / WHOLE for count in counts]
        total = sum(math.exp(epsilon / 2 * count) for count in counts) + voters - len(counts)
        shares = [min(own, math.exp(epsilon / 2 * count) / total) for own, count in zip(alone, counts, strict=True)]
        leader = max(range(len(counts)), key=lambda place: counts[place])
        rivals = sum(shares) - shares[leader]
        shares[leader] = min(alone[leader], 1 - rivals)
        return (*shares, 1 - rivals - shares[leader])

    return law


def with_all_of_delta(voters: int, epsilon: float, delta: float) -> Law:
    """The curve at delta in place of half of it."""
    return law_of(voters, epsilon, 2 * delta)


def without_certificate(voters: int, epsilon: float, delta: float) -> Law:
    """The law at the epsilon that is paid, without the slack."""
    return law_of(voters, epsilon * 1.02, delta)


@pytest.mark.parametrize("twin", [without_rest, with_all_of_delta, without_certificate])
def test_broken_twins_cost_more(moves: list[tuple[Counts, Counts]], twin: Callable[[int, float, float], Law]) -> None:
    inner = inner_epsilon(2.0, 1e-4, 14)
    assert inner is not None
    assert worst(twin(14, inner, 1e-4), moves, 2.0) > 1.5 * 1e-4


# -- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("votes", ["", "a", "aaabbb", "aaaabb", "aaabbc", "abcdef"])
def test_draws_follow_the_law(votes: str) -> None:
    made = LeaderSelection(5.0, 1e-6, 14)
    assert made.inner is not None
    found: dict[str | None, float] = {}
    for noise in paths():
        drawn = made.draw([*votes, None, None], noise)
        found[drawn] = found.get(drawn, 0.0) + noise.probability
    names = sorted(set(votes))
    law = law_of(14, made.inner, made.delta)(tuple(votes.count(name) for name in names))
    for name, probability in zip([*names, None], law, strict=True):
        assert found.get(name, 0.0) == pytest.approx(probability, abs=1e-15)


def test_more_votes_than_voters_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 3 votes"):
        LeaderSelection(8.0, 1e-6, 3).draw(["a"] * 4, InsecureSeededNoise(0))


def test_curve_keeps_a_part_of_delta_for_rounding() -> None:
    assert leader_curve(1.0, 1e-6) == unseen_curve(1.0, 0.98e-6 / 2)
