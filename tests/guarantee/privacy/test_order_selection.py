"""Order selection: its tables by a second program, its price at all orders, many questions, and what is drawn."""

import math
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.optimal_selection import PRIOR
from discreet.privacy.mechanisms.order_selection import OrderSelection, certify
from discreet.privacy.noise import WHOLE
from discreet.privacy.private import Change, Private, Relation
from tests.exact import paths
from tests.guarantee.privacy.laws import (
    ADD_REMOVE,
    REPLACE,
    Law,
    Real,
    Votes,
    best_curve,
    least_moment,
    moments,
    neighbours,
)

Pairs = tuple[tuple[float, float], ...]
"""Orders, each with the price of a question."""

DELTA = 1e-9
FIRST = ((2.7, 0.19), (8.9, 1.51))
SECOND = ((4.0, 0.315), (8.9, 1.51))
WIDE = 0.02
"""A delta at which few votes span a curve."""


# -- a second program for the table and for its price ----------------------------------------------------------------


def exact_price(table: tuple[int, ...], delta: float, order: float, digits: int = 60) -> Real:
    """The price of a table at an order or at infinity, over all neighbouring counts, in both directions."""
    with mpmath.workdps(digits):
        cut, worst = mpmath.mpf(delta), mpmath.mpf(0)
        for pair in pairwise((*table, table[-1])):
            x, y = (mpmath.mpf(entry) / WHOLE for entry in pair)
            if math.isinf(order):
                ratios = ((y - cut, x), (1 - y, 1 - x), (x, y), (1 - x - cut, 1 - y))
                losses = [mpmath.log(p / q) if q > 0 else mpmath.inf for p, q in ratios if p > 0]
            else:
                a = mpmath.mpf(order)
                losses = [mpmath.log(release + nothing) / (a - 1) for release, nothing in moments(x, y, cut, a)]
            worst = max(worst, *losses)
        return worst


def whole(curve: tuple[Real, ...]) -> tuple[int, ...]:
    with mpmath.workdps(80):
        return tuple(int(mpmath.floor(entry * WHOLE)) for entry in curve)


GOLDEN: dict[Pairs, tuple[str, str, dict[float, float], tuple[int, int, int]]] = {
    FIRST: (
        "1e-09 4.02046e-08 1.04177e-06 1.87093e-05 0.000242879 0.00236389 0.016104 0.0577269 0.141377 0.272647 "
        "0.446635 0.637826 0.793498 0.902851 0.965912 0.992616 0.999124 0.999921",
        "5.31e-6 2.52e-7 8.10e-9 1.46e-10 0",
        {1.5: 0.112291, 2: 0.146901, 2.7: 0.19, 4: 0.599213, 6.4: 1.222592, 8.9: 1.51, 12: 2.179337, 32: 3.279809},
        (12, 14, 16),
    ),
    SECOND: (
        "1e-09 4.02046e-08 1.04177e-06 1.87093e-05 0.000242879 0.00218153 0.0113726 0.0397235 0.103687 0.218789 "
        "0.393486 0.620322 0.790916 0.90215 0.963146 0.989694",
        "1.914e-3 2.04e-4 1.54e-5 8.35e-7 3.13e-8 7.49e-10 0",
        {1.5: 0.153853, 2: 0.197595, 2.7: 0.248737, 4: 0.315, 6.4: 1.080136, 8.9: 1.51, 12: 2.127525, 32: 3.142813},
        (12, 14, 17),
    ),
}


@pytest.mark.parametrize("prices", GOLDEN, ids=("grant 20", "grant 10"))
def test_tables_and_prices_are_those_of_the_specification(prices: Pairs) -> None:
    made = OrderSelection[str].best(prices, DELTA)
    released, rests, at_orders, votes = GOLDEN[prices]
    assert len(made.table) == 24
    for votes_given, entry in enumerate(released.split(), 1):
        assert f"{made.chance(votes_given):.6g}" == entry
    for votes_given, rest in enumerate(rests.split(), 24 - len(rests.split())):
        digits = len(rest.split("e")[0]) - 1
        assert float(f"{(WHOLE - made.table[votes_given]) / WHOLE:.{digits}g}") == float(rest)
    for order, price in at_orders.items():
        assert certify(made.table, made.delta, order) == pytest.approx(price, abs=6e-7)
    assert tuple(made.votes_needed(chance) for chance in (0.5, 0.9, 0.99)) == votes
    assert made.supporters("a") == 8 if prices == FIRST else 9


def test_price_at_infinity_is_that_of_the_specification() -> None:
    made = OrderSelection[str].best(FIRST, DELTA)
    assert certify(made.table, made.delta, math.inf) == pytest.approx(3.885068, abs=6e-7)


