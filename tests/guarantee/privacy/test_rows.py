"""Every admitted unit votes in a row of its own: exact laws of count, rows and release over neighbouring inputs."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.privacy.costs import ORDERS
from discreet.privacy.filter import Mechanism
from discreet.privacy.mechanisms.counting import GaussianCount, NoisyCount
from discreet.privacy.mechanisms.selection import ExponentialMechanism
from discreet.privacy.noise import WHOLE, InsecureSeededNoise, Noise
from discreet.privacy.partition import (
    REPLACE_ONE,
    Member,
    RowRule,
    RowShape,
    binomial_tail,
    coin_weight,
    partition_to_rows,
)
from discreet.privacy.private import Private, unseal
from tests.exact import paths
from tests.guarantee.privacy.laws import ADD_REMOVE, gaussian_law, hockey_stick

EPSILON = 1.0
CHOICE = ExponentialMechanism(2, 1 / EPSILON)
Law = dict[Any, float]
Seats = Callable[[Private[Member[int]], RowShape, Noise], Private[tuple[int, ...]]]


KEYS = [bytes([number]) for number in range(256)]


def sealed(votes: Sequence[int], keys: Sequence[bytes] = KEYS) -> Private[Member[int]]:
    return Private([Member(key, vote) for key, vote in zip(keys, votes, strict=False)], ADD_REMOVE)


def law(
    votes: Sequence[int],
    rule: RowRule,
    seats: Seats = partition_to_rows,
    release: Mechanism[Any, Any] = CHOICE,
    keys: Sequence[bytes] = KEYS,
) -> Law:
    """The law of the released count and of a release, for which an empty row has no vote."""
    found: Law = {}
    for noise in paths():
        counted = rule.count.draw([True] * len(votes), noise)
        rows = unseal(seats(sealed(votes, keys), rule.rows(counted), noise), list)
        said = [row[0] if row else -1 for row in rows] if release is CHOICE else [bool(row) for row in rows]
        outcome = counted, release.draw(said, noise)
        found[outcome] = found.get(outcome, 0.0) + noise.probability
    return found


def failing(sigma: float, tail: int, most: int, coins: float = 0.0) -> RowRule:
    """The rule with the failure that its tail and its coins really have."""
    overflow = sum(p for z, p in gaussian_law(sigma, 20).items() if z >= tail)
    return RowRule(GaussianCount(sigma, overflow + coins), tail, coins, most)


TINY_SIGMA = 0.8
TINY = failing(TINY_SIGMA, 1, 20)
"""A tail so short that more units than rows are admitted in every fifth draw."""
COINS = failing(0.5, 3, 2, 0.05)
"""Two rows at most, and coins that fail once in twenty draws."""
INPUTS = [votes for size in range(1, 5) for votes in product((0, 1), repeat=size) if list(votes) == sorted(votes)]


def pairs() -> list[tuple[Sequence[int], Sequence[int]]]:
    return [(votes, votes[:gone] + votes[gone + 1 :]) for votes in INPUTS for gone in {0, len(votes) - 1}]


def needed(p: Law, q: Law, rho: float) -> float:
    """The least delta at which the pair keeps the conversion of rho-zCDP and the choice: at several epsilons."""
    worst = 0.0
    for step in range(1, 40):
        epsilon = step / 8
        order = 1 + epsilon / (2 * rho)
        left = math.exp((order - 1) * (order * rho - epsilon)) if epsilon > rho else 1.0
        worst = max(worst, hockey_stick(p, q, epsilon + EPSILON) - left)
    return worst


# -- the law ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [TINY, COINS], ids=["short tail", "coins"])
def test_neighbours_stay_within_the_count_the_choice_and_the_failure(rule: RowRule) -> None:
    """Outside the failure the moments are those of the two releases, for every order: the proof, number by number."""
    rho = rule.count.cost(ADD_REMOVE).curve[0] / 1.01
    for votes, rest in pairs():
        first, second = law(votes, rule), law(rest, rule)
        for p, q in ((first, second), (second, first)):
            assert needed(p, q, rho) <= rule.count.failure * (1 + 1e-9)


def at(law_: Law, count: int) -> Law:
    """The law of the choice at one count, which sums to the probability of that count."""
    return {choice: p for (c, choice), p in law_.items() if c == count}


def losses(first: Law, second: Law, count: int) -> list[float]:
    """The log-ratios of the choices, given the count."""
    p, q = at(first, count), at(second, count)
    return [math.log(p[o] / sum(p.values()) * sum(q.values()) / q[o]) for o in p]


def test_only_one_count_overflows_in_one_world_alone() -> None:
    """At all other counts both worlds are within the cost without any failure."""
    votes = (0, 0, 0, 0)
    first, second = law(votes, TINY), law(votes[1:], TINY)
    bad = len(votes) - 1 - TINY.tail
    for count in {c for c, _ in first} & {c for c, _ in second}:
        lost = max(map(abs, losses(first, second, count)))
        assert (lost > 1.5 * EPSILON) == (count == bad)
        assert count == bad or lost <= EPSILON * (1 + 1e-9)
    assert sum(at(second, bad).values()) <= TINY.count.failure


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0, 8.0])
def test_moments_without_that_count_are_those_of_the_releases(order: float) -> None:
    """The proof, number by number: the moment of two laws that were cut, and not scaled up again."""
    costs = (TINY.count.cost(ADD_REMOVE), CHOICE.cost(ADD_REMOVE))
    allowed = sum(float(cost.curve[int(np.argmin(np.abs(ORDERS[:-1] - order)))]) for cost in costs)
    for votes, rest in pairs():
        first, second = law(votes, TINY), law(rest, TINY)
        kept = {o for o in first.keys() & second.keys() if o[0] != len(votes) - 1 - TINY.tail}
        for p, q in ((first, second), (second, first)):
            moment = sum(p[o] ** order * q[o] ** (1 - order) for o in kept)
            assert moment <= math.exp((order - 1) * allowed) * (1 + 1e-9)


def test_overflow_that_is_not_paid_is_caught() -> None:
    """The twin has the same rows, and no failure in its cost."""
    release, votes = NoisyCount(1 / EPSILON), (0,) * 6
    first, second = law(votes, TINY, release=release), law(votes[1:], TINY, release=release)
    count = gaussian_law(TINY_SIGMA, 20)
    # Of the counts at which both worlds overflow or both do not, none loses more than this.
    epsilon = EPSILON + max(abs(math.log(count[z] / count[z + 1])) for z in range(-4, 4))
    lost = hockey_stick(second, first, epsilon)
    assert 0.02 < lost <= TINY.count.failure


def first_come(members: Private[Member[int]], rows: RowShape, noise: Noise) -> Private[tuple[int, ...]]:
    """BROKEN: if there are more units than rows, the first ones sit, so that another one moves up."""
    taken = unseal(members, lambda found: [(member.value,) for member in found[: rows.number]])
    return Private([*taken, *[()] * (rows.number - len(taken))], ADD_REMOVE)


def test_unit_that_moves_up_is_caught_at_the_price_of_one_that_goes() -> None:
    """The twin deals by rank, and is charged as if a unit came or went: no count of rows, one row."""
    rule = RowRule(GaussianCount(0.5), 3, 0.05, 1)
    votes = (0, 1, 1)
    broken, other = law(votes, rule, first_come), law(votes[1:], rule, first_come)
    found = [losses(broken, other, c) for c in {c for c, _ in broken} & {c for c, _ in other}]
    assert max(max(ratios) - min(ratios) for ratios in found) > 1.9 * EPSILON
    honest = failing(0.5, 3, 1, 0.05)
    assert needed(law(votes, honest), law(votes[1:], honest), 2.0) <= honest.count.failure


def coin_of(key: bytes) -> int:
    """A coin that follows from a unit's key, from 0 to 2^64."""
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def keyed(members: Private[Member[int]], rows: RowShape, noise: Noise) -> Private[tuple[int, ...]]:
    """BROKEN: the coin of a unit follows from its key, in place of fresh noise."""

    def seated(found: Sequence[Member[int]]) -> list[tuple[int, ...]]:
        taking = [(member.value,) for member in found if coin_of(member.key) < rows.weight]
        fits = len(found) <= rows.units and len(taking) <= rows.number
        return [*(taking if fits else ()), *[()] * (rows.number - len(taking) * fits)]

    return Private(unseal(members, seated), ADD_REMOVE)