@pytest.mark.parametrize(
    ("prices", "delta"),
    [
        (FIRST, DELTA),
        (SECOND, DELTA),
        (((2.7, 0.2),), WIDE),
        (((6.4, 0.83), (13.0, 1.9)), 3.7e-7),
        (((1.7, 0.05), (3.3, 0.4), (12.0, 2.5)), 1e-5),
        (((2.0, 0.11),), 1e-12),
    ],
    ids=str,
)
def test_whole_numbers_are_those_of_another_program(prices: Pairs, delta: float) -> None:
    assert OrderSelection[str].best(prices, delta).table == whole(
        best_curve(tuple((order, price, price) for order, price in prices), delta)
    )


@pytest.mark.parametrize(("epsilon", "order", "price"), [(1.0, 23.0, 0.5), (0.5, 43.0, 0.26)], ids=str)
def test_small_grants_have_curves(epsilon: float, order: float, price: float) -> None:
    """The orders of vaults of so small an epsilon are high."""
    assert Budget(epsilon, 1e-6, 5e-7).order == order
    made = OrderSelection[str].best(((order, price),), DELTA)
    assert made.table == whole(best_curve(((order, price, price),), DELTA))
    assert certify(made.table, made.delta, order) == pytest.approx(price, abs=1e-8)


@pytest.mark.parametrize("prices", GOLDEN, ids=("grant 20", "grant 10"))
def test_cost_is_never_below_the_exact_price(prices: Pairs) -> None:
    made = OrderSelection[str].best(prices, DELTA)
    cost, named = made.cost(ADD_REMOVE), {order for order, _ in prices}
    assert cost.delta == made.delta <= DELTA * (1 + 1e-8)
    for order, price in zip(ORDERS, cost.curve, strict=True):
        exact = exact_price(made.table, made.delta, float(order), digits=40)
        assert exact <= price
        assert certify(made.table, made.delta, float(order)) == pytest.approx(float(exact), abs=1e-8)
        if order in named or math.isinf(order):
            assert price <= exact + 1e-8


def test_no_entry_can_be_larger() -> None:
    """An entry that is raised by a millionth has a price above the named ones."""
    for prices in GOLDEN:
        made = OrderSelection[str].best(prices, DELTA)
        for votes in range(1, len(made.table) - 2):
            raised = (*made.table[:votes], int(made.table[votes] * (1 + 1e-6)), *made.table[votes + 1 :])
            if raised[votes] < raised[votes + 1]:
                assert any(certify(raised, made.delta, order) > price + 1e-9 for order, price in prices)


# -- tables that are wrong -------------------------------------------------------------------------------------------


def check_price(table: tuple[int, ...], delta: float, order: float) -> float:
    """Assert that a table's price is the exact one, which may be infinite, and return it."""
    exact = exact_price(table, delta, order)
    certified = certify(table, delta, order)
    assert exact <= certified <= exact + 1e-8
    made = OrderSelection[str](table, delta, (order,))
    assert made.cost(ADD_REMOVE).curve[np.argmin(np.abs(ORDERS - order))] >= exact
    return certified


@given(st.sampled_from([(FIRST, DELTA), (((2.7, 0.2),), WIDE)]), st.integers(1, 22), st.floats(0, 1), st.booleans())
@settings(max_examples=60)
def test_a_wrong_entry_has_its_own_price(made: tuple[Pairs, float], votes: int, part: float, shifted: bool) -> None:
    """An entry is raised by a part of the way to the next one, or is left out, so that all above move down."""
    right = OrderSelection[str].best(*made)
    votes = min(votes, len(right.table) - 2)
    before, after = right.table[votes], right.table[votes + 1]
    entry = () if shifted else (before + int(part * (after - before)),)
    table = (*right.table[:votes], *entry, *right.table[votes + 1 :])
    found = [check_price(table, right.delta, order) / price for order, price in made[0]]
    if shifted or part > 0.01:
        assert max(found) > 1.0001
    check_price(table, right.delta, 4.0)


def test_an_early_jump_to_certainty_has_no_price() -> None:
    made = OrderSelection[str].best(FIRST, DELTA)
    early = (*(entry for entry in made.table if entry < WHOLE * (1 - 1e-6)), int(WHOLE * (1 - 1e-6)), WHOLE)
    for order in (2.7, 8.9):
        assert check_price(early, made.delta, order) == math.inf
    assert np.isinf(OrderSelection[str](early, made.delta, (2.7,)).cost(ADD_REMOVE).curve).all()
    assert math.isfinite(certify(early, 1e-6 * (1 + 1e-9), 2.7))  # for a failure that covers the jump


def test_a_first_entry_above_delta_has_no_price() -> None:
    made = OrderSelection[str].best(FIRST, DELTA)
    above = (0, made.table[1] + 2 * int(WHOLE * DELTA * 1e-9) + 1, *made.table[2:])
    assert check_price(above, made.delta, 2.7) == math.inf


def test_a_table_belongs_to_its_order() -> None:
    made = OrderSelection[str].best(FIRST, DELTA)
    assert check_price(made.table, made.delta, 4.0) == pytest.approx(0.599213, abs=6e-7)
    assert made.cost(ADD_REMOVE).curve[list(ORDERS).index(4.0)] >= 0.599212
    grant = Budget(10.0, 1e-6, 5e-7)
    assert grant.affordable(made.cost(ADD_REMOVE)) == 9  # and not 31, as 0.19 would have it
    assert grant.affordable(OrderSelection[str].best(SECOND, DELTA).cost(ADD_REMOVE)) == 18


def test_a_hit_at_the_price_of_nothing_is_caught_in_the_third_table() -> None:
    third = whole(best_curve(((2.7, 0.42, 0.10), (8.9, 1.51, 1.51)), DELTA))
    price = certify(third, DELTA * (1 + 1e-9), 2.7)
    assert price == pytest.approx(0.267394, abs=6e-7)
    assert math.exp(1.7 * (price - 0.10)) == pytest.approx(1.33, abs=0.005)


# -- many questions of one unit --------------------------------------------------------------------------------------


def composed(prices: Pairs, questions: int, epsilon: float) -> float:
    """The exact delta at epsilon of the worst neighbouring counts, if all questions have these, with all failures."""
    table, worst = OrderSelection[str].best(prices, DELTA).table, 0.0
    with mpmath.workdps(40):
        ways = [mpmath.binomial(questions, hits) for hits in range(questions + 1)]
        for pair in pairwise(mpmath.mpf(entry) / WHOLE for entry in table):
            for p, q in (pair[::-1], pair):
                laws = [[(x**hits) * (1 - x) ** (questions - hits) for hits in range(questions + 1)] for x in (p, q)]
                grown = mpmath.exp(epsilon)
                beyond = sum(w * max(0, a - grown * b) for w, a, b in zip(ways, *laws, strict=True))
                worst = max(worst, float(beyond))
    return worst


@pytest.mark.parametrize(
    ("prices", "epsilon", "fits", "exact", "exceeds"),
    [(FIRST, 20.0, 65, 6.68e-8, 72), (SECOND, 10.0, 18, 5.34e-8, 20)],
    ids=("grant 20", "grant 10"),
)
def test_many_equal_questions_need_nearly_all_that_they_pay(
    prices: Pairs, epsilon: float, fits: int, exact: float, exceeds: int
) -> None:
    grant = Budget(epsilon, 1e-6, 5e-7)
    assert grant.affordable(OrderSelection[str].best(prices, DELTA).cost(ADD_REMOVE)) == fits
    assert composed(prices, fits, epsilon) == pytest.approx(exact, rel=0.002)
    assert composed(prices, exceeds, epsilon) > 5e-7


@pytest.mark.parametrize(("prices", "epsilon", "questions"), [(FIRST, 20.0, 65), (SECOND, 10.0, 18)], ids=str)
def test_no_adaptive_choice_of_counts_exceeds_the_grant(prices: Pairs, epsilon: float, questions: int) -> None:
    """All that a unit can pay for, and before each question the worst counts at the loss so far: a bound by a grid.

    Losses are rounded up to the grid, so the found delta is too large, by less than a third.
    """
    made, step = OrderSelection[str].best(prices, DELTA), 0.002
    curve = [mpmath.mpf(entry) / WHOLE for entry in made.table]
    moves = []
    for x, y in pairwise(curve):
        for p, q in (((y - made.delta, 1 - y), (x, 1 - x)), ((x, 1 - x - made.delta), (y, 1 - y))):
            outcomes = [(float(a), float(mpmath.log(a / b))) for a, b in zip(p, q, strict=True) if a > 0]
            moves.append([(chance, math.ceil(loss / step)) for chance, loss in outcomes])
    losses = np.arange(-2 * epsilon, epsilon + 12, step)
    values = np.where(losses > epsilon, -np.expm1(np.minimum(epsilon - losses, 0)), 0.0)
    places = np.arange(len(losses))
    for _ in range(questions):
        # At the upper end 1 bounds the value; at the lower end a loss is rounded up to it.
        padded = np.append(values, 1.0)
        found = [
            sum(chance * padded[np.clip(places + move, 0, len(losses))] for chance, move in outcomes)
            for outcomes in moves
        ]
        values = np.max(np.stack([values, *found]), axis=0)
    start = int(np.searchsorted(losses, -step / 2))
    assert 1e-8 < values[start] + questions * made.delta <= 1e-6
    assert values[start] <= 5e-7


# -- the sealed mechanism --------------------------------------------------------------------------------------------