FOUR = failing(0.5, 3, 4, 0.05)
"""Four rows, which the coins of seven others fill once in twenty draws."""


def test_coin_that_follows_from_the_key_is_caught() -> None:
    """By the custodian's keys all five take part in each question, so that the fifth empties all rows, for sure."""
    chosen = sorted(KEYS, key=coin_of)[:5]
    votes = (0,) * 5
    assert coin_of(chosen[-1]) < FOUR.rows(5).weight < WHOLE

    def lossy(seats: Seats) -> float:
        """How probable the counts are at which the choice loses more than its epsilon."""
        first, second = (law(some, FOUR, seats, keys=chosen) for some in (votes, votes[1:]))
        counts = {c for c, _ in first} & {c for c, _ in second}
        lost = [c for c in counts if max(map(abs, losses(first, second, c))) > EPSILON * (1 + 1e-9)]
        return sum(p for c in lost for p in at(second, c).values())

    assert lossy(partition_to_rows) <= FOUR.count.failure
    assert lossy(keyed) > 10 * FOUR.count.failure


# -- rows ------------------------------------------------------------------------------------------------------------


def test_rows_are_the_count_and_a_tail_up_to_the_most() -> None:
    rule = RowRule.of(GaussianCount.calibrated(0.02, ADD_REMOVE), 2e-8, 80)
    assert (rule.tail, rule.count.failure) == (29, 2e-8)
    assert rule.rows(40) == RowShape(69, 69)
    assert rule.rows(-50) == RowShape(1, 1)
    assert (rule.rows(52).number, rule.rows(52).units) == (80, 81)
    assert rule.rows(52).probability == pytest.approx(0.794, abs=0.001)
    assert rule.rows(2000).probability == pytest.approx(0.019, abs=0.001)