def sealed_law(mechanism: OrderSelection[int], votes: Votes, change: Change) -> Law:
    """The law of what a filter releases after it has paid, by all ways in which the bits can fall."""
    law: Law = {}
    for noise in paths():
        ledger = MemoryLedger(Budget(20.0, 1e-1, 5e-2), simulation=True)
        privacy = PrivacyFilter(ledger, ledger.budget, "q", noise=noise)
        outcome = privacy.release(mechanism, Private((*votes, None), change))
        assert ledger.spent() == Spending.of(mechanism.cost(change))
        law[outcome] = law.get(outcome, 0.0) + noise.probability
    return law


def law_of(mechanism: OrderSelection[int], votes: Votes) -> Law:
    """The product of the curves. A candidate begins at the largest number of votes that its prior allows."""
    counts, curve = Counter(votes), [entry / WHOLE for entry in mechanism.table]
    start = max(n for n, chance in enumerate(curve) if chance <= mechanism.prior)
    law: Law = {(): 1.0}
    for answer in sorted({*counts, *mechanism.candidates}):
        chance = curve[min(counts[answer] + start * (answer in mechanism.candidates), len(curve) - 1)]
        law = {
            ((*outcome, answer) if out else outcome): p * (chance if out else 1 - chance)  # type: ignore[misc]
            for (outcome, p), out in product(law.items(), (False, True))
        }
    return law


@cache
def wide(candidates: Votes = ()) -> OrderSelection[int]:
    made = OrderSelection[int].best(((2.7, 0.2), (8.9, 1.51)), WIDE)
    return made.with_candidates(candidates) if candidates else made


@pytest.mark.parametrize("candidates", [(), (0,), (0, 5)], ids=str)
def test_what_is_released_follows_the_product_of_the_curves(candidates: Votes) -> None:
    made = wide(candidates)
    for size in range(6):
        for votes in combinations_with_replacement(range(3 if size < 4 else 2), size):
            expected, found = law_of(made, votes), sealed_law(made, votes, ADD_REMOVE)
            for outcome in {*expected, *found}:
                assert found.get(outcome, 0.0) == pytest.approx(expected.get(outcome, 0.0), abs=1e-12)


@pytest.mark.parametrize("candidates", [(), (0, 5)], ids=str)
@pytest.mark.parametrize("change", [ADD_REMOVE, REPLACE], ids=str)
def test_all_neighbours_stay_within_the_cost(change: Change, candidates: Votes) -> None:
    """Of the whole released set, at the vault's order, at the receipt's and at two others; two entries of each law move
    if a vote is replaced."""
    made = wide(candidates)
    cost, reached = made.cost(change), 0.0
    for order in (1.5, 2.7, 4.0, 8.9):
        price = float(cost.curve[list(ORDERS).index(order)])
        for first, second in neighbours(2, 9, change.relation):
            laws = law_of(made, first), law_of(made, second)
            outcomes = sorted({*laws[0], *laws[1]}, key=str)
            p, q = (tuple(law.get(outcome, 0.0) for outcome in outcomes) for law in laws)
            moment = least_moment(p, q, (1.0,) * len(outcomes), cost.delta, order)
            assert moment <= math.exp((order - 1) * price) * (1 + 1e-9)
            reached = max(reached, moment / math.exp((order - 1) * price))
    assert reached > (1 - 1e-7 if change == ADD_REMOVE else 0.8)


def test_a_replaced_vote_costs_twice_as_much() -> None:
    made = wide()
    once, twice = (made.cost(change) for change in (ADD_REMOVE, REPLACE))
    assert twice.curve == pytest.approx(2 * once.curve)
    assert twice.delta == 2 * once.delta == 2 * made.delta
    for relation in Relation:
        with pytest.raises(NotImplementedError):
            made.cost(Change(2, relation))


def test_candidates_begin_at_their_prior() -> None:
    for count in (1, 3, 20):
        made = OrderSelection[int].best(FIRST, DELTA).with_candidates((*range(count), 0))
        assert made.candidates == tuple(range(count))
        assert made.prior == PRIOR / count
        assert made.chance(made.ahead) <= made.prior < made.chance(made.ahead + 1)
        assert made.candidate_chance(0) == made.chance(made.ahead)
        assert made.candidate_votes_needed(0.9) == made.votes_needed(0.9) - made.ahead
        assert made.cost(ADD_REMOVE) == OrderSelection[int].best(FIRST, DELTA).cost(ADD_REMOVE)


@pytest.mark.parametrize("candidates", [(), (0,)], ids=str)
def test_fewer_supporters_than_told_are_rare(candidates: Votes) -> None:
    made = OrderSelection[int].best(FIRST, DELTA).with_candidates(candidates)
    for answer, chance in ((0, made.candidate_chance if candidates else made.chance), (1, made.chance)):
        told = made.supporters(answer)
        assert all(chance(votes) <= 0.05 for votes in range(told))
        assert chance(told) > 0.05