def test_each_unit_has_a_row_and_the_others_are_empty() -> None:
    rows = unseal(partition_to_rows(sealed(range(5)), RowShape(9, 9), InsecureSeededNoise(0)), list)
    assert sorted(rows) == [()] * 4 + [(n,) for n in range(5)]
    assert [row for row in rows if row] != [(n,) for n in range(5)] or rows[:5] != [(n,) for n in range(5)]


@pytest.mark.parametrize("rows", [RowShape(9, 4), RowShape(4, 9)])
def test_nothing_is_read_if_the_rows_do_not_suffice(rows: RowShape) -> None:
    assert not any(unseal(partition_to_rows(sealed(range(5)), rows, InsecureSeededNoise(0)), list))


def test_order_of_rows_is_uniform() -> None:
    noise, seen = InsecureSeededNoise(0), set()
    for _ in range(400):
        seen.add(tuple(unseal(partition_to_rows(sealed(range(2)), RowShape(3, 3), noise), list)))
    assert len(seen) == 6


def test_units_chosen_by_rank_get_no_rows() -> None:
    ranked = Private([Member(b"a", 1)], REPLACE_ONE)
    with pytest.raises(DiscreetError, match="added or removed"):
        partition_to_rows(ranked, RowShape(3, 3), InsecureSeededNoise(0))


# -- coins -----------------------------------------------------------------------------------------------------------


def exact_tail(trials: int, probability: Fraction, least: int) -> float:
    return float(
        sum(math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(least, trials + 1))
    )


@pytest.mark.parametrize(("units", "rows"), [(81, 80), (100, 80), (300, 80), (12, 3), (3, 2)])
@pytest.mark.parametrize("failure", [1e-8, 1e-3])
def test_coins_fill_the_rows_as_seldom_as_asked(units: int, rows: int, failure: float) -> None:
    weight = coin_weight(units, rows, failure)
    exact = exact_tail(units - 1, Fraction(weight, WHOLE), rows)
    assert 0.3 * failure < exact <= failure


def test_binomial_tail_is_an_upper_bound() -> None:
    for trials, least in ((5, 3), (50, 20), (200, 60)):
        for hundredths in range(1, 100, 7):
            exact = exact_tail(trials, Fraction(hundredths, 100), least)
            assert exact <= binomial_tail(trials, hundredths / 100, least)
    assert binomial_tail(5, 0.5, 6) == binomial_tail(5, 0.0, 2) == 0.0
    assert binomial_tail(5, 1.0, 2) == 1.0


def test_coins_are_tossed_anew_for_each_unit_and_each_question() -> None:
    noise, half = InsecureSeededNoise(1), RowShape(200, 200, WHOLE // 2)
    drawn = [tuple(sorted(unseal(partition_to_rows(sealed(range(200)), half, noise), list))) for _ in range(20)]
    assert len(set(drawn)) == 20
    assert all(60 < sum(map(bool, rows)) < 140 for rows in drawn)


def test_laplace_count_has_the_tail_of_its_law() -> None:
    for scale in (0.3, 1.0, 4.0):
        ratio = math.exp(-1 / scale)
        for probability in (0.2, 1e-3, 1e-9):
            tail = NoisyCount(scale).tail(probability)
            assert ratio**tail / (1 + ratio) <= probability
            assert tail == 1 or ratio ** (tail - 1) / (1 + ratio) > probability * (1 - 1e-6)


@pytest.mark.parametrize("most", [1, 5, 60, 200])
@pytest.mark.parametrize("rho", [1e-5, 0.02, 2.0])
def test_planned_units_are_the_first_that_suffice(rho: float, most: int) -> None:
    """The search looks at few of the numbers; here all are looked at, each a tenth larger than the one before."""
    rule = RowRule.of(GaussianCount.calibrated(rho, ADD_REMOVE), 1e-8, most)
    for votes in range(1, most + most // 4 + 3):
        units = votes
        while units < 100_000 and units * rule.rows(units).probability < votes:
            units = math.ceil(units * 1.1)
        assert rule.units_for(votes) == (units if units < 100_000 else votes)
